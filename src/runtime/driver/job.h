/*
 * One job of a worker: a thread with a session, a keeper and at most one unit.
 */
#ifndef TS_RUNTIME_DRIVER_JOB_H
#define TS_RUNTIME_DRIVER_JOB_H

#include "runtime/driver/crew.h"

#include "runtime/driver/fleet_rules.h"
#include "runtime/durable/durable.h"

#include "coord/driver/keeper.h"

#include <pthread.h>

struct runtime__crew;

struct runtime__job {
    struct runtime__crew *crew;
    unsigned number;
    pthread_t thread;
    bool has_thread;
    struct ts_coord *coord; /* for all calls except the keeper's; calls end when the lease is lost */
    struct ts_coord_session *session;
    struct ts_coord_keeper *keeper;
    struct ts_durable *durable;
    /* The scan's view of the unit. The stop flag in `progress` is set when the lease is lost, or when the
     * worker is asked to stop. */
    struct ts_scan_progress progress;
    atomic_uint loss; /* an enum ts_unit_reason: why the keeper last lost a lease */
    /* When the keeper lost the lease of this unit: monotonic time (0: the lease is not lost), processor time,
     * and stage of the scan. */
    atomic_uint_fast64_t lost_ns;
    atomic_uint_fast64_t lost_cpu_ns;
    atomic_uint lost_stage;
    struct ts_fleet_worker_fault fault; /* valid after RUNTIME__UNIT_SICK */
    uint64_t counted_bytes;             /* bytes of this unit that the worker's progress already includes */
};

struct runtime__crew {
    const struct ts_crew_options *options;
    struct runtime__job *jobs;
    struct ts_fleet_rules_set rules;
    pthread_mutex_t lock; /* guards the fields below up to is_tidying; no other lock is held with it */
    pthread_cond_t changed;
    unsigned running; /* number of running jobs */
    bool is_over;     /* jobs end after their current unit */
    enum ts_crew_result result;
    struct ts_crew_error error;
    uint64_t sweep_at_ns;   /* time of the next sweep, by the monotonic clock; 0: none is due */
    uint64_t pinned;        /* last reported number of runs with other rules */
    bool is_tidying;        /* a job completes runs */
    pthread_mutex_t events; /* held while an event is reported; no other lock is held with it */
};

static inline bool runtime__is_asked_to_stop(const struct runtime__crew *crew) {
    return atomic_load(&crew->options->progress->stop);
}

void runtime__report(struct runtime__crew *crew, const struct ts_crew_event *event);

/* Waits for this time, or until the worker ends or is asked to stop. */
void runtime__wait_ms(struct runtime__crew *crew, uint64_t ms);
/* Waits for this time, or until the worker is asked to stop. For a thread that runs longer than the jobs. */
void runtime__sleep_ms(const struct runtime__crew *crew, uint64_t ms);
bool runtime__is_over(struct runtime__crew *crew);

/* How a unit ended. */
enum runtime__unit_result {
    RUNTIME__UNIT_ENDED,    /* done, parked or lost */
    RUNTIME__UNIT_RELEASED, /* its shard can be claimed again at once: wait before the next claim */
    RUNTIME__UNIT_SICK,     /* released because of a fault of this machine: wait before the next claim */
};

/* Carries out the unit that the job's session has just claimed. The session is IDLE afterwards. */
enum runtime__unit_result runtime__unit_run(struct runtime__job *job,
                                            const struct ts_acquire_result_view *claimed);

/* Called by a job that finds nothing to claim. Completes the runs whose shards have all ended, removes rows
 * that killed workers left, and starts schedules that are due. Sets ret_active to the number of runs that are
 * still active. Returns false if this number is not known, for example because another job tidies. */
bool runtime__tidy(struct runtime__job *job, uint64_t *ret_active);

/* Plans a sweep for rows that cannot be removed yet: a job that finds nothing to claim sweeps again after
 * this time. */
void runtime__sweep_later(struct runtime__crew *crew, uint64_t wait_ms);

#endif
