/* Tests of deleting runs that have ended. */
#include "suite.h"

#include "base/endian.h"
#include "store/cluster/cluster.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* Returns how many keys of any kind belong to the test's run, on all stores. */
static size_t count_keys(void) {
    static const char kinds[] = "rmgnsflu";
    size_t count = 0;
    for (uint32_t place = 0; place < ts_cluster_count(suite.cluster); place++) {
        struct ts_rows rows = {0};
        for (const char *kind = kinds; *kind != '\0'; kind++) {
            uint8_t from[11] = {0, 'c', (uint8_t)*kind}, to[11] = {0, 'c', (uint8_t)*kind};
            ts_be64_store(suite.run.v, from + 3);
            ts_be64_store(suite.run.v + 1, to + 3);
            struct ts_call scan = {.kind = TS_CALL_SCAN,
                                   .from = ts_bytes_of(from, sizeof from),
                                   .to = ts_bytes_of(to, sizeof to),
                                   .limit = 10000,
                                   .rows = &rows};
            assert_int_equal(ts_store_run(ts_cluster_store(suite.cluster, place), &scan), TS_STORE_OK);
            count += rows.count;
        }
        ts_rows_release(&rows);
    }
    return count;
}

static bool count_run(void *context, const struct ts_run_record *run) {
    (void)run;
    ++*(size_t *)context;
    return true;
}

/* Checks that all records of the test's run are deleted. */
static void expect_gone(void) {
    assert_int_equal(count_keys(), 0);
    struct ts_run_record run;
    EXPECT(get_run, suite_get_run(&run), TS_GET_RUN_RUN_NOT_FOUND);
    const struct ts_coord_runs_query query = {.filter = {.tenant = suite.tenant}};
    size_t listed = 0;
    EXPECT(get_run, ts_coord_list_runs(suite.coord, &query, count_run, &listed, &suite.detail),
           TS_GET_RUN_OK);
    assert_int_equal(listed, 0);
}

static void cancel(void) {
    EXPECT(run_transition, suite_end(TS_RUN_OP_CANCEL_RUN, suite_op()), TS_RUN_TRANSITION_OK);
}

enum { MANY = 1300 };

/* Makes a run with more shards than fit into one batch. */
static void make_large_run(void) {
    static struct ts_new_shard shards[MANY];
    static char keys[MANY + 1][12];
    for (size_t i = 0; i <= MANY; i++)
        snprintf(keys[i], sizeof keys[i], "kEy-%06zu", i);
    for (size_t i = 0; i < MANY; i++)
        shards[i] = (struct ts_new_shard){
            .has_id = true,
            .id = {i + 1},
            .spec.range = {ts_bytes_of_cstring(keys[i]), ts_bytes_of_cstring(keys[i + 1])}};
    const struct ts_run_config config = suite_config();
    EXPECT(create_run, suite_create_with(&config, suite_op(), shards, MANY), TS_CREATE_RUN_OK);
}

static void a_run_that_has_not_ended_is_not_deleted(void **state) {
    (void)state;
    const struct ts_run_config config = suite_config();
    EXPECT(create_run, suite_create(&config), TS_CREATE_RUN_OK);
    EXPECT(delete_run, suite_delete(), TS_DELETE_RUN_WRONG_STATUS);
    assert_int_equal(suite.detail.run_status, TS_RUN_INITIALIZING);
    suite.run.v += 100000;
    suite_make_run();
    const size_t keys = count_keys();
    EXPECT(delete_run, suite_delete(), TS_DELETE_RUN_WRONG_STATUS);
    assert_int_equal(suite.detail.run_status, TS_RUN_ACTIVE);
    char text[256];
    ts_error_display(TS_VARIANT_WRONG_STATUS, &suite.detail, text, sizeof text);
    assert_non_null(strstr(text, "complete, fail or cancel it first"));
    assert_int_equal(count_keys(), keys);
    suite_audit();
    suite.run.v -= 100000;
}

static void a_deleted_run_leaves_nothing(void **state) {
    (void)state;
    suite_make_run();
    /* Shards of every status and in every place of the index: leased, parked, done, split and free. */
    const struct ts_lease parked = suite_must_acquire(2, "a"), cut = suite_must_acquire(3, "a");
    (void)suite_must_acquire(1, "a");
    static const struct ts_new_shard halves[] = {{.spec.range = RANGE("p", "s")},
                                                 {.spec.range = RANGE("s", "x")}};
    EXPECT(park, suite_park(&parked, suite_op(), TS_PARK_POISONED), TS_PARK_OK);
    EXPECT(split, suite_split_replace(&cut, suite_op(), halves, 2), TS_SPLIT_OK);
    const struct ts_lease done = suite_must_acquire(suite.children.children[0].v, "a");
    EXPECT(complete, suite_complete(&done, suite_op(), KEY("q")), TS_COMPLETE_OK);
    cancel();
    suite_audit();
    EXPECT(delete_run, suite_delete(), TS_DELETE_RUN_OK);
    assert_true(suite.deleted.was_there);
    assert_int_equal(suite.deleted.shards, 5);
    expect_gone();
    EXPECT(acquire, suite_acquire(1, "b", NULL), TS_ACQUIRE_SHARD_NOT_FOUND);
    /* A repeated deletion succeeds. */
    EXPECT(delete_run, suite_delete(), TS_DELETE_RUN_OK);
    assert_false(suite.deleted.was_there);
    assert_int_equal(suite.deleted.shards, 0);
}

/* Puts a key of another layer on every store. */
static void put_everywhere(struct ts_bytes key) {
    for (uint32_t place = 0; place < ts_cluster_count(suite.cluster); place++) {
        const struct ts_op put = {.kind = TS_OP_PUT, .key = key, .value = TS_BYTES("about it")};
        struct ts_call apply = {.kind = TS_CALL_APPLY, .batch = {&put, 1}};
        assert_int_equal(ts_store_run(ts_cluster_store(suite.cluster, place), &apply), TS_STORE_OK);
    }
}

static void expect_everywhere(struct ts_bytes key, bool is_there) {
    for (uint32_t place = 0; place < ts_cluster_count(suite.cluster); place++) {
        struct ts_rows rows = {0};
        struct ts_call read = {.kind = TS_CALL_READ, .keys = &key, .key_count = 1, .rows = &rows};
        assert_int_equal(ts_store_run(ts_cluster_store(suite.cluster, place), &read), TS_STORE_OK);
        assert_int_equal(rows.rows[0].version != 0, is_there);
        ts_rows_release(&rows);
    }
}

static void units_are_deleted_with_their_run_and_nothing_else_of_other_layers(void **state) {
    (void)state;
    enum { UNITS = 300 }; /* more than one batch */
    uint8_t target[TS_COORD_TARGET_LEN] = {0}, key[TS_COORD_UNIT_KEY_LEN], other[TS_COORD_UNIT_KEY_LEN];
    const struct ts_run_id neighbour = {suite.run.v + 1};
    const struct ts_bytes unit = ts_bytes_of(key, sizeof key),
                          of_neighbour = ts_bytes_of(other, sizeof other);
    ts_coord_unit_key(neighbour, target, other);
    put_everywhere(of_neighbour);
    put_everywhere(TS_BYTES("finding"));
    suite_make_run();
    for (unsigned i = 0; i < UNITS; i++) {
        target[0] = (uint8_t)i;
        target[15] = (uint8_t)(i >> 8);
        ts_coord_unit_key(suite.run, target, key);
        put_everywhere(unit);
    }
    cancel();
    EXPECT(delete_run, suite_delete(), TS_DELETE_RUN_OK);
    assert_int_equal(suite.deleted.units, UNITS * ts_cluster_count(suite.cluster));
    expect_everywhere(unit, false);
    expect_everywhere(of_neighbour, true);
    expect_everywhere(TS_BYTES("finding"), true);
    expect_gone();
}

static void the_id_of_a_deleted_run_can_be_used_again(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) {
        suite_make_run();
        const struct ts_lease lease = suite_must_acquire(1, "a");
        assert_int_equal(ts_lease_fence(&lease).v, TS_FENCE_INITIAL.v);
        EXPECT(checkpoint, suite_checkpoint(&lease, suite_op(), KEY("c")), TS_CHECKPOINT_OK);
        suite_audit();
        cancel();
        EXPECT(delete_run, suite_delete(), TS_DELETE_RUN_OK);
        assert_true(suite.deleted.was_there);
    }
    expect_gone();
}

static void a_large_run_is_deleted_in_batches_and_others_stay(void **state) {
    (void)state;
    struct ts_shard_limits before, after;
    EXPECT(get_run, ts_coord_limits(suite.coord, &suite.tenant, &before, &suite.detail), TS_GET_RUN_OK);
    suite.run.v += 100000;
    suite_make_run();
    cancel();
    suite.run.v -= 100000;
    make_large_run();
    (void)suite_must_acquire(7, "a");
    cancel();
    EXPECT(delete_run, suite_delete(), TS_DELETE_RUN_OK);
    assert_int_equal(suite.deleted.shards, MANY);
    assert_int_equal(count_keys(), 0);
    EXPECT(get_run, ts_coord_limits(suite.coord, &suite.tenant, &after, &suite.detail), TS_GET_RUN_OK);
    assert_int_equal(after.tenant.current, before.tenant.current);
    assert_int_equal(after.global.current, before.global.current);
    suite.run.v += 100000;
    suite_audit();
    EXPECT(delete_run, suite_delete(), TS_DELETE_RUN_OK);
    assert_int_equal(suite.deleted.shards, 3);
    expect_gone();
    suite.run.v -= 100000;
}

struct deleter {
    enum ts_delete_run_error error;
    struct ts_coord_deleted deleted;
    struct ts_coord_detail detail;
};

static void *delete_beside(void *context) {
    struct deleter *mine = context;
    const struct ts_coord_run_query query = {suite.tenant, suite.run};
    mine->error = ts_coord_delete_run(suite.coord, &query, &mine->deleted, &mine->detail);
    return NULL;
}

static void several_delete_a_run_at_once(void **state) {
    (void)state;
    enum { DELETERS = 3 };
    static struct deleter deleters[DELETERS];
    pthread_t threads[DELETERS];
    make_large_run();
    cancel();
    for (size_t i = 0; i < DELETERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, delete_beside, &deleters[i]), 0);
    uint64_t shards = 0;
    for (size_t i = 0; i < DELETERS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        if (deleters[i].error != TS_DELETE_RUN_OK)
            fail_msg("%s: %s", ts_delete_run_error_name(deleters[i].error), deleters[i].detail.infra.text);
        shards += deleters[i].deleted.shards;
    }
    assert_int_equal(shards, MANY);
    expect_gone();
}

/* Overwrites a record with invalid bytes. */
static void spoil(uint32_t place, char kind, uint64_t shard) {
    uint8_t key[19] = {0, 'c', (uint8_t)kind};
    ts_be64_store(suite.run.v, key + 3);
    ts_be64_store(shard, key + 11);
    const struct ts_op put = {
        .kind = TS_OP_PUT, .key = ts_bytes_of(key, shard != 0 ? 19 : 11), .value = TS_BYTES("spoilt")};
    struct ts_call apply = {.kind = TS_CALL_APPLY, .batch = {&put, 1}};
    assert_int_equal(ts_store_run(ts_cluster_store(suite.cluster, place), &apply), TS_STORE_OK);
}

static void a_lost_guard_is_reported(void **state) {
    (void)state;
    suite_make_run();
    cancel();
    uint8_t key[11] = {0, 'c', 'g'};
    ts_be64_store(suite.run.v, key + 3);
    const struct ts_op del = {.kind = TS_OP_DEL, .key = ts_bytes_of(key, sizeof key)};
    struct ts_call apply = {.kind = TS_CALL_APPLY, .batch = {&del, 1}};
    assert_int_equal(ts_store_run(ts_cluster_store(suite.cluster, 0), &apply), TS_STORE_OK);
    EXPECT(delete_run, suite_delete(), TS_DELETE_RUN_BACKEND_ERROR);
    assert_int_equal(suite.detail.infra.kind, TS_INFRA_DAMAGED);
    assert_non_null(strstr(suite.detail.infra.text, "the guard of run"));
}

static void damaged_shards_are_deleted_and_damaged_runs_are_not(void **state) {
    (void)state;
    suite_make_run();
    (void)suite_must_acquire(2, "a");
    cancel();
    for (uint64_t shard = 1; shard <= 2; shard++)
        spoil(ts_coord_place_of_shard(suite.coord, (struct ts_shard_id){shard}), 's', shard);
    EXPECT(delete_run, suite_delete(), TS_DELETE_RUN_OK);
    assert_int_equal(suite.deleted.shards, 3);
    expect_gone();
    suite_make_run();
    cancel();
    spoil(0, 'r', 0);
    const size_t keys = count_keys();
    EXPECT(delete_run, suite_delete(), TS_DELETE_RUN_BACKEND_ERROR);
    assert_int_equal(suite.detail.infra.kind, TS_INFRA_DAMAGED);
    assert_int_equal(count_keys(), keys);
    /* Other tenants do not learn of the damage. */
    suite.tenant = suite_tenant("another");
    EXPECT(delete_run, suite_delete(), TS_DELETE_RUN_TENANT_MISMATCH);
}

const struct CMUnitTest suite_delete_tests[] = {
    suite_test(a_run_that_has_not_ended_is_not_deleted),
    suite_test(a_deleted_run_leaves_nothing),
    suite_test(units_are_deleted_with_their_run_and_nothing_else_of_other_layers),
    suite_test(the_id_of_a_deleted_run_can_be_used_again),
    suite_test(a_large_run_is_deleted_in_batches_and_others_stay),
    suite_test(several_delete_a_run_at_once),
    suite_test(a_lost_guard_is_reported),
    suite_test(damaged_shards_are_deleted_and_damaged_runs_are_not),
    {0},
};
