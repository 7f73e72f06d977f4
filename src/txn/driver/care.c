/*
 * The background work of a coordinator, in one thread: pending commits, unsettled decisions, marks and the
 * decisions below them, retired incarnations. The thread is also a resolver.
 */
#include "driver.h"
#include "os/failpoint.h"
#include "settle.h"
#include "txn/core/removal.h"

#include <stdlib.h>
#include <time.h>

enum {
    TICK_US = 500000,     /* time between two moves of the marks */
    RESOLVE_US = 2000000, /* time between two passes over the promises */
    NUDGED_US = 100000,   /* the shortest time between two passes over the promises, if a batch is blocked */
    SWEEP_US = 10000000,  /* time between two passes over the coordinators */
    PAGE = 1000,          /* number of decisions that one batch removes */
};

/* Shared by all steps of a tick: the timeouts, and the stores that do not answer. */
struct tick {
    struct ts_coordinator *coordinator;
    struct txn__incarnation *incarnation;
    struct txn__settle settle;
};

static void gid_of(const struct tick *tick, const struct txn__entry *entry, struct txn__gid *ret_gid) {
    *ret_gid = (struct txn__gid){
        .coordinator = tick->incarnation->uuid, .sequence = entry->sequence, .decider = entry->decider};
    memcpy(ret_gid->cluster, tick->coordinator->cluster_id, sizeof ret_gid->cluster);
}

/* Returns the first entry in this state after `after`. Only this thread removes PENDING and UNSETTLED
 * entries, so `after` is still in the list. */
static struct txn__entry *find(const struct tick *tick, uint32_t decider, enum txn__entry_state state,
                               const struct txn__entry *after) {
    pthread_mutex_lock(&tick->coordinator->lock);
    struct txn__entry *entry = txn__marks_find(&tick->incarnation->marks, decider, state, after);
    pthread_mutex_unlock(&tick->coordinator->lock);
    return entry;
}

static void push_entry(struct tick *tick, struct txn__entry *entry) {
    struct txn__gid gid;
    char text[TS_TXN_ID_SIZE];
    gid_of(tick, entry, &gid);
    txn__gid_format(&gid, text);
    struct txn__round round;
    txn__round_init(&round, TXN__ERRAND_COMMIT, &entry->places);
    for (uint32_t place; txn__round_next(&round, &place);) {
        struct ts_call call = {.kind = TS_CALL_COMMIT, .gid = text};
        txn__round_reply(&round, place, txn__settle_call(&tick->settle, place, &call));
        if (!txn__places_have(&round.done, place))
            continue;
        (void)ts_failpoint(TS_FAILPOINT_AFTER_COMMIT);
        pthread_mutex_lock(&tick->coordinator->lock);
        txn__marks_applied(entry, place);
        pthread_mutex_unlock(&tick->coordinator->lock);
    }
}

static void push_pending(struct tick *tick) {
    for (uint32_t decider = 0; decider < tick->coordinator->place_count; decider++) {
        struct txn__entry *entry = find(tick, decider, TXN__ENTRY_PENDING, NULL);
        while (entry != NULL) {
            struct txn__entry *next = find(tick, decider, TXN__ENTRY_PENDING, entry);
            push_entry(tick, entry);
            entry = next;
        }
    }
}

/* Tries once to find out the result of the entry from the decider's records. Uses the machine of the
 * transaction (run.h), from the state in which the earlier attempt ended. */
static void settle_entry(struct tick *tick, struct txn__entry *entry) {
    struct ts_coordinator *coordinator = tick->coordinator;
    if (txn__places_have(&tick->settle.sick, entry->decider))
        return;
    struct txn__active *active = txn__active_new(coordinator);
    if (active == NULL)
        return;
    size_t count = 1;
    active->attempt.members[0].place = entry->decider;
    for (uint32_t place = 0; place < coordinator->place_count; place++) {
        if (txn__places_have(&entry->participants, place))
            active->attempt.members[count++].place = place;
    }
    gid_of(tick, entry, &active->attempt.gid);
    txn__gid_format(&active->attempt.gid, active->attempt.id);
    active->attempt.incarnation = tick->incarnation;
    active->attempt.participants = entry->participants;
    active->request.record = entry->record;
    active->timing.begun_us = txn__now_us();
    active->wait.deadlock.txn_id = active->attempt.id;
    ts_txn_breakdown_init(&active->timing.latency);
    struct txn__run_options options = {.record = entry->record};
    txn__run_init_settle(&active->attempt.run, active->attempt.members, count, 0, &options);
    active->attempt.run.given_up = true; /* only one try in this tick */
    txn__run_attempt(coordinator, active);
    struct txn__places pending = {{0}};
    for (size_t i = 0; i < count; i++) {
        if (active->attempt.members[i].promised)
            txn__places_add(&pending, active->attempt.members[i].place);
    }
    pthread_mutex_lock(&coordinator->lock);
    bool committed = active->attempt.run.outcome == TS_TXN_COMMITTED ||
                     active->attempt.run.outcome == TS_TXN_COMMITTED_PENDING;
    bool fenced = active->attempt.run.outcome == TS_TXN_UNKNOWN && active->attempt.run.why == TXN__WHY_FENCED;
    if (fenced) {
        tick->incarnation->seats[entry->decider].fenced = true;
        txn__incarnation_retire(coordinator, tick->incarnation);
    }
    if (committed)
        txn__marks_committed(&tick->incarnation->marks, entry, &pending);
    if (fenced || active->attempt.run.outcome == TS_TXN_ABORTED) {
        tick->incarnation->seats[entry->decider].dirty = true;
        txn__marks_end(&tick->incarnation->marks, entry);
        txn__entry_give(coordinator, entry);
    }
    pthread_mutex_unlock(&coordinator->lock);
    txn__active_free(active);
}

static void settle_unsettled(struct tick *tick) {
    for (uint32_t decider = 0; decider < tick->coordinator->place_count; decider++) {
        struct txn__entry *entry = find(tick, decider, TXN__ENTRY_UNSETTLED, NULL);
        while (entry != NULL) {
            struct txn__entry *next = find(tick, decider, TXN__ENTRY_UNSETTLED, entry);
            settle_entry(tick, entry);
            entry = next;
        }
    }
}

/* Syncs the participants of all transactions that every participant has applied. Removes the entries of those
 * transactions whose participants have all synced. */
static void sync_applied(struct tick *tick) {
    struct ts_coordinator *coordinator = tick->coordinator;
    struct txn__places places;
    struct txn__round round;
    pthread_mutex_lock(&coordinator->lock);
    txn__marks_take_applied(&tick->incarnation->marks, &places);
    pthread_mutex_unlock(&coordinator->lock);
    if (txn__places_are_empty(&places))
        return;
    txn__round_init(&round, TXN__ERRAND_SYNC, &places);
    txn__settle_sync(&tick->settle, &round);
    struct txn__entry *gone;
    pthread_mutex_lock(&coordinator->lock);
    txn__marks_synced(&tick->incarnation->marks, &round.done, &gone);
    while (gone != NULL) {
        struct txn__entry *next = gone->next;
        tick->incarnation->seats[gone->decider].dirty = true;
        txn__entry_give(coordinator, gone);
        gone = next;
    }
    pthread_mutex_unlock(&coordinator->lock);
}

/* Moves the mark, and in the same batch removes one page of the commit decisions below the new mark. Returns
 * the new mark, or 0 on failure. */
static uint64_t move_mark_once(struct tick *tick, uint32_t place, uint64_t moved, uint64_t low,
                               struct ts_rows *rows, struct ts_op *ops) {
    struct ts_coordinator *coordinator = tick->coordinator;
    const struct txn__uuid *uuid = &tick->incarnation->uuid;
    struct txn__gid gid = {.coordinator = *uuid, .sequence = 1, .decider = place};
    struct txn__look_keys keys;
    struct txn__look look;
    txn__look_keys_init(&keys, &gid);
    struct ts_call read = {
        .kind = TS_CALL_READ, .keys = keys.bytes, .key_count = TXN__LOOK_KEYS, .rows = rows};
    if (txn__settle_call(&tick->settle, place, &read) != TS_STORE_OK)
        return 0;
    txn__look_decode(rows, read.time_ms, &look);
    if (look.damaged || look.registration_version != tick->incarnation->seats[place].registration) {
        pthread_mutex_lock(&coordinator->lock);
        tick->incarnation->seats[place].fenced = true;
        txn__incarnation_retire(coordinator, tick->incarnation);
        pthread_mutex_unlock(&coordinator->lock);
        return 0;
    }
    struct txn__key from;
    struct txn__key to;
    txn__key_decision(uuid, moved, &from);
    txn__key_decision(uuid, low, &to);
    struct ts_call scan = {.kind = TS_CALL_SCAN,
                           .from = txn__key_bytes(&from),
                           .to = txn__key_bytes(&to),
                           .limit = PAGE,
                           .rows = rows};
    if (txn__settle_call(&tick->settle, place, &scan) != TS_STORE_OK)
        return 0;
    uint64_t upto;
    size_t dels = txn__mark_dels(&(struct txn__mark_page){.rows = rows, .low = low}, ops + 2, &upto);
    struct txn__own own;
    txn__own_move(&(struct txn__move){uuid, look.mark_version, upto}, &own);
    memcpy(ops, own.ops, 2 * sizeof ops[0]);
    (void)ts_failpoint(TS_FAILPOINT_BEFORE_REMOVE);
    struct ts_call apply = {.kind = TS_CALL_APPLY, .batch = {ops, 2 + dels}};
    return txn__settle_call(&tick->settle, place, &apply) == TS_STORE_OK ? upto : 0;
}

static void move_marks(struct tick *tick) {
    struct ts_rows rows = {0};
    struct ts_op *ops = NULL;
    for (uint32_t place = 0; place < tick->coordinator->place_count; place++) {
        struct txn__seat *seat = &tick->incarnation->seats[place];
        pthread_mutex_lock(&tick->coordinator->lock);
        uint64_t low = txn__marks_low(&tick->incarnation->marks, place);
        bool wanted = seat->registered && !seat->fenced && seat->dirty && low > seat->moved;
        if (wanted)
            seat->dirty = false;
        pthread_mutex_unlock(&tick->coordinator->lock);
        if (!wanted || (ops == NULL && (ops = malloc((PAGE + 2) * sizeof *ops)) == NULL))
            continue;
        while (seat->moved < low) {
            uint64_t moved = move_mark_once(tick, place, seat->moved, low, &rows, ops);
            if (moved == 0) {
                pthread_mutex_lock(&tick->coordinator->lock);
                seat->dirty = true;
                pthread_mutex_unlock(&tick->coordinator->lock);
                break;
            }
            seat->moved = moved;
        }
    }
    free(ops);
    ts_rows_release(&rows);
}

/* Called when the registration is gone, so that no message of this uuid can reach the store any more. Removes
 * the remaining abort decisions of the uuid. */
static void remove_aborts(struct tick *tick, uint32_t place) {
    struct txn__key from;
    struct txn__key to;
    txn__key_decision(&tick->incarnation->uuid, 0, &from);
    txn__key_decision(&tick->incarnation->uuid, UINT64_MAX, &to);
    struct ts_rows rows = {0};
    struct ts_op *ops = malloc(PAGE * sizeof *ops);
    for (bool more = ops != NULL; more;) {
        struct ts_call scan = {.kind = TS_CALL_SCAN,
                               .from = txn__key_bytes(&from),
                               .to = txn__key_bytes(&to),
                               .limit = PAGE,
                               .rows = &rows};
        if (txn__settle_call(&tick->settle, place, &scan) != TS_STORE_OK)
            break;
        struct ts_call apply = {.kind = TS_CALL_APPLY, .batch = {ops, txn__abort_dels(&rows, ops)}};
        more = rows.more && rows.count > 0;
        if (more)
            txn__key_behind(rows.rows[rows.count - 1].key, &from);
        if (apply.batch.count > 0 && txn__settle_call(&tick->settle, place, &apply) != TS_STORE_OK)
            break;
    }
    free(ops);
    ts_rows_release(&rows);
}

void txn__take_back(struct ts_coordinator *coordinator, struct txn__incarnation *incarnation) {
    struct tick tick = {.coordinator = coordinator, .incarnation = incarnation};
    txn__settle_init(&tick.settle, coordinator->cluster, coordinator->config.timeouts.shard_rpc_us, false);
    for (uint32_t place = 0; place < coordinator->place_count; place++) {
        struct txn__seat *seat = &incarnation->seats[place];
        struct txn__standing standing = {seat->registered, seat->fenced, seat->dirty, .taken = {0}};
        if (!txn__may_deregister(&standing, &incarnation->marks, place))
            continue;
        struct txn__own own;
        txn__own_deregister(&incarnation->uuid, seat->registration, &own);
        struct ts_call call = {.kind = TS_CALL_APPLY, .batch = txn__own_batch(&own)};
        if (txn__settle_call(&tick.settle, place, &call) != TS_STORE_OK)
            continue;
        seat->registered = false;
        remove_aborts(&tick, place);
    }
}

/* Deregisters and frees retired incarnations that have nothing in progress. */
static void bury(struct ts_coordinator *coordinator) {
    for (;;) {
        pthread_mutex_lock(&coordinator->lock);
        struct txn__incarnation **link = &coordinator->incarnations;
        while (*link != NULL && !((*link)->retired && (*link)->users == 0 && (*link)->marks.open_count == 0))
            link = &(*link)->next;
        struct txn__incarnation *dead = *link;
        if (dead != NULL)
            *link = dead->next;
        pthread_mutex_unlock(&coordinator->lock);
        if (dead == NULL)
            return;
        txn__take_back(coordinator, dead);
        txn__incarnation_free(dead);
    }
}

void txn__care_once(struct ts_coordinator *coordinator) {
    struct tick tick = {.coordinator = coordinator};
    txn__settle_init(&tick.settle, coordinator->cluster, coordinator->config.timeouts.shard_rpc_us, false);
    pthread_mutex_lock(&coordinator->lock);
    coordinator->pressing = false;
    tick.incarnation = coordinator->incarnations;
    pthread_mutex_unlock(&coordinator->lock);
    while (tick.incarnation != NULL) {
        push_pending(&tick);
        settle_unsettled(&tick);
        sync_applied(&tick);
        move_marks(&tick);
        pthread_mutex_lock(&coordinator->lock);
        tick.incarnation = tick.incarnation->next;
        pthread_mutex_unlock(&coordinator->lock);
    }
    bury(coordinator);
}

static enum ts_store_result call_for_timelines(void *context, uint32_t place, struct ts_call *call) {
    return txn__settle_call(context, place, call);
}

static void resolve(struct ts_coordinator *coordinator, bool sweep) {
    struct txn__settle settle;
    txn__settle_init(&settle, coordinator->cluster, coordinator->config.timeouts.shard_rpc_us, false);
    settle.closing = &coordinator->stopping;
    ts_cluster_share_timelines(coordinator->cluster, call_for_timelines, &settle);
    txn__settle_promises(&settle);
    if (sweep)
        txn__settle_coordinators(&settle);
}

/* Sleeps until work is due. Returns false when the thread must stop. */
static bool wait_for_work(struct ts_coordinator *coordinator, uint64_t until_us, uint64_t resolved_us) {
    pthread_mutex_lock(&coordinator->lock);
    while (!coordinator->stopping) {
        uint64_t now_us = txn__now_us();
        uint64_t due_us = until_us;
        if (coordinator->nudged && resolved_us + NUDGED_US < due_us)
            due_us = resolved_us + NUDGED_US;
        if (now_us >= due_us || coordinator->pressing)
            break;
        struct timespec until = {.tv_sec = (time_t)(due_us / 1000000),
                                 .tv_nsec = (long)(due_us % 1000000 * 1000)};
        pthread_cond_timedwait(&coordinator->care_wake, &coordinator->lock, &until);
    }
    bool go_on = !coordinator->stopping;
    pthread_mutex_unlock(&coordinator->lock);
    return go_on;
}

void *txn__care(void *context) {
    struct ts_coordinator *coordinator = context;
    uint64_t resolved_us = 0;
    uint64_t swept_us = txn__now_us();
    do {
        uint64_t now_us = txn__now_us();
        txn__care_once(coordinator);
        pthread_mutex_lock(&coordinator->lock);
        bool nudged = coordinator->nudged && now_us >= resolved_us + NUDGED_US;
        if (nudged)
            coordinator->nudged = false;
        pthread_mutex_unlock(&coordinator->lock);
        if (nudged || resolved_us == 0 || now_us >= resolved_us + RESOLVE_US) {
            bool sweep = now_us >= swept_us + SWEEP_US;
            resolve(coordinator, sweep);
            resolved_us = txn__now_us();
            swept_us = sweep ? resolved_us : swept_us;
        }
    } while (wait_for_work(coordinator, txn__now_us() + TICK_US, resolved_us));
    return NULL;
}
