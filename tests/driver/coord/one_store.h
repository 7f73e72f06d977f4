/*
 * Transactions of one store, for tests that carry out every call themselves. Retries follow the driver's
 * rules; time passes only during backoffs.
 */
#ifndef TS_TESTS_ONE_STORE_H
#define TS_TESTS_ONE_STORE_H

#include "coord/driver/io.h"
#include "support/cmocka.h"
#include "txn/virtual/virtual.h"

/* The context of a coordination's io. */
struct one_store {
    void (*call)(void *context, struct ts_coord_call *calls, size_t count);
    struct ts_txn_virtual *coordinator;
    uint64_t slept_us;
    unsigned sleeps;
};

static void one_store_start(void *context, uint32_t place, struct ts_call *call) {
    struct one_store *store = context;
    struct ts_coord_call one = {.place = place, .call = *call};
    store->call(store, &one, 1);
    *call = one.call;
}

static void one_store_wait(void *context, struct ts_call *const *calls, size_t count) {
    (void)context;
    (void)calls;
    (void)count;
    fail_msg("every call is done at once");
}

static bool one_store_pause(void *context) {
    (void)context;
    return false;
}

static uint64_t one_store_now_us(void *context) {
    return ((const struct one_store *)context)->slept_us;
}

static void one_store_sleep_us(void *context, uint64_t us) {
    struct one_store *store = context;
    store->slept_us += us;
    store->sleeps++;
}

static void one_store_txn(void *context, const struct ts_txn_part *parts, size_t count,
                          struct ts_txn_result *ret_result) {
    const struct one_store *store = context;
    assert_int_equal(count, 1);
    ts_txn_virtual_run(store->coordinator, parts, count, 0, ret_result);
}

/* Initialises the context. The caller frees the coordinator. Returns false when memory runs out. */
static bool one_store_init(struct one_store *store,
                           void (*call)(void *context, struct ts_coord_call *calls, size_t count)) {
    *store = (struct one_store){.call = call};
    const struct ts_txn_virtual_io io = {.context = store,
                                         .place_count = 1,
                                         .start = one_store_start,
                                         .wait = one_store_wait,
                                         .pause = one_store_pause,
                                         .now_us = one_store_now_us,
                                         .sleep_us = one_store_sleep_us};
    store->coordinator =
        ts_txn_virtual_new(&io, &(struct ts_txn_virtual_options){.uuid = {1}, .total_ms = 30000});
    return store->coordinator != NULL;
}

#endif
