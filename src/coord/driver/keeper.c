#include "coord/driver/keeper.h"

#include "base/assert.h"
#include "base/checked.h"
#include "driver.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { RENEW_PART = 3, RETRY_PART = 4, MARGIN_PART = 10, MARGIN_MAX_MS = 1000 };

#define NEVER UINT64_MAX

enum state { RESTING, KEEPING, PAUSED, LOST };

struct ts_coord_keeper {
    struct ts_coord *coord;
    struct ts_coord_keeper_options options;
    pthread_t renewer, watchman;
    pthread_mutex_t lock; /* guards everything below, except `seen`; held for a few instructions */
    /* Signals to both threads that they must look again, and to the worker that on_loss has returned. */
    pthread_cond_t changed;
    enum state state;
    atomic_bool is_lost; /* the state is LOST */
    bool is_calling;     /* a call of on_loss is in progress */
    bool is_over;
    uint64_t watched;      /* number of leases so far, to recognise an answer for an earlier lease */
    struct ts_lease lease; /* the lease after its last renewal */
    uint64_t duration_ms;
    uint64_t renew_at_ms; /* time of the next renewal, by coord__elapsed_ms */
    uint64_t end_ms;      /* the keeper's own end, by coord__elapsed_ms */
    /* When the threads wake up by themselves (by coord__elapsed_ms); 0: the thread is awake. */
    uint64_t renewer_wakes_ms, watchman_wakes_ms;
    bool has_failed; /* the last renewal failed, with the answer below */
    struct ts_coord_detail failure;
    struct coord__seen seen; /* the renewer's copy of the shard */
};

static bool is_watching(const struct ts_coord_keeper *keeper) {
    return keeper->state == KEEPING || keeper->state == PAUSED;
}

static uint64_t margin_ms(const struct ts_coord_keeper *keeper) {
    if (keeper->options.margin_ms > 0)
        return keeper->options.margin_ms;
    const uint64_t part_ms = keeper->duration_ms / MARGIN_PART;
    return part_ms < MARGIN_MAX_MS ? part_ms : MARGIN_MAX_MS;
}

/* Sets the times for a lease that, according to the store's answer, is valid for left_ms from now_ms on. */
static void set_end(struct ts_coord_keeper *keeper, uint64_t now_ms, uint64_t left_ms) {
    keeper->end_ms = now_ms + ts_saturating_sub_u64(left_ms, margin_ms(keeper));
    keeper->renew_at_ms =
        now_ms + ts_saturating_sub_u64(left_ms, keeper->duration_ms - keeper->duration_ms / RENEW_PART);
    keeper->has_failed = false;
}

/* Waits for a signal, at most until until_ms (NEVER: no limit). While the thread waits, *wakes_ms is
 * until_ms. */
static void wait_until(struct ts_coord_keeper *keeper, uint64_t now_ms, uint64_t until_ms,
                       uint64_t *wakes_ms) {
    *wakes_ms = until_ms;
    if (until_ms == NEVER) {
        pthread_cond_wait(&keeper->changed, &keeper->lock);
    } else {
        const uint64_t wait_ms = until_ms - now_ms;
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_sec += (time_t)(wait_ms / 1000);
        until.tv_nsec += (long)(wait_ms % 1000) * 1000000;
        if (until.tv_nsec >= 1000000000) {
            until.tv_nsec -= 1000000000;
            until.tv_sec++;
        }
        pthread_cond_timedwait(&keeper->changed, &keeper->lock, &until);
    }
    *wakes_ms = 0;
}

/* Wakes the threads if one of them would wake up too late for this lease. The times of a lease are usually
 * later than those of the lease before, so signals are rare. */
static void wake_in_time(struct ts_coord_keeper *keeper) {
    const bool renewer_is_late = keeper->state == KEEPING && keeper->renewer_wakes_ms > keeper->renew_at_ms;
    const bool watchman_is_late = is_watching(keeper) && keeper->watchman_wakes_ms > keeper->end_ms;
    if (renewer_is_late || watchman_is_late)
        pthread_cond_broadcast(&keeper->changed);
}

/* Sets the state to LOST. Calls on_loss without the lock, because on_loss may take long. */
static void lose(struct ts_coord_keeper *keeper, enum ts_error_variant error,
                 const struct ts_coord_detail *detail) {
    keeper->state = LOST;
    atomic_store(&keeper->is_lost, true);
    if (keeper->options.on_loss != NULL) {
        keeper->is_calling = true;
        pthread_mutex_unlock(&keeper->lock);
        keeper->options.on_loss(keeper->options.context, error, detail);
        pthread_mutex_lock(&keeper->lock);
        keeper->is_calling = false;
    }
    pthread_cond_broadcast(&keeper->changed);
}

/* ---- the renewer ---- */

static void renew(struct ts_coord_keeper *keeper) {
    const uint64_t watched = keeper->watched;
    const struct ts_renew_op op = {.tenant = *ts_lease_tenant(&keeper->lease), .lease = keeper->lease};
    struct ts_lease lease;
    struct ts_renew_result result;
    struct ts_coord_detail detail = {0};
    pthread_mutex_unlock(&keeper->lock);
    /* The worker's own operations change the record, so the record is read each time. */
    keeper->seen.known = false;
    const enum ts_renew_error error =
        ts_coord_renew(keeper->coord, &op, &keeper->seen, &lease, &result, &detail);
    pthread_mutex_lock(&keeper->lock);
    if (keeper->watched != watched || !is_watching(keeper))
        return;
    const uint64_t now_ms = coord__elapsed_ms(keeper->coord);
    if (error == TS_RENEW_OK) {
        const struct coord__seen *seen = &keeper->seen;
        keeper->lease = lease;
        const uint64_t deadline_ms = seen->at_ms + (ts_lease_deadline(&lease).ms - seen->now.ms);
        set_end(keeper, now_ms, ts_saturating_sub_u64(deadline_ms, now_ms));
        wake_in_time(keeper);
    } else if (error == TS_RENEW_BACKEND_ERROR) {
        keeper->has_failed = true;
        keeper->failure = detail;
        keeper->renew_at_ms = now_ms + ts_saturating_sub_u64(keeper->end_ms, now_ms) / RETRY_PART + 1;
    } else if (keeper->state == KEEPING) {
        lose(keeper, ts_renew_error_variant(error), &detail);
    }
}

static void *run_renewer(void *argument) {
    struct ts_coord_keeper *keeper = argument;
    pthread_mutex_lock(&keeper->lock);
    while (!keeper->is_over) {
        const uint64_t now_ms = coord__elapsed_ms(keeper->coord);
        if (keeper->state != KEEPING)
            wait_until(keeper, now_ms, NEVER, &keeper->renewer_wakes_ms);
        else if (now_ms < keeper->renew_at_ms)
            wait_until(keeper, now_ms, keeper->renew_at_ms, &keeper->renewer_wakes_ms);
        else
            renew(keeper);
    }
    pthread_mutex_unlock(&keeper->lock);
    return NULL;
}

/* ---- the watchman ---- */

static void end_lease(struct ts_coord_keeper *keeper) {
    if (!keeper->has_failed) {
        keeper->failure = (struct ts_coord_detail){.infra.kind = TS_INFRA_RETRYABLE};
        snprintf(keeper->failure.infra.text, sizeof keeper->failure.infra.text,
                 "the lease ended by the clock of this process before the store renewed it");
    }
    const struct ts_coord_detail detail = keeper->failure;
    lose(keeper, TS_VARIANT_BACKEND_ERROR, &detail);
}

static void *run_watchman(void *argument) {
    struct ts_coord_keeper *keeper = argument;
    pthread_mutex_lock(&keeper->lock);
    while (!keeper->is_over) {
        const uint64_t now_ms = coord__elapsed_ms(keeper->coord);
        if (!is_watching(keeper))
            wait_until(keeper, now_ms, NEVER, &keeper->watchman_wakes_ms);
        else if (now_ms < keeper->end_ms)
            wait_until(keeper, now_ms, keeper->end_ms, &keeper->watchman_wakes_ms);
        else
            end_lease(keeper);
    }
    pthread_mutex_unlock(&keeper->lock);
    return NULL;
}

/* ---- life ---- */

static bool init_lock(struct ts_coord_keeper *keeper) {
    pthread_condattr_t attributes;
    if (pthread_mutex_init(&keeper->lock, NULL) != 0)
        return false;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    const bool done = pthread_cond_init(&keeper->changed, &attributes) == 0;
    pthread_condattr_destroy(&attributes);
    if (!done)
        pthread_mutex_destroy(&keeper->lock);
    return done;
}

static void tell_that_it_is_over(struct ts_coord_keeper *keeper) {
    pthread_mutex_lock(&keeper->lock);
    keeper->is_over = true;
    pthread_cond_broadcast(&keeper->changed);
    pthread_mutex_unlock(&keeper->lock);
}

static void release(struct ts_coord_keeper *keeper) {
    pthread_cond_destroy(&keeper->changed);
    pthread_mutex_destroy(&keeper->lock);
    free(keeper);
}

struct ts_coord_keeper *ts_coord_keeper_new(struct ts_coord *coord,
                                            const struct ts_coord_keeper_options *options) {
    struct ts_coord_keeper *keeper = calloc(1, sizeof *keeper);
    if (keeper == NULL)
        return NULL;
    keeper->coord = coord;
    keeper->options = *options;
    if (!init_lock(keeper)) {
        free(keeper);
        return NULL;
    }
    if (pthread_create(&keeper->renewer, NULL, run_renewer, keeper) != 0) {
        release(keeper);
        return NULL;
    }
    if (pthread_create(&keeper->watchman, NULL, run_watchman, keeper) != 0) {
        tell_that_it_is_over(keeper);
        pthread_join(keeper->renewer, NULL);
        release(keeper);
        return NULL;
    }
    return keeper;
}

void ts_coord_keeper_free(struct ts_coord_keeper *keeper) {
    if (keeper == NULL)
        return;
    tell_that_it_is_over(keeper);
    pthread_join(keeper->renewer, NULL);
    pthread_join(keeper->watchman, NULL);
    release(keeper);
}

/* ---- for the worker ---- */

void ts_coord_keeper_watch(struct ts_coord_keeper *keeper, const struct ts_coord_session *session) {
    const struct ts_lease *lease = ts_coord_session_lease(session);
    const struct ts_run_guard *guard = ts_coord_session_guard(session);
    ts_assert(lease != NULL && guard != NULL);
    pthread_mutex_lock(&keeper->lock);
    ts_assert(keeper->state == RESTING);
    keeper->state = KEEPING;
    keeper->watched++;
    keeper->lease = *lease;
    keeper->duration_ms = guard->config.lease_duration_ms;
    set_end(keeper, coord__elapsed_ms(keeper->coord), ts_coord_session_left_ms(session));
    wake_in_time(keeper);
    pthread_mutex_unlock(&keeper->lock);
}

static void change(struct ts_coord_keeper *keeper, enum state from, enum state to) {
    pthread_mutex_lock(&keeper->lock);
    if (keeper->state == from)
        keeper->state = to;
    wake_in_time(keeper);
    pthread_mutex_unlock(&keeper->lock);
}

void ts_coord_keeper_pause(struct ts_coord_keeper *keeper) {
    change(keeper, KEEPING, PAUSED);
}

void ts_coord_keeper_resume(struct ts_coord_keeper *keeper) {
    change(keeper, PAUSED, KEEPING);
}

void ts_coord_keeper_rest(struct ts_coord_keeper *keeper) {
    pthread_mutex_lock(&keeper->lock);
    while (keeper->is_calling)
        pthread_cond_wait(&keeper->changed, &keeper->lock);
    keeper->state = RESTING;
    atomic_store(&keeper->is_lost, false);
    pthread_mutex_unlock(&keeper->lock);
}

uint64_t ts_coord_keeper_left_ms(struct ts_coord_keeper *keeper) {
    pthread_mutex_lock(&keeper->lock);
    const uint64_t left_ms =
        is_watching(keeper) ? ts_saturating_sub_u64(keeper->end_ms, coord__elapsed_ms(keeper->coord)) : 0;
    pthread_mutex_unlock(&keeper->lock);
    return left_ms;
}

bool ts_coord_keeper_is_lost(const struct ts_coord_keeper *keeper) {
    return atomic_load(&keeper->is_lost);
}
