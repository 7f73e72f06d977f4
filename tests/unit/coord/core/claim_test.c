#include "coord/core/claim.h"

#include "world.h"

static struct ts_coord_detail detail;
static const struct ts_pin no_pin;

static void a_cooldown_is_armed_only_where_it_is_configured(void **state) {
    (void)state;
    struct ts_run_guard guard = {.config = ts_run_config_default()};
    const struct ts_worker_id worker = worker_named("w1");
    const struct ts_logical_time now = {1000};
    struct ts_cooldown entry;
    assert_false(ts_cooldown_arm(&guard, &worker, now, &entry));
    guard.config.cooldown_ms = 50;
    assert_true(ts_cooldown_arm(&guard, &worker, now, &entry));
    assert_int_equal(entry.until.ms, 1050);
    assert_true(ts_worker_id_equal(&entry.worker, &worker));
}

static void a_cooldown_throttles_until_it_is_over(void **state) {
    (void)state;
    struct ts_run_guard guard = {.config = {.cooldown_ms = 50}};
    const struct ts_cooldown entry = {.until = {1050}};
    bool drop = true;
    const struct ts_logical_time before = {1049}, at = {1050};
    assert_int_equal(ts_claim_admit(&guard, &no_pin, NULL, before, &drop, &detail), TS_CLAIM_OK);
    assert_false(drop);
    assert_int_equal(ts_claim_admit(&guard, &no_pin, &entry, before, &drop, &detail), TS_CLAIM_THROTTLED);
    assert_false(drop);
    assert_int_equal(detail.retry_after.ms, 1050);
    assert_int_equal(ts_claim_admit(&guard, &no_pin, &entry, at, &drop, &detail), TS_CLAIM_OK);
    assert_true(drop);
    guard.config.cooldown_ms = 0;
    assert_int_equal(ts_claim_admit(&guard, &no_pin, &entry, before, &drop, &detail), TS_CLAIM_OK);
    assert_false(drop);
}

static void a_pinned_run_admits_only_claims_that_present_its_pin(void **state) {
    (void)state;
    struct ts_run_guard guard = {.status = TS_RUN_ACTIVE};
    const struct ts_cooldown over = {.until = {10}};
    const struct ts_logical_time now = {1000};
    const struct ts_pin right = {.b = {[31] = 7}}, wrong = {.b = {[31] = 8}};
    bool drop;
    /* A run without a pin admits every worker. */
    assert_int_equal(ts_claim_admit(&guard, &right, NULL, now, &drop, &detail), TS_CLAIM_OK);
    guard.config.pin = right;
    detail = (struct ts_coord_detail){.has_deadline = true};
    assert_int_equal(ts_claim_admit(&guard, &wrong, &over, now, &drop, &detail), TS_CLAIM_NONE_AVAILABLE);
    assert_int_equal(detail.other_pins, 1);
    assert_false(detail.has_deadline || drop);
    assert_int_equal(ts_claim_admit(&guard, &no_pin, NULL, now, &drop, &detail), TS_CLAIM_NONE_AVAILABLE);
    assert_int_equal(ts_claim_admit(&guard, &right, &over, now, &drop, &detail), TS_CLAIM_OK);
    assert_true(drop);
    assert_int_equal(ts_claim_none(&(struct ts_claim_scan){0}, &guard, &detail), TS_CLAIM_NONE_AVAILABLE);
    assert_int_equal(detail.other_pins, 0);
}

static void candidates_are_skipped_or_end_the_claim(void **state) {
    (void)state;
    struct ts_claim_scan scan = {0};
    enum ts_claim_error error = TS_CLAIM_OK;
    detail.deadline.ms = 500;
    assert_true(ts_claim_consider(&scan, TS_ACQUIRE_ALREADY_LEASED, &detail, &error));
    detail.deadline.ms = 400;
    assert_true(ts_claim_consider(&scan, TS_ACQUIRE_ALREADY_LEASED, &detail, &error));
    detail.deadline.ms = 450;
    assert_true(ts_claim_consider(&scan, TS_ACQUIRE_ALREADY_LEASED, &detail, &error));
    detail.deadline.ms = 1;
    assert_true(ts_claim_consider(&scan, TS_ACQUIRE_SHARD_TERMINAL, &detail, &error));
    assert_true(ts_claim_consider(&scan, TS_ACQUIRE_SHARD_NOT_FOUND, &detail, &error));
    assert_false(ts_claim_consider(&scan, TS_ACQUIRE_TENANT_MISMATCH, &detail, &error));
    assert_int_equal(error, TS_CLAIM_TENANT_MISMATCH);
    assert_false(ts_claim_consider(&scan, TS_ACQUIRE_BACKEND_ERROR, &detail, &error));
    assert_int_equal(error, TS_CLAIM_BACKEND_ERROR);
    assert_false(ts_claim_consider(&scan, TS_ACQUIRE_OK, &detail, &error));
    assert_int_equal(error, TS_CLAIM_OK);

    struct ts_run_guard guard = {.status = TS_RUN_ACTIVE};
    assert_int_equal(ts_claim_none(&scan, &guard, &detail), TS_CLAIM_NONE_AVAILABLE);
    assert_true(detail.has_deadline);
    assert_int_equal(detail.deadline.ms, 400);
    guard.status = TS_RUN_CANCELLED;
    assert_int_equal(ts_claim_none(&scan, &guard, &detail), TS_CLAIM_NONE_AVAILABLE);
    assert_false(detail.has_deadline);
    assert_false(ts_claim_is_open(&guard));
    /* The run is not open before all announced shards are registered. */
    guard.status = TS_RUN_INITIALIZING;
    assert_false(ts_claim_is_open(&guard));
    assert_int_equal(ts_claim_none(&scan, &guard, &detail), TS_CLAIM_NONE_AVAILABLE);
    assert_false(detail.has_deadline);
    guard.status = TS_RUN_ACTIVE;
    assert_true(ts_claim_is_open(&guard));
    const struct ts_claim_scan nothing = {0};
    assert_int_equal(ts_claim_none(&nothing, &guard, &detail), TS_CLAIM_NONE_AVAILABLE);
    assert_false(detail.has_deadline);
}

static void workers_begin_to_look_at_different_places(void **state) {
    (void)state;
    const struct ts_worker_id a = worker_named("w1"), b = worker_named("w2");
    const struct ts_run_id run = {7}, other = {8};
    assert_true(ts_claim_start(run, &a).v == ts_claim_start(run, &a).v);
    assert_true(ts_claim_start(run, &a).v != ts_claim_start(run, &b).v);
    assert_true(ts_claim_start(run, &a).v != ts_claim_start(other, &a).v);
    /* If the start had the bit of derived ids, it would be above all registered ids, and every worker would
     * wrap around to the same first shard. */
    for (uint64_t i = 1; i <= 64; i++)
        assert_int_equal(ts_claim_start((struct ts_run_id){i}, &a).v & TS_DERIVED_SHARD_BIT, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cooldown_is_armed_only_where_it_is_configured),
        cmocka_unit_test(a_cooldown_throttles_until_it_is_over),
        cmocka_unit_test(a_pinned_run_admits_only_claims_that_present_its_pin),
        cmocka_unit_test(candidates_are_skipped_or_end_the_claim),
        cmocka_unit_test(workers_begin_to_look_at_different_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
