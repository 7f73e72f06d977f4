#include "txn/core/keys.h"

#include "base/endian.h"

enum { PREFIX_LEN = 3 };

static void begin(uint8_t kind, struct txn__key *ret_key) {
    *ret_key = (struct txn__key){.bytes = {TS_TXN_RESERVED_BYTE, 'x', kind}, .len = PREFIX_LEN};
}

static void of_uuid(uint8_t kind, const struct txn__uuid *uuid, struct txn__key *ret_key) {
    begin(kind, ret_key);
    memcpy(ret_key->bytes + PREFIX_LEN, uuid->bytes, TXN__UUID_LEN);
    ret_key->len = PREFIX_LEN + TXN__UUID_LEN;
}

static void of_sequence(uint8_t kind, const struct txn__uuid *uuid, uint64_t sequence,
                        struct txn__key *ret_key) {
    of_uuid(kind, uuid, ret_key);
    ts_be64_store(sequence, ret_key->bytes + ret_key->len);
    ret_key->len = TXN__KEY_MAX;
}

void txn__key_coordinator(const struct txn__uuid *uuid, struct txn__key *ret_key) {
    of_uuid('c', uuid, ret_key);
}

void txn__key_heartbeat(const struct txn__uuid *uuid, struct txn__key *ret_key) {
    of_uuid('h', uuid, ret_key);
}

void txn__key_mark(const struct txn__uuid *uuid, struct txn__key *ret_key) {
    of_uuid('l', uuid, ret_key);
}

void txn__key_decision(const struct txn__uuid *uuid, uint64_t sequence, struct txn__key *ret_key) {
    of_sequence('d', uuid, sequence, ret_key);
}

void txn__key_outcome(const struct txn__uuid *uuid, uint64_t sequence, struct txn__key *ret_key) {
    of_sequence('o', uuid, sequence, ret_key);
}

void txn__key_all_coordinators(struct txn__key *ret_from, struct txn__key *ret_to) {
    begin('c', ret_from);
    begin('c' + 1, ret_to);
}

void txn__key_all_decisions(struct txn__key *ret_from, struct txn__key *ret_to) {
    begin('d', ret_from);
    begin('d' + 1, ret_to);
}

void txn__key_behind(struct ts_bytes key, struct txn__key *ret_key) {
    *ret_key = (struct txn__key){.len = (uint8_t)(key.len < TXN__KEY_MAX ? key.len : TXN__KEY_MAX)};
    memcpy(ret_key->bytes, key.data, ret_key->len);
    for (uint8_t i = ret_key->len; i > 0 && ++ret_key->bytes[i - 1] == 0; i--)
        continue;
}

static bool has_kind(struct ts_bytes key, uint8_t kind) {
    return key.len >= PREFIX_LEN && txn__key_is_ours(key) && key.data[2] == kind;
}

bool txn__key_is_coordinator(struct ts_bytes key, struct txn__uuid *ret_uuid) {
    if (!has_kind(key, 'c') || key.len != PREFIX_LEN + TXN__UUID_LEN)
        return false;
    memcpy(ret_uuid->bytes, key.data + PREFIX_LEN, TXN__UUID_LEN);
    return true;
}

bool txn__key_is_decision(struct ts_bytes key, struct txn__uuid *ret_uuid, uint64_t *ret_sequence) {
    if (!has_kind(key, 'd') || key.len != TXN__KEY_MAX)
        return false;
    memcpy(ret_uuid->bytes, key.data + PREFIX_LEN, TXN__UUID_LEN);
    *ret_sequence = ts_be64_load(key.data + PREFIX_LEN + TXN__UUID_LEN);
    return true;
}
