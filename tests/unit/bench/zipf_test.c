#include "bench/zipf.h"

#include "support/cmocka.h"

#include <math.h>
#include <stdlib.h>

enum { RANKS = 10000, DRAWS = 1000000 };

static double weight(size_t rank) {
    return pow((double)rank, -BENCH_ZIPF_EXPONENT);
}

static uint64_t seen[RANKS];

static void draw_all(uint64_t seed) {
    struct bench_zipf zipf;
    struct ts_prng prng;
    assert_true(bench__zipf_init(&zipf, RANKS));
    ts_prng_init(&prng, seed);
    for (size_t i = 0; i < RANKS; i++)
        seen[i] = 0;
    for (size_t i = 0; i < DRAWS; i++) {
        size_t rank = bench__zipf_draw(&zipf, &prng);
        assert_true(rank < RANKS);
        seen[rank]++;
    }
    bench__zipf_release(&zipf);
}

/* Each frequency must be within five standard deviations of its expected value. The seed is fixed, so the
 * result is always the same. */
static void frequencies_follow_the_law(void **state) {
    (void)state;
    static const size_t ranks[] = {1, 2, 3, 10, 100, 1000};
    double sum = 0;
    for (size_t rank = 1; rank <= RANKS; rank++)
        sum += weight(rank);
    draw_all(1);
    for (size_t i = 0; i < sizeof ranks / sizeof ranks[0]; i++) {
        double share = weight(ranks[i]) / sum, expected = share * (double)DRAWS;
        double deviation = sqrt(expected * (1 - share));
        double found = (double)seen[ranks[i] - 1];
        if (fabs(found - expected) > 5 * deviation)
            fail_msg("rank %zu: %.0f draws, the law says %.0f", ranks[i], found, expected);
    }
}

static void the_hottest_key_takes_a_tenth_and_the_hottest_hundredth_more_than_half(void **state) {
    (void)state;
    draw_all(2);
    uint64_t hot = 0;
    for (size_t i = 0; i < RANKS / 100; i++)
        hot += seen[i];
    assert_true(seen[0] > DRAWS / 11 && seen[0] < DRAWS / 9);
    assert_true(hot > DRAWS / 2);
}

static void even_the_rarest_ranks_are_drawn(void **state) {
    (void)state;
    draw_all(3);
    uint64_t tail = 0;
    for (size_t i = RANKS - 10; i < RANKS; i++)
        tail += seen[i];
    assert_true(tail > 0);
}

static void one_rank_is_always_drawn(void **state) {
    (void)state;
    struct bench_zipf zipf;
    struct ts_prng prng;
    ts_prng_init(&prng, 1);
    assert_true(bench__zipf_init(&zipf, 1));
    for (int i = 0; i < 100; i++)
        assert_int_equal(bench__zipf_draw(&zipf, &prng), 0);
    bench__zipf_release(&zipf);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frequencies_follow_the_law),
        cmocka_unit_test(the_hottest_key_takes_a_tenth_and_the_hottest_hundredth_more_than_half),
        cmocka_unit_test(even_the_rarest_ranks_are_drawn),
        cmocka_unit_test(one_rank_is_always_drawn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
