#include "store/contract/engine.h"

#include "simple.h"
#include "store/local/memory.h"
#include "support/stops.h"

static void every_result_has_a_text_and_a_sqlstate(void **state) {
    (void)state;
#define CHECK_RESULT(suffix, text, ...)                                                                      \
    assert_string_equal(ts_store_result_text(TS_STORE_##suffix), text);                                      \
    assert_int_equal(strlen(ts_store_result_sqlstate(TS_STORE_##suffix)), 5);
    TS_STORE_RESULTS(CHECK_RESULT)
    assert_string_equal(ts_store_result_sqlstate(TS_STORE_OK), "00000");
    assert_string_equal(ts_store_result_sqlstate(TS_STORE_LATE), "40001");
    assert_string_equal(ts_store_result_sqlstate(TS_STORE_LIMIT), "54000");
    assert_string_equal(ts_store_result_sqlstate(TS_STORE_UNKNOWN), "08006");
    assert_string_equal(ts_store_result_sqlstate(TS_STORE_BUSY), "53300");
    assert_string_equal(ts_store_result_sqlstate(TS_STORE_FOREIGN), "58000");
}

static void a_text_that_is_too_long_is_cut(void **state) {
    (void)state;
    char text[400];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    struct ts_store_error error;
    assert_int_equal(store__error(&error, TS_STORE_BUSY, 3, "%s", text), TS_STORE_BUSY);
    assert_int_equal(strlen(error.text), sizeof error.text - 1);
    assert_int_equal(error.op, 3);
}

static void a_call_can_be_used_again(void **state) {
    (void)state;
    struct ts_store *store = ts_memory_open_new("memory:again", NULL);
    assert_non_null(store);
    assert_string_equal(ts_store_name(store), "memory:again");
    const struct ts_op bad = simple_put("", "x"), good = simple_put("k", "x");
    struct ts_call call = simple_put_call(&bad);
    for (int i = 0; i < 3; i++) {
        call.batch.ops = &bad;
        assert_int_equal(ts_store_run(store, &call), TS_STORE_BAD_BATCH);
        assert_int_equal(call.error.op, 0);
        call.batch.ops = &good;
        assert_int_equal(ts_store_run(store, &call), TS_STORE_OK);
        assert_string_equal(call.error.text, "");
        assert_true(call.error.op == SIZE_MAX);
        assert_string_equal(call.error.sqlstate, "00000");
    }
    ts_store_close(store);
}

static void reading_without_rows_is_our_own_mistake(void **state) {
    (void)state;
    struct ts_store *store = ts_memory_open_new("memory:", NULL);
    struct ts_call call = {.kind = TS_CALL_PREPARED};
    assert_stops("rows", ts_store_run(store, &call));
    ts_store_close(store);
}

/* Waits for more calls than fit on the stack. All of them are blocked until a promise is aborted. */
static void many_calls_are_waited_for_at_once(void **state) {
    (void)state;
    enum { MANY = 40 };
    struct ts_store *store = ts_memory_open_new("memory:", NULL);
    assert_int_equal(simple_prepare(store, "g", "k", "0"), TS_STORE_OK);
    const struct ts_op op = simple_put("k", "1");
    struct ts_call calls[MANY], *waiting[MANY];
    for (int i = 0; i < MANY; i++) {
        calls[i] = simple_put_call(&op);
        waiting[i] = &calls[i];
        ts_store_start(store, &calls[i]);
    }
    assert_int_equal(simple_finish(store, TS_CALL_ABORT, "g"), TS_STORE_OK);
    int left = MANY;
    while (left > 0) {
        ts_store_wait(waiting, MANY, 0);
        left = 0;
        for (int i = 0; i < MANY; i++)
            left += !ts_store_poll(&calls[i]);
    }
    ts_store_close(store);
}

static void waiting_ends_at_the_given_time(void **state) {
    (void)state;
    struct ts_store *store = ts_memory_open_new("memory:", NULL);
    assert_int_equal(simple_prepare(store, "g", "k", "0"), TS_STORE_OK);
    const struct ts_op op = simple_put("k", "1");
    struct ts_call call = simple_put_call(&op), *const waiting[] = {&call};
    ts_store_start(store, &call);
    uint64_t begin_ns = store->clock->monotonic_ns(store->clock->context);
    ts_store_wait(waiting, 1, begin_ns + 20000000);
    assert_true(store->clock->monotonic_ns(store->clock->context) >= begin_ns + 20000000);
    assert_false(ts_store_poll(&call));
    ts_store_cancel(&call);
    ts_store_close(store);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_result_has_a_text_and_a_sqlstate),
        cmocka_unit_test(a_text_that_is_too_long_is_cut),
        cmocka_unit_test(a_call_can_be_used_again),
        cmocka_unit_test(reading_without_rows_is_our_own_mistake),
        cmocka_unit_test(many_calls_are_waited_for_at_once),
        cmocka_unit_test(waiting_ends_at_the_given_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
