#include "victim.h"

#include "os/clock.h"
#include "turnstone/cluster.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

enum { STOP_US = 60000 };

/* ---- calls ---- */

static void pause_here(struct victim *victim) {
    pthread_mutex_lock(&victim->lock);
    victim->is_paused = true;
    pthread_cond_broadcast(&victim->changed);
    while (!victim->may_continue)
        pthread_cond_wait(&victim->changed, &victim->lock);
    pthread_mutex_unlock(&victim->lock);
}

static void die(struct victim *victim) {
    atomic_store(&victim->is_dead, true);
    atomic_store(&victim->progress.stop, true);
}

/* Applies a disturbance that precedes a call. Returns the disturbance to apply after the call. */
static enum harm begin(struct victim *victim, atomic_uint *counter) {
    const unsigned number = atomic_load(&victim->reads) + atomic_load(&victim->writes);
    atomic_fetch_add(counter, 1);
    if (number != victim->at)
        return UNHARMED;
    if (victim->harm == KILLED)
        die(victim);
    if (victim->harm == PAUSED)
        pause_here(victim);
    if (victim->harm == STOPPED) {
        atomic_store(&victim->progress.stop, true);
        usleep(STOP_US);
    }
    return victim->harm;
}

static void fail_read(struct ts_call *call) {
    call->done = true;
    call->error = (struct ts_store_error){.result = TS_STORE_TIMED_OUT, .op = SIZE_MAX, .text = "lost"};
}

static void run_calls(void *context, struct ts_coord_call *calls, size_t count) {
    struct victim *victim = context;
    const enum harm harm = begin(victim, &victim->reads);
    for (size_t i = 0; i < count; i++) {
        const bool fails = victim->failing_scans > 0 && calls[i].call.kind == TS_CALL_SCAN;
        victim->failing_scans -= fails;
        if (atomic_load(&victim->is_dead) || harm == LOSES_REPLY || harm == KILLED_AFTER || fails)
            fail_read(&calls[i].call);
        else
            (void)ts_store_run(ts_cluster_store(world.cluster, calls[i].place), &calls[i].call);
    }
    if (harm == KILLED_AFTER)
        die(victim);
}

static void run_txn(void *context, const struct ts_txn_part *parts, size_t count,
                    struct ts_txn_result *ret_result) {
    static const struct ts_txn_options options = {.system = true};
    struct victim *victim = context;
    const enum harm harm = begin(victim, &victim->writes);
    atomic_fetch_add(&victim->promises, count > 1);
    const bool is_dead = atomic_load(&victim->is_dead);
    if (!is_dead)
        ts_txn_run_parts(world.coordinator, parts, count, &options, ret_result);
    if (is_dead || harm == LOSES_REPLY || harm == KILLED_AFTER)
        *ret_result = (struct ts_txn_result){.outcome = TS_TXN_UNKNOWN,
                                             .reason = TS_STORE_UNKNOWN,
                                             .op = SIZE_MAX,
                                             .text = "the reply was lost"};
    if (harm == KILLED_AFTER)
        die(victim);
}

static uint64_t elapsed_ms(void *context) {
    (void)context;
    return ts_clock_monotonic_ns() / 1000000;
}

static void pause_ms(void *context, uint64_t ms) {
    (void)context;
    (void)ms;
}

/* ---- life ---- */

static void note(void *context, const struct ts_crew_event *event) {
    struct victim *victim = context;
    assert_true(victim->event_count < VICTIM_EVENTS_MAX);
    victim->events[victim->event_count++] = *event;
    if (victim->on_event != NULL)
        victim->on_event(victim, event);
}

void victim_init(struct victim *victim, const struct ts_fleet_tenant_key *key) {
    *victim = (struct victim){.at = UINT_MAX,
                              .options = {.tenant = world.tenant,
                                          .name = TS_BYTES("victim"),
                                          .jobs = 1,
                                          .once = true,
                                          .tenant_key = *key,
                                          .part_ms = 1,
                                          .event = note}};
    pthread_mutex_init(&victim->lock, NULL);
    pthread_cond_init(&victim->changed, NULL);
    const struct ts_coord_io io = {.context = victim,
                                   .router = ts_cluster_router(world.cluster),
                                   .place_count = (uint32_t)ts_cluster_count(world.cluster),
                                   .call = run_calls,
                                   .txn = run_txn,
                                   .elapsed_ms = elapsed_ms,
                                   .pause_ms = pause_ms};
    victim->coord = ts_coord_new_over(&io, NULL);
    assert_non_null(victim->coord);
    victim->options.coord = victim->coord;
    victim->options.progress = &victim->progress;
    victim->options.context = victim;
}

void victim_release(struct victim *victim) {
    ts_coord_free(victim->coord);
    pthread_cond_destroy(&victim->changed);
    pthread_mutex_destroy(&victim->lock);
}

void victim_work(struct victim *victim) {
    victim->result = ts_crew_work(&victim->options, &victim->error);
    pthread_mutex_lock(&victim->lock);
    victim->is_over = true;
    pthread_cond_broadcast(&victim->changed);
    pthread_mutex_unlock(&victim->lock);
}

static void *work(void *context) {
    victim_work(context);
    return NULL;
}

void victim_start(struct victim *victim) {
    assert_int_equal(pthread_create(&victim->thread, NULL, work, victim), 0);
}

bool victim_wait(struct victim *victim) {
    pthread_mutex_lock(&victim->lock);
    while (!victim->is_paused && !victim->is_over)
        pthread_cond_wait(&victim->changed, &victim->lock);
    const bool is_paused = victim->is_paused;
    pthread_mutex_unlock(&victim->lock);
    return is_paused;
}

void victim_resume(struct victim *victim) {
    pthread_mutex_lock(&victim->lock);
    victim->may_continue = true;
    pthread_cond_broadcast(&victim->changed);
    pthread_mutex_unlock(&victim->lock);
}

void victim_join(struct victim *victim) {
    assert_int_equal(pthread_join(victim->thread, NULL), 0);
}

size_t victim_count(const struct victim *victim, enum ts_crew_event_kind kind) {
    size_t count = 0;
    for (size_t i = 0; i < victim->event_count; i++)
        count += victim->events[i].kind == kind;
    return count;
}

const struct ts_crew_event *victim_last(const struct victim *victim, enum ts_crew_event_kind kind) {
    for (size_t i = victim->event_count; i > 0; i--)
        if (victim->events[i - 1].kind == kind)
            return &victim->events[i - 1];
    return NULL;
}
