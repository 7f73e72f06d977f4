/* The expected numbers come from an implementation in another language, which follows the comment at the top
 * of prng.h. */
#include "base/prng.h"

#include "support/cmocka.h"
#include "support/stops.h"

static struct ts_prng seeded(uint64_t seed) {
    struct ts_prng prng;
    ts_prng_init(&prng, seed);
    return prng;
}

static void splitmix64_gives_the_published_numbers(void **state) {
    (void)state;
    static const uint64_t published[] = {
        UINT64_C(6457827717110365317), UINT64_C(3203168211198807973),  UINT64_C(9817491932198370423),
        UINT64_C(4593380528125082431), UINT64_C(16408922859458223821),
    };
    uint64_t x = 1234567;
    for (size_t i = 0; i < 5; i++)
        assert_true(ts_splitmix64_next(&x) == published[i]);
}

static void xoshiro_gives_the_published_numbers(void **state) {
    (void)state;
    static const uint64_t published[] = {
        11520,
        0,
        1509978240,
        UINT64_C(1215971899390074240),
        UINT64_C(1216172134540287360),
        UINT64_C(607988272756665600),
        UINT64_C(16172922978634559625),
        UINT64_C(8476171486693032832),
        UINT64_C(10595114339597558777),
        UINT64_C(2904607092377533576),
    };
    struct ts_prng prng = {{1, 2, 3, 4}};
    for (size_t i = 0; i < 10; i++)
        assert_true(ts_prng_next(&prng) == published[i]);
}

static void a_seed_fixes_every_number(void **state) {
    (void)state;
    static const struct {
        uint64_t seed;
        uint64_t numbers[5];
    } golden[] = {
        {0,
         {UINT64_C(0x99ec5f36cb75f2b4), UINT64_C(0xbf6e1f784956452a), UINT64_C(0x1a5f849d4933e6e0),
          UINT64_C(0x6aa594f1262d2d2c), UINT64_C(0xbba5ad4a1f842e59)}},
        {42,
         {UINT64_C(0x15780b2e0c2ec716), UINT64_C(0x6104d9866d113a7e), UINT64_C(0xae17533239e499a1),
          UINT64_C(0xecb8ad4703b360a1), UINT64_C(0xfde6dc7fe2ec5e64)}},
        {UINT64_MAX,
         {UINT64_C(0x8f5520d52a7ead08), UINT64_C(0xc476a018caa1802d), UINT64_C(0x81de31c0d260469e),
          UINT64_C(0xbf658d7e065f3c2f), UINT64_C(0x913593fda1bca32a)}},
    };
    for (size_t i = 0; i < sizeof golden / sizeof golden[0]; i++) {
        struct ts_prng prng = seeded(golden[i].seed);
        for (size_t j = 0; j < 5; j++)
            assert_true(ts_prng_next(&prng) == golden[i].numbers[j]);
    }
}

static void below_follows_the_specification(void **state) {
    (void)state;
    static const uint64_t tens[] = {0, 3, 6, 9, 9, 7, 7, 8, 7, 5, 6, 2, 8, 3, 7, 8, 6, 8, 7, 7};
    struct ts_prng prng = seeded(42);
    for (size_t i = 0; i < 20; i++)
        assert_int_equal(ts_prng_below(&prng, 10), tens[i]);
}

/* ts_prng_below rejects nearly every second draw for this bound, so an error in the rejection would show. */
static void below_rejects_biased_numbers(void **state) {
    (void)state;
    static const uint64_t golden[] = {
        UINT64_C(0x7ef36e3ff1762f32), UINT64_C(0x6286d29880bca91c), UINT64_C(0x5c10aa42ad32eed9),
        UINT64_C(0x6174b739374bb23f), UINT64_C(0x2534edcc39d7c4b2), UINT64_C(0x6687f6d49803635b),
    };
    struct ts_prng prng = seeded(42);
    for (size_t i = 0; i < 6; i++)
        assert_true(ts_prng_below(&prng, (UINT64_C(1) << 63) + 1) == golden[i]);
}

static void below_stays_below_and_reaches_everything(void **state) {
    (void)state;
    struct ts_prng prng = seeded(1);
    uint64_t seen[7] = {0};
    for (int i = 0; i < 70000; i++) {
        uint64_t got = ts_prng_below(&prng, 7);
        assert_true(got < 7);
        seen[got]++;
    }
    for (size_t i = 0; i < 7; i++)
        assert_in_range(seen[i], 9600, 10400);
    for (int i = 0; i < 100; i++)
        assert_int_equal(ts_prng_below(&prng, 1), 0);
    assert_stops("n > 0", ts_prng_below(&prng, 0));
}

static void a_range_holds_both_its_ends(void **state) {
    (void)state;
    static const uint64_t golden[] = {108, 137, 168, 192, 199, 176, 171, 185};
    struct ts_prng prng = seeded(42);
    const struct ts_prng_range hundreds = {.low = 100, .high = 199};
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(ts_prng_in(&prng, hundreds), golden[i]);

    const struct ts_prng_range two = {.low = UINT64_MAX - 1, .high = UINT64_MAX};
    bool low = false, high = false;
    for (int i = 0; i < 100; i++) {
        uint64_t got = ts_prng_in(&prng, two);
        low |= got == two.low;
        high |= got == two.high;
        assert_true(got >= two.low);
    }
    assert_true(low && high);
    const struct ts_prng_range one = {.low = 5, .high = 5};
    assert_int_equal(ts_prng_in(&prng, one), 5);
    const struct ts_prng_range all = {.low = 0, .high = UINT64_MAX};
    prng = seeded(42);
    assert_true(ts_prng_in(&prng, all) == UINT64_C(0x15780b2e0c2ec716));
    const struct ts_prng_range wrong = {.low = 6, .high = 5};
    assert_stops("range.low <= range.high", ts_prng_in(&prng, wrong));
}

static void unit_numbers_are_below_one(void **state) {
    (void)state;
    struct ts_prng prng = seeded(42);
    assert_true(ts_prng_unit(&prng) == 0x1.5780b2e0c2ec0p-4);
    double sum = 0;
    for (int i = 0; i < 10000; i++) {
        double got = ts_prng_unit(&prng);
        assert_true(got >= 0 && got < 1);
        sum += got;
    }
    assert_true(sum > 4900 && sum < 5100);
}

static void a_chance_is_taken_as_often_as_it_says(void **state) {
    (void)state;
    static const bool golden[] = {1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0};
    struct ts_prng prng = seeded(42);
    const struct ts_ratio third = {1, 3}, never = {0, 3}, always = {3, 3}, impossible = {4, 3};
    for (size_t i = 0; i < 16; i++)
        assert_int_equal(ts_prng_chance(&prng, third), golden[i]);
    size_t hits = 0;
    for (int i = 0; i < 30000; i++) {
        hits += ts_prng_chance(&prng, third);
        assert_false(ts_prng_chance(&prng, never));
        assert_true(ts_prng_chance(&prng, always));
    }
    assert_in_range(hits, 9600, 10400);
    assert_stops("ratio.numerator <= ratio.denominator", ts_prng_chance(&prng, impossible));
}

static void a_shuffle_is_a_permutation_that_the_seed_fixes(void **state) {
    (void)state;
    static const uint16_t golden[] = {1, 8, 3, 0, 4, 5, 9, 6, 2, 7};
    struct ts_prng prng = seeded(7);
    uint16_t numbers[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    ts_prng_shuffle(&prng, numbers, 10);
    assert_memory_equal(numbers, golden, sizeof golden);
    ts_prng_shuffle(&prng, numbers, 1);
    ts_prng_shuffle(&prng, numbers, 0);
    assert_memory_equal(numbers, golden, sizeof golden);
}

static void every_order_of_three_is_equally_likely(void **state) {
    (void)state;
    struct ts_prng prng = seeded(3);
    size_t seen[27] = {0};
    for (int i = 0; i < 60000; i++) {
        uint8_t order[] = {0, 1, 2};
        ts_prng_shuffle(&prng, order, 3);
        seen[order[0] * 9 + order[1] * 3 + order[2]]++;
    }
    size_t orders = 0;
    for (size_t i = 0; i < 27; i++) {
        if (seen[i] == 0)
            continue;
        orders++;
        assert_in_range(seen[i], 9600, 10400);
    }
    assert_int_equal(orders, 6);
}

static void fill_gives_little_endian_bytes_and_no_more_than_asked(void **state) {
    (void)state;
    static const uint8_t golden[] = {0x16, 0xc7, 0x2e, 0x0c, 0x2e, 0x0b, 0x78, 0x15, 0x7e, 0x3a,
                                     0x11, 0x6d, 0x86, 0xd9, 0x04, 0x61, 0xa1, 0x99, 0xe4};
    struct ts_prng prng = seeded(42);
    uint8_t bytes[20];
    memset(bytes, 0xee, sizeof bytes);
    ts_prng_fill(&prng, bytes, 19);
    assert_memory_equal(bytes, golden, 19);
    assert_int_equal(bytes[19], 0xee);
    ts_prng_fill(&prng, NULL, 0);
    assert_true(ts_prng_next(&prng) == UINT64_C(0xecb8ad4703b360a1));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(splitmix64_gives_the_published_numbers),
        cmocka_unit_test(xoshiro_gives_the_published_numbers),
        cmocka_unit_test(a_seed_fixes_every_number),
        cmocka_unit_test(below_follows_the_specification),
        cmocka_unit_test(below_rejects_biased_numbers),
        cmocka_unit_test(below_stays_below_and_reaches_everything),
        cmocka_unit_test(a_range_holds_both_its_ends),
        cmocka_unit_test(unit_numbers_are_below_one),
        cmocka_unit_test(a_chance_is_taken_as_often_as_it_says),
        cmocka_unit_test(a_shuffle_is_a_permutation_that_the_seed_fixes),
        cmocka_unit_test(every_order_of_three_is_equally_likely),
        cmocka_unit_test(fill_gives_little_endian_bytes_and_no_more_than_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
