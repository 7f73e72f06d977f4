/*
 * Records as bytes. Numbers are little-endian; docs/formats/coord.md has the layouts, and the offsets are
 * below.
 *
 * Every record: 4 bytes of magic, 1 of version, its fields, and, as the last 8 bytes, the XXH64 of all bytes
 * before them. A record has exactly one encoding: absent fields and reserved bytes are zero (an absent park
 * reason is 0xff), and anything else is refused.
 */
#include "coord/core/record.h"

#include "base/endian.h"
#include "base/hash64.h"
#include "codec.h"

#include <string.h>

enum { VERSION = 1, MAGIC_LEN = 4, CHECKSUM_LEN = 8, NO_PARK_REASON = 0xff };

enum {
    SHARD_FLAGS = 5,
    SHARD_STATUS = 6,
    SHARD_PARK_REASON = 7,
    SHARD_SEMANTICS = 8,
    SHARD_OP_COUNT = 9,
    SHARD_SPAWNED_COUNT = 10,
    SHARD_ATTEMPTS = 12,
    SHARD_TENANT = 16,
    SHARD_RUN = 48,
    SHARD_SHARD = 56,
    SHARD_PARENT = 64,
    SHARD_FENCE = 72,
    SHARD_OWNER = 80,
    SHARD_DEADLINE = 112,
    SHARD_LENGTHS = 120, /* offset of the lengths of start, end, metadata, key and token, 2 bytes each */
    SHARD_RESERVED = 130,
    SHARD_FIXED = 136,

    FLAG_PARENT = 1,
    FLAG_HOLDER = 2,
    FLAG_KEY = 4,
    FLAG_TOKEN = 8,
};

enum {
    RUN_STATUS = 5,
    RUN_SEMANTICS = 6,
    RUN_OP_COUNT = 7,
    RUN_ATTEMPTS = 8,
    RUN_RESERVED = 12,
    RUN_TENANT = 16
};
enum { RUN_RUN = 48, RUN_LEASE = 56, RUN_COOLDOWN = 64, RUN_SHARD_MAX = 72, RUN_NUMBER = 80, RUN_PIN = 88 };
enum { GUARD_FIXED = 120 };
enum { RUN_REGISTERED = 120, RUN_CREATED = 128, RUN_ENDED = 136, RUN_ANNOUNCED = 144, RUN_DIGEST = 152 };
enum { RUN_FIXED = 184 };

/* An entry of an op-log. */
enum { OP_ID = 0, OP_HASH = 8, OP_TIME = 16, OP_KIND = 24, OP_RESULT = 25, OP_LEN = 26 };

_Static_assert(SHARD_FIXED + TS_OP_LOG_MAX * OP_LEN + TS_SPAWNED_MAX * 8 + 3 * TS_KEY_MAX + TS_TOKEN_MAX +
                       TS_METADATA_MAX + CHECKSUM_LEN <=
                   TS_RECORD_MAX,
               "a record within its limits fits");
_Static_assert(RUN_FIXED + TS_RUN_OP_LOG_MAX * OP_LEN + CHECKSUM_LEN == TS_RUN_RECORD_ENCODED_MAX,
               "runs fit");
_Static_assert(GUARD_FIXED + CHECKSUM_LEN == TS_RUN_GUARD_ENCODED_LEN, "guards fit");

size_t coord__seal(uint8_t *bytes, size_t len, const char magic[static 4]) {
    memcpy(bytes, magic, MAGIC_LEN);
    bytes[MAGIC_LEN] = VERSION;
    ts_le64_store(ts_xxh64_of_bytes(ts_bytes_of(bytes, len)), bytes + len);
    return len + CHECKSUM_LEN;
}

enum ts_record_error coord__open(struct ts_bytes bytes, const char magic[static 4], size_t fixed_len) {
    if (bytes.len > TS_RECORD_MAX)
        return TS_RECORD_TOO_LARGE;
    if (bytes.len < MAGIC_LEN + 1)
        return TS_RECORD_TOO_SHORT;
    if (memcmp(bytes.data, magic, MAGIC_LEN) != 0)
        return TS_RECORD_BAD_MAGIC;
    if (bytes.data[MAGIC_LEN] > VERSION)
        return TS_RECORD_UNKNOWN_VERSION;
    if (bytes.data[MAGIC_LEN] == 0)
        return TS_RECORD_BAD_FIELD;
    if (bytes.len < fixed_len + CHECKSUM_LEN)
        return TS_RECORD_TOO_SHORT;
    size_t body = bytes.len - CHECKSUM_LEN;
    if (ts_le64_load(bytes.data + body) != ts_xxh64_of_bytes(ts_bytes_first(bytes, body)))
        return TS_RECORD_BAD_CHECKSUM;
    return TS_RECORD_OK;
}

size_t ts_shard_record_reserved_size(const struct ts_shard_record *record) {
    return SHARD_FIXED + TS_OP_LOG_MAX * OP_LEN + record->spawned.bytes.len + record->spec.range.start.len +
           record->spec.range.end.len + record->spec.metadata.len +
           (record->cursor.has_key ? record->cursor.last_key.len : 0) +
           (record->cursor.has_token ? record->cursor.token.len : 0) + CHECKSUM_LEN;
}

static uint8_t *put(uint8_t *at, struct ts_bytes bytes) {
    if (bytes.len > 0)
        memcpy(at, bytes.data, bytes.len);
    return at + bytes.len;
}

static void put_op(uint8_t *at, struct ts_op_id op_id, struct ts_payload_hash hash,
                   struct ts_logical_time time) {
    ts_le64_store(op_id.v, at + OP_ID);
    ts_le64_store(hash.v, at + OP_HASH);
    ts_le64_store(time.ms, at + OP_TIME);
}

static void put_shard_header(const struct ts_shard_record *r, const struct ts_cursor *cursor, uint8_t *b) {
    memset(b, 0, SHARD_FIXED);
    b[SHARD_FLAGS] = (uint8_t)((r->has_parent ? FLAG_PARENT : 0) | (r->has_holder ? FLAG_HOLDER : 0) |
                               (cursor->has_key ? FLAG_KEY : 0) | (cursor->has_token ? FLAG_TOKEN : 0));
    b[SHARD_STATUS] = (uint8_t)r->status;
    b[SHARD_PARK_REASON] = r->has_park_reason ? (uint8_t)r->park_reason : NO_PARK_REASON;
    b[SHARD_SEMANTICS] = (uint8_t)r->semantics;
    b[SHARD_OP_COUNT] = (uint8_t)ts_ring_count(&r->op_log);
    ts_le16_store((uint16_t)ts_spawned_count(r->spawned), b + SHARD_SPAWNED_COUNT);
    ts_le32_store(r->attempts, b + SHARD_ATTEMPTS);
    memcpy(b + SHARD_TENANT, r->tenant.b, sizeof r->tenant.b);
    ts_le64_store(r->key.run.v, b + SHARD_RUN);
    ts_le64_store(r->key.shard.v, b + SHARD_SHARD);
    if (r->has_parent)
        ts_le64_store(r->parent.v, b + SHARD_PARENT);
    ts_le64_store(r->fence.v, b + SHARD_FENCE);
    if (r->has_holder) {
        memcpy(b + SHARD_OWNER, r->holder.owner.b, sizeof r->holder.owner.b);
        ts_le64_store(r->holder.deadline.ms, b + SHARD_DEADLINE);
    }
    ts_le16_store((uint16_t)r->spec.range.start.len, b + SHARD_LENGTHS);
    ts_le16_store((uint16_t)r->spec.range.end.len, b + SHARD_LENGTHS + 2);
    ts_le16_store((uint16_t)r->spec.metadata.len, b + SHARD_LENGTHS + 4);
    ts_le16_store((uint16_t)cursor->last_key.len, b + SHARD_LENGTHS + 6);
    ts_le16_store((uint16_t)cursor->token.len, b + SHARD_LENGTHS + 8);
}

enum ts_record_error ts_shard_record_encode(const struct ts_shard_record *record,
                                            uint8_t ret_bytes[static TS_RECORD_MAX], size_t *ret_len) {
    if (ts_shard_record_invariant_broken(record) != 0)
        return TS_RECORD_BROKEN_INVARIANT;
    struct ts_cursor cursor = record->cursor;
    if (!cursor.has_key)
        cursor.last_key = (struct ts_bytes){0};
    if (!cursor.has_token)
        cursor.token = (struct ts_bytes){0};

    put_shard_header(record, &cursor, ret_bytes);
    uint8_t *at = ret_bytes + SHARD_FIXED;
    for (size_t i = 0; i < ts_ring_count(&record->op_log); i++, at += OP_LEN) {
        const struct ts_op_log_entry *entry = ts_ring_from_oldest(&record->op_log, i);
        put_op(at, entry->op_id, entry->payload_hash, entry->executed_at);
        at[OP_KIND] = (uint8_t)entry->kind;
        at[OP_RESULT] = (uint8_t)entry->result;
    }
    at = put(at, record->spawned.bytes);
    at = put(at, record->spec.range.start);
    at = put(at, record->spec.range.end);
    at = put(at, record->spec.metadata);
    at = put(at, cursor.last_key);
    at = put(at, cursor.token);
    *ret_len = coord__seal(ret_bytes, (size_t)(at - ret_bytes), "TSsh");
    return TS_RECORD_OK;
}

/* Takes the next len bytes; the caller has checked that they exist. */
static struct ts_bytes take(const uint8_t **at, size_t len) {
    struct ts_bytes taken = {.data = *at, .len = len};
    *at += len;
    return taken;
}

static bool is_zero(const uint8_t *bytes, size_t len) {
    uint8_t any = 0;
    for (size_t i = 0; i < len; i++)
        any |= bytes[i];
    return any == 0;
}

static bool take_shard_header(const uint8_t *b, struct ts_shard_record *r) {
    uint8_t flags = b[SHARD_FLAGS];
    if (flags > (FLAG_PARENT | FLAG_HOLDER | FLAG_KEY | FLAG_TOKEN) || !is_zero(b + SHARD_RESERVED, 6) ||
        !ts_shard_status_from_number(b[SHARD_STATUS], &r->status) ||
        !ts_cursor_semantics_from_number(b[SHARD_SEMANTICS], &r->semantics))
        return false;
    r->has_park_reason = b[SHARD_PARK_REASON] != NO_PARK_REASON;
    if (r->has_park_reason && !ts_park_reason_from_number(b[SHARD_PARK_REASON], &r->park_reason))
        return false;
    r->attempts = ts_le32_load(b + SHARD_ATTEMPTS);
    memcpy(r->tenant.b, b + SHARD_TENANT, sizeof r->tenant.b);
    r->key = (struct ts_shard_key){{ts_le64_load(b + SHARD_RUN)}, {ts_le64_load(b + SHARD_SHARD)}};
    r->has_parent = (flags & FLAG_PARENT) != 0;
    r->parent.v = ts_le64_load(b + SHARD_PARENT);
    r->fence.v = ts_le64_load(b + SHARD_FENCE);
    r->has_holder = (flags & FLAG_HOLDER) != 0;
    memcpy(r->holder.owner.b, b + SHARD_OWNER, sizeof r->holder.owner.b);
    r->holder.deadline.ms = ts_le64_load(b + SHARD_DEADLINE);
    r->cursor.has_key = (flags & FLAG_KEY) != 0;
    r->cursor.has_token = (flags & FLAG_TOKEN) != 0;
    return (r->has_parent || r->parent.v == 0) &&
           (r->has_holder || is_zero(b + SHARD_OWNER, SHARD_LENGTHS - SHARD_OWNER));
}

static bool take_op(const uint8_t *at, struct ts_op_log_entry *entry) {
    entry->op_id.v = ts_le64_load(at + OP_ID);
    entry->payload_hash.v = ts_le64_load(at + OP_HASH);
    entry->executed_at.ms = ts_le64_load(at + OP_TIME);
    return ts_shard_op_kind_from_number(at[OP_KIND], &entry->kind) &&
           ts_op_result_from_number(at[OP_RESULT], &entry->result);
}

enum ts_record_error ts_shard_record_decode(struct ts_bytes bytes, struct ts_shard_record *ret_record) {
    enum ts_record_error error = coord__open(bytes, "TSsh", SHARD_FIXED);
    if (error != TS_RECORD_OK)
        return error;
    const uint8_t *b = bytes.data;
    size_t ops = b[SHARD_OP_COUNT];
    size_t spawned = ts_le16_load(b + SHARD_SPAWNED_COUNT);
    size_t lengths[5];
    size_t expected = SHARD_FIXED + ops * OP_LEN + spawned * 8 + CHECKSUM_LEN;
    for (size_t i = 0; i < 5; i++) {
        lengths[i] = ts_le16_load(b + SHARD_LENGTHS + 2 * i);
        expected += lengths[i];
    }
    struct ts_shard_record record = {0};
    if (expected != bytes.len || ops > TS_OP_LOG_MAX || !take_shard_header(b, &record))
        return TS_RECORD_BAD_FIELD;
    if ((!record.cursor.has_key && lengths[3] != 0) || (!record.cursor.has_token && lengths[4] != 0))
        return TS_RECORD_BAD_FIELD;

    const uint8_t *at = b + SHARD_FIXED;
    for (size_t i = 0; i < ops; i++, at += OP_LEN) {
        if (!take_op(at, &record.op_log.slots[i]))
            return TS_RECORD_BAD_FIELD;
    }
    record.op_log.head.count = ops;
    record.spawned.bytes = take(&at, spawned * 8);
    record.spec.range.start = take(&at, lengths[0]);
    record.spec.range.end = take(&at, lengths[1]);
    record.spec.metadata = take(&at, lengths[2]);
    record.cursor.last_key = take(&at, lengths[3]);
    record.cursor.token = take(&at, lengths[4]);
    if (ts_shard_record_invariant_broken(&record) != 0)
        return TS_RECORD_BROKEN_INVARIANT;
    ts_shard_record_copy(&record, ret_record);
    return TS_RECORD_OK;
}

/* Writes the common part of a run's record and its guard: the first 120 bytes. */
static void put_run_head(const struct ts_run_guard *guard, uint8_t *b) {
    memset(b, 0, GUARD_FIXED);
    b[RUN_STATUS] = (uint8_t)guard->status;
    b[RUN_SEMANTICS] = (uint8_t)guard->config.semantics;
    ts_le32_store(guard->config.attempts, b + RUN_ATTEMPTS);
    memcpy(b + RUN_TENANT, guard->tenant.b, sizeof guard->tenant.b);
    ts_le64_store(guard->run.v, b + RUN_RUN);
    ts_le64_store(guard->config.lease_duration_ms, b + RUN_LEASE);
    ts_le64_store(guard->config.cooldown_ms, b + RUN_COOLDOWN);
    ts_le64_store(guard->config.shard_max, b + RUN_SHARD_MAX);
    ts_le64_store(guard->number, b + RUN_NUMBER);
    memcpy(b + RUN_PIN, guard->config.pin.b, sizeof guard->config.pin.b);
}

static bool take_run_head(const uint8_t *b, struct ts_run_guard *guard) {
    if (!ts_run_status_from_number(b[RUN_STATUS], &guard->status) ||
        !ts_cursor_semantics_from_number(b[RUN_SEMANTICS], &guard->config.semantics) ||
        !is_zero(b + RUN_RESERVED, 4))
        return false;
    guard->config.attempts = ts_le32_load(b + RUN_ATTEMPTS);
    memcpy(guard->tenant.b, b + RUN_TENANT, sizeof guard->tenant.b);
    guard->run.v = ts_le64_load(b + RUN_RUN);
    guard->config.lease_duration_ms = ts_le64_load(b + RUN_LEASE);
    guard->config.cooldown_ms = ts_le64_load(b + RUN_COOLDOWN);
    guard->config.shard_max = ts_le64_load(b + RUN_SHARD_MAX);
    guard->number = ts_le64_load(b + RUN_NUMBER);
    memcpy(guard->config.pin.b, b + RUN_PIN, sizeof guard->config.pin.b);
    return true;
}

static bool guard_is_sound(const struct ts_run_guard *guard) {
    struct ts_run_config_detail unused;
    return guard->number > 0 && ts_run_config_check(&guard->config, &unused) == TS_RUN_CONFIG_FAULT_OK;
}

enum ts_record_error ts_run_guard_encode(const struct ts_run_guard *guard,
                                         uint8_t ret_bytes[static TS_RUN_GUARD_ENCODED_LEN]) {
    if (!guard_is_sound(guard))
        return TS_RECORD_BROKEN_INVARIANT;
    put_run_head(guard, ret_bytes);
    coord__seal(ret_bytes, GUARD_FIXED, "TSgd");
    return TS_RECORD_OK;
}

enum ts_record_error ts_run_guard_decode(struct ts_bytes bytes, struct ts_run_guard *ret_guard) {
    enum ts_record_error error = coord__open(bytes, "TSgd", GUARD_FIXED);
    if (error != TS_RECORD_OK)
        return error;
    struct ts_run_guard guard;
    if (bytes.len != TS_RUN_GUARD_ENCODED_LEN || bytes.data[RUN_OP_COUNT] != 0 ||
        !take_run_head(bytes.data, &guard))
        return TS_RECORD_BAD_FIELD;
    if (!guard_is_sound(&guard))
        return TS_RECORD_BROKEN_INVARIANT;
    *ret_guard = guard;
    return TS_RECORD_OK;
}

enum ts_record_error ts_run_record_encode(const struct ts_run_record *run,
                                          uint8_t ret_bytes[static TS_RUN_RECORD_ENCODED_MAX],
                                          size_t *ret_len) {
    if (ts_run_record_invariant_broken(run) != 0)
        return TS_RECORD_BROKEN_INVARIANT;
    const struct ts_run_guard head = ts_run_guard_of(run);
    put_run_head(&head, ret_bytes);
    ret_bytes[RUN_OP_COUNT] = (uint8_t)ts_ring_count(&run->op_log);
    ts_le64_store(run->registered, ret_bytes + RUN_REGISTERED);
    ts_le64_store(run->created_at.ms, ret_bytes + RUN_CREATED);
    ts_le64_store(run->ended_at.ms, ret_bytes + RUN_ENDED);
    ts_le64_store(run->announced.count, ret_bytes + RUN_ANNOUNCED);
    memcpy(ret_bytes + RUN_DIGEST, run->announced.digest, sizeof run->announced.digest);
    uint8_t *at = ret_bytes + RUN_FIXED;
    for (size_t i = 0; i < ts_ring_count(&run->op_log); i++, at += OP_LEN) {
        const struct ts_run_op_log_entry *entry = ts_ring_from_oldest(&run->op_log, i);
        put_op(at, entry->op_id, entry->payload_hash, entry->executed_at);
        at[OP_KIND] = (uint8_t)entry->kind;
        at[OP_RESULT] = (uint8_t)entry->result;
    }
    *ret_len = coord__seal(ret_bytes, (size_t)(at - ret_bytes), "TSrn");
    return TS_RECORD_OK;
}

enum ts_record_error ts_run_record_decode(struct ts_bytes bytes, struct ts_run_record *ret_run) {
    enum ts_record_error error = coord__open(bytes, "TSrn", RUN_FIXED);
    if (error != TS_RECORD_OK)
        return error;
    const uint8_t *b = bytes.data;
    size_t ops = b[RUN_OP_COUNT];
    struct ts_run_guard head;
    if (ops > TS_RUN_OP_LOG_MAX || bytes.len != RUN_FIXED + ops * OP_LEN + CHECKSUM_LEN ||
        !take_run_head(b, &head))
        return TS_RECORD_BAD_FIELD;
    struct ts_run_record run = {
        .tenant = head.tenant,
        .run = head.run,
        .status = head.status,
        .config = head.config,
        .number = head.number,
        .registered = ts_le64_load(b + RUN_REGISTERED),
        .created_at = {ts_le64_load(b + RUN_CREATED)},
        .ended_at = {ts_le64_load(b + RUN_ENDED)},
        .announced = {.count = ts_le64_load(b + RUN_ANNOUNCED)},
    };
    memcpy(run.announced.digest, b + RUN_DIGEST, sizeof run.announced.digest);
    const uint8_t *at = b + RUN_FIXED;
    for (size_t i = 0; i < ops; i++, at += OP_LEN) {
        struct ts_run_op_log_entry entry = {.op_id = {ts_le64_load(at + OP_ID)},
                                            .payload_hash = {ts_le64_load(at + OP_HASH)},
                                            .executed_at = {ts_le64_load(at + OP_TIME)}};
        if (!ts_run_op_kind_from_number(at[OP_KIND], &entry.kind) ||
            !ts_op_result_from_number(at[OP_RESULT], &entry.result))
            return TS_RECORD_BAD_FIELD;
        ts_ring_push(&run.op_log, &entry);
    }
    if (ts_run_record_invariant_broken(&run) != 0)
        return TS_RECORD_BROKEN_INVARIANT;
    *ret_run = run;
    return TS_RECORD_OK;
}
