/*
 * A worker process of a fleet: jobs that claim shards, scan their targets, and make the results durable.
 *
 *     job ──claim──> unit (unit.h) ──> claim ──> … until nothing is left, or the worker is asked to stop
 *      │
 *      └─ nothing to claim: the job that finds all shards of a run ended completes the run, sweeps, and starts the
 *         schedules that are due; then it waits
 *
 * Each job is a thread with its own session and keeper. One thread scans a small unit, and all processors
 * together scan a large unit. This way, the whole machine works on many small repositories, or on one large
 * repository.
 */
#ifndef TS_RUNTIME_DRIVER_CREW_H
#define TS_RUNTIME_DRIVER_CREW_H

#include "runtime/core/reason.h"
#include "runtime/core/target.h"
#include "runtime/core/tenant_key.h"
#include "runtime/mirror/mirror.h"

#include "notify/notify.h"

#include "coord/driver/session.h"
#include "discover/discover.h"
#include "scan/scan.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* The events that a worker reports, for logs and metrics. Events contain digests, numbers and names from
 * fixed lists, never an address, a path, a ref, a commit or a secret. X(SUFFIX, label) */
#define TS_CREW_EVENTS(X)                                                                                    \
    X(CLAIMED, "claimed")                                                                                    \
    X(DONE, "done")               /* scanned and durable */                                                  \
    X(NOTHING_NEW, "nothing_new") /* durable without a scan */                                               \
    X(COVERED, "covered")         /* this run or a later one had scanned the target */                       \
    X(PART, "part")                                                                                          \
    X(PARKED, "parked")                                                                                      \
    X(RELEASED, "released")                                                                                  \
    X(LOST, "lost")                                                                                          \
    X(RUN_COMPLETED, "run_completed")                                                                        \
    X(SWEPT, "swept")                                                                                        \
    X(STORE_FAILED, "store_failed") /* a claim or the start of a schedule failed */                          \
    X(SCHEDULED, "scheduled")       /* a run of a schedule was started */                                    \
    X(SCHEDULE_FAILED, "schedule_failed")                                                                    \
    X(NOTIFIED, "notified") /* people were notified of findings that came */                                 \
    X(NOTIFY_FAILED, "notify_failed")                                                                        \
    X(PINNED, "pinned") /* runs wait for workers with other rules */

#define TS_CREW_EVENT_ENUM(suffix, label) TS_CREW_EVENT_##suffix,
enum ts_crew_event_kind { TS_CREW_EVENTS(TS_CREW_EVENT_ENUM) };
#undef TS_CREW_EVENT_ENUM

const char *ts_crew_event_label(enum ts_crew_event_kind kind);

struct ts_crew_event {
    enum ts_crew_event_kind kind;
    unsigned job;
    struct ts_run_id run;
    bool has_target;
    struct ts_target_id target;
    struct ts_fence_epoch fence;
    const char *phase;  /* phase in which the unit ended (unit_step.h); NULL for other events */
    const char *reason; /* a label of reason.h; NULL: none */
    const char *text;   /* the reason for people */
    uint64_t count;     /* its meaning depends on the event: docs/formats/worker-log.md */
    uint64_t elapsed_ms;
    /* The next three fields are set for LOST, if the keeper lost the lease. `stage`: the stage of the scan at
     * that moment. stop_us: the time until everything had stopped. */
    enum ts_scan_stage stage;
    uint64_t stop_us;
    uint64_t stop_cpu_us; /* processor time of the whole process */
    uint64_t scan_ms;
    uint64_t objects;
    uint64_t bytes_read; /* bytes of the objects that were scanned under this lease */
    uint64_t bytes_looked_at;
    uint64_t findings;
    uint64_t faults; /* DONE: number of faults of the scan */
};

/* The progress of a worker. Any thread may read it while the worker runs. Starts as {0}. */
struct ts_crew_progress {
    atomic_bool stop; /* set it, even from a signal handler, to release everything and end */
    atomic_uint_fast64_t done;
    atomic_uint_fast64_t parked;
    atomic_uint_fast64_t released;
    atomic_uint_fast64_t lost;
    atomic_uint_fast64_t bytes;
    atomic_uint_fast64_t findings;
    atomic_uint_fast64_t busy; /* number of jobs that have a unit */
    uint64_t notices;          /* valid at the end: notices that still wait to be sent */
};

struct ts_crew_options {
    struct ts_coord *coord;
    struct ts_tenant_id tenant;
    struct ts_bytes name; /* name of the worker; each job appends its number */
    bool has_run;         /* the jobs work only for `run` */
    struct ts_run_id run;
    unsigned jobs; /* 1 to TS_CREW_JOBS_MAX */
    bool once;     /* true: the worker ends when no run is active; false: it waits for new runs */
    struct ts_fleet_tenant_key tenant_key;
    uint64_t memory_bytes;      /* for all jobs together; 0: the default of a scan */
    uint64_t part_ms;           /* time between parts of a long unit */
    struct ts_mirrors *mirrors; /* for repositories on servers */
    /* For schedules with requests to forges: tokens, certificates and limits. Timeout and rate are not 0. */
    struct ts_discover_options forge;
    struct ts_notify *notify; /* sinks that are notified of new findings; NULL: other workers notify */
    struct ts_crew_progress *progress;
    /* May be NULL. Called from any thread, one call at a time. */
    void (*event)(void *context, const struct ts_crew_event *event);
    void *context;
};

#define TS_CREW_JOBS_MAX 64
#define TS_CREW_PART_MS  UINT64_C(5000)

struct ts_crew_error {
    char text[600]; /* one line: what happened, why, and the fix; safe to print */
};

enum ts_crew_result {
    TS_CREW_ENDED,   /* nothing is left to do, or the worker was asked to stop */
    TS_CREW_SICK,    /* this machine cannot work; the error says why, and everything was released */
    TS_CREW_REFUSED, /* the run does not exist, or a store refuses this worker */
};

/* Runs a worker. Blocks until it ends. */
enum ts_crew_result ts_crew_work(const struct ts_crew_options *options, struct ts_crew_error *ret_error);

#endif
