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
    expect("(?<name>a)(b)", 1, "(?<secret>a)(?:b)");
    expect("(?i)\\b(tok([a-z]{8})x)", 0, "(?i)\\b(?<secret>tok(?:[a-z]{8})x)");
    expect("key(?:=|: )(?:([a-z]{8})|'([a-z]{8})')", 2, "key(?:=|: )(?:(?:[a-z]{8})|'(?<secret>[a-z]{8})')");
    expect("tok_[a-z]{8}|TOK", 0, "(?<secret>tok_[a-z]{8}|TOK)");
    expect("(?i)abc", 0, "(?i)(?<secret>abc)");
    expect("[(]x\\((y{4}[a-z]{4})", 0, "[(]x\\((?<secret>y{4}[a-z]{4})");
}

static void several_groups_and_what_is_between_them_are_the_secret(void **state) {
    (void)state;
    expect("db://([a-z]{3,9}):([^@]+)@([a-z.]+)/", 0,
           "db://(?<secret>(?:[a-z]{3,9}):(?:[^@]{1,64})@(?:[a-z.]{1,64}))/");
    expect("a=(?:'([a-z]{8})' b='(?:c([a-z]{8}))') d", 0,
           "a=(?:'(?<secret>(?:[a-z]{8})' b='(?:c(?:[a-z]{8})))') d");
    expect("a((?:[a-z]{4}-){3})b([0-9]{6})?c", 0, "a(?<secret>(?:(?:[a-z]{4}-){3})b(?:[0-9]{6})?)c");
    expect("a([a-z]{4}-){3}b", 0, "a(?<secret>(?:[a-z]{4}-){3})b");
    /* (?i) also applies to z. */
    expect("x([a-z]{8})(?i)y([a-z]{8})z", 0, "(?<secret>x(?:[a-z]{8})(?i)y(?:[a-z]{8})z)");
}

static void the_secret_is_in_every_match(void **state) {
    (void)state;
    expect("a=([a-z]{8});|b=([a-z]{9});", 0, "(?<secret>a=(?:[a-z]{8});|b=(?:[a-z]{9});)");
    expect("a=([a-z]{8});|b", 0, "(?<secret>a=(?:[a-z]{8});|b)");
    expect("curl (?:-H \"(?:X: ([a-z]{8})|Y: ([a-z]{9}))\") url", 0,
           "curl (?:-H \"(?:(?<secret>X: (?:[a-z]{8})|Y: (?:[a-z]{9})))\") url");
    expect("a(?:b([a-z]{8}))?c", 0, "(?<secret>a(?:b(?:[a-z]{8}))?c)");
    expect("a(?:b([a-z]{8})c){2}d", 0, "a(?<secret>(?:b(?:[a-z]{8})c){2})d");
    expect("a([a-z]{8})?b([a-z]{9})?c", 0, "(?<secret>a(?:[a-z]{8})?b(?:[a-z]{9})?c)");
}

static void a_group_with_few_texts_is_not_the_secret(void **state) {
    (void)state;
    expect("sk_(live|test)_[a-z]{24}", 0, "(?<secret>sk_(?:live|test)_[a-z]{24})");
    expect("\\b(AKIA|A3T[A-Z])[A-Z0-9]{16}\\b", 0, "(?<secret>\\b(?:AKIA|A3T[A-Z])[A-Z0-9]{16}\\b)");
    expect("(https?://)?hooks\\.x\\.com/(a|b)/[a-z]{44}", 0,
           "(?<secret>(?:https?://)?hooks\\.x\\.com/(?:a|b)/[a-z]{44})");
    expect("acme(.{0,20})?=['\"][a-f0-9]{32}", 0, "(?<secret>acme(?:.{0,20})?=['\"][a-f0-9]{32})");
    expect("(acme|ACME)=([a-f0-9]{32})([;'\"]|$)", 0, "(?:acme|ACME)=(?<secret>[a-f0-9]{32})(?:[;'\"]|$)");
}

static void every_repeat_has_a_limit(void **state) {
    (void)state;
    expect("(a*b+c{3,}d{2}e?f{1,2})", 1, "(?<secret>a{0,64}b{1,64}c{3,64}d{2}e?f{1,2})");
    expect("(a*?b+?c{99,}?)", 1, "(?<secret>a{0,64}?b{1,64}?c{99,99}?)");
    expect("([*+]\\*x{y})", 1, "(?<secret>[*+]\\*x\\{y\\})");
    expect("(\\x{41}+[\\]+]*)", 1, "(?<secret>\\x{41}{1,64}[\\]+]{0,64})");
    expect("([[:alpha:]+]+[]a]*)", 1, "(?<secret>[[:alpha:]+]{1,64}[]a]{0,64})");
}

static void a_beginning_that_decides_nothing_is_removed(void **state) {
    (void)state;
    expect("(?i)[\\w.-]{0,50}?(?:acme)=(x)", 1, "(?i)(?:acme)=(?<secret>x)");
    expect(".*\\s?(x)", 1, "(?<secret>x)");
    expect("\\b[a-z]*(x)", 1, "\\b[a-z]{0,64}(?<secret>x)");
    expect("[a-z]*x", 0, "(?<secret>[a-z]{0,64}x)");
    expect("(?i)[\\w.-]{0,50}?(?:acme)=(?:(on|off))[a-z]{8}", 0,
           "(?i)(?<secret>(?:acme)=(?:(?:on|off))[a-z]{8})");
    expect("a+[a-z]*(x)", 1, "a{1,64}[a-z]{0,64}(?<secret>x)");
}

static void extended_patterns_lose_their_blanks(void **state) {
    (void)state;
    expect("(?x) a b # comment (\n \\# [ #] \\  ( c )", 1, "ab\\#[ #]\\ (?<secret>c)");
    expect("(?xi)\n a (?-x: b) ( c )", 1, "(?i)a(?: b)(?<secret>c)");
    expect("(?x: a ) b(c)", 1, "(?:a) b(?<secret>c)");
    expect("a\n(b)", 1, "a\\n(?<secret>b)");
    expect("\\A(?#note)(b)\\z", 1, "^(?<secret>b)$");
}

static void unsupported_syntax_of_patterns_is_refused(void **state) {
    (void)state;
    refuse("(?<=a)b", 0, "looks ahead or behind");
    refuse("a(?!b)", 0, "looks ahead or behind");
    refuse("(a)\\1", 0, "has a back reference");
    refuse("\\p{L}", 0, "has a Unicode class; patterns match bytes");
    refuse("[\xc3\xa9]", 0, "has a class with a character outside ASCII; patterns match bytes");
    refuse("(?U)a", 0, "has a flag other than i, m, s and x");
    refuse("(a", 0, "has a group without its ')'");
    refuse("a)", 0, "has a ')' without its '('");
    refuse("[a", 0, "has a class without its ']'");
    refuse("*a", 0, "repeats nothing");
    refuse("a\\", 0, "ends with a backslash");
    refuse("(a)", 2, "has no group with the number of its secretGroup");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_group_is_the_secret),
        cmocka_unit_test(several_groups_and_what_is_between_them_are_the_secret),
        cmocka_unit_test(the_secret_is_in_every_match),
        cmocka_unit_test(a_group_with_few_texts_is_not_the_secret),
        cmocka_unit_test(every_repeat_has_a_limit),
        cmocka_unit_test(a_beginning_that_decides_nothing_is_removed),
        cmocka_unit_test(extended_patterns_lose_their_blanks),
        cmocka_unit_test(unsupported_syntax_of_patterns_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
