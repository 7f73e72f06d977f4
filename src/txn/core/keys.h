/*
 * The keys that this layer keeps in stores. All begin with the reserved byte 0 and 'x'.
 *
 *   00 'x' 'c' <uuid>              registration of a coordinator with this store as decider, or its fence mark
 *   00 'x' 'h' <uuid>              its heartbeat
 *   00 'x' 'l' <uuid>              its low-water mark
 *   00 'x' 'd' <uuid> <sequence>   a decision, xs/<gid>; the sequence is big-endian: decisions sort by it
 *   00 'x' 'o' <uuid> <sequence>   a kept outcome
 *
 * The cluster and the decider of a gid are not in the keys: a store belongs to one cluster and is one place.
 */
#ifndef TS_TXN_CORE_KEYS_H
#define TS_TXN_CORE_KEYS_H

#include "txn/core/gid.h"

enum { TXN__KEY_MAX = 3 + TXN__UUID_LEN + 8 };

struct txn__key {
    uint8_t bytes[TXN__KEY_MAX];
    uint8_t len;
};

static inline struct ts_bytes txn__key_bytes(const struct txn__key *key) {
    return ts_bytes_of(key->bytes, key->len);
}

void txn__key_coordinator(const struct txn__uuid *uuid, struct txn__key *ret_key);
void txn__key_heartbeat(const struct txn__uuid *uuid, struct txn__key *ret_key);
void txn__key_mark(const struct txn__uuid *uuid, struct txn__key *ret_key);
void txn__key_decision(const struct txn__uuid *uuid, uint64_t sequence, struct txn__key *ret_key);
void txn__key_outcome(const struct txn__uuid *uuid, uint64_t sequence, struct txn__key *ret_key);

/* These functions set the range of all registrations or of all decisions of a store: from ret_from (included)
 * to ret_to (excluded). */
void txn__key_all_coordinators(struct txn__key *ret_from, struct txn__key *ret_to);
void txn__key_all_decisions(struct txn__key *ret_from, struct txn__key *ret_to);

/* Sets the first key that is greater than `key` and has the same length, to continue a scan. All keys of one
 * kind have the same length. */
void txn__key_behind(struct ts_bytes key, struct txn__key *ret_key);

bool txn__key_is_coordinator(struct ts_bytes key, struct txn__uuid *ret_uuid);
bool txn__key_is_decision(struct ts_bytes key, struct txn__uuid *ret_uuid, uint64_t *ret_sequence);

/* Returns true for keys of this layer. No other code may write them. */
static inline bool txn__key_is_ours(struct ts_bytes key) {
    return key.len >= 2 && key.data[0] == TS_TXN_RESERVED_BYTE && key.data[1] == 'x';
}

#endif
