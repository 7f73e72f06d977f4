#include "fiber.h"
#include "support/cmocka.h"

#include <string.h>

struct story {
    struct sim__fiber *fiber;
    int steps;
    int seen;
};

static void walk(void *context) {
    struct story *story = context;
    int own = 7; /* this variable is on the fiber's stack, and survives yields */
    for (int i = 0; i < story->steps; i++) {
        own += i;
        story->seen = own;
        sim__fiber_yield(story->fiber);
    }
    story->seen = -1;
}

static void test_a_fiber_continues_where_it_stopped(void **state) {
    (void)state;
    struct story story = {.steps = 3};
    story.fiber = sim__fiber_new(walk, &story);
    assert_non_null(story.fiber);
    assert_int_equal(story.seen, 0);
    const int expected[] = {7, 8, 10};
    for (size_t i = 0; i < 3; i++) {
        sim__fiber_resume(story.fiber);
        assert_int_equal(story.seen, expected[i]);
        assert_false(sim__fiber_has_ended(story.fiber));
    }
    sim__fiber_resume(story.fiber);
    assert_true(sim__fiber_has_ended(story.fiber));
    assert_int_equal(story.seen, -1);
    sim__fiber_free(story.fiber);
}

static void test_fibers_run_in_the_requested_order(void **state) {
    (void)state;
    struct story first = {.steps = 2}, second = {.steps = 4};
    first.fiber = sim__fiber_new(walk, &first);
    second.fiber = sim__fiber_new(walk, &second);
    sim__fiber_resume(second.fiber);
    sim__fiber_resume(second.fiber);
    sim__fiber_resume(first.fiber);
    assert_int_equal(first.seen, 7);
    assert_int_equal(second.seen, 8);
    while (!sim__fiber_has_ended(first.fiber))
        sim__fiber_resume(first.fiber);
    assert_int_equal(second.seen, 8);
    while (!sim__fiber_has_ended(second.fiber))
        sim__fiber_resume(second.fiber);
    sim__fiber_free(first.fiber);
    sim__fiber_free(second.fiber);
}

static void use_much_stack(void *context) {
    unsigned char large[512 * 1024];
    memset(large, 1, sizeof large);
    unsigned *sum = context;
    for (size_t i = 0; i < sizeof large; i += 4096)
        *sum += large[i];
}

static void test_a_fiber_has_room_for_what_operations_need(void **state) {
    (void)state;
    unsigned sum = 0;
    struct sim__fiber *fiber = sim__fiber_new(use_much_stack, &sum);
    sim__fiber_resume(fiber);
    assert_int_equal(sum, 128);
    sim__fiber_free(fiber);
}

static void test_one_that_never_began_can_be_freed(void **state) {
    (void)state;
    struct story story = {.steps = 1};
    sim__fiber_free(sim__fiber_new(walk, &story));
    sim__fiber_free(NULL);
    assert_int_equal(story.seen, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_fiber_continues_where_it_stopped),
        cmocka_unit_test(test_fibers_run_in_the_requested_order),
        cmocka_unit_test(test_a_fiber_has_room_for_what_operations_need),
        cmocka_unit_test(test_one_that_never_began_can_be_freed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
