/*
 * What happens in a world beside transactions and resolvers: cleaning, pushing, fencing, sweeping; and the
 * checks.
 */
#include "world.h"

#include "base/number.h"

#include <stdio.h>

void coordinator_push(struct world *world, size_t index) {
    struct world_coordinator *coordinator = &world->coordinators[index];
    for (uint32_t decider = 0; decider < STORES; decider++) {
        struct txn__entry *entry = NULL;
        while ((entry = txn__marks_find(&coordinator->marks, decider, TXN__ENTRY_PENDING, entry)) != NULL) {
            struct txn__gid gid = {
                .coordinator = coordinator->uuid, .sequence = entry->sequence, .decider = decider};
            memcpy(gid.cluster, world->cluster, sizeof gid.cluster);
            for (uint32_t place = 0; place < STORES && entry->state == TXN__ENTRY_PENDING; place++) {
                if (!txn__places_have(&entry->places, place))
                    continue;
                enum ts_store_result result = world_finish(world, place, TS_CALL_COMMIT, &gid);
                if (result == TS_STORE_OK || result == TS_STORE_NO_SUCH_PROMISE)
                    txn__marks_applied(entry, place);
            }
        }
    }
}

/* One batch: the mark, and the commit decisions below it. */
static void move_mark(struct world *world, struct world_coordinator *coordinator, uint32_t place,
                      uint64_t low) {
    struct txn__gid gid = {.coordinator = coordinator->uuid, .sequence = 1, .decider = place};
    struct txn__look look;
    world_look(world, &gid, &look);
    if (look.registration.state != TXN__REGISTERED)
        return;
    struct txn__own own;
    txn__own_move(&(struct txn__move){&coordinator->uuid, look.mark_version, low}, &own);
    struct ts_op ops[2 + TXNS];
    struct txn__key keys[TXNS];
    memcpy(ops, own.ops, 2 * sizeof ops[0]);
    size_t count = 2;
    for (uint64_t sequence = coordinator->moved[place]; sequence < low; sequence++) {
        gid.sequence = sequence;
        world_look(world, &gid, &look);
        if (look.decision != TXN__DECISION_COMMIT)
            continue;
        txn__key_decision(&coordinator->uuid, sequence, &keys[count - 2]);
        ops[count] = (struct ts_op){.kind = TS_OP_DEL, .key = txn__key_bytes(&keys[count - 2])};
        count++;
    }
    if (world_apply(world, place, ops, count) != TS_STORE_OK)
        return;
    coordinator->moved[place] = low;
    coordinator->dirty[place] = false;
}

void coordinator_clean(struct world *world, size_t index) {
    struct world_coordinator *coordinator = &world->coordinators[index];
    struct txn__places places;
    struct txn__places synced = {{0}};
    txn__marks_take_applied(&coordinator->marks, &places);
    for (uint32_t place = 0; place < STORES; place++) {
        if (!txn__places_have(&places, place))
            continue;
        struct ts_call call = {.kind = TS_CALL_SYNC};
        if (txn__is_taken(world->taken, TXN__RULE_NOSYNC) ||
            ts_store_run(world->stores[place], &call) == TS_STORE_OK)
            txn__places_add(&synced, place);
    }
    struct txn__entry *gone;
    txn__marks_synced(&coordinator->marks, &synced, &gone);
    while (gone != NULL) {
        struct txn__entry *next = gone->next;
        coordinator->dirty[gone->decider] = true;
        gone->next = NULL;
        gone = next;
    }
    for (uint32_t place = 0; place < STORES; place++) {
        uint64_t low = txn__marks_low(&coordinator->marks, place);
        if (coordinator->dirty[place] && low > coordinator->moved[place])
            move_mark(world, coordinator, place, low);
    }
}

void fence(struct world *world, const struct txn__uuid *uuid, uint32_t place) {
    struct txn__gid gid = {.coordinator = *uuid, .sequence = 1, .decider = place};
    struct txn__look look;
    world_look(world, &gid, &look);
    if (look.registration.state != TXN__REGISTERED)
        return;
    struct txn__own own;
    txn__own_fence(&(struct txn__fence){uuid, look.registration_version, world->now_ms}, &own);
    (void)world_apply(world, place, own.ops, own.count);
}

/* Commits a decided transaction on every participant and syncs them. */
static bool finish_everywhere(struct world *world, const struct txn__gid *gid,
                              const struct txn__places *participants) {
    for (uint32_t place = 0; place < STORES; place++) {
        if (!txn__places_have(participants, place))
            continue;
        enum ts_store_result result = world_finish(world, place, TS_CALL_COMMIT, gid);
        if (result != TS_STORE_OK && result != TS_STORE_NO_SUCH_PROMISE)
            return false;
        struct ts_call sync = {.kind = TS_CALL_SYNC};
        if (ts_store_run(world->stores[place], &sync) != TS_STORE_OK)
            return false;
    }
    return true;
}

void sweep(struct world *world, uint32_t place) {
    for (size_t i = 0; i < world->txn_count; i++) {
        const struct txn__gid *gid = &world->txns[i].gid;
        if (gid->decider != place)
            continue;
        struct txn__look look;
        world_look(world, gid, &look);
        struct txn__removal removal = {look.decision, .fenced = look.registration.state != TXN__REGISTERED,
                                       .taken = world->taken};
        if (removal.fenced && look.decision == TXN__DECISION_COMMIT)
            removal.finished_synced = finish_everywhere(world, gid, &look.participants);
        if (!txn__may_remove(&removal))
            continue;
        struct txn__key key;
        txn__key_decision(&gid->coordinator, gid->sequence, &key);
        struct ts_op op = {.kind = TS_OP_DEL, .key = txn__key_bytes(&key)};
        (void)world_apply(world, place, &op, 1);
    }
}

void resolver_pass(struct world *world, bool fence_all) {
    for (uint32_t place = 0; place < STORES; place++) {
        /* What is settled leaves the list, what is left stays in it. */
        size_t at = 0;
        while (world_promises(world, place) > at) {
            size_t before = world_promises(world, place);
            if (!resolver_begin(world, 0, place, at, fence_all))
                break;
            while (world->resolvers[0].busy) {
                struct message *message = resolver_send(world, 0);
                message_arrive(world, message);
                if (message->state == MESSAGE_REPLIED)
                    message_answer(world, message);
                else
                    message_give_up(world, message);
            }
            at += world_promises(world, place) >= before;
        }
    }
}

static const char *trouble(struct world *world, const char *what, size_t txn) {
    snprintf(world->trouble, sizeof world->trouble, "%s (transaction %zu)", what, txn);
    return world->trouble;
}

static const char *broken_txn(struct world *world, size_t number, bool at_end) {
    const struct world_txn *txn = &world->txns[number];
    uint64_t most = 0;
    uint64_t least = UINT64_MAX;
    for (size_t i = 0; i < txn->count; i++) {
        uint64_t applied = world_applied(world, number, txn->places[i]);
        most = applied > most ? applied : most;
        least = applied < least ? applied : least;
    }
    bool said_committed =
        txn->said_anything && (txn->said == TS_TXN_COMMITTED || txn->said == TS_TXN_COMMITTED_PENDING);
    if (most > 1)
        return trouble(world, "applied twice", number);
    if (txn->said_anything && txn->said == TS_TXN_ABORTED && most > 0)
        return trouble(world, "said aborted, but applied", number);
    if (said_committed && world_applied(world, number, txn->decider) != 1)
        return trouble(world, "said committed, but not applied", number);
    if (at_end && most != least)
        return trouble(world, "half applied", number);
    struct txn__look look;
    world_look(world, &txn->gid, &look);
    if (look.decision == TXN__DECISION_ABORT && most > 0)
        return trouble(world, "an abort decision for a committed transaction", number);
    return NULL;
}

static uint64_t money(struct world *world) {
    uint64_t sum = 0;
    for (uint32_t place = 0; place < STORES; place++) {
        for (size_t i = 0; i < ACCOUNTS; i++) {
            char key[24];
            snprintf(key, sizeof key, "account/%u/%zu", (unsigned)place, i);
            struct ts_bytes bytes = ts_bytes_of_cstring(key);
            struct ts_rows rows = {0};
            struct ts_call call = {.kind = TS_CALL_READ, .keys = &bytes, .key_count = 1, .rows = &rows};
            ts_assert(ts_store_run(world->stores[place], &call) == TS_STORE_OK);
            uint64_t value = 0;
            ts_assert(ts_u64_parse(rows.rows[0].value, &value) == TS_NUMBER_OK);
            sum += value;
            ts_rows_release(&rows);
        }
    }
    return sum;
}

const char *world_broken(struct world *world, bool at_end) {
    for (size_t i = 0; i < world->txn_count; i++) {
        const char *what = broken_txn(world, i, at_end);
        if (what != NULL)
            return what;
    }
    if (!at_end)
        return NULL;
    for (uint32_t place = 0; place < STORES; place++) {
        if (world_promises(world, place) > 0)
            return trouble(world, "a promise that nobody settles", place);
    }
    if (money(world) != (uint64_t)STORES * ACCOUNTS * BALANCE)
        return trouble(world, "the total is off", 0);
    return NULL;
}
