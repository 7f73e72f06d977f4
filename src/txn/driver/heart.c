/*
 * A thread that sends heartbeats: every two seconds, to every store where this process is registered, with
 * the time of the store's own clock. The thread has no other work, so a store that does not answer, or a long
 * pass of the resolver, does not make the process look dead on other stores. If the registration was
 * replaced, the process was fenced.
 *
 * If the lag of standbys is limited, this thread also asks for the lag every second.
 */
#include "driver.h"
#include "txn/core/resolve.h"

#include <stdlib.h>
#include <time.h>

struct beat {
    struct txn__look_keys keys;
    struct ts_rows rows;
    struct txn__look look;
    struct txn__own own;
    struct ts_call call;
};

/* Starts the calls, each on the store at its place, and waits until all are done. An entry of `calls` may be
 * NULL. */
static void run_all(const struct ts_coordinator *coordinator, struct ts_call **calls) {
    for (uint32_t place = 0; place < coordinator->place_count; place++) {
        if (calls[place] == NULL)
            continue;
        calls[place]->deadline_ns = txn__deadline_ns((uint64_t)TXN__HEARTBEAT_MS * 1000 / 2);
        ts_store_start(ts_cluster_store(coordinator->cluster, place), calls[place]);
    }
    txn__calls_run((struct ts_call *const *)calls, coordinator->place_count);
}

static void found_fenced(struct ts_coordinator *coordinator, struct txn__incarnation *incarnation,
                         uint32_t place) {
    pthread_mutex_lock(&coordinator->lock);
    incarnation->seats[place].fenced = true;
    txn__incarnation_retire(coordinator, incarnation);
    pthread_mutex_unlock(&coordinator->lock);
}

static void beat_all(struct ts_coordinator *coordinator, struct txn__incarnation *incarnation,
                     struct beat *beats, struct ts_call **calls) {
    struct txn__gid gid = {.coordinator = incarnation->uuid, .sequence = 1};
    bool any = false;
    pthread_mutex_lock(&coordinator->lock);
    for (uint32_t place = 0; place < coordinator->place_count; place++) {
        const struct txn__seat *seat = &incarnation->seats[place];
        calls[place] = seat->registered && !seat->fenced ? &beats[place].call : NULL;
        any = any || calls[place] != NULL;
    }
    pthread_mutex_unlock(&coordinator->lock);
    if (!any)
        return;
    for (uint32_t place = 0; place < coordinator->place_count; place++) {
        struct beat *beat = &beats[place];
        txn__look_keys_init(&beat->keys, &gid);
        beat->call = (struct ts_call){
            .kind = TS_CALL_READ, .keys = beat->keys.bytes, .key_count = TXN__LOOK_KEYS, .rows = &beat->rows};
    }
    run_all(coordinator, calls);
    for (uint32_t place = 0; place < coordinator->place_count; place++) {
        struct beat *beat = &beats[place];
        if (calls[place] == NULL)
            continue;
        calls[place] = NULL;
        if (beat->call.error.result != TS_STORE_OK)
            continue;
        txn__look_decode(&beat->rows, beat->call.time_ms, &beat->look);
        uint64_t heartbeat = beat->rows.rows[1].version;
        if (beat->look.registration_version != incarnation->seats[place].registration || heartbeat == 0) {
            found_fenced(coordinator, incarnation, place);
            continue;
        }
        txn__own_beat(&(struct txn__beat){&incarnation->uuid, heartbeat, beat->look.now_ms}, &beat->own);
        beat->call = (struct ts_call){.kind = TS_CALL_APPLY, .batch = txn__own_batch(&beat->own)};
        calls[place] = &beat->call;
    }
    run_all(coordinator, calls);
}

/* Returns the incarnation after `before`, or NULL. Counts this thread as a user of the returned incarnation,
 * so that it is not freed. Releases `before`. */
static struct txn__incarnation *next_one(struct ts_coordinator *coordinator,
                                         struct txn__incarnation *before) {
    pthread_mutex_lock(&coordinator->lock);
    struct txn__incarnation *next = before == NULL ? coordinator->incarnations : before->next;
    if (before != NULL)
        before->users--;
    if (next != NULL)
        next->users++;
    pthread_mutex_unlock(&coordinator->lock);
    return next;
}

static bool wait_for_beat(struct ts_coordinator *coordinator, uint64_t until_us) {
    struct timespec until = {.tv_sec = (time_t)(until_us / 1000000),
                             .tv_nsec = (long)(until_us % 1000000 * 1000)};
    pthread_mutex_lock(&coordinator->lock);
    while (!coordinator->stopping && txn__now_us() < until_us)
        pthread_cond_timedwait(&coordinator->heart_wake, &coordinator->lock, &until);
    bool go_on = !coordinator->stopping;
    pthread_mutex_unlock(&coordinator->lock);
    return go_on;
}

/* Returns the time of the next heartbeat, or of the next query of the lag if that is earlier. */
static uint64_t wake_at_us(const struct ts_coordinator *coordinator, uint64_t beat_us) {
    uint64_t ask_us = txn__now_us() + TS_TXN_LAG_INTERVAL_US;
    return ts_txn_lag_is_limited(&coordinator->config.replication) && ask_us < beat_us ? ask_us : beat_us;
}

/* Asks all stores for their lag. If a store is slow to answer, its earlier lag is kept, because the heartbeat
 * must not wait. */
static void ask_for_lag(struct ts_coordinator *coordinator) {
    uint32_t place;
    struct ts_store_error error;
    if (ts_txn_lag_is_limited(&coordinator->config.replication))
        (void)txn__lag_ask(coordinator, TS_TXN_LAG_INTERVAL_US / 2, &place, &error);
}

void *txn__heart(void *context) {
    struct ts_coordinator *coordinator = context;
    struct beat *beats = calloc(coordinator->place_count, sizeof *beats);
    struct ts_call **calls = calloc(coordinator->place_count, sizeof(struct ts_call *));
    uint64_t beat_us = txn__now_us() + (uint64_t)TXN__HEARTBEAT_MS * 1000;
    while (beats != NULL && calls != NULL && wait_for_beat(coordinator, wake_at_us(coordinator, beat_us))) {
        ask_for_lag(coordinator);
        if (txn__now_us() < beat_us)
            continue;
        beat_us = txn__now_us() + (uint64_t)TXN__HEARTBEAT_MS * 1000;
        struct txn__incarnation *incarnation = NULL;
        while ((incarnation = next_one(coordinator, incarnation)) != NULL)
            beat_all(coordinator, incarnation, beats, calls);
    }
    for (uint32_t place = 0; beats != NULL && place < coordinator->place_count; place++)
        ts_rows_release(&beats[place].rows);
    free(beats);
    free(calls); /* NOLINT(bugprone-multi-level-implicit-pointer-conversion) */
    return NULL;
}
