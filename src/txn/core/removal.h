/*
 * Rules for removing a decision record: who removes it, and when. All code that deletes such a record asks
 * here: a coordinator that moves its mark or deregisters, and a process that sweeps the records of a fenced
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

/* A request that is sent to several stores, one store after the other. */
enum txn__errand { TXN__ERRAND_COMMIT, TXN__ERRAND_SYNC };

struct txn__round {
    enum txn__errand errand;
    struct txn__places left; /* stores that were not asked yet */
    struct txn__places done; /* stores that have confirmed the request */
    bool failed;             /* a store was asked and has not confirmed the request */
};

void txn__round_init(struct txn__round *round, enum txn__errand errand, const struct txn__places *places);

/* Sets the next store to ask. Returns false when all stores were asked. */
bool txn__round_next(struct txn__round *round, uint32_t *ret_place);

/* Records the reply of a store. If the promise no longer exists, another process has finished it; this counts
 * as a confirmation. */
void txn__round_reply(struct txn__round *round, uint32_t place, enum ts_store_result result);

/* A decision record of another coordinator, for txn__may_remove. It may be removed if the coordinator is
 * fenced. For a commit, every participant must also have finished its promise and then synced. */
struct txn__removal {
    enum txn__decision decision;
    bool fenced;          /* the coordinator is fenced, or no longer registered */
    bool finished_synced; /* COMMIT: every participant has finished its promise and then synced */
    struct txn__taken taken;
};
bool txn__may_remove(const struct txn__removal *removal);

/* The next action of a sweep for a coordinator that has records on a store. */
enum txn__sweep_wish {
    TXN__SWEEP_LEAVE, /* do nothing: the coordinator is alive, or a record is damaged */
    TXN__SWEEP_FENCE, /* fence it first, then remove its decisions */
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
    size_t at;                               /* index of the next row */
    uint64_t finished[TXN__SWEEP_PAGE / 64]; /* one bit per row: all participants have finished its commit */
    struct txn__places touched;              /* stores to sync before the decisions are removed */
};

/* Begins a sweep of a page. The caller keeps the rows until the deletions are done. */
void txn__sweep_init(struct txn__sweep *sweep, const struct ts_rows *rows, bool fenced,
                     struct txn__taken taken);

/* Sets the next commit to finish and the round of its participants. Sets only the coordinator and the
 * sequence of the gid. Returns false when no commit is left. */
bool txn__sweep_next(struct txn__sweep *sweep, struct txn__gid *gid, struct txn__round *ret_round);
void txn__sweep_finished(struct txn__sweep *sweep, const struct txn__round *round);

/* Sets the round of the stores to sync. */
void txn__sweep_syncs(const struct txn__sweep *sweep, struct txn__round *ret_round);

/* Makes the deletions of the records that may be removed. ret_ops has room for all rows. Returns the number
 * of deletions. */
size_t txn__sweep_dels(const struct txn__sweep *sweep, const struct txn__round *syncs, struct ts_op *ret_ops);

/* Makes the deletions for moving a mark to `low`, from a page of the decisions below `low`. Returns their
 * number. Sets *ret_upto to the sequence that the mark may move to: less than `low` if there are more
 * decisions after the page. */
struct txn__mark_page {
    const struct ts_rows *rows;
    uint64_t low;
    struct txn__taken taken;
};
size_t txn__mark_dels(const struct txn__mark_page *page, struct ts_op *ret_ops, uint64_t *ret_upto);

/* Makes the deletions of a uuid's abort decisions after the uuid was deregistered, from a page of its
 * decisions. Returns the number of deletions. */
size_t txn__abort_dels(const struct ts_rows *rows, struct ts_op *ret_ops);

/* The state of a coordinator on a store, for txn__may_deregister. The coordinator may deregister if it has
 * nothing in progress there and has removed its commit decisions, which no process would find afterwards. */
struct txn__standing {
    bool registered;
    bool fenced;
    bool dirty; /* a transaction has ended since the mark was moved */
    struct txn__taken taken;
};
bool txn__may_deregister(const struct txn__standing *standing, const struct txn__marks *marks,
                         uint32_t decider);

#endif
