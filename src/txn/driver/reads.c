#include "txn/driver/reads.h"

#include "base/assert.h"
#include "driver.h"

/* Refuses a read with the error of a store that cannot be reached. */
static void turn_away(const struct ts_coordinator *coordinator, uint32_t place, struct ts_call *call) {
    call->error = (struct ts_store_error){.result = TS_STORE_UNAVAILABLE, .op = SIZE_MAX, .down = true};
    snprintf(call->error.sqlstate, sizeof call->error.sqlstate, "%s",
             ts_store_result_meaning(TS_STORE_UNAVAILABLE)->sqlstate);
    txn__tell_open_breaker(coordinator, place, call->error.text, sizeof call->error.text);
    ts_rows_clear(call->rows);
    call->time_ms = 0;
    call->done = true;
}

void ts_txn_read_start(struct ts_coordinator *coordinator, uint32_t place, struct ts_call *call,
                       struct ts_txn_breaker_permit *ret_permit) {
    ts_assert(call->kind == TS_CALL_READ || call->kind == TS_CALL_SCAN);
    const uint64_t now_us = txn__now_us();
    pthread_mutex_lock(&coordinator->lock);
    const bool passes = ts_txn_breaker_ask(&coordinator->breakers[place], now_us, ret_permit);
    pthread_mutex_unlock(&coordinator->lock);
    if (passes)
        ts_store_start(ts_cluster_store(coordinator->cluster, place), call);
    else
        turn_away(coordinator, place, call);
}

static void report(struct ts_coordinator *coordinator, uint32_t place, enum ts_txn_breaker_report how,
                   struct ts_txn_breaker_permit *permit) {
    const uint64_t now_us = txn__now_us();
    pthread_mutex_lock(&coordinator->lock);
    ts_txn_breaker_report(&coordinator->breakers[place], permit, how, now_us);
    pthread_mutex_unlock(&coordinator->lock);
}

void ts_txn_read_end(struct ts_coordinator *coordinator, uint32_t place, const struct ts_call *call,
                     struct ts_txn_breaker_permit *permit) {
    ts_assert(call->done);
    const struct ts_txn_cause cause = ts_txn_cause_of_store(call);
    report(coordinator, place,
           call->error.result == TS_STORE_OK ? TS_TXN_BREAKER_SUCCESS : ts_txn_breaker_report_of(&cause),
           permit);
}

void ts_txn_read_cancelled(struct ts_coordinator *coordinator, uint32_t place,
                           struct ts_txn_breaker_permit *permit) {
    report(coordinator, place, TS_TXN_BREAKER_TURNED_AWAY, permit);
}
