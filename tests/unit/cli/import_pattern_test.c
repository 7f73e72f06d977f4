#include "import_pattern.h"

#include "support/cmocka.h"

static void expect(const char *from, uint32_t group, const char *expected) {
    struct cli_import_pattern pattern;
    struct cli_import_request request = {.pattern = ts_bytes_of_cstring(from), .group = group, .bound = 64};
    assert_true(cli__import_pattern(&request, &pattern));
    if (pattern.wrong != NULL)
        fail_msg("%s: %s", from, pattern.wrong);
    assert_string_equal(pattern.text, expected);
    cli__import_pattern_release(&pattern);
}

static void refuse(const char *from, uint32_t group, const char *why) {
    struct cli_import_pattern pattern;
    struct cli_import_request request = {.pattern = ts_bytes_of_cstring(from), .group = group, .bound = 64};
    assert_true(cli__import_pattern(&request, &pattern));
    assert_non_null(pattern.wrong);
    assert_string_equal(pattern.wrong, why);
    cli__import_pattern_release(&pattern);
}

static void one_group_is_the_secret(void **state) {
    (void)state;
    expect("\\b(tok_[a-z]{8})\\b", 0, "\\b(?<secret>tok_[a-z]{8})\\b");
    expect("(key|pass)=(?P<v>[a-z]{8})", 2, "(?:key|pass)=(?<secret>[a-z]{8})");
    expect("(?<name>a)(b)", 0, "(?<secret>a)(?:b)");
    expect("tok_[a-z]{8}|TOK", 0, "(?<secret>tok_[a-z]{8}|TOK)");
    expect("(?i)abc", 0, "(?<secret>(?i)abc)");
    expect("[(]x\\((y)", 0, "[(]x\\((?<secret>y)");
}

static void every_repeat_has_a_limit(void **state) {
    (void)state;
    expect("(a*b+c{3,}d{2}e?f{1,2})", 0, "(?<secret>a{0,64}b{1,64}c{3,64}d{2}e?f{1,2})");
    expect("(a*?b+?c{99,}?)", 0, "(?<secret>a{0,64}?b{1,64}?c{99,99}?)");
    expect("([*+]\\*x{y})", 0, "(?<secret>[*+]\\*x\\{y\\})");
    expect("(\\x{41}+[\\]+]*)", 0, "(?<secret>\\x{41}{1,64}[\\]+]{0,64})");
    expect("([[:alpha:]+]+[]a]*)", 0, "(?<secret>[[:alpha:]+]{1,64}[]a]{0,64})");
}

static void a_beginning_that_decides_nothing_is_removed(void **state) {
    (void)state;
    expect("(?i)[\\w.-]{0,50}?(?:acme)=(x)", 0, "(?i)(?:acme)=(?<secret>x)");
    expect(".*\\s?(x)", 0, "(?<secret>x)");
    expect("\\b[a-z]*(x)", 0, "\\b[a-z]{0,64}(?<secret>x)");
    expect("[a-z]*x", 0, "(?<secret>[a-z]{0,64}x)");
    expect("a+[a-z]*(x)", 0, "a{1,64}[a-z]{0,64}(?<secret>x)");
}

static void extended_patterns_lose_their_blanks(void **state) {
    (void)state;
    expect("(?x) a b # comment (\n \\# [ #] \\  ( c )", 0, "ab\\#[ #]\\ (?<secret>c)");
    expect("(?xi)\n a (?-x: b) ( c )", 0, "(?i)a(?: b)(?<secret>c)");
    expect("(?x: a ) b(c)", 0, "(?:a) b(?<secret>c)");
    expect("a\n(b)", 0, "a\\n(?<secret>b)");
    expect("\\A(?#note)(b)\\z", 0, "^(?<secret>b)$");
}

static void unsupported_syntax_of_patterns_is_refused(void **state) {
    (void)state;
    refuse("(?<=a)b", 0, "looks ahead or behind");
    refuse("a(?!b)", 0, "looks ahead or behind");
    refuse("(a)\\1", 0, "has a back reference");
    refuse("\\p{L}", 0, "has a class of Unicode; patterns match bytes");
    refuse("[\xc3\xa9]", 0, "has a class with a character outside ASCII; patterns match bytes");
    refuse("(?U)a", 0, "has a flag other than i, m, s and x");
    refuse("(a", 0, "has a group without an end");
    refuse("a)", 0, "has a ')' without its '('");
    refuse("[a", 0, "has a class without an end");
    refuse("*a", 0, "repeats nothing");
    refuse("a\\", 0, "ends with a backslash");
    refuse("(a)", 2, "has fewer groups than the number of its secret's group");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_group_is_the_secret),
        cmocka_unit_test(every_repeat_has_a_limit),
        cmocka_unit_test(a_beginning_that_decides_nothing_is_removed),
        cmocka_unit_test(extended_patterns_lose_their_blanks),
        cmocka_unit_test(unsupported_syntax_of_patterns_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
