#include "base/prng.h"
#include "detect/glob.h"
#include "detect/pragma.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

static const char *find(const char *line, const char *before) {
    return ts_pragma_find(ts_bytes_of_cstring(line), ts_bytes_of_cstring(before), "github-pat");
}

static void marks_of_all_tools_are_known(void **state) {
    (void)state;
    static const char *const yes[] = {
        "x # turnstone:allow",
        "x // turnstone:allow=jwt,github-pat",
        "x /* turnstone:allow */",
        "x # gitleaks:allow",
        "x // trufflehog:ignore",
        "x # kingfisher:ignore",
        "x # pragma: allowlist secret",
        "x # nosec",
        "x // NOSONAR",
        "x  # noqa: S105",
        "x # Pragma: Allowlist Secret",
        "x <!-- turnstone:allow -->",
        "x # turnstone:allow because it is made up",
        "x # turnstone:allow = github-pat",
        "x # turnstone:allow =\tjwt,github-pat",
        "x # pragma:allowlist secret",
        "x # pragma: allowlist-secret",
        "x # pragma:whitelist secret",
        "x # noqa:S106",
        "x # NOQA: s107",
        "x # noqa: E501, S105",
        "x # noqa: E501,S105",
        "x # noqa: E501 S105 because",
        "x # noqa: E501 # noqa: S105",
    };
    for (size_t i = 0; i < sizeof yes / sizeof yes[0]; i++)
        if (!find(yes[i], ""))
            fail_msg("%s", yes[i]);
}

static void other_words_are_no_marks(void **state) {
    (void)state;
    static const char *const no[] = {"",
                                     "x",
                                     "turnstone:allowed",
                                     "myturnstone:allow",
                                     "# turnstone:allow=jwt",
                                     "# turnstone:allow=jwt,slack-bot-token, github-pat",
                                     "nosecret = 1",
                                     "# turnstone:allow = jwt",
                                     "# turnstone:allow\t=jwt",
                                     "# turnstone:allow = ",
                                     "# turnstone:allow =",
                                     "noqa: E501",
                                     "noqa: E501 because of S105",
                                     "noqa: E501\nS105",
                                     "noqa: S1055",
                                     "noqa: S105x",
                                     "noqa: XS105",
                                     "noqa:",
                                     "noqa S105",
                                     "xnoqa: S105",
                                     "pragma",
                                     "pragma:",
                                     "pragma:  allowlist secret",
                                     "pragma: allowlistsecret",
                                     "pragma: allowlist secrets",
                                     "pragma: once"};
    for (size_t i = 0; i < sizeof no / sizeof no[0]; i++)
        if (find(no[i], ""))
            fail_msg("%s", no[i]);
}

static void a_mark_in_the_line_before_is_only_for_the_next_line(void **state) {
    (void)state;
    assert_string_equal(find("x", "# pragma: allowlist nextline secret"),
                        "pragma: allowlist nextline secret");
    assert_string_equal(find("x", "# pragma:allowlist-nextline secret"), "pragma: allowlist nextline secret");
    assert_null(find("x", "# turnstone:allow"));
}

static void lines_are_whole(void **state) {
    (void)state;
    struct ts_bytes text = TS_BYTES("one\ntwo three\nfour\n");
    struct ts_span lines = ts_lines_of(text, (struct ts_span){8, 5});
    assert_true(ts_bytes_equal(ts_bytes_slice(text, lines), TS_BYTES("two three")));
    assert_true(ts_bytes_equal(ts_bytes_slice(text, ts_line_before(text, lines)), TS_BYTES("one")));
    lines = ts_lines_of(text, (struct ts_span){8, 8});
    assert_true(ts_bytes_equal(ts_bytes_slice(text, lines), TS_BYTES("two three\nfour")));
    lines = ts_lines_of(text, (struct ts_span){0, 4});
    assert_true(ts_bytes_equal(ts_bytes_slice(text, lines), TS_BYTES("one")));
    assert_int_equal(ts_line_before(text, lines).len, 0);
    lines = ts_lines_of(text, (struct ts_span){19, 0});
    assert_int_equal(lines.len, 0);
}

static void globs_match_as_described(void **state) {
    (void)state;
    static const struct {
        const char *pattern;
        const char *path;
        bool matches;
    } cases[] = {
        {"a.c", "a.c", true},
        {"a.c", "x/y/a.c", true},
        {"a.c", "x/ba.c", false},
        {"*.c", "x/a.c", true},
        {"/a.c", "x/a.c", false},
        {"/a.c", "a.c", true},
        {"x/*.c", "x/a.c", true},
        {"x/*.c", "x/y/a.c", false},
        {"x/**", "x/y/a.c", true},
        {"x/**/a.c", "x/a.c", true},
        {"x/**/a.c", "x/y/z/a.c", true},
        {"**/a.c", "a.c", true},
        {"**/a.c", "x/a.c", true},
        {"**/a.c", "xa.c", false},
        {"tests", "tests/a.c", true},
        {"tests/", "tests/a.c", true},
        {"tests/", "tests", false},
        {"tests", "x/tests/a.c", true},
        {"te?ts/", "tests/a.c", true},
        {"[a-c].c", "b.c", true},
        {"[!a-c].c", "b.c", false},
        {"a?b", "a/b", false},
        {"\\*.c", "*.c", true},
        {"\\*.c", "a.c", false},
        {"x/y", "x/y/z", true},
        {"x/y", "w/x/y", false},
        {"*", "anything", true},
        {"**", "x/y", true},
        {"[]a]", "]", true},
        {"a[", "a[", false},
        {"x.zip", "d/x.zip!/a.c", true},
        {"*.zip", "d/x.zip!/a.c", true},
        {"d/*.zip", "d/x.zip!/y.gz!/y", true},
        {"d/x.zip", "d/x.zip!", false},
        {"x.zip/", "x.zip!/a.c", true},
        {"x.zip!/a.c", "x.zip!/a.c", true},
        {"x.zip!/a.c", "x.zip!/b.c", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (ts_glob_matches(cases[i].pattern, cases[i].path) != cases[i].matches)
            fail_msg("%s and %s", cases[i].pattern, cases[i].path);
}

/* A pattern with the class [a] needs the general matcher, which must match exactly where the simple matcher
 * does. */
static void simple_patterns_match_like_others(void **state) {
    (void)state;
    struct ts_prng prng;
    size_t matches = 0;
    ts_prng_init(&prng, 7);
    for (size_t round = 0; round < 200000; round++) {
        char simple[8];
        char other[32] = "";
        char path[10];
        size_t len = 1 + ts_prng_below(&prng, 5);
        for (size_t i = 0; i < len; i++)
            simple[i] = "aab*?b"[ts_prng_below(&prng, 6)];
        if (ts_prng_below(&prng, 3) == 0)
            simple[len++] = '/';
        simple[len] = '\0';
        for (size_t i = 0; i < len; i++)
            snprintf(other + strlen(other), 4, simple[i] == 'a' ? "[a]" : "%c", simple[i]);
        len = ts_prng_below(&prng, sizeof path);
        for (size_t i = 0; i < len; i++)
            path[i] = "aabb/!"[ts_prng_below(&prng, 6)];
        path[len] = '\0';
        bool expected = ts_glob_matches(other, path);
        matches += expected;
        if (ts_glob_matches(simple, path) != expected)
            fail_msg("'%s' and '%s': %d", simple, path, !expected);
    }
    assert_in_range(matches, 10000, 190000);
}

static void many_stars_end_soon(void **state) {
    (void)state;
    char pattern[TS_GLOB_PATTERN_MAX + 1];
    static char path[TS_GLOB_PATH_MAX + 1];
    for (size_t i = 0; i < TS_GLOB_PATTERN_MAX; i++)
        pattern[i] = i % 2 ? '*' : 'a';
    pattern[TS_GLOB_PATTERN_MAX] = '\0';
    memset(path, 'a', TS_GLOB_PATH_MAX);
    path[TS_GLOB_PATH_MAX - 1] = 'b';
    assert_true(ts_glob_matches(pattern, path));
    pattern[TS_GLOB_PATTERN_MAX - 1] = 'c';
    assert_false(ts_glob_matches(pattern, path));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(marks_of_all_tools_are_known),
        cmocka_unit_test(other_words_are_no_marks),
        cmocka_unit_test(a_mark_in_the_line_before_is_only_for_the_next_line),
        cmocka_unit_test(lines_are_whole),
        cmocka_unit_test(globs_match_as_described),
        cmocka_unit_test(simple_patterns_match_like_others),
        cmocka_unit_test(many_stars_end_soon),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
