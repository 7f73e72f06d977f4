/* Tests properties that are computed from the text of a pattern: the texts that it matches, and the maximum
 * distance from the start of a match to its token. */
#include "compiled.h"
#include "language.h"
#include "ruleset.h"
#include "token_runs.h"

#include "builtin/builtin.h"
#include "support/cmocka.h"

#include <stdlib.h>
#include <string.h>

#define UNBOUNDED UINT32_MAX /* the secret never contains a token */

static struct ts_arena arena;

static int release(void **state) {
    (void)state;
    ts_arena_release(&arena);
    arena = (struct ts_arena){0};
    return 0;
}

static void starts_at(const char *pattern, uint32_t most) {
    const struct detect_language *language = detect__language_parse(pattern, &arena);
    uint32_t found = UNBOUNDED;
    if (!language)
        fail_msg("not understood: %s", pattern);
    enum detect_token_start start = detect__language_token_start(language, 200, &found);
    if (start != (most == UNBOUNDED ? DETECT_TOKEN_NEVER : DETECT_TOKEN_STARTS) || found != most)
        fail_msg("%s: %d, %u, expected %u", pattern, (int)start, found, most);
}

static void text_before_the_secret_counts(void **state) {
    (void)state;
    starts_at("(?<secret>[a-z0-9]{20})", 0);
    starts_at("\\b(?<secret>[a-z0-9]{20})\\b", 0);
    starts_at("(?:\\b|\\\\[nrt])(?<secret>[a-z0-9]{20})", 2);
    starts_at("(?:^|[^a-z]|\\\\[nrt]|long)(?<secret>[a-z0-9]{20}|[0-9]{16})", 4);
    starts_at("key={0,3}\"?(?P<secret>[a-z0-9]{20})", 7);
    starts_at("(?:a{2,3}b?){1,2}(?<secret>[a-z0-9]{20})", 8);
    starts_at("(?:a{9}|b(?<secret>[a-z0-9]{20}))c{5}", 1); /* the alternative a{9} has no token */
    starts_at("(?i)x{4}(?<secret>[a-z0-9]{20})yyyyyy", 4);
    starts_at("x{4}+(?:y?\?)(?<secret>[a-z0-9]{20})", 5);
    starts_at("a{1,b(?<secret>[a-z0-9]{20})", 5);
    starts_at("a{b(?<secret>[a-z0-9]{20})", 3); /* the brace is a literal */
}

static void other_characters_in_the_secret_count_until_a_token_begins(void **state) {
    (void)state;
    starts_at("(?<secret>[0-9]{9}:[a-f0-9]{32})", 10);
    starts_at("(?<secret>[0-9]{16}:[a-f0-9]{32})", 0); /* the part before ':' is a token */
    starts_at("(?<secret>[0-9]{9,16}:[a-f0-9]{32})", 16);
    starts_at("(?<secret>[a-z]{20}:[a-f0-9]{32})", 21);        /* the part before ':' has no digits */
    starts_at("(?<secret>[a-z]{20}[0-9]?:[a-f0-9]{32})", 22);  /* the part before ':' has one digit at most */
    starts_at("(?<secret>[a-z]{30}[0-9]{2}:[a-f0-9]{32})", 0); /* the two digits at the end make a token */
    starts_at("(?<secret>[^a]{30})", 14);
    starts_at("(?:\\b|\\\\[nrt])(?<secret>[12]/[0-9]{13,16}(?:/[0-9]{13,16})?:[a-f0-9]{32})\\b", 18);
    starts_at("(?<secret>.{3}[[:alnum:]]{16})", 3);
    starts_at("(?<secret>\\w{3}\\W\\d{16})", 4);
    starts_at("(?<secret>[\\x41-\\x{5A}]{3}\\x3a[0-9]{16})", 4);
    starts_at("(?<secret>[]0-9]{16}[\\]-]{3})", 3);
}

static void secrets_that_are_never_a_token_are_reported(void **state) {
    (void)state;
    starts_at("(?<secret>[a-z0-9]{15})", UNBOUNDED);
    starts_at("(?<secret>[a-z]{40})", UNBOUNDED);
    starts_at("(?<secret>[a-z]{40}1)", UNBOUNDED);
    starts_at("(?<secret>[a-z0-9]{8}:[a-z0-9]{8})[0-9]{30}", UNBOUNDED);
    starts_at("[0-9]{30}(?<secret>[0-9]{8})", UNBOUNDED);
    starts_at("(?:(?<secret>[a-z]{20})|[0-9]{20})", UNBOUNDED);
    starts_at("(?<secret>[a-z]{14}12)", 0);
    starts_at("(?<secret>(?i:A[B]{13})12)", 0);
}

static void unknown_syntax_is_not_guessed(void **state) {
    (void)state;
    static const char *const patterns[] = {"(?<secret>a+)",
                                           "(?<secret>a*)",
                                           "(?<secret>a{3,})",
                                           "(?<secret>a{,3})",
                                           "(?=a)(?<secret>b)",
                                           "(?<=a)(?<secret>b)",
                                           "(?>a)(?<secret>b)",
                                           "(?x) (?<secret>b)",
                                           "(?<secret>\\Qa\\E)",
                                           "(?<secret>\\p{L})",
                                           "(?|a|b)(?<secret>b)",
                                           "(?#a)(?<secret>b)",
                                           "(?<secret>b)\\1",
                                           "(*UCP)(?<secret>b)",
                                           "(?<secret>[[.a.]])",
                                           "(?<secret>[[:nn:]])",
                                           "(?<secret>b",
                                           "(?<secret>b))",
                                           "(?<secret>[b)",
                                           "(?<secret>b\\",
                                           "(?<secret",
                                           "(?",
                                           "(?i",
                                           "(",
                                           "[",
                                           "a{70000}",
                                           "a{2,70000}",
                                           "(?<secret>[a-\\d])",
                                           "\\x4",
                                           "\\x{4",
                                           "[[:"};
    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++)
        if (detect__language_parse(patterns[i], &arena))
            fail_msg("understood: %s", patterns[i]);
}

static void work_without_end_is_given_up(void **state) {
    (void)state;
    uint32_t most = 7;
    uint8_t text[64];
    struct ts_prng prng;
    ts_prng_init(&prng, 3);
    const struct detect_language *language =
        detect__language_parse("(?:(?:(?:(?:\\b){60000}){60000}){60000}){60000}(?<secret>[0-9]{20})", &arena);
    assert_non_null(language);
    assert_int_equal(detect__language_make(language, &prng, text, sizeof text), 0);
    language = detect__language_parse("(?:(?:(?:a?){0,400}){0,400}){0,400}(?<secret>[0-9]{20})", &arena);
    assert_non_null(language);
    assert_int_equal(detect__language_token_start(language, 510, &most), DETECT_TOKEN_UNKNOWN);
    /* With several secrets in one match, it would be unclear which one counts. */
    language = detect__language_parse("(?:x(?<secret>[0-9]{20})){1,2}", &arena);
    assert_non_null(language);
    assert_int_equal(detect__language_token_start(language, 100, &most), DETECT_TOKEN_UNKNOWN);
    assert_int_equal(most, 7);
    char deep[600] = {0};
    memset(deep, '(', 200);
    memset(deep + 201, ')', 200);
    deep[200] = 'a';
    assert_null(detect__language_parse(deep, &arena));
}

struct span {
    size_t from;
    size_t to;
};

/* Returns where the first token-shaped run of bytes begins, or the length if no run is token-shaped. */
static size_t first_run(struct ts_bytes bytes) {
    for (size_t from = 0; from < bytes.len; from++)
        for (size_t to = from + 1; to <= bytes.len && detect__is_token[bytes.data[to - 1]]; to++)
            if (detect__has_token_shape((struct ts_bytes){bytes.data + from, to - from}))
                return from;
    return bytes.len;
}

/* Returns whether PCRE2 matches the whole text. If so, sets ret_secret to the place of the secret. */
static bool matches_whole(const struct detect_code *code, struct ts_bytes text, struct span *ret_secret) {
    pcre2_match_data *data = pcre2_match_data_create(DETECT_GROUPS_MAX + 1, NULL);
    assert_non_null(data);
    const PCRE2_SIZE *ends = pcre2_get_ovector_pointer(data);
    size_t group = (size_t)2 * code->secret_group;
    bool matches =
        pcre2_match(code->code, text.data, text.len, 0, PCRE2_ANCHORED | PCRE2_ENDANCHORED, data, NULL) > 0;
    if (matches)
        *ret_secret = (struct span){ends[group], ends[group + 1]};
    pcre2_match_data_free(data);
    return matches;
}

/* Generates texts of a rule. Returns how many of them its pattern matches, and sets ret_latest to the latest
 * start of a token in these texts. */
static unsigned try_rule(const struct ts_rule *rule, unsigned count, size_t *ret_latest) {
    struct ts_detect_error error;
    struct detect_code *code = detect__code_new(rule, &error);
    const struct detect_language *language = detect__language_parse(rule->pattern, &arena);
    uint8_t *text = malloc(TS_RULE_REACH_MAX);
    struct ts_prng prng;
    ts_prng_init(&prng, 11);
    if (!language)
        fail_msg("%s is not understood", rule->id);
    assert_non_null(code);
    assert_non_null(text);
    unsigned matched = 0;
    *ret_latest = 0;
    for (unsigned i = 0; i < count; i++) {
        struct span secret;
        size_t len = detect__language_make(language, &prng, text, TS_RULE_REACH_MAX);
        assert_true(len <= rule->reach);
        if (len == 0 || !matches_whole(code, ts_bytes_of(text, len), &secret))
            continue;
        matched++;
        size_t first = first_run(ts_bytes_of(text + secret.from, secret.to - secret.from));
        if (first < secret.to - secret.from && secret.from + first > *ret_latest)
            *ret_latest = secret.from + first;
    }
    free(text);
    detect__code_free(code);
    return matched;
}

static void texts_of_the_built_in_rules_are_matched(void **state) {
    (void)state;
    struct ts_ruleset rules;
    struct ts_detect_error error;
    ts_ruleset_init(&rules);
    assert_true(ts_builtin_add(&rules, &error));
    for (size_t i = 0; i < rules.count; i++) {
        size_t latest;
        unsigned matched = try_rule(&rules.rules[i], 20, &latest);
        if (matched < 5)
            fail_msg("only %u texts of %s are matched", matched, rules.rules[i].id);
    }
    ts_ruleset_release(&rules);
}

/* The bound on the text before a token holds for every text, and some text reaches the bound. */
static void no_text_begins_farther_before_its_token_than_the_bound(void **state) {
    (void)state;
    static const char *const patterns[] = {
        "(?:\\b|\\\\[nrt])(?<secret>[a-z0-9]{20})",
        "(?:key|id_)[=:]{1,3}\"?(?<secret>[a-z0-9]{16,20})",
        "(?<secret>[0-9]{9}:[a-f0-9]{32})",
        "(?<secret>[12]/[0-9]{13,16}(?:/[0-9]{13,16})?:[a-f0-9]{32})",
        "x{0,3}(?<secret>(?:[a-z]{16,18}:){1,2}[0-9]{16})",
        "(?i)ab(?:c|de?)(?<secret>-:[A-F0-9]{20}|[0-9]{16})",
        "(?<secret>[a-c:][0-9]{17})",
        "(?i:ab)cdefgh(?<secret>ij(?i)kl(?-i)mn[0-9]{16})",
    };
    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++) {
        struct ts_rule rule = {.id = "tried", .pattern = patterns[i], .reach = 100};
        size_t latest = 0;
        uint32_t most = 0;
        assert_true(try_rule(&rule, 2000, &latest) > 500);
        assert_int_equal(
            detect__language_token_start(detect__language_parse(patterns[i], &arena), 100, &most),
            DETECT_TOKEN_STARTS);
        if (latest != most)
            fail_msg("%s: a token at %zu, the bound is %u", patterns[i], latest, most);
    }
}

/* A pattern that is cut or changed anywhere is accepted or refused, and no byte after its end is read. */
static void broken_patterns_do_no_harm(void **state) {
    (void)state;
    static const char pattern[] =
        "(?i)(?:^|[^A-Za-z0-9_/+-]|\\\\[nrt])(?<secret>[[:alnum:]]{2,4}\\x2d\\x{2e}[]a-z]{3}(?-i:x|y)?)(?:\\b|$)";
    for (size_t cut = 0; cut < sizeof pattern; cut++)
        for (size_t change = 0; change <= cut; change++) {
            char *broken = malloc(cut + 1);
            assert_non_null(broken);
            memcpy(broken, pattern, cut);
            broken[cut] = '\0';
            if (change < cut)
                broken[change] = "([{?\\:"[(cut + change) % 6];
            const struct detect_language *language = detect__language_parse(broken, &arena);
            uint8_t text[100];
            struct ts_prng prng;
            uint32_t most;
            ts_prng_init(&prng, cut);
            if (language && change % 8 == 0)
                (void)detect__language_token_start(language, 60, &most);
            if (language)
                (void)detect__language_make(language, &prng, text, sizeof text);
            free(broken);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(text_before_the_secret_counts, release),
        cmocka_unit_test_teardown(other_characters_in_the_secret_count_until_a_token_begins, release),
        cmocka_unit_test_teardown(secrets_that_are_never_a_token_are_reported, release),
        cmocka_unit_test_teardown(unknown_syntax_is_not_guessed, release),
        cmocka_unit_test_teardown(work_without_end_is_given_up, release),
        cmocka_unit_test_teardown(texts_of_the_built_in_rules_are_matched, release),
        cmocka_unit_test_teardown(no_text_begins_farther_before_its_token_than_the_bound, release),
        cmocka_unit_test_teardown(broken_patterns_do_no_harm, release),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
