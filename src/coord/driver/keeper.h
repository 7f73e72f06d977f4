/*
 * A keeper renews the lease of a session while its worker works, and reports when the lease is lost. A keeper
 * has two threads. Neither thread uses the session, so nothing that the worker does can delay the keeper, and
 * the worker can use the session at the same time:
 *
 *     the renewer     renews the lease whenever a third of its duration has passed; if the store does not answer, tries again after
 *                     a quarter of the time that is left
 *     the watchman    declares the lease lost at the keeper's own end, even while a call of the renewer hangs
 *
 * The keeper's own end is the monotonic time just before the last successful request, plus the remaining time
 * of the lease in the store's answer, minus a margin. So the keeper's own end is never later than the
 * store's, however long an answer takes.
 *
 *     RESTING -- watch --> KEEPING <-- resume -- pause --> PAUSED
 *                            |                               |
 *                            |  the store refuses            |
 *                            |  its own end has come         |  its own end has come
 *                            v                               v
 *                           LOST  <--------------------------+
 *
 *     rest: from all of them to RESTING
 *
 * PAUSED: the worker is about to give up the shard. The renewer does nothing. If the store refuses a renewal
 * in progress, the renewer ignores the refusal, because the worker may have just given up the shard.
 */
#ifndef TS_COORD_DRIVER_KEEPER_H
#define TS_COORD_DRIVER_KEEPER_H

#include "coord/driver/session.h"

struct ts_coord_keeper;

/*
 * Called once for each lease that is lost, from a thread of the keeper: the store refused to renew it
 * (StaleFence, LeaseExpired, ShardTerminal, ShardNotFound, TenantMismatch), or did not renew it before the
 * keeper's own end (BackendError). The callback should make the worker stop. It must not call functions of
 * the keeper except ts_coord_keeper_is_lost.
 */
typedef void ts_coord_keeper_on_loss(void *context, enum ts_error_variant error,
                                     const struct ts_coord_detail *detail);

struct ts_coord_keeper_options {
    uint64_t margin_ms;               /* 0: a tenth of the lease's duration, at most 1 s */
    ts_coord_keeper_on_loss *on_loss; /* or NULL */
    void *context;
};

/* Returns NULL when memory runs out or a thread cannot be started. The coordination must outlive the keeper. */
struct ts_coord_keeper *ts_coord_keeper_new(struct ts_coord *coord,
                                            const struct ts_coord_keeper_options *options);

/* Frees the keeper. If a call of the renewer is in progress, waits for its end. Accepts NULL. */
void ts_coord_keeper_free(struct ts_coord_keeper *keeper);

/* The functions below are for the worker's thread. */

/* Starts to keep the lease that the session has just claimed or acquired. Call it in RESTING. */
void ts_coord_keeper_watch(struct ts_coord_keeper *keeper, const struct ts_coord_session *session);

/* Call pause before an operation that gives up the shard (complete, park, release, split_replace). Afterwards
 * call rest, or resume if the worker still has the lease. pause and resume do nothing in RESTING and LOST. */
void ts_coord_keeper_pause(struct ts_coord_keeper *keeper);
void ts_coord_keeper_resume(struct ts_coord_keeper *keeper);

/* Ends keeping: KEEPING, PAUSED, LOST -> RESTING. Afterwards on_loss is no longer called for this lease. If a
 * call of on_loss is in progress, this function waits for its end. */
void ts_coord_keeper_rest(struct ts_coord_keeper *keeper);

/* Returns the time until the keeper's own end of the lease; 0 in LOST and RESTING. */
uint64_t ts_coord_keeper_left_ms(struct ts_coord_keeper *keeper);

/* Returns whether the keeper is in LOST. Any thread may call it. */
bool ts_coord_keeper_is_lost(const struct ts_coord_keeper *keeper);

#endif
