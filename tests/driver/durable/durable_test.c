/* What becomes durable and when, and which rows remain. Runs on each engine, with two stores. */
#include "steps.h"

#include <stdlib.h>

/* ---- units ---- */

static void a_small_clean_unit_costs_three_calls(void **state) {
    (void)state;
    const struct ts_target_id target = world_target(1);
    const uint64_t run = world_make_run(&target, 1);
    struct made_report made;
    struct worker worker;
    make_report(&made, 0, 0, 0);
    const struct ts_durable_run of = {.number = run, .rules = rules};
    worker_claim(&worker, world.run, &of);
    world.reads = world.writes = 0;
    must(ts_durable_read(worker.durable, &worker.unit, &worker.detail), &worker);
    assert_false(worker.unit.has_target);
    assert_true(ts_bytes_equal(worker.unit.unit.address, TS_BYTES("https://host/repository")));
    finish(&worker, scan_of(&made));
    assert_int_equal(world.reads, 1);
    assert_int_equal(world.writes, 2);
    worker_free(&worker);
    free_report(&made);
    expect_garbage_free(0, 0);
    assert_int_equal(world_census().pages, 2);
}

static void findings_are_visible_after_the_flip_and_not_before(void **state) {
    (void)state;
    const struct ts_target_id target = world_target(1);
    const uint64_t run = world_make_run(&target, 1);
    struct made_report made;
    struct worker worker;
    make_report(&made, 0, 20, 3);
    const struct ts_durable_scan scan = scan_of(&made);
    begin(&worker, world.run, run, &rules);
    must(ts_durable_stage(worker.durable, &scan, &worker.detail), &worker);
    struct census census = world_census();
    assert_int_equal(census.visible, 0);
    assert_true(census.hidden > 0); /* the other store has rows */
    assert_int_equal(census.marks, 1);
    must(ts_durable_flip(worker.durable, &worker.receipt, &worker.detail), &worker);
    census = world_census();
    assert_int_equal(census.visible, 20);
    assert_int_equal(census.findings, 20);
    complete(&worker);
    worker_free(&worker);
    free_report(&made);
    expect_garbage_free(20, 60);
}

static void a_later_run_replaces_all_findings_and_removes_the_old_rows(void **state) {
    (void)state;
    struct made_report first, second;
    make_report(&first, 0, 30, 2);
    make_report(&second, 25, 10, 1);
    scan_target(1, &first, &rules);
    scan_target(2, &first, &rules);
    expect_garbage_free(60, 120);
    scan_target(1, &second, &rules);
    expect_garbage_free(40, 70);
    assert_int_equal(world_census().findings, 35);
    free_report(&first);
    free_report(&second);
}

static void batches_stay_below_their_limits(void **state) {
    (void)state;
    struct made_report made;
    world.ops_most = world.bytes_most = 0;
    make_report(&made, 0, 3000, 30);
    scan_target(1, &made, &rules);
    free_report(&made);
    expect_garbage_free(3000, 90000);
    assert_in_range(world.ops_most, 900, 999);
    assert_in_range(world.bytes_most, (size_t)2 << 20, ((size_t)4 << 20) - 1);
}

static void one_finding_may_have_more_places_than_a_page(void **state) {
    (void)state;
    struct made_report made;
    make_report(&made, 0, 2, 30000);
    scan_target(1, &made, &rules);
    free_report(&made);
    expect_garbage_free(2, 60000);
    assert_true(world_census().pages > 3);
    make_report(&made, 0, 0, 0);
    scan_target(1, &made, &rules);
    free_report(&made);
    expect_garbage_free(0, 0);
    assert_int_equal(world_census().pages, 2);
}

static void nothing_new_moves_the_run_number_and_nothing_else(void **state) {
    (void)state;
    struct made_report made;
    make_report(&made, 0, 5, 1);
    scan_target(1, &made, &rules);
    free_report(&made);
    const struct ts_target_id target = world_target(1);
    const uint64_t run = world_make_run(&target, 1);
    struct worker worker;
    begin(&worker, world.run, run, &rules);
    assert_null(ts_durable_covered(worker.durable));
    const struct ts_fleet_target old = worker.unit.target;
    const struct ts_attempt before = old.attempt;
    (void)world_pass_ms(1000);
    world.reads = world.writes = 0;
    must(ts_durable_nothing_new(worker.durable, &worker.receipt, &worker.detail), &worker);
    complete(&worker);
    assert_int_equal(world.reads, 0);
    assert_int_equal(world.writes, 2);
    must(ts_durable_read(worker.durable, &worker.unit, &worker.detail), &worker);
    assert_int_equal(worker.unit.target.run_number, run);
    assert_int_equal(worker.unit.target.run, world.run);
    assert_int_equal(worker.unit.target.scanned_at_ms, old.scanned_at_ms);
    assert_true(worker.unit.target.checked_at_ms >= old.checked_at_ms);
    assert_true(ts_attempt_equal(&worker.unit.target.attempt, &before));
    worker_free(&worker);
    expect_garbage_free(5, 5);
}

static void a_unit_that_a_later_run_has_finished_is_covered(void **state) {
    (void)state;
    struct made_report made;
    const struct ts_target_id target = world_target(1);
    const uint64_t earlier = world_make_run(&target, 1), earlier_id = world.run;
    make_report(&made, 0, 5, 1);
    scan_target(1, &made, &rules);
    struct worker worker;
    begin(&worker, earlier_id, earlier, &other_rules);
    assert_true(worker.unit.target.run_number > earlier);
    worker.receipt = ts_durable_covered(worker.durable);
    complete(&worker);
    worker_free(&worker);
    free_report(&made);
    expect_garbage_free(5, 5);
}

/* ---- parts ---- */

static void another_worker_continues_from_the_parts_of_a_lost_one(void **state) {
    (void)state;
    const struct ts_target_id target = world_target(1);
    const uint64_t run = world_make_run(&target, 1);
    struct worker lost, next;
    begin(&lost, world.run, run, &rules);
    part(&lost, 2, 1);
    part(&lost, 37, 0);
    lose_lease(&lost);
    worker_free(&lost);
    begin(&next, world.run, run, &rules);
    struct recalled recalled = recall(&next);
    assert_int_equal(recalled.pages[TS_DURABLE_KNOWN], 39);
    assert_int_equal(recalled.pages[TS_DURABLE_HITS], 1);
    assert_int_equal(recalled.pages[TS_DURABLE_TIPS], 0);
    struct made_report made;
    make_report(&made, 0, 1, 1);
    struct ts_durable_scan scan = scan_of(&made);
    const struct ts_bytes hits = TS_BYTES("more hits");
    scan.hits = (struct ts_durable_pages){&hits, 1};
    scan.has_hits = true;
    scan.again = ts_bytes_of("12345678901234567890", 20);
    finish(&next, scan);
    worker_free(&next);
    /* Known pages are no longer needed. Hits and tips are still needed. */
    expect_garbage_free(1, 1);
    const uint64_t later = world_make_run(&target, 1);
    begin(&next, world.run, later, &rules);
    recalled = recall(&next);
    assert_int_equal(recalled.pages[TS_DURABLE_KNOWN], 0);
    assert_int_equal(recalled.pages[TS_DURABLE_HITS], 2);
    assert_int_equal(recalled.bytes[TS_DURABLE_TIPS], 40);
    assert_int_equal(recalled.bytes[TS_DURABLE_AGAIN], 20);
    finish(&next, scan_of(&made));
    worker_free(&next);
    free_report(&made);
}

/* ---- faults ---- */

/* Runs a unit with parts again and again. Each time another write loses its reply or its request. */
static void invariant_8_after_a_lost_write_the_result_is_exact(void **state) {
    (void)state;
    for (enum fate fate = REPLY_LOST; fate <= REQUEST_LOST; fate++) {
        for (unsigned spared = 0;; spared++) {
            (void)world_fresh(NULL);
            const struct ts_target_id target = world_target(1);
            struct made_report old, made;
            make_report(&old, 10, 8, 2);
            scan_target(1, &old, &rules);
            const uint64_t run = world_make_run(&target, 1);
            struct worker worker;
            make_report(&made, 0, 12, 2);
            begin(&worker, world.run, run, &other_rules);
            world.fate = fate;
            world.spared = spared;
            part(&worker, 2, 2);
            struct ts_durable_scan scan = scan_of(&made);
            scan.has_hits = true;
            finish(&worker, scan);
            worker_free(&worker);
            const bool is_over = world.fate != ARRIVES; /* the unit has made fewer writes */
            world.fate = ARRIVES;
            free_report(&old);
            free_report(&made);
            expect_garbage_free(12, 24);
            assert_int_equal(world_census().hits, 2);
            if (is_over)
                break;
        }
    }
}

/* If a write to another store got no answer, the store may carry it out after a later run has replaced the
 * rows of the write. */
static void rows_of_a_write_without_an_answer_are_not_removed_at_once(void **state) {
    (void)state;
    bool is_over = false, was_unsure = false;
    struct made_report old, new;
    make_report(&old, 0, 12, 1);
    make_report(&new, 20, 12, 1);
    for (unsigned spared = 0; !is_over; spared++) {
        (void)world_fresh(NULL);
        struct worker worker;
        const struct ts_target_id target = world_target(1);
        uint64_t run = world_make_run(&target, 1);
        begin(&worker, world.run, run, &rules);
        world.fate = REPLY_LOST;
        world.spared = spared;
        finish(&worker, scan_of(&old));
        is_over = world.fate != ARRIVES;
        world.fate = ARRIVES;
        worker_free(&worker);
        run = world_make_run(&target, 1);
        begin(&worker, world.run, run, &rules);
        const bool is_unsure = worker.unit.target.is_unsure;
        finish(&worker, scan_of(&new));
        worker_free(&worker);
        assert_true(!is_unsure || !is_over);
        assert_int_equal(world_census().marks, is_unsure ? 1 : 0);
        assert_int_equal(world_census().hidden, is_unsure ? 12 : 0);
        was_unsure = was_unsure || is_unsure;
    }
    assert_true(was_unsure);
    free_report(&old);
    free_report(&new);
}

/* Returns a target on the store of the finding, so that the target's unit writes to no other store. */
static struct ts_target_id target_beside(unsigned finding) {
    const struct ts_fleet_finding id = finding_number(finding);
    const uint32_t place = ts_coord_place_of(world.coord, ts_fleet_route_of_finding(&id));
    unsigned number = 1;
    while (ts_coord_target_home(ts_coord_router(world.coord), world_target(number).bytes).v != place)
        number++;
    return world_target(number);
}

static void invariant_1_a_worker_without_its_lease_writes_nothing(void **state) {
    (void)state;
    const struct ts_target_id target = target_beside(0);
    const uint64_t run = world_make_run(&target, 1);
    struct worker stale, next;
    struct made_report made;
    make_report(&made, 0, 1, 1);
    const struct ts_durable_scan scan = scan_of(&made);
    begin(&stale, world.run, run, &rules);
    must(ts_durable_stage(stale.durable, &scan, &stale.detail), &stale);
    /* Another session of the same worker releases the lease, and another worker claims the shard. */
    struct ts_coord_worker who = {.tenant = world.tenant};
    assert_true(ts_worker_id_from_text(TS_BYTES("worker"), &who.worker));
    struct ts_coord_session *session = ts_coord_session_new(world.coord, &who);
    ts_coord_session_adopt(session, ts_coord_session_lease(stale.session));
    struct worker same = {.session = session};
    lose_lease(&same);
    ts_coord_session_free(session);
    begin(&next, world.run, run, &rules);
    assert_int_equal(ts_durable_flip(stale.durable, &stale.receipt, &stale.detail), TS_DURABLE_FAILED);
    assert_int_equal(TS_UNIT_ERROR_MATCH(stale.detail.error, 1, 2, 3), 3);
    const struct ts_item_receipt *item;
    const struct ts_durable_part facts = {.known = {&scan.tips, 1}};
    assert_int_equal(ts_durable_part(stale.durable, &facts, &item, &stale.detail), TS_DURABLE_FAILED);
    assert_int_equal(TS_UNIT_ERROR_MATCH(stale.detail.error, 1, 2, 3), 3);
    struct census census = world_census();
    assert_int_equal(census.visible, 0);
    assert_int_equal(census.known, 0);
    finish(&next, scan);
    worker_free(&stale);
    worker_free(&next);
    free_report(&made);
    expect_garbage_free(1, 1);
}

static void a_flip_over_a_changed_target_is_a_conflict(void **state) {
    (void)state;
    const struct ts_target_id target = world_target(1);
    struct made_report first, second;
    make_report(&first, 0, 4, 1);
    make_report(&second, 2, 4, 1);
    const uint64_t earlier = world_make_run(&target, 1), earlier_id = world.run;
    const uint64_t later = world_make_run(&target, 1), later_id = world.run;
    struct worker one, other;
    begin(&one, later_id, later, &rules);
    struct ts_durable_scan scan = scan_of(&second);
    must(ts_durable_stage(one.durable, &scan, &one.detail), &one);
    begin(&other, earlier_id, earlier, &rules);
    finish(&other, scan_of(&first));
    worker_free(&other);
    assert_int_equal(ts_durable_flip(one.durable, &one.receipt, &one.detail), TS_DURABLE_CONFLICT);
    assert_int_equal(world_census().visible, 4);
    /* The next attempt gives the same result. */
    must(ts_durable_read(one.durable, &one.unit, &one.detail), &one);
    scan.n = 1;
    finish(&one, scan);
    worker_free(&one);
    free_report(&first);
    free_report(&second);
    expect_garbage_free(4, 4);
    assert_int_equal(world_census().findings, 6);
}

static void the_sweep_keeps_attempts_of_living_leases_and_removes_those_of_dead_ones(void **state) {
    (void)state;
    const struct ts_target_id target = world_target(1);
    const uint64_t run = world_make_run(&target, 1);
    struct worker dead, next;
    struct made_report made;
    struct ts_durable_swept swept;
    struct ts_infra_error error;
    make_report(&made, 0, 1500, 1);
    const struct ts_durable_scan scan = scan_of(&made);
    begin(&dead, world.run, run, &rules);
    part(&dead, 1, 0);
    must(ts_durable_stage(dead.durable, &scan, &dead.detail), &dead);
    const struct census staged = world_census();
    assert_true(ts_durable_sweep(world.coord, &world.tenant, (struct ts_durable_stop){0}, &swept, &error));
    assert_int_equal(swept.marks, 0);
    assert_int_equal(swept.kept, 2);
    assert_int_equal(world_census().hidden, staged.hidden);
    lose_lease(&dead);
    begin(&next, world.run, run, &rules);
    /* A write to the other store may still be carried out later. */
    assert_true(ts_durable_sweep(world.coord, &world.tenant, (struct ts_durable_stop){0}, &swept, &error));
    assert_int_equal(swept.marks, 0);
    assert_int_equal(swept.kept, 2);
    assert_int_equal(world_census().hidden, staged.hidden);
    if (world_pass_ms(TS_DURABLE_FOREIGN_MS)) {
        assert_true(
            ts_durable_sweep(world.coord, &world.tenant, (struct ts_durable_stop){0}, &swept, &error));
        assert_int_equal(swept.marks, 1);
        assert_int_equal(swept.kept, 1); /* known pages are kept, because the next worker uses them */
        assert_int_equal(world_census().hidden, 0);
        assert_int_equal(world_census().pages, 0);
        assert_int_equal(world_census().known, 1);
        finish(&next, scan);
        expect_garbage_free(1500, 1500);
    }
    worker_free(&dead);
    worker_free(&next);
    free_report(&made);
}

/* Fences begin again in the new run: only the run's number distinguishes its leases from the leases of the
 * deleted run. */
static void rows_of_a_deleted_run_are_removed_while_another_run_has_its_id(void **state) {
    (void)state;
    const struct ts_target_id target = world_target(1);
    uint64_t run = world_make_run(&target, 1);
    const struct ts_coord_run_query query = {.tenant = world.tenant, .run = {world.run}};
    const struct ts_end_run_op end = {.tenant = world.tenant, .run = query.run, .op_id = {99}};
    struct worker dead, next;
    struct made_report made;
    struct ts_durable_swept swept;
    struct ts_infra_error error;
    struct ts_coord_outcome outcome;
    struct ts_coord_deleted deleted;
    struct ts_coord_detail detail = {0};
    make_report(&made, 0, 1500, 1);
    const struct ts_durable_scan scan = scan_of(&made);
    begin(&dead, world.run, run, &rules);
    must(ts_durable_stage(dead.durable, &scan, &dead.detail), &dead);
    worker_free(&dead);
    assert_int_equal(ts_coord_cancel_run(world.coord, end, &outcome, &detail), TS_RUN_TRANSITION_OK);
    assert_int_equal(ts_coord_delete_run(world.coord, &query, &deleted, &detail), TS_DELETE_RUN_OK);
    world.is_id_used_again = true;
    run = world_make_run(&target, 1);
    begin(&next, world.run, run, &rules);
    assert_true(ts_durable_sweep(world.coord, &world.tenant, world.stop, &swept, &error));
    if (world_pass_ms(TS_DURABLE_FOREIGN_MS)) {
        assert_true(ts_durable_sweep(world.coord, &world.tenant, world.stop, &swept, &error));
        assert_int_equal(world_census().hidden, 0);
        assert_int_equal(world_census().marks, 0);
        finish(&next, scan);
        expect_garbage_free(1500, 1500);
    }
    worker_free(&next);
    free_report(&made);
}

static void invariant_4_coordination_stores_as_much_for_a_large_target_as_for_a_small_one(void **state) {
    (void)state;
    size_t rows[3];
    struct made_report made;
    make_report(&made, 0, 1, 1);
    scan_target(3, &made, &rules); /* a tenant's first run adds rows of the tenant */
    rows[0] = world_coordination_rows();
    scan_target(1, &made, &rules);
    free_report(&made);
    rows[1] = world_coordination_rows();
    make_report(&made, 0, 1500, 3);
    scan_target(2, &made, &rules);
    free_report(&made);
    rows[2] = world_coordination_rows();
    assert_true(rows[1] > rows[0]);
    assert_int_equal(rows[2] - rows[1], rows[1] - rows[0]);
}

int main(int argc, char **argv) {
#define TEST(function) cmocka_unit_test_setup(function, world_fresh)
    const struct CMUnitTest tests[] = {
        TEST(a_small_clean_unit_costs_three_calls),
        TEST(findings_are_visible_after_the_flip_and_not_before),
        TEST(a_later_run_replaces_all_findings_and_removes_the_old_rows),
        TEST(batches_stay_below_their_limits),
        TEST(one_finding_may_have_more_places_than_a_page),
        TEST(nothing_new_moves_the_run_number_and_nothing_else),
        TEST(a_unit_that_a_later_run_has_finished_is_covered),
        TEST(another_worker_continues_from_the_parts_of_a_lost_one),
        TEST(invariant_8_after_a_lost_write_the_result_is_exact),
        TEST(rows_of_a_write_without_an_answer_are_not_removed_at_once),
        TEST(invariant_1_a_worker_without_its_lease_writes_nothing),
        TEST(a_flip_over_a_changed_target_is_a_conflict),
        TEST(rows_of_a_deleted_run_are_removed_while_another_run_has_its_id),
        TEST(invariant_4_coordination_stores_as_much_for_a_large_target_as_for_a_small_one),
        TEST(the_sweep_keeps_attempts_of_living_leases_and_removes_those_of_dead_ones),
    };
    return world_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
