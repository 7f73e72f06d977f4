#include "coord/core/claim.h"

#include "base/assert.h"
#include "base/checked.h"
#include "base/endian.h"
#include "base/hash64.h"
#include "codec.h"
#include "coord/core/plant.h"

#include <string.h>

/* Returns the state of the worker's cooldown. entry is NULL if the worker has no cooldown entry. */
static enum ts_cooldown_state cooldown_state_at(const struct ts_cooldown *entry, struct ts_logical_time now) {
    if (entry == NULL)
        return TS_COOLDOWN_NONE;
    return now.ms < entry->until.ms ? TS_COOLDOWN_RUNNING : TS_COOLDOWN_OVER;
}

bool ts_claim_is_open(const struct ts_run_guard *guard) {
    return guard->status == TS_RUN_ACTIVE ||
           (guard->status == TS_RUN_INITIALIZING && coord__is_planted(TS_COORD_PLANT_EARLY));
}

bool ts_claim_is_pin_right(const struct ts_run_config *config, const struct ts_pin *presented) {
    return !ts_pin_is_set(&config->pin) || ts_pin_equal(&config->pin, presented) ||
           coord__is_planted(TS_COORD_PLANT_PIN);
}

enum ts_claim_error ts_claim_admit(const struct ts_run_guard *guard, const struct ts_pin *presented,
                                   const struct ts_cooldown *entry, struct ts_logical_time now,
                                   bool *ret_drop, struct ts_coord_detail *ret_detail) {
    *ret_drop = false;
    if (!ts_claim_is_pin_right(&guard->config, presented)) {
        ret_detail->has_deadline = false;
        ret_detail->other_pins = 1;
        return TS_CLAIM_NONE_AVAILABLE;
    }
    const enum ts_cooldown_state state = cooldown_state_at(entry, now);
    *ret_drop = state == TS_COOLDOWN_OVER;
    if (state != TS_COOLDOWN_RUNNING || guard->config.cooldown_ms == 0)
        return TS_CLAIM_OK;
    ret_detail->retry_after = entry->until;
    return TS_CLAIM_THROTTLED;
}

bool ts_cooldown_arm(const struct ts_run_guard *guard, const struct ts_worker_id *worker,
                     struct ts_logical_time now, struct ts_cooldown *ret_entry) {
    if (guard->config.cooldown_ms == 0)
        return false;
    ret_entry->worker = *worker;
    ret_entry->until.ms = ts_saturating_add_u64(now.ms, guard->config.cooldown_ms);
    return true;
}

/* Magic and version, 3 zero bytes, the worker at 8, the time at 40, the checksum at 48. */
enum { COOLDOWN_WORKER = 8, COOLDOWN_UNTIL = 40, COOLDOWN_FIXED = 48 };

void ts_cooldown_encode(const struct ts_cooldown *entry, uint8_t ret_bytes[static TS_COOLDOWN_ENCODED_LEN]) {
    memset(ret_bytes, 0, COOLDOWN_FIXED);
    memcpy(ret_bytes + COOLDOWN_WORKER, entry->worker.b, sizeof entry->worker.b);
    ts_le64_store(entry->until.ms, ret_bytes + COOLDOWN_UNTIL);
    coord__seal(ret_bytes, COOLDOWN_FIXED, "TScd");
}

enum ts_record_error ts_cooldown_decode(struct ts_bytes bytes, struct ts_cooldown *ret_entry) {
    enum ts_record_error error = coord__open(bytes, "TScd", COOLDOWN_FIXED);
    if (error != TS_RECORD_OK)
        return error;
    if (bytes.len != TS_COOLDOWN_ENCODED_LEN || bytes.data[5] != 0 || bytes.data[6] != 0 ||
        bytes.data[7] != 0)
        return TS_RECORD_BAD_FIELD;
    memcpy(ret_entry->worker.b, bytes.data + COOLDOWN_WORKER, sizeof ret_entry->worker.b);
    ret_entry->until.ms = ts_le64_load(bytes.data + COOLDOWN_UNTIL);
    return TS_RECORD_OK;
}

struct ts_shard_id ts_claim_start(struct ts_run_id run, const struct ts_worker_id *worker) {
    uint8_t both[8 + TS_NAME_ID_LEN];
    ts_le64_store(run.v, both);
    memcpy(both + 8, worker->b, sizeof worker->b);
    return (struct ts_shard_id){ts_xxh64_of_bytes(ts_bytes_of(both, sizeof both)) & ~TS_DERIVED_SHARD_BIT};
}

bool ts_claim_consider(struct ts_claim_scan *scan, enum ts_acquire_error error,
                       const struct ts_coord_detail *detail, enum ts_claim_error *ret_error) {
    switch (error) {
    case TS_ACQUIRE_OK:
        *ret_error = TS_CLAIM_OK;
        return false;
    case TS_ACQUIRE_ALREADY_LEASED:
        if (!scan->has_earliest || detail->deadline.ms < scan->earliest.ms) {
            scan->has_earliest = true;
            scan->earliest = detail->deadline;
        }
        return true;
    case TS_ACQUIRE_SHARD_TERMINAL:
    case TS_ACQUIRE_SHARD_NOT_FOUND:
        return true;
    case TS_ACQUIRE_TENANT_MISMATCH:
        *ret_error = TS_CLAIM_TENANT_MISMATCH;
        return false;
    case TS_ACQUIRE_BACKEND_ERROR:
        *ret_error = TS_CLAIM_BACKEND_ERROR;
        return false;
    }
    ts_unreachable("every answer of acquire is considered");
}

enum ts_claim_error ts_claim_none(const struct ts_claim_scan *scan, const struct ts_run_guard *guard,
                                  struct ts_coord_detail *ret_detail) {
    ret_detail->has_deadline = scan->has_earliest && ts_claim_is_open(guard);
    ret_detail->deadline = scan->earliest;
    ret_detail->other_pins = 0;
    return TS_CLAIM_NONE_AVAILABLE;
}
