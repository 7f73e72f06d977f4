#include "txn/core/resolve.h"

#include "base/assert.h"

/* The maximum number of looks. If a check fails, another process made progress, and the resolver looks again.
 * A resolver that is too late every time leaves the promise to the next pass. */
enum { LOOKS_MAX = 8 };

static void done(struct txn__resolve *resolve, enum txn__verdict verdict) {
    resolve->state = TXN__RESOLVE_DONE;
    resolve->wish = TXN__WISH_NONE;
    resolve->verdict = verdict;
}

static void go(struct txn__resolve *resolve, enum txn__resolve_state state, enum txn__wish wish) {
    resolve->state = state;
    resolve->wish = wish;
}

static void look_again(struct txn__resolve *resolve) {
    if (++resolve->looks > LOOKS_MAX)
        done(resolve, TXN__VERDICT_LEFT);
    else
        go(resolve, TXN__RESOLVE_LOOKING, TXN__WISH_LOOK);
}

void txn__resolve_init(struct txn__resolve *resolve, const struct txn__promise *promise,
                       const struct txn__resolve_options *options) {
    *resolve = (struct txn__resolve){
        .place = promise->place,
        .age_ms = promise->age_ms,
        .fence_all = options->fence_all,
        .taken = options->taken,
    };
    if (!txn__gid_parse(promise->name, &resolve->gid) ||
        memcmp(resolve->gid.cluster, options->cluster, sizeof resolve->gid.cluster) != 0 ||
        resolve->gid.decider >= options->place_count) {
        done(resolve, TXN__VERDICT_FOREIGN);
        return;
    }
    look_again(resolve);
}

bool txn__is_dead(const struct txn__look *look) {
    return look->now_ms > look->heartbeat_ms && look->now_ms - look->heartbeat_ms > TXN__DEAD_MS;
}

static void looked_undecided(struct txn__resolve *resolve, const struct txn__look *look) {
    bool unchecked = txn__is_taken(resolve->taken, TXN__RULE_R_UNCHECKED);
    bool registered = look->registration.state == TXN__REGISTERED || unchecked;
    if (!registered) {
        go(resolve, TXN__RESOLVE_ABORTING, TXN__WISH_ABORT);
        return;
    }
    if (resolve->gid.sequence < look->mark) {
        if (txn__is_taken(resolve->taken, TXN__RULE_KEEP_BELOW))
            done(resolve, TXN__VERDICT_LEFT);
        else
            go(resolve, TXN__RESOLVE_ABORTING, TXN__WISH_ABORT);
        return;
    }
    if (!unchecked && (resolve->fence_all || txn__is_dead(look)))
        go(resolve, TXN__RESOLVE_FENCING, TXN__WISH_FENCE);
    else if (resolve->age_ms > look->registration.total_timeout_ms)
        go(resolve, TXN__RESOLVE_REFUSING, TXN__WISH_REFUSE);
    else
        done(resolve, TXN__VERDICT_LEFT);
}

static void looked(struct txn__resolve *resolve, enum ts_store_result result, const struct txn__look *look) {
    if (result != TS_STORE_OK || look->damaged) {
        done(resolve, TXN__VERDICT_STUCK);
        return;
    }
    resolve->look = *look;
    switch (look->decision) {
    case TXN__DECISION_COMMIT:
        go(resolve, TXN__RESOLVE_COMMITTING, TXN__WISH_COMMIT);
        return;
    case TXN__DECISION_ABORT:
        go(resolve, TXN__RESOLVE_ABORTING, TXN__WISH_ABORT);
        return;
    case TXN__DECISION_NONE:
        looked_undecided(resolve, look);
        return;
    }
}

/* Handles the reply to a fence or an abort decision. If the store did not answer, the record may or may not
 * exist; the next pass finds out. */
static void wrote(struct txn__resolve *resolve, enum ts_store_result result) {
    if (result == TS_STORE_CHECK_FAILED) {
        look_again(resolve);
        return;
    }
    if (result != TS_STORE_OK) {
        done(resolve, TXN__VERDICT_STUCK);
        return;
    }
    if (resolve->state == TXN__RESOLVE_REFUSING) {
        go(resolve, TXN__RESOLVE_ABORTING, TXN__WISH_ABORT);
        return;
    }
    resolve->fenced = true;
    if (txn__is_taken(resolve->taken, TXN__RULE_NO_REREAD))
        go(resolve, TXN__RESOLVE_ABORTING, TXN__WISH_ABORT);
    else
        look_again(resolve);
}

static void finished(struct txn__resolve *resolve, enum ts_store_result result) {
    if (result != TS_STORE_OK && result != TS_STORE_NO_SUCH_PROMISE)
        done(resolve, TXN__VERDICT_STUCK);
    else
        done(resolve,
             resolve->state == TXN__RESOLVE_COMMITTING ? TXN__VERDICT_COMMITTED : TXN__VERDICT_ABORTED);
}

void txn__resolve_reply(struct txn__resolve *resolve, enum ts_store_result result,
                        const struct txn__look *look) {
    switch (resolve->state) {
    case TXN__RESOLVE_LOOKING:
        looked(resolve, result, look);
        return;
    case TXN__RESOLVE_FENCING:
    case TXN__RESOLVE_REFUSING:
        wrote(resolve, result);
        return;
    case TXN__RESOLVE_COMMITTING:
    case TXN__RESOLVE_ABORTING:
        finished(resolve, result);
        return;
    case TXN__RESOLVE_DONE:
        break;
    }
    ts_unreachable("a reply to a resolver that is done");
}
