/* Disturbs a worker at each of its calls to a store in turn. Afterwards another worker ends the run. Then the
 * visible findings equal those of an undisturbed worker, and no other rows are left. The second argument
 * selects the disturbance. */
#include "kit.h"

#include <string.h>

static enum harm harm;

/* Returns the census after an undisturbed worker has scanned the repositories of this folder. */
static struct census undisturbed(uint64_t targets) {
    submit(next_run());
    finish(targets);
    sweep();
    const struct census census = world_census();
    assert_true(census.visible > 0 && census.digest != 0);
    (void)world_fresh(NULL);
    return census;
}

/* Disturbs one worker at its first call, the next worker at its second call, and so on, until a worker makes
 * fewer calls. */
static void at_every_call(void **state) {
    (void)state;
    make_repository("large.git", 3000, 12);
    make_repository("small.git", 3, 1);
    make_repository("clean.git", 3, 0);
    const struct census expected = undisturbed(3);
    unsigned at = 0;
    for (bool is_reached = true; is_reached; at++) {
        struct victim victim;
        (void)world_fresh(NULL);
        const size_t pages_before = world_census().pages;
        submit(next_run());
        victim_init(&victim, &key);
        victim.harm = harm;
        victim.at = at;
        victim_start(&victim);
        if (harm == PAUSED) {
            is_reached = victim_wait(&victim);
            (void)world_pass_ms(LEASE_MS);
            finish(3);
            victim_resume(&victim);
        }
        victim_join(&victim);
        if (harm != PAUSED)
            is_reached = atomic_load(&victim.reads) + atomic_load(&victim.writes) > at;
        assert_int_equal(victim.result, TS_CREW_ENDED);
        if (harm == LOSES_REPLY)
            assert_int_equal(counts_of_run().done, 3);
        victim_release(&victim);
        (void)world_pass_ms(LEASE_MS);
        finish(3);
        expect_same(&expected, pages_before);
    }
    print_message("%u calls\n", at - 1);
    assert_true(at > 15);
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        struct CMUnitTest test;
    } harms[] = {
#define HARM(kind, text)                                                                                     \
    [kind] = {                                                                                               \
        #kind,                                                                                               \
        {.name = text, .test_func = at_every_call, .setup_func = kit_setup, .teardown_func = kit_teardown}   \
    }
        HARM(KILLED, "a_worker_that_dies_before_any_call_loses_and_repeats_nothing"),
        HARM(KILLED_AFTER, "a_worker_that_dies_after_any_call_loses_and_repeats_nothing"),
        HARM(PAUSED, "a_worker_that_is_paused_past_its_lease_at_any_call_writes_nothing_under_it"),
        HARM(LOSES_REPLY, "a_worker_that_loses_any_reply_finds_out_what_happened"),
        HARM(STOPPED, "a_worker_that_is_stopped_at_any_call_hands_everything_back"),
    };
    for (harm = KILLED; argc > 2 && harm <= STOPPED; harm++)
        if (strcmp(argv[2], harms[harm].name) == 0)
            return kit_main(argc, argv, &harms[harm].test, 1);
    print_error("usage: calls_test memory HARM\n");
    return 2;
}
