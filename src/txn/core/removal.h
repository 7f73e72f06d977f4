/*
 * Rules for removing a decision record: by whom, and when. All code that deletes such a record asks here: a
 * coordinator that moves its mark or deregisters, and a process that sweeps the records of a fenced
 * coordinator.
 *
 *   moving a mark     commits below the new mark, in the batch that moves it; their participants have synced
 *                     (marks.h). Aborts stay: they prevent a late commit point
 *   deregistering     aborts, once the registration is gone: no message of that uuid can arrive any more
 *   sweeping          aborts, and the commits that all participants have finished and synced since; only of a
 *                     coordinator that is fenced or gone
 *
 * A sweep of one page of decisions takes replies, and returns what to do next.
 *
 *   init ──► next, finished ... ──► syncs ──► dels
 *            every commit of the    every     everything that may be removed, in one batch; without
 *            page, on all its       store     commits that a participant has not confirmed
 *            participants           touched
 *
 * Rows that cannot be decoded are kept, so that an operator can examine them.
 */
#ifndef TS_TXN_CORE_REMOVAL_H
#define TS_TXN_CORE_REMOVAL_H

#include "turnstone/store.h"
#include "txn/core/gid.h"
#include "txn/core/look.h"
#include "txn/core/marks.h"
#include "txn/core/rules.h"

/* One request, which is sent to several stores, one after another. */
enum txn__errand { TXN__ERRAND_COMMIT, TXN__ERRAND_SYNC };

struct txn__round {
    enum txn__errand errand;
    struct txn__places left; /* stores that were not asked yet */
    struct txn__places done; /* stores that have confirmed it */
    bool failed;             /* a store has not confirmed it */
};

void txn__round_init(struct txn__round *round, enum txn__errand errand, const struct txn__places *places);

/* The next store to ask; returns false when all were asked. */
bool txn__round_next(struct txn__round *round, uint32_t *ret_place);

/* A promise that no longer exists was finished by another process. */
void txn__round_reply(struct txn__round *round, uint32_t place, enum ts_store_result result);

/* Whether a decision record of another coordinator may be removed. A commit: if the coordinator is fenced,
 * and every participant has finished its promise and then synced. An abort: if the coordinator is fenced. */
struct txn__removal {
    enum txn__decision decision;
    bool fenced;          /* the coordinator is fenced, or no longer registered */
    bool finished_synced; /* COMMIT: every participant has finished it and synced */
    struct txn__taken taken;
};
bool txn__may_remove(const struct txn__removal *removal);

/* What to do with a coordinator that is registered on a store. */
enum txn__sweep_wish {
    TXN__SWEEP_LEAVE, /* nothing: it is alive, or its record cannot be decoded */
    TXN__SWEEP_FENCE, /* fence it first, then REMOVE */
    TXN__SWEEP_REMOVE,
};
struct txn__sweep_options {
    bool fence_all;
    struct txn__taken taken;
};
enum txn__sweep_wish txn__sweep_wish(const struct txn__look *look, const struct txn__sweep_options *options);

enum { TXN__SWEEP_PAGE = 512 };

struct txn__sweep {
    const struct ts_rows *rows; /* the page: at most TXN__SWEEP_PAGE decisions of one coordinator */
    bool fenced;
    struct txn__taken taken;
    size_t at;                               /* the next row */
    uint64_t finished[TXN__SWEEP_PAGE / 64]; /* a bit for each row: its commit is finished everywhere */
    struct txn__places touched;              /* stores to sync before the decisions are removed */
};

/* The rows stay in place until the dels are done. */
void txn__sweep_init(struct txn__sweep *sweep, const struct ts_rows *rows, bool fenced,
                     struct txn__taken taken);

/* The next commit to finish, with the round of its participants; returns false when there is none. Fills in
 * the gid's coordinator and sequence. */
bool txn__sweep_next(struct txn__sweep *sweep, struct txn__gid *gid, struct txn__round *ret_round);
void txn__sweep_finished(struct txn__sweep *sweep, const struct txn__round *round);

/* The round of the stores to sync. */
void txn__sweep_syncs(const struct txn__sweep *sweep, struct txn__round *ret_round);

/* The deletions of the records that may be removed; ret_ops has room for all rows. Returns their number. */
size_t txn__sweep_dels(const struct txn__sweep *sweep, const struct txn__round *syncs, struct ts_op *ret_ops);

/* The deletions that belong to moving a mark to `low`, for a page of the decisions below it. Returns their
 * number, and the sequence that the mark may move to: less than `low` if there are more decisions after the
 * page. */
struct txn__mark_page {
    const struct ts_rows *rows;
    uint64_t low;
    struct txn__taken taken;
};
size_t txn__mark_dels(const struct txn__mark_page *page, struct ts_op *ret_ops, uint64_t *ret_upto);

/* The deletions after deregistering, for a page of the decisions of that uuid. Returns their number. */
size_t txn__abort_dels(const struct ts_rows *rows, struct ts_op *ret_ops);

/* Whether a coordinator may deregister from a store: it has nothing in progress there, and has removed its
 * commit decisions, which nobody would find any more. */
struct txn__standing {
    bool registered;
    bool fenced;
    bool dirty; /* something has ended since the mark was moved */
    struct txn__taken taken;
};
bool txn__may_deregister(const struct txn__standing *standing, const struct txn__marks *marks,
                         uint32_t decider);

#endif
