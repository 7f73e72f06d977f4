#include "txn/core/records.h"

#include "base/endian.h"
#include "base/hash64.h"

enum { HEAD_LEN = 2, SUM_LEN = 8 };

static void put_head(uint8_t kind, uint8_t *ret_record) {
    ret_record[0] = TXN__RECORD_FORMAT;
    ret_record[1] = kind;
}

/* Appends the checksum to a record of `len` bytes. Returns the length with the checksum. */
static size_t close_record(uint8_t *record, size_t len) {
    ts_le64_store(ts_xxh64_of_bytes(ts_bytes_of(record, len)), record + len);
    return len + SUM_LEN;
}

static size_t encode_number(uint8_t kind, uint64_t number, uint8_t *ret_record) {
    put_head(kind, ret_record);
    ts_le64_store(number, ret_record + HEAD_LEN);
    return close_record(ret_record, HEAD_LEN + 8);
}

/* Sets the kind and the fields of a record. Returns false if the format or the checksum is wrong. */
static bool open_record(struct ts_bytes record, uint8_t *ret_kind, struct ts_bytes *ret_fields) {
    if (record.len < HEAD_LEN + SUM_LEN || record.data[0] != TXN__RECORD_FORMAT)
        return false;
    size_t len = record.len - SUM_LEN;
    if (ts_le64_load(record.data + len) != ts_xxh64_of_bytes(ts_bytes_first(record, len)))
        return false;
    *ret_kind = record.data[1];
    *ret_fields = ts_bytes_skip(ts_bytes_first(record, len), HEAD_LEN);
    return true;
}

static bool decode_number(struct ts_bytes record, uint8_t kind, uint64_t *ret_number) {
    uint8_t found;
    struct ts_bytes fields;
    if (!open_record(record, &found, &fields) || found != kind || fields.len != 8)
        return false;
    *ret_number = ts_le64_load(fields.data);
    return true;
}

size_t txn__registration_encode(uint64_t total_timeout_ms, uint8_t *ret_record) {
    return encode_number('R', total_timeout_ms, ret_record);
}

size_t txn__fence_mark_encode(uint64_t now_ms, uint8_t *ret_record) {
    return encode_number('F', now_ms, ret_record);
}

size_t txn__heartbeat_encode(uint64_t now_ms, uint8_t *ret_record) {
    return encode_number('H', now_ms, ret_record);
}

size_t txn__mark_encode(uint64_t sequence, uint8_t *ret_record) {
    return encode_number('L', sequence, ret_record);
}

bool txn__registration_decode(struct ts_bytes record, struct txn__registration *ret_registration) {
    uint64_t number;
    if (decode_number(record, 'R', &number)) {
        *ret_registration = (struct txn__registration){TXN__REGISTERED, .total_timeout_ms = number};
        return true;
    }
    if (decode_number(record, 'F', &number)) {
        *ret_registration = (struct txn__registration){TXN__FENCED, .fenced_at_ms = number};
        return true;
    }
    return false;
}

bool txn__heartbeat_decode(struct ts_bytes record, uint64_t *ret_time_ms) {
    return decode_number(record, 'H', ret_time_ms);
}

bool txn__mark_decode(struct ts_bytes record, uint64_t *ret_sequence) {
    return decode_number(record, 'L', ret_sequence);
}

size_t txn__commit_encode(const struct txn__places *participants, uint8_t *ret_record) {
    put_head('C', ret_record);
    uint16_t count = 0;
    size_t len = HEAD_LEN + 2;
    for (uint32_t word = 0; word < TS_TXN_PLACES_MAX / 64; word++) {
        for (uint64_t bits = participants->bits[word]; bits != 0; bits &= bits - 1) {
            ts_le32_store(word * 64 + (uint32_t)__builtin_ctzll(bits), ret_record + len);
            len += 4;
            count++;
        }
    }
    ts_le16_store(count, ret_record + HEAD_LEN);
    return close_record(ret_record, len);
}

size_t txn__abort_encode(uint8_t *ret_record) {
    put_head('A', ret_record);
    return close_record(ret_record, HEAD_LEN);
}

static bool decode_participants(struct ts_bytes fields, struct txn__places *ret_participants) {
    struct txn__places places = {{0}};
    if (fields.len < 2 || fields.len != 2 + 4 * (size_t)ts_le16_load(fields.data))
        return false;
    for (size_t at = 2; at < fields.len; at += 4) {
        uint32_t place = ts_le32_load(fields.data + at);
        if (place >= TS_TXN_PLACES_MAX)
            return false;
        txn__places_add(&places, place);
    }
    *ret_participants = places;
    return true;
}

bool txn__decision_decode(struct ts_bytes record, enum txn__decision *ret_decision,
                          struct txn__places *ret_participants) {
    uint8_t kind;
    struct ts_bytes fields;
    if (!open_record(record, &kind, &fields))
        return false;
    if (kind == 'A' && fields.len == 0) {
        *ret_decision = TXN__DECISION_ABORT;
        *ret_participants = (struct txn__places){{0}};
        return true;
    }
    if (kind != 'C' || !decode_participants(fields, ret_participants))
        return false;
    *ret_decision = TXN__DECISION_COMMIT;
    return true;
}

size_t txn__outcome_encode(enum txn__recorded outcome, uint8_t *ret_record) {
    ts_assert(outcome != TXN__RECORDED_NONE);
    put_head('O', ret_record);
    ret_record[HEAD_LEN] = outcome == TXN__RECORDED_COMMITTED ? 1 : 2;
    return close_record(ret_record, HEAD_LEN + 1);
}

bool txn__outcome_decode(struct ts_bytes record, enum txn__recorded *ret_outcome) {
    uint8_t kind;
    struct ts_bytes fields;
    if (!open_record(record, &kind, &fields) || kind != 'O' || fields.len != 1 || fields.data[0] < 1 ||
        fields.data[0] > 2)
        return false;
    *ret_outcome = fields.data[0] == 1 ? TXN__RECORDED_COMMITTED : TXN__RECORDED_ABORTED;
    return true;
}
