#include "base/distance.h"

#include "base/prng.h"
#include "support/cmocka.h"
#include "support/stops.h"

static size_t distance(const char *a, const char *b, size_t bound) {
    size_t forth = ts_distance(ts_bytes_of_cstring(a), ts_bytes_of_cstring(b), bound);
    size_t back = ts_distance(ts_bytes_of_cstring(b), ts_bytes_of_cstring(a), bound);
    assert_int_equal(forth, back);
    return forth;
}

static void each_kind_of_edit_counts_one(void **state) {
    (void)state;
    assert_int_equal(distance("scan", "scan", 3), 0);
    assert_int_equal(distance("scan", "scans", 3), 1);
    assert_int_equal(distance("scan", "can", 3), 1);
    assert_int_equal(distance("scan", "scen", 3), 1);
    assert_int_equal(distance("scan", "sacn", 3), 1);
    assert_int_equal(distance("", "", 3), 0);
    assert_int_equal(distance("", "ab", 3), 2);
    assert_int_equal(distance("kitten", "sitting", 9), 3);
}

static void no_part_is_edited_twice(void **state) {
    (void)state;
    assert_int_equal(distance("ca", "abc", 9), 3);
    assert_int_equal(distance("abcdef", "badcfe", 9), 3);
}

static void beyond_the_bound_there_is_one_answer(void **state) {
    (void)state;
    assert_int_equal(distance("abcdef", "uvwxyz", 6), 6);
    assert_int_equal(distance("abcdef", "uvwxyz", 5), 6);
    assert_int_equal(distance("abcdef", "uvwxyz", 2), 3);
    assert_int_equal(distance("a", "abcdef", 2), 3);
    assert_int_equal(distance("a", "b", 0), 1);
    assert_int_equal(distance("a", "a", 0), 0);
    assert_stops("bound < SIZE_MAX", ts_distance(TS_BYTES("a"), TS_BYTES("b"), SIZE_MAX));
}

static void the_longest_words_are_compared_and_longer_ones_only_for_equality(void **state) {
    (void)state;
    char a[TS_DISTANCE_LEN_MAX + 2], b[TS_DISTANCE_LEN_MAX + 2];
    memset(a, 'a', sizeof a);
    memset(b, 'b', sizeof b);
    assert_int_equal(ts_distance(ts_bytes_of(a, 64), ts_bytes_of(b, 64), 100), 64);
    assert_int_equal(ts_distance(ts_bytes_of(a, 65), ts_bytes_of(a, 65), 3), 0);
    assert_int_equal(ts_distance(ts_bytes_of(a, 65), ts_bytes_of(a, 64), 3), 4);
    assert_int_equal(ts_distance(ts_bytes_of(a, 64), ts_bytes_of(a, 63), 3), 1);
}

/* Returns the edit distance, computed by recursion from its definition. */
static size_t slow_distance(const char *a, size_t a_len, const char *b, size_t b_len) {
    if (a_len == 0 || b_len == 0)
        return a_len + b_len;
    size_t best = slow_distance(a, a_len - 1, b, b_len - 1) + (a[a_len - 1] != b[b_len - 1]);
    size_t deleted = slow_distance(a, a_len - 1, b, b_len) + 1;
    size_t inserted = slow_distance(a, a_len, b, b_len - 1) + 1;
    best = deleted < best ? deleted : best;
    best = inserted < best ? inserted : best;
    if (a_len > 1 && b_len > 1 && a[a_len - 1] == b[b_len - 2] && a[a_len - 2] == b[b_len - 1]) {
        size_t swapped = slow_distance(a, a_len - 2, b, b_len - 2) + 1;
        best = swapped < best ? swapped : best;
    }
    return best;
}

static void random_words_agree_with_the_definition_for_every_bound(void **state) {
    (void)state;
    struct ts_prng prng;
    ts_prng_init(&prng, 11);
    for (int i = 0; i < 2000; i++) {
        char a[7], b[7];
        size_t a_len = ts_prng_below(&prng, 7), b_len = ts_prng_below(&prng, 7);
        for (size_t j = 0; j < 7; j++) {
            a[j] = (char)('a' + (char)ts_prng_below(&prng, 3));
            b[j] = (char)('a' + (char)ts_prng_below(&prng, 3));
        }
        size_t exact = slow_distance(a, a_len, b, b_len);
        for (size_t bound = 0; bound < 8; bound++) {
            size_t expected = exact <= bound ? exact : bound + 1;
            assert_int_equal(ts_distance(ts_bytes_of(a, a_len), ts_bytes_of(b, b_len), bound), expected);
        }
    }
}

static const char *const commands[] = {"scan", "status", "store", "rules", "report", "serve"};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

static const char *nearest(const char *word) {
    size_t index = 99;
    if (ts_distance_nearest(ts_bytes_of_cstring(word), commands, COMMANDS, &index))
        return commands[index];
    assert_int_equal(index, 99);
    return "";
}

static void the_nearest_candidate_is_found(void **state) {
    (void)state;
    assert_string_equal(nearest("scna"), "scan");
    assert_string_equal(nearest("statsu"), "status");
    assert_string_equal(nearest("rule"), "rules");
    assert_string_equal(nearest("reprot"), "report");
    assert_string_equal(nearest("store"), "store");
    assert_string_equal(nearest("sreve"), "serve");
}

static void of_equally_near_candidates_the_first_is_taken(void **state) {
    (void)state;
    static const char *const pair[] = {"bat", "cat"};
    size_t index = 99;
    assert_true(ts_distance_nearest(TS_BYTES("hat"), pair, 2, &index));
    assert_int_equal(index, 0);
}

static void a_name_that_is_too_different_is_not_offered(void **state) {
    (void)state;
    assert_string_equal(nearest(""), "");
    assert_string_equal(nearest("s"), "");
    assert_string_equal(nearest("sc"), "");
    assert_string_equal(nearest("help"), "");
    assert_string_equal(nearest("configuration"), "");
    size_t index = 99;
    assert_false(ts_distance_nearest(TS_BYTES("scan"), commands, 0, &index));
    assert_int_equal(index, 99);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_of_edit_counts_one),
        cmocka_unit_test(no_part_is_edited_twice),
        cmocka_unit_test(beyond_the_bound_there_is_one_answer),
        cmocka_unit_test(the_longest_words_are_compared_and_longer_ones_only_for_equality),
        cmocka_unit_test(random_words_agree_with_the_definition_for_every_bound),
        cmocka_unit_test(the_nearest_candidate_is_found),
        cmocka_unit_test(of_equally_near_candidates_the_first_is_taken),
        cmocka_unit_test(a_name_that_is_too_different_is_not_offered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
