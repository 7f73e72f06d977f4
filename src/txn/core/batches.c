#include "txn/core/batches.h"

static struct ts_op *add_op(struct txn__own *own, enum ts_op_kind kind) {
    ts_assert(own->count < TXN__OWN_OPS_MAX);
    struct ts_op *op = &own->ops[own->count++];
    *op = (struct ts_op){.kind = kind};
    return op;
}

/* Returns the memory for the key of the next operation. Each operation has its own key, at the index of the
 * operation. */
static struct txn__key *next_key(struct txn__own *own) {
    ts_assert(own->count < TXN__OWN_OPS_MAX);
    return &own->keys[own->count];
}

static void add_check(struct txn__own *own, const struct txn__key *key, uint64_t version) {
    struct ts_op *op = add_op(own, TS_OP_CHECK);
    op->key = txn__key_bytes(key);
    op->version = version;
}

static void add_put(struct txn__own *own, const struct txn__key *key, struct ts_bytes value) {
    struct ts_op *op = add_op(own, TS_OP_PUT);
    op->key = txn__key_bytes(key);
    op->value = value;
}

static void add_del(struct txn__own *own, const struct txn__key *key) {
    add_op(own, TS_OP_DEL)->key = txn__key_bytes(key);
}

static void add_insert(struct txn__own *own, const struct txn__key *key, struct ts_bytes value) {
    add_check(own, key, 0);
    add_put(own, key, value);
}

static void add_registration_check(struct txn__own *own, const struct txn__uuid *uuid, uint64_t version) {
    struct txn__key *key = next_key(own);
    txn__key_coordinator(uuid, key);
    add_check(own, key, version);
}

static void add_outcome(struct txn__own *own, const struct txn__gid *gid, enum txn__recorded outcome) {
    struct txn__key *key = next_key(own);
    uint8_t *value = own->small[own->count];
    txn__key_outcome(&gid->coordinator, gid->sequence, key);
    add_insert(own, key, ts_bytes_of(value, txn__outcome_encode(outcome, value)));
}

static void add_decision(struct txn__own *own, const struct txn__gid *gid, size_t len) {
    struct txn__key *key = next_key(own);
    txn__key_decision(&gid->coordinator, gid->sequence, key);
    add_insert(own, key, ts_bytes_of(own->decision, len));
}

void txn__own_decide(const struct txn__decide *decide, struct txn__own *ret_own) {
    ret_own->count = 0;
    if (!txn__is_taken(decide->taken, TXN__RULE_NOFENCE))
        add_registration_check(ret_own, &decide->gid->coordinator, decide->registration);
    add_decision(ret_own, decide->gid, txn__commit_encode(decide->participants, ret_own->decision));
    if (decide->record)
        add_outcome(ret_own, decide->gid, TXN__RECORDED_COMMITTED);
}

void txn__own_refuse(const struct txn__refuse *refuse, struct txn__own *ret_own) {
    ret_own->count = 0;
    enum txn__rule unchecked = refuse->by_resolver ? TXN__RULE_R_UNCHECKED : TXN__RULE_C_UNCHECKED;
    if (!txn__is_taken(refuse->taken, unchecked))
        add_registration_check(ret_own, &refuse->gid->coordinator, refuse->registration);
    if (refuse->by_resolver && !txn__is_taken(refuse->taken, TXN__RULE_NOLOW) &&
        !txn__is_taken(refuse->taken, TXN__RULE_R_UNCHECKED)) {
        struct txn__key *key = next_key(ret_own);
        txn__key_mark(&refuse->gid->coordinator, key);
        add_check(ret_own, key, refuse->mark);
    }
    add_decision(ret_own, refuse->gid, txn__abort_encode(ret_own->decision));
    if (refuse->record)
        add_outcome(ret_own, refuse->gid, TXN__RECORDED_ABORTED);
}

void txn__own_outcome(const struct txn__gid *gid, enum txn__recorded outcome, struct txn__own *ret_own) {
    ret_own->count = 0;
    add_outcome(ret_own, gid, outcome);
}

static void add_key_del(struct txn__own *own, const struct txn__uuid *uuid,
                        void (*name)(const struct txn__uuid *, struct txn__key *)) {
    struct txn__key *key = next_key(own);
    name(uuid, key);
    add_del(own, key);
}

void txn__own_fence(const struct txn__fence *fence, struct txn__own *ret_own) {
    ret_own->count = 0;
    struct txn__key *key = next_key(ret_own);
    txn__key_coordinator(fence->uuid, key);
    add_check(ret_own, key, fence->registration);
    uint8_t *value = ret_own->small[0];
    add_put(ret_own, key, ts_bytes_of(value, txn__fence_mark_encode(fence->now_ms, value)));
    add_key_del(ret_own, fence->uuid, txn__key_heartbeat);
    add_key_del(ret_own, fence->uuid, txn__key_mark);
}

void txn__own_register(const struct txn__register *registration, struct txn__own *ret_own) {
    ret_own->count = 0;
    struct txn__key *key = next_key(ret_own);
    uint8_t *value = ret_own->small[0];
    txn__key_coordinator(registration->uuid, key);
    add_insert(ret_own, key,
               ts_bytes_of(value, txn__registration_encode(registration->total_timeout_ms, value)));
    key = next_key(ret_own);
    value = ret_own->small[1];
    txn__key_heartbeat(registration->uuid, key);
    add_insert(ret_own, key, ts_bytes_of(value, txn__heartbeat_encode(registration->now_ms, value)));
    key = next_key(ret_own);
    value = ret_own->small[2];
    txn__key_mark(registration->uuid, key);
    add_insert(ret_own, key, ts_bytes_of(value, txn__mark_encode(0, value)));
}

void txn__own_deregister(const struct txn__uuid *uuid, uint64_t registration, struct txn__own *ret_own) {
    ret_own->count = 0;
    struct txn__key *key = next_key(ret_own);
    txn__key_coordinator(uuid, key);
    add_check(ret_own, key, registration);
    add_del(ret_own, key);
    add_key_del(ret_own, uuid, txn__key_heartbeat);
    add_key_del(ret_own, uuid, txn__key_mark);
}

void txn__own_beat(const struct txn__beat *beat, struct txn__own *ret_own) {
    ret_own->count = 0;
    struct txn__key *key = next_key(ret_own);
    uint8_t *value = ret_own->small[0];
    txn__key_heartbeat(beat->uuid, key);
    add_check(ret_own, key, beat->heartbeat);
    add_put(ret_own, key, ts_bytes_of(value, txn__heartbeat_encode(beat->now_ms, value)));
}

void txn__own_move(const struct txn__move *move, struct txn__own *ret_own) {
    ret_own->count = 0;
    struct txn__key *key = next_key(ret_own);
    uint8_t *value = ret_own->small[0];
    txn__key_mark(move->uuid, key);
    add_check(ret_own, key, move->mark);
    add_put(ret_own, key, ts_bytes_of(value, txn__mark_encode(move->sequence, value)));
}
