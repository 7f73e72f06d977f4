/*
 * The status of a transaction and of the cluster, from the stores.
 */
#include "driver.h"
#include "os/grow.h"
#include "settle.h"
#include "txn/core/resolve.h"

#include <stdlib.h>

#define TABLE_TEXT(suffix, text) text,

const char *ts_txn_outcome_text(enum ts_txn_outcome outcome) {
    static const char *const texts[] = {TS_TXN_OUTCOMES(TABLE_TEXT)};
    return texts[outcome];
}

const char *ts_txn_state_text(enum ts_txn_state state) {
    static const char *const texts[] = {TS_TXN_STATES(TABLE_TEXT)};
    return texts[state];
}

static void to_breakdown(const struct ts_txn_latency *latency, struct ts_txn_breakdown *ret_breakdown) {
    ts_txn_breakdown_init(ret_breakdown);
    uint64_t *us = ret_breakdown->us;
    us[TS_TXN_BREAKDOWN_COORD_QUEUE] = latency->coord_queue_us;
    us[TS_TXN_BREAKDOWN_ROUTE_PLAN] = latency->route_plan_us;
    us[TS_TXN_BREAKDOWN_SHARD_RPC] = latency->other_rpc_us;
    us[TS_TXN_BREAKDOWN_READ_PHASE] = latency->read_phase_us;
    us[TS_TXN_BREAKDOWN_LOCK_VALIDATE] = latency->lock_validate_us;
    us[TS_TXN_BREAKDOWN_PREPARE_WAL] = latency->prepare_wal_us;
    us[TS_TXN_BREAKDOWN_COMMIT_BARRIER] = latency->commit_barrier_us;
    us[TS_TXN_BREAKDOWN_COMMIT_WAL] = latency->commit_wal_us;
    us[TS_TXN_BREAKDOWN_REPLICATION_ACK] = latency->replication_ack_us;
    us[TS_TXN_BREAKDOWN_GC_IMPACT] = latency->gc_impact_us;
    us[TS_TXN_BREAKDOWN_RETRY_BACKOFF] = latency->retry_backoff_us;
    ret_breakdown->total_us = latency->total_us;
}

size_t ts_txn_latency_waterfall(const struct ts_txn_latency *latency, char ret_line[TS_TXN_WATERFALL_SIZE]) {
    _Static_assert(TS_TXN_WATERFALL_SIZE >= TS_TXN_BREAKDOWN_WATERFALL_SIZE, "room for the longest");
    struct ts_txn_breakdown breakdown;
    to_breakdown(latency, &breakdown);
    /* The waterfall shows this time as rpc_max. */
    breakdown.us[TS_TXN_BREAKDOWN_SHARD_RPC] = latency->shard_rpc_max_us;
    return strlen(ts_txn_breakdown_waterfall(&breakdown, ret_line));
}

const char *ts_txn_latency_dominant(const struct ts_txn_latency *latency) {
    struct ts_txn_breakdown breakdown;
    to_breakdown(latency, &breakdown);
    return ts_txn_breakdown_phase_field(ts_txn_breakdown_dominant(&breakdown));
}

/* Counts the stores that hold a promise of the transaction with this name. */
static void count_promises(struct txn__settle *settle, struct ts_bytes name, struct ts_txn_status *status) {
    struct ts_rows rows = {0};
    for (size_t place = 0; place < ts_cluster_count(settle->cluster); place++) {
        struct ts_call call = {.kind = TS_CALL_PREPARED, .rows = &rows};
        if (txn__settle_call(settle, (uint32_t)place, &call) != TS_STORE_OK) {
            status->unreachable++;
            continue;
        }
        for (size_t i = 0; i < rows.count; i++)
            status->promises += ts_bytes_equal(rows.rows[i].key, name);
    }
    ts_rows_release(&rows);
}

/* Returns whether the transaction can no longer commit. A commit would have left an outcome, and the outcome
 * was read after the registration and the mark (look.h). */
static bool is_shut_out(const struct txn__gid *gid, const struct txn__look *look) {
    return txn__gid_is_recorded(gid) &&
           (look->registration.state != TXN__REGISTERED || gid->sequence < look->mark);
}

/* Returns the state of a transaction. A kept outcome or a decision determines it. Without outcome and
 * decision, a transaction that can no longer commit is aborted, and any other transaction with a promise is
 * pending. */
static enum ts_txn_state state_of(const struct txn__gid *gid, const struct txn__look *look,
                                  const struct ts_txn_status *status) {
    if (look->outcome == TXN__RECORDED_COMMITTED || look->decision == TXN__DECISION_COMMIT)
        return TS_TXN_STATE_COMMITTED;
    if (look->outcome == TXN__RECORDED_ABORTED || look->decision == TXN__DECISION_ABORT ||
        is_shut_out(gid, look))
        return TS_TXN_STATE_ABORTED;
    return status->promises > 0 ? TS_TXN_STATE_PENDING : TS_TXN_STATE_UNKNOWN;
}

static enum ts_txn_error damaged(const struct txn__settle *settle, uint32_t place,
                                 struct ts_txn_error_detail *ret_detail) {
    struct ts_store_error error;
    (void)store__error(
        &error, TS_STORE_DAMAGED, SIZE_MAX,
        "%.100s: a record of this transaction is damaged or of a newer version; use that version, or "
        "restore the store from a backup",
        ts_store_name(ts_cluster_store(settle->cluster, place)));
    return txn__fail(ret_detail, TS_TXN_ERROR_STORE, place, &error);
}

enum ts_txn_error ts_txn_status(struct ts_cluster *cluster, const char *id, uint64_t timeout_ms,
                                struct ts_txn_status *ret_status, struct ts_txn_error_detail *ret_detail) {
    struct txn__gid gid;
    if (!txn__gid_parse(ts_bytes_of_cstring(id), &gid) ||
        memcmp(gid.cluster, txn__cluster_id(cluster), sizeof gid.cluster) != 0 ||
        gid.decider >= ts_cluster_count(cluster)) {
        txn__fail(ret_detail, TS_TXN_ERROR_BAD_ID, UINT32_MAX, NULL);
        if (ret_detail != NULL)
            snprintf(ret_detail->text, sizeof ret_detail->text,
                     "not the id of a transaction of this cluster; copy it as 'txn' printed it");
        return TS_TXN_ERROR_BAD_ID;
    }
    struct txn__settle settle;
    txn__settle_init(&settle, cluster, timeout_ms * 1000, false);
    struct ts_txn_status status = {0};
    /* Reads promises before the decision: if a promise is settled in between, the decision shows it. */
    count_promises(&settle, ts_bytes_of_cstring(id), &status);
    struct txn__look look;
    if (txn__settle_look(&settle, &gid, &look) != TS_STORE_OK) {
        if (ret_detail != NULL)
            *ret_detail = settle.trouble;
        return TS_TXN_ERROR_STORE;
    }
    if (look.damaged)
        return damaged(&settle, gid.decider, ret_detail);
    status.recorded = look.outcome != TXN__RECORDED_NONE || txn__gid_is_recorded(&gid);
    status.state = state_of(&gid, &look, &status);
    *ret_status = status;
    return TS_TXN_ERROR_OK;
}

/* The capacities of the arrays of a status while the status is made. */
struct room {
    size_t coordinators;
    size_t promises;
};

static bool add_coordinator(struct ts_txn_cluster_status *status, struct room *room, uint32_t place,
                            const struct txn__uuid *uuid, const struct txn__look *look) {
    if (!TS_GROW(status->coordinators, room->coordinators, status->coordinator_count + 1))
        return false;
    struct ts_txn_cluster_status_coordinator *row = &status->coordinators[status->coordinator_count++];
    *row = (struct ts_txn_cluster_status_coordinator){
        .place = place,
        .fenced = look->registration.state == TXN__FENCED,
        .heartbeat_age_ms = look->now_ms > look->heartbeat_ms ? look->now_ms - look->heartbeat_ms : 0,
        .low_water_mark = look->mark,
        .total_timeout_ms = look->registration.total_timeout_ms,
    };
    txn__uuid_format(uuid, row->uuid);
    return true;
}

/* Visits every row of a range, page by page. */
static bool visit(struct txn__settle *settle, uint32_t place, const struct txn__key *from,
                  const struct txn__key *to, bool (*each)(void *context, const struct ts_row *row),
                  void *context) {
    uint8_t at[TS_STORE_KEY_MAX + 1];
    struct ts_bytes begin = txn__key_bytes(from);
    struct ts_rows rows = {0};
    bool good = true;
    for (bool more = true; more && good;) {
        struct ts_call scan = {
            .kind = TS_CALL_SCAN, .from = begin, .to = txn__key_bytes(to), .limit = 1000, .rows = &rows};
        good = txn__settle_call(settle, place, &scan) == TS_STORE_OK;
        for (size_t i = 0; good && i < rows.count; i++)
            good = each(context, &rows.rows[i]);
        more = good && rows.more && rows.count > 0;
        if (more) {
            struct ts_bytes last = rows.rows[rows.count - 1].key;
            memcpy(at, last.data, last.len);
            at[last.len] = 0;
            begin = ts_bytes_of(at, last.len + 1);
        }
    }
    ts_rows_release(&rows);
    return good;
}

struct visitor {
    struct txn__settle *settle;
    struct ts_txn_cluster_status *status;
    struct room *room;
    struct ts_txn_cluster_status_store *store;
};

static bool visit_decision(void *context, const struct ts_row *row) {
    struct visitor *visitor = context;
    enum txn__decision decision;
    struct txn__places participants;
    if (!txn__decision_decode(row->value, &decision, &participants))
        return true;
    visitor->store->commit_decisions += decision == TXN__DECISION_COMMIT;
    visitor->store->abort_decisions += decision == TXN__DECISION_ABORT;
    return true;
}

static bool visit_coordinator(void *context, const struct ts_row *row) {
    struct visitor *visitor = context;
    struct txn__gid gid = {.sequence = 1, .decider = visitor->store->place};
    struct txn__look look;
    if (!txn__key_is_coordinator(row->key, &gid.coordinator))
        return true;
    if (txn__settle_look(visitor->settle, &gid, &look) != TS_STORE_OK)
        return false;
    visitor->store->coordinators += look.registration.state == TXN__REGISTERED;
    visitor->store->fence_marks += look.registration.state == TXN__FENCED;
    return look.registration.state == TXN__NOT_REGISTERED ||
           add_coordinator(visitor->status, visitor->room, visitor->store->place, &gid.coordinator, &look);
}

static const char *decision_text(struct txn__settle *settle, const struct txn__gid *gid) {
    struct txn__look look;
    if (txn__settle_look(settle, gid, &look) != TS_STORE_OK || look.damaged)
        return "unknown";
    switch (look.decision) {
    case TXN__DECISION_COMMIT:
        return "commit";
    case TXN__DECISION_ABORT:
        return "abort";
    case TXN__DECISION_NONE:
        break;
    }
    return "none";
}

static bool add_promise(struct txn__settle *settle, struct ts_txn_cluster_status *status, struct room *room,
                        uint32_t place, const struct ts_row *row, uint64_t now_ms) {
    if (!TS_GROW(status->promises, room->promises, status->promise_count + 1))
        return false;
    struct ts_txn_cluster_status_promise *promise = &status->promises[status->promise_count++];
    struct txn__gid gid;
    bool ours = txn__gid_parse(row->key, &gid) &&
                memcmp(gid.cluster, txn__cluster_id(settle->cluster), sizeof gid.cluster) == 0 &&
                gid.decider < ts_cluster_count(settle->cluster);
    *promise = (struct ts_txn_cluster_status_promise){
        .place = place,
        .foreign = !ours,
        .decider = ours ? gid.decider : UINT32_MAX,
        .age_ms = now_ms > row->version ? now_ms - row->version : 0,
        .decision = ours ? decision_text(settle, &gid) : "unknown",
    };
    memcpy(promise->id, row->key.data, row->key.len < TS_STORE_GID_MAX ? row->key.len : TS_STORE_GID_MAX);
    return true;
}

static const char *state_name(const struct ts_meta *meta) {
    if (!meta->present)
        return "none";
    switch (meta->state) {
    case TS_META_OPEN:
        return "open";
    case TS_META_CLOSING:
        return "closing";
    case TS_META_INITIALISING:
        return "initialising";
    }
    return "none";
}

/* Reads the status of one store. If a call fails, the row of the store has the result and the message of that
 * call. */
static void read_store(struct txn__settle *settle, struct ts_txn_cluster_status *status, struct room *room,
                       uint32_t place) {
    struct ts_txn_cluster_status_store *row = &status->stores[place];
    struct ts_store *store = ts_cluster_store(settle->cluster, place);
    struct ts_meta meta = {0};
    struct ts_store_error error = {0};
    struct visitor visitor = {settle, status, room, row};
    struct txn__key from;
    struct txn__key to;
    *row = (struct ts_txn_cluster_status_store){.place = place, .state = "none"};
    row->result = store->engine->meta_read(store, txn__deadline_ns(settle->timeout_us), &meta, &error);
    if (row->result != TS_STORE_OK) {
        memcpy(row->text, error.text, sizeof row->text);
        return;
    }
    row->epoch = meta.epoch;
    row->state = state_name(&meta);
    struct ts_rows rows = {0};
    struct ts_call call = {.kind = TS_CALL_PREPARED, .rows = &rows};
    row->result = txn__settle_call(settle, place, &call);
    for (size_t i = 0; row->result == TS_STORE_OK && i < rows.count; i++) {
        row->promises++;
        if (!add_promise(settle, status, room, place, &rows.rows[i], call.time_ms))
            row->result = TS_STORE_FAILED;
    }
    ts_rows_release(&rows);
    txn__key_all_decisions(&from, &to);
    bool good = row->result == TS_STORE_OK && visit(settle, place, &from, &to, visit_decision, &visitor);
    txn__key_all_coordinators(&from, &to);
    good = good && visit(settle, place, &from, &to, visit_coordinator, &visitor);
    if (!good && row->result == TS_STORE_OK)
        row->result = settle->trouble.error != TS_TXN_ERROR_OK ? settle->trouble.reason : TS_STORE_FAILED;
    if (row->result != TS_STORE_OK)
        memcpy(row->text, settle->trouble.text, sizeof row->text);
}

enum ts_txn_error ts_txn_cluster_status_read(struct ts_cluster *cluster, uint64_t timeout_ms,
                                             struct ts_txn_cluster_status *ret_status,
                                             struct ts_txn_error_detail *ret_detail) {
    struct ts_txn_cluster_status status = {.store_count = ts_cluster_count(cluster)};
    status.stores = calloc(status.store_count, sizeof *status.stores);
    if (status.stores == NULL)
        return txn__fail(ret_detail, TS_TXN_ERROR_NO_MEMORY, UINT32_MAX, NULL);
    struct room room = {0};
    for (uint32_t place = 0; place < status.store_count; place++) {
        struct txn__settle settle;
        txn__settle_init(&settle, cluster, timeout_ms * 1000, false);
        read_store(&settle, &status, &room, place);
    }
    *ret_status = status;
    return TS_TXN_ERROR_OK;
}

void ts_txn_cluster_status_release(struct ts_txn_cluster_status *status) {
    if (status == NULL)
        return;
    free(status->stores);
    free(status->coordinators);
    free(status->promises);
    *status = (struct ts_txn_cluster_status){0};
}
