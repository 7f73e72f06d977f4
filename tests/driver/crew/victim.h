/*
 * A worker that is disturbed at one of its calls to the stores: it dies, is paused, or loses a reply. Other
 * workers use the same stores meanwhile.
 */
#ifndef TS_TESTS_DRIVER_CREW_VICTIM_H
#define TS_TESTS_DRIVER_CREW_VICTIM_H

#include "runtime/driver/crew.h"
#include "runtime/driver/fleet_rules.h"
#include "world.h"

#include <pthread.h>

#define VICTIM_EVENTS_MAX 400

enum harm {
    UNHARMED,
    KILLED,       /* dies before the call */
    KILLED_AFTER, /* dies after the call, before its reply */
    PAUSED,       /* is paused before the call, until victim_resume */
    LOSES_REPLY,  /* a write is carried out, but its reply is lost; a read fails */
    STOPPED,      /* is asked to stop before the call; the call is delayed until the worker knows */
};

struct victim {
    struct ts_coord *coord;
    struct ts_crew_options options;
    struct ts_crew_progress progress;
    enum ts_crew_result result;
    struct ts_crew_error error;
    struct ts_crew_event events[VICTIM_EVENTS_MAX];
    size_t event_count;
    void (*on_event)(struct victim *victim, const struct ts_crew_event *event);

    enum harm harm;
    unsigned at;            /* number of the call to disturb, counted from 0 */
    unsigned failing_scans; /* number of range scans that fail; later scans succeed */
    atomic_uint reads, writes;
    atomic_uint promises; /* number of writes that change several stores */
    atomic_bool is_dead;

    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_paused, may_continue, is_over;
};

/* Initialises a worker that has one job, has the option `once`, and makes parts as often as possible. */
void victim_init(struct victim *victim, const struct ts_fleet_tenant_key *key);
void victim_release(struct victim *victim);

/* Runs the worker, in the thread of the caller or in another thread. */
void victim_work(struct victim *victim);
void victim_start(struct victim *victim);
bool victim_wait(struct victim *victim); /* waits until the victim is paused; false: it has ended */
void victim_resume(struct victim *victim);
void victim_join(struct victim *victim);

size_t victim_count(const struct victim *victim, enum ts_crew_event_kind kind);
const struct ts_crew_event *victim_last(const struct victim *victim, enum ts_crew_event_kind kind);

#endif
