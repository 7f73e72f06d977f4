#include "world.h"

#include "base/number.h"

#include <stdio.h>

static uint64_t wall_ms(void *context) {
    return ((struct world *)context)->now_ms;
}

static uint64_t monotonic_ns(void *context) {
    return ((struct world *)context)->now_ms * 1000000;
}

static void account_key(uint32_t place, size_t account, char *ret_key) {
    snprintf(ret_key, 24, "account/%u/%zu", (unsigned)place, account);
}

static void counter_key(size_t txn, char *ret_key) {
    snprintf(ret_key, 24, "n/%zu", txn);
}

void world_init(struct world *world, struct txn__taken taken) {
    memset(world, 0, sizeof *world);
    world->taken = taken;
    world->now_ms = 1000000;
    world->clock = (struct ts_store_clock){wall_ms, monotonic_ns, world};
    memset(world->cluster, 0x5a, sizeof world->cluster);
    for (uint32_t place = 0; place < STORES; place++) {
        world->memories[place] = ts_memory_new("sim", &world->clock);
        ts_assert(world->memories[place] != NULL);
        world->stores[place] = ts_memory_open(world->memories[place]);
        ts_assert(world->stores[place] != NULL);
        for (size_t i = 0; i < ACCOUNTS; i++) {
            char key[24];
            account_key(place, i, key);
            struct ts_op op = {.kind = TS_OP_PUT, .key = ts_bytes_of_cstring(key), .value = TS_BYTES("1000")};
            ts_assert(world_apply(world, place, &op, 1) == TS_STORE_OK);
        }
    }
}

void world_release(struct world *world) {
    for (size_t i = 0; i < MESSAGES; i++) {
        if (world->messages[i].state == MESSAGE_WAITING)
            ts_store_cancel(&world->messages[i].call);
        ts_rows_release(&world->messages[i].rows);
    }
    for (uint32_t place = 0; place < STORES; place++) {
        ts_store_close(world->stores[place]);
        ts_memory_free(world->memories[place]);
    }
}

/* Makes a direct call. If the call would wait for a lock, cancels the call. Returns its result. */
static enum ts_store_result run_now(struct world *world, uint32_t place, struct ts_call *call) {
    world->touched += call->kind != TS_CALL_READ && call->kind != TS_CALL_PREPARED;
    ts_store_start(world->stores[place], call);
    if (!call->done && !ts_store_poll(call))
        ts_store_cancel(call);
    return call->error.result;
}

enum ts_store_result world_apply(struct world *world, uint32_t place, const struct ts_op *ops, size_t count) {
    struct ts_call call = {.kind = TS_CALL_APPLY, .batch = {ops, count}};
    return run_now(world, place, &call);
}

enum ts_store_result world_finish(struct world *world, uint32_t place, enum ts_call_kind kind,
                                  const struct txn__gid *gid) {
    char text[TS_TXN_ID_SIZE];
    txn__gid_format(gid, text);
    struct ts_call call = {.kind = kind, .gid = text};
    return run_now(world, place, &call);
}

void world_look(struct world *world, const struct txn__gid *gid, struct txn__look *ret_look) {
    struct txn__look_keys keys;
    txn__look_keys_init(&keys, gid);
    struct ts_rows rows = {0};
    struct ts_call call = {
        .kind = TS_CALL_READ, .keys = keys.bytes, .key_count = TXN__LOOK_KEYS, .rows = &rows};
    ts_assert(run_now(world, gid->decider, &call) == TS_STORE_OK);
    txn__look_decode(&rows, call.time_ms, ret_look);
    ts_rows_release(&rows);
}

static uint64_t read_number(struct world *world, uint32_t place, const char *key) {
    struct ts_bytes bytes = ts_bytes_of_cstring(key);
    struct ts_rows rows = {0};
    struct ts_call call = {.kind = TS_CALL_READ, .keys = &bytes, .key_count = 1, .rows = &rows};
    ts_assert(run_now(world, place, &call) == TS_STORE_OK);
    uint64_t number = 0;
    if (rows.rows[0].version != 0)
        ts_assert(ts_u64_parse(rows.rows[0].value, &number) == TS_NUMBER_OK);
    ts_rows_release(&rows);
    return number;
}

uint64_t world_applied(struct world *world, size_t txn, uint32_t place) {
    char key[24];
    counter_key(txn, key);
    return read_number(world, place, key);
}

size_t world_promises(struct world *world, uint32_t place) {
    struct ts_rows rows = {0};
    struct ts_call call = {.kind = TS_CALL_PREPARED, .rows = &rows};
    ts_assert(run_now(world, place, &call) == TS_STORE_OK);
    size_t count = rows.count;
    ts_rows_release(&rows);
    return count;
}

/* Fills in the part of one member: its counter, and money to or from an account. The decider pays the money
 * that the other members receive. Returns the number of operations. */
static size_t fill_part(struct message *message, const struct world_txn *txn, size_t number) {
    counter_key(number, message->keys[0]);
    account_key(message->place, number % ACCOUNTS, message->keys[1]);
    int64_t delta = message->place == txn->decider ? -(int64_t)(txn->count - 1) : 1;
    message->ops[0] = (struct ts_op){
        .kind = TS_OP_ADD, .key = ts_bytes_of_cstring(message->keys[0]), .delta = 1, .max = INT64_MAX};
    message->ops[1] = (struct ts_op){
        .kind = TS_OP_ADD, .key = ts_bytes_of_cstring(message->keys[1]), .delta = delta, .max = INT64_MAX};
    return 2;
}

static struct message *new_message(struct world *world) {
    for (size_t i = 0; i < MESSAGES; i++) {
        struct message *message = &world->messages[i];
        if (message->state != MESSAGE_FREE)
            continue;
        struct ts_rows rows = message->rows;
        memset(message, 0, sizeof *message);
        message->rows = rows;
        message->state = MESSAGE_FLYING;
        return message;
    }
    ts_unreachable("more messages than there is room for");
}

static void append_own(struct message *message, size_t count) {
    memcpy(message->ops + count, message->own.ops, message->own.count * sizeof message->ops[0]);
    message->call.batch = (struct ts_batch){message->ops, count + message->own.count};
}

/* Converts a request of a run or a resolver into a call. The caller adds operations that check versions. */
static void fill_call(struct message *message, const struct txn__gid *gid) {
    txn__gid_format(gid, message->gid);
    message->call.gid = message->gid;
    message->call.kind = txn__wish_call(message->wish);
    if (message->wish != TXN__WISH_LOOK)
        return;
    txn__look_keys_init(&message->look_keys, gid);
    message->call.keys = message->look_keys.bytes;
    message->call.key_count = TXN__LOOK_KEYS;
    message->call.rows = &message->rows;
}

static struct txn__entry *free_entry(struct world_coordinator *coordinator) {
    for (size_t i = 0; i < TXNS; i++) {
        if (coordinator->entries[i].state == TXN__ENTRY_IDLE)
            return &coordinator->entries[i];
    }
    ts_unreachable("as many entries as transactions");
}

void coordinator_start(struct world *world, size_t index) {
    struct world_coordinator *coordinator = &world->coordinators[index];
    memset(coordinator, 0, sizeof *coordinator);
    coordinator->used = true;
    coordinator->uuid.bytes[15] = ++world->uuids;
    txn__marks_init(&coordinator->marks, coordinator->deciders, STORES);
    for (uint32_t place = 0; place < STORES; place++) {
        struct txn__own own;
        txn__own_register(&(struct txn__register){&coordinator->uuid, TOTAL_MS, world->now_ms}, &own);
        ts_assert(world_apply(world, place, own.ops, own.count) == TS_STORE_OK);
        struct txn__gid gid = {.coordinator = coordinator->uuid, .sequence = 1, .decider = place};
        struct txn__look look;
        world_look(world, &gid, &look);
        coordinator->registered[place] = look.registration_version;
    }
}

void coordinator_crash(struct world *world, size_t index) {
    struct world_coordinator *coordinator = &world->coordinators[index];
    coordinator->used = false;
    for (size_t i = 0; i < MESSAGES; i++) {
        struct message *message = &world->messages[i];
        if (message->state != MESSAGE_FREE && message->owner == OWNER_RUN &&
            message->owner_index / RUNS == index)
            message->late = true;
    }
    memset(coordinator->runs, 0, sizeof coordinator->runs);
}

void coordinator_beat(struct world *world, size_t index) {
    struct world_coordinator *coordinator = &world->coordinators[index];
    for (uint32_t place = 0; place < STORES; place++) {
        struct txn__key key;
        txn__key_heartbeat(&coordinator->uuid, &key);
        struct ts_bytes bytes = txn__key_bytes(&key);
        struct ts_rows rows = {0};
        struct ts_call call = {.kind = TS_CALL_READ, .keys = &bytes, .key_count = 1, .rows = &rows};
        ts_assert(run_now(world, place, &call) == TS_STORE_OK);
        if (rows.rows[0].version != 0) {
            struct txn__own own;
            txn__own_beat(&(struct txn__beat){&coordinator->uuid, rows.rows[0].version, world->now_ms}, &own);
            (void)world_apply(world, place, own.ops, own.count);
        }
        ts_rows_release(&rows);
    }
}

size_t coordinator_begin(struct world *world, size_t index, const uint32_t *places, size_t count) {
    struct world_coordinator *coordinator = &world->coordinators[index];
    ts_assert(world->txn_count < TXNS && count <= MEMBERS);
    size_t r = 0;
    while (coordinator->runs[r].used)
        ts_assert(++r < RUNS);
    struct world_run *run = &coordinator->runs[r];
    *run = (struct world_run){.used = true, .turn = ++world->turns, .txn = world->txn_count++};
    struct world_txn *txn = &world->txns[run->txn];
    *txn = (struct world_txn){.used = true, .count = count, .decider = places[0]};
    memcpy(txn->gid.cluster, world->cluster, sizeof world->cluster);
    txn->gid.coordinator = coordinator->uuid;
    txn->gid.sequence =
        txn__marks_next_sequence(&coordinator->marks, (coordinator->marks.next_sequence & 1) != 0);
    txn->gid.decider = places[0];
    run->entry = free_entry(coordinator);
    txn__marks_begin(&coordinator->marks, run->entry, txn->gid.sequence, places[0]);
    for (size_t i = 0; i < count; i++) {
        txn->places[i] = run->members[i].place = places[i];
        if (i > 0)
            txn__places_add(&run->entry->participants, places[i]);
    }
    struct txn__run_options options = {.in_order = world->in_order, .taken = world->taken};
    txn__run_init(&run->run, run->members, count, 0, &options);
    run->run.own_ops_from = 2;
    return r;
}

static void fill_run_message(struct world *world, struct message *message,
                             const struct world_coordinator *coordinator, const struct world_run *run) {
    const struct world_txn *txn = &world->txns[run->txn];
    uint64_t registration = coordinator->registered[txn->decider];
    size_t count = 0;
    message->own.count = 0;
    fill_call(message, &txn->gid);
    switch (message->wish) {
    case TXN__WISH_APPLY:
    case TXN__WISH_PREPARE:
        count = fill_part(message, txn, run->txn);
        break;
    case TXN__WISH_DECIDE:
        count = fill_part(message, txn, run->txn);
        txn__own_decide(
            &(struct txn__decide){&txn->gid, registration, &run->entry->participants, .taken = world->taken},
            &message->own);
        break;
    case TXN__WISH_REFUSE:
        txn__own_refuse(&(struct txn__refuse){&txn->gid, registration, .taken = world->taken}, &message->own);
        break;
    case TXN__WISH_FORGET:
        message->own.count = 1;
        txn__key_decision(&coordinator->uuid, txn->gid.sequence, &message->own.keys[0]);
        message->own.ops[0] = (struct ts_op){.kind = TS_OP_DEL, .key = txn__key_bytes(&message->own.keys[0])};
        break;
    case TXN__WISH_NONE:
    case TXN__WISH_LOOK:
    case TXN__WISH_RECORD:
    case TXN__WISH_COMMIT:
    case TXN__WISH_ABORT:
    case TXN__WISH_FENCE:
        break;
    }
    append_own(message, count);
}

struct message *coordinator_send(struct world *world, size_t index, size_t r) {
    struct world_coordinator *coordinator = &world->coordinators[index];
    struct world_run *run = &coordinator->runs[r];
    enum txn__wish wish;
    size_t member = run->used ? txn__run_next(&run->run, &wish) : SIZE_MAX;
    if (member == SIZE_MAX)
        return NULL;
    struct message *message = new_message(world);
    message->owner = OWNER_RUN;
    message->owner_index = index * RUNS + r;
    message->owner_turn = run->turn;
    message->member = member;
    message->wish = wish;
    message->place = run->members[member].place;
    fill_run_message(world, message, coordinator, run);
    return message;
}

/* Handles the end of a run, as the driver does. */
static void run_is_done(struct world *world, struct world_coordinator *coordinator, struct world_run *run) {
    struct world_txn *txn = &world->txns[run->txn];
    txn->said_anything = true;
    txn->said = run->run.outcome;
    run->used = false;
    struct txn__places pending = {{0}};
    for (size_t i = 0; i < run->run.count; i++) {
        if (run->members[i].promised)
            txn__places_add(&pending, run->members[i].place);
    }
    switch (run->run.outcome) {
    case TS_TXN_COMMITTED:
    case TS_TXN_COMMITTED_PENDING:
        txn__marks_committed(&coordinator->marks, run->entry, &pending);
        return;
    case TS_TXN_UNKNOWN:
        txn__marks_unsettled(run->entry);
        return;
    case TS_TXN_ABORTED:
    case TS_TXN_REFUSED:
        coordinator->dirty[run->entry->decider] = true;
        txn__marks_end(&coordinator->marks, run->entry);
        return;
    }
}

static void answer(struct world *world, const struct message *message, const struct ts_store_error *error) {
    struct txn__look look = {0};
    if (error->result == TS_STORE_OK && message->wish == TXN__WISH_LOOK)
        txn__look_decode(&message->rows, message->call.time_ms, &look);
    if (message->owner == OWNER_RESOLVER) {
        struct world_resolver *resolver = &world->resolvers[message->owner_index];
        resolver->sent = false;
        txn__resolve_reply(&resolver->resolve, error->result, &look);
        if (txn__resolve_is_done(&resolver->resolve))
            resolver->busy = false;
        return;
    }
    struct world_coordinator *coordinator = &world->coordinators[message->owner_index / RUNS];
    struct world_run *run = &coordinator->runs[message->owner_index % RUNS];
    ts_assert(run->used && run->turn == message->owner_turn);
    txn__run_reply(&run->run, message->member, error, &look);
    if (txn__run_is_done(&run->run))
        run_is_done(world, coordinator, run);
}

void message_arrive(struct world *world, struct message *message) {
    ts_assert(message->state == MESSAGE_FLYING);
    message->state = MESSAGE_WAITING;
    world->touched += message->wish != TXN__WISH_LOOK;
    ts_store_start(world->stores[message->place], &message->call);
    message_poll(message);
}

void message_poll(struct message *message) {
    if (message->state == MESSAGE_WAITING && (message->call.done || ts_store_poll(&message->call)))
        message->state = message->late ? MESSAGE_FREE : MESSAGE_REPLIED;
}

void message_answer(struct world *world, struct message *message) {
    ts_assert(message->state == MESSAGE_REPLIED && !message->late);
    message->state = MESSAGE_FREE;
    answer(world, message, &message->call.error);
}

void message_give_up(struct world *world, struct message *message) {
    ts_assert(message->state != MESSAGE_FREE && !message->late);
    message->late = true;
    if (message->state == MESSAGE_REPLIED)
        message->state = MESSAGE_FREE;
    struct ts_store_error error = {.result = TS_STORE_UNKNOWN, .op = SIZE_MAX};
    answer(world, message, &error);
}

void message_drop(struct message *message) {
    ts_assert(message->late && message->state == MESSAGE_FLYING);
    message->state = MESSAGE_FREE;
}

void world_lose_power(struct world *world) {
    for (size_t i = 0; i < MESSAGES; i++) {
        struct message *message = &world->messages[i];
        if (message->state == MESSAGE_WAITING)
            ts_store_cancel(&message->call);
        message->state = MESSAGE_FREE;
    }
    for (size_t i = 0; i < COORDINATORS; i++) {
        if (world->coordinators[i].used)
            coordinator_crash(world, i);
    }
    memset(world->resolvers, 0, sizeof world->resolvers);
    world->touched++;
    for (uint32_t place = 0; place < STORES; place++)
        ts_memory_restart(world->memories[place], (struct ts_memory_crash){.lose_unsynced = true});
}

bool resolver_begin(struct world *world, size_t index, uint32_t place, size_t nth, bool fence_all) {
    struct world_resolver *resolver = &world->resolvers[index];
    ts_assert(!resolver->busy);
    struct ts_rows rows = {0};
    struct ts_call call = {.kind = TS_CALL_PREPARED, .rows = &rows};
    ts_assert(run_now(world, place, &call) == TS_STORE_OK);
    bool found = nth < rows.count;
    if (found) {
        *resolver = (struct world_resolver){.busy = true, .turn = ++world->turns};
        struct txn__promise promise = {rows.rows[nth].key, place, call.time_ms - rows.rows[nth].version};
        txn__resolve_init(&resolver->resolve, &promise,
                          &(struct txn__resolve_options){world->cluster, STORES, fence_all, world->taken});
        resolver->busy = !txn__resolve_is_done(&resolver->resolve);
    }
    ts_rows_release(&rows);
    return found;
}

struct message *resolver_send(struct world *world, size_t index) {
    struct world_resolver *resolver = &world->resolvers[index];
    if (!resolver->busy || resolver->sent)
        return NULL;
    const struct txn__resolve *resolve = &resolver->resolve;
    struct message *message = new_message(world);
    message->owner = OWNER_RESOLVER;
    message->owner_index = index;
    message->owner_turn = resolver->turn;
    message->wish = resolve->wish;
    bool to_decider = resolve->wish != TXN__WISH_COMMIT && resolve->wish != TXN__WISH_ABORT;
    message->place = to_decider ? resolve->gid.decider : resolve->place;
    fill_call(message, &resolve->gid);
    message->own.count = 0;
    const struct txn__look *look = &resolve->look;
    if (resolve->wish == TXN__WISH_REFUSE)
        txn__own_refuse(&(struct txn__refuse){&resolve->gid, look->registration_version, look->mark_version,
                                              .by_resolver = true, .taken = world->taken},
                        &message->own);
    if (resolve->wish == TXN__WISH_FENCE)
        txn__own_fence(
            &(struct txn__fence){&resolve->gid.coordinator, look->registration_version, look->now_ms},
            &message->own);
    append_own(message, 0);
    resolver->sent = true;
    return message;
}
