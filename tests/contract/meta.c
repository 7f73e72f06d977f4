/* The meta record of a store. */
#include "contract.h"

#include <string.h>

static struct ts_meta read_meta(struct ts_store *store) {
    struct ts_meta meta = {0};
    struct ts_store_error error = {0};
    assert_int_equal(store->engine->meta_read(store, contract_deadline_ns(CONTRACT_LONG_MS), &meta, &error),
                     TS_STORE_OK);
    return meta;
}

static enum ts_store_result write_meta(struct ts_store *store, const struct ts_meta *meta) {
    struct ts_store_error error = {0};
    return store->engine->meta_write(store, contract_deadline_ns(CONTRACT_LONG_MS), meta, &error);
}

static struct ts_meta some_meta(struct ts_store *store) {
    struct ts_meta meta = read_meta(store);
    assert_false(meta.present);
    assert_int_equal(meta.version, 0);
    meta =
        (struct ts_meta){.present = true, .format = TS_META_FORMAT, .place = 1, .place_count = 3, .epoch = 7};
    memset(meta.cluster, 0xc1, sizeof meta.cluster);
    memset(meta.secret, 0x5e, sizeof meta.secret);
    memcpy(meta.routing, "xxh64", 6);
    assert_int_equal(write_meta(store, &meta), TS_STORE_OK);
    return read_meta(store);
}

static void meta_is_kept(void **state) {
    struct contract_world *world = *state;
    struct ts_meta meta = some_meta(world->store);
    contract_reopen(world);
    struct ts_meta again = read_meta(world->store);
    assert_true(again.present);
    assert_int_equal(again.version, meta.version);
    assert_int_equal(again.place, 1);
    assert_int_equal(again.place_count, 3);
    assert_int_equal(again.epoch, 7);
    assert_int_equal(again.state, TS_META_OPEN);
    assert_memory_equal(again.cluster, meta.cluster, sizeof meta.cluster);
    assert_memory_equal(again.secret, meta.secret, sizeof meta.secret);
    assert_string_equal(again.routing, "xxh64");
}

static void meta_is_written_over_only_what_was_read(void **state) {
    struct contract_world *world = *state;
    struct ts_meta first = some_meta(world->store), second = first;
    second.epoch = 8;
    assert_int_equal(write_meta(world->store, &second), TS_STORE_OK);
    assert_int_equal(write_meta(world->store, &first), TS_STORE_CHECK_FAILED);
    first.version = 0;
    assert_int_equal(write_meta(world->store, &first), TS_STORE_CHECK_FAILED);
    assert_int_equal(read_meta(world->store).epoch, 8);
}

static void a_process_with_another_idea_is_refused(void **state) {
    struct contract_world *world = *state;
    struct ts_store *store = world->store;
    struct ts_meta meta = some_meta(store), other = meta;
    store->engine->expect(store, &meta);
    expect_apply(store, TS_STORE_OK, contract_put("a", "1"));
    other.cluster[3] ^= 1;
    store->engine->expect(store, &other);
    expect_apply(store, TS_STORE_FOREIGN, contract_put("a", "2"));
    other = meta;
    other.place = 2;
    store->engine->expect(store, &other);
    expect_apply(store, TS_STORE_FOREIGN, contract_put("a", "2"));
    expect_prepare(store, TS_STORE_FOREIGN, "g", contract_put("a", "2"));
    store->engine->expect(store, &meta);
    expect_content(world, "a", "1");
    /* Another process raises the epoch, so the epoch that this process remembers is out of date. */
    other = read_meta(store);
    other.epoch++;
    assert_int_equal(write_meta(store, &other), TS_STORE_OK);
    expect_apply(store, TS_STORE_FOREIGN, contract_put("a", "2"));
    store->engine->expect(store, &other);
    expect_apply(store, TS_STORE_OK, contract_put("a", "2"));
}

static void a_closing_store_takes_no_new_promises(void **state) {
    struct contract_world *world = *state;
    struct ts_store *store = world->store;
    struct ts_meta meta = some_meta(store);
    store->engine->expect(store, &meta);
    expect_prepare(store, TS_STORE_OK, "g", contract_put("a", "1"));
    expect_prepare(store, TS_STORE_OK, "h", contract_put("b", "1"));
    meta.state = TS_META_CLOSING;
    assert_int_equal(write_meta(store, &meta), TS_STORE_OK);
    expect_prepare(store, TS_STORE_CLOSING, "i", contract_put("c", "1"));
    expect_commit(store, TS_STORE_OK, "g");
    expect_abort(store, TS_STORE_OK, "h");
    expect_content(world, "a", "1");
    expect_apply(store, TS_STORE_OK, contract_put("d", "1"));
    meta = read_meta(store);
    meta.state = TS_META_OPEN;
    meta.epoch++;
    assert_int_equal(write_meta(store, &meta), TS_STORE_OK);
    store->engine->expect(store, &meta);
    expect_prepare(store, TS_STORE_OK, "i", contract_put("c", "1"));
}

const struct CMUnitTest contract_meta_tests[] = {
    contract_test(meta_is_kept),
    contract_test(meta_is_written_over_only_what_was_read),
    contract_test(a_process_with_another_idea_is_refused),
    contract_test(a_closing_store_takes_no_new_promises),
    {0},
};
