/*
 * Tests one batch on one store. Admission, limits and breakers treat the batch like a transaction. The batch
 * needs no allocation.
 */
#include "support/cmocka.h"

#include "stage.h"

#include "base/bytes.h"

#include <stdlib.h>
#include <string.h>

enum { MANY = 100 };

/* Number of allocations by this thread, in all linked code. */
static _Thread_local uint64_t allocations;

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_realloc(void *memory, size_t size);

void *__wrap_malloc(size_t size) {
    allocations++;
    return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size) {
    allocations++;
    return __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size) {
    allocations++;
    return __real_realloc(memory, size);
}

static struct stage stage;
static struct ts_txn_result result;

static int set_up(void **state) {
    (void)state;
    stage_init(&stage, 2);
    stage_open(&stage);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    stage_no_faults(&stage);
    stage_release(&stage);
    return 0;
}

static void apply(const struct ts_op *ops, size_t count) {
    const struct ts_txn_part part = {.place = 1, .batch = {ops, count}};
    ts_txn_apply(stage.coordinator, &part, NULL, &result);
}

static void it_goes_to_its_store_whatever_its_keys_route_to(void **state) {
    (void)state;
    char key[40];
    stage_key(stage.cluster, 0, "k", key);
    const struct ts_op ops[] = {stage_put(key, "1")};
    apply(ops, 1);
    assert_int_equal(result.outcome, TS_TXN_COMMITTED);
    assert_string_equal(result.sqlstate, "00000");
    assert_false(result.global);
    assert_int_equal(stage_number(stage.cluster, 1, key), 1);
    assert_int_equal(stage_number(stage.cluster, 0, key), -1);
    assert_true(result.version != 0);
    assert_int_equal(result.version, stage_version(stage.cluster, 1, key));
}

static void a_failure_names_its_operation_and_is_not_repeated(void **state) {
    (void)state;
    const struct ts_op first[] = {stage_put("a", "1")};
    apply(first, 1);
    const struct ts_op ops[] = {stage_put("b", "2"),
                                {.kind = TS_OP_CHECK, .key = TS_BYTES("a"), .version = result.version + 1},
                                stage_put("a", "2")};
    apply(ops, 3);
    assert_int_equal(result.outcome, TS_TXN_ABORTED);
    assert_int_equal(result.reason, TS_STORE_CHECK_FAILED);
    assert_int_equal(result.op, 1);
    assert_int_equal(result.attempts, 1);
    assert_int_equal(result.version, 0);
    assert_int_equal(stage_number(stage.cluster, 1, "b"), -1);
}

static void a_temporary_failure_is_repeated_and_counted(void **state) {
    (void)state;
    const struct ts_op ops[] = {stage_add("n", 1)};
    stage_fault(&stage, 1, TS_CALL_APPLY, TS_FAULT_ERROR, TS_STORE_BUSY, 2);
    apply(ops, 1);
    assert_int_equal(result.outcome, TS_TXN_COMMITTED);
    assert_int_equal(result.attempts, 3);
    assert_int_equal(stage_number(stage.cluster, 1, "n"), 1);
    assert_int_equal(stage_metric(&stage, "\nturnstone_xs_total_committed "), 1);
    assert_true(result.latency.retry_backoff_us > 0);
    assert_true(result.latency.commit_wal_us <= result.latency.total_us);
}

static void a_lost_reply_is_unknown(void **state) {
    (void)state;
    const struct ts_op ops[] = {stage_add("n", 1)};
    stage_fault(&stage, 1, TS_CALL_APPLY, TS_FAULT_LOST_REPLY, TS_STORE_OK, 1);
    apply(ops, 1);
    assert_int_equal(result.outcome, TS_TXN_UNKNOWN);
    assert_int_equal(result.attempts, 1);
}

static void an_unavailable_store_is_not_asked_for_ever(void **state) {
    (void)state;
    const struct ts_op ops[] = {stage_add("n", 1)};
    stage_fault(&stage, 1, TS_CALL_APPLY, TS_FAULT_ERROR, TS_STORE_UNAVAILABLE, 1000);
    for (uint32_t i = 0; i < stage.config.breaker.failure_threshold; i++)
        apply(ops, 1);
    assert_int_equal(result.outcome, TS_TXN_ABORTED);
    apply(ops, 1);
    assert_int_equal(result.outcome, TS_TXN_REFUSED);
    assert_string_equal(result.cause, "circuit_breaker");
    assert_int_equal(result.attempts, 0);
    const struct ts_txn_part elsewhere = {.place = 0, .batch = {ops, 1}};
    ts_txn_apply(stage.coordinator, &elsewhere, NULL, &result);
    assert_int_equal(result.outcome, TS_TXN_COMMITTED);
}

static void an_impossible_batch_is_refused(void **state) {
    (void)state;
    static const uint8_t reserved[] = {TS_TXN_RESERVED_BYTE, 'x'};
    const struct ts_op ops[] = {stage_put("a", "1"),
                                {.kind = TS_OP_PUT, .key = ts_bytes_of(reserved, 2), .value = TS_BYTES("1")}};
    apply(ops, 2);
    assert_int_equal(result.outcome, TS_TXN_REFUSED);
    assert_int_equal(result.op, 1);
    const struct ts_txn_part nowhere = {.place = 2, .batch = {ops, 1}};
    ts_txn_apply(stage.coordinator, &nowhere, NULL, &result);
    assert_int_equal(result.outcome, TS_TXN_REFUSED);
    assert_int_equal(result.reason, TS_STORE_BAD_BATCH);
}

/* The store allocates; the layers above it do not. */
static void it_allocates_nothing(void **state) {
    (void)state;
    const struct ts_op ops[] = {stage_put("a", "1"), stage_put("b", "2"), stage_add("n", 1)};
    apply(ops, 3);
    uint64_t before = allocations;
    for (int i = 0; i < MANY; i++) {
        struct ts_call call = {.kind = TS_CALL_APPLY, .batch = {ops, 3}};
        assert_int_equal(ts_store_run(ts_cluster_store(stage.cluster, 1), &call), TS_STORE_OK);
    }
    const uint64_t by_the_store = allocations - before;
    before = allocations;
    for (int i = 0; i < MANY; i++) {
        apply(ops, 3);
        assert_int_equal(result.outcome, TS_TXN_COMMITTED);
    }
    assert_true(by_the_store > 0); /* shows that the test counts allocations */
    assert_int_equal(allocations - before, by_the_store);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(it_goes_to_its_store_whatever_its_keys_route_to),
        TEST(a_failure_names_its_operation_and_is_not_repeated),
        TEST(a_temporary_failure_is_repeated_and_counted),
        TEST(a_lost_reply_is_unknown),
        TEST(an_unavailable_store_is_not_asked_for_ever),
        TEST(an_impossible_batch_is_refused),
        TEST(it_allocates_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
