/*
 * Schedules on every engine, with two stores: there is one run for each due time, even if workers race, die
 * or sleep.
 */
#include "victim.h"

#include "runtime/driver/start.h"
#include "runtime/durable/schedules.h"

#include <stdio.h>
#include <stdlib.h>

enum { TARGETS = 3, RACERS = 6 };
static const struct ts_fleet_tenant_key key = {{7}};
static const char *const request = "gitea://127.0.0.1:1/nobody"; /* no server listens on this port */

/* ---- schedules ---- */

static bool next_unit(void *context, struct ts_fleet_unit *ret_unit) {
    static const char *const addresses[TARGETS] = {"https://host/a", "https://host/b", "https://host/c"};
    size_t *next = context;
    if (*next == TARGETS)
        return false;
    *ret_unit = (struct ts_fleet_unit){.address = ts_bytes_of_cstring(addresses[(*next)++]),
                                       .selection = TS_BYTES("all")};
    return true;
}

static struct ts_schedule_ref ref(void) {
    struct ts_schedule_ref result = {.tenant = world.tenant};
    assert_true(ts_schedule_name_from_text(TS_BYTES("nightly"), &result.name));
    return result;
}

static const struct ts_schedule_seen *look(void) {
    static struct ts_schedule_seen seen;
    const struct ts_schedule_ref name = ref();
    struct ts_infra_error error;
    assert_true(ts_schedule_read(world.coord, &name, &seen, &error));
    assert_false(seen.is_damaged);
    return &seen;
}

static void write_schedule(const struct ts_fleet_schedule *schedule) {
    struct ts_infra_error error;
    assert_int_equal(ts_schedule_write(world.coord, look(), schedule, &error), TS_SCHEDULE_WRITTEN);
}

/* Returns a schedule that is due now, and then every day. */
static struct ts_fleet_schedule daily(void) {
    struct ts_fleet_schedule schedule = {.made_at_ms = look()->now_ms,
                                         .first_ms = look()->now_ms,
                                         .every_ms = TS_SCHEDULE_DAY_MS,
                                         .selection = TS_BYTES("all"),
                                         .lease_ms = 30000,
                                         .attempts = 5};
    const struct ts_schedule_ref name = ref();
    struct ts_infra_error error;
    size_t next = 0;
    assert_true(ts_listing_write(world.coord, &name, next_unit, &next, &schedule.list, &error));
    assert_int_equal(schedule.list.targets, TARGETS);
    return schedule;
}

static void add_daily(void) {
    const struct ts_fleet_schedule schedule = daily();
    write_schedule(&schedule);
}

/* ---- workers ---- */

/* A worker that only starts runs that are due. */
struct racer {
    struct victim victim; /* makes the worker's calls, and disturbs one of them */
    struct ts_starter starter;
    unsigned started, failed;
    pthread_t thread;
    bool is_over;
};

static void on_started(void *context, struct ts_run_id run, uint64_t targets) {
    struct racer *racer = context;
    (void)run;
    assert_int_equal(targets, TARGETS);
    racer->started++;
}

static void on_failed(void *context, struct ts_run_id run, const char *why) {
    struct racer *racer = context;
    (void)run;
    assert_true(why[0] != '\0');
    racer->failed++;
}

static void racer_init(struct racer *racer) {
    victim_init(&racer->victim, &key);
    racer->started = racer->failed = 0;
    racer->is_over = false;
    racer->starter = (struct ts_starter){.coord = racer->victim.coord,
                                         .tenant = world.tenant,
                                         .pin = {{1}},
                                         .forge = {.timeout_s = 5, .per_second = 10},
                                         .started = on_started,
                                         .failed = on_failed,
                                         .context = racer};
}

static void *race(void *context) {
    struct racer *racer = context;
    struct ts_infra_error error;
    (void)ts_start_due(&racer->starter, &error);
    pthread_mutex_lock(&racer->victim.lock);
    racer->victim.is_over = true;
    pthread_cond_broadcast(&racer->victim.changed);
    pthread_mutex_unlock(&racer->victim.lock);
    return NULL;
}

static unsigned start_undisturbed(void) {
    struct racer racer;
    racer_init(&racer);
    (void)race(&racer);
    victim_release(&racer.victim);
    return racer.started;
}

/* ---- checks ---- */

struct runs {
    size_t count, active;
    uint64_t registered;
    struct ts_run_id last;
};

static bool count_run(void *context, const struct ts_run_record *run) {
    struct runs *runs = context;
    runs->count++;
    runs->active += run->status == TS_RUN_ACTIVE;
    runs->registered += run->registered;
    runs->last = run->run;
    return true;
}

static struct runs count_runs(void) {
    struct runs runs = {0};
    struct ts_coord_detail detail = {0};
    const struct ts_coord_runs_query query = {.filter = {.tenant = world.tenant}};
    assert_int_equal(ts_coord_list_runs(world.coord, &query, count_run, &runs, &detail), TS_GET_RUN_OK);
    return runs;
}

/* Expects one run with all targets, a schedule's record that names this run, and no other list. */
static void expect_one_run(void) {
    const struct runs runs = count_runs();
    const struct ts_schedule_seen *seen = look();
    const struct ts_schedule_ref name = ref();
    struct ts_listings listings;
    struct ts_infra_error error;
    assert_int_equal(runs.count, 1);
    assert_int_equal(runs.active, 1);
    assert_int_equal(runs.registered, TARGETS);
    assert_int_equal(seen->schedule.last_due_ms, seen->schedule.first_ms);
    assert_false(seen->schedule.has_begun);
    assert_int_equal(seen->schedule.run_count, 1);
    assert_true(runs.last.v == ts_schedule_run(&name.tenant, &name.name, seen->schedule.runs[0]).v);
    assert_true(ts_listings_collect(world.coord, &name, &listings, &error));
    assert_int_equal(listings.count, 1);
    assert_true(listings.ids[0] == seen->schedule.list.id);
}

static void any_number_of_workers_start_one_run_for_a_due_time(void **state) {
    (void)state;
    for (unsigned round = 0; round < 10; round++) {
        struct racer *racers = calloc(RACERS, sizeof *racers);
        unsigned started = 0;
        assert_non_null(racers);
        (void)world_fresh(NULL);
        add_daily();
        for (unsigned i = 0; i < RACERS; i++) {
            racer_init(&racers[i]);
            assert_int_equal(pthread_create(&racers[i].thread, NULL, race, &racers[i]), 0);
        }
        for (unsigned i = 0; i < RACERS; i++) {
            assert_int_equal(pthread_join(racers[i].thread, NULL), 0);
            started += racers[i].started;
            victim_release(&racers[i].victim);
        }
        free(racers);
        /* If workers changed the record at the same time, no worker may have completed the start. Then the next
         * pass completes it. */
        started += start_undisturbed();
        assert_int_equal(started, 1);
        assert_int_equal(start_undisturbed(), 0);
        expect_one_run();
    }
}

/* Disturbs one worker at its first call, the next worker at its second call, and so on. */
static void at_every_call(enum harm harm) {
    unsigned at = 0;
    for (bool is_reached = true; is_reached; at++) {
        struct racer racer;
        (void)world_fresh(NULL);
        add_daily();
        racer_init(&racer);
        racer.victim.harm = harm;
        racer.victim.at = at;
        (void)race(&racer);
        is_reached = atomic_load(&racer.victim.reads) + atomic_load(&racer.victim.writes) > at;
        victim_release(&racer.victim);
        /* A lost read may count as a failure of the schedule, which then pauses. Ends this pause. */
        if (look()->schedule.again_at_ms != 0) {
            struct ts_fleet_schedule next = look()->schedule;
            next.again_at_ms = 0;
            write_schedule(&next);
        }
        (void)start_undisturbed();
        expect_one_run();
    }
    assert_true(at > 8);
}

static void a_worker_that_dies_at_any_call_leaves_one_run(void **state) {
    (void)state;
    at_every_call(KILLED);
    at_every_call(KILLED_AFTER);
}

static void a_worker_that_loses_any_reply_leaves_one_run(void **state) {
    (void)state;
    at_every_call(LOSES_REPLY);
}

static void end_and_delete(struct ts_run_id run) {
    const struct ts_end_run_op op = {.tenant = world.tenant, .run = run, .op_id = {1}};
    const struct ts_coord_run_query query = {.tenant = world.tenant, .run = run};
    struct ts_coord_outcome outcome;
    struct ts_coord_deleted deleted;
    struct ts_coord_detail detail = {0};
    assert_int_equal(ts_coord_cancel_run(world.coord, op, &outcome, &detail), TS_RUN_TRANSITION_OK);
    assert_int_equal(ts_coord_delete_run(world.coord, &query, &deleted, &detail), TS_DELETE_RUN_OK);
}

/* After the deletion, the run's id is free again. Nevertheless no second run starts for the due time. */
static void a_worker_that_sleeps_until_the_run_is_deleted_does_not_start_it_again(void **state) {
    (void)state;
    unsigned at = 0;
    for (bool is_reached = true; is_reached; at++) {
        struct racer racer;
        (void)world_fresh(NULL);
        add_daily();
        racer_init(&racer);
        racer.victim.harm = PAUSED;
        racer.victim.at = at;
        assert_int_equal(pthread_create(&racer.thread, NULL, race, &racer), 0);
        is_reached = victim_wait(&racer.victim);
        (void)start_undisturbed();
        const struct runs runs = count_runs();
        assert_int_equal(runs.count, 1);
        assert_int_equal(runs.active, 1);
        end_and_delete(runs.last);
        victim_resume(&racer.victim);
        assert_int_equal(pthread_join(racer.thread, NULL), 0);
        victim_release(&racer.victim);
        (void)start_undisturbed();
        assert_int_equal(count_runs().count, 0);
    }
    assert_true(at > 8);
}

static void due_times_that_nobody_started_are_covered_by_one_run(void **state) {
    (void)state;
    add_daily();
    assert_int_equal(start_undisturbed(), 1);
    if (!world_pass_ms(3 * TS_SCHEDULE_DAY_MS + 1000))
        return; /* the clock of PostgreSQL cannot be moved */
    assert_int_equal(start_undisturbed(), 1);
    assert_int_equal(start_undisturbed(), 0);
    assert_int_equal(count_runs().count, 2);
    assert_true(look()->schedule.last_due_ms == look()->schedule.first_ms + 3 * TS_SCHEDULE_DAY_MS);
}

static void a_paused_schedule_starts_nothing(void **state) {
    (void)state;
    struct ts_fleet_schedule schedule = daily();
    schedule.is_paused = true;
    write_schedule(&schedule);
    assert_int_equal(start_undisturbed(), 0);
    assert_int_equal(count_runs().count, 0);
}

static void old_runs_are_deleted_when_they_have_ended(void **state) {
    (void)state;
    struct ts_fleet_schedule schedule = daily();
    schedule.keep = 2;
    write_schedule(&schedule);
    for (unsigned day = 0; day < 5; day++) {
        assert_int_equal(start_undisturbed(), 1);
        const struct ts_schedule_seen *seen = look();
        const struct ts_end_run_op op = {
            .tenant = world.tenant,
            .run = ts_schedule_run(&seen->ref.tenant, &seen->ref.name, seen->schedule.runs[0]),
            .op_id = {1}};
        struct ts_coord_outcome outcome;
        struct ts_coord_detail detail = {0};
        if (day != 1) /* the run of day 1 remains active, so later runs are not deleted either */
            assert_int_equal(ts_coord_cancel_run(world.coord, op, &outcome, &detail), TS_RUN_TRANSITION_OK);
        if (!world_pass_ms(TS_SCHEDULE_DAY_MS))
            return;
    }
    assert_int_equal(look()->schedule.run_count, 4);
    assert_int_equal(count_runs().count, 4);
    assert_int_equal(count_runs().active, 1);
}

static void a_forge_that_fails_is_asked_again_after_a_pause_and_the_reason_is_stored(void **state) {
    (void)state;
    struct racer racer;
    struct ts_fleet_schedule schedule = daily();
    schedule.requests[schedule.request_count++] = ts_bytes_of_cstring(request);
    write_schedule(&schedule);
    for (unsigned try = 0; try < 3; try++) {
        racer_init(&racer);
        (void)race(&racer);
        victim_release(&racer.victim);
        assert_int_equal(racer.started, 0);
        assert_int_equal(racer.failed, try == 1 ? 0 : 1);
        const struct ts_schedule_seen *seen = look();
        assert_true(seen->schedule.failures == (try == 2 ? 2 : 1) && seen->schedule.why.len > 0);
        assert_true(seen->schedule.again_at_ms > seen->now_ms);
        if (try == 1 && !world_pass_ms(5000))
            return;
    }
    assert_int_equal(count_runs().count, 0);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(any_number_of_workers_start_one_run_for_a_due_time, world_fresh),
        cmocka_unit_test_setup(a_worker_that_dies_at_any_call_leaves_one_run, world_fresh),
        cmocka_unit_test_setup(a_worker_that_loses_any_reply_leaves_one_run, world_fresh),
        cmocka_unit_test_setup(a_worker_that_sleeps_until_the_run_is_deleted_does_not_start_it_again,
                               world_fresh),
        cmocka_unit_test_setup(due_times_that_nobody_started_are_covered_by_one_run, world_fresh),
        cmocka_unit_test_setup(a_paused_schedule_starts_nothing, world_fresh),
        cmocka_unit_test_setup(old_runs_are_deleted_when_they_have_ended, world_fresh),
        cmocka_unit_test_setup(a_forge_that_fails_is_asked_again_after_a_pause_and_the_reason_is_stored,
                               world_fresh),
    };
    return world_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
