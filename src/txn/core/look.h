/*
 * The decider's records about one transaction: one READ of five keys, decoded.
 *
 * The order of the keys matters, for stores whose READ is not one snapshot: the decision is read after the
 * registration and the mark. A reader that sees a fence mark, or a mark above the sequence, and then no
 * decision, knows that the transaction will never have a decision. In the opposite order, the decision could
 * have been written and settled in between.
 */
#ifndef TS_TXN_CORE_LOOK_H
#define TS_TXN_CORE_LOOK_H

#include "turnstone/store.h"
#include "txn/core/keys.h"
#include "txn/core/records.h"

enum { TXN__LOOK_KEYS = 5 };

struct txn__look_keys {
    struct txn__key keys[TXN__LOOK_KEYS];
    struct ts_bytes bytes[TXN__LOOK_KEYS]; /* point into `keys`: do not copy the struct */
};

void txn__look_keys_init(struct txn__look_keys *keys, const struct txn__gid *gid);

struct txn__look {
    bool damaged; /* a value cannot be decoded; all other fields are zero, except now_ms */
    struct txn__registration registration;
    uint64_t registration_version;
    uint64_t heartbeat_ms;
    uint64_t mark;
    uint64_t mark_version;
    enum txn__decision decision;
    struct txn__places participants; /* participants of a commit */
    enum txn__recorded outcome;
    uint64_t now_ms; /* time of the READ, by the decider's clock */
};

/* Decodes the rows that a READ of txn__look_keys returned. now_ms is the time_ms of the READ. */
void txn__look_decode(const struct ts_rows *rows, uint64_t now_ms, struct txn__look *ret_look);

#endif
