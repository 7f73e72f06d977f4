#include "detect/matches.h"

#include "base/prng.h"
#include "support/cmocka.h"

#include <string.h>

static struct ts_rule seven[7] = {{.id = "a"},
                                  {.id = "b"},
                                  {.id = "g", .generic = true},
                                  {.id = "h", .generic = true},
                                  {.id = "k", .validators = {TS_VALIDATOR_PEM_BASE64}, .validator_count = 1},
                                  {.id = "p", .validators = {TS_VALIDATOR_PEM}, .validator_count = 1},
                                  {.id = "q", .validators = {TS_VALIDATOR_PEM}, .validator_count = 1}};
static const struct ts_ruleset rules = {.rules = seven, .count = 7};

static struct ts_match match(uint32_t rule, size_t from, size_t len) {
    return (struct ts_match){.rule = rule, .span = {from, len}, .secret_span = {from, len}};
}

static void a_match_that_another_one_covers_is_removed(void **state) {
    (void)state;
    struct ts_match matches[] = {match(0, 10, 5), match(0, 8, 10), match(0, 8, 10), match(1, 9, 3),
                                 match(2, 15, 9), match(2, 30, 5), match(3, 30, 5), match(3, 40, 5)};
    size_t left = ts_matches_settle(&rules, matches, 8);
    /* These matches are left: a at 8, b at 9, g at 30 and h at 40. Of two matches of rule a, the larger one
     * is kept. A match of the generic rule g is removed where a match of rule a overlaps it. Of the equal
     * matches of the generic rules g and h, that of g is kept. */
    assert_int_equal(left, 4);
    static const size_t places[] = {8, 9, 30, 40};
    static const uint32_t whose[] = {0, 1, 2, 3};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(matches[i].secret_span.from, places[i]);
        assert_int_equal(matches[i].rule, whose[i]);
    }
}

static void the_least_encoded_and_leftmost_of_equal_ones_stays(void **state) {
    (void)state;
    struct ts_match matches[] = {match(0, 10, 5), match(0, 10, 5), match(0, 10, 5)};
    matches[0].depth = 1;
    matches[1].span.from = 7;
    matches[2].span.from = 4;
    assert_int_equal(ts_matches_settle(&rules, matches, 3), 1);
    assert_int_equal(matches[0].depth, 0);
    assert_int_equal(matches[0].span.from, 4);
}

static void a_key_replaces_the_base64_around_it(void **state) {
    (void)state;
    struct ts_match matches[] = {match(4, 10, 50), match(0, 10, 49), match(4, 100, 50), match(0, 140, 20)};
    matches[1].depth = 1;
    matches[3].depth = 1;
    /* The last match is not inside the match of base64 at 100, so both are kept. */
    assert_int_equal(ts_matches_settle(&rules, matches, 4), 3);
    assert_int_equal(matches[0].rule, 0);
    assert_int_equal(matches[1].rule, 4);
    /* The base64 of a key may have several lines, although the rule for base64 matches only its first
     * line. */
    struct ts_match lines[] = {match(4, 10, 50), match(0, 10, 400)};
    lines[1].depth = 1;
    assert_int_equal(ts_matches_settle(&rules, lines, 2), 1);
    assert_int_equal(lines[0].rule, 0);
    /* At the same depth, the longer match is kept. */
    struct ts_match plain[] = {match(4, 10, 50), match(0, 10, 49)};
    assert_int_equal(ts_matches_settle(&rules, plain, 2), 1);
    assert_int_equal(plain[0].rule, 4);
}

/* Tokens of two issuers may have the same shape. */
static void a_secret_is_reported_by_the_most_specific_rule(void **state) {
    (void)state;
    static const char *const words[] = {"acme"};
    struct ts_rule issuers[] = {{.id = "name", .gate = TS_GATE_TOKEN, .keywords = {words, 1}},
                                {.id = "other", .gate = TS_GATE_TOKEN, .keywords = {words, 1}},
                                {.id = "prefix"},
                                {.id = "both", .keywords = {words, 1}},
                                {.id = "path", .paths = {words, 1}}};
    const struct ts_ruleset set = {.rules = issuers, .count = 5};
    struct ts_match all[] = {match(0, 10, 20), match(1, 10, 20), match(2, 10, 20), match(3, 10, 18),
                             match(4, 10, 20)};
    assert_int_equal(ts_matches_settle(&set, all, 5), 2);
    assert_int_equal(all[0].rule, 4); /* whether this match counts depends on the path */
    assert_int_equal(all[1].rule, 3);
    struct ts_match names[] = {match(0, 10, 20), match(1, 10, 20)};
    names[1].confidence = TS_CONFIDENCE_HIGH;
    assert_int_equal(ts_matches_settle(&set, names, 2), 1);
    assert_int_equal(names[0].rule, 1);
    struct ts_match apart[] = {match(2, 10, 20), match(3, 12, 20)};
    assert_int_equal(ts_matches_settle(&set, apart, 2), 2);
}

static void a_key_is_reported_by_the_rule_that_knows_more_of_it(void **state) {
    (void)state;
    /* Rule q matches the key, and rule p matches the key together with its file. */
    struct ts_match matches[] = {match(5, 10, 52), match(6, 10, 50), match(6, 100, 50), match(0, 110, 10)};
    matches[0].span = (struct ts_span){2, 70};
    assert_int_equal(ts_matches_settle(&rules, matches, 4), 3);
    assert_int_equal(matches[0].rule, 5);
    assert_int_equal(matches[1].rule, 6);
    /* These rules do not remove a token inside the key. */
    assert_int_equal(matches[2].rule, 0);
}

static void of_generic_findings_the_larger_stays(void **state) {
    (void)state;
    struct ts_match matches[] = {match(2, 10, 20), match(3, 10, 30), match(2, 60, 20), match(3, 70, 20)};
    assert_int_equal(ts_matches_settle(&rules, matches, 4), 3);
    assert_int_equal(matches[0].rule, 3);
    /* The last two matches overlap, but neither contains the other, so both are kept. */
    assert_int_equal(matches[1].rule, 2);
    assert_int_equal(matches[2].rule, 3);
}

/* Settling does not depend on the order of the matches. Settling the result again changes nothing. */
static void the_order_of_matches_does_not_matter(void **state) {
    (void)state;
    struct ts_match first[60];
    struct ts_match second[60];
    struct ts_prng prng;
    ts_prng_init(&prng, 8);
    for (int round = 0; round < 200; round++) {
        size_t count = ts_prng_below(&prng, 60);
        for (size_t i = 0; i < count; i++) {
            first[i] = match((uint32_t)ts_prng_below(&prng, 7), ts_prng_below(&prng, 100),
                             1 + ts_prng_below(&prng, 30));
            first[i].depth = (uint8_t)ts_prng_below(&prng, 3);
        }
        memcpy(second, first, sizeof first);
        ts_prng_shuffle(&prng, second, count);
        size_t left = ts_matches_settle(&rules, first, count);
        assert_int_equal(ts_matches_settle(&rules, second, count), left);
        assert_memory_equal(first, second, left * sizeof first[0]);
        assert_int_equal(ts_matches_settle(&rules, second, left), left);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_match_that_another_one_covers_is_removed),
        cmocka_unit_test(the_least_encoded_and_leftmost_of_equal_ones_stays),
        cmocka_unit_test(a_key_replaces_the_base64_around_it),
        cmocka_unit_test(a_secret_is_reported_by_the_most_specific_rule),
        cmocka_unit_test(a_key_is_reported_by_the_rule_that_knows_more_of_it),
        cmocka_unit_test(of_generic_findings_the_larger_stays),
        cmocka_unit_test(the_order_of_matches_does_not_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
