/*
 * Cleaning, pushing, fencing and sweeping in a world, and the checks of a world.
 */
#include "world.h"

#include "base/number.h"

#include <stdio.h>

/* Returns true if a store does not answer a cleaning call. Stores in `away` never answer. In a flaky world,
 * the number of calls that may have changed a store decides. */
static bool is_away(const struct world *world, uint32_t place) {
    return world->away[place] || (world->flaky && (world->touched * 7 + place * 5) % 11 < 3);
}

static void commit_round(struct world *world, const struct txn__gid *gid, struct txn__round *round) {
    for (uint32_t place; txn__round_next(round, &place);)
        txn__round_reply(round, place,
                         is_away(world, place) ? TS_STORE_UNAVAILABLE
                                               : world_finish(world, place, TS_CALL_COMMIT, gid));
}

static enum ts_store_result sync_store(struct world *world, uint32_t place) {
    struct ts_call call = {.kind = TS_CALL_SYNC};
    if (txn__is_taken(world->taken, TXN__RULE_NOSYNC))
        return TS_STORE_OK;
    return is_away(world, place) ? TS_STORE_UNAVAILABLE : ts_store_run(world->stores[place], &call);
}

static void sync_round(struct world *world, struct txn__round *round) {
    for (uint32_t place; txn__round_next(round, &place);)
        txn__round_reply(round, place, sync_store(world, place));
}

void coordinator_push(struct world *world, size_t index) {
    struct world_coordinator *coordinator = &world->coordinators[index];
    for (uint32_t decider = 0; decider < STORES; decider++) {
        struct txn__entry *entry = NULL;
        while ((entry = txn__marks_find(&coordinator->marks, decider, TXN__ENTRY_PENDING, entry)) != NULL) {
            struct txn__gid gid = {
                .coordinator = coordinator->uuid, .sequence = entry->sequence, .decider = decider};
            memcpy(gid.cluster, world->cluster, sizeof gid.cluster);
            struct txn__round round;
            txn__round_init(&round, TXN__ERRAND_COMMIT, &entry->places);
            commit_round(world, &gid, &round);
            for (uint32_t place = 0; place < STORES; place++) {
                if (txn__places_have(&round.done, place))
                    txn__marks_applied(entry, place);
            }
        }
    }
}

/* Number of decisions on a page. It is so small that a coordinator often has more than one page. */
enum { PAGE = 3 };

static void scan_decisions(struct world *world, uint32_t place, const struct txn__uuid *uuid,
                           const uint64_t sequences[2], struct ts_rows *rows) {
    struct txn__key from;
    struct txn__key to;
    txn__key_decision(uuid, sequences[0], &from);
    txn__key_decision(uuid, sequences[1], &to);
    struct ts_call scan = {.kind = TS_CALL_SCAN,
                           .from = txn__key_bytes(&from),
                           .to = txn__key_bytes(&to),
                           .limit = PAGE,
                           .rows = rows};
    ts_assert(ts_store_run(world->stores[place], &scan) == TS_STORE_OK);
}

/* Moves the mark and removes commit decisions below it, in one batch. Returns false when the batch failed. */
static bool move_mark_once(struct world *world, struct world_coordinator *coordinator, uint32_t place,
                           uint64_t low, struct ts_rows *rows) {
    struct txn__gid gid = {.coordinator = coordinator->uuid, .sequence = 1, .decider = place};
    struct txn__look look;
    world_look(world, &gid, &look);
    if (look.registration.state != TXN__REGISTERED)
        return false;
    scan_decisions(world, place, &coordinator->uuid, (uint64_t[]){coordinator->moved[place], low}, rows);
    struct ts_op ops[2 + PAGE];
    uint64_t upto;
    size_t dels = txn__mark_dels(&(struct txn__mark_page){rows, low, world->taken}, ops + 2, &upto);
    struct txn__own own;
    txn__own_move(&(struct txn__move){&coordinator->uuid, look.mark_version, upto}, &own);
    memcpy(ops, own.ops, 2 * sizeof ops[0]);
    if (world_apply(world, place, ops, 2 + dels) != TS_STORE_OK)
        return false;
    coordinator->moved[place] = upto;
    return true;
}

static void move_mark(struct world *world, struct world_coordinator *coordinator, uint32_t place,
                      uint64_t low) {
    struct ts_rows rows = {0};
    bool good = true;
    while (good && coordinator->moved[place] < low)
        good = move_mark_once(world, coordinator, place, low, &rows);
    coordinator->dirty[place] = !good;
    ts_rows_release(&rows);
}

void coordinator_clean(struct world *world, size_t index) {
    struct world_coordinator *coordinator = &world->coordinators[index];
    struct txn__places places;
    struct txn__round round;
    txn__marks_take_applied(&coordinator->marks, &places);
    txn__round_init(&round, TXN__ERRAND_SYNC, &places);
    sync_round(world, &round);
    struct txn__entry *gone;
    txn__marks_synced(&coordinator->marks, &round.done, &gone);
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

static void remove_aborts(struct world *world, uint32_t place, const struct txn__uuid *uuid) {
    struct ts_rows rows = {0};
    struct txn__uuid found;
    uint64_t from = 0;
    do {
        scan_decisions(world, place, uuid, (uint64_t[]){from, UINT64_MAX}, &rows);
        struct ts_op ops[PAGE];
        size_t count = txn__abort_dels(&rows, ops);
        if (count > 0)
            (void)world_apply(world, place, ops, count);
        if (rows.count > 0 && txn__key_is_decision(rows.rows[rows.count - 1].key, &found, &from))
            from++;
    } while (rows.more);
    ts_rows_release(&rows);
}

void coordinator_leave(struct world *world, size_t index) {
    struct world_coordinator *coordinator = &world->coordinators[index];
    coordinator_clean(world, index);
    for (uint32_t place = 0; place < STORES; place++) {
        struct txn__standing standing = {
            .registered = true, .dirty = coordinator->dirty[place], .taken = world->taken};
        struct txn__own own;
        if (!txn__may_deregister(&standing, &coordinator->marks, place))
            continue;
        txn__own_deregister(&coordinator->uuid, coordinator->registered[place], &own);
        if (world_apply(world, place, own.ops, own.count) == TS_STORE_OK)
            remove_aborts(world, place, &coordinator->uuid);
    }
    coordinator_crash(world, index);
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

static void sweep_page(struct world *world, uint32_t place, const struct ts_rows *rows, bool fenced) {
    struct txn__gid gid = {.decider = place};
    memcpy(gid.cluster, world->cluster, sizeof gid.cluster);
    struct txn__sweep page;
    struct txn__round round;
    txn__sweep_init(&page, rows, fenced, world->taken);
    while (txn__sweep_next(&page, &gid, &round)) {
        commit_round(world, &gid, &round);
        txn__sweep_finished(&page, &round);
    }
    txn__sweep_syncs(&page, &round);
    sync_round(world, &round);
    struct ts_op ops[PAGE];
    size_t count = txn__sweep_dels(&page, &round, ops);
    if (count > 0)
        (void)world_apply(world, place, ops, count);
}

void sweep(struct world *world, uint32_t place) {
    struct ts_rows rows = {0};
    for (uint8_t number = 1; number <= world->uuids; number++) {
        struct txn__gid gid = {.sequence = 1, .decider = place};
        gid.coordinator.bytes[15] = number;
        struct txn__look look;
        world_look(world, &gid, &look);
        enum txn__sweep_wish wish =
            txn__sweep_wish(&look, &(struct txn__sweep_options){.taken = world->taken});
        if (wish == TXN__SWEEP_FENCE) {
            fence(world, &gid.coordinator, place);
            world_look(world, &gid, &look);
        }
        if (wish == TXN__SWEEP_LEAVE)
            continue;
        uint64_t from = 0;
        do {
            scan_decisions(world, place, &gid.coordinator, (uint64_t[]){from, UINT64_MAX}, &rows);
            sweep_page(world, place, &rows, look.registration.state != TXN__REGISTERED);
            struct txn__uuid uuid;
            if (rows.count > 0 && txn__key_is_decision(rows.rows[rows.count - 1].key, &uuid, &from))
                from++;
        } while (rows.more);
    }
    ts_rows_release(&rows);
}

void resolver_pass(struct world *world, bool fence_all) {
    for (uint32_t place = 0; place < STORES; place++) {
        /* Settled promises leave the list of promises. The other promises remain, so `at` skips them. */
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
    if (at_end && look.decision != TXN__DECISION_NONE && look.registration.state == TXN__NOT_REGISTERED)
        return trouble(world, "a decision that nobody will remove", number);
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
