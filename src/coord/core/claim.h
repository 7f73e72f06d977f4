/*
 * Claiming means to acquire any free shard. A driver tries candidates one after the other. The functions here
 * decide what each answer means, and when a worker must wait.
 *
 *     admission (pin, cooldown) -> candidates, from the worker's own starting point, wrapping, each once -> acquire
 *          OK: arm the cooldown, done | leased, terminal, not found: next | anything else: stop
 */
#ifndef TS_COORD_CORE_CLAIM_H
#define TS_COORD_CORE_CLAIM_H

#include "coord/core/error.h"
#include "coord/core/record.h"

/* The time at which a worker may claim again. The entry is stored under the names of tenant and worker, on
 * the worker's own store. After the cooldown, the worker's next claim removes the entry. */
struct ts_cooldown {
    struct ts_worker_id worker;
    struct ts_logical_time until;
};

enum ts_cooldown_state {
    TS_COOLDOWN_NONE,    /* no entry: claim */
    TS_COOLDOWN_RUNNING, /* refuse: THROTTLED */
    TS_COOLDOWN_OVER,    /* claim, and remove the entry */
};

/*
 * Returns OK, NONE_AVAILABLE with other_pins, or THROTTLED with retry_after. NONE_AVAILABLE means that the
 * run is pinned and the worker presents another pin or none; a run without a pin admits every worker. A run
 * without a cooldown admits every worker, even one with an entry from another run. *ret_drop is true if the
 * entry has expired and the caller should remove it.
 */
enum ts_claim_error ts_claim_admit(const struct ts_run_guard *guard, const struct ts_pin *presented,
                                   const struct ts_cooldown *entry, struct ts_logical_time now,
                                   bool *ret_drop, struct ts_coord_detail *ret_detail);

/* Returns whether the run's status allows claims. If not, the run has ended, or not all its shards are
 * registered yet; a claim then answers NONE_AVAILABLE. */
bool ts_claim_is_open(const struct ts_run_guard *guard);

/* Returns whether a worker with this pin may claim in a run with this configuration. */
bool ts_claim_is_pin_right(const struct ts_run_config *config, const struct ts_pin *presented);

/* Call it after a successful claim. Returns true, with the entry to store, if the run has a cooldown. */
bool ts_cooldown_arm(const struct ts_run_guard *guard, const struct ts_worker_id *worker,
                     struct ts_logical_time now, struct ts_cooldown *ret_entry);

#define TS_COOLDOWN_ENCODED_LEN 56
void ts_cooldown_encode(const struct ts_cooldown *entry, uint8_t ret_bytes[static TS_COOLDOWN_ENCODED_LEN]);
enum ts_record_error ts_cooldown_decode(struct ts_bytes bytes, struct ts_cooldown *ret_entry);

/* Returns the shard id at which this worker begins its search, so that workers do not all try the same shard.
 * The id is the same in every process. Its bit 63 is clear, as in the ids of registered shards: from a larger
 * id, all workers would wrap to the first shard. */
struct ts_shard_id ts_claim_start(struct ts_run_id run, const struct ts_worker_id *worker);

/* The result of the candidates tried so far. Starts as {0}. */
struct ts_claim_scan {
    bool has_earliest;
    struct ts_logical_time earliest; /* the earliest deadline of the leases found so far */
};

/* Considers the answer of one candidate. Returns true if the claim continues with the next candidate. Returns
 * false if the claim ends with ret_error; OK means that the candidate was acquired. */
bool ts_claim_consider(struct ts_claim_scan *scan, enum ts_acquire_error error,
                       const struct ts_coord_detail *detail, enum ts_claim_error *ret_error);

/* Returns the answer when no candidate is left: NONE_AVAILABLE. The detail has the earliest deadline if a
 * lease was found and the run is open. */
enum ts_claim_error ts_claim_none(const struct ts_claim_scan *scan, const struct ts_run_guard *guard,
                                  struct ts_coord_detail *ret_detail);

#endif
