#include "landmarks.h"

#include "base/prng.h"
#include "support/cmocka.h"

#include <stdlib.h>

static struct detect_landmarks list;

static bool is_sorted(const struct detect_landmarks *landmarks) {
    for (size_t i = 1; i < landmarks->count; i++) {
        const struct ts_landmark *a = &landmarks->items[i - 1];
        const struct ts_landmark *b = &landmarks->items[i];
        if (a->end > b->end || (a->end == b->end && a->gate >= b->gate))
            return false;
    }
    return true;
}

static bool has(const struct detect_landmarks *landmarks, struct ts_landmark landmark) {
    for (size_t i = 0; i < landmarks->count; i++)
        if (landmarks->items[i].end == landmark.end && landmarks->items[i].gate == landmark.gate)
            return true;
    return false;
}

static struct ts_landmark draw(struct ts_prng *prng) {
    return (struct ts_landmark){(uint32_t)ts_prng_below(prng, 60), (uint32_t)ts_prng_below(prng, 3)};
}

static void each_is_there_once_and_in_order(void **state) {
    (void)state;
    static struct ts_landmark drawn[80];
    static struct detect_landmarks other;
    struct ts_prng prng;
    ts_prng_init(&prng, 7);
    for (int round = 0; round < 500; round++) {
        size_t count = ts_prng_below(&prng, 80);
        size_t joined = count == 0 ? 0 : ts_prng_below(&prng, count);
        list.count = other.count = 0;
        list.is_lost = other.is_lost = false;
        for (size_t i = 0; i < count; i++) {
            drawn[i] = draw(&prng);
            detect__landmark_add(i < joined ? &other : &list, drawn[i]);
        }
        detect__landmarks_join(&list, other.items, other.count);
        assert_false(list.is_lost);
        assert_true(is_sorted(&list));
        for (size_t i = 0; i < count; i++)
            assert_true(has(&list, drawn[i]));
        for (size_t i = 0; i < list.count; i++) {
            bool found = false;
            for (size_t k = 0; k < count && !found; k++)
                found = drawn[k].end == list.items[i].end && drawn[k].gate == list.items[i].gate;
            assert_true(found);
        }
    }
}

static void too_many_are_lost_and_not_written(void **state) {
    (void)state;
    list.count = 0;
    list.is_lost = false;
    for (uint32_t i = 0; i < TS_LANDMARKS_MAX; i++)
        detect__landmark_add(&list, (struct ts_landmark){i, 0});
    detect__landmark_add(&list, (struct ts_landmark){TS_LANDMARKS_MAX - 1, 0});
    assert_false(list.is_lost);
    struct ts_landmark one = {TS_LANDMARKS_MAX, 0};
    detect__landmarks_join(&list, &one, 1);
    assert_true(list.is_lost);
    list.is_lost = false;
    detect__landmark_add(&list, one);
    assert_true(list.is_lost);
    assert_int_equal(list.count, TS_LANDMARKS_MAX);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_there_once_and_in_order),
        cmocka_unit_test(too_many_are_lost_and_not_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
