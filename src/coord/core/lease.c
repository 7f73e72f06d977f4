#include "coord/core/lease.h"

#include "base/endian.h"

struct ts_lease_holder ts_lease_holder_make(const struct ts_worker_id *owner,
                                            struct ts_logical_time deadline) {
    ts_assert(deadline.ms != 0);
    return (struct ts_lease_holder){.owner = *owner, .deadline = deadline};
}

struct ts_lease ts_lease_make(const struct ts_lease_fields *fields) {
    ts_assert(fields->fence.v >= TS_FENCE_INITIAL.v);
    ts_assert(fields->deadline.ms != 0);
    return (struct ts_lease){{.tenant = fields->tenant,
                              .run = fields->shard.run,
                              .shard = fields->shard.shard,
                              .owner = fields->owner,
                              .fence = fields->fence,
                              .deadline = fields->deadline}};
}

void ts_lease_set_deadline(struct ts_lease *lease, struct ts_logical_time deadline) {
    ts_assert(deadline.ms >= lease->lease__private.deadline.ms);
    lease->lease__private.deadline = deadline;
}

void ts_lease_encode(const struct ts_lease *lease, uint8_t ret_bytes[static TS_LEASE_ENCODED_LEN]) {
    memcpy(ret_bytes, lease->lease__private.tenant.b, 32);
    memcpy(ret_bytes + 32, lease->lease__private.owner.b, 32);
    ts_le64_store(lease->lease__private.run.v, ret_bytes + 64);
    ts_le64_store(lease->lease__private.shard.v, ret_bytes + 72);
    ts_le64_store(lease->lease__private.fence.v, ret_bytes + 80);
    ts_le64_store(lease->lease__private.deadline.ms, ret_bytes + 88);
}

bool ts_lease_decode(struct ts_bytes bytes, struct ts_lease *ret_lease) {
    if (bytes.len != TS_LEASE_ENCODED_LEN)
        return false;
    struct ts_lease_fields fields = {
        .shard = {{ts_le64_load(bytes.data + 64)}, {ts_le64_load(bytes.data + 72)}},
        .fence = {ts_le64_load(bytes.data + 80)},
        .deadline = {ts_le64_load(bytes.data + 88)},
    };
    if (fields.fence.v < TS_FENCE_INITIAL.v || fields.deadline.ms == 0)
        return false;
    memcpy(fields.tenant.b, bytes.data, 32);
    memcpy(fields.owner.b, bytes.data + 32, 32);
    *ret_lease = ts_lease_make(&fields);
    return true;
}

/* An entry of the log of a shard or of a run. Entries of both logs have the same fields; only the type of
 * `kind` differs. */
#define NEW_ENTRY(log, entry_kind)                                                                           \
    {                                                                                                        \
        .op_id = op_id, .payload_hash = hash, .executed_at = now, .kind = (entry_kind),                      \
        .result = TS_OP_RESULT_COMPLETED                                                                     \
    }

void ts_op_log_record(ts_op_log *log, enum ts_shard_op_kind kind, struct ts_op_id op_id,
                      struct ts_payload_hash hash, struct ts_logical_time now) {
    ts_assert(now.ms != 0);
    ts_assert(hash.v != 0);
    if (ts_ring_count(log) > 0 && ts_ring_from_newest(log, 0)->executed_at.ms > now.ms)
        now = ts_ring_from_newest(log, 0)->executed_at;
    const struct ts_op_log_entry entry = NEW_ENTRY(log, kind);
    ts_ring_push(log, &entry);
}

void ts_run_op_log_record(ts_run_op_log *log, enum ts_run_op_kind kind, struct ts_op_id op_id,
                          struct ts_payload_hash hash, struct ts_logical_time now) {
    ts_assert(now.ms != 0);
    ts_assert(hash.v != 0);
    if (ts_ring_count(log) > 0 && ts_ring_from_newest(log, 0)->executed_at.ms > now.ms)
        now = ts_ring_from_newest(log, 0)->executed_at;
    const struct ts_run_op_log_entry entry = NEW_ENTRY(log, kind);
    ts_ring_push(log, &entry);
}

const struct ts_op_log_entry *ts_op_log_find(const ts_op_log *log, struct ts_op_id op_id) {
    for (size_t age = 0; age < ts_ring_count(log); age++) {
        const struct ts_op_log_entry *entry = ts_ring_from_newest(log, age);
        if (entry->op_id.v == op_id.v)
            return entry;
    }
    return NULL;
}

const struct ts_run_op_log_entry *ts_run_op_log_find(const ts_run_op_log *log, struct ts_op_id op_id) {
    for (size_t age = 0; age < ts_ring_count(log); age++) {
        const struct ts_run_op_log_entry *entry = ts_ring_from_newest(log, age);
        if (entry->op_id.v == op_id.v)
            return entry;
    }
    return NULL;
}

enum ts_op_result ts_op_log_result_of(const ts_op_log *log, const struct ts_op_log_entry *entry) {
    if (entry->kind != TS_SHARD_OP_CHECKPOINT || entry->result != TS_OP_RESULT_COMPLETED)
        return entry->result;
    for (size_t age = 0; age < ts_ring_count(log); age++) {
        const struct ts_op_log_entry *later = ts_ring_from_newest(log, age);
        if (later == entry)
            return TS_OP_RESULT_COMPLETED;
        if (later->kind == TS_SHARD_OP_CHECKPOINT || later->kind == TS_SHARD_OP_COMPLETE)
            return TS_OP_RESULT_SUPERSEDED;
    }
    ts_unreachable("the entry is one of the log");
}
