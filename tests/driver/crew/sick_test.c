/* Tests of a worker on a machine that lacks something. */
#include "kit.h"

#include <sys/resource.h>
#include <unistd.h>

static void stop_after_a_release(struct victim *victim, const struct ts_crew_event *event) {
    if (event->kind == TS_CREW_EVENT_RELEASED)
        atomic_store(&victim->progress.stop, true);
}

static void allow_all_descriptors(void) {
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* Limits the number of descriptors to those that are open now plus `count`. */
static void allow_descriptors(unsigned count) {
    struct rlimit limit;
    const int lowest = dup(0);
    assert_true(lowest > 0);
    assert_int_equal(close(lowest), 0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = (rlim_t)lowest + count;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* However few descriptors are left, a target is scanned completely, or released. */
static void a_lack_of_descriptors_is_not_the_fault_of_a_repository(void **state) {
    (void)state;
    struct victim worker;
    size_t done = 0;
    make_repository("a.git", 20, 5);
    for (unsigned count = 0; done == 0; count++) {
        (void)world_fresh(NULL);
        submit(next_run());
        victim_init(&worker, &key);
        worker.on_event = stop_after_a_release;
        allow_descriptors(count);
        victim_work(&worker);
        allow_all_descriptors();
        done = victim_count(&worker, TS_CREW_EVENT_DONE);
        assert_int_equal(victim_count(&worker, TS_CREW_EVENT_PARKED), 0);
        if (done == 0)
            assert_string_equal(victim_last(&worker, TS_CREW_EVENT_RELEASED)->reason, "no_descriptors");
        else
            assert_int_equal(victim_last(&worker, TS_CREW_EVENT_DONE)->findings, 5);
        victim_release(&worker);
        assert_true(count < 50);
    }
}

/* On a machine without free descriptors, a worker cannot open a repository, but the repository is not
 * faulty. */
static void a_worker_on_a_sick_machine_hands_back_and_ends(void **state) {
    (void)state;
    struct victim worker;
    make_repository("a.git", 2, 1);
    make_repository("b.git", 2, 1);
    submit(next_run());
    victim_init(&worker, &key);
    allow_descriptors(0);
    victim_work(&worker);
    allow_all_descriptors();
    assert_int_equal(worker.result, TS_CREW_SICK);
    assert_string_equal(worker.error.text, ts_fleet_worker_fault_text((struct ts_fleet_worker_fault){
                                               TS_FLEET_WORKER_FAULT_NO_DESCRIPTORS}));
    assert_int_equal(victim_count(&worker, TS_CREW_EVENT_RELEASED), 3);
    assert_int_equal(victim_count(&worker, TS_CREW_EVENT_PARKED), 0);
    assert_string_equal(victim_last(&worker, TS_CREW_EVENT_RELEASED)->reason, "no_descriptors");
    victim_release(&worker);
    finish(2);
}

int main(int argc, char **argv) {
#define TEST(function) cmocka_unit_test_setup_teardown(function, kit_setup, kit_teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_lack_of_descriptors_is_not_the_fault_of_a_repository),
        TEST(a_worker_on_a_sick_machine_hands_back_and_ends),
    };
    return kit_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
