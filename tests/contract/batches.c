/* Versions, checks, writes, counters, time. */
#include "contract.h"

#include "base/number.h"

#include <stdio.h>

static void an_absent_key_has_version_0(void **state) {
    struct contract_world *world = *state;
    assert_int_equal(contract_version(world, "nothing"), 0);
    assert_int_equal(world->rows.rows[0].value.len, 0);
    assert_true(ts_bytes_equal(world->rows.rows[0].key, B("nothing")));
}

static void every_write_gives_a_version_that_the_key_never_had(void **state) {
    struct contract_world *world = *state;
    uint64_t seen[8];
    for (size_t i = 0; i < 8; i++) {
        if (i == 3 || i == 5)
            expect_apply(world->store, TS_STORE_OK, contract_del("k"));
        expect_apply(world->store, TS_STORE_OK, i == 6 ? contract_add("k", 1, 10) : contract_put("k", "7"));
        seen[i] = contract_version(world, "k");
        assert_int_not_equal(seen[i], 0);
        for (size_t j = 0; j < i; j++)
            assert_int_not_equal(seen[j], seen[i]);
    }
}

static void an_apply_returns_its_version(void **state) {
    struct contract_world *world = *state;
    const struct ts_op ops[] = {contract_put("a", "1"), contract_add("n", 1, 10)};
    const struct ts_call call = contract_run_apply(world->store, ops, 2, 0);
    expect_result(&call, TS_STORE_OK);
    assert_int_not_equal(call.version, 0);
    assert_int_equal(contract_version(world, "a"), call.version);
    assert_int_equal(contract_version(world, "n"), call.version);

    const struct ts_op checked[] = {contract_check("a", call.version), contract_put("a", "2"),
                                    contract_before(UINT64_MAX)};
    const struct ts_call next = contract_run_apply(world->store, checked, 3, 0);
    expect_result(&next, TS_STORE_OK);
    assert_int_equal(contract_version(world, "a"), next.version);

    const struct ts_call late = contract_run_apply(world->store, checked, 3, 0);
    expect_result(&late, TS_STORE_CHECK_FAILED);
    assert_int_equal(late.version, 0);
}

static void versions_are_new_after_a_reopen_too(void **state) {
    struct contract_world *world = *state;
    expect_apply(world->store, TS_STORE_OK, contract_put("k", "1"));
    uint64_t before = contract_version(world, "k");
    expect_apply(world->store, TS_STORE_OK, contract_del("k"));
    contract_reopen(world);
    expect_apply(world->store, TS_STORE_OK, contract_put("k", "1"));
    assert_true(contract_version(world, "k") > before);
}

static void applied_operations_survive_a_reopen(void **state) {
    struct contract_world *world = *state;
    expect_apply(world->store, TS_STORE_OK, contract_put("a", "1"), contract_put("b", ""));
    uint64_t version = contract_version(world, "a");
    contract_reopen(world);
    expect_content(world, "a", "1");
    assert_int_equal(contract_version(world, "a"), version);
    expect_content(world, "b", "");
}

static void a_check_passes_only_for_the_very_version(void **state) {
    struct contract_world *world = *state;
    expect_apply(world->store, TS_STORE_OK, contract_put("k", "1"));
    uint64_t version = contract_version(world, "k");
    expect_apply(world->store, TS_STORE_OK, contract_check("k", version), contract_put("x", "1"));
    expect_apply(world->store, TS_STORE_CHECK_FAILED, contract_put("x", "2"),
                 contract_check("k", version + 1));
    expect_content(world, "x", "1");
    expect_apply(world->store, TS_STORE_OK, contract_check("k", version), contract_put("k", "2"));
    expect_apply(world->store, TS_STORE_CHECK_FAILED, contract_check("k", version), contract_put("k", "3"));
    expect_content(world, "k", "2");
}

static void a_check_of_an_absent_key_fails(void **state) {
    struct contract_world *world = *state;
    expect_apply(world->store, TS_STORE_CHECK_FAILED, contract_check("nothing", 1), contract_put("x", "1"));
    expect_content(world, "x", NULL);
}

static void a_failed_check_names_its_operation(void **state) {
    struct contract_world *world = *state;
    const struct ts_op ops[] = {contract_put("a", "1"), contract_put("b", "1"), contract_check("c", 5)};
    const struct ts_call call =
        contract_run_apply(world->store, ops, 3, contract_deadline_ns(CONTRACT_LONG_MS));
    expect_result(&call, TS_STORE_CHECK_FAILED);
    assert_int_equal(call.error.op, 2);
    assert_string_equal(call.error.sqlstate, "40001");
}

static void an_insert_succeeds_once(void **state) {
    struct contract_world *world = *state;
    expect_apply(world->store, TS_STORE_OK, contract_check("k", 0), contract_put("k", "first"));
    expect_apply(world->store, TS_STORE_CHECK_FAILED, contract_check("k", 0), contract_put("k", "second"));
    expect_content(world, "k", "first");
    expect_apply(world->store, TS_STORE_OK, contract_del("k"));
    expect_apply(world->store, TS_STORE_OK, contract_put("k", "third"), contract_check("k", 0));
    expect_content(world, "k", "third");
}

enum { MANY_KEYS = 40 };

/* A batch that checks and puts "changed" and "made", and only checks "seen". It also puts `puts` other keys,
 * which sort before or after these three. */
struct mixed {
    char keys[MANY_KEYS][8];
    struct ts_op ops[MANY_KEYS + 5];
    size_t puts;
};

static void mix(size_t puts, const uint64_t versions[static 3], struct mixed *ret_mixed) {
    ret_mixed->puts = puts;
    for (size_t i = 0; i < puts; i++) {
        snprintf(ret_mixed->keys[i], sizeof ret_mixed->keys[i], "%c%zu", i % 2 == 0 ? 'a' : 'z', i);
        ret_mixed->ops[i] = contract_put(ret_mixed->keys[i], "put");
    }
    struct ts_op *rest = ret_mixed->ops + puts;
    rest[0] = contract_check("changed", versions[0]);
    rest[1] = contract_put("changed", "new");
    rest[2] = contract_check("made", versions[1]);
    rest[3] = contract_put("made", "new");
    rest[4] = contract_check("seen", versions[2]);
}

static struct ts_call run_mixed(struct contract_world *world, const struct mixed *mixed) {
    return contract_run_apply(world->store, mixed->ops, mixed->puts + 5,
                              contract_deadline_ns(CONTRACT_LONG_MS));
}

/* An engine may apply small batches differently from large batches, but callers must not notice this. */
static void a_batch_means_the_same_however_many_keys_it_has(void **state) {
    struct contract_world *world = *state;
    static const size_t counts[] = {0, 1, 4, 5, 6, 29, 30, MANY_KEYS};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        expect_apply(world->store, TS_STORE_OK, contract_put("changed", "old"), contract_put("seen", "old"),
                     contract_del("made"), contract_del("a0"));
        const uint64_t changed = contract_version(world, "changed"), seen = contract_version(world, "seen");
        const uint64_t wrong[][3] = {
            {changed + 1, 0, seen}, {changed, changed, seen}, {changed, 0, seen + 1}};
        struct mixed mixed;
        for (size_t failing = 0; failing < 3; failing++) {
            mix(counts[i], wrong[failing], &mixed);
            const struct ts_call call = run_mixed(world, &mixed);
            expect_result(&call, TS_STORE_CHECK_FAILED);
            assert_int_equal(call.error.op, counts[i] + 2 * failing);
            expect_content(world, "a0", NULL);
            expect_content(world, "changed", "old");
        }
        mix(counts[i], (const uint64_t[]){changed, 0, seen}, &mixed);
        struct ts_call call = run_mixed(world, &mixed);
        expect_result(&call, TS_STORE_OK);
        expect_content(world, "changed", "new");
        expect_content(world, "made", "new");
        expect_content(world, "a0", counts[i] > 0 ? "put" : NULL);
        assert_int_equal(contract_version(world, "made"), contract_version(world, "changed"));
        assert_true(contract_version(world, "changed") > changed);
        /* If several operations fail, the result names the one with the lowest key. */
        mix(counts[i], (const uint64_t[]){contract_version(world, "changed"), 0, seen + 1}, &mixed);
        call = run_mixed(world, &mixed);
        expect_result(&call, TS_STORE_CHECK_FAILED);
        assert_int_equal(call.error.op, counts[i] + 2);
    }
}

static void deleting_an_absent_key_is_no_error(void **state) {
    struct contract_world *world = *state;
    expect_apply(world->store, TS_STORE_OK, contract_del("nothing"), contract_put("x", "1"));
    expect_content(world, "x", "1");
}

static void a_checked_delete_removes_that_version_only(void **state) {
    struct contract_world *world = *state;
    expect_apply(world->store, TS_STORE_OK, contract_put("k", "1"));
    uint64_t version = contract_version(world, "k");
    expect_apply(world->store, TS_STORE_CHECK_FAILED, contract_check("k", version + 1), contract_del("k"));
    expect_apply(world->store, TS_STORE_OK, contract_check("k", version), contract_del("k"));
    expect_content(world, "k", NULL);
}

static void an_empty_batch_succeeds(void **state) {
    struct contract_world *world = *state;
    const struct ts_call call =
        contract_run_apply(world->store, NULL, 0, contract_deadline_ns(CONTRACT_LONG_MS));
    expect_result(&call, TS_STORE_OK);
}

static void an_addition_counts_from_0_and_keeps_its_limits(void **state) {
    struct contract_world *world = *state;
    struct ts_store *store = world->store;
    expect_apply(store, TS_STORE_OK, contract_add("n", 5, 10));
    expect_content(world, "n", "5");
    expect_apply(store, TS_STORE_OK, contract_add("n", 5, 10));
    expect_content(world, "n", "10");
    expect_apply(store, TS_STORE_LIMIT, contract_add("n", 1, 10), contract_put("x", "1"));
    expect_apply(store, TS_STORE_LIMIT, contract_add("n", -11, 10));
    expect_content(world, "n", "10");
    expect_content(world, "x", NULL);
    expect_apply(store, TS_STORE_OK, contract_add("n", -10, 10));
    expect_content(world, "n", "0");
    expect_apply(store, TS_STORE_LIMIT, contract_add("fresh", -1, 10));
    expect_content(world, "fresh", NULL);
}

static void an_addition_reaches_the_largest_number_and_stops_there(void **state) {
    struct contract_world *world = *state;
    expect_apply(world->store, TS_STORE_OK, contract_add("n", INT64_MAX, INT64_MAX));
    expect_content(world, "n", "9223372036854775807");
    expect_apply(world->store, TS_STORE_LIMIT, contract_add("n", 1, INT64_MAX));
    expect_apply(world->store, TS_STORE_LIMIT, contract_add("n", INT64_MIN, INT64_MAX));
    expect_apply(world->store, TS_STORE_OK, contract_add("n", -INT64_MAX, INT64_MAX));
    expect_content(world, "n", "0");
}

static void a_value_that_is_not_a_number_is_not_a_counter(void **state) {
    struct contract_world *world = *state;
    static const char *const values[] = {"",     "x",  "-1", "1.5", " 1", "1 ", "9223372036854775808",
                                         "0x10", "1\n"};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        expect_apply(world->store, TS_STORE_OK, contract_put("n", values[i]));
        expect_apply(world->store, TS_STORE_NOT_A_COUNTER, contract_add("n", 1, 10));
        expect_content(world, "n", values[i]);
    }
}

static void an_addition_may_come_with_a_check_of_its_key(void **state) {
    struct contract_world *world = *state;
    expect_apply(world->store, TS_STORE_OK, contract_put("n", "41"));
    uint64_t version = contract_version(world, "n");
    expect_apply(world->store, TS_STORE_OK, contract_check("n", version), contract_add("n", 1, 100));
    expect_content(world, "n", "42");
    expect_apply(world->store, TS_STORE_CHECK_FAILED, contract_check("n", version),
                 contract_add("n", 1, 100));
}

static void before_holds_until_its_time(void **state) {
    struct contract_world *world = *state;
    uint64_t now_ms = contract_now_ms(world->store);
    expect_apply(world->store, TS_STORE_OK, contract_before(now_ms + 3600000), contract_put("x", "1"));
    expect_apply(world->store, TS_STORE_LATE, contract_before(now_ms), contract_put("x", "2"));
    expect_apply(world->store, TS_STORE_LATE, contract_put("x", "2"), contract_before(0));
    expect_content(world, "x", "1");
    expect_prepare(world->store, TS_STORE_LATE, "g", contract_before(now_ms), contract_put("x", "2"));
    expect_prepare(world->store, TS_STORE_OK, "g", contract_before(now_ms + 3600000), contract_put("x", "2"));
    expect_commit(world->store, TS_STORE_OK, "g");
    expect_content(world, "x", "2");
}

static void time_does_not_go_back(void **state) {
    struct contract_world *world = *state;
    uint64_t before_ms = 0;
    for (int i = 0; i < 100; i++) {
        uint64_t now_ms = contract_now_ms(world->store);
        assert_true(now_ms >= before_ms);
        before_ms = now_ms;
    }
    (void)contract_version(world, "k");
    struct ts_call call = {.kind = TS_CALL_PREPARED, .rows = &world->rows};
    (void)ts_store_run(world->store, &call);
    expect_result(&call, TS_STORE_OK);
    assert_true(call.time_ms >= before_ms);
}

static void bad_batches_change_nothing(void **state) {
    struct contract_world *world = *state;
    struct ts_store *store = world->store;
    expect_apply(store, TS_STORE_BAD_BATCH, contract_put("k", "1"), contract_put("k", "2"));
    expect_apply(store, TS_STORE_BAD_BATCH, contract_put("k", "1"), contract_del("k"));
    expect_apply(store, TS_STORE_BAD_BATCH, contract_add("k", 1, 5), contract_put("k", "1"));
    expect_apply(store, TS_STORE_BAD_BATCH, contract_check("k", 3), contract_check("k", 3));
    expect_apply(store, TS_STORE_BAD_BATCH, contract_check("k", 0), contract_put("other", "1"));
    expect_apply(store, TS_STORE_BAD_BATCH, contract_check("k", 0), contract_del("k"));
    expect_apply(store, TS_STORE_BAD_BATCH, contract_check("k", 0), contract_add("k", 1, 5));
    expect_apply(store, TS_STORE_BAD_BATCH, contract_put("", "1"));
    expect_apply(store, TS_STORE_BAD_BATCH, contract_add("k", 1, (uint64_t)INT64_MAX + 1));
    expect_prepare(store, TS_STORE_BAD_BATCH, "", contract_put("k", "1"));
    expect_prepare(store, TS_STORE_BAD_BATCH, "new\nline", contract_put("k", "1"));
    expect_content(world, "k", NULL);
}

/* Operations that may not be in one batch are found even among many operations, which engines search
 * differently. */
static void bad_pairs_are_found_among_many(void **state) {
    struct contract_world *world = *state;
    enum { MANY = 40 };
    struct ts_op ops[MANY + 2];
    char keys[MANY][8];
    for (int i = 0; i < MANY; i++) {
        snprintf(keys[i], sizeof keys[i], "m%d", i);
        ops[i] = contract_put(keys[i], "1");
    }
    ops[MANY] = contract_put("m7", "2");
    struct ts_call call =
        contract_run_apply(world->store, ops, MANY + 1, contract_deadline_ns(CONTRACT_LONG_MS));
    expect_result(&call, TS_STORE_BAD_BATCH);
    assert_int_equal(call.error.op, MANY);
    ops[MANY] = contract_check("absent", 0);
    call = contract_run_apply(world->store, ops, MANY + 1, contract_deadline_ns(CONTRACT_LONG_MS));
    expect_result(&call, TS_STORE_BAD_BATCH);
    ops[MANY] = contract_check("m7", 0);
    ops[MANY + 1] = contract_check("m7", 0);
    call = contract_run_apply(world->store, ops, MANY + 2, contract_deadline_ns(CONTRACT_LONG_MS));
    expect_result(&call, TS_STORE_BAD_BATCH);
    call = contract_run_apply(world->store, ops, MANY + 1, contract_deadline_ns(CONTRACT_LONG_MS));
    expect_result(&call, TS_STORE_OK);
    expect_content(world, "m39", "1");
}

static void a_deadline_that_is_over_changes_nothing(void **state) {
    struct contract_world *world = *state;
    const struct ts_op op = contract_put("k", "1");
    const struct ts_call call = contract_run_apply(world->store, &op, 1, 1);
    expect_result(&call, TS_STORE_TIMED_OUT);
    expect_content(world, "k", NULL);
}

static void sync_succeeds(void **state) {
    struct contract_world *world = *state;
    struct ts_call call = {.kind = TS_CALL_SYNC, .deadline_ns = contract_deadline_ns(CONTRACT_LONG_MS)};
    (void)ts_store_run(world->store, &call);
    expect_result(&call, TS_STORE_OK);
}

static void nothing_lags_without_standbys(void **state) {
    struct contract_world *world = *state;
    expect_apply(world->store, TS_STORE_OK, contract_put("a", "1"));
    struct ts_call call = {
        .kind = TS_CALL_LAG, .deadline_ns = contract_deadline_ns(CONTRACT_LONG_MS), .lag_ms = 7};
    (void)ts_store_run(world->store, &call);
    expect_result(&call, TS_STORE_OK);
    assert_int_equal(call.lag_ms, 0);
}

const struct CMUnitTest contract_batch_tests[] = {
    contract_test(an_absent_key_has_version_0),
    contract_test(every_write_gives_a_version_that_the_key_never_had),
    contract_test(an_apply_returns_its_version),
    contract_test(versions_are_new_after_a_reopen_too),
    contract_test(applied_operations_survive_a_reopen),
    contract_test(a_check_passes_only_for_the_very_version),
    contract_test(a_check_of_an_absent_key_fails),
    contract_test(a_failed_check_names_its_operation),
    contract_test(an_insert_succeeds_once),
    contract_test(a_batch_means_the_same_however_many_keys_it_has),
    contract_test(deleting_an_absent_key_is_no_error),
    contract_test(a_checked_delete_removes_that_version_only),
    contract_test(an_empty_batch_succeeds),
    contract_test(an_addition_counts_from_0_and_keeps_its_limits),
    contract_test(an_addition_reaches_the_largest_number_and_stops_there),
    contract_test(a_value_that_is_not_a_number_is_not_a_counter),
    contract_test(an_addition_may_come_with_a_check_of_its_key),
    contract_test(before_holds_until_its_time),
    contract_test(time_does_not_go_back),
    contract_test(bad_batches_change_nothing),
    contract_test(bad_pairs_are_found_among_many),
    contract_test(a_deadline_that_is_over_changes_nothing),
    contract_test(sync_succeeds),
    contract_test(nothing_lags_without_standbys),
    {0},
};
