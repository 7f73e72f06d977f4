/* The invariants of every record. */
#include "coord/core/record.h"

#include "base/assert.h"

#include <stdio.h>
#include <string.h>

struct ts_run_guard ts_run_guard_of(const struct ts_run_record *run) {
    return (struct ts_run_guard){.tenant = run->tenant,
                                 .run = run->run,
                                 .status = run->status,
                                 .config = run->config,
                                 .number = run->number};
}

void ts_shard_record_copy(const struct ts_shard_record *from, struct ts_shard_record *ret_record) {
    /* A log that is not full uses only its first slots. */
    const size_t slots = from->op_log.head.oldest == 0 ? ts_ring_count(&from->op_log) : TS_OP_LOG_MAX;
    memcpy(ret_record, from,
           offsetof(struct ts_shard_record, op_log.slots) + slots * sizeof from->op_log.slots[0]);
}

/* Returns whether an id occurs more than once. */
static bool any_is_repeated(const uint64_t *ids, size_t count) {
    bool repeated = false;
    for (size_t i = 1; i < count; i++)
        for (size_t before = 0; before < i; before++)
            repeated |= ids[before] == ids[i];
    return repeated;
}

/* Checks a log of a shard or a run: ids distinct, hashes not 0, times above 0 and not decreasing. The loop
 * has no branches, because the check runs twice for every operation. Each id sets one of 64 bits. If two ids
 * set the same bit, all ids are compared. */
#define LOG_IS_SOUND(log, capacity)                                                                          \
    if (ts_ring_count(log) > (capacity))                                                                     \
        return false;                                                                                        \
    uint64_t ids[capacity];                                                                                  \
    uint64_t seen = 0, seen_twice = 0, last_ms = 1;                                                          \
    bool broken = false;                                                                                     \
    for (size_t i = 0; i < ts_ring_count(log); i++) {                                                        \
        const size_t at = ts_ring__from_oldest(&(log)->head, (capacity), i);                                 \
        const uint64_t id = (log)->slots[at].op_id.v, ms = (log)->slots[at].executed_at.ms;                  \
        const uint64_t bit = UINT64_C(1) << (id * UINT64_C(0x9e3779b97f4a7c15) >> 58);                       \
        broken |= ((log)->slots[at].payload_hash.v == 0) | (ms < last_ms);                                   \
        last_ms = ms;                                                                                        \
        ids[i] = id;                                                                                         \
        seen_twice |= seen & bit;                                                                            \
        seen |= bit;                                                                                         \
    }                                                                                                        \
    return !broken && (seen_twice == 0 || !any_is_repeated(ids, ts_ring_count(log)))

static bool op_log_is_sound(const ts_op_log *log) {
    LOG_IS_SOUND(log, TS_OP_LOG_MAX);
}

static bool run_op_log_is_sound(const ts_run_op_log *log) {
    LOG_IS_SOUND(log, TS_RUN_OP_LOG_MAX);
}

enum { SEEN_SLOTS = 2 * TS_SPAWNED_MAX, FEW = 8 };

/* Returns whether the ids are distinct. The ids go into an open hash table. Derived ids are hash values, so
 * their low bits select the slot. A slot that holds 0 is free, because 0 is not a derived id. The function is
 * not inlined, because its frame is large. */
__attribute__((noinline)) static bool many_are_distinct(struct ts_spawned spawned) {
    uint64_t seen[SEEN_SLOTS] = {0};
    for (size_t i = 0; i < ts_spawned_count(spawned); i++) {
        uint64_t id = ts_spawned_at(spawned, i).v;
        size_t at = (size_t)(id % SEEN_SLOTS);
        while (seen[at] != 0 && seen[at] != id)
            at = (at + 1) % SEEN_SLOTS;
        if (seen[at] == id)
            return false;
        seen[at] = id;
    }
    return true;
}

static bool few_are_distinct(struct ts_spawned spawned) {
    for (size_t i = 0; i < ts_spawned_count(spawned); i++) {
        for (size_t before = 0; before < i; before++) {
            if (ts_spawned_at(spawned, before).v == ts_spawned_at(spawned, i).v)
                return false;
        }
    }
    return true;
}

static bool spawned_are_sound(struct ts_spawned spawned) {
    if (spawned.bytes.len % 8 != 0 || ts_spawned_count(spawned) > TS_SPAWNED_MAX)
        return false;
    for (size_t i = 0; i < ts_spawned_count(spawned); i++) {
        if (!ts_shard_id_is_derived(ts_spawned_at(spawned, i)))
            return false;
    }
    return ts_spawned_count(spawned) <= FEW ? few_are_distinct(spawned) : many_are_distinct(spawned);
}

/* Returns whether the op-log has the operation that led to the record's status. That operation is the newest
 * entry, because on a shard that is not active only unpark is executed, and unpark makes it active. */
static bool has_operation_of_its_status(const struct ts_shard_record *record) {
    if (record->status == TS_SHARD_ACTIVE)
        return true;
    if (ts_ring_count(&record->op_log) == 0)
        return false;
    enum ts_shard_op_kind newest = ts_ring_from_newest(&record->op_log, 0)->kind;
    switch (record->status) {
    case TS_SHARD_ACTIVE:
        return true;
    case TS_SHARD_DONE:
        return newest == TS_SHARD_OP_COMPLETE;
    case TS_SHARD_SPLIT:
        return newest == TS_SHARD_OP_SPLIT_REPLACE && ts_spawned_count(record->spawned) >= 2;
    case TS_SHARD_PARKED:
        return newest == TS_SHARD_OP_PARK;
    }
    ts_unreachable("every status has its operation");
}

unsigned ts_shard_record_invariant_broken(const struct ts_shard_record *record) {
    if (record->has_holder && record->status != TS_SHARD_ACTIVE)
        return 1;
    if (record->has_holder && (record->fence.v < TS_FENCE_INITIAL.v || record->holder.deadline.ms == 0))
        return 2;
    if (ts_key_range_is_inverted(record->spec.range))
        return 3;
    if (record->cursor.has_key && !ts_key_range_contains(record->spec.range, record->cursor.last_key))
        return 4;
    if (!ts_shard_spec_has_valid_sizes(&record->spec) || !ts_cursor_has_valid_sizes(&record->cursor))
        return 5;
    if (!op_log_is_sound(&record->op_log))
        return 6;
    if (record->has_park_reason != (record->status == TS_SHARD_PARKED))
        return 7;
    if (!spawned_are_sound(record->spawned))
        return 8;
    if (record->has_parent != ts_shard_id_is_derived(record->key.shard))
        return 9;
    if (!has_operation_of_its_status(record))
        return 10;
    return 0;
}

static bool has_operation_of_its_end(const struct ts_run_record *run) {
    enum ts_run_op_kind expected = TS_RUN_OP_COMPLETE_RUN;
    switch (run->status) {
    case TS_RUN_INITIALIZING:
    case TS_RUN_ACTIVE:
        return true;
    case TS_RUN_DONE:
        break;
    case TS_RUN_FAILED:
        expected = TS_RUN_OP_FAIL_RUN;
        break;
    case TS_RUN_CANCELLED:
        expected = TS_RUN_OP_CANCEL_RUN;
        break;
    }
    return ts_ring_count(&run->op_log) > 0 && ts_ring_from_newest(&run->op_log, 0)->kind == expected;
}

static bool is_announcement_sound(const struct ts_run_record *run) {
    const struct ts_announced none = {0};
    if (run->announced.count == 0)
        return ts_announced_equal(&run->announced, &none);
    const bool is_complete = run->status == TS_RUN_ACTIVE || run->status == TS_RUN_DONE;
    return run->announced.count <= run->config.shard_max &&
           (!is_complete || run->registered >= run->announced.count);
}

unsigned ts_run_record_invariant_broken(const struct ts_run_record *run) {
    struct ts_run_config_detail unused;
    if (ts_run_config_check(&run->config, &unused) != TS_RUN_CONFIG_FAULT_OK)
        return 1;
    if (!run_op_log_is_sound(&run->op_log))
        return 2;
    if (run->created_at.ms == 0 || (run->ended_at.ms != 0) != ts_run_status_is_terminal(run->status))
        return 3;
    if (!has_operation_of_its_end(run))
        return 4;
    if (run->registered > run->config.shard_max ||
        (run->status == TS_RUN_INITIALIZING && run->registered != 0 &&
         run->registered >= run->announced.count))
        return 5;
    if (run->number == 0)
        return 6;
    return is_announcement_sound(run) ? 0 : 7;
}

const char *ts_record_error_text(enum ts_record_error error) {
#define TEXT(suffix, text)                                                                                   \
    case TS_RECORD_##suffix:                                                                                 \
        return text;
    switch (error) { TS_RECORD_ERRORS(TEXT) }
    ts_unreachable("every record error has a text");
}

void ts_record_error_to_infra(enum ts_record_error error, struct ts_infra_error *ret_infra) {
    ret_infra->kind = TS_INFRA_DAMAGED;
    snprintf(ret_infra->text, sizeof ret_infra->text, "%s", ts_record_error_text(error));
}
