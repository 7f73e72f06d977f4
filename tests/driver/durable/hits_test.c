/* Pages of hits: which pages a scan may rely on, and when a sweep removes them. */
#include "steps.h"

#include <stdlib.h>

static void sweep(struct ts_durable_swept *ret_swept) {
    struct ts_infra_error error;
    assert_true(ts_durable_sweep(world.coord, &world.tenant, (struct ts_durable_stop){0}, ret_swept, &error));
}

static void cancel(uint64_t run_id) {
    struct ts_coord_outcome outcome;
    struct ts_coord_detail detail = {0};
    const struct ts_end_run_op op = {.tenant = world.tenant, .run = {run_id}, .op_id = {99}};
    assert_int_equal(ts_coord_cancel_run(world.coord, op, &outcome, &detail), TS_RUN_TRANSITION_OK);
}

/* Makes a run whose worker makes pages of hits durable and does nothing else. Then cancels the run. */
static void abandon(unsigned target_number, size_t pages) {
    const struct ts_target_id target = world_target(target_number);
    const uint64_t run = world_make_run(&target, 1);
    struct worker worker;
    begin(&worker, world.run, run, &rules);
    part(&worker, 0, pages);
    worker_free(&worker);
    cancel(world.run);
}

/* Runs a unit that makes pages of hits durable, and completes its shard. Then the worker ends before it
 * tidies up. */
static void scan_untidily(size_t pages, const struct ts_fleet_rules *with) {
    const struct ts_checkpoint_receipt *checkpoint;
    const struct ts_target_id target = world_target(1);
    const uint64_t run = world_make_run(&target, 1);
    struct made_report made;
    struct worker worker;
    make_report(&made, 0, 1, 1);
    struct ts_durable_scan scan = scan_of(&made);
    scan.has_hits = pages > 0;
    begin(&worker, world.run, run, with);
    part(&worker, 0, pages);
    must(ts_durable_stage(worker.durable, &scan, &worker.detail), &worker);
    must(ts_durable_flip(worker.durable, &worker.receipt, &worker.detail), &worker);
    must(ts_durable_complete(worker.durable, worker.receipt, &checkpoint, &worker.detail), &worker);
    worker_free(&worker);
    free_report(&made);
}

/* Runs a whole unit that makes pages of hits durable. */
static void scan_with_hits(size_t pages, const struct ts_fleet_rules *with) {
    const struct ts_target_id target = world_target(1);
    const uint64_t run = world_make_run(&target, 1);
    struct made_report made;
    struct worker worker;
    make_report(&made, 0, 1, 1);
    struct ts_durable_scan scan = scan_of(&made);
    scan.has_hits = true;
    begin(&worker, world.run, run, with);
    part(&worker, 0, pages);
    finish(&worker, scan);
    worker_free(&worker);
    free_report(&made);
}

static void pages_of_a_target_that_was_never_scanned_are_removed(void **state) {
    (void)state;
    struct ts_durable_swept swept;
    abandon(1, 7);
    assert_int_equal(world_census().hits, 7);
    sweep(&swept);
    assert_int_equal(swept.kept, 0);
    assert_int_equal(world_census().hits, 0);
    expect_garbage_free(0, 0);
}

static void pages_that_no_flip_relies_on_are_removed_when_another_run_has_scanned_the_target(void **state) {
    (void)state;
    struct ts_durable_swept swept;
    abandon(1, 7);
    scan_with_hits(2, &rules);
    sweep(&swept);
    assert_int_equal(swept.kept, 0);
    assert_int_equal(world_census().hits, 2);
    expect_garbage_free(1, 1);
}

static void pages_of_an_earlier_lease_of_a_run_that_has_flipped_stay(void **state) {
    (void)state;
    const struct ts_target_id target = world_target(1);
    const uint64_t run = world_make_run(&target, 1);
    struct made_report made;
    struct worker lost, next;
    begin(&lost, world.run, run, &rules);
    part(&lost, 0, 3);
    lose_lease(&lost);
    worker_free(&lost);
    make_report(&made, 0, 1, 1);
    struct ts_durable_scan scan = scan_of(&made);
    scan.has_hits = true;
    begin(&next, world.run, run, &rules);
    assert_int_equal(recall(&next).pages[TS_DURABLE_HITS], 3);
    part(&next, 0, 2);
    finish(&next, scan);
    worker_free(&next);
    free_report(&made);
    expect_garbage_free(1, 1);
    assert_int_equal(world_census().hits, 5);
}

static void hits_of_other_rules_are_not_used_and_are_removed(void **state) {
    (void)state;
    const struct ts_target_id target = world_target(1);
    struct made_report made;
    struct worker worker;
    make_report(&made, 0, 1, 1);
    uint64_t run = world_make_run(&target, 1);
    begin(&worker, world.run, run, &rules);
    part(&worker, 0, 3);
    struct ts_durable_scan scan = scan_of(&made);
    scan.has_hits = true;
    finish(&worker, scan);
    worker_free(&worker);

    run = world_make_run(&target, 1);
    begin(&worker, world.run, run, &other_judging);
    struct recalled recalled = recall(&worker);
    assert_int_equal(recalled.pages[TS_DURABLE_HITS], 0);
    assert_int_equal(recalled.pages[TS_DURABLE_OTHER_HITS], 3);
    part(&worker, 0, 2);
    finish(&worker, scan);
    worker_free(&worker);
    expect_garbage_free(1, 1);
    assert_int_equal(world_census().hits, 2);

    run = world_make_run(&target, 1);
    begin(&worker, world.run, run, &other_rules);
    recalled = recall(&worker);
    assert_int_equal(recalled.pages[TS_DURABLE_HITS], 0);
    assert_int_equal(recalled.pages[TS_DURABLE_OTHER_HITS], 0);
    /* No scan with the other rules has covered what the tips reach. */
    assert_int_equal(recalled.pages[TS_DURABLE_TIPS], 0);
    finish(&worker, scan_of(&made));
    worker_free(&worker);
    free_report(&made);
    expect_garbage_free(1, 1);
    assert_int_equal(world_census().hits, 0);
}

/* The worker of a scan that begins in the middle of a sweep, and ends after the sweep. */
static struct worker relying;
static struct recalled relied;
static bool had_mark;

static void begin_to_rely(void) {
    const struct ts_target_id target = world_target(1);
    const uint64_t run = world_make_run(&target, 1);
    begin(&relying, world.run, run, &rules);
    had_mark = world_census().marks > 0;
    relied = recall(&relying);
}

static void two_runs_with_two_pages(void) {
    scan_with_hits(2, &rules);
    begin_to_rely();
}

static void two_runs_with_two_pages_and_a_mark(void) {
    scan_untidily(2, &rules);
    begin_to_rely();
}

static void two_runs_without_pages(void) {
    scan_with_hits(0, &rules);
    begin_to_rely();
}

/* Calls `runs` in the middle of a sweep, after `at` reads. Returns false if no read follows these reads. */
static bool meet(void (*runs)(void), unsigned at) {
    struct made_report made;
    struct ts_durable_swept swept;
    world.between = runs;
    world.spared_reads = at;
    sweep(&swept);
    const bool have_met = world.between == NULL;
    world.between = NULL;
    if (!have_met)
        return false;
    make_report(&made, 0, 1, 1);
    struct ts_durable_scan scan = scan_of(&made);
    scan.has_hits = true;
    finish(&relying, scan);
    worker_free(&relying);
    free_report(&made);
    return true;
}

static void a_scan_does_not_rely_on_pages_that_a_sweep_may_remove(void **state) {
    (void)state;
    bool was_doubtful = false, was_sure = false, has_met = true;
    for (unsigned at = 0; has_met; at++) {
        for (int is_tidy = 0; has_met && is_tidy <= 1; is_tidy++) {
            (void)world_fresh(NULL);
            abandon(1, 3);
            has_met = meet(is_tidy ? two_runs_with_two_pages : two_runs_with_two_pages_and_a_mark, at);
            if (!has_met)
                break;
            assert_int_equal(relied.pages[TS_DURABLE_HITS], 2);
            assert_int_equal(relied.pages[TS_DURABLE_TIPS], !had_mark);
            assert_int_equal(relied.pages[TS_DURABLE_NO_TIPS], had_mark);
            was_doubtful = was_doubtful || had_mark;
            was_sure = was_sure || !had_mark;
            assert_int_equal(world_census().hits, 2);
        }
    }
    assert_true(was_doubtful && was_sure);
}

/* Two runs with the same rules have pages of hits. Then a run with other rules replaces the second run. */
static void a_sweep_never_removes_pages_that_another_scan_relies_on(void **state) {
    (void)state;
    bool was_kept = false, was_removed = false;
    for (unsigned at = 0;; at++) {
        (void)world_fresh(NULL);
        scan_with_hits(3, &rules);
        scan_with_hits(1, &rules);
        scan_untidily(0, &other_rules);
        if (!meet(two_runs_without_pages, at))
            break;
        assert_int_equal(world_census().hits, relied.pages[TS_DURABLE_HITS]);
        was_kept = was_kept || relied.pages[TS_DURABLE_HITS] == 3;
        was_removed = was_removed || relied.pages[TS_DURABLE_HITS] == 0;
    }
    assert_true(was_kept && was_removed);
}

/* A worker that flips during a sweep. When the sweep begins, the worker's run has pages with a mark. */
static struct worker flipping;

static void flip_and_rely(void) {
    struct made_report made;
    make_report(&made, 0, 1, 1);
    struct ts_durable_scan scan = scan_of(&made);
    scan.has_hits = true;
    finish(&flipping, scan);
    worker_free(&flipping);
    const struct ts_target_id target = world_target(1);
    const uint64_t run = world_make_run(&target, 1);
    begin(&flipping, world.run, run, &rules);
    assert_int_equal(recall(&flipping).pages[TS_DURABLE_HITS], 3);
    finish(&flipping, scan);
    worker_free(&flipping);
    free_report(&made);
    begin_to_rely();
}

static void a_sweep_does_not_remove_pages_whose_mark_was_removed_meanwhile(void **state) {
    (void)state;
    for (unsigned at = 0;; at++) {
        (void)world_fresh(NULL);
        const struct ts_target_id target = world_target(1);
        const uint64_t run = world_make_run(&target, 1);
        begin(&flipping, world.run, run, &rules);
        part(&flipping, 0, 3);
        if (!meet(flip_and_rely, at)) {
            assert_true(at > 2);
            worker_free(&flipping);
            break;
        }
        assert_int_equal(relied.pages[TS_DURABLE_HITS], 3);
        assert_int_equal(world_census().hits, 3);
    }
}

int main(int argc, char **argv) {
#define TEST(function) cmocka_unit_test_setup(function, world_fresh)
    const struct CMUnitTest tests[] = {
        TEST(pages_of_a_target_that_was_never_scanned_are_removed),
        TEST(pages_that_no_flip_relies_on_are_removed_when_another_run_has_scanned_the_target),
        TEST(pages_of_an_earlier_lease_of_a_run_that_has_flipped_stay),
        TEST(hits_of_other_rules_are_not_used_and_are_removed),
        TEST(a_scan_does_not_rely_on_pages_that_a_sweep_may_remove),
        TEST(a_sweep_never_removes_pages_that_another_scan_relies_on),
        TEST(a_sweep_does_not_remove_pages_whose_mark_was_removed_meanwhile),
    };
    return world_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
