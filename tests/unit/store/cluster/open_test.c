#include "store/cluster/open.h"

#include "simple.h"

#include <stdlib.h>

static const struct ts_store_options plain = {0};

static void memory_stores_are_independent_of_each_other(void **state) {
    (void)state;
    struct ts_store *a = NULL, *b = NULL;
    struct ts_store_error error;
    assert_int_equal(ts_store_open("memory:a", &plain, &a, &error), TS_STORE_OK);
    assert_int_equal(ts_store_open("memory:a", &plain, &b, &error), TS_STORE_OK);
    assert_string_equal(ts_store_name(a), "memory:a");
    assert_int_equal(simple_run_put(a, "k", "1"), TS_STORE_OK);
    assert_true(simple_has(b, "k", NULL));
    ts_store_close(a);
    ts_store_close(b);
    ts_store_close(NULL);
}

static void the_clock_of_the_options_is_used(void **state) {
    (void)state;
    struct simple_time time = {.wall_ms = 77, .monotonic_ns = 1};
    const struct ts_store_clock clock = simple_clock(&time);
    const struct ts_store_options options = {.clock = &clock};
    struct ts_store *store = NULL;
    struct ts_store_error error;
    assert_int_equal(ts_store_open("memory:", &options, &store, &error), TS_STORE_OK);
    struct ts_call call = {.kind = TS_CALL_NOW};
    assert_int_equal(ts_store_run(store, &call), TS_STORE_OK);
    assert_int_equal(call.time_ms, 77);
    ts_store_close(store);
}

static void a_fixed_is_clock_frozen_on_embedded_stores_only(void **state) {
    (void)state;
    const struct ts_store_options options = {.now_ms = 5000};
    struct ts_store *store = NULL;
    struct ts_store_error error;
    assert_int_equal(ts_store_open("memory:", &options, &store, &error), TS_STORE_OK);
    struct ts_call call = {.kind = TS_CALL_NOW};
    assert_int_equal(ts_store_run(store, &call), TS_STORE_OK);
    assert_int_equal(call.time_ms, 5000);
    ts_store_close(store);
    store = NULL;
    assert_int_equal(ts_store_open("postgresql://u@localhost/d", &options, &store, &error),
                     TS_STORE_BAD_USAGE);
    assert_null(store);
}

static void an_invalid_store_is_refused_without_showing_a_password(void **state) {
    (void)state;
    static const char *const urls[] = {
        "",        "memory",     "rocksdb:", "sqlite:/tmp/x", "/tmp/x", "mysql://u:hunter2@h/d",
        "MEMORY:", "u:hunter2@h"};
    for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++) {
        struct ts_store *store = NULL;
        struct ts_store_error error;
        assert_int_equal(ts_store_open(urls[i], &plain, &store, &error), TS_STORE_BAD_USAGE);
        assert_null(store);
        assert_non_null(strstr(error.text, "rocksdb:DIR"));
        assert_null(strstr(error.text, "hunter2"));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_stores_are_independent_of_each_other),
        cmocka_unit_test(the_clock_of_the_options_is_used),
        cmocka_unit_test(a_fixed_is_clock_frozen_on_embedded_stores_only),
        cmocka_unit_test(an_invalid_store_is_refused_without_showing_a_password),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
