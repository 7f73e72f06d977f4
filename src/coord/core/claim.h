/*
 * Claiming: acquire any free shard. A driver walks through candidates; the functions here decide what each
 * answer means, and when a worker must wait.
 *
 *     admission -> candidates from a point of the worker's own, wrapping, each once -> acquire
 *          OK: arm the cooldown, done | leased, terminal, not found: next | anything else: the end
 */
#ifndef TS_COORD_CORE_CLAIM_H
#define TS_COORD_CORE_CLAIM_H

#include "coord/core/error.h"
#include "coord/core/record.h"

/* When a worker may claim again. Stored under the worker's name on its own store, and removed when it is
 * over. */
struct ts_cooldown {
    struct ts_worker_id worker;
    struct ts_logical_time until;
};

enum ts_cooldown_state {
    TS_COOLDOWN_NONE,    /* no entry: claim */
    TS_COOLDOWN_RUNNING, /* refuse: THROTTLED */
    TS_COOLDOWN_OVER,    /* claim, and remove the entry */
};

/* Returns OK, or THROTTLED with retry_after. A run without a cooldown admits every worker, even one with an
 * entry from another run. *ret_drop: the entry has expired, so remove it. */
enum ts_claim_error ts_claim_admit(const struct ts_run_guard *guard, const struct ts_cooldown *entry,
                                   struct ts_logical_time now, bool *ret_drop,
                                   struct ts_coord_detail *ret_detail);

/* After a successful claim: returns true if there is a cooldown to store. */
bool ts_cooldown_arm(const struct ts_run_guard *guard, const struct ts_worker_id *worker,
                     struct ts_logical_time now, struct ts_cooldown *ret_entry);

#define TS_COOLDOWN_ENCODED_LEN 56
void ts_cooldown_encode(const struct ts_cooldown *entry, uint8_t ret_bytes[static TS_COOLDOWN_ENCODED_LEN]);
enum ts_record_error ts_cooldown_decode(struct ts_bytes bytes, struct ts_cooldown *ret_entry);

/* Where this worker begins its search, so that workers do not all try the same shard. It is the same in every
 * process. It lies among the registered ids: if it were after them, all workers would begin at the first
 * shard. */
struct ts_shard_id ts_claim_start(struct ts_run_id run, const struct ts_worker_id *worker);

/* The state after some candidates. Starts as {0}. */
struct ts_claim_scan {
    bool has_earliest;
    struct ts_logical_time earliest; /* the earliest deadline among the leases so far */
};

/* Returns true to continue with the next candidate; false if ret_error is the answer (OK: claimed). */
bool ts_claim_consider(struct ts_claim_scan *scan, enum ts_acquire_error error,
                       const struct ts_coord_detail *detail, enum ts_claim_error *ret_error);

/* The answer when no candidate is left: NONE_AVAILABLE with the earliest deadline, or without one in a run
 * that has ended. */
enum ts_claim_error ts_claim_none(const struct ts_claim_scan *scan, const struct ts_run_guard *guard,
                                  struct ts_coord_detail *ret_detail);

#endif
