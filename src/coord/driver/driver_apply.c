/*
 * Calls to stores, and the meaning of their answers for an operation.
 *
 * Every write is a transaction, which classifies failures, retries, and stops at its limits. Its result is
 * final for the batch. Reading and deciding again helps in two cases: another operation was faster
 * (CHECK_FAILED, LATE, a counter of limits), or the reply was lost (UNKNOWN), because the op-log then shows
 * whether the operation was done. Everything else ends the operation, as the table of results says
 * (coord__failed).
 *
 * If one try may have taken effect, the result is UNKNOWN, unless a later try has shown what happened.
 */
#include "driver.h"

#include "base/assert.h"
#include "os/grow.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { LATES_MAX = 3, PAUSE_MAX_MS = 64, READ_TRIES = 5, FREE_OF_PAUSE = 3 };

struct ts_call *coord__call_read(struct coord__work *work, size_t index, uint32_t place,
                                 const struct ts_bytes *keys, size_t key_count) {
    struct ts_coord_call *call = &work->calls[index];
    call->place = place;
    call->call = (struct ts_call){
        .kind = TS_CALL_READ, .keys = keys, .key_count = key_count, .rows = &work->rows[index]};
    return &call->call;
}

struct ts_call *coord__call_scan(struct coord__work *work, size_t index, uint32_t place,
                                 const struct coord__range *range, size_t limit) {
    struct ts_coord_call *call = &work->calls[index];
    call->place = place;
    call->call = (struct ts_call){.kind = TS_CALL_SCAN,
                                  .from = coord__key_bytes(&range->from),
                                  .to = coord__key_bytes(&range->to),
                                  .limit = limit,
                                  .rows = &work->rows[index]};
    return &call->call;
}

/* Returns the pause after this number of tries. The first pauses are 0, because the operation that was faster
 * has already finished. */
static uint64_t pause_after(uint32_t tries) {
    if (tries <= FREE_OF_PAUSE)
        return 0;
    const uint32_t doublings = tries - FREE_OF_PAUSE - 1;
    return doublings >= 6 ? PAUSE_MAX_MS : UINT64_C(1) << doublings;
}

/* Returns whether a second read may help. Returns false for an unavailable store, so that the caller does not
 * wait for that store. */
static bool read_may_help(enum ts_store_result result) {
    const struct ts_store_meaning *meaning = ts_store_result_meaning(result);
    return meaning->fault == TS_STORE_FAULT_UNKNOWN ||
           (meaning->retry == TS_STORE_RETRY_SAME && meaning->fault != TS_STORE_FAULT_STORE);
}

struct coord__result coord__read_calls(struct ts_coord *coord, struct ts_coord_call *calls, size_t count) {
    struct coord__result result = {.result = TS_STORE_OK};
    for (uint32_t tries = 1; tries <= READ_TRIES; tries++) {
        coord->io.call(coord->io.context, calls, count);
        result.result = TS_STORE_OK;
        for (size_t i = 0; i < count && result.result == TS_STORE_OK; i++) {
            const struct ts_call *call = &calls[i].call;
            result.result = call->error.result;
            if (result.result == TS_STORE_OK && call->time_ms == 0) {
                result.result = TS_STORE_FAILED;
                snprintf(result.text, sizeof result.text, "the clock of a store is not set; set it");
            } else if (result.result != TS_STORE_OK) {
                snprintf(result.text, sizeof result.text, "%s", call->error.text);
            }
        }
        if (!read_may_help(result.result))
            break;
        if (tries < READ_TRIES)
            coord->io.pause_ms(coord->io.context, UINT64_C(1) << tries);
    }
    /* A read changes nothing, so it never returns UNKNOWN. */
    if (result.result == TS_STORE_UNKNOWN)
        result.result = TS_STORE_UNAVAILABLE;
    return result;
}

struct coord__result coord__read(struct ts_coord *coord, struct coord__work *work, size_t count) {
    return coord__read_calls(coord, work->calls, count);
}

static bool reserve_ops(struct coord__plan *plan) {
    return TS_GROW(plan->ops, plan->ops_capacity, plan->count) &&
           TS_GROW(plan->origins, plan->origins_capacity, plan->count);
}

/* Sorts the operations by place. Returns the number of places. */
static size_t arrange(struct coord__plan *plan) {
    size_t parts = 0, at = 0;
    for (uint32_t place = 0; place < plan->place_count && at < plan->count; place++) {
        const size_t from = at;
        for (size_t i = 0; i < plan->count; i++) {
            if (plan->planned[i].place != place)
                continue;
            plan->ops[at] = plan->planned[i].op;
            plan->origins[at++] = i;
        }
        if (at > from)
            plan->parts[parts++] =
                (struct ts_txn_part){.place = place, .batch = {plan->ops + from, at - from}};
    }
    return parts;
}

static void blame(const struct coord__plan *plan, size_t op, struct coord__result *result) {
    if (op >= plan->count)
        return;
    const struct coord__planned *planned = &plan->planned[plan->origins[op]];
    result->has_tag = true;
    result->tag = planned->tag;
    if (planned->tag != COORD__TAG_RECORD)
        coord__key_counter_name(planned->op.key, result->counter);
}

static enum ts_store_result result_of_txn(const struct ts_txn_result *txn) {
    switch (txn->outcome) {
    case TS_TXN_COMMITTED:
    case TS_TXN_COMMITTED_PENDING:
        return TS_STORE_OK;
    case TS_TXN_UNKNOWN:
        return TS_STORE_UNKNOWN;
    case TS_TXN_ABORTED:
    case TS_TXN_REFUSED:
        break;
    }
    /* If a store answered UNKNOWN (a lost prepare), the transaction has since been aborted. Without a reason,
     * it was refused or timed out. */
    return txn->reason == TS_STORE_OK || txn->reason == TS_STORE_UNKNOWN ? TS_STORE_UNAVAILABLE : txn->reason;
}

/* Returns whether reading and deciding again can help. The transaction has already retried the same
 * batch. */
static bool is_for_another_round(const struct coord__result *result) {
    if (result->result == TS_STORE_LIMIT)
        return result->has_tag && result->tag == COORD__TAG_LIMIT;
    return ts_store_result_meaning(result->result)->retry == TS_STORE_RETRY_READ;
}

struct coord__result coord__apply(struct ts_coord *coord, struct coord__work *work) {
    struct coord__plan *plan = &work->plan;
    if (plan->failed || !reserve_ops(plan))
        return (struct coord__result){.result = TS_STORE_FAILED, .text = "out of memory"};
    ts_assert(plan->count > 0);
    coord->io.txn(coord->io.context, plan->parts, arrange(plan), &work->txn);
    if (coord->options.transaction != NULL)
        coord->options.transaction(coord->options.context, &work->txn);
    struct coord__result result = {.result = result_of_txn(&work->txn), .version = work->txn.version};
    if (result.result == TS_STORE_OK)
        return result;
    snprintf(result.text, sizeof result.text, "%s", work->txn.text);
    blame(plan, work->txn.op, &result);
    result.again = is_for_another_round(&result);
    return result;
}

static enum coord__end infra(enum ts_infra_kind kind, const char *text, const struct coord__tries *tries,
                             struct ts_coord_detail *ret_detail) {
    ret_detail->infra.kind = tries != NULL && tries->unknown ? TS_INFRA_UNKNOWN : kind;
    snprintf(ret_detail->infra.text, sizeof ret_detail->infra.text, "%s", text);
    return COORD__END_INFRA;
}

static enum coord__end exhausted(const char *resource, const struct coord__result *result,
                                 const struct coord__tries *tries, struct ts_coord_detail *ret_detail) {
    (void)infra(TS_INFRA_PERMANENT, result->text, tries, ret_detail);
    if (ret_detail->infra.kind == TS_INFRA_UNKNOWN)
        return COORD__END_INFRA;
    ret_detail->resource = resource;
    return COORD__END_EXHAUSTED;
}

static enum coord__end counter_failed(const struct coord__tries *tries, const struct coord__result *result,
                                      struct ts_coord_detail *ret_detail) {
    if (result->result == TS_STORE_LIMIT && result->has_tag && result->tag == COORD__TAG_LIMIT)
        return infra(TS_INFRA_RETRYABLE, result->text, tries, ret_detail);
    (void)infra(TS_INFRA_DAMAGED, "", tries, ret_detail);
    snprintf(ret_detail->infra.text, sizeof ret_detail->infra.text,
             "%s is damaged: it differs from the number of records that it counts",
             result->has_tag ? result->counter : "a counter of the run");
    return COORD__END_INFRA;
}

enum ts_infra_kind ts_infra_kind_of_store(enum ts_store_result result) {
    const struct ts_store_meaning *meaning = ts_store_result_meaning(result);
    if (result == TS_STORE_DAMAGED)
        return TS_INFRA_DAMAGED;
    if (meaning->fault == TS_STORE_FAULT_UNKNOWN)
        return TS_INFRA_UNKNOWN;
    return meaning->retry == TS_STORE_RETRY_NONE ? TS_INFRA_PERMANENT : TS_INFRA_RETRYABLE;
}

enum coord__end coord__failed(const struct coord__tries *tries, const struct coord__result *result,
                              struct ts_coord_detail *ret_detail) {
    ts_assert(result->result != TS_STORE_OK);
    if (result->result == TS_STORE_TOO_LARGE)
        return exhausted("batch", result, tries, ret_detail);
    if (result->result == TS_STORE_FULL)
        return exhausted("disk", result, tries, ret_detail);
    if (result->result == TS_STORE_LIMIT || result->result == TS_STORE_NOT_A_COUNTER)
        return counter_failed(tries, result, ret_detail);
    if (result->result == TS_STORE_LATE && !tries->unknown)
        return COORD__END_LATE;
    return infra(ts_infra_kind_of_store(result->result), result->text, tries, ret_detail);
}

bool coord__again(struct ts_coord *coord, struct coord__tries *tries, const struct coord__result *result,
                  enum coord__end *ret_end, struct ts_coord_detail *ret_detail) {
    const uint64_t now_ms = coord__elapsed_ms(coord);
    if (tries->count++ == 0)
        tries->since_ms = now_ms;
    if (result->result == TS_STORE_UNKNOWN)
        tries->unknown = true;
    if (result->result == TS_STORE_LATE)
        tries->lates++;
    /* Limits the total time as well, because each try has its own retries and timeouts and may be slow. */
    const bool patient = now_ms - tries->since_ms < coord->options.patience_ms;
    const bool late_for_good = result->result == TS_STORE_LATE && tries->lates >= LATES_MAX;
    if (tries->count >= coord->options.tries_max || !patient || !result->again || late_for_good) {
        *ret_end = coord__failed(tries, result, ret_detail);
        return false;
    }
    const bool raced = result->result == TS_STORE_CHECK_FAILED || result->result == TS_STORE_LATE;
    const uint64_t pause_ms = raced ? pause_after(tries->count) : pause_after(tries->count + FREE_OF_PAUSE);
    if (pause_ms > 0)
        coord->io.pause_ms(coord->io.context, pause_ms);
    return true;
}

/*
 * Sends an insert with a deadline in the past. On every engine the insert waits for a promise that creates
 * the key, whatever the size of the promise. Then the store refuses the insert, because the deadline is
 * checked last. A plain check does not wait: on PostgreSQL an absent key has no row to wait for, and large
 * promises have no other lock.
 */
static struct coord__result try_to_insert(struct ts_coord *coord, struct coord__work *work, uint32_t place,
                                          const struct coord__key *key) {
    static const struct ts_logical_time never = {0};
    coord__plan_clear(&work->plan);
    coord__plan_check(&work->plan, place, key, 0);
    coord__plan_put(&work->plan, place, key, (struct ts_bytes){0});
    coord__plan_before(&work->plan, place, never);
    struct coord__result result = coord__apply(coord, work);
    ts_assert(result.result != TS_STORE_OK);
    /* This insert never succeeds, so after a lost reply it may be repeated. */
    if (result.result == TS_STORE_UNKNOWN)
        result.result = TS_STORE_BUSY;
    return result;
}

bool coord__wait_for_promises(struct ts_coord *coord, struct coord__work *work, uint32_t place,
                              const struct coord__key *key, struct coord__tries *tries,
                              enum coord__end *ret_end, struct ts_coord_detail *ret_detail) {
    for (;;) {
        const struct coord__result result = try_to_insert(coord, work, place, key);
        if (result.result == TS_STORE_LATE || result.result == TS_STORE_CHECK_FAILED)
            return true;
        if (!coord__again(coord, tries, &result, ret_end, ret_detail))
            return false;
    }
}

enum coord__end coord__damaged(enum ts_record_error error, const char *what,
                               struct ts_coord_detail *ret_detail) {
    struct ts_infra_error reason;
    ts_record_error_to_infra(error, &reason);
    ret_detail->infra.kind = reason.kind;
    snprintf(ret_detail->infra.text, sizeof ret_detail->infra.text, "%s: %.140s", what, reason.text);
    return COORD__END_INFRA;
}

enum coord__end coord__damaged_run(enum ts_record_error error, const char *what, struct ts_run_id run,
                                   struct ts_coord_detail *ret_detail) {
    char text[64];
    snprintf(text, sizeof text, "the %s of run %" PRIu64, what, run.v);
    return coord__damaged(error, text, ret_detail);
}

enum coord__end coord__damaged_shard(enum ts_record_error error, const char *what, struct ts_shard_key shard,
                                     struct ts_coord_detail *ret_detail) {
    char text[96];
    snprintf(text, sizeof text, "the %s of shard %" PRIu64 " of run %" PRIu64, what, shard.shard.v,
             shard.run.v);
    return coord__damaged(error, text, ret_detail);
}

enum coord__end coord__no_memory(struct ts_coord_detail *ret_detail) {
    return infra(TS_INFRA_RETRYABLE, "out of memory", NULL, ret_detail);
}
