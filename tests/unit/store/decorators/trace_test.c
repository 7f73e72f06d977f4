#include "store/decorators/trace.h"

#include "simple.h"
#include "store/local/memory.h"

#include <stdio.h>

enum { LINES = 32 };
static char lines[LINES][400];
static size_t line_count;
static struct simple_time now;
static struct ts_store_clock clock_of_test;
static struct ts_store *store;

static void keep(void *context, const char *line) {
    (void)context;
    assert_true(line_count < LINES);
    snprintf(lines[line_count++], sizeof lines[0], "%s", line);
}

static int fresh(void **state) {
    (void)state;
    line_count = 0;
    now = (struct simple_time){.wall_ms = 1000, .monotonic_ns = 1000};
    clock_of_test = simple_clock(&now);
    const struct ts_trace_options options = {.line = keep};
    store = ts_trace_new(ts_memory_open_new("memory:test", &clock_of_test), &options);
    return store == NULL;
}

static int clean(void **state) {
    (void)state;
    ts_store_close(store);
    return 0;
}

static void every_call_is_one_line(void **state) {
    (void)state;
    const struct ts_op ops[] = {simple_put("secret-key", "secret-value"),
                                {.kind = TS_OP_DEL, .key = TS_BYTES("x")},
                                {.kind = TS_OP_ADD, .key = TS_BYTES("n"), .delta = -3, .max = 9},
                                {.kind = TS_OP_BEFORE, .time_ms = 5000}};
    struct ts_call call = {.kind = TS_CALL_APPLY, .batch = {ops, 4}};
    assert_int_equal(ts_store_run(store, &call), TS_STORE_LIMIT);
    assert_string_equal(lines[0],
                        "apply put [10 bytes #1281] [12 bytes], del [1 bytes #1123], add [1 bytes #b47e] -3 "
                        "max 9, before 5000 -> limit (2), 0 us");
    call.batch.count = 1;
    call.kind = TS_CALL_PREPARE;
    call.gid = "ts.1";
    assert_int_equal(ts_store_run(store, &call), TS_STORE_OK);
    assert_string_equal(lines[1], "prepare ts.1 put [10 bytes #1281] [12 bytes] -> ok, 0 us");
    assert_int_equal(simple_finish(store, TS_CALL_COMMIT, "ts.1"), TS_STORE_OK);
    assert_string_equal(lines[2], "commit ts.1 -> ok, 0 us");
    assert_int_equal(simple_finish(store, TS_CALL_ABORT, "ts.1"), TS_STORE_NO_SUCH_PROMISE);
    assert_string_equal(lines[3], "abort ts.1 -> no such promise, 0 us");
    assert_true(simple_has(store, "secret-key", "secret-value"));
    assert_string_equal(lines[4], "read [10 bytes #1281] -> ok, 1 rows, 0 us");
    struct ts_rows rows = {0};
    struct ts_call scan = {.kind = TS_CALL_SCAN, .limit = 0, .rows = &rows};
    assert_int_equal(ts_store_run(store, &scan), TS_STORE_OK);
    assert_string_equal(lines[5],
                        "scan from [0 bytes #e999] to [0 bytes #e999] limit 0 -> ok, 0 rows and more, 0 us");
    ts_rows_release(&rows);
    static const enum ts_call_kind kinds[] = {TS_CALL_NOW, TS_CALL_SYNC, TS_CALL_LAG};
    for (size_t i = 0; i < 3; i++) {
        struct ts_call other = {.kind = kinds[i]};
        assert_int_equal(ts_store_run(store, &other), TS_STORE_OK);
    }
    assert_string_equal(lines[6], "now -> ok, 0 us");
    assert_string_equal(lines[7], "sync -> ok, 0 us");
    assert_string_equal(lines[8], "lag -> ok, 0 us");
    assert_int_equal(line_count, 9);
}

static void a_call_is_told_when_it_ends_with_how_long_it_took(void **state) {
    (void)state;
    assert_int_equal(simple_prepare(store, "g", "k", "1"), TS_STORE_OK);
    const struct ts_op op = simple_put("k", "2");
    struct ts_call call = simple_put_call(&op);
    call.deadline_ns = 3001000;
    ts_store_start(store, &call);
    assert_false(ts_store_poll(&call));
    assert_int_equal(line_count, 1);
    now.monotonic_ns = 3001000;
    assert_true(ts_store_poll(&call));
    assert_int_equal(line_count, 2);
    assert_non_null(strstr(lines[1], "-> timed out, waited 3000 us, 3000 us"));
}

static void long_batches_are_cut(void **state) {
    (void)state;
    enum { MANY = 100 };
    struct ts_op ops[MANY];
    uint8_t keys[MANY];
    for (uint8_t i = 0; i < MANY; i++) {
        keys[i] = i;
        ops[i] = (struct ts_op){.kind = TS_OP_DEL, .key = {&keys[i], 1}};
    }
    struct ts_call call = {.kind = TS_CALL_APPLY, .batch = {ops, MANY}};
    assert_int_equal(ts_store_run(store, &call), TS_STORE_OK);
    assert_non_null(strstr(lines[0], ", and 92 more -> ok"));
}

static void meta_is_told_without_its_secret(void **state) {
    (void)state;
    struct ts_meta meta = {.present = true,
                           .format = TS_META_FORMAT,
                           .place = 1,
                           .place_count = 3,
                           .epoch = 9,
                           .routing = "xxh64"};
    memset(meta.secret, 'S', sizeof meta.secret);
    struct ts_store_error error;
    assert_int_equal(store->engine->meta_write(store, 0, &meta, &error), TS_STORE_OK);
    assert_int_equal(store->engine->meta_read(store, 0, &meta, &error), TS_STORE_OK);
    assert_string_equal(lines[0], "meta-write store 1 of 3 epoch 9 -> ok");
    assert_string_equal(lines[1], "meta-read store 1 of 3 epoch 9 -> ok");
}

static void lines_go_to_a_file(void **state) {
    (void)state;
    FILE *file = tmpfile();
    assert_non_null(file);
    ts_trace_to_file(file, "a line");
    rewind(file);
    char read[32] = "";
    assert_non_null(fgets(read, sizeof read, file));
    assert_string_equal(read, "a line\n");
    fclose(file);
}

int main(void) {
#define TEST(function) cmocka_unit_test_setup_teardown(function, fresh, clean)
    const struct CMUnitTest tests[] = {
        TEST(every_call_is_one_line), TEST(a_call_is_told_when_it_ends_with_how_long_it_took),
        TEST(long_batches_are_cut),   TEST(meta_is_told_without_its_secret),
        TEST(lines_go_to_a_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
