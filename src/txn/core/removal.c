#include "txn/core/removal.h"

#include "base/assert.h"
#include "txn/core/keys.h"
#include "txn/core/resolve.h"

void txn__round_init(struct txn__round *round, enum txn__errand errand, const struct txn__places *places) {
    *round = (struct txn__round){.errand = errand, .left = *places};
}

bool txn__round_next(struct txn__round *round, uint32_t *ret_place) {
    for (uint32_t place = 0; place < TS_TXN_PLACES_MAX; place++) {
        if (!txn__places_have(&round->left, place))
            continue;
        txn__places_remove(&round->left, place);
        *ret_place = place;
        return true;
    }
    return false;
}

void txn__round_reply(struct txn__round *round, uint32_t place, enum ts_store_result result) {
    bool done =
        result == TS_STORE_OK || (round->errand == TXN__ERRAND_COMMIT && result == TS_STORE_NO_SUCH_PROMISE);
    if (done)
        txn__places_add(&round->done, place);
    else
        round->failed = true;
}

bool txn__may_remove(const struct txn__removal *removal) {
    switch (removal->decision) {
    case TXN__DECISION_COMMIT:
        return removal->fenced &&
               (removal->finished_synced || txn__is_taken(removal->taken, TXN__RULE_NOSYNC));
    case TXN__DECISION_ABORT:
        return removal->fenced || txn__is_taken(removal->taken, TXN__RULE_RMTOMB);
    case TXN__DECISION_NONE:
        return false;
    }
    ts_unreachable("a decision of the enum");
}

enum txn__sweep_wish txn__sweep_wish(const struct txn__look *look, const struct txn__sweep_options *options) {
    if (look->damaged)
        return TXN__SWEEP_LEAVE;
    if (look->registration.state != TXN__REGISTERED)
        return TXN__SWEEP_REMOVE;
    if (txn__is_taken(options->taken, TXN__RULE_RMTOMB))
        return TXN__SWEEP_REMOVE;
    return options->fence_all || txn__is_dead(look) ? TXN__SWEEP_FENCE : TXN__SWEEP_LEAVE;
}

/* Returns false for a row that cannot be decoded. */
static bool read_row(const struct ts_row *row, struct txn__gid *gid, enum txn__decision *ret_decision,
                     struct txn__places *ret_participants) {
    return txn__key_is_decision(row->key, &gid->coordinator, &gid->sequence) &&
           txn__decision_decode(row->value, ret_decision, ret_participants);
}

void txn__sweep_init(struct txn__sweep *sweep, const struct ts_rows *rows, bool fenced,
                     struct txn__taken taken) {
    ts_assert(rows->count <= TXN__SWEEP_PAGE);
    *sweep = (struct txn__sweep){.rows = rows, .fenced = fenced, .taken = taken};
}

bool txn__sweep_next(struct txn__sweep *sweep, struct txn__gid *gid, struct txn__round *ret_round) {
    for (; sweep->fenced && sweep->at < sweep->rows->count; sweep->at++) {
        enum txn__decision decision;
        struct txn__places participants;
        if (!read_row(&sweep->rows->rows[sweep->at], gid, &decision, &participants) ||
            decision != TXN__DECISION_COMMIT)
            continue;
        txn__round_init(ret_round, TXN__ERRAND_COMMIT, &participants);
        return true;
    }
    return false;
}

void txn__sweep_finished(struct txn__sweep *sweep, const struct txn__round *round) {
    ts_assert(txn__places_are_empty(&round->left));
    if (!round->failed || txn__is_taken(sweep->taken, TXN__RULE_HALF_FINISHED)) {
        sweep->finished[sweep->at / 64] |= UINT64_C(1) << sweep->at % 64;
        txn__places_unite(&sweep->touched, &round->done);
    }
    sweep->at++;
}

void txn__sweep_syncs(const struct txn__sweep *sweep, struct txn__round *ret_round) {
    txn__round_init(ret_round, TXN__ERRAND_SYNC, &sweep->touched);
}

size_t txn__sweep_dels(const struct txn__sweep *sweep, const struct txn__round *syncs,
                       struct ts_op *ret_ops) {
    ts_assert(txn__places_are_empty(&syncs->left));
    size_t count = 0;
    for (size_t i = 0; i < sweep->rows->count; i++) {
        struct txn__gid gid;
        struct txn__removal removal = {.fenced = sweep->fenced, .taken = sweep->taken};
        struct txn__places participants;
        if (!read_row(&sweep->rows->rows[i], &gid, &removal.decision, &participants))
            continue;
        removal.finished_synced = (sweep->finished[i / 64] >> i % 64 & 1) != 0 &&
                                  (txn__places_contain(&syncs->done, &participants) ||
                                   txn__is_taken(sweep->taken, TXN__RULE_HALF_FINISHED));
        if (txn__may_remove(&removal))
            ret_ops[count++] = (struct ts_op){.kind = TS_OP_DEL, .key = sweep->rows->rows[i].key};
    }
    return count;
}

size_t txn__mark_dels(const struct txn__mark_page *page, struct ts_op *ret_ops, uint64_t *ret_upto) {
    const struct ts_rows *rows = page->rows;
    size_t count = 0;
    *ret_upto = page->low;
    for (size_t i = 0; i < rows->count; i++) {
        struct txn__gid gid;
        enum txn__decision decision;
        struct txn__places participants;
        if (!txn__key_is_decision(rows->rows[i].key, &gid.coordinator, &gid.sequence))
            continue;
        if (rows->more && i + 1 == rows->count)
            *ret_upto = gid.sequence + 1;
        if (!txn__decision_decode(rows->rows[i].value, &decision, &participants))
            continue;
        if (decision == TXN__DECISION_COMMIT || txn__is_taken(page->taken, TXN__RULE_RMLOW))
            ret_ops[count++] = (struct ts_op){.kind = TS_OP_DEL, .key = rows->rows[i].key};
    }
    return count;
}

size_t txn__abort_dels(const struct ts_rows *rows, struct ts_op *ret_ops) {
    size_t count = 0;
    for (size_t i = 0; i < rows->count; i++) {
        struct txn__gid gid;
        enum txn__decision decision;
        struct txn__places participants;
        if (read_row(&rows->rows[i], &gid, &decision, &participants) && decision == TXN__DECISION_ABORT)
            ret_ops[count++] = (struct ts_op){.kind = TS_OP_DEL, .key = rows->rows[i].key};
    }
    return count;
}

bool txn__may_deregister(const struct txn__standing *standing, const struct txn__marks *marks,
                         uint32_t decider) {
    if (!standing->registered || standing->fenced)
        return false;
    return (!standing->dirty && marks->deciders[decider].first == NULL) ||
           txn__is_taken(standing->taken, TXN__RULE_LEAVE);
}
