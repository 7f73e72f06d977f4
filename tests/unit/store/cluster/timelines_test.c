/* Tests notes about timelines, on memory stores that have timelines. */
#include "timelines.h"

#include "simple.h"
#include "store/cluster/open.h"

#include <string.h>

enum { STORES = 3 };

static struct ts_store *stores[STORES];
static struct ts_engine engine;    /* the memory engine, with timelines */
static uint64_t timelines[STORES]; /* the highest timeline that each store knows */
static bool is_down[STORES];
static unsigned reads, writes;

static size_t place_of(const struct ts_store *store) {
    size_t place = 0;
    while (stores[place] != store)
        place++;
    return place;
}

static uint64_t timeline(struct ts_store *store) {
    return timelines[place_of(store)];
}

static void refuse_below(struct ts_store *store, uint64_t highest) {
    timelines[place_of(store)] = highest;
}

static enum ts_store_result call(void *context, uint32_t place, struct ts_call *call) {
    (void)context;
    if (is_down[place])
        return TS_STORE_UNAVAILABLE;
    if (call->kind == TS_CALL_READ)
        reads++;
    else
        writes++;
    return ts_store_run(stores[place], call);
}

static const struct store__timelines all = {stores, STORES, call, NULL};

static int begin(void **state) {
    (void)state;
    for (size_t i = 0; i < STORES; i++) {
        struct ts_store_error error;
        assert_int_equal(ts_store_open("memory:", &(struct ts_store_options){0}, &stores[i], &error),
                         TS_STORE_OK);
        assert_non_null(stores[i]);
        engine = *stores[i]->engine;
        timelines[i] = 1;
        is_down[i] = false;
    }
    engine.timeline = timeline;
    engine.refuse_below = refuse_below;
    for (size_t i = 0; i < STORES; i++)
        stores[i]->engine = &engine;
    reads = writes = 0;
    return 0;
}

static int end(void **state) {
    (void)state;
    for (size_t i = 0; i < STORES; i++)
        ts_store_close(stores[i]);
    return 0;
}

static void a_note_has_these_bytes(void **state) {
    (void)state;
    uint8_t key[STORE_TIMELINE_KEY_LEN], value[STORE_TIMELINE_LEN];
    store__timeline_key(2, key);
    assert_memory_equal(key, ((uint8_t[]){0, 'l', 0, 0, 0, 2}), sizeof key);
    store__timeline_encode(258, value);
    assert_memory_equal(value, ((uint8_t[]){'T', 'S', 't', 'l', 1, 2, 1, 0, 0, 0, 0, 0, 0}), 13);
    assert_int_equal(store__timeline_decode(ts_bytes_of(value, sizeof value)), 258);
    for (size_t i = 0; i < sizeof value; i++) {
        value[i] ^= 1;
        assert_int_equal(store__timeline_decode(ts_bytes_of(value, sizeof value)), 0);
        value[i] ^= 1;
    }
    assert_int_equal(store__timeline_decode(ts_bytes_of(value, sizeof value - 1)), 0);
}

static void servers_that_were_never_replaced_need_no_note(void **state) {
    (void)state;
    store__timelines_note(&all, false);
    assert_int_equal(reads + writes, 0);
}

static void other_processes_learn_from_the_other_stores(void **state) {
    (void)state;
    timelines[1] = 3;
    store__timelines_note(&all, false);
    assert_int_equal(writes, 2); /* on stores 0 and 2 */
    store__timelines_note(&all, false);
    assert_int_equal(writes, 2);
    /* A new process reaches the old server of store 1, and store 2. Store 0 does not answer. */
    timelines[1] = 1;
    is_down[0] = true;
    assert_true(store__timelines_learn(&all));
    assert_int_equal(timelines[1], 3);
    assert_int_equal(timelines[0], 1);
    assert_int_equal(timelines[2], 1);
    assert_false(store__timelines_learn(&all));
}

static void a_note_never_falls_unless_it_is_replaced(void **state) {
    (void)state;
    timelines[1] = 3;
    store__timelines_note(&all, false);
    timelines[1] = 2;
    store__timelines_note(&all, false);
    assert_int_equal(writes, 2);
    store__timelines_note(&all, true);
    assert_int_equal(writes, 4);
    timelines[1] = 1;
    assert_true(store__timelines_learn(&all));
    assert_int_equal(timelines[1], 2);
}

static void a_store_keeps_no_note_about_itself(void **state) {
    (void)state;
    timelines[1] = 3;
    store__timelines_note(&all, false);
    timelines[1] = 1;
    is_down[0] = is_down[2] = true;
    assert_false(store__timelines_learn(&all));
    assert_int_equal(timelines[1], 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_note_has_these_bytes, begin, end),
        cmocka_unit_test_setup_teardown(servers_that_were_never_replaced_need_no_note, begin, end),
        cmocka_unit_test_setup_teardown(other_processes_learn_from_the_other_stores, begin, end),
        cmocka_unit_test_setup_teardown(a_note_never_falls_unless_it_is_replaced, begin, end),
        cmocka_unit_test_setup_teardown(a_store_keeps_no_note_about_itself, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
