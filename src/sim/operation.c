/* Operations as workers call them, and the checks of their answers. */
#include "operation.h"
#include "base/assert.h"
#include "base/endian.h"

#include <stdio.h>
#include <string.h>

struct ts_bytes sim__start_of(const struct sim__key *key, uint32_t number) {
    return ts_bytes_of(key->text, number == 0 ? 0 : SIM_KEY_LEN);
}

struct ts_bytes sim__end_of(const struct sim__key *key, uint32_t number) {
    return ts_bytes_of(key->text, number == SIM_KEYS ? 0 : SIM_KEY_LEN);
}

/* ---- counts ---- */

void sim__count_answer(struct sim__worker *worker, enum ts_sim_operation kind,
                       const struct sim__answer *answer) {
    struct sim__world *world = worker->actor.world;
    struct ts_sim_counts *counts = &world->result->counts;
    if (answer->ok && answer->outcome.outcome == TS_OUTCOME_REPLAYED)
        counts->replayed[kind]++;
    else if (answer->ok)
        counts->executed[kind]++;
    else
        counts->refused[kind]++;
    if (!answer->ok)
        counts->errors[answer->variant]++;
    counts->unknown += answer->unknown;
    sim__event(world, "is told", worker->number, (uint64_t)kind, (uint64_t)answer->variant,
               (uint64_t)answer->ok << 1 | (answer->ok && answer->outcome.outcome == TS_OUTCOME_REPLAYED));
}

struct sim__answer sim__refused(enum ts_error_variant variant, const struct ts_coord_detail *detail) {
    const bool nested = variant == TS_VARIANT_REGISTER_SHARDS_FAILED || variant == TS_VARIANT_GET_RUN_FAILED;
    const bool backend = (nested ? detail->nested : variant) == TS_VARIANT_BACKEND_ERROR;
    return (struct sim__answer){.variant = variant,
                                .unknown = backend && detail->infra.kind == TS_INFRA_UNKNOWN,
                                .disk_full = variant == TS_VARIANT_RESOURCE_EXHAUSTED &&
                                             strcmp(detail->resource, "disk") == 0};
}

/* The answer to a successful operation without an op id. */
static struct sim__answer accepted(void) {
    return (struct sim__answer){.ok = true};
}

struct sim__answer sim__done(const struct ts_coord_outcome *outcome) {
    return (struct sim__answer){.ok = true, .outcome = *outcome};
}

void sim__check_sound(struct sim__world *world, const struct sim__answer *answer,
                      const struct ts_coord_detail *detail) {
    if (!answer->ok && answer->variant == TS_VARIANT_BACKEND_ERROR && detail->infra.kind == TS_INFRA_DAMAGED)
        sim__broken(world, "record", "an operation met damage: %.150s", detail->infra.text);
}

/* ---- leases ---- */

void sim__let_go(struct sim__worker *worker) {
    if (worker->session != NULL && ts_coord_session_lease(worker->session) != NULL)
        ts_coord_session_drop(worker->session);
    if (!worker->holding)
        return;
    worker->holding = false;
    worker->run = worker->home;
    worker->old[worker->old_count++ % SIM_OLD_LEASES] = worker->lease;
}

uint32_t sim__run_of(const struct sim__world *world, const struct ts_lease *lease) {
    uint32_t run = 0;
    while (run < SIM_RUNS - 1 && world->runs[run].id.v != ts_lease_shard(lease).run.v)
        run++;
    return run;
}

static void take_hold(struct sim__worker *worker, const struct ts_acquire_result_view *view) {
    worker->holding = true;
    worker->run = sim__run_of(worker->actor.world, &view->lease);
    worker->lease = view->lease;
    worker->shard = ts_lease_shard(&view->lease).shard.v;
    worker->from = sim__key_number(view->snapshot.spec.range.start, 0);
    worker->to = sim__key_number(view->snapshot.spec.range.end, SIM_KEYS);
    worker->has_position = view->snapshot.cursor.has_key;
    worker->position = worker->has_position ? sim__key_number(view->snapshot.cursor.last_key, 0) : 0;
    sim__check_lease(worker->actor.world, worker->number, &view->lease);
}

/* Checks that a claim has not succeeded during a cooldown. `before` is the worker's cooldown when the claim
 * began. If the cooldown is not over now, it was not over when the claim checked it. */
static void check_cooldown(struct sim__worker *worker, uint32_t run, const struct sim__cooldown *before) {
    struct sim__world *world = worker->actor.world;
    if (before->there && world->runs[run].config.cooldown_ms > 0 &&
        sim__place_now(&world->places[before->place]) < before->until_ms)
        sim__broken(world, "cooldown", "worker %u got a shard before its cooldown was over",
                    (unsigned)worker->number);
    if (world->runs[run].config.cooldown_ms > 0 && worker->actor.struck == 0 &&
        !world->model->cooldowns[worker->number].there)
        sim__broken(world, "cooldown", "worker %u got a shard, and no cooldown was stored",
                    (unsigned)worker->number);
}

/* Claims a shard of the worker's own run; a worker with a session sometimes claims in any run of its tenant.
 * Sometimes presents a wrong pin; *ret_pin is the presented pin. */
static enum ts_claim_error claim(struct sim__worker *worker, struct ts_pin *ret_pin,
                                 struct ts_acquire_result_view *view, struct ts_coord_detail *detail) {
    struct sim__world *world = worker->actor.world;
    const struct sim__run *home = &world->runs[worker->home];
    const bool is_wrong = !world->calm && sim__chance(world, 10);
    *ret_pin = home->config.pin;
    if (is_wrong)
        ret_pin->b[sim__below(world, TS_PIN_LEN)] ^= 1;
    if (worker->session != NULL && !is_wrong && sim__chance(world, 20))
        return ts_coord_session_claim_any(worker->session, view, detail);
    if (worker->session != NULL && !is_wrong)
        return ts_coord_session_claim(worker->session, home->id, view, detail);
    const struct ts_coord_claim_op op = {
        .tenant = world->tenants[worker->tenant], .run = home->id, .worker = worker->id, .pin = *ret_pin};
    return ts_coord_claim_next_available(worker->coord, &op, worker->scratch, view, detail);
}

static void check_pin(struct sim__worker *worker, uint32_t run, const struct ts_pin *presented) {
    struct sim__world *world = worker->actor.world;
    const struct ts_pin *pin = &world->runs[run].config.pin;
    if (ts_pin_is_set(pin) && !ts_pin_equal(pin, presented))
        sim__broken(world, "pin", "worker %u got a shard of a run with another pin",
                    (unsigned)worker->number);
}

void sim__claim(struct sim__worker *worker, enum ts_error_variant *ret_variant) {
    struct sim__world *world = worker->actor.world;
    struct ts_acquire_result_view view;
    struct ts_coord_detail detail = {0};
    struct ts_pin presented;
    const struct sim__cooldown cooldown = world->model->cooldowns[worker->number];
    worker->actor.struck = 0;
    const enum ts_claim_error error = claim(worker, &presented, &view, &detail);
    *ret_variant = ts_claim_error_variant(error);
    if (worker->actor.dead)
        return;
    const struct sim__answer answer = error == TS_CLAIM_OK ? accepted() : sim__refused(*ret_variant, &detail);
    sim__count_answer(worker, TS_SIM_OP_CLAIM, &answer);
    sim__check_sound(world, &answer, &detail);
    if (!answer.ok)
        return;
    check_cooldown(worker, sim__run_of(world, &view.lease), &cooldown);
    check_pin(worker, sim__run_of(world, &view.lease), &presented);
    take_hold(worker, &view);
}

void sim__acquire(struct sim__worker *worker, uint32_t run, uint64_t shard) {
    struct sim__world *world = worker->actor.world;
    const struct ts_shard_key key = {world->runs[run].id, {shard}};
    struct ts_acquire_result_view view;
    struct ts_coord_detail detail = {0};
    enum ts_acquire_error error;
    if (worker->session != NULL) {
        error = ts_coord_session_acquire(worker->session, key, &view, &detail);
    } else {
        const struct ts_acquire_op op = {
            .tenant = world->tenants[worker->tenant], .shard = key, .worker = worker->id};
        error = ts_coord_acquire(worker->coord, &op, worker->scratch, &view, &detail);
    }
    if (worker->actor.dead)
        return;
    const struct sim__answer answer =
        error == TS_ACQUIRE_OK ? accepted() : sim__refused(ts_acquire_error_variant(error), &detail);
    sim__count_answer(worker, TS_SIM_OP_ACQUIRE, &answer);
    sim__check_sound(world, &answer, &detail);
    if (answer.ok)
        take_hold(worker, &view);
}

/* Returns whether the two leases are the same. Also compares the runs, because shards of different runs can
 * have the same id and fence. */
static bool is_same_lease(const struct ts_lease *a, const struct ts_lease *b) {
    return ts_lease_shard(a).run.v == ts_lease_shard(b).run.v &&
           ts_lease_shard(a).shard.v == ts_lease_shard(b).shard.v &&
           ts_lease_fence(a).v == ts_lease_fence(b).v;
}

static bool is_session_lease(const struct sim__worker *worker, const struct ts_lease *lease) {
    const struct ts_lease *held = worker->session == NULL ? NULL : ts_coord_session_lease(worker->session);
    return held != NULL && is_same_lease(held, lease);
}

static bool is_held(const struct sim__worker *worker, const struct ts_lease *lease) {
    return worker->holding && is_same_lease(&worker->lease, lease);
}

/* Returns whether the error means that the worker's lease is lost. */
static bool ends_lease(enum ts_error_variant variant) {
    return variant == TS_VARIANT_STALE_FENCE || variant == TS_VARIANT_LEASE_EXPIRED ||
           variant == TS_VARIANT_SHARD_TERMINAL || variant == TS_VARIANT_SHARD_NOT_FOUND ||
           variant == TS_VARIANT_TENANT_MISMATCH;
}

void sim__renew(struct sim__worker *worker, const struct ts_lease *lease) {
    struct sim__world *world = worker->actor.world;
    const struct ts_lease presented = *lease;
    struct ts_coord_detail detail = {0};
    struct ts_renew_result result;
    struct ts_lease renewed = presented;
    enum ts_renew_error error;
    if (is_session_lease(worker, &presented)) {
        error = ts_coord_session_renew(worker->session, &result, &detail);
        if (error == TS_RENEW_OK)
            renewed = *ts_coord_session_lease(worker->session);
    } else {
        const struct ts_renew_op op = {.tenant = world->tenants[worker->tenant], .lease = presented};
        error = ts_coord_renew(worker->coord, &op, NULL, &renewed, &result, &detail);
    }
    if (worker->actor.dead)
        return;
    const struct sim__answer answer =
        error == TS_RENEW_OK ? accepted() : sim__refused(ts_renew_error_variant(error), &detail);
    sim__count_answer(worker, TS_SIM_OP_RENEW, &answer);
    sim__check_sound(world, &answer, &detail);
    if (answer.ok) {
        if (is_held(worker, &presented)) {
            worker->lease = renewed;
            sim__check_lease(world, worker->number, &renewed);
        }
    } else if (is_held(worker, &presented) && ends_lease(answer.variant)) {
        sim__let_go(worker);
    }
}

/* ---- operations with an op id ---- */

/* The bytes of an operation's arguments; the bytes stay in place while the operation runs. */
struct payload {
    struct sim__key keys[2 * SIM_CUTS_MAX + 2];
    char token[16];
    struct ts_cursor cursor;
    struct ts_new_shard shards[SIM_CUTS_MAX + 1];
    size_t count;
};

static void fill_cursor(const struct sim__op *op, struct payload *payload) {
    payload->keys[0] = sim__key_of(op->key);
    payload->cursor = (struct ts_cursor){.has_key = true,
                                         .last_key = ts_bytes_of(payload->keys[0].text, SIM_KEY_LEN),
                                         .has_token = op->has_token};
    if (op->has_token) {
        const int len = snprintf(payload->token, sizeof payload->token, "t%u", (unsigned)op->token);
        payload->cursor.token = ts_bytes_of(payload->token, (size_t)len);
    }
}

/* Makes the children between neighbouring cuts; wrong children if the operation asks for a mistake. */
static void fill_children(const struct sim__op *op, struct payload *payload) {
    payload->count = op->cut_count - 1;
    for (size_t i = 0; i < payload->count; i++) {
        uint32_t from = op->cuts[i], to = op->cuts[i + 1];
        if (op->mistake == SIM_MISTAKE_GAP && i == 1)
            from++;
        if (op->mistake == SIM_MISTAKE_OVERLAP && i == 1)
            from--;
        if (op->mistake == SIM_MISTAKE_SHORT && i + 1 == payload->count)
            to--;
        payload->keys[2 * i] = sim__key_of(from);
        payload->keys[2 * i + 1] = sim__key_of(to);
        payload->shards[i] =
            (struct ts_new_shard){.spec = {.range = {sim__start_of(&payload->keys[2 * i], from),
                                                     sim__end_of(&payload->keys[2 * i + 1], to)}}};
    }
}

static struct sim__answer of_checkpoint(struct sim__worker *worker, const struct sim__op *op,
                                        const struct ts_lease_op *by, bool by_session) {
    struct payload payload;
    struct ts_coord_outcome outcome;
    struct ts_coord_detail detail = {0};
    fill_cursor(op, &payload);
    enum ts_error_variant variant;
    bool ok;
    if (op->kind == TS_SIM_OP_CHECKPOINT) {
        const enum ts_checkpoint_error error =
            by_session
                ? ts_coord_session_checkpoint(worker->session, by->op_id, &payload.cursor, &outcome, &detail)
                : ts_coord_checkpoint(worker->coord, &(struct ts_cursor_op){*by, payload.cursor}, NULL,
                                      &outcome, &detail);
        variant = ts_checkpoint_error_variant(error);
        ok = error == TS_CHECKPOINT_OK;
    } else {
        const enum ts_complete_error error =
            by_session
                ? ts_coord_session_complete(worker->session, by->op_id, &payload.cursor, &outcome, &detail)
                : ts_coord_complete(worker->coord, &(struct ts_cursor_op){*by, payload.cursor}, NULL,
                                    &outcome, &detail);
        variant = ts_complete_error_variant(error);
        ok = error == TS_COMPLETE_OK;
    }
    const struct sim__answer answer = ok ? sim__done(&outcome) : sim__refused(variant, &detail);
    if (!worker->actor.dead)
        sim__check_sound(worker->actor.world, &answer, &detail);
    return answer;
}

static struct sim__answer of_park(struct sim__worker *worker, const struct sim__op *op,
                                  const struct ts_lease_op *by, bool by_session) {
    struct ts_coord_outcome outcome;
    struct ts_coord_detail detail = {0};
    const enum ts_park_error error =
        by_session
            ? ts_coord_session_park(worker->session, by->op_id, op->reason, &outcome, &detail)
            : ts_coord_park(worker->coord, &(struct ts_park_op){*by, op->reason}, NULL, &outcome, &detail);
    const struct sim__answer answer =
        error == TS_PARK_OK ? sim__done(&outcome) : sim__refused(ts_park_error_variant(error), &detail);
    if (!worker->actor.dead)
        sim__check_sound(worker->actor.world, &answer, &detail);
    return answer;
}

static struct sim__answer of_release(struct sim__worker *worker, const struct sim__op *op,
                                     const struct ts_lease_op *by, bool by_session) {
    struct ts_coord_outcome outcome;
    struct ts_coord_detail detail = {0};
    const enum ts_release_error error =
        by_session ? ts_coord_session_release(worker->session, by->op_id, op->blame, &outcome, &detail)
                   : ts_coord_release(worker->coord, &(struct ts_release_op){*by, op->blame}, NULL, &outcome,
                                      &detail);
    const struct sim__answer answer =
        error == TS_RELEASE_OK ? sim__done(&outcome) : sim__refused(ts_release_error_variant(error), &detail);
    if (!worker->actor.dead)
        sim__check_sound(worker->actor.world, &answer, &detail);
    return answer;
}

/* A unit of the shard, with the id of the operation as its value: the checkers compare that operation with
 * the lease. */
struct written_row {
    uint8_t key[TS_COORD_UNIT_KEY_LEN];
    uint8_t value[8];
    struct ts_op put;
};

static void fill_row(const struct sim__op *op, struct written_row *row) {
    const struct ts_shard_key shard = ts_lease_shard(&op->lease);
    uint8_t target[TS_COORD_TARGET_LEN] = {0};
    ts_be64_store(shard.shard.v, target);
    ts_coord_unit_key(shard.run, target, row->key);
    ts_be64_store(op->id, row->value);
    row->put = (struct ts_op){.kind = TS_OP_PUT,
                              .key = ts_bytes_of(row->key, sizeof row->key),
                              .value = ts_bytes_of(row->value, sizeof row->value)};
}

static void release_for(struct sim__worker *worker, const struct sim__op *write) {
    const struct sim__op op = {.kind = TS_SIM_OP_RELEASE,
                               .worker = write->worker,
                               .tenant = write->tenant,
                               .run = write->run,
                               .shard = write->shard,
                               .lease = write->lease,
                               .blame = write->blame};
    struct sim__op *made = sim__op_new(worker->actor.world, &op);
    if (made == NULL)
        sim__broken(worker->actor.world, "memory", "there is none left");
    else
        (void)sim__issue(worker, made);
}

/* Simulates two threads of a worker: one makes the lease check, the other releases the lease, and then the
 * first thread writes. */
static struct sim__answer of_delayed_write(struct sim__worker *worker, const struct sim__op *op,
                                           const struct ts_write_op *write) {
    struct ts_coord_lease_check check;
    struct ts_coord_detail detail = {0};
    enum ts_write_error error =
        ts_coord_lease_check(worker->coord, write, NULL, TS_COORD_LEASE_CHECK_READ, &check, &detail);
    if (error != TS_WRITE_OK)
        return sim__refused(ts_write_error_variant(error), &detail);
    if (!worker->actor.dead)
        release_for(worker, op);
    struct written_row row;
    struct ts_op ops[TS_COORD_LEASE_CHECK_OPS + 1];
    fill_row(op, &row);
    memcpy(ops, check.ops, sizeof check.ops);
    ops[TS_COORD_LEASE_CHECK_OPS] = row.put;
    const struct ts_txn_part part = {.place = check.place, .batch = {ops, TS_COORD_LEASE_CHECK_OPS + 1}};
    const struct ts_coord_io io = sim__coord_io(worker);
    struct ts_txn_result result = {0};
    if (worker->actor.dead)
        return sim__refused(TS_VARIANT_BACKEND_ERROR, &detail);
    io.txn(io.context, &part, 1, &result);
    if (result.outcome == TS_TXN_COMMITTED)
        return accepted();
    detail.infra.kind = result.outcome == TS_TXN_UNKNOWN ? TS_INFRA_UNKNOWN : TS_INFRA_RETRYABLE;
    if (result.outcome == TS_TXN_UNKNOWN || worker->actor.dead)
        return sim__refused(TS_VARIANT_BACKEND_ERROR, &detail);
    error = ts_coord_lease_check(worker->coord, write, NULL, TS_COORD_LEASE_CHECK_READ, &check, &detail);
    return sim__refused(error == TS_WRITE_OK ? TS_VARIANT_BACKEND_ERROR : ts_write_error_variant(error),
                        &detail);
}

static struct sim__answer of_write(struct sim__worker *worker, const struct sim__op *op,
                                   const struct ts_lease_op *by, bool by_session) {
    const struct ts_write_op write = {by->tenant, by->lease};
    struct ts_store_error store = {.result = TS_STORE_OK};
    struct ts_coord_detail detail = {0};
    struct written_row row;
    if (op->is_delayed)
        return of_delayed_write(worker, op, &write);
    fill_row(op, &row);
    const struct ts_batch batch = {&row.put, 1};
    const enum ts_write_error error =
        by_session ? ts_coord_session_write(worker->session, batch, &store, &detail)
                   : ts_coord_write(worker->coord, &write, NULL, batch, &store, &detail);
    const struct sim__answer answer =
        error == TS_WRITE_OK ? accepted() : sim__refused(ts_write_error_variant(error), &detail);
    if (!worker->actor.dead)
        sim__check_sound(worker->actor.world, &answer, &detail);
    if (!worker->actor.dead && answer.ok && store.result != TS_STORE_OK)
        sim__broken(worker->actor.world, "lease-check", "a check failed in a write that has no checks");
    return answer;
}

/* Splits a shard. The children in an answer are in the caller's memory, so they stay valid after the call. */
static struct sim__answer of_split(struct sim__worker *worker, const struct sim__op *op,
                                   const struct ts_lease_op *by, bool by_session,
                                   struct ts_split_replace_result *children) {
    struct payload payload;
    struct ts_coord_outcome outcome;
    struct ts_coord_detail detail = {0};
    enum ts_split_error error;
    if (op->kind == TS_SIM_OP_SPLIT_REPLACE) {
        fill_children(op, &payload);
        const struct ts_new_shards list = {payload.shards, payload.count};
        error = by_session ? ts_coord_session_split_replace(worker->session, by->op_id, list, children,
                                                            &outcome, &detail)
                           : ts_coord_split_replace(worker->coord, &(struct ts_split_replace_op){*by, list},
                                                    NULL, children, &outcome, &detail);
    } else {
        payload.keys[0] = sim__key_of(op->key);
        const struct ts_new_shard residual = {
            .spec = {.range = {.start = ts_bytes_of(payload.keys[0].text, SIM_KEY_LEN)}}};
        struct ts_split_residual_result result = {{0}};
        error = by_session
                    ? ts_coord_session_split_residual(worker->session, by->op_id, &residual, &result,
                                                      &outcome, &detail)
                    : ts_coord_split_residual(worker->coord, &(struct ts_split_residual_op){*by, residual},
                                              NULL, &result, &outcome, &detail);
        children->count = 1;
        children->children[0] = result.residual;
    }
    struct sim__answer answer =
        error == TS_SPLIT_OK ? sim__done(&outcome) : sim__refused(ts_split_error_variant(error), &detail);
    if (!worker->actor.dead)
        sim__check_sound(worker->actor.world, &answer, &detail);
    if (answer.ok) {
        answer.children = children->children;
        answer.child_count = children->count;
    }
    return answer;
}

static struct sim__answer of_unpark(struct sim__worker *worker, const struct sim__op *op) {
    struct sim__world *world = worker->actor.world;
    struct ts_coord_outcome outcome;
    struct ts_coord_detail detail = {0};
    const struct ts_unpark_op unpark = {.tenant = world->tenants[op->tenant],
                                        .shard = {world->runs[op->run].id, {op->shard}},
                                        .op_id = {op->id}};
    const enum ts_unpark_error error = ts_coord_unpark(worker->coord, &unpark, &outcome, &detail);
    const struct sim__answer answer =
        error == TS_UNPARK_OK ? sim__done(&outcome) : sim__refused(ts_unpark_error_variant(error), &detail);
    if (!worker->actor.dead)
        sim__check_sound(world, &answer, &detail);
    return answer;
}

/* Updates the worker's own view after an operation under the lease that it holds. */
static void learn(struct sim__worker *worker, const struct sim__op *op, const struct sim__answer *answer) {
    if (!is_held(worker, &op->lease))
        return;
    if (!answer->ok) {
        if (ends_lease(answer->variant))
            sim__let_go(worker);
        return;
    }
    if (op->kind == TS_SIM_OP_CHECKPOINT) {
        if (!worker->has_position || op->key > worker->position)
            worker->position = op->key;
        worker->has_position = true;
    } else if (op->kind == TS_SIM_OP_SPLIT_RESIDUAL) {
        if (op->key < worker->to)
            worker->to = op->key;
    } else if (op->kind != TS_SIM_OP_WRITE) {
        sim__let_go(worker);
    }
}

static bool is_leased_op(enum ts_sim_operation kind) {
    return kind == TS_SIM_OP_CHECKPOINT || kind == TS_SIM_OP_COMPLETE || kind == TS_SIM_OP_PARK ||
           kind == TS_SIM_OP_RELEASE || kind == TS_SIM_OP_WRITE || kind == TS_SIM_OP_SPLIT_REPLACE ||
           kind == TS_SIM_OP_SPLIT_RESIDUAL;
}

static struct sim__answer ask(struct sim__worker *worker, const struct sim__op *op,
                              struct ts_split_replace_result *children) {
    struct sim__world *world = worker->actor.world;
    const struct ts_lease_op by = {
        .tenant = world->tenants[op->tenant], .lease = op->lease, .op_id = {op->id}};
    const bool by_session = is_leased_op(op->kind) && op->tenant == worker->tenant &&
                            is_session_lease(worker, &op->lease) && sim__chance(world, 85);
    switch (op->kind) {
    case TS_SIM_OP_CHECKPOINT:
    case TS_SIM_OP_COMPLETE:
        return of_checkpoint(worker, op, &by, by_session);
    case TS_SIM_OP_PARK:
        return of_park(worker, op, &by, by_session);
    case TS_SIM_OP_RELEASE:
        return of_release(worker, op, &by, by_session);
    case TS_SIM_OP_WRITE:
        return of_write(worker, op, &by, by_session);
    case TS_SIM_OP_SPLIT_REPLACE:
    case TS_SIM_OP_SPLIT_RESIDUAL:
        return of_split(worker, op, &by, by_session, children);
    case TS_SIM_OP_UNPARK:
        return of_unpark(worker, op);
    case TS_SIM_OP_END_RUN:
        return sim__of_end_run(worker, op);
    case TS_SIM_OP_REGISTER:
        return sim__of_register(worker, op);
    case TS_SIM_OP_CREATE_RUN:
        return sim__of_create(worker, op);
    case TS_SIM_OP_CLAIM:
    case TS_SIM_OP_ACQUIRE:
    case TS_SIM_OP_RENEW:
    case TS_SIM_OP_LOOK:
    case TS_SIM_OPERATION_COUNT:
        break;
    }
    ts_unreachable("these have no op id");
}

bool sim__issue(struct sim__worker *worker, struct sim__op *op) {
    struct sim__world *world = worker->actor.world;
    struct ts_split_replace_result children;
    sim__event(world, "begins", worker->number, (uint64_t)op->kind, op->id, op->shard);
    op->under_way++;
    op->refused = false;
    const struct sim__answer answer = ask(worker, op, &children);
    op->under_way--;
    op->perhaps = op->perhaps || worker->actor.dead || answer.ok || answer.unknown;
    if (worker->actor.dead)
        return false;
    sim__count_answer(worker, op->kind, &answer);
    sim__check_answer(world, op, &answer);
    if (is_leased_op(op->kind))
        learn(worker, op, &answer);
    return answer.ok;
}

void sim__reuse_id(struct sim__worker *worker, const struct sim__op *op) {
    struct sim__world *world = worker->actor.world;
    struct sim__op other = *op;
    struct ts_split_replace_result children;
    other.has_token = true;
    other.token = op->token + 1;
    other.tenant = worker->tenant;
    world->result->counts.troubles[TS_SIM_TROUBLE_MISTAKE]++;
    const struct sim__answer answer = ask(worker, &other, &children);
    if (worker->actor.dead)
        return;
    sim__count_answer(worker, op->kind, &answer);
    if (answer.ok)
        sim__broken(world, "op-log", "the op id of operation %llu was accepted for another operation",
                    (unsigned long long)op->id);
    else if (answer.variant != TS_VARIANT_OP_ID_CONFLICT && answer.variant != TS_VARIANT_BACKEND_ERROR &&
             !answer.disk_full) /* an outdated session may meet a full disk before the conflict */
        sim__broken(world, "op-log", "the id of operation %llu was used again, and the answer was %s",
                    (unsigned long long)op->id, ts_error_variant_name(answer.variant));
}

/* ---- reads ---- */

static bool count_shard(void *context, const struct ts_coord_shard_view *shard) {
    (void)shard;
    ++*(uint64_t *)context;
    return true;
}

void sim__look(struct sim__worker *worker, uint32_t run) {
    struct sim__world *world = worker->actor.world;
    const struct ts_coord_run_query query = {world->tenants[worker->tenant], world->runs[run].id};
    struct ts_coord_detail detail = {0};
    struct ts_run_progress progress;
    struct ts_shard_counts counts;
    uint64_t shards = 0;
    enum ts_get_run_error error = TS_GET_RUN_OK;
    switch (sim__below(world, 3)) {
    case 0:
        error = ts_coord_run_progress(worker->coord, &query, &progress, &detail);
        break;
    case 1:
        error = ts_coord_run_counts(worker->coord, &query, &counts, &detail);
        break;
    default:
        error = ts_coord_list_shards(worker->coord, &(struct ts_coord_shard_query){.run = query}, count_shard,
                                     &shards, &detail);
        break;
    }
    if (worker->actor.dead)
        return;
    const struct sim__answer answer =
        error == TS_GET_RUN_OK ? accepted() : sim__refused(ts_get_run_error_variant(error), &detail);
    sim__count_answer(worker, TS_SIM_OP_LOOK, &answer);
    sim__check_sound(world, &answer, &detail);
    if (answer.ok && worker->tenant != world->runs[run].tenant)
        sim__broken(world, "tenant", "worker %u saw a run of another tenant", (unsigned)worker->number);
}

void sim__audit(struct sim__worker *worker, const struct ts_tenant_id *tenant, struct ts_run_id run) {
    struct sim__world *world = worker->actor.world;
    const struct ts_coord_run_query query = {*tenant, run};
    struct ts_coord_audit audit;
    struct ts_coord_detail detail = {0};
    enum ts_get_run_error error = ts_coord_audit_run(worker->coord, &query, &audit, &detail);
    /* Tries again, because the calls of many workers may still keep the store busy. */
    for (int tries = 0; tries < 10 && error == TS_GET_RUN_BACKEND_ERROR; tries++) {
        sim__sleep(&worker->actor, 1000);
        error = ts_coord_audit_run(worker->coord, &query, &audit, &detail);
    }
    if (error != TS_GET_RUN_OK)
        sim__broken(world, "liveness", "a run cannot be audited: %s", ts_get_run_error_name(error));
    else if (!ts_coord_audit_is_clean(&audit))
        sim__broken(world, "counters",
                    "the audit of a run is not clean: %llu counters, %llu places, %llu "
                    "missing, %llu extra, %llu guards, limits %s",
                    (unsigned long long)audit.wrong_counters, (unsigned long long)audit.wrong_places,
                    (unsigned long long)audit.missing_index, (unsigned long long)audit.extra_index,
                    (unsigned long long)audit.wrong_guards, audit.wrong_limits ? "wrong" : "right");
}
