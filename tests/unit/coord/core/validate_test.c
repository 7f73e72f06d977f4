#include "coord/core/validate.h"

#include "support/stops.h"
#include "world.h"

static struct world w;

static int leased(void **state) {
    (void)state;
    world_init(&w);
    assert_int_equal(world_acquire(&w, "w1"), TS_ACQUIRE_OK);
    w.now.ms++;
    return 0;
}

static enum ts_coord_error validate(const struct ts_shard_record *record, const char *tenant) {
    const struct ts_tenant_id id = tenant_named(tenant);
    return ts_validate_lease(record, &w.guard, &id, &w.lease, w.now, &w.detail);
}

static void a_good_lease_passes(void **state) {
    (void)state;
    assert_int_equal(validate(&w.record, "acme"), TS_COORD_OK);
    w.now.ms = w.record.holder.deadline.ms - 1;
    assert_int_equal(validate(&w.record, "acme"), TS_COORD_OK);
}

/* At first all five checks fail. Each problem is fixed in turn, and the next one is reported. */
static void checks_are_made_in_their_order(void **state) {
    (void)state;
    struct ts_shard_record record = w.record;
    record.tenant = tenant_named("other");
    record.status = TS_SHARD_DONE;
    record.fence.v = 9;
    record.holder.deadline.ms = w.now.ms;
    record.holder.owner = worker_named("w2");
    w.guard.status = TS_RUN_CANCELLED;
    assert_int_equal(validate(&record, "acme"), TS_COORD_TENANT_MISMATCH);
    assert_true(ts_bytes_equal(ts_tenant_id_text(&w.detail.expected_tenant), TS_BYTES("acme")));
    record.tenant = tenant_named("acme");
    assert_int_equal(validate(&record, "acme"), TS_COORD_SHARD_TERMINAL);
    assert_int_equal(w.detail.shard_status, TS_SHARD_PARKED);
    w.guard.status = TS_RUN_ACTIVE;
    assert_int_equal(validate(&record, "acme"), TS_COORD_SHARD_TERMINAL);
    assert_int_equal(w.detail.shard_status, TS_SHARD_DONE);
    record.status = TS_SHARD_ACTIVE;
    assert_int_equal(validate(&record, "acme"), TS_COORD_STALE_FENCE);
    assert_int_equal(w.detail.presented.v, 1);
    assert_int_equal(w.detail.current.v, 9);
    record.fence.v = 1;
    assert_int_equal(validate(&record, "acme"), TS_COORD_LEASE_EXPIRED);
    assert_int_equal(w.detail.deadline.ms, w.now.ms);
    assert_int_equal(w.detail.now.ms, w.now.ms);
    record.holder.deadline.ms = w.now.ms + 1;
    assert_int_equal(validate(&record, "acme"), TS_COORD_STALE_FENCE);
    record.holder.owner = worker_named("w1");
    assert_int_equal(validate(&record, "acme"), TS_COORD_OK);
}

static void a_record_without_a_holder_is_a_stale_fence(void **state) {
    (void)state;
    struct ts_shard_record record = w.record;
    record.has_holder = false;
    assert_int_equal(validate(&record, "acme"), TS_COORD_STALE_FENCE);
}

static void a_lease_of_another_tenant_does_not_pass(void **state) {
    (void)state;
    struct ts_shard_record record = w.record;
    record.tenant = tenant_named("other");
    assert_int_equal(validate(&record, "other"), TS_COORD_TENANT_MISMATCH);
}

static void a_broken_clock_and_a_lease_of_another_shard_are_mistakes(void **state) {
    (void)state;
    struct ts_shard_record record = w.record;
    record.key.shard.v = 4;
    assert_stops("ts_lease_shard(lease).shard.v", validate(&record, "acme"));
    w.now.ms = 0;
    assert_stops("now.ms != 0", validate(&w.record, "acme"));
}

static void an_operation_is_new_replayed_or_in_conflict(void **state) {
    (void)state;
    ts_op_log log = {0};
    const struct ts_op_log_entry *entry = NULL;
    const struct ts_payload_hash hash = {5}, other = {6}, none = {0};
    const struct ts_op_id op = {1};
    assert_int_equal(ts_check_op_idempotency(&log, op, hash, &entry, &w.detail), TS_COORD_OK);
    assert_null(entry);
    ts_op_log_record(&log, TS_SHARD_OP_CHECKPOINT, op, hash, (struct ts_logical_time){3});
    assert_int_equal(ts_check_op_idempotency(&log, op, hash, &entry, &w.detail), TS_COORD_OK);
    assert_int_equal(entry->executed_at.ms, 3);
    assert_int_equal(ts_check_op_idempotency(&log, op, other, &entry, &w.detail), TS_COORD_OP_ID_CONFLICT);
    assert_int_equal(w.detail.op_id.v, 1);
    assert_int_equal(w.detail.detail__private.expected_hash.v, 5);
    assert_int_equal(w.detail.detail__private.actual_hash.v, 6);
    assert_stops("hash.v != 0", ts_check_op_idempotency(&log, op, none, &entry, &w.detail));
}

/* At first all checks of the cursor fail. Each fault is fixed in turn, and the next one is reported. */
static void cursor_checks_are_made_in_their_order(void **state) {
    (void)state;
    static uint8_t large[TS_TOKEN_MAX + 1];
    memset(large, 'a', sizeof large);
    const struct ts_cursor old = KEY("m");
    const struct ts_key_range range = {TS_BYTES("b"), TS_BYTES("y")};
    struct ts_cursor new = {false, true, ts_bytes_of(large, TS_KEY_MAX + 1),
                            ts_bytes_of(large, sizeof large)};
    assert_int_equal(ts_validate_cursor_update(&old, &new, range, &w.detail),
                     TS_COORD_CHECKPOINT_MISSING_KEY);
    new.has_key = true;
    assert_int_equal(ts_validate_cursor_update(&old, &new, range, &w.detail), TS_COORD_CURSOR_KEY_TOO_LARGE);
    assert_int_equal(w.detail.size, TS_KEY_MAX + 1);
    assert_int_equal(w.detail.max, TS_KEY_MAX);
    new.last_key.len--;
    assert_int_equal(ts_validate_cursor_update(&old, &new, range, &w.detail),
                     TS_COORD_CURSOR_TOKEN_TOO_LARGE);
    assert_int_equal(w.detail.size, TS_TOKEN_MAX + 1);
    new.token.len--;
    assert_int_equal(ts_validate_cursor_update(&old, &new, range, &w.detail), TS_COORD_CURSOR_REGRESSION);
    assert_int_equal(w.detail.old_key.len, 1);
    assert_int_equal(w.detail.new_key.len, TS_KEY_MAX);
    new.last_key = TS_BYTES("yy");
    assert_int_equal(ts_validate_cursor_update(&old, &new, range, &w.detail), TS_COORD_CURSOR_OUT_OF_BOUNDS);
    assert_int_equal(w.detail.out_of_bounds.last_key, 2);
    assert_int_equal(w.detail.out_of_bounds.spec_end, 1);
    new.last_key = TS_BYTES("x");
    assert_int_equal(ts_validate_cursor_update(&old, &new, range, &w.detail), TS_COORD_OK);
}

static void bounds_are_half_open_and_empty_bounds_are_unlimited(void **state) {
    (void)state;
    static const struct {
        const char *start, *end, *key;
        enum ts_coord_error expected;
    } cases[] = {
        {"b", "y", "b", TS_COORD_OK},
        {"b", "y", "a", TS_COORD_CURSOR_OUT_OF_BOUNDS},
        {"b", "y", "y", TS_COORD_CURSOR_OUT_OF_BOUNDS},
        {"b", "y", "xzzz", TS_COORD_OK},
        {"", "y", "", TS_COORD_OK},
        {"", "y", "z", TS_COORD_CURSOR_OUT_OF_BOUNDS},
        {"b", "", "\xff\xff", TS_COORD_OK},
        {"b", "", "a", TS_COORD_CURSOR_OUT_OF_BOUNDS},
        {"", "", "anything", TS_COORD_OK},
    };
    const struct ts_cursor none = {0};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct ts_cursor new = cursor_at(cases[i].key);
        const struct ts_key_range range = {ts_bytes_of_cstring(cases[i].start),
                                           ts_bytes_of_cstring(cases[i].end)};
        assert_int_equal(ts_validate_cursor_update(&none, &new, range, &w.detail), cases[i].expected);
    }
    const struct ts_cursor same = KEY("m");
    assert_int_equal(ts_validate_cursor_update(
                         &same, &same, (struct ts_key_range){TS_BYTES("b"), TS_BYTES("y")}, &w.detail),
                     TS_COORD_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_good_lease_passes, leased),
        cmocka_unit_test_setup(checks_are_made_in_their_order, leased),
        cmocka_unit_test_setup(a_record_without_a_holder_is_a_stale_fence, leased),
        cmocka_unit_test_setup(a_lease_of_another_tenant_does_not_pass, leased),
        cmocka_unit_test_setup(a_broken_clock_and_a_lease_of_another_shard_are_mistakes, leased),
        cmocka_unit_test_setup(an_operation_is_new_replayed_or_in_conflict, leased),
        cmocka_unit_test_setup(cursor_checks_are_made_in_their_order, leased),
        cmocka_unit_test_setup(bounds_are_half_open_and_empty_bounds_are_unlimited, leased),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
