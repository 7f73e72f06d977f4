#include "base/ring.h"

#include "support/cmocka.h"
#include "support/stops.h"

struct entry {
    uint32_t id;
    char tag;
};

typedef TS_RING(struct entry, 3) ring3;

static bool push(ring3 *ring, uint32_t id) {
    const struct entry entry = {.id = id, .tag = 'x'};
    return ts_ring_push(ring, &entry);
}

static void a_zeroed_ring_is_empty(void **state) {
    (void)state;
    ring3 ring = {0};
    assert_int_equal(ts_ring_count(&ring), 0);
    assert_int_equal(ts_ring_capacity(&ring), 3);
}

static void elements_are_found_by_age_from_both_ends(void **state) {
    (void)state;
    ring3 ring = {0};
    assert_false(push(&ring, 10));
    assert_false(push(&ring, 11));
    assert_int_equal(ts_ring_count(&ring), 2);
    assert_int_equal(ts_ring_from_oldest(&ring, 0)->id, 10);
    assert_int_equal(ts_ring_from_oldest(&ring, 1)->id, 11);
    assert_int_equal(ts_ring_from_newest(&ring, 0)->id, 11);
    assert_int_equal(ts_ring_from_newest(&ring, 1)->id, 10);
    assert_int_equal(ts_ring_from_newest(&ring, 1)->tag, 'x');
}

static void a_full_ring_overwrites_its_oldest_and_says_so(void **state) {
    (void)state;
    ring3 ring = {0};
    for (uint32_t id = 0; id < 3; id++)
        assert_false(push(&ring, id));
    assert_int_equal(ts_ring_count(&ring), 3);
    assert_true(push(&ring, 3));
    assert_int_equal(ts_ring_count(&ring), 3);
    assert_int_equal(ts_ring_from_oldest(&ring, 0)->id, 1);
    assert_int_equal(ts_ring_from_newest(&ring, 0)->id, 3);
}

static void it_wraps_around_many_times(void **state) {
    (void)state;
    ring3 ring = {0};
    for (uint32_t id = 0; id < 100; id++) {
        assert_int_equal(push(&ring, id), id >= 3);
        for (uint32_t age = 0; age < ts_ring_count(&ring); age++) {
            assert_int_equal(ts_ring_from_newest(&ring, age)->id, id - age);
            assert_int_equal(ts_ring_from_oldest(&ring, ts_ring_count(&ring) - 1 - age)->id, id - age);
        }
    }
}

static void a_ring_of_one_holds_the_newest(void **state) {
    (void)state;
    TS_RING(uint64_t, 1) one = {0};
    uint64_t first = 1, second = 2;
    assert_false(ts_ring_push(&one, &first));
    assert_true(ts_ring_push(&one, &second));
    assert_int_equal(*ts_ring_from_oldest(&one, 0), 2);
    assert_int_equal(*ts_ring_from_newest(&one, 0), 2);
}

static void a_copy_is_independent(void **state) {
    (void)state;
    ring3 ring = {0};
    push(&ring, 1);
    ring3 copy = ring;
    push(&copy, 2);
    ts_ring_from_oldest(&copy, 0)->id = 7;
    assert_int_equal(ts_ring_count(&ring), 1);
    assert_int_equal(ts_ring_from_oldest(&ring, 0)->id, 1);
    assert_int_equal(ts_ring_from_oldest(&copy, 0)->id, 7);
}

static void the_oldest_can_be_pushed_again(void **state) {
    (void)state;
    ring3 ring = {0};
    for (uint32_t id = 0; id < 3; id++)
        push(&ring, id);
    assert_true(ts_ring_push(&ring, ts_ring_from_oldest(&ring, 0)));
    assert_int_equal(ts_ring_from_newest(&ring, 0)->id, 0);
    assert_int_equal(ts_ring_from_oldest(&ring, 0)->id, 1);
}

static void access_to_a_missing_element_stops(void **state) {
    (void)state;
    ring3 ring = {0};
    assert_stops("age < head->count", ts_ring_from_oldest(&ring, 0)->id);
    assert_stops("age < head->count", ts_ring_from_newest(&ring, 0)->id);
    push(&ring, 1);
    assert_stops("age < head->count", ts_ring_from_oldest(&ring, 1)->id);
    assert_stops("age < head->count", ts_ring_from_newest(&ring, 1)->id);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_zeroed_ring_is_empty),
        cmocka_unit_test(elements_are_found_by_age_from_both_ends),
        cmocka_unit_test(a_full_ring_overwrites_its_oldest_and_says_so),
        cmocka_unit_test(it_wraps_around_many_times),
        cmocka_unit_test(a_ring_of_one_holds_the_newest),
        cmocka_unit_test(a_copy_is_independent),
        cmocka_unit_test(the_oldest_can_be_pushed_again),
        cmocka_unit_test(access_to_a_missing_element_stops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
