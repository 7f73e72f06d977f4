/*
 * A worker of turnstone/coord.h: a session (session.h) that its owner and its keeper use in turns, and the
 * lease of the last claim, which is kept after the session has released it.
 *
 *     lease     session   is_lost   state
 *     none      IDLE      no        nothing was claimed yet
 *     kept      HOLDING   no        working
 *     kept      IDLE      no        completed, parked, released or split
 *     kept      IDLE      yes       the store refused it, or the keeper could not keep it
 *
 * In the last two states an operation adopts the lease again for the call: only the store knows whether it
 * repeats an operation that was done.
 */
#include "public.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A lease is renewed after a third of its duration; after a failure, again after a quarter of the remaining
 * time. */
#define RENEW_PART 3
#define RETRY_PART 4

struct ts_worker {
    struct ts_tenant_id tenant;
    pthread_mutex_t lock; /* guards everything below; taken before any lock of the coordination */
    pthread_cond_t wake;  /* the keeper has something to do */
    struct ts_coord_session *session;
    struct ts_acquire_result_view view; /* of the last claim; the session owns its bytes */
    bool has_lease;
    uint64_t duration_ms; /* of the lease, approximately */
    atomic_bool is_lost;
    uint8_t last_key[TS_KEY_MAX]; /* the last reported one */
    size_t last_key_len;
    uint8_t end[TS_KEY_MAX]; /* the current end of the shard: split_residual moves it */
    size_t end_len;
    bool has_keeper;
    bool is_over;
    pthread_t keeper;
    ts_worker_on_loss *on_loss;
    void *context;
};

/* ---- life ---- */

static bool init_lock(struct ts_worker *worker) {
    pthread_condattr_t attributes;
    if (pthread_mutex_init(&worker->lock, NULL) != 0)
        return false;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    bool done = pthread_cond_init(&worker->wake, &attributes) == 0;
    pthread_condattr_destroy(&attributes);
    if (!done)
        pthread_mutex_destroy(&worker->lock);
    return done;
}

struct ts_worker *ts_worker_new(struct ts_coord *coord, const char *tenant, const char *name) {
    struct ts_coord_worker who;
    if (name == NULL || !coord__tenant_named(tenant, &who.tenant) ||
        !ts_worker_id_from_text(ts_bytes_of_cstring(name), &who.worker))
        return NULL;
    struct ts_worker *worker = calloc(1, sizeof *worker);
    if (worker == NULL)
        return NULL;
    worker->tenant = who.tenant;
    worker->session = ts_coord_session_new(coord, &who);
    if (worker->session == NULL || !init_lock(worker)) {
        ts_coord_session_free(worker->session);
        free(worker);
        return NULL;
    }
    return worker;
}

void ts_worker_free(struct ts_worker *worker) {
    if (worker == NULL)
        return;
    if (worker->has_keeper) {
        pthread_mutex_lock(&worker->lock);
        worker->is_over = true;
        pthread_cond_signal(&worker->wake);
        pthread_mutex_unlock(&worker->lock);
        pthread_join(worker->keeper, NULL);
    }
    ts_coord_session_free(worker->session);
    pthread_cond_destroy(&worker->wake);
    pthread_mutex_destroy(&worker->lock);
    free(worker);
}

/* ---- the keeper ---- */

static void sleep_ms(struct ts_worker *worker, uint64_t ms) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)(ms / 1000);
    until.tv_nsec += (long)(ms % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    pthread_cond_timedwait(&worker->wake, &worker->lock, &until);
}

/* Called without the lock, because the callback may take long. */
static void report_loss(struct ts_worker *worker, const struct ts_coord_answer *answer) {
    atomic_store(&worker->is_lost, true);
    ts_coord_session_drop(worker->session);
    pthread_mutex_unlock(&worker->lock);
    if (worker->on_loss != NULL)
        worker->on_loss(worker->context, answer);
    pthread_mutex_lock(&worker->lock);
}

/* Renews a lease that is due. If the store does not answer, tries again while the lease is valid. */
static void keep(struct ts_worker *worker) {
    struct ts_coord_answer answer;
    struct ts_renew_result result;
    coord__answer_begin(&answer, NULL);
    enum ts_renew_error error = ts_coord_session_renew(worker->session, &result, &answer.detail);
    if (error == TS_RENEW_OK)
        return;
    coord__answer_end(&answer, ts_renew_error_variant(error), NULL);
    uint64_t left_ms = ts_coord_session_left_ms(worker->session);
    if (error == TS_RENEW_BACKEND_ERROR && left_ms > 0)
        sleep_ms(worker, left_ms / RETRY_PART + 1);
    else
        report_loss(worker, &answer);
}

static void *keep_leases(void *argument) {
    struct ts_worker *worker = argument;
    pthread_mutex_lock(&worker->lock);
    while (!worker->is_over) {
        uint64_t left_ms = ts_coord_session_left_ms(worker->session);
        uint64_t due_ms = worker->duration_ms - worker->duration_ms / RENEW_PART;
        if (ts_coord_session_lease(worker->session) == NULL)
            pthread_cond_wait(&worker->wake, &worker->lock);
        else if (left_ms > due_ms)
            sleep_ms(worker, left_ms - due_ms);
        else
            keep(worker);
    }
    pthread_mutex_unlock(&worker->lock);
    return NULL;
}

bool ts_worker_start_keeper(struct ts_worker *worker, ts_worker_on_loss *on_loss, void *context) {
    if (worker->has_keeper)
        return false;
    worker->on_loss = on_loss;
    worker->context = context;
    worker->has_keeper = pthread_create(&worker->keeper, NULL, keep_leases, worker) == 0;
    return worker->has_keeper;
}

/* ---- claims ---- */

static void keep_bytes(uint8_t to[static TS_KEY_MAX], size_t *ret_len, struct ts_bytes bytes) {
    *ret_len = bytes.len;
    if (bytes.len > 0)
        memcpy(to, bytes.data, bytes.len);
}

static void begin_claim_and_lock(struct ts_worker *worker) {
    pthread_mutex_lock(&worker->lock);
    ts_coord_session_drop(worker->session);
}

static void end_claim(struct ts_worker *worker, bool has_lease) {
    if (has_lease) {
        const struct ts_shard_snapshot_view *shard = &worker->view.snapshot;
        worker->has_lease = true;
        worker->duration_ms = ts_coord_session_left_ms(worker->session);
        keep_bytes(worker->last_key, &worker->last_key_len,
                   shard->cursor.has_key ? shard->cursor.last_key : (struct ts_bytes){NULL, 0});
        keep_bytes(worker->end, &worker->end_len, shard->spec.range.end);
        atomic_store(&worker->is_lost, false);
        pthread_cond_signal(&worker->wake);
    }
    pthread_mutex_unlock(&worker->lock);
}

enum ts_claim_error ts_worker_claim(struct ts_worker *worker, struct ts_run_id run,
                                    struct ts_coord_answer *ret_answer) {
    struct ts_coord_answer own;
    struct ts_coord_answer *answer = coord__answer_begin(ret_answer, &own);
    begin_claim_and_lock(worker);
    enum ts_claim_error error = ts_coord_session_claim(worker->session, run, &worker->view, &answer->detail);
    end_claim(worker, error == TS_CLAIM_OK);
    coord__answer_end(answer, ts_claim_error_variant(error), NULL);
    return error;
}

enum ts_acquire_error ts_worker_acquire(struct ts_worker *worker, struct ts_run_id run,
                                        struct ts_shard_id shard, struct ts_coord_answer *ret_answer) {
    struct ts_coord_answer own;
    struct ts_coord_answer *answer = coord__answer_begin(ret_answer, &own);
    const struct ts_shard_key key = {.run = run, .shard = shard};
    begin_claim_and_lock(worker);
    enum ts_acquire_error error =
        ts_coord_session_acquire(worker->session, key, &worker->view, &answer->detail);
    end_claim(worker, error == TS_ACQUIRE_OK);
    coord__answer_end(answer, ts_acquire_error_variant(error), NULL);
    return error;
}

/* ---- the claimed shard ---- */

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
    return atomic_load(&worker->is_lost);
}

uint64_t ts_worker_left_ms(struct ts_worker *worker) {
    pthread_mutex_lock(&worker->lock);
    uint64_t left_ms = ts_coord_session_left_ms(worker->session);
    pthread_mutex_unlock(&worker->lock);
    return left_ms;
}

/* ---- operations under the lease ---- */

/* One operation, from begin_op_and_lock to end_op. */
struct op {
    struct ts_worker *worker;
    struct ts_coord_answer own;
    struct ts_coord_answer *answer;
    struct ts_coord_outcome outcome;
    bool is_adopted; /* the session has the lease for this call only */
};

/* Returns false without a lease: then the answer is LeaseExpired. */
static bool begin_op_and_lock(struct op *op, struct ts_worker *worker, struct ts_coord_answer *given) {
    op->worker = worker;
    op->answer = coord__answer_begin(given, &op->own);
    op->outcome = (struct ts_coord_outcome){.outcome = TS_OUTCOME_EXECUTED};
    pthread_mutex_lock(&worker->lock);
    op->is_adopted = worker->has_lease && ts_coord_session_lease(worker->session) == NULL;
    if (op->is_adopted)
        ts_coord_session_adopt(worker->session, &worker->view.lease);
    return worker->has_lease;
}

/* If the session dropped the lease because of an error, the lease is lost. */
static void end_op(struct op *op, enum ts_error_variant variant) {
    struct ts_worker *worker = op->worker;
    if (op->is_adopted)
        ts_coord_session_drop(worker->session);
    else if (variant != TS_VARIANT_NONE && worker->has_lease &&
             ts_coord_session_lease(worker->session) == NULL)
        atomic_store(&worker->is_lost, true);
    pthread_mutex_unlock(&worker->lock);
    coord__answer_end(op->answer, variant, &op->outcome);
}

enum ts_renew_error ts_worker_renew(struct ts_worker *worker, struct ts_coord_answer *ret_answer) {
    struct op op;
    struct ts_renew_result result;
    enum ts_renew_error error = TS_RENEW_LEASE_EXPIRED;
    if (begin_op_and_lock(&op, worker, ret_answer))
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
    if (begin_op_and_lock(&op, worker, ret_answer))
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
    if (begin_op_and_lock(&op, worker, ret_answer))
        error = ts_coord_session_complete(worker->session, op_id, &cursor, &op.outcome, &op.answer->detail);
    end_op(&op, ts_complete_error_variant(error));
    return error;
}

enum ts_park_error ts_worker_park(struct ts_worker *worker, struct ts_op_id op_id, enum ts_park_reason reason,
                                  struct ts_coord_answer *ret_answer) {
    struct op op;
    enum ts_park_error error = TS_PARK_LEASE_EXPIRED;
    if (begin_op_and_lock(&op, worker, ret_answer))
        error = ts_coord_session_park(worker->session, op_id, reason, &op.outcome, &op.answer->detail);
    end_op(&op, ts_park_error_variant(error));
    return error;
}

enum ts_release_error ts_worker_release(struct ts_worker *worker, struct ts_op_id op_id, enum ts_blame blame,
                                        struct ts_coord_answer *ret_answer) {
    struct op op;
    enum ts_release_error error = TS_RELEASE_LEASE_EXPIRED;
    if (begin_op_and_lock(&op, worker, ret_answer))
        error = ts_coord_session_release(worker->session, op_id, blame, &op.outcome, &op.answer->detail);
    end_op(&op, ts_release_error_variant(error));
    return error;
}

/* The caller's own keys only: coordination and transactions keep theirs below a reserved byte. */
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
    if (begin_op_and_lock(&op, worker, ret_answer))
        error = has_reserved_key(batch, ret_error)
                    ? TS_WRITE_OK
                    : ts_coord_session_write(worker->session, batch, ret_error, &op.answer->detail);
    end_op(&op, ts_write_error_variant(error));
    return error;
}

/* Makes the children between the cuts. The child that contains the last key continues after it. */
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
    struct ts_new_shard children[TS_SPLIT_CHILD_MAX + 1]; /* one more than allowed: the core refuses it */
    enum ts_split_error error = TS_SPLIT_LEASE_EXPIRED;
    count = count < TS_SPLIT_CHILD_MAX ? count : TS_SPLIT_CHILD_MAX;
    if (begin_op_and_lock(&op, worker, ret_answer))
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
    if (begin_op_and_lock(&op, worker, ret_answer))
        error = ts_coord_session_split_residual(worker->session, op_id, &residual, &result, &op.outcome,
                                                &op.answer->detail);
    if (error == TS_SPLIT_OK)
        keep_bytes(worker->end, &worker->end_len, cut);
    end_op(&op, ts_split_error_variant(error));
    return error;
}
