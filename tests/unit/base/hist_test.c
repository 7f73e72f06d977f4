#include "base/hist.h"

#include "base/prng.h"
#include "support/cmocka.h"
#include "support/stops.h"

#include <stdlib.h>

static struct ts_hist hist, other;

static int fresh(void **state) {
    (void)state;
    ts_hist_init(&hist);
    ts_hist_init(&other);
    return 0;
}

static int compare_u64(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Sorts and records the values, and compares the percentiles with those of the sorted values. */
static void expect_percentiles_within_one_percent(uint64_t *values, size_t count) {
    static const uint32_t wanted[] = {50000, 75000, 90000, 95000, 99000, 99500, 99900};
    for (size_t i = 0; i < count; i++)
        ts_hist_record(&hist, values[i]);
    qsort(values, count, sizeof *values, compare_u64);
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        uint64_t exact = values[(count * wanted[i] + 99999) / 100000 - 1];
        uint64_t got = ts_hist_percentile(&hist, wanted[i]);
        uint64_t apart = got > exact ? got - exact : exact - got;
        if (apart > exact / 100)
            fail_msg("p%u: %llu is not within 1 %% of %llu", wanted[i], (unsigned long long)got,
                     (unsigned long long)exact);
    }
    assert_true(ts_hist_percentile(&hist, 100000) == values[count - 1]);
    assert_true(ts_hist_max(&hist) == values[count - 1]);
    assert_int_equal(ts_hist_count(&hist), count);
}

enum { SAMPLES = 100003 };
static uint64_t samples[SAMPLES];

static void percentiles_of_uniform_values_are_within_one_percent(void **state) {
    (void)state;
    struct ts_prng prng;
    ts_prng_init(&prng, 1);
    for (size_t i = 0; i < SAMPLES; i++)
        samples[i] = ts_prng_below(&prng, UINT64_C(3000000000));
    expect_percentiles_within_one_percent(samples, SAMPLES);
}

/* Each width is doubled a random number of times, so the values have a long tail over many magnitudes. */
static void percentiles_of_exponential_values_are_within_one_percent(void **state) {
    (void)state;
    struct ts_prng prng;
    ts_prng_init(&prng, 2);
    for (size_t i = 0; i < SAMPLES; i++) {
        uint64_t width = 1000;
        const struct ts_ratio half = {1, 2};
        while (ts_prng_chance(&prng, half))
            width *= 2;
        samples[i] = width + ts_prng_below(&prng, width);
    }
    expect_percentiles_within_one_percent(samples, SAMPLES);
}

static void percentiles_of_bimodal_values_are_within_one_percent(void **state) {
    (void)state;
    struct ts_prng prng;
    ts_prng_init(&prng, 3);
    const struct ts_ratio slow = {3, 100};
    for (size_t i = 0; i < SAMPLES; i++) {
        uint64_t middle = ts_prng_chance(&prng, slow) ? UINT64_C(5000000000) : 20000;
        samples[i] = middle + ts_prng_below(&prng, middle / 10);
    }
    expect_percentiles_within_one_percent(samples, SAMPLES);
}

static void percentiles_over_the_whole_range_are_within_one_percent(void **state) {
    (void)state;
    struct ts_prng prng;
    ts_prng_init(&prng, 4);
    for (size_t i = 0; i < SAMPLES; i++)
        samples[i] = ts_prng_next(&prng) >> ts_prng_below(&prng, 64);
    samples[0] = 0;
    samples[1] = UINT64_MAX;
    expect_percentiles_within_one_percent(samples, SAMPLES);
}

static void small_values_are_exact(void **state) {
    (void)state;
    for (uint64_t value = 0; value < 128; value++)
        ts_hist_record(&hist, value);
    for (uint32_t i = 1; i <= 128; i++)
        assert_int_equal(ts_hist_percentile(&hist, i * 100000 / 128), i - 1);
}

static void an_empty_histogram_is_all_zero(void **state) {
    (void)state;
    assert_int_equal(ts_hist_count(&hist), 0);
    assert_int_equal(ts_hist_max(&hist), 0);
    assert_int_equal(ts_hist_mean(&hist), 0);
    assert_int_equal(ts_hist_percentile(&hist, 50000), 0);
    struct ts_hist_iter it = {0};
    assert_false(ts_hist_next(&hist, &it));
}

static void one_value_is_every_percentile(void **state) {
    (void)state;
    ts_hist_record(&hist, UINT64_MAX);
    assert_true(ts_hist_percentile(&hist, 0) == UINT64_MAX);
    assert_true(ts_hist_percentile(&hist, 50000) == UINT64_MAX);
    assert_true(ts_hist_percentile(&hist, 100000) == UINT64_MAX);
    assert_true(ts_hist_mean(&hist) == UINT64_MAX);
    assert_stops("per_100000 <= 100000", ts_hist_percentile(&hist, 100001));
}

static void sum_and_mean_are_exact_beyond_64_bits(void **state) {
    (void)state;
    ts_hist_record_n(&hist, UINT64_MAX, (struct ts_hist_times){3});
    ts_hist_record(&hist, 5);
    /* 3 * (2^64 - 1) + 5 = 3 * 2^64 + 2 */
    assert_int_equal(ts_hist_sum(&hist).high, 3);
    assert_int_equal(ts_hist_sum(&hist).low, 2);
    assert_true(ts_hist_mean(&hist) == UINT64_C(0xc000000000000000));

    ts_hist_clear(&hist);
    ts_hist_record(&hist, 10);
    ts_hist_record(&hist, 13);
    assert_int_equal(ts_hist_mean(&hist), 11);
}

static void recording_n_is_recording_n_times(void **state) {
    (void)state;
    for (int i = 0; i < 1000; i++)
        ts_hist_record(&hist, 777);
    ts_hist_record_n(&other, 777, (struct ts_hist_times){1000});
    ts_hist_record_n(&other, 1, (struct ts_hist_times){0});
    assert_memory_equal(&hist, &other, sizeof hist);
}

static void the_count_may_reach_its_end_but_not_pass_it(void **state) {
    (void)state;
    ts_hist_record_n(&hist, UINT64_MAX, (struct ts_hist_times){UINT64_MAX});
    assert_true(ts_hist_mean(&hist) == UINT64_MAX);
    assert_true(ts_hist_percentile(&hist, 99900) == UINT64_MAX);
    assert_stops("times.n <= UINT64_MAX - hist->count", ts_hist_record(&hist, 1));
    ts_hist_record(&other, 1);
    assert_stops("from->count <= UINT64_MAX - hist->count", ts_hist_merge(&other, &hist));
}

static void merging_is_recording_everything_in_one(void **state) {
    (void)state;
    static struct ts_hist all;
    ts_hist_init(&all);
    struct ts_prng prng;
    ts_prng_init(&prng, 5);
    for (int i = 0; i < 10000; i++) {
        uint64_t value = ts_prng_next(&prng) >> ts_prng_below(&prng, 64);
        ts_hist_record(i % 3 == 0 ? &hist : &other, value);
        ts_hist_record(&all, value);
    }
    ts_hist_merge(&hist, &other);
    assert_memory_equal(&hist, &all, sizeof all);
}

static void merging_with_an_empty_one_changes_nothing(void **state) {
    (void)state;
    ts_hist_record(&hist, 9);
    static struct ts_hist before;
    before = hist;
    ts_hist_merge(&hist, &other);
    assert_memory_equal(&hist, &before, sizeof hist);
    ts_hist_merge(&other, &hist);
    assert_memory_equal(&other, &before, sizeof hist);
}

/* Each bucket begins right after the previous one, and contains the values that are recorded in it. Together
 * the buckets cover all 64 bits. */
static void buckets_cover_the_whole_range_without_gaps(void **state) {
    (void)state;
    for (size_t i = 0; i < TS_HIST_BUCKETS; i++)
        hist.buckets[i] = 1;
    struct ts_hist_iter it = {0};
    uint64_t expected = 0;
    size_t count = 0;
    while (ts_hist_next(&hist, &it)) {
        assert_true(it.first == expected);
        assert_true(it.last >= it.first);
        assert_true(it.last - it.first <= it.first / 64);
        expected = it.last + 1;
        assert_int_equal(it.cumulative, ++count);

        ts_hist_init(&other);
        ts_hist_record(&other, it.first);
        ts_hist_record(&other, it.last);
        struct ts_hist_iter own = {0};
        assert_true(ts_hist_next(&other, &own));
        assert_true(own.first == it.first && own.last == it.last && own.count == 2);
        assert_false(ts_hist_next(&other, &own));
    }
    assert_true(expected == 0);
    assert_int_equal(count, TS_HIST_BUCKETS);
}

static void iteration_visits_what_is_there_in_order(void **state) {
    (void)state;
    ts_hist_record_n(&hist, 3, (struct ts_hist_times){2});
    ts_hist_record_n(&hist, 1000, (struct ts_hist_times){5});
    struct ts_hist_iter it = {0};
    assert_true(ts_hist_next(&hist, &it));
    assert_int_equal(it.first, 3);
    assert_int_equal(it.last, 3);
    assert_int_equal(it.count, 2);
    assert_int_equal(it.cumulative, 2);
    assert_true(ts_hist_next(&hist, &it));
    assert_int_equal(it.first, 1000);
    assert_int_equal(it.last, 1007);
    assert_int_equal(it.count, 5);
    assert_int_equal(it.cumulative, 7);
    assert_false(ts_hist_next(&hist, &it));
    assert_false(ts_hist_next(&hist, &it));
}

static void counting_up_to_a_bound_takes_whole_buckets(void **state) {
    (void)state;
    ts_hist_record(&hist, 0);
    ts_hist_record(&hist, 127);
    ts_hist_record(&hist, 1000);
    ts_hist_record(&hist, UINT64_MAX);
    assert_int_equal(ts_hist_count_up_to(&hist, 0), 1);
    assert_int_equal(ts_hist_count_up_to(&hist, 126), 1);
    assert_int_equal(ts_hist_count_up_to(&hist, 127), 2);
    assert_int_equal(ts_hist_count_up_to(&hist, 1006), 2);
    assert_int_equal(ts_hist_count_up_to(&hist, 1007), 3);
    assert_int_equal(ts_hist_count_up_to(&hist, UINT64_MAX - 1), 3);
    assert_int_equal(ts_hist_count_up_to(&hist, UINT64_MAX), 4);
}

static void clearing_forgets_everything(void **state) {
    (void)state;
    ts_hist_record(&hist, 5);
    ts_hist_clear(&hist);
    assert_memory_equal(&hist, &other, sizeof hist);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(percentiles_of_uniform_values_are_within_one_percent, fresh),
        cmocka_unit_test_setup(percentiles_of_exponential_values_are_within_one_percent, fresh),
        cmocka_unit_test_setup(percentiles_of_bimodal_values_are_within_one_percent, fresh),
        cmocka_unit_test_setup(percentiles_over_the_whole_range_are_within_one_percent, fresh),
        cmocka_unit_test_setup(small_values_are_exact, fresh),
        cmocka_unit_test_setup(an_empty_histogram_is_all_zero, fresh),
        cmocka_unit_test_setup(one_value_is_every_percentile, fresh),
        cmocka_unit_test_setup(sum_and_mean_are_exact_beyond_64_bits, fresh),
        cmocka_unit_test_setup(recording_n_is_recording_n_times, fresh),
        cmocka_unit_test_setup(the_count_may_reach_its_end_but_not_pass_it, fresh),
        cmocka_unit_test_setup(merging_is_recording_everything_in_one, fresh),
        cmocka_unit_test_setup(merging_with_an_empty_one_changes_nothing, fresh),
        cmocka_unit_test_setup(buckets_cover_the_whole_range_without_gaps, fresh),
        cmocka_unit_test_setup(iteration_visits_what_is_there_in_order, fresh),
        cmocka_unit_test_setup(counting_up_to_a_bound_takes_whole_buckets, fresh),
        cmocka_unit_test_setup(clearing_forgets_everything, fresh),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
