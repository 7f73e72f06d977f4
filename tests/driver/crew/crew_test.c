/*
 * The worker itself, in this process, on the memory engine with two stores.
 */
#include "kit.h"

#include "repo_maker.h"

static void count_from_the_claim(struct victim *victim, const struct ts_crew_event *event) {
    if (event->kind == TS_CREW_EVENT_CLAIMED) {
        atomic_store(&victim->reads, 0);
        atomic_store(&victim->writes, 0);
        atomic_store(&victim->promises, 0);
    }
    if (event->kind == TS_CREW_EVENT_DONE) {
        assert_int_equal(atomic_load(&victim->reads), 1);
        assert_int_equal(atomic_load(&victim->writes), 2);
        assert_int_equal(atomic_load(&victim->promises), 0);
    }
}

static void after_its_claim_a_small_clean_unit_costs_one_read_and_two_writes(void **state) {
    (void)state;
    struct victim worker;
    for (unsigned i = 0; i < 5; i++) {
        char name[20];
        snprintf(name, sizeof name, "clean%u.git", i);
        make_repository(name, 10, 0);
    }
    submit(next_run());
    victim_init(&worker, &key);
    worker.options.part_ms = TS_CREW_PART_MS;
    worker.on_event = count_from_the_claim;
    victim_work(&worker);
    assert_int_equal(victim_count(&worker, TS_CREW_EVENT_DONE), 5);
    victim_release(&worker);
}

/* Stops the worker in the stage. The first call after the claim reads the unit. The second call is the first
 * call of the stage, and searches for known findings. */
static void stop_at_the_stage(struct victim *victim, const struct ts_crew_event *event) {
    if (event->kind == TS_CREW_EVENT_CLAIMED)
        victim->at = atomic_load(&victim->reads) + atomic_load(&victim->writes) + 1;
}

/* When the stop comes, the results are only in the memory of this process. */
static void a_worker_that_must_stop_keeps_findings_that_wait_for_the_flip(void **state) {
    (void)state;
    struct victim worker;
    make_repository("findings.git", 200, 40);
    submit(next_run());
    victim_init(&worker, &key);
    worker.options.part_ms = TS_CREW_PART_MS;
    worker.harm = STOPPED;
    worker.on_event = stop_at_the_stage;
    victim_work(&worker);
    assert_int_equal(victim_count(&worker, TS_CREW_EVENT_PART), 1);
    assert_int_equal(victim_count(&worker, TS_CREW_EVENT_RELEASED), 1);
    assert_int_equal(atomic_load(&worker.progress.findings), 0);
    assert_true(world_census().known > 0 && world_census().hits > 0);
    victim_release(&worker);
    /* The next worker does not read the contents again. */
    victim_init(&worker, &key);
    victim_work(&worker);
    const struct ts_crew_event *done = victim_last(&worker, TS_CREW_EVENT_DONE);
    assert_non_null(done);
    assert_int_equal(done->findings, 40);
    assert_int_equal(atomic_load(&worker.progress.findings), 40);
    assert_int_equal(done->bytes_looked_at, 0);
    victim_release(&worker);
}

static void fail_scans(struct victim *victim, const struct ts_crew_event *event) {
    if (event->kind == TS_CREW_EVENT_CLAIMED)
        victim->failing_scans = 2;
}

static void a_recall_that_fails_is_tried_again(void **state) {
    (void)state;
    struct victim worker;
    make_repository("findings.git", 20, 4);
    submit(next_run());
    finish(1);
    sh("git -C findings.git update-ref refs/heads/other main"); /* makes new history to scan */
    submit(next_run());
    victim_init(&worker, &key);
    worker.options.has_run = true;
    worker.options.run = (struct ts_run_id){world.run};
    worker.on_event = fail_scans;
    victim_work(&worker);
    assert_int_equal(worker.failing_scans, 0);
    const struct ts_crew_event *done = victim_last(&worker, TS_CREW_EVENT_DONE);
    assert_non_null(done);
    assert_int_equal(done->findings, 4);
    assert_int_equal(done->bytes_looked_at, 0);
    assert_true(done->elapsed_ms >= 500); /* the unit itself has waited, after the retries of coordination */
    victim_release(&worker);
}

/* Makes the unit fail, and stops the worker after the first failure. */
static void fail_and_stop_later(struct victim *victim, const struct ts_crew_event *event) {
    if (event->kind != TS_CREW_EVENT_CLAIMED)
        return;
    victim->failing_scans = 1000;
    victim->at = atomic_load(&victim->reads) + atomic_load(&victim->writes) + 6;
}

static void a_stop_after_a_failure_is_not_reported_as_the_failure(void **state) {
    (void)state;
    struct victim worker;
    make_repository("findings.git", 20, 4);
    submit(next_run());
    finish(1);
    sh("git -C findings.git update-ref refs/heads/other main"); /* makes new history to scan */
    submit(next_run());
    victim_init(&worker, &key);
    worker.harm = STOPPED;
    worker.on_event = fail_and_stop_later;
    victim_work(&worker);
    const struct ts_crew_event *released = victim_last(&worker, TS_CREW_EVENT_RELEASED);
    assert_non_null(released);
    assert_true(released->elapsed_ms >= 500); /* the unit has failed, and then waited */
    assert_null(released->reason);
    victim_release(&worker);
}

/* Changes the last byte of every page of hits. Returns the number of pages. */
static size_t damage_hits(void) {
    size_t count = 0;
    for (uint32_t place = 0; place < ts_coord_place_count(world.coord); place++) {
        struct ts_rows rows = {0};
        struct ts_infra_error error;
        struct ts_coord_call call = {.place = place,
                                     .call = {.kind = TS_CALL_SCAN,
                                              .from = ts_bytes_of("\0fh", 3),
                                              .to = ts_bytes_of("\0fi", 3),
                                              .limit = 100,
                                              .rows = &rows}};
        assert_int_equal(ts_coord_read(world.coord, &call, 1, &error), TS_STORE_OK);
        for (size_t i = 0; i < rows.count; i++, count++) {
            uint8_t *page = (uint8_t *)(uintptr_t)rows.rows[i].value.data;
            page[rows.rows[i].value.len - 1] ^= 1;
            const struct ts_op put = {
                .kind = TS_OP_PUT, .key = rows.rows[i].key, .value = rows.rows[i].value};
            assert_int_equal(ts_coord_apply(world.coord, place, (struct ts_batch){&put, 1}, &error),
                             TS_STORE_OK);
        }
        ts_rows_release(&rows);
    }
    return count;
}

/* If the worker trusted the watermark alone, it would skip the contents whose hits were on the damaged
 * page. */
static void a_damaged_page_of_hits_costs_time_and_no_finding(void **state) {
    (void)state;
    struct victim worker;
    make_repository("findings.git", 20, 4);
    submit(next_run());
    finish(1);
    assert_true(damage_hits() > 0);
    sh("git -C findings.git update-ref refs/heads/other main"); /* makes new history to scan */
    submit(next_run());
    victim_init(&worker, &key);
    victim_work(&worker);
    const struct ts_crew_event *done = victim_last(&worker, TS_CREW_EVENT_DONE);
    assert_non_null(done);
    assert_int_equal(done->findings, 4);
    assert_true(done->bytes_looked_at > 0);
    victim_release(&worker);
}

static void die_in_the_stage(struct victim *victim, const struct ts_crew_event *event) {
    if (event->kind == TS_CREW_EVENT_CLAIMED)
        victim->at = atomic_load(&victim->reads) + atomic_load(&victim->writes) + 5;
}

/* SHORT_MS: duration of a lease, short because the worker waits as long as a lease before it sweeps again.
 * TRIES: maximum number of runs to try. */
enum { SHORT_MS = 2000, TRIES = 30 };

/* Leaves rows that are not visible. On a busy machine the lease may end before the worker reaches the stage.
 * Then the function tries another run. */
static void leave_rows(void) {
    struct victim dead;
    for (unsigned i = 0; i < TRIES && world_census().hidden == 0; i++) {
        submit_with(next_run(), &(struct ts_run_config){.lease_duration_ms = SHORT_MS});
        victim_init(&dead, &key);
        dead.options.has_run = true;
        dead.options.run = (struct ts_run_id){world.run};
        dead.harm = KILLED;
        dead.on_event = die_in_the_stage;
        victim_work(&dead);
        victim_release(&dead);
    }
    assert_true(world_census().hidden > 0);
}

/* Waits while the condition holds, for at most five minutes. */
#define WAIT_WHILE(condition)                                                                                \
    for (unsigned i = 0; i < 6000 && (condition); i++)                                                       \
    usleep(50000)

static void a_worker_that_waits_for_work_removes_later_what_it_may_not_remove_yet(void **state) {
    (void)state;
    struct victim worker;
    make_repository("findings.git", 20, 40);
    leave_rows();
    (void)world_pass_ms(SHORT_MS);
    victim_init(&worker, &key);
    worker.options.once = false;
    victim_start(&worker);
    WAIT_WHILE(world_census().marks > 0 || world_census().visible == 0);
    atomic_store(&worker.progress.stop, true);
    victim_join(&worker);
    const struct census census = world_census();
    assert_int_equal(census.visible, 40);
    assert_int_equal(census.hidden, 0);
    assert_int_equal(census.marks, 0);
    victim_release(&worker);
}

static void a_worker_says_once_that_runs_are_pinned_to_other_rules(void **state) {
    (void)state;
    struct victim worker;
    make_repository("findings.git", 2, 1);
    submit_with(next_run(), &(struct ts_run_config){.pin = {{9}}});
    victim_init(&worker, &key);
    worker.options.once = false;
    victim_start(&worker);
    WAIT_WHILE(atomic_load(&worker.reads) < 10); /* the worker has read several times */
    atomic_store(&worker.progress.stop, true);
    victim_join(&worker);
    assert_int_equal(victim_count(&worker, TS_CREW_EVENT_PINNED), 1);
    assert_int_equal(victim_last(&worker, TS_CREW_EVENT_PINNED)->count, 1);
    victim_release(&worker);
}

/* Scans the only target, and returns why it was parked. */
static const char *parked_for(const char *name, const char *harm) {
    static char reason[40];
    struct victim worker;
    (void)world_fresh(NULL);
    make_repository(name, 3, 1);
    submit(next_run());
    sh("%s", harm);
    victim_init(&worker, &key);
    victim_work(&worker);
    const struct ts_crew_event *parked = victim_last(&worker, TS_CREW_EVENT_PARKED);
    assert_non_null(parked);
    snprintf(reason, sizeof reason, "%s", parked->reason);
    victim_release(&worker);
    sh("rm -rf %s", name);
    return reason;
}

static void a_repository_that_cannot_be_scanned_is_parked_for_its_reason(void **state) {
    (void)state;
    assert_string_equal(parked_for("a.git", "rm -r a.git"), "not_found");
    assert_string_equal(parked_for("b.git", "rm -r b.git && touch b.git"), "not_found");
    assert_string_equal(parked_for("c.git", "rm -r c.git/*"), "not_found");
    assert_string_equal(parked_for("d.git", "git -C d.git config core.repositoryformatversion 99"),
                        "unsupported_format");
}

int main(int argc, char **argv) {
#define TEST(function) cmocka_unit_test_setup_teardown(function, kit_setup, kit_teardown)
    const struct CMUnitTest tests[] = {
        TEST(after_its_claim_a_small_clean_unit_costs_one_read_and_two_writes),
        TEST(a_worker_that_must_stop_keeps_findings_that_wait_for_the_flip),
        TEST(a_recall_that_fails_is_tried_again),
        TEST(a_stop_after_a_failure_is_not_reported_as_the_failure),
        TEST(a_damaged_page_of_hits_costs_time_and_no_finding),
        TEST(a_worker_that_waits_for_work_removes_later_what_it_may_not_remove_yet),
        TEST(a_repository_that_cannot_be_scanned_is_parked_for_its_reason),
        TEST(a_worker_says_once_that_runs_are_pinned_to_other_rules),
    };
    return kit_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
