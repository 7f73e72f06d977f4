/*
 * A worker of turnstone/coord.h: a session (session.h), its keeper (keeper.h), and the lease of the last
 * claim. The worker keeps this lease after the session has given it up.
 *
 *     lease     session   is_lost   state
 *     none      IDLE      no        nothing was claimed yet
 *     kept      HOLDING   no        working
 *     kept      HOLDING   yes       the keeper could not keep it; only the store knows whether it is still valid
 *     kept      IDLE      no        completed, parked, released or split
 *     kept      IDLE      yes       the store refused it
 *
 * In IDLE an operation takes the old lease again for its call, because only the store knows whether the
 * operation was already done.
 */
#include "public.h"

#include "coord/driver/keeper.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct ts_worker {
    struct ts_tenant_id tenant;
    struct ts_coord *coord;
    struct ts_coord_session *session;
    struct ts_coord_keeper *keeper;     /* or NULL */
    struct ts_acquire_result_view view; /* answer of the last claim; the session owns its bytes */
    bool has_lease;
    atomic_bool is_refused;       /* the store has said that the lease is lost */
    uint8_t last_key[TS_KEY_MAX]; /* the last reported key */
    size_t last_key_len;
    uint8_t end[TS_KEY_MAX]; /* the current end of the shard: split_residual moves it */
    size_t end_len;
    ts_worker_on_loss *on_loss;
    void *context;
};

/* ---- life ---- */

struct ts_worker *ts_worker_new(struct ts_coord *coord, const char *tenant, const char *name) {
    struct ts_coord_worker who = {0};
    if (name == NULL || !coord__tenant_named(tenant, &who.tenant) ||
        !ts_worker_id_from_text(ts_bytes_of_cstring(name), &who.worker))
        return NULL;
    struct ts_worker *worker = calloc(1, sizeof *worker);
    if (worker == NULL)
        return NULL;
    worker->tenant = who.tenant;
    worker->coord = coord;
    worker->session = ts_coord_session_new(coord, &who);
    if (worker->session == NULL) {
        free(worker);
        return NULL;
    }
    return worker;
}

void ts_worker_free(struct ts_worker *worker) {
    if (worker == NULL)
        return;
    ts_coord_keeper_free(worker->keeper);
    ts_coord_session_free(worker->session);
    free(worker);
}

void ts_worker_set_pin(struct ts_worker *worker, struct ts_pin pin) {
    ts_coord_session_set_pin(worker->session, pin);
}

/* ---- the keeper ---- */

static void report_loss(void *context, enum ts_error_variant error, const struct ts_coord_detail *detail) {
    const struct ts_worker *worker = context;
    struct ts_coord_answer answer;
    coord__answer_begin(&answer, NULL);
    answer.detail = *detail;
    coord__answer_end(&answer, error, NULL);
    worker->on_loss(worker->context, &answer);
}

bool ts_worker_start_keeper(struct ts_worker *worker, ts_worker_on_loss *on_loss, void *context) {
    if (worker->keeper != NULL)
        return false;
    worker->on_loss = on_loss;
    worker->context = context;
    const struct ts_coord_keeper_options options = {.on_loss = on_loss != NULL ? report_loss : NULL,
                                                    .context = worker};
    worker->keeper = ts_coord_keeper_new(worker->coord, &options);
    return worker->keeper != NULL;
}

static void rest(struct ts_worker *worker) {
    if (worker->keeper != NULL)
        ts_coord_keeper_rest(worker->keeper);
}

/* ---- claims ---- */

static void keep_bytes(uint8_t to[static TS_KEY_MAX], size_t *ret_len, struct ts_bytes bytes) {
    *ret_len = bytes.len;
    if (bytes.len > 0)
        memcpy(to, bytes.data, bytes.len);
}

static void begin_claim(struct ts_worker *worker) {
    rest(worker);
    ts_coord_session_drop(worker->session);
}

static void end_claim(struct ts_worker *worker, bool has_lease) {
    if (!has_lease)
        return;
    const struct ts_shard_snapshot_view *shard = &worker->view.snapshot;
    worker->has_lease = true;
    keep_bytes(worker->last_key, &worker->last_key_len,
               shard->cursor.has_key ? shard->cursor.last_key : (struct ts_bytes){NULL, 0});
    keep_bytes(worker->end, &worker->end_len, shard->spec.range.end);
    atomic_store(&worker->is_refused, false);
    if (worker->keeper != NULL)
        ts_coord_keeper_watch(worker->keeper, worker->session);
}

enum ts_claim_error ts_worker_claim(struct ts_worker *worker, struct ts_run_id run,
                                    struct ts_coord_answer *ret_answer) {
    struct ts_coord_answer own;
    struct ts_coord_answer *answer = coord__answer_begin(ret_answer, &own);
    begin_claim(worker);
    enum ts_claim_error error = ts_coord_session_claim(worker->session, run, &worker->view, &answer->detail);
    end_claim(worker, error == TS_CLAIM_OK);
    coord__answer_end(answer, ts_claim_error_variant(error), NULL);
    return error;
}

enum ts_claim_error ts_worker_claim_any(struct ts_worker *worker, struct ts_coord_answer *ret_answer) {
    struct ts_coord_answer own;
    struct ts_coord_answer *answer = coord__answer_begin(ret_answer, &own);
    begin_claim(worker);
    enum ts_claim_error error = ts_coord_session_claim_any(worker->session, &worker->view, &answer->detail);
    end_claim(worker, error == TS_CLAIM_OK);
    coord__answer_end(answer, ts_claim_error_variant(error), NULL);
    return error;
}

enum ts_acquire_error ts_worker_acquire(struct ts_worker *worker, struct ts_run_id run,
                                        struct ts_shard_id shard, struct ts_coord_answer *ret_answer) {
    struct ts_coord_answer own;
    struct ts_coord_answer *answer = coord__answer_begin(ret_answer, &own);
    const struct ts_shard_key key = {.run = run, .shard = shard};
    begin_claim(worker);
    enum ts_acquire_error error =
        ts_coord_session_acquire(worker->session, key, &worker->view, &answer->detail);
    end_claim(worker, error == TS_ACQUIRE_OK);
    coord__answer_end(answer, ts_acquire_error_variant(error), NULL);
    return error;
}

/* ---- the claimed shard ---- */

struct ts_run_id ts_worker_run(const struct ts_worker *worker) {
    return ts_lease_shard(&worker->view.lease).run;
}

struct ts_shard_id ts_worker_shard(const struct ts_worker *worker) {
    return ts_lease_shard(&worker->view.lease).shard;
}

struct ts_fence_epoch ts_worker_fence(const struct ts_worker *worker) {
    return ts_lease_fence(&worker->view.lease);
}

struct ts_bytes ts_worker_start(const struct ts_worker *worker) {
    return worker->view.snapshot.spec.range.start;
}

struct ts_bytes ts_worker_end(const struct ts_worker *worker) {
    return worker->view.snapshot.spec.range.end;
}

struct ts_bytes ts_worker_key(const struct ts_worker *worker) {
    const struct ts_cursor *cursor = &worker->view.snapshot.cursor;
    return cursor->has_key ? cursor->last_key : (struct ts_bytes){NULL, 0};
}

struct ts_bytes ts_worker_token(const struct ts_worker *worker) {
    const struct ts_cursor *cursor = &worker->view.snapshot.cursor;
    return cursor->has_token ? cursor->token : (struct ts_bytes){NULL, 0};
}

struct ts_bytes ts_worker_metadata(const struct ts_worker *worker) {
    return worker->view.snapshot.spec.metadata;
}

bool ts_worker_is_lost(const struct ts_worker *worker) {
    return atomic_load(&worker->is_refused) ||
           (worker->keeper != NULL && ts_coord_keeper_is_lost(worker->keeper));
}

uint64_t ts_worker_left_ms(struct ts_worker *worker) {
    if (ts_coord_session_lease(worker->session) == NULL)
        return 0;
    return worker->keeper != NULL ? ts_coord_keeper_left_ms(worker->keeper)
                                  : ts_coord_session_left_ms(worker->session);
}

/* ---- operations under the lease ---- */

/* One operation, from begin_op to end_op. */
struct op {
    struct ts_worker *worker;
    struct ts_coord_answer own;
    struct ts_coord_answer *answer;
    struct ts_coord_outcome outcome;
    bool is_adopted; /* the session has taken the lease for this call only */
};

/* Begins an operation. Returns false if the worker has no lease; the answer is then LeaseExpired. */
static bool begin_op(struct op *op, struct ts_worker *worker, struct ts_coord_answer *given) {
    op->worker = worker;
    op->answer = coord__answer_begin(given, &op->own);
    op->outcome = (struct ts_coord_outcome){.outcome = TS_OUTCOME_EXECUTED};
    op->is_adopted = worker->has_lease && ts_coord_session_lease(worker->session) == NULL;
    if (op->is_adopted)
        ts_coord_session_adopt(worker->session, &worker->view.lease);
    return worker->has_lease;
}

/* Like begin_op, for an operation that gives up the shard. The keeper must not report the end of the lease as
 * a loss. */
static bool begin_last_op(struct op *op, struct ts_worker *worker, struct ts_coord_answer *given) {
    if (worker->keeper != NULL)
        ts_coord_keeper_pause(worker->keeper);
    return begin_op(op, worker, given);
}

/* Ends an operation. If the session gave up the lease because of an error, the lease is lost. */
static void end_op(struct op *op, enum ts_error_variant variant) {
    struct ts_worker *worker = op->worker;
    if (op->is_adopted) {
        ts_coord_session_drop(worker->session);
    } else if (worker->has_lease && ts_coord_session_lease(worker->session) == NULL) {
        rest(worker);
        atomic_store(&worker->is_refused, variant != TS_VARIANT_NONE);
    } else if (worker->keeper != NULL) {
        ts_coord_keeper_resume(worker->keeper);
    }
    coord__answer_end(op->answer, variant, &op->outcome);
}

enum ts_renew_error ts_worker_renew(struct ts_worker *worker, struct ts_coord_answer *ret_answer) {
    struct op op;
    struct ts_renew_result result;
    enum ts_renew_error error = TS_RENEW_LEASE_EXPIRED;
    if (begin_op(&op, worker, ret_answer))
        error = ts_coord_session_renew(worker->session, &result, &op.answer->detail);
    end_op(&op, ts_renew_error_variant(error));
    return error;
}

enum ts_checkpoint_error ts_worker_checkpoint(struct ts_worker *worker, struct ts_op_id op_id,
                                              struct ts_bytes key, struct ts_bytes token,
                                              struct ts_coord_answer *ret_answer) {
    struct op op;
    const struct ts_cursor cursor = coord__cursor_of(key, token);
    enum ts_checkpoint_error error = TS_CHECKPOINT_LEASE_EXPIRED;
    if (begin_op(&op, worker, ret_answer))
        error = ts_coord_session_checkpoint(worker->session, op_id, &cursor, &op.outcome, &op.answer->detail);
    if (error == TS_CHECKPOINT_OK && op.outcome.result == TS_OP_RESULT_COMPLETED)
        keep_bytes(worker->last_key, &worker->last_key_len, key);
    end_op(&op, ts_checkpoint_error_variant(error));
    return error;
}

enum ts_complete_error ts_worker_complete(struct ts_worker *worker, struct ts_op_id op_id,
                                          struct ts_bytes key, struct ts_bytes token,
                                          struct ts_coord_answer *ret_answer) {
    struct op op;
    const struct ts_cursor cursor = coord__cursor_of(key, token);
    enum ts_complete_error error = TS_COMPLETE_LEASE_EXPIRED;
    if (begin_last_op(&op, worker, ret_answer))
        error = ts_coord_session_complete(worker->session, op_id, &cursor, &op.outcome, &op.answer->detail);
    end_op(&op, ts_complete_error_variant(error));
    return error;
}

enum ts_park_error ts_worker_park(struct ts_worker *worker, struct ts_op_id op_id, enum ts_park_reason reason,
                                  struct ts_coord_answer *ret_answer) {
    struct op op;
    enum ts_park_error error = TS_PARK_LEASE_EXPIRED;
    if (begin_last_op(&op, worker, ret_answer))
        error = ts_coord_session_park(worker->session, op_id, reason, &op.outcome, &op.answer->detail);
    end_op(&op, ts_park_error_variant(error));
    return error;
}

enum ts_release_error ts_worker_release(struct ts_worker *worker, struct ts_op_id op_id, enum ts_blame blame,
                                        struct ts_coord_answer *ret_answer) {
    struct op op;
    enum ts_release_error error = TS_RELEASE_LEASE_EXPIRED;
    if (begin_last_op(&op, worker, ret_answer))
        error = ts_coord_session_release(worker->session, op_id, blame, &op.outcome, &op.answer->detail);
    end_op(&op, ts_release_error_variant(error));
    return error;
}

/* Returns whether the caller's batch has a key with the reserved first byte. Only coordination and
 * transactions may use such keys. */
static bool has_reserved_key(struct ts_batch batch, struct ts_store_error *ret_error) {
    for (size_t i = 0; i < batch.count; i++) {
        const struct ts_bytes key = batch.ops[i].key;
        if (key.len == 0 || key.data[0] != TS_TXN_RESERVED_BYTE)
            continue;
        *ret_error = (struct ts_store_error){
            .result = TS_STORE_BAD_BATCH,
            .op = i,
            .text = "the key begins with the byte 0, which is reserved for the system; use another key"};
        memcpy(ret_error->sqlstate, ts_store_result_meaning(TS_STORE_BAD_BATCH)->sqlstate,
               sizeof ret_error->sqlstate);
        return true;
    }
    return false;
}

enum ts_write_error ts_worker_write(struct ts_worker *worker, struct ts_batch batch,
                                    struct ts_store_error *ret_error, struct ts_coord_answer *ret_answer) {
    struct op op;
    enum ts_write_error error = TS_WRITE_LEASE_EXPIRED;
    if (begin_op(&op, worker, ret_answer))
        error = has_reserved_key(batch, ret_error)
                    ? TS_WRITE_OK
                    : ts_coord_session_write(worker->session, batch, ret_error, &op.answer->detail);
    end_op(&op, ts_write_error_variant(error));
    return error;
}

/* Makes the children between the cuts. The child that contains the last reported key continues after that
 * key. */
static struct ts_new_shards make_children(const struct ts_worker *worker, const struct ts_bytes *cuts,
                                          size_t count, struct ts_new_shard children[static 1]) {
    const struct ts_bytes last = ts_bytes_of(worker->last_key, worker->last_key_len);
    const struct ts_shard_spec *spec = &worker->view.snapshot.spec;
    for (size_t i = 0; i <= count; i++) {
        struct ts_key_range range = {.start = i == 0 ? spec->range.start : cuts[i - 1],
                                     .end = i == count ? ts_bytes_of(worker->end, worker->end_len) : cuts[i]};
        children[i] = (struct ts_new_shard){.spec = {.range = range, .metadata = spec->metadata}};
        if (last.len > 0 && ts_key_range_contains(range, last))
            children[i].cursor = (struct ts_cursor){.has_key = true, .last_key = last};
    }
    return (struct ts_new_shards){.list = children, .count = count + 1};
}

enum ts_split_error ts_worker_split_replace(struct ts_worker *worker, struct ts_op_id op_id,
                                            const struct ts_bytes *cuts, size_t count,
                                            struct ts_coord_answer *ret_answer) {
    struct op op;
    struct ts_split_replace_result result;
    struct ts_new_shard children[TS_SPLIT_CHILD_MAX + 1]; /* one too many, which the core refuses */
    enum ts_split_error error = TS_SPLIT_LEASE_EXPIRED;
    count = count < TS_SPLIT_CHILD_MAX ? count : TS_SPLIT_CHILD_MAX;
    if (begin_last_op(&op, worker, ret_answer))
        error = ts_coord_session_split_replace(worker->session, op_id,
                                               make_children(worker, cuts, count, children), &result,
                                               &op.outcome, &op.answer->detail);
    end_op(&op, ts_split_error_variant(error));
    return error;
}

enum ts_split_error ts_worker_split_residual(struct ts_worker *worker, struct ts_op_id op_id,
                                             struct ts_bytes cut, struct ts_bytes metadata,
                                             struct ts_coord_answer *ret_answer) {
    struct op op;
    struct ts_split_residual_result result;
    const struct ts_new_shard residual = {.spec = {.range = {.start = cut}, .metadata = metadata}};
    enum ts_split_error error = TS_SPLIT_LEASE_EXPIRED;
    if (begin_op(&op, worker, ret_answer))
        error = ts_coord_session_split_residual(worker->session, op_id, &residual, &result, &op.outcome,
                                                &op.answer->detail);
    if (error == TS_SPLIT_OK)
        keep_bytes(worker->end, &worker->end_len, cut);
    end_op(&op, ts_split_error_variant(error));
    return error;
}
