/*
 * The low-water marks of one coordinator: its unfinished sequences, by decider.
 *
 *    begin ──► OPEN ──┬──────────────────────────────── end ──► (gone)   never decided, refused, or aborted
 *                     ├─► PENDING ──all applied──► APPLIED            committed
 *                     └─► UNSETTLED ──settled───► PENDING or end      not known yet
 *
 *    APPLIED ──take──► SYNCING ──every participant synced──► (gone)
 *                         └─────one did not──► APPLIED
 *
 * The mark of a decider is the lowest sequence with that decider that is still in the list. If there is none,
 * the mark is the next sequence. Every transaction below the mark is finished: nobody needs its commit
 * decision, and none of its promises can commit any more.
 *
 * A commit leaves the list only after a SYNC of every participant that began when all participants had
 * applied the commit. Without that SYNC, a crash would turn an applied promise into a promise again, which
 * needs the decision.
 *
 * The caller owns the entries, one for each global transaction in progress. Not thread-safe: the driver
 * locks.
 */
#ifndef TS_TXN_CORE_MARKS_H
#define TS_TXN_CORE_MARKS_H

#include "txn/core/records.h"

enum txn__entry_state {
    TXN__ENTRY_IDLE,
    TXN__ENTRY_OPEN,
    TXN__ENTRY_PENDING,   /* committed; the participants in `places` have not applied the commit yet */
    TXN__ENTRY_UNSETTLED, /* the decision was sent, and its result is unknown */
    TXN__ENTRY_APPLIED,
    TXN__ENTRY_SYNCING,
};

struct txn__entry {
    uint64_t sequence;
    uint32_t decider; /* place of the decider */
    enum txn__entry_state state;
    struct txn__places participants; /* stores of the transaction, without the decider */
    struct txn__places places;       /* PENDING: participants that have not applied the commit yet */
    bool record;                     /* the outcome is kept */
    struct txn__entry *next, *previous;
};

struct txn__mark_list {
    struct txn__entry *first, *last; /* sorted by sequence */
};

struct txn__marks {
    uint64_t next_sequence;          /* the next sequence; the first is 1 */
    uint64_t open_count;             /* number of entries in any state */
    struct txn__mark_list *deciders; /* one list for each place; zeroed memory of the caller */
    uint32_t place_count;
};

void txn__marks_init(struct txn__marks *marks, struct txn__mark_list *deciders, uint32_t place_count);

/* Returns the next sequence: odd for a recorded global transaction, even for every other (gid.h). A local
 * transaction needs no mark. */
uint64_t txn__marks_next_sequence(struct txn__marks *marks, bool recorded_global);

/* Begins a global transaction with this sequence and decider. Overwrites all fields of the entry. */
void txn__marks_begin(struct txn__marks *marks, struct txn__entry *entry, uint64_t sequence,
                      uint32_t decider);

/* Removes an entry, for example because its transaction can never commit. */
void txn__marks_end(struct txn__marks *marks, struct txn__entry *entry);

/* Records that a transaction is committed. `pending` are the participants that have not applied the
 * transaction yet. */
void txn__marks_committed(struct txn__marks *marks, struct txn__entry *entry,
                          const struct txn__places *pending);

/* Records that a pending participant has applied the transaction. */
void txn__marks_applied(struct txn__entry *entry, uint32_t place);

/* Records that the result of the transaction is unknown. */
void txn__marks_unsettled(struct txn__entry *entry);

/* Makes every APPLIED entry SYNCING. Sets *ret_places to the stores to sync. */
void txn__marks_take_applied(struct txn__marks *marks, struct txn__places *ret_places);

/* Takes the result of the syncs that txn__marks_take_applied asked for. `synced` are the stores that have
 * synced. SYNCING entries whose participants have all synced move to the list *ret_gone, linked by `next`.
 * The other entries become APPLIED again. */
void txn__marks_synced(struct txn__marks *marks, const struct txn__places *synced,
                       struct txn__entry **ret_gone);

/* Returns the low-water mark of a decider. */
uint64_t txn__marks_low(const struct txn__marks *marks, uint32_t decider);

/* Returns the first entry in this state with this decider that is after the entry `after` (NULL: from the
 * beginning). */
struct txn__entry *txn__marks_find(const struct txn__marks *marks, uint32_t decider,
                                   enum txn__entry_state state, const struct txn__entry *after);

#endif
