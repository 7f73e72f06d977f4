#include "settle.h"

#include "driver.h"
#include "os/failpoint.h"
#include "txn/core/removal.h"
#include "txn/core/resolve.h"

enum { PAGE = 512, FENCE_MARK_KEPT_MS = 24 * 3600 * 1000, FENCE_TRY_US = 100000, CLOSING_US = 100000 };

const uint8_t *txn__cluster_id(const struct ts_cluster *cluster) {
    return ts_cluster_meta(cluster, 0)->cluster;
}

enum ts_txn_error txn__fail(struct ts_txn_error_detail *ret_detail, enum ts_txn_error error, uint32_t place,
                            const struct ts_store_error *store_error) {
    if (ret_detail == NULL)
        return error;
    *ret_detail = (struct ts_txn_error_detail){.error = error, .place = place};
    if (store_error != NULL) {
        ret_detail->reason = store_error->result;
        memcpy(ret_detail->sqlstate, store_error->sqlstate, sizeof ret_detail->sqlstate);
        memcpy(ret_detail->text, store_error->text, sizeof ret_detail->text);
    }
    return error;
}

void txn__settle_init(struct txn__settle *settle, struct ts_cluster *cluster, uint64_t timeout_us,
                      bool fence_all) {
    *settle = (struct txn__settle){.cluster = cluster, .timeout_us = timeout_us, .fence_all = fence_all};
}

/* Returns whether the result says nothing about the store's records, because the store did not answer or
 * failed. */
static bool did_not_answer(enum ts_store_result result) {
    const enum ts_store_fault fault = ts_store_result_meaning(result)->fault;
    return fault != TS_STORE_FAULT_NONE && fault != TS_STORE_FAULT_STATE;
}

/* Runs a call. When the process is closing its coordinator, waits only as long as a working store needs for
 * its answer. */
static enum ts_store_result run_call(const struct txn__settle *settle, uint32_t place, struct ts_call *call) {
    struct ts_store *store = ts_cluster_store(settle->cluster, place);
    if (settle->closing == NULL)
        return ts_store_run(store, call);
    const uint64_t closing_ns = (uint64_t)CLOSING_US * 1000;
    uint64_t leave_ns = txn__now_us() * 1000 + closing_ns;
    ts_store_start(store, call);
    while (!ts_store_poll(call)) {
        const uint64_t now_ns = txn__now_us() * 1000;
        if (now_ns >= leave_ns && atomic_load(settle->closing))
            ts_store_cancel(call);
        else if (now_ns >= leave_ns)
            leave_ns = now_ns + closing_ns;
        ts_store_wait(&(struct ts_call *const){call}, 1, leave_ns);
    }
    return call->error.result;
}

static enum ts_store_result call_within(struct txn__settle *settle, uint32_t place, struct ts_call *call,
                                        uint64_t timeout_us) {
    if (txn__places_have(&settle->sick, place))
        return TS_STORE_UNAVAILABLE;
    call->deadline_ns = txn__deadline_ns(timeout_us);
    enum ts_store_result result = run_call(settle, place, call);
    bool only_tried = result == TS_STORE_TIMED_OUT && timeout_us < settle->timeout_us;
    if (did_not_answer(result) && !only_tried) {
        txn__places_add(&settle->sick, place);
        if (settle->trouble.error == TS_TXN_ERROR_OK)
            txn__fail(&settle->trouble, TS_TXN_ERROR_STORE, place, &call->error);
    }
    return result;
}

enum ts_store_result txn__settle_call(struct txn__settle *settle, uint32_t place, struct ts_call *call) {
    return call_within(settle, place, call, settle->timeout_us);
}

static enum ts_store_result apply_own(struct txn__settle *settle, uint32_t place,
                                      const struct txn__own *own) {
    struct ts_call call = {.kind = TS_CALL_APPLY, .batch = txn__own_batch(own)};
    return txn__settle_call(settle, place, &call);
}

static enum ts_store_result finish(struct txn__settle *settle, uint32_t place, enum ts_call_kind kind,
                                   const char *gid) {
    (void)ts_failpoint(TS_FAILPOINT_RESOLVE_BEFORE_FINISH);
    struct ts_call call = {.kind = kind, .gid = gid};
    enum ts_store_result result = txn__settle_call(settle, place, &call);
    (void)ts_failpoint(TS_FAILPOINT_RESOLVE_AFTER_FINISH);
    return result;
}

enum ts_store_result txn__settle_look(struct txn__settle *settle, const struct txn__gid *gid,
                                      struct txn__look *ret_look) {
    struct txn__look_keys keys;
    txn__look_keys_init(&keys, gid);
    struct ts_rows rows = {0};
    struct ts_call call = {
        .kind = TS_CALL_READ, .keys = keys.bytes, .key_count = TXN__LOOK_KEYS, .rows = &rows};
    enum ts_store_result result = txn__settle_call(settle, gid->decider, &call);
    if (result == TS_STORE_OK)
        txn__look_decode(&rows, call.time_ms, ret_look);
    ts_rows_release(&rows);
    return result;
}

/*
 * Fences a coordinator, but waits only for a moment. Decisions of a live coordinator lock its registration
 * while they wait for other keys. Later decisions queue after a waiting fence. So this fence must not wait
 * long. The next pass tries to fence again.
 */
static enum ts_store_result fence(struct txn__settle *settle, uint32_t place,
                                  const struct txn__fence *fence) {
    struct txn__own own;
    txn__own_fence(fence, &own);
    struct ts_call call = {.kind = TS_CALL_APPLY, .batch = txn__own_batch(&own)};
    (void)ts_failpoint(TS_FAILPOINT_RESOLVE_BEFORE_FENCE);
    uint64_t try_us = settle->timeout_us < FENCE_TRY_US ? settle->timeout_us : FENCE_TRY_US;
    enum ts_store_result result = call_within(settle, place, &call, try_us);
    (void)ts_failpoint(TS_FAILPOINT_RESOLVE_AFTER_FENCE);
    return result;
}

static enum ts_store_result refuse(struct txn__settle *settle, const struct txn__resolve *resolve) {
    struct txn__own own;
    txn__own_refuse(&(struct txn__refuse){&resolve->gid, resolve->look.registration_version,
                                          resolve->look.mark_version, .by_resolver = true},
                    &own);
    enum ts_store_result result = apply_own(settle, resolve->gid.decider, &own);
    (void)ts_failpoint(TS_FAILPOINT_RESOLVE_AFTER_REFUSE);
    return result;
}

/* Carries out the machine's wishes until the machine is done. */
static void drive(struct txn__settle *settle, struct txn__resolve *resolve, const char *gid) {
    while (!txn__resolve_is_done(resolve)) {
        struct txn__look looked = {0};
        enum ts_store_result result = TS_STORE_FAILED;
        switch (resolve->wish) {
        case TXN__WISH_LOOK:
            result = txn__settle_look(settle, &resolve->gid, &looked);
            break;
        case TXN__WISH_FENCE:
            result = fence(settle, resolve->gid.decider,
                           &(struct txn__fence){&resolve->gid.coordinator, resolve->look.registration_version,
                                                resolve->look.now_ms});
            break;
        case TXN__WISH_REFUSE:
            result = refuse(settle, resolve);
            break;
        case TXN__WISH_COMMIT:
            result = finish(settle, resolve->place, TS_CALL_COMMIT, gid);
            break;
        case TXN__WISH_ABORT:
            result = finish(settle, resolve->place, TS_CALL_ABORT, gid);
            break;
        case TXN__WISH_NONE:
        case TXN__WISH_APPLY:
        case TXN__WISH_PREPARE:
        case TXN__WISH_DECIDE:
        case TXN__WISH_RECORD:
        case TXN__WISH_FORGET:
            ts_unreachable("a resolver does not wish for that");
        }
        txn__resolve_reply(resolve, result, &looked);
    }
}

static void count(struct ts_txn_settled *counts, const struct txn__resolve *resolve) {
    counts->seen++;
    counts->fenced += resolve->fenced;
    switch (resolve->verdict) {
    case TXN__VERDICT_COMMITTED:
        counts->committed++;
        return;
    case TXN__VERDICT_ABORTED:
        counts->aborted++;
        return;
    case TXN__VERDICT_LEFT:
        counts->left++;
        return;
    case TXN__VERDICT_STUCK:
        counts->stuck++;
        return;
    case TXN__VERDICT_FOREIGN:
        counts->foreign++;
        return;
    }
}

/* Returns whether all coordinators that are registered on this store ended with the process that had the
 * store open before. */
static bool inherits(const struct txn__settle *settle, uint32_t place) {
    return settle->inherits && ts_cluster_store(settle->cluster, place)->is_exclusive;
}

/* Returns whether to fence coordinators that are registered on this store even if their heartbeats are
 * recent. */
static bool fences(const struct txn__settle *settle, uint32_t place) {
    return settle->fence_all || inherits(settle, place);
}

static void settle_promises_of(struct txn__settle *settle, uint32_t place) {
    struct ts_rows rows = {0};
    struct ts_call call = {.kind = TS_CALL_PREPARED, .rows = &rows};
    struct txn__resolve_options options = {txn__cluster_id(settle->cluster),
                                           (uint32_t)ts_cluster_count(settle->cluster), false, .taken = {0}};
    if (txn__settle_call(settle, place, &call) == TS_STORE_OK) {
        for (size_t i = 0; i < rows.count; i++) {
            const struct ts_row *row = &rows.rows[i];
            uint64_t age_ms = call.time_ms > row->version ? call.time_ms - row->version : 0;
            char gid[TS_STORE_GID_MAX + 1] = {0};
            memcpy(gid, row->key.data, row->key.len < TS_STORE_GID_MAX ? row->key.len : TS_STORE_GID_MAX);
            struct txn__resolve resolve;
            txn__resolve_init(&resolve, &(struct txn__promise){row->key, place, age_ms}, &options);
            resolve.fence_all = !txn__resolve_is_done(&resolve) && fences(settle, resolve.gid.decider);
            drive(settle, &resolve, gid);
            count(&settle->counts, &resolve);
        }
    }
    ts_rows_release(&rows);
}

void txn__settle_promises(struct txn__settle *settle) {
    for (size_t place = 0; place < ts_cluster_count(settle->cluster); place++)
        settle_promises_of(settle, (uint32_t)place);
}

/* Commits the promises of a decided transaction on every participant. */
static void finish_commit(struct txn__settle *settle, const struct txn__gid *gid, struct txn__round *round) {
    char text[TS_TXN_ID_SIZE];
    txn__gid_format(gid, text);
    for (uint32_t place; txn__round_next(round, &place);) {
        enum ts_store_result result = place < ts_cluster_count(settle->cluster)
                                          ? finish(settle, place, TS_CALL_COMMIT, text)
                                          : TS_STORE_FAILED;
        txn__round_reply(round, place, result);
        if (result == TS_STORE_OK) {
            settle->counts.seen++;
            settle->counts.committed++;
        }
    }
}

void txn__settle_sync(struct txn__settle *settle, struct txn__round *round) {
    for (uint32_t place; txn__round_next(round, &place);) {
        struct ts_call call = {.kind = TS_CALL_SYNC};
        txn__round_reply(round, place, txn__settle_call(settle, place, &call));
    }
}

/* Finishes the commits of one page of decisions, syncs the participants, and removes the decisions that may
 * be removed. Returns false on failure. */
static bool remove_page(struct txn__settle *settle, uint32_t decider, const struct ts_rows *rows,
                        size_t *ret_removed) {
    struct txn__gid gid = {.decider = decider};
    memcpy(gid.cluster, txn__cluster_id(settle->cluster), sizeof gid.cluster);
    struct txn__sweep sweep;
    struct txn__round round;
    txn__sweep_init(&sweep, rows, true, (struct txn__taken){0});
    while (txn__sweep_next(&sweep, &gid, &round)) {
        finish_commit(settle, &gid, &round);
        txn__sweep_finished(&sweep, &round);
    }
    txn__sweep_syncs(&sweep, &round);
    txn__settle_sync(settle, &round);
    struct ts_op ops[TXN__SWEEP_PAGE];
    struct ts_call apply = {.kind = TS_CALL_APPLY, .batch = {ops, txn__sweep_dels(&sweep, &round, ops)}};
    if (apply.batch.count > 0) {
        (void)ts_failpoint(TS_FAILPOINT_SWEEP_BEFORE_REMOVE);
        if (txn__settle_call(settle, decider, &apply) != TS_STORE_OK)
            return false;
    }
    settle->counts.removed += apply.batch.count;
    *ret_removed = apply.batch.count;
    return true;
}

/* Removes the decisions of a fenced coordinator on one store. Returns true when no decision is left. */
static bool remove_decisions(struct txn__settle *settle, uint32_t decider, const struct txn__uuid *uuid) {
    struct txn__key from;
    struct txn__key to;
    txn__key_decision(uuid, 0, &from);
    txn__key_decision(uuid, UINT64_MAX, &to);
    struct ts_rows rows = {0};
    bool none_left = true;
    for (bool more = true; more;) {
        struct ts_call scan = {.kind = TS_CALL_SCAN,
                               .from = txn__key_bytes(&from),
                               .to = txn__key_bytes(&to),
                               .limit = TXN__SWEEP_PAGE,
                               .rows = &rows};
        size_t removed = 0;
        more = txn__settle_call(settle, decider, &scan) == TS_STORE_OK &&
               (rows.count == 0 || remove_page(settle, decider, &rows, &removed));
        none_left = none_left && more && removed == rows.count;
        more = more && rows.more && rows.count > 0;
        if (more)
            txn__key_behind(rows.rows[rows.count - 1].key, &from);
    }
    ts_rows_release(&rows);
    return none_left;
}

/* Returns whether a registration of the fenced coordinator can no longer reach the store. A registration is
 * sent once, and its sender waits only seconds. On a store of one process a registration cannot be on its way
 * at all, because the coordinator ended with that process. */
static bool nothing_is_on_its_way(const struct txn__settle *settle, uint32_t place,
                                  const struct txn__registration *registration, uint64_t now_ms) {
    if (inherits(settle, place))
        return true;
    return now_ms >= registration->fenced_at_ms && now_ms - registration->fenced_at_ms >= FENCE_MARK_KEPT_MS;
}

/* Removes a fence mark whose coordinator has no decisions left, if no registration can arrive any more. */
static void forget_fence(struct txn__settle *settle, uint32_t place, const struct ts_row *row,
                         const struct txn__registration *registration, uint64_t now_ms) {
    if (!nothing_is_on_its_way(settle, place, registration, now_ms))
        return;
    struct ts_op ops[2] = {{.kind = TS_OP_CHECK, .key = row->key, .version = row->version},
                           {.kind = TS_OP_DEL, .key = row->key}};
    struct ts_call call = {.kind = TS_CALL_APPLY, .batch = {ops, 2}};
    (void)txn__settle_call(settle, place, &call);
}

static void settle_coordinator(struct txn__settle *settle, uint32_t place, const struct ts_row *row) {
    struct txn__gid gid = {.sequence = 1, .decider = place};
    struct txn__look looked = {0};
    if (!txn__key_is_coordinator(row->key, &gid.coordinator) ||
        txn__settle_look(settle, &gid, &looked) != TS_STORE_OK)
        return;
    switch (txn__sweep_wish(&looked, &(struct txn__sweep_options){.fence_all = fences(settle, place)})) {
    case TXN__SWEEP_LEAVE:
        return;
    case TXN__SWEEP_FENCE: {
        struct txn__fence with = {&gid.coordinator, looked.registration_version, looked.now_ms};
        if (fence(settle, place, &with) != TS_STORE_OK) {
            settle->counts.stuck++;
            return;
        }
        settle->counts.fenced++;
        looked.registration = (struct txn__registration){TXN__FENCED, .fenced_at_ms = looked.now_ms};
        break;
    }
    case TXN__SWEEP_REMOVE:
        break;
    }
    if (remove_decisions(settle, place, &gid.coordinator) && looked.registration.state == TXN__FENCED &&
        looked.registration_version == row->version)
        forget_fence(settle, place, row, &looked.registration, looked.now_ms);
}

static void settle_coordinators_of(struct txn__settle *settle, uint32_t place) {
    struct txn__key from;
    struct txn__key to;
    txn__key_all_coordinators(&from, &to);
    struct ts_rows rows = {0};
    for (bool more = true; more;) {
        struct ts_call scan = {.kind = TS_CALL_SCAN,
                               .from = txn__key_bytes(&from),
                               .to = txn__key_bytes(&to),
                               .limit = PAGE,
                               .rows = &rows};
        if (txn__settle_call(settle, place, &scan) != TS_STORE_OK)
            break;
        for (size_t i = 0; i < rows.count; i++)
            settle_coordinator(settle, place, &rows.rows[i]);
        more = rows.more && rows.count > 0;
        if (more)
            txn__key_behind(rows.rows[rows.count - 1].key, &from);
    }
    ts_rows_release(&rows);
}

void txn__settle_coordinators(struct txn__settle *settle) {
    for (size_t place = 0; place < ts_cluster_count(settle->cluster); place++) {
        if (!settle->inherits || fences(settle, (uint32_t)place))
            settle_coordinators_of(settle, (uint32_t)place);
    }
}

void txn__settle_inheritance(struct ts_cluster *cluster, uint64_t timeout_us) {
    struct txn__settle settle;
    if (!ts_cluster_inherit(cluster))
        return;
    txn__settle_init(&settle, cluster, timeout_us, false);
    settle.inherits = true;
    txn__settle_coordinators(&settle);
    /* If no coordinator was fenced, no promise waits for a fenced coordinator. */
    if (settle.counts.fenced == 0)
        return;
    txn__settle_promises(&settle);
    txn__settle_coordinators(&settle);
}
