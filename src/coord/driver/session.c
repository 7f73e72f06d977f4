#include "coord/driver/session.h"

#include "base/assert.h"
#include "base/checked.h"
#include "driver.h"
#include "os/grow.h"

#include <stdlib.h>

struct ts_coord_session {
    struct ts_coord *coord;
    struct ts_coord_worker worker;
    bool holding;
    struct ts_lease lease; /* valid if holding */
    struct coord__seen seen;
    struct coord__claim_hint hint;
    struct ts_acquire_scratch scratch;
};

struct ts_coord_session *ts_coord_session_new(struct ts_coord *coord, const struct ts_coord_worker *worker) {
    struct ts_coord_session *session = calloc(1, sizeof *session);
    if (session == NULL)
        return NULL;
    session->coord = coord;
    session->worker = *worker;
    session->hint.leased_from = calloc(coord->io.place_count, sizeof *session->hint.leased_from);
    if (session->hint.leased_from == NULL) {
        free(session);
        return NULL;
    }
    ts_acquire_scratch_init(&session->scratch);
    return session;
}

void ts_coord_session_set_pin(struct ts_coord_session *session, struct ts_pin pin) {
    session->worker.pin = pin;
}

void ts_coord_session_free(struct ts_coord_session *session) {
    if (session == NULL)
        return;
    free(session->hint.leased_from);
    free(session);
}

const struct ts_lease *ts_coord_session_lease(const struct ts_coord_session *session) {
    return session->holding ? &session->lease : NULL;
}

const struct ts_shard_record *ts_coord_session_record(const struct ts_coord_session *session) {
    return session->holding && session->seen.has_record ? &session->seen.record : NULL;
}

const struct ts_run_guard *ts_coord_session_guard(const struct ts_coord_session *session) {
    return session->holding && session->seen.has_record ? &session->seen.guard : NULL;
}

uint64_t ts_coord_session_left_ms(const struct ts_coord_session *session) {
    if (!session->holding || session->seen.now.ms == 0)
        return 0;
    const uint64_t passed_ms = coord__elapsed_ms(session->coord) - session->seen.at_ms;
    const uint64_t now_ms = ts_saturating_add_u64(session->seen.now.ms, passed_ms);
    return ts_saturating_sub_u64(ts_lease_deadline(&session->lease).ms, now_ms);
}

void ts_coord_session_drop(struct ts_coord_session *session) {
    session->holding = false;
    session->seen.known = false;
    session->seen.has_record = false;
}

/* Returns whether the error of an operation under a lease means that the lease is gone. */
static bool ends_lease(enum ts_error_variant error) {
    return error == TS_VARIANT_STALE_FENCE || error == TS_VARIANT_LEASE_EXPIRED ||
           error == TS_VARIANT_SHARD_TERMINAL || error == TS_VARIANT_SHARD_NOT_FOUND ||
           error == TS_VARIANT_TENANT_MISMATCH;
}

static void after(struct ts_coord_session *session, enum ts_error_variant error) {
    if (ends_lease(error))
        ts_coord_session_drop(session);
}

static struct ts_lease_op by(const struct ts_coord_session *session, struct ts_op_id op_id) {
    ts_assert(session->holding);
    return (struct ts_lease_op){.tenant = session->worker.tenant, .lease = session->lease, .op_id = op_id};
}

enum ts_claim_error ts_coord_session_claim(struct ts_coord_session *session, struct ts_run_id run,
                                           struct ts_acquire_result_view *ret_view,
                                           struct ts_coord_detail *ret_detail) {
    ts_assert(!session->holding);
    const struct ts_coord_claim_op op = {.tenant = session->worker.tenant,
                                         .run = run,
                                         .worker = session->worker.worker,
                                         .pin = session->worker.pin,
                                         .has_start = session->hint.has_start && session->hint.run.v == run.v,
                                         .start = session->hint.start};
    struct ts_capacity_hint capacity;
    const enum ts_claim_error error = coord__claim(session->coord, &op, &session->seen, &session->hint,
                                                   &session->lease, &capacity, ret_detail);
    if (error != TS_CLAIM_OK)
        return error;
    session->holding = true;
    ts_acquire_result(&session->scratch, &session->seen.record, &session->lease, capacity, ret_view);
    return TS_CLAIM_OK;
}

/* ---- claims from any run ---- */

struct any_run {
    struct ts_run_id run;
    uint64_t number;
};

struct any {
    struct ts_coord_session *session;
    struct ts_acquire_result_view *ret_view;
    struct any_run *runs; /* active runs that the worker may claim from */
    size_t count, capacity;
    bool no_memory;
    /* The answers of the runs tried so far, as long as none had a shard. */
    bool is_throttled, has_failed;
    struct ts_coord_detail none;
    struct ts_coord_detail failure;
};

static bool note_run(void *context, const struct ts_run_record *run) {
    struct any *any = context;
    if (any->session->worker.pinned_only && !ts_pin_is_set(&run->config.pin))
        return true;
    if (!ts_claim_is_pin_right(&run->config, &any->session->worker.pin)) {
        any->none.other_pins++;
        return true;
    }
    any->no_memory = !TS_GROW(any->runs, any->capacity, any->count + 1);
    if (any->no_memory)
        return false;
    any->runs[any->count++] = (struct any_run){run->run, run->number};
    return true;
}

/* Skips a damaged run: the worker can still claim from other runs. */
static bool pass_over_damaged(void *context, struct ts_run_id run, const struct ts_infra_error *reason) {
    struct any *any = context;
    (void)run;
    if (!any->has_failed)
        any->failure = (struct ts_coord_detail){.infra = *reason};
    any->has_failed = true;
    return true;
}

static int compare_numbers(const void *a, const void *b) {
    const uint64_t one = ((const struct any_run *)a)->number, other = ((const struct any_run *)b)->number;
    return (one > other) - (one < other);
}

/* Returns true if the answer of this run is the answer of the whole claim. */
static bool claim_from(struct any *any, struct ts_run_id run, enum ts_claim_error *ret_error,
                       struct ts_coord_detail *ret_detail) {
    struct ts_coord_detail detail = {0};
    *ret_error = ts_coord_session_claim(any->session, run, any->ret_view, &detail);
    switch (*ret_error) {
    case TS_CLAIM_OK:
        return true;
    case TS_CLAIM_RUN_NOT_FOUND:
        return false;
    case TS_CLAIM_NONE_AVAILABLE:
        if (detail.has_deadline && (!any->none.has_deadline || detail.deadline.ms < any->none.deadline.ms)) {
            any->none.has_deadline = true;
            any->none.deadline = detail.deadline;
        }
        return false;
    case TS_CLAIM_THROTTLED:
        if (!any->is_throttled || detail.retry_after.ms < any->none.retry_after.ms)
            any->none.retry_after = detail.retry_after;
        any->is_throttled = true;
        return false;
    case TS_CLAIM_BACKEND_ERROR:
        if (!any->has_failed)
            any->failure = detail;
        any->has_failed = true;
        return false;
    case TS_CLAIM_TENANT_MISMATCH:
        *ret_detail = detail;
        return true;
    }
    ts_unreachable("every answer of a claim is considered");
}

static enum ts_claim_error nothing_from_any(const struct any *any, struct ts_coord_detail *ret_detail) {
    *ret_detail = any->has_failed ? any->failure : any->none;
    if (any->has_failed)
        return TS_CLAIM_BACKEND_ERROR;
    return any->is_throttled ? TS_CLAIM_THROTTLED : TS_CLAIM_NONE_AVAILABLE;
}

enum ts_claim_error ts_coord_session_claim_any(struct ts_coord_session *session,
                                               struct ts_acquire_result_view *ret_view,
                                               struct ts_coord_detail *ret_detail) {
    struct any any = {.session = session, .ret_view = ret_view};
    const bool has_last = session->hint.has_start;
    const struct ts_run_id last = session->hint.run;
    enum ts_claim_error error;
    if (has_last && claim_from(&any, last, &error, ret_detail))
        return error;
    const struct ts_coord_runs_query query = {
        .filter = {.tenant = session->worker.tenant, .by_status = true, .status = TS_RUN_ACTIVE},
        .damaged = pass_over_damaged};
    if (ts_coord_list_runs(session->coord, &query, note_run, &any, ret_detail) != TS_GET_RUN_OK) {
        free(any.runs);
        return TS_CLAIM_BACKEND_ERROR;
    }
    if (any.no_memory)
        (void)coord__no_memory(&any.failure);
    any.has_failed = any.has_failed || any.no_memory;
    if (any.count > 1)
        qsort(any.runs, any.count, sizeof *any.runs, compare_numbers);
    bool is_over = false;
    for (size_t i = 0; i < any.count && !is_over; i++)
        is_over = (!has_last || any.runs[i].run.v != last.v) &&
                  claim_from(&any, any.runs[i].run, &error, ret_detail);
    free(any.runs);
    return is_over ? error : nothing_from_any(&any, ret_detail);
}

enum ts_acquire_error ts_coord_session_acquire(struct ts_coord_session *session, struct ts_shard_key shard,
                                               struct ts_acquire_result_view *ret_view,
                                               struct ts_coord_detail *ret_detail) {
    ts_assert(!session->holding);
    const struct ts_acquire_op op = {
        .tenant = session->worker.tenant, .shard = shard, .worker = session->worker.worker};
    const enum ts_acquire_error error =
        coord__acquire(session->coord, &op, &session->seen, &session->lease, ret_detail);
    if (error != TS_ACQUIRE_OK)
        return error;
    session->holding = true;
    ts_acquire_result(&session->scratch, &session->seen.record, &session->lease,
                      coord__capacity(session->coord, shard), ret_view);
    return TS_ACQUIRE_OK;
}

void ts_coord_session_adopt(struct ts_coord_session *session, const struct ts_lease *lease) {
    ts_assert(!session->holding);
    ts_coord_session_drop(session);
    session->seen.now = (struct ts_logical_time){0};
    session->lease = *lease;
    session->holding = true;
}

enum ts_renew_error ts_coord_session_renew(struct ts_coord_session *session,
                                           struct ts_renew_result *ret_result,
                                           struct ts_coord_detail *ret_detail) {
    ts_assert(session->holding);
    const struct ts_renew_op op = {.tenant = session->worker.tenant, .lease = session->lease};
    const enum ts_renew_error error =
        ts_coord_renew(session->coord, &op, &session->seen, &session->lease, ret_result, ret_detail);
    after(session, ts_renew_error_variant(error));
    return error;
}

enum ts_checkpoint_error ts_coord_session_checkpoint(struct ts_coord_session *session, struct ts_op_id op_id,
                                                     const struct ts_cursor *cursor,
                                                     struct ts_coord_outcome *ret_outcome,
                                                     struct ts_coord_detail *ret_detail) {
    const struct ts_cursor_op op = {.by = by(session, op_id), .cursor = *cursor};
    const enum ts_checkpoint_error error =
        ts_coord_checkpoint(session->coord, &op, &session->seen, ret_outcome, ret_detail);
    after(session, ts_checkpoint_error_variant(error));
    return error;
}

enum ts_complete_error ts_coord_session_complete(struct ts_coord_session *session, struct ts_op_id op_id,
                                                 const struct ts_cursor *cursor,
                                                 struct ts_coord_outcome *ret_outcome,
                                                 struct ts_coord_detail *ret_detail) {
    const struct ts_cursor_op op = {.by = by(session, op_id), .cursor = *cursor};
    const enum ts_complete_error error =
        ts_coord_complete(session->coord, &op, &session->seen, ret_outcome, ret_detail);
    after(session, ts_complete_error_variant(error));
    if (error == TS_COMPLETE_OK)
        ts_coord_session_drop(session);
    return error;
}

enum ts_park_error ts_coord_session_park(struct ts_coord_session *session, struct ts_op_id op_id,
                                         enum ts_park_reason reason, struct ts_coord_outcome *ret_outcome,
                                         struct ts_coord_detail *ret_detail) {
    const struct ts_park_op op = {.by = by(session, op_id), .reason = reason};
    const enum ts_park_error error =
        ts_coord_park(session->coord, &op, &session->seen, ret_outcome, ret_detail);
    after(session, ts_park_error_variant(error));
    if (error == TS_PARK_OK)
        ts_coord_session_drop(session);
    return error;
}

enum ts_write_error ts_coord_session_write(struct ts_coord_session *session, struct ts_batch batch,
                                           struct ts_store_error *ret_error,
                                           struct ts_coord_detail *ret_detail) {
    ts_assert(session->holding);
    const struct ts_write_op op = {.tenant = session->worker.tenant, .lease = session->lease};
    const enum ts_write_error error =
        ts_coord_write(session->coord, &op, &session->seen, batch, ret_error, ret_detail);
    after(session, ts_write_error_variant(error));
    return error;
}

enum ts_release_error ts_coord_session_release(struct ts_coord_session *session, struct ts_op_id op_id,
                                               enum ts_blame blame, struct ts_coord_outcome *ret_outcome,
                                               struct ts_coord_detail *ret_detail) {
    const struct ts_release_op op = {.by = by(session, op_id), .blame = blame};
    const enum ts_release_error error =
        ts_coord_release(session->coord, &op, &session->seen, ret_outcome, ret_detail);
    after(session, ts_release_error_variant(error));
    if (error == TS_RELEASE_OK)
        ts_coord_session_drop(session);
    return error;
}

enum ts_split_replace_error
ts_coord_session_split_replace(struct ts_coord_session *session, struct ts_op_id op_id,
                               struct ts_new_shards children, struct ts_split_replace_result *ret_result,
                               struct ts_coord_outcome *ret_outcome, struct ts_coord_detail *ret_detail) {
    const struct ts_split_replace_op op = {.by = by(session, op_id), .children = children};
    const enum ts_split_error error =
        ts_coord_split_replace(session->coord, &op, &session->seen, ret_result, ret_outcome, ret_detail);
    after(session, ts_split_error_variant(error));
    if (error == TS_SPLIT_OK)
        ts_coord_session_drop(session);
    return error;
}

enum ts_split_residual_error ts_coord_session_split_residual(struct ts_coord_session *session,
                                                             struct ts_op_id op_id,
                                                             const struct ts_new_shard *residual,
                                                             struct ts_split_residual_result *ret_result,
                                                             struct ts_coord_outcome *ret_outcome,
                                                             struct ts_coord_detail *ret_detail) {
    const struct ts_split_residual_op op = {.by = by(session, op_id), .residual = *residual};
    const enum ts_split_error error =
        ts_coord_split_residual(session->coord, &op, &session->seen, ret_result, ret_outcome, ret_detail);
    after(session, ts_split_error_variant(error));
    return error;
}
