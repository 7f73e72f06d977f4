/* Units that take long: limits, stops, different clocks, damaged rows. */
#include "steps.h"

#include <limits.h>

static void pass_a_third_of_the_limit(void) {
    (void)world_pass_ms(TS_DURABLE_FOREIGN_MS / 3);
}

static void a_unit_that_writes_longer_than_the_limit_is_completed(void **state) {
    (void)state;
    const struct ts_target_id target = world_target(1);
    const uint64_t run = world_make_run(&target, 1);
    struct worker worker;
    struct made_report made;
    make_report(&made, 0, 6000, 1);
    begin(&worker, world.run, run, &rules);
    world.before_write = pass_a_third_of_the_limit;
    finish(&worker, scan_of(&made));
    worker_free(&worker);
    free_report(&made);
    expect_garbage_free(6000, 6000);
}

static unsigned quick_writes;
static size_t rows_before;

static void pass_the_lease(void) {
    if (quick_writes-- > 0)
        return;
    world.before_write = NULL;
    rows_before = world_census().hidden;
    (void)world_pass_ms(UINT64_C(700000));
}

/* A worker may write rows on other stores only up to a time limit, which is extended only under the lease. */
static void a_worker_that_is_paused_past_its_lease_writes_no_more_rows(void **state) {
    (void)state;
    struct made_report made;
    if (!world_pass_ms(1))
        return;
    make_report(&made, 0, 3000, 1);
    const struct ts_durable_scan scan = scan_of(&made);
    for (unsigned i = 0;; i++) {
        const struct ts_target_id target = world_target(i);
        const uint64_t run = world_make_run(&target, 1);
        struct worker worker;
        begin(&worker, world.run, run, &rules);
        world.before_write = pass_the_lease;
        quick_writes = i;
        const enum ts_durable_end end = ts_durable_stage(worker.durable, &scan, &worker.detail);
        if (end == TS_DURABLE_OK) {
            assert_true(i > 3); /* all writes of the unit were in time */
            worker_free(&worker);
            break;
        }
        assert_int_equal(TS_UNIT_ERROR_MATCH(worker.detail.error, 1, 2, 3), 3);
        assert_int_equal(world_census().hidden, rows_before);
        worker_free(&worker);
        /* After the lease and the time limit, sweeps leave no row of the attempt. */
        begin(&worker, world.run, run, &rules);
        struct ts_durable_swept swept;
        struct ts_infra_error error;
        assert_true(ts_durable_sweep(world.coord, &world.tenant, world.stop, &swept, &error));
        assert_int_equal(swept.kept, i > 0);
        (void)world_pass_ms(swept.wait_ms);
        assert_true(ts_durable_sweep(world.coord, &world.tenant, world.stop, &swept, &error));
        assert_int_equal(world_census().hidden, 0);
        worker_free(&worker);
    }
    free_report(&made);
}

static bool count_down(void *context) {
    unsigned *left = context;
    return *left == 0 || --*left == 0;
}

static void a_stop_ends_a_stage_a_recall_and_a_sweep_before_the_next_call(void **state) {
    (void)state;
    const struct ts_target_id target = world_target(1);
    const uint64_t run = world_make_run(&target, 1);
    struct worker worker;
    struct made_report made;
    unsigned left = 0;
    make_report(&made, 0, 3000, 1);
    const struct ts_durable_scan scan = scan_of(&made);
    world.stop = (struct ts_durable_stop){count_down, &left};
    begin(&worker, world.run, run, &rules);
    unsigned stops = 0;
    for (enum ts_durable_end end = TS_DURABLE_STOPPED; end == TS_DURABLE_STOPPED; stops++) {
        left = stops + 1;
        const unsigned calls = world.reads + world.writes;
        end = ts_durable_stage(worker.durable, &scan, &worker.detail);
        assert_true(end == TS_DURABLE_STOPPED || stops > 10);
        assert_true(end == TS_DURABLE_OK || world.reads + world.writes - calls == stops);
    }
    left = 0;
    assert_int_equal(ts_durable_recall(worker.durable, TS_DURABLE_KNOWN, NULL, NULL, &worker.detail),
                     TS_DURABLE_STOPPED);
    left = UINT_MAX;
    must(ts_durable_flip(worker.durable, &worker.receipt, &worker.detail), &worker);
    complete(&worker);
    worker_free(&worker);
    struct ts_durable_swept swept;
    struct ts_infra_error error;
    left = 0;
    assert_false(ts_durable_sweep(world.coord, &world.tenant, world.stop, &swept, &error));
    free_report(&made);
    expect_garbage_free(3000, 3000);
}

/* The clocks of stores differ. Records about a target have the time of its home. */
static void the_times_of_a_target_are_those_of_its_home(void **state) {
    (void)state;
    for (unsigned number = 1; number <= 8; number++) {
        const struct ts_target_id target = world_target(number);
        const uint32_t home = ts_coord_target_home(ts_coord_router(world.coord), target.bytes).v;
        struct made_report made;
        struct worker worker;
        make_report(&made, 0, 20, 1);
        world.ahead_ms[1 - home] = UINT64_C(86400000);
        scan_target(number, &made, &rules);
        world.ahead_ms[1 - home] = 0;
        const uint64_t run = world_make_run(&target, 1);
        begin(&worker, world.run, run, &rules);
        const uint64_t first_ms = worker.unit.target.scanned_at_ms;
        finish(&worker, scan_of(&made));
        worker_free(&worker);
        const uint64_t again = world_make_run(&target, 1);
        begin(&worker, world.run, again, &rules);
        assert_in_range(first_ms, 1, worker.unit.target.scanned_at_ms);
        finish(&worker, scan_of(&made));
        worker_free(&worker);
        free_report(&made);
    }
}

static void a_damaged_page_of_tips_means_that_there_are_no_tips(void **state) {
    (void)state;
    const struct ts_target_id target = world_target(1);
    struct made_report made;
    struct worker worker;
    make_report(&made, 0, 2, 1);
    scan_target(1, &made, &rules);
    const uint64_t run = world_make_run(&target, 1);
    begin(&worker, world.run, run, &rules);
    struct recalled recalled = recall(&worker);
    assert_int_equal(recalled.pages[TS_DURABLE_TIPS], 1);
    assert_int_equal(recalled.pages[TS_DURABLE_NO_TIPS], 0);
    const struct ts_fleet_key key = ts_fleet_key_summary(&target, &worker.unit.target.attempt, 1);
    const struct ts_op put = {.kind = TS_OP_PUT, .key = ts_fleet_key_bytes(&key), .value = TS_BYTES("?")};
    struct ts_infra_error error;
    const uint32_t home = ts_coord_target_home(ts_coord_router(world.coord), target.bytes).v;
    assert_int_equal(ts_coord_apply(world.coord, home, (struct ts_batch){&put, 1}, &error), TS_STORE_OK);
    recalled = recall(&worker);
    assert_int_equal(recalled.pages[TS_DURABLE_TIPS], 0);
    assert_int_equal(recalled.pages[TS_DURABLE_NO_TIPS], 1);
    finish(&worker, scan_of(&made));
    worker_free(&worker);
    free_report(&made);
}

int main(int argc, char **argv) {
#define TEST(function) cmocka_unit_test_setup(function, world_fresh)
    const struct CMUnitTest tests[] = {
        TEST(a_unit_that_writes_longer_than_the_limit_is_completed),
        TEST(a_worker_that_is_paused_past_its_lease_writes_no_more_rows),
        TEST(a_stop_ends_a_stage_a_recall_and_a_sweep_before_the_next_call),
        TEST(the_times_of_a_target_are_those_of_its_home),
        TEST(a_damaged_page_of_tips_means_that_there_are_no_tips),
    };
    return world_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
