/*
 * The values that this layer keeps in stores. docs/formats/txn.md has the same layouts.
 *
 * Every record: format (1 byte, 1), kind (1 byte), its fields, and the XXH64 of everything before it (8
 * bytes). Numbers are little-endian.
 *
 *   registration 'R'   total timeout in ms (8)
 *   fence mark   'F'   store's time in ms when it was fenced (8)
 *   heartbeat    'H'   store's time in ms (8)
 *   mark         'L'   sequence (8)
 *   commit       'C'   number of participants (2), their places (4 each), without the decider
 *   abort        'A'   nothing
 *   outcome      'O'   1 committed, 2 aborted (1)
 */
#ifndef TS_TXN_CORE_RECORDS_H
#define TS_TXN_CORE_RECORDS_H

#include "base/bytes.h"
#include "turnstone/txn.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    TXN__RECORD_FORMAT = 1,
    TXN__RECORD_SMALL_MAX = 18,
    TXN__DECISION_MAX = 12 + 4 * TS_TXN_PLACES_MAX,
};

/* A set of stores. */
struct txn__places {
    uint64_t bits[TS_TXN_PLACES_MAX / 64];
};

static inline bool txn__places_have(const struct txn__places *places, uint32_t place) {
    return (places->bits[place / 64] >> (place % 64) & 1) != 0;
}

static inline void txn__places_add(struct txn__places *places, uint32_t place) {
    places->bits[place / 64] |= UINT64_C(1) << (place % 64);
}

static inline void txn__places_remove(struct txn__places *places, uint32_t place) {
    places->bits[place / 64] &= ~(UINT64_C(1) << (place % 64));
}

static inline void txn__places_unite(struct txn__places *places, const struct txn__places *others) {
    for (size_t i = 0; i < TS_TXN_PLACES_MAX / 64; i++)
        places->bits[i] |= others->bits[i];
}

static inline bool txn__places_contain(const struct txn__places *all, const struct txn__places *some) {
    uint64_t missing = 0;
    for (size_t i = 0; i < TS_TXN_PLACES_MAX / 64; i++)
        missing |= some->bits[i] & ~all->bits[i];
    return missing == 0;
}

static inline bool txn__places_are_empty(const struct txn__places *places) {
    uint64_t any = 0;
    for (size_t i = 0; i < TS_TXN_PLACES_MAX / 64; i++)
        any |= places->bits[i];
    return any == 0;
}

/* The state of a coordinator's registration on a store, as the value of its key shows. */
enum txn__registration_state { TXN__NOT_REGISTERED, TXN__REGISTERED, TXN__FENCED };

struct txn__registration {
    enum txn__registration_state state;
    uint64_t total_timeout_ms; /* for REGISTERED */
    uint64_t fenced_at_ms;     /* for FENCED */
};

enum txn__decision { TXN__DECISION_NONE, TXN__DECISION_COMMIT, TXN__DECISION_ABORT };

enum txn__recorded { TXN__RECORDED_NONE, TXN__RECORDED_COMMITTED, TXN__RECORDED_ABORTED };

/* These functions encode a record and return its length. The buffer has TXN__RECORD_SMALL_MAX bytes; for a
 * commit it has TXN__DECISION_MAX bytes. */
size_t txn__registration_encode(uint64_t total_timeout_ms, uint8_t *ret_record);
size_t txn__fence_mark_encode(uint64_t now_ms, uint8_t *ret_record);
size_t txn__heartbeat_encode(uint64_t now_ms, uint8_t *ret_record);
size_t txn__mark_encode(uint64_t sequence, uint8_t *ret_record);
size_t txn__commit_encode(const struct txn__places *participants, uint8_t *ret_record);
size_t txn__abort_encode(uint8_t *ret_record);
size_t txn__outcome_encode(enum txn__recorded outcome, uint8_t *ret_record);

/* These functions decode a record. They return false if the bytes are not a record of this kind: the store is
 * damaged, or a newer version has written them. */
bool txn__registration_decode(struct ts_bytes record, struct txn__registration *ret_registration);
bool txn__heartbeat_decode(struct ts_bytes record, uint64_t *ret_time_ms);
bool txn__mark_decode(struct ts_bytes record, uint64_t *ret_sequence);
bool txn__decision_decode(struct ts_bytes record, enum txn__decision *ret_decision,
                          struct txn__places *ret_participants);
bool txn__outcome_decode(struct ts_bytes record, enum txn__recorded *ret_outcome);

#endif
