#include "txn/virtual/virtual.h"

#include "base/assert.h"
#include "txn/core/batches.h"
#include "txn/core/look.h"
#include "txn/core/resolve.h"
#include "txn/core/run.h"
#include "txn/guard/cause.h"
#include "txn/guard/retry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct seat {
    bool registered;
    uint64_t registration; /* version of the registration */
};

/* One participant of the transaction in progress. */
struct part {
    struct ts_call call;
    struct txn__own own;
    struct txn__look_keys look_keys;
    struct ts_rows rows;
    struct ts_op *ops; /* the part's operations and the protocol's, if both are sent together */
};

struct ts_txn_virtual {
    struct ts_txn_virtual_io io;
    struct txn__uuid uuid;
    struct ts_txn_config config; /* the defaults, except for the total timeout */
    struct ts_prng prng;
    uint64_t sequence;
    bool fenced;
    struct seat *seats; /* indexed by place */
};

struct ts_txn_virtual *ts_txn_virtual_new(const struct ts_txn_virtual_io *io,
                                          const struct ts_txn_virtual_options *options) {
    struct ts_txn_virtual *coordinator = calloc(1, sizeof *coordinator);
    struct seat *seats = calloc(io->place_count, sizeof *seats);
    if (coordinator == NULL || seats == NULL) {
        free(coordinator);
        free(seats);
        return NULL;
    }
    coordinator->io = *io;
    memcpy(coordinator->uuid.bytes, options->uuid, sizeof options->uuid);
    ts_txn_config_init(&coordinator->config);
    coordinator->config.timeouts.total_us = options->total_ms * 1000;
    ts_prng_init(&coordinator->prng, options->seed);
    coordinator->seats = seats;
    return coordinator;
}

void ts_txn_virtual_free(struct ts_txn_virtual *coordinator) {
    if (coordinator == NULL)
        return;
    free(coordinator->seats);
    free(coordinator);
}

bool ts_txn_virtual_is_fenced(const struct ts_txn_virtual *coordinator) {
    return coordinator->fenced;
}

static enum ts_store_result run_call(const struct ts_txn_virtual_io *io, uint32_t place,
                                     struct ts_call *call) {
    io->start(io->context, place, call);
    while (!call->done)
        io->wait(io->context, &(struct ts_call *){call}, 1);
    return call->error.result;
}

/* Reads the decider's records about a transaction. ret_heartbeat, the version of the heartbeat, may be
 * NULL. */
static enum ts_store_result look_at(const struct ts_txn_virtual_io *io, const struct txn__gid *gid,
                                    struct txn__look *ret_look, uint64_t *ret_heartbeat) {
    struct txn__look_keys keys;
    txn__look_keys_init(&keys, gid);
    struct ts_rows rows = {0};
    struct ts_call call = {
        .kind = TS_CALL_READ, .keys = keys.bytes, .key_count = TXN__LOOK_KEYS, .rows = &rows};
    const enum ts_store_result result = run_call(io, gid->decider, &call);
    if (result == TS_STORE_OK) {
        txn__look_decode(&rows, call.time_ms, ret_look);
        if (ret_heartbeat != NULL)
            *ret_heartbeat = rows.rows[1].version;
    }
    ts_rows_release(&rows);
    return result;
}

/* ---- registration and heartbeat ---- */

static struct txn__gid gid_at(const struct ts_txn_virtual *coordinator, uint32_t place) {
    struct txn__gid gid = {.coordinator = coordinator->uuid, .sequence = 1, .decider = place};
    memcpy(gid.cluster, coordinator->io.cluster, sizeof gid.cluster);
    return gid;
}

/* Registers the coordinator on a store. An existing value is a fence, or this coordinator's own registration
 * from a call whose reply was lost. */
static enum ts_store_result take_seat(struct ts_txn_virtual *coordinator, uint32_t place) {
    const struct txn__gid gid = gid_at(coordinator, place);
    struct txn__look look;
    enum ts_store_result result = look_at(&coordinator->io, &gid, &look, NULL);
    if (result != TS_STORE_OK)
        return result;
    if (look.registration_version == 0) {
        struct txn__own own;
        txn__own_register(&(struct txn__register){&coordinator->uuid,
                                                  coordinator->config.timeouts.total_us / 1000, look.now_ms},
                          &own);
        struct ts_call call = {.kind = TS_CALL_APPLY, .batch = txn__own_batch(&own)};
        const enum ts_store_result applied = run_call(&coordinator->io, place, &call);
        result = look_at(&coordinator->io, &gid, &look, NULL);
        if (result != TS_STORE_OK)
            return result;
        if (look.registration_version == 0)
            return applied == TS_STORE_OK ? TS_STORE_FAILED : applied;
    }
    if (look.registration.state != TXN__REGISTERED) {
        coordinator->fenced = true;
        return TS_STORE_UNAVAILABLE;
    }
    coordinator->seats[place] = (struct seat){true, look.registration_version};
    return TS_STORE_OK;
}

void ts_txn_virtual_beat(struct ts_txn_virtual *coordinator, const struct ts_txn_virtual_io *io) {
    for (uint32_t place = 0; place < io->place_count && !coordinator->fenced; place++) {
        if (!coordinator->seats[place].registered)
            continue;
        const struct txn__gid gid = gid_at(coordinator, place);
        struct txn__look look;
        uint64_t heartbeat = 0;
        if (look_at(io, &gid, &look, &heartbeat) != TS_STORE_OK)
            continue;
        if (look.registration_version != coordinator->seats[place].registration || heartbeat == 0) {
            coordinator->fenced = true;
            return;
        }
        struct txn__own own;
        txn__own_beat(&(struct txn__beat){&coordinator->uuid, heartbeat, look.now_ms}, &own);
        struct ts_call call = {.kind = TS_CALL_APPLY, .batch = txn__own_batch(&own)};
        (void)run_call(io, place, &call);
    }
}

/* ---- one transaction ---- */

struct attempt {
    struct ts_txn_virtual *coordinator;
    const struct ts_txn_part *parts;
    size_t count;
    size_t decider;
    struct txn__gid gid;
    char id[TS_TXN_ID_SIZE];
    struct txn__places participants;
    struct txn__run run;
    struct txn__member *members;
    struct part *own; /* indexed like members */
    struct ts_txn_cause cause;
    struct ts_call **waiting;
};

static struct ts_batch with_own(const struct attempt *attempt, size_t member) {
    struct part *part = &attempt->own[member];
    const struct ts_batch *batch = &attempt->parts[member].batch;
    memcpy(part->ops, batch->ops, batch->count * sizeof *part->ops);
    memcpy(part->ops + batch->count, part->own.ops, part->own.count * sizeof *part->ops);
    return (struct ts_batch){part->ops, batch->count + part->own.count};
}

static void fill_call(const struct attempt *attempt, size_t member, enum txn__wish wish) {
    struct part *part = &attempt->own[member];
    const uint64_t registration = attempt->coordinator->seats[attempt->gid.decider].registration;
    part->own.count = 0;
    part->call = (struct ts_call){.kind = txn__wish_call(wish), .gid = attempt->id};
    switch (wish) {
    case TXN__WISH_APPLY:
    case TXN__WISH_PREPARE:
        part->call.batch = attempt->parts[member].batch;
        return;
    case TXN__WISH_DECIDE:
        txn__own_decide(
            &(struct txn__decide){&attempt->gid, registration, &attempt->participants, .taken = {0}},
            &part->own);
        part->call.batch = with_own(attempt, member);
        return;
    case TXN__WISH_REFUSE:
        txn__own_refuse(&(struct txn__refuse){&attempt->gid, registration, .taken = {0}}, &part->own);
        part->call.batch = txn__own_batch(&part->own);
        return;
    case TXN__WISH_COMMIT:
    case TXN__WISH_ABORT:
        return;
    case TXN__WISH_LOOK:
        txn__look_keys_init(&part->look_keys, &attempt->gid);
        part->call.keys = part->look_keys.bytes;
        part->call.key_count = TXN__LOOK_KEYS;
        part->call.rows = &part->rows;
        return;
    case TXN__WISH_NONE:
    case TXN__WISH_RECORD:
    case TXN__WISH_FENCE:
    case TXN__WISH_FORGET:
        break;
    }
    ts_unreachable("a coordinator that keeps no outcomes does not wish for that");
}

static void keep_reason(struct attempt *attempt, size_t member, struct ts_txn_result *result) {
    const struct ts_call *call = &attempt->own[member].call;
    if (call->error.result == TS_STORE_OK || result->reason != TS_STORE_OK ||
        txn__run_is_decided(&attempt->run))
        return;
    attempt->cause = ts_txn_cause_of_store(call);
    result->reason = call->error.result;
    memcpy(result->text, call->error.text, sizeof result->text);
    if (call->error.op >= attempt->parts[member].batch.count)
        return;
    result->op = call->error.op;
    for (size_t i = 0; i < member; i++)
        result->op += attempt->parts[i].batch.count;
}

static bool collect(struct attempt *attempt, struct ts_txn_result *result) {
    bool any = false;
    for (size_t i = 0; i < attempt->count; i++) {
        const enum txn__wish wish = attempt->members[i].flying;
        const struct part *part = &attempt->own[i];
        if (wish == TXN__WISH_NONE || !part->call.done)
            continue;
        struct txn__look look = {0};
        if (wish == TXN__WISH_LOOK && part->call.error.result == TS_STORE_OK)
            txn__look_decode(&part->rows, part->call.time_ms, &look);
        if (wish == TXN__WISH_APPLY || wish == TXN__WISH_PREPARE || wish == TXN__WISH_DECIDE)
            keep_reason(attempt, i, result);
        txn__run_reply(&attempt->run, i, &part->call.error, &look);
        any = true;
    }
    return any;
}

static void drive(struct attempt *attempt, struct ts_txn_result *result) {
    const struct ts_txn_virtual_io *io = &attempt->coordinator->io;
    struct txn__run *run = &attempt->run;
    while (!txn__run_is_done(run)) {
        if (run->pause && !io->pause(io->context))
            txn__run_give_up(run);
        enum txn__wish wish;
        size_t member;
        while ((member = txn__run_next(run, &wish)) != SIZE_MAX) {
            fill_call(attempt, member, wish);
            io->start(io->context, attempt->members[member].place, &attempt->own[member].call);
        }
        if (collect(attempt, result) || txn__run_is_done(run))
            continue;
        for (size_t i = 0; i < attempt->count; i++)
            attempt->waiting[i] = attempt->members[i].flying != TXN__WISH_NONE ? &attempt->own[i].call : NULL;
        io->wait(io->context, attempt->waiting, attempt->count);
    }
}

static bool reserve(struct attempt *attempt) {
    attempt->members = calloc(attempt->count, sizeof *attempt->members);
    attempt->own = calloc(attempt->count, sizeof *attempt->own);
    attempt->waiting = calloc(attempt->count, sizeof(struct ts_call *));
    if (attempt->members == NULL || attempt->own == NULL || attempt->waiting == NULL)
        return false;
    const size_t ops = attempt->parts[attempt->decider].batch.count + TXN__OWN_OPS_MAX;
    attempt->own[attempt->decider].ops = calloc(ops, sizeof(struct ts_op));
    return attempt->own[attempt->decider].ops != NULL;
}

static void release(struct attempt *attempt) {
    for (size_t i = 0; attempt->own != NULL && i < attempt->count; i++) {
        ts_rows_release(&attempt->own[i].rows);
        free(attempt->own[i].ops);
    }
    free(attempt->own);
    free(attempt->members);
    free(attempt->waiting); /* NOLINT(bugprone-multi-level-implicit-pointer-conversion) */
}

static void begin(struct attempt *attempt) {
    struct ts_txn_virtual *coordinator = attempt->coordinator;
    const uint32_t decider = attempt->parts[attempt->decider].place;
    attempt->gid = gid_at(coordinator, decider);
    attempt->gid.sequence = ++coordinator->sequence;
    txn__gid_format(&attempt->gid, attempt->id);
    for (size_t i = 0; i < attempt->count; i++) {
        attempt->members[i].place = attempt->parts[i].place;
        if (i != attempt->decider)
            txn__places_add(&attempt->participants, attempt->parts[i].place);
    }
    txn__run_init(&attempt->run, attempt->members, attempt->count, attempt->decider,
                  &(struct txn__run_options){0});
    attempt->run.own_ops_from = attempt->parts[attempt->decider].batch.count;
}

/* Registers the coordinator on the deciding store of a global transaction, once. Returns false, with the
 * cause, on failure. */
static bool sit_down(struct attempt *attempt, struct ts_txn_result *result) {
    struct ts_txn_virtual *coordinator = attempt->coordinator;
    const uint32_t place = attempt->parts[attempt->decider].place;
    if (attempt->count == 1 || coordinator->seats[place].registered)
        return true;
    result->reason = take_seat(coordinator, place);
    if (result->reason == TS_STORE_OK)
        return true;
    attempt->cause =
        (struct ts_txn_cause){.kind = TS_TXN_CAUSE_STORE, .result = result->reason, .call = TS_CALL_READ};
    snprintf(result->text, sizeof result->text, "store %u: the coordinator could not register",
             (unsigned)place);
    return false;
}

static void run_attempt(struct attempt *attempt, struct ts_txn_result *result) {
    result->outcome = TS_TXN_ABORTED;
    result->op = SIZE_MAX;
    result->reason = TS_STORE_OK;
    result->text[0] = '\0';
    result->attempts++;
    if (!sit_down(attempt, result))
        return;
    if (!reserve(attempt)) {
        attempt->cause =
            (struct ts_txn_cause){.kind = TS_TXN_CAUSE_STORE, .result = TS_STORE_FAILED, .sqlstate = "XX000"};
        result->reason = TS_STORE_FAILED;
        snprintf(result->text, sizeof result->text, "out of memory");
        return;
    }
    begin(attempt);
    memcpy(result->id, attempt->id, sizeof attempt->id);
    drive(attempt, result);
    result->outcome = attempt->run.outcome;
    if (attempt->count == 1 && result->outcome == TS_TXN_COMMITTED)
        result->version = attempt->own[0].call.version;
    if (attempt->run.why == TXN__WHY_FENCED)
        attempt->coordinator->fenced = true;
}

/* Returns whether to try again. If so, the backoff is already over. */
static bool again(struct ts_txn_virtual *coordinator, const struct ts_txn_cause *cause,
                  const struct ts_txn_result *result, struct ts_txn_retry *retry) {
    if (result->outcome != TS_TXN_ABORTED || cause->kind == TS_TXN_CAUSE_NONE || coordinator->fenced)
        return false;
    const struct ts_txn_virtual_io *io = &coordinator->io;
    const struct ts_txn_error_verdict verdict = ts_txn_error_classify(cause);
    uint64_t backoff_us = 0;
    if (ts_txn_retry_next(retry, &coordinator->config, &verdict, io->now_us(io->context), &coordinator->prng,
                          &backoff_us) != TS_TXN_RETRY_AGAIN)
        return false;
    if (backoff_us > 0)
        io->sleep_us(io->context, backoff_us);
    return true;
}

void ts_txn_virtual_run(struct ts_txn_virtual *coordinator, const struct ts_txn_part *parts, size_t count,
                        size_t decider, struct ts_txn_result *ret_result) {
    ts_assert(decider < count && !coordinator->fenced);
    memset(ret_result, 0, sizeof *ret_result);
    ret_result->global = count > 1;
    struct ts_txn_retry retry;
    ts_txn_retry_init(&retry, coordinator->io.now_us(coordinator->io.context));
    struct ts_txn_cause cause;
    do {
        struct attempt attempt = {
            .coordinator = coordinator, .parts = parts, .count = count, .decider = decider};
        run_attempt(&attempt, ret_result);
        cause = attempt.cause;
        release(&attempt);
    } while (again(coordinator, &cause, ret_result, &retry));
}

/* ---- resolving ---- */

static void resolve_one(const struct ts_txn_virtual_io *io, struct txn__resolve *resolve) {
    while (!txn__resolve_is_done(resolve)) {
        const struct txn__look *look = &resolve->look;
        struct txn__look seen = {0};
        enum ts_store_result result;
        if (resolve->wish == TXN__WISH_LOOK) {
            result = look_at(io, &resolve->gid, &seen, NULL);
        } else {
            char id[TS_TXN_ID_SIZE];
            txn__gid_format(&resolve->gid, id);
            struct txn__own own = {.count = 0};
            struct ts_call call = {.kind = txn__wish_call(resolve->wish), .gid = id};
            uint32_t place = resolve->gid.decider;
            if (resolve->wish == TXN__WISH_REFUSE) {
                txn__own_refuse(&(struct txn__refuse){&resolve->gid, look->registration_version,
                                                      look->mark_version, .by_resolver = true},
                                &own);
            } else if (resolve->wish == TXN__WISH_FENCE) {
                txn__own_fence(
                    &(struct txn__fence){&resolve->gid.coordinator, look->registration_version, look->now_ms},
                    &own);
            } else {
                place = resolve->place;
            }
            call.batch = txn__own_batch(&own);
            result = run_call(io, place, &call);
        }
        txn__resolve_reply(resolve, result, &seen);
    }
}

static void count_verdict(enum txn__verdict verdict, struct ts_txn_virtual_pass *pass) {
    switch (verdict) {
    case TXN__VERDICT_COMMITTED:
        pass->committed++;
        return;
    case TXN__VERDICT_ABORTED:
        pass->aborted++;
        return;
    case TXN__VERDICT_LEFT:
    case TXN__VERDICT_FOREIGN:
        pass->left++;
        return;
    case TXN__VERDICT_STUCK:
        pass->stuck++;
        return;
    }
}

void ts_txn_virtual_resolve(const struct ts_txn_virtual_io *io, struct ts_txn_virtual_pass *ret_pass) {
    *ret_pass = (struct ts_txn_virtual_pass){0};
    for (uint32_t place = 0; place < io->place_count; place++) {
        struct ts_rows rows = {0};
        struct ts_call call = {.kind = TS_CALL_PREPARED, .rows = &rows};
        if (run_call(io, place, &call) != TS_STORE_OK)
            ret_pass->stuck++;
        for (size_t i = 0; i < rows.count; i++) {
            const struct txn__promise promise = {rows.rows[i].key, place,
                                                 call.time_ms - rows.rows[i].version};
            struct txn__resolve resolve;
            txn__resolve_init(&resolve, &promise,
                              &(struct txn__resolve_options){io->cluster, io->place_count, false, {0}});
            resolve_one(io, &resolve);
            count_verdict(resolve.verdict, ret_pass);
        }
        ts_rows_release(&rows);
    }
}
