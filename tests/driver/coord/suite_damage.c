/* Records that another program has changed are reported as damaged, and are never used. */
#include "suite.h"

#include "base/endian.h"

#include <stdio.h>
#include <string.h>

/* Changes one byte of a value; a second call restores the byte. Only the record's own checksum is wrong after
 * the change. The checksum of the store is correct. */
static void damage(uint32_t place, struct ts_bytes key, size_t offset) {
    struct ts_rows rows = {0};
    struct ts_call read = {.kind = TS_CALL_READ, .keys = &key, .key_count = 1, .rows = &rows};
    struct ts_store *store = ts_cluster_store(suite.cluster, place);
    assert_int_equal(ts_store_run(store, &read), TS_STORE_OK);
    assert_int_not_equal(rows.rows[0].version, 0);
    static uint8_t bytes[TS_RECORD_MAX];
    const size_t len = rows.rows[0].value.len;
    assert_true(offset < len);
    memcpy(bytes, rows.rows[0].value.data, len);
    bytes[offset] ^= 0x20;
    const struct ts_op put = {.kind = TS_OP_PUT, .key = key, .value = ts_bytes_of(bytes, len)};
    struct ts_call apply = {.kind = TS_CALL_APPLY, .batch = {&put, 1}};
    assert_int_equal(ts_store_run(store, &apply), TS_STORE_OK);
    ts_rows_release(&rows);
}

static void damage_shard(uint64_t shard, size_t offset) {
    uint8_t key[19] = {0, 'c', 's'};
    ts_be64_store(suite.run.v, key + 3);
    ts_be64_store(shard, key + 11);
    damage(ts_coord_place_of_shard(suite.coord, (struct ts_shard_id){shard}), ts_bytes_of(key, sizeof key),
           offset);
}

static void damage_of_run(char kind, size_t offset) {
    uint8_t key[11] = {0, 'c', (uint8_t)kind};
    ts_be64_store(suite.run.v, key + 3);
    if (kind == 'r')
        damage(0, ts_bytes_of(key, sizeof key), offset);
    for (uint32_t place = 0; kind == 'g' && place < ts_cluster_count(suite.cluster); place++)
        damage(place, ts_bytes_of(key, sizeof key), offset);
}

/* Damages three kinds of counters: the run's shards ('m'), the tenant's limit ('q'), and the run's active
 * shards ('n'). */
static void damage_counters(void) {
    uint8_t key[35] = {0, 'c', 'm'};
    ts_be64_store(suite.run.v, key + 3);
    damage(0, ts_bytes_of(key, 11), 0);
    key[2] = 'q';
    memcpy(key + 3, suite.tenant.b, sizeof suite.tenant.b);
    damage(0, ts_bytes_of(key, sizeof key), 0);
    for (uint32_t place = 0; place < ts_cluster_count(suite.cluster); place++) {
        for (uint8_t stripe = 0; stripe < 8; stripe++) {
            uint8_t counter[13] = {0, 'c', 'n'};
            ts_be64_store(suite.run.v, counter + 3);
            counter[12] = stripe;
            damage(place, ts_bytes_of(counter, sizeof counter), 0);
        }
    }
}

/* Copies a value to another key. The value is intact, but under the wrong key. */
static void copy_value(uint32_t from_place, struct ts_bytes from, uint32_t to_place, struct ts_bytes to) {
    struct ts_rows rows = {0};
    struct ts_call read = {.kind = TS_CALL_READ, .keys = &from, .key_count = 1, .rows = &rows};
    assert_int_equal(ts_store_run(ts_cluster_store(suite.cluster, from_place), &read), TS_STORE_OK);
    assert_int_not_equal(rows.rows[0].version, 0);
    const struct ts_op put = {.kind = TS_OP_PUT, .key = to, .value = rows.rows[0].value};
    struct ts_call apply = {.kind = TS_CALL_APPLY, .batch = {&put, 1}};
    assert_int_equal(ts_store_run(ts_cluster_store(suite.cluster, to_place), &apply), TS_STORE_OK);
    ts_rows_release(&rows);
}

static void expect_damaged(void) {
    assert_int_equal(suite.detail.infra.kind, TS_INFRA_DAMAGED);
    assert_int_equal(ts_error_class_of(TS_VARIANT_BACKEND_ERROR, &suite.detail), TS_COORD_CLASS_ESCALATE);
    assert_non_null(strstr(suite.detail.infra.text, "damaged"));
}

static void a_damaged_shard_is_never_used(void **state) {
    (void)state;
    static const struct ts_new_shard halves[] = {{.spec.range = RANGE("b", "d")},
                                                 {.spec.range = RANGE("d", "h")}};
    suite_make_run();
    struct ts_lease lease = suite_must_acquire(1, "a");
    const struct ts_op_id op = suite_op();
    EXPECT(checkpoint, suite_checkpoint(&lease, op, KEY("c")), TS_CHECKPOINT_OK);
    damage_shard(1, 72);
    EXPECT(renew, suite_renew(&lease), TS_RENEW_BACKEND_ERROR);
    expect_damaged();
    EXPECT(checkpoint, suite_checkpoint(&lease, suite_op(), KEY("d")), TS_CHECKPOINT_BACKEND_ERROR);
    expect_damaged();
    EXPECT(checkpoint, suite_checkpoint(&lease, op, KEY("c")), TS_CHECKPOINT_BACKEND_ERROR);
    EXPECT(complete, suite_complete(&lease, suite_op(), KEY("d")), TS_COMPLETE_BACKEND_ERROR);
    expect_damaged();
    EXPECT(park, suite_park(&lease, suite_op(), TS_PARK_OTHER), TS_PARK_BACKEND_ERROR);
    expect_damaged();
    EXPECT(write, suite_write(&lease, "damaged", NULL, &(struct ts_store_error){0}), TS_WRITE_BACKEND_ERROR);
    EXPECT(release, suite_release(&lease, suite_op(), TS_BLAME_SHARD), TS_RELEASE_BACKEND_ERROR);
    EXPECT(unpark, suite_unpark(1, suite_op()), TS_UNPARK_BACKEND_ERROR);
    expect_damaged();
    EXPECT(split, suite_split_replace(&lease, suite_op(), halves, 2), TS_SPLIT_BACKEND_ERROR);
    expect_damaged();
    EXPECT(acquire, suite_acquire(1, "b", NULL), TS_ACQUIRE_BACKEND_ERROR);
    expect_damaged();
    EXPECT(get_shard, suite_get_shard(suite_shard(1)), TS_GET_SHARD_BACKEND_ERROR);
    expect_damaged();
    const struct ts_coord_run_query query = {suite.tenant, suite.run};
    static struct ts_run_progress progress;
    EXPECT(get_run, ts_coord_run_progress(suite.coord, &query, &progress, &suite.detail),
           TS_GET_RUN_BACKEND_ERROR);
    /* Other shards are not affected. */
    (void)suite_must_acquire(2, "a");
}

static void every_byte_of_a_record_counts(void **state) {
    (void)state;
    suite_make_run();
    (void)suite_record(suite_shard(1));
    static uint8_t bytes[TS_RECORD_MAX];
    size_t len;
    assert_int_equal(ts_shard_record_encode(&suite_shard_seen.record, bytes, &len), TS_RECORD_OK);
    for (size_t offset = 0; offset < len; offset += 7) {
        damage_shard(1, offset);
        EXPECT(acquire, suite_acquire(1, "a", NULL), TS_ACQUIRE_BACKEND_ERROR);
        assert_int_equal(suite.detail.infra.kind, TS_INFRA_DAMAGED);
        damage_shard(1, offset);
    }
    (void)suite_must_acquire(1, "a");
    suite_audit();
}

static void a_session_does_not_use_a_record_that_was_damaged_meanwhile(void **state) {
    (void)state;
    suite_make_run();
    const struct ts_coord_worker worker = {.tenant = suite.tenant, .worker = suite_worker("a")};
    struct ts_coord_session *session = ts_coord_session_new(suite.coord, &worker);
    assert_non_null(session);
    EXPECT(acquire, ts_coord_session_acquire(session, suite_shard(1), &suite.view, &suite.detail),
           TS_ACQUIRE_OK);
    damage_shard(1, 20);
    const struct ts_cursor cursor = KEY("c");
    EXPECT(checkpoint,
           ts_coord_session_checkpoint(session, suite_op(), &cursor, &suite.outcome, &suite.detail),
           TS_CHECKPOINT_BACKEND_ERROR);
    expect_damaged();
    ts_coord_session_free(session);
}

static void a_damaged_run_is_never_used(void **state) {
    (void)state;
    static const struct ts_new_shard more[] = {SHARD(31, "x", "z")};
    suite_make_run();
    damage_of_run('r', 56);
    struct ts_run_record run;
    const struct ts_run_config config = suite_config();
    EXPECT(get_run, suite_get_run(&run), TS_GET_RUN_BACKEND_ERROR);
    expect_damaged();
    EXPECT(create_run, suite_create(&config), TS_CREATE_RUN_BACKEND_ERROR);
    expect_damaged();
    EXPECT(register_shards, suite_register(suite_op(), more, 1), TS_REGISTER_SHARDS_BACKEND_ERROR);
    expect_damaged();
    EXPECT(run_transition, suite_end(TS_RUN_OP_FAIL_RUN, suite_op()), TS_RUN_TRANSITION_BACKEND_ERROR);
    expect_damaged();
}

static void a_damaged_guard_stops_everything_on_its_store(void **state) {
    (void)state;
    suite_make_run();
    const struct ts_lease lease = suite_must_acquire(1, "a");
    damage_of_run('g', 5);
    EXPECT(claim, suite_claim("b", NULL), TS_CLAIM_BACKEND_ERROR);
    expect_damaged();
    EXPECT(checkpoint, suite_checkpoint(&lease, suite_op(), KEY("c")), TS_CHECKPOINT_BACKEND_ERROR);
    expect_damaged();
}

static void a_damaged_counter_is_reported(void **state) {
    (void)state;
    suite_make_run();
    /* Damages all existing stripes, because shard 1 may be counted in any of them. */
    for (uint32_t place = 0; place < ts_cluster_count(suite.cluster); place++) {
        for (uint8_t stripe = 0; stripe < 8; stripe++) {
            uint8_t key[13] = {0, 'c', 'n'};
            ts_be64_store(suite.run.v, key + 3);
            key[12] = stripe;
            damage(place, ts_bytes_of(key, sizeof key), 0);
        }
    }
    const struct ts_lease lease = suite_must_acquire(1, "a");
    EXPECT(complete, suite_complete(&lease, suite_op(), KEY("c")), TS_COMPLETE_BACKEND_ERROR);
    expect_damaged();
    EXPECT(run_transition, suite_end(TS_RUN_OP_COMPLETE_RUN, suite_op()), TS_RUN_TRANSITION_BACKEND_ERROR);
    expect_damaged();
    /* The refused batch has changed nothing. */
    assert_int_equal(suite_record(suite_shard(1))->status, TS_SHARD_ACTIVE);
}

static void a_record_under_the_key_of_another_is_damage(void **state) {
    (void)state;
    suite_make_run();
    uint8_t first[19] = {0, 'c', 's'}, second[19] = {0, 'c', 's'};
    ts_be64_store(suite.run.v, first + 3);
    ts_be64_store(1, first + 11);
    ts_be64_store(suite.run.v, second + 3);
    ts_be64_store(2, second + 11);
    copy_value(
        ts_coord_place_of_shard(suite.coord, (struct ts_shard_id){1}), ts_bytes_of(first, sizeof first),
        ts_coord_place_of_shard(suite.coord, (struct ts_shard_id){2}), ts_bytes_of(second, sizeof second));
    EXPECT(acquire, suite_acquire(2, "a", NULL), TS_ACQUIRE_BACKEND_ERROR);
    expect_damaged();
    (void)suite_must_acquire(1, "a");

    /* Copies the guard of another run of the tenant over the guard of this run. */
    uint8_t own[11] = {0, 'c', 'g'}, other[11] = {0, 'c', 'g'};
    ts_be64_store(suite.run.v, own + 3);
    suite.run.v += 100000;
    suite_make_run();
    ts_be64_store(suite.run.v, other + 3);
    suite.run.v -= 100000;
    for (uint32_t place = 0; place < ts_cluster_count(suite.cluster); place++)
        copy_value(place, ts_bytes_of(other, sizeof other), place, ts_bytes_of(own, sizeof own));
    EXPECT(acquire, suite_acquire(3, "a", NULL), TS_ACQUIRE_BACKEND_ERROR);
    expect_damaged();
    EXPECT(claim, suite_claim("b", NULL), TS_CLAIM_BACKEND_ERROR);
    expect_damaged();
}

static void damage_is_named(void **state) {
    (void)state;
    suite_make_run();
    char named[80];
    damage_shard(1, 72);
    EXPECT(acquire, suite_acquire(1, "a", NULL), TS_ACQUIRE_BACKEND_ERROR);
    snprintf(named, sizeof named, "the record of shard 1 of run %llu: ", (unsigned long long)suite.run.v);
    assert_ptr_equal(strstr(suite.detail.infra.text, named), suite.detail.infra.text);
    damage_of_run('g', 5);
    EXPECT(acquire, suite_acquire(2, "a", NULL), TS_ACQUIRE_BACKEND_ERROR);
    snprintf(named, sizeof named, "the guard of run %llu: ", (unsigned long long)suite.run.v);
    assert_ptr_equal(strstr(suite.detail.infra.text, named), suite.detail.infra.text);
    damage_of_run('r', 56);
    struct ts_run_record run;
    EXPECT(get_run, suite_get_run(&run), TS_GET_RUN_BACKEND_ERROR);
    snprintf(named, sizeof named, "the record of run %llu: ", (unsigned long long)suite.run.v);
    assert_ptr_equal(strstr(suite.detail.infra.text, named), suite.detail.infra.text);
}

static void expect_named(const char *what) {
    char named[120];
    snprintf(named, sizeof named, "%s of run %llu", what, (unsigned long long)suite.run.v);
    expect_damaged();
    if (strstr(suite.detail.infra.text, named) != suite.detail.infra.text)
        fail_msg("'%s' does not begin with '%s'", suite.detail.infra.text, named);
}

/* Shard 1 is counted in stripe 4. */
static void damaged_counters_are_named(void **state) {
    (void)state;
    suite_make_run();
    const struct ts_lease lease = suite_must_acquire(1, "a");
    damage_counters();
    EXPECT(complete, suite_complete(&lease, suite_op(), KEY("c")), TS_COMPLETE_BACKEND_ERROR);
    expect_named("the counter of Active shards (stripe 4)");
    struct ts_shard_counts counts;
    const struct ts_coord_run_query query = {suite.tenant, suite.run};
    EXPECT(get_run, ts_coord_run_counts(suite.coord, &query, &counts, &suite.detail),
           TS_GET_RUN_BACKEND_ERROR);
    expect_named("the counter of Active shards (stripe 0)");
    EXPECT(run_transition, suite_end(TS_RUN_OP_FAIL_RUN, suite_op()), TS_RUN_TRANSITION_BACKEND_ERROR);
    expect_named("the counter of shards");
}

/* A caller of another tenant does not learn that a record is damaged. */
static void another_tenant_does_not_learn_of_damage(void **state) {
    (void)state;
    suite_make_run();
    struct ts_lease lease = suite_must_acquire(1, "a");
    damage_counters();
    const struct ts_tenant_id own = suite.tenant;
    suite.tenant = suite_tenant("another");
    suite_expect_foreign(&lease);
    damage_shard(1, 72);
    suite_expect_foreign(&lease);
    damage_shard(1, 72);
    /* Without the guards, the records of shard and run show the tenant. */
    damage_of_run('g', 5);
    suite_expect_foreign(&lease);
    /* Without the guards and the run's record, only the shard's record shows the tenant. */
    damage_of_run('r', 56);
    EXPECT(renew, suite_renew(&lease), TS_RENEW_TENANT_MISMATCH);
    EXPECT(get_shard, suite_get_shard(suite_shard(1)), TS_GET_SHARD_TENANT_MISMATCH);
    /* Without the guards and the shard's record, only the run's record shows the tenant. */
    damage_of_run('r', 56);
    damage_shard(1, 72);
    suite_expect_foreign(&lease);
    /* Without the records of shard and run, only the guards show the tenant. */
    damage_of_run('g', 5);
    damage_of_run('r', 56);
    suite_expect_foreign(&lease);
    const struct ts_run_config config = suite_config();
    EXPECT(create_run, suite_create(&config), TS_CREATE_RUN_RUN_ALREADY_EXISTS);
    suite.tenant = own;
    EXPECT(renew, suite_renew(&lease), TS_RENEW_BACKEND_ERROR);
    expect_damaged();
    EXPECT(run_transition, suite_end(TS_RUN_OP_FAIL_RUN, suite_op()), TS_RUN_TRANSITION_BACKEND_ERROR);
    expect_damaged();
    /* If no record shows the tenant, tenants cannot be distinguished. */
    damage_of_run('g', 5);
    suite.tenant = suite_tenant("another");
    EXPECT(renew, suite_renew(&lease), TS_RENEW_BACKEND_ERROR);
    EXPECT(claim, suite_claim("b", NULL), TS_CLAIM_BACKEND_ERROR);
    struct ts_run_record run;
    EXPECT(get_run, suite_get_run(&run), TS_GET_RUN_BACKEND_ERROR);
    expect_damaged();
}

struct walked {
    unsigned whole, damaged;
};

static bool count_whole(void *context, const struct ts_coord_shard_view *shard) {
    (void)shard;
    ((struct walked *)context)->whole++;
    return true;
}

static bool count_damaged(void *context, struct ts_shard_key shard, const struct ts_infra_error *reason) {
    assert_int_equal(shard.shard.v, 2);
    assert_int_equal(reason->kind, TS_INFRA_DAMAGED);
    ((struct walked *)context)->damaged++;
    return true;
}

static void a_walk_continues_after_a_damaged_record_on_request(void **state) {
    (void)state;
    suite_make_run();
    damage_shard(2, 72);
    struct ts_coord_shard_query query = {.run = {suite.tenant, suite.run}};
    struct walked walked = {0};
    EXPECT(get_run, ts_coord_list_shards(suite.coord, &query, count_whole, &walked, &suite.detail),
           TS_GET_RUN_BACKEND_ERROR);
    assert_int_equal(walked.whole, 1);
    query.damaged = count_damaged;
    walked = (struct walked){0};
    EXPECT(get_run, ts_coord_list_shards(suite.coord, &query, count_whole, &walked, &suite.detail),
           TS_GET_RUN_OK);
    assert_int_equal(walked.whole, 2);
    assert_int_equal(walked.damaged, 1);
}

static bool count_run(void *context, const struct ts_run_record *run) {
    (void)run;
    ((struct walked *)context)->whole++;
    return true;
}

static bool count_damaged_run(void *context, struct ts_run_id run, const struct ts_infra_error *reason) {
    assert_int_equal(run.v, suite.run.v);
    assert_int_equal(reason->kind, TS_INFRA_DAMAGED);
    ((struct walked *)context)->damaged++;
    return true;
}

static void a_list_of_runs_continues_after_a_damaged_one_on_request(void **state) {
    (void)state;
    const struct ts_run_config config = suite_config();
    for (int i = 0; i < 3; i++) {
        EXPECT(create_run, suite_create(&config), TS_CREATE_RUN_OK);
        suite.run.v += 100000;
    }
    suite.run.v -= 200000;
    damage_of_run('r', 56);
    struct ts_coord_runs_query query = {.filter = {.tenant = suite.tenant}};
    struct walked walked = {0};
    EXPECT(get_run, ts_coord_list_runs(suite.coord, &query, count_run, &walked, &suite.detail),
           TS_GET_RUN_BACKEND_ERROR);
    expect_damaged();
    assert_int_equal(walked.whole, 1);
    query.damaged = count_damaged_run;
    walked = (struct walked){0};
    EXPECT(get_run, ts_coord_list_runs(suite.coord, &query, count_run, &walked, &suite.detail),
           TS_GET_RUN_OK);
    assert_int_equal(walked.whole, 2);
    assert_int_equal(walked.damaged, 1);
    suite.run.v -= 100000;
}

const struct CMUnitTest suite_damage_tests[] = {
    suite_test(a_list_of_runs_continues_after_a_damaged_one_on_request),
    suite_test(a_record_under_the_key_of_another_is_damage),
    suite_test(damage_is_named),
    suite_test(damaged_counters_are_named),
    suite_test(another_tenant_does_not_learn_of_damage),
    suite_test(a_walk_continues_after_a_damaged_record_on_request),
    suite_test(a_damaged_shard_is_never_used),
    suite_test(every_byte_of_a_record_counts),
    suite_test(a_session_does_not_use_a_record_that_was_damaged_meanwhile),
    suite_test(a_damaged_run_is_never_used),
    suite_test(a_damaged_guard_stops_everything_on_its_store),
    suite_test(a_damaged_counter_is_reported),
    {0},
};
