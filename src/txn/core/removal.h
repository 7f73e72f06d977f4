/*
 * Who may remove a decision record, and after what. Everything that deletes one asks here: the coordinator that
 * moves its mark, the one that deregisters, and whoever sweeps up behind one that is fenced.
 *
 *   moving a mark     commits below the new mark, in the batch that moves it; their participants have synced
 *                     (marks.h). Aborts stay: they shut out a commit point that is late
 *   deregistering     aborts, once the registration is gone: nothing of that uuid can arrive any more
 *   sweeping          aborts, and the commits that all participants have finished and synced since; only of a
 *                     coordinator that is fenced or gone
 *
 * A sweep of one page of decisions: replies go in, and what to do next comes out.
 *
 *   init ──► next, finished ... ──► syncs ──► dels
 *            every commit of the    every     what may go in one batch;
 *            page, on all its       store     what a participant did not answer for stays
 *            participants           touched
 *
 * Nothing here may be done to rows that cannot be understood: they stay, for somebody to look at.
 */
#ifndef TS_TXN_CORE_REMOVAL_H
#define TS_TXN_CORE_REMOVAL_H

#include "turnstone/store.h"
#include "txn/core/gid.h"
#include "txn/core/look.h"
#include "txn/core/marks.h"
#include "txn/core/rules.h"

/* The same thing asked of several stores, one after another. */
enum txn__errand { TXN__ERRAND_COMMIT, TXN__ERRAND_SYNC };

struct txn__round {
    enum txn__errand errand;
    struct txn__places left; /* not asked yet */
    struct txn__places done; /* they have done it, and said so */
    bool failed;             /* somebody did not */
};

void txn__round_init(struct txn__round *round, enum txn__errand errand, const struct txn__places *places);

/* The next to be asked; false when all were. */
bool txn__round_next(struct txn__round *round, uint32_t *ret_place);

/* A promise that is not there any more was finished by somebody else. */
void txn__round_reply(struct txn__round *round, uint32_t place, enum ts_store_result result);

/* Whether a decision record may go that somebody else wrote: a commit when the coordinator is fenced and every
 * participant has finished its promise and synced since; an abort when the coordinator is fenced. */
struct txn__removal {
    enum txn__decision decision;
    bool fenced;          /* or not registered any more */
    bool finished_synced; /* COMMIT: on every participant */
    struct txn__taken taken;
};
bool txn__may_remove(const struct txn__removal *removal);

/* What is to be done about a coordinator that stands in a store. */
enum txn__sweep_wish {
    TXN__SWEEP_LEAVE, /* it lives, or cannot be understood */
    TXN__SWEEP_FENCE, /* first, and then REMOVE */
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
    size_t at;                               /* the row to go on with */
    uint64_t finished[TXN__SWEEP_PAGE / 64]; /* by row: commits that all participants have finished */
    struct txn__places touched;              /* to be synced before their decisions go */
};

/* The rows stay in place until the dels are done. */
void txn__sweep_init(struct txn__sweep *sweep, const struct ts_rows *rows, bool fenced,
                     struct txn__taken taken);

/* The next commit to be finished, with the round of its participants; false when there is none. Fills in the
 * gid's coordinator and sequence. */
bool txn__sweep_next(struct txn__sweep *sweep, struct txn__gid *gid, struct txn__round *ret_round);
void txn__sweep_finished(struct txn__sweep *sweep, const struct txn__round *round);

/* The round of the stores to sync. */
void txn__sweep_syncs(const struct txn__sweep *sweep, struct txn__round *ret_round);

/* The dels of what may go; room for all rows. Returns how many. */
size_t txn__sweep_dels(const struct txn__sweep *sweep, const struct txn__round *syncs, struct ts_op *ret_ops);

/* The dels that go with moving a mark up to `low`, for a page of the decisions below it. Returns how many, and
 * the sequence that the mark may move to with them: less than `low` when there is more behind the page. */
struct txn__mark_page {
    const struct ts_rows *rows;
    uint64_t low;
    struct txn__taken taken;
};
size_t txn__mark_dels(const struct txn__mark_page *page, struct ts_op *ret_ops, uint64_t *ret_upto);

/* The dels after deregistering, for a page of the decisions of that uuid. Returns how many. */
size_t txn__abort_dels(const struct ts_rows *rows, struct ts_op *ret_ops);

/* Whether a coordinator may deregister from a store: it has nothing under way there, and has removed its
 * commit decisions. Nobody would find them any more. */
struct txn__standing {
    bool registered;
    bool fenced;
    bool dirty; /* something has ended since the mark was moved */
    struct txn__taken taken;
};
bool txn__may_deregister(const struct txn__standing *standing, const struct txn__marks *marks,
                         uint32_t decider);

#endif
