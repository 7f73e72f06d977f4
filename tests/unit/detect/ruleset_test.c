#include "detect/detector.h"
#include "detect/ruleset.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

static struct ts_ruleset rules;
static struct ts_detect_error error;

static int fresh(void **state) {
    (void)state;
    ts_ruleset_init(&rules);
    memset(&error, 0, sizeof error);
    return 0;
}

static int done(void **state) {
    (void)state;
    ts_ruleset_release(&rules);
    return 0;
}

#define RULE(id, fields)                                                                                     \
    "  - id: " id "\n    name: N\n    pattern: 'abc(?<secret>d{8})'\n    severity: low\n" fields

static bool add(const char *text) {
    return ts_ruleset_add(&rules, "f.yml", ts_bytes_of_cstring(text), &error);
}

static void a_rule_has_what_its_file_says(void **state) {
    (void)state;
    assert_true(
        add("rules:\n" RULE("a-1", "    gate: {literals: [abc], lead: 3}\n    reach: 11\n    entropy: 2.5\n"
                                   "    keywords: [k1, k2]\n    distance: 9\n    confidence: high\n"
                                   "    validators: [hex, mixed]\n    generic: true\n")));
    assert_int_equal(rules.count, 1);
    const struct ts_rule *rule = ts_ruleset_find(&rules, "a-1");
    assert_non_null(rule);
    assert_int_equal(rule->lead, 3);
    assert_int_equal(rule->reach, 11);
    assert_int_equal(rule->distance, 9);
    assert_int_equal(rule->keywords.count, 2);
    assert_int_equal(rule->validator_count, 2);
    assert_int_equal(rule->validators[1], TS_VALIDATOR_MIXED);
    assert_true(rule->generic && rule->entropy > 2.49 && rule->entropy < 2.51);
    assert_int_equal(rule->confidence, TS_CONFIDENCE_HIGH);
    assert_int_equal(rule->line, 2);
    assert_null(ts_ruleset_find(&rules, "a-2"));
    assert_true(
        add("rules:\n" RULE("a-2", "    gate: {token: true, lead: 7}\n    reach: 11\n    keywords: [k1]\n")));
    rule = ts_ruleset_find(&rules, "a-2");
    assert_non_null(rule);
    assert_true(rule->gate == TS_GATE_TOKEN && rule->lead == 7);
}

static void refuses(const char *text, unsigned line, const char *rule, const char *field, const char *part) {
    struct ts_ruleset none;
    ts_ruleset_init(&none);
    if (ts_ruleset_add(&none, "f.yml", ts_bytes_of_cstring(text), &error))
        fail_msg("taken: %s", text);
    assert_int_equal(none.count, 0);
    ts_ruleset_release(&none);
    if (error.line != line || strcmp(error.rule, rule) != 0 || strcmp(error.field, field) != 0 ||
        !strstr(error.text, part) || strncmp(error.text, "f.yml", 5) != 0)
        fail_msg("line %u, rule '%s', field '%s': %s", error.line, error.rule, error.field, error.text);
}

static void errors_name_line_rule_field_and_cure(void **state) {
    (void)state;
    static const char good[] = "    gate: [abc]\n    reach: 11\n";
    char text[2048];
    refuses("", 1, "", "", "'rules:'");
    refuses("rules: 3\n", 1, "", "rules", "list");
    refuses("other: 3\n", 1, "", "", "no field 'other'");
    refuses("rules:\n  - 3\n", 2, "", "", "mapping");
    refuses("rules:\n  - {name: x}\n", 2, "", "id", "missing");
    refuses("rules:\n" RULE("A", "    gate: [abc]\n    reach: 11\n"), 2, "", "id", "a-z");
    refuses("rules:\n  - {id: a, name: N, severity: low, gate: [abc], pattern: 'abc(?<secret>d+)'}\n", 2, "a",
            "pattern", "no longest match");
    refuses("rules:\n  - {id: a, name: N, severity: low, pattern: '(?<secret>[a-f]{9})'}\n", 2, "a", "gate",
            "keywords");
    refuses("rules:\n" RULE("a", "    url: ftp://x\n"), 6, "a", "url", "https://");
    refuses("rules:\n" RULE("a", "    reach: 11\n    gate: [ab]\n"), 7, "a", "gate", "3 to");
    refuses("rules:\n" RULE("a", "    reach: 11\n    gate: {token: yes}\n"), 7, "a", "gate token", "true");
    refuses("rules:\n" RULE("a", "    reach: 11\n    gate: {token: true, literals: [abc]}\n"), 7, "a", "gate",
            "only one of them");
    refuses("rules:\n" RULE("a", "    reach: 11\n    gate: tokn\n"), 7, "a", "gate", "'token'");
    refuses("rules:\n" RULE("a", "    reach: 11\n    gate: token\n"), 2, "a", "keywords", "missing");
    refuses("rules:\n" RULE("a", "    reach: 99999\n    gate: [abc]\n"), 6, "a", "reach", "32768");
    refuses("rules:\n" RULE("a", "    reach: 11\n    gate: [abc]\n    distance: 5\n"), 2, "a", "distance",
            "none");
    snprintf(text, sizeof text, "rules:\n" RULE("a", "%s    validators: [nothing]\n"), good);
    refuses(text, 8, "a", "validators", "unknown validator 'nothing'");
    snprintf(text, sizeof text, "rules:\n" RULE("a", "%s    entropy: high\n"), good);
    refuses(text, 8, "a", "entropy", "0 to 8");
    snprintf(text, sizeof text, "rules:\n" RULE("a", "%s    confidence: certain\n"), good);
    refuses(text, 8, "a", "confidence", "high");
    snprintf(text, sizeof text, "rules:\n" RULE("a", "%s    reach: 12\n"), good);
    refuses(text, 8, "", "reach", "twice");
    snprintf(text, sizeof text, "rules:\n" RULE("a", "%s    severty: low\n"), good);
    refuses(text, 8, "", "", "did you mean 'severity'");
    snprintf(text, sizeof text, "rules:\n" RULE("a", "%s    examples: {match: [{text: x}]}\n"), good);
    refuses(text, 8, "a", "examples match", "secret");
    snprintf(text, sizeof text, "rules:\n" RULE("a", "%s") RULE("a", "%s"), good, good);
    refuses(text, 8, "a", "id", "line 2");
}

static void a_file_in_error_changes_nothing(void **state) {
    (void)state;
    assert_true(add("rules:\n" RULE("a", "    gate: [abc]\n    reach: 11\n")));
    assert_false(add("rules:\n" RULE("a", "    gate: [xyz]\n    reach: 11\n") RULE("b", "    reach: x\n")));
    assert_false(add("rules:\n" RULE("a", "    gate: [xyz]\n    reach: 11\n") RULE(
        "b", "    gate: [abc]\n    reach: 11\n") RULE("b", "    gate: [abc]\n    reach: 11\n")));
    assert_int_equal(rules.count, 1);
    assert_string_equal(rules.rules[0].literals.texts[0], "abc");
}

static void a_rule_of_the_same_id_takes_the_place(void **state) {
    (void)state;
    assert_true(add("rules:\n" RULE("a", "    gate: [abc]\n    reach: 11\n")
                        RULE("b", "    gate: [abc]\n    reach: 12\n")));
    assert_true(add("rules:\n" RULE("c", "    gate: [abc]\n    reach: 13\n")
                        RULE("a", "    gate: [xyz]\n    reach: 14\n")));
    assert_int_equal(rules.count, 3);
    assert_string_equal(rules.rules[0].id, "a");
    assert_int_equal(rules.rules[0].reach, 14);
    assert_string_equal(rules.rules[2].id, "c");
}

static void the_digest_changes_with_what_decides(void **state) {
    (void)state;
    uint8_t first[TS_RULESET_DIGEST_LEN];
    uint8_t second[TS_RULESET_DIGEST_LEN];
    assert_true(add("rules:\n" RULE("a", "    gate: [abc]\n    reach: 11\n")));
    ts_ruleset_digest(&rules, first);
    rules.rules[0].name = "another";
    ts_ruleset_digest(&rules, second);
    assert_memory_equal(first, second, sizeof first);
    rules.rules[0].reach++;
    ts_ruleset_digest(&rules, second);
    assert_memory_not_equal(first, second, sizeof first);
}

static void examples_lose_their_double_tildes(void **state) {
    (void)state;
    assert_true(add("rules:\n" RULE("a", "    gate: [abc]\n    reach: 11\n    examples:\n      match:\n"
                                         "        - {text: 'ab~~c~d', secret: '~~~'}\n")));
    assert_true(ts_bytes_equal(rules.rules[0].matches[0].text, TS_BYTES("abc~d")));
    assert_true(ts_bytes_equal(rules.rules[0].matches[0].secret, TS_BYTES("~")));
}

static void patterns_that_cannot_be_windowed_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *pattern;
        const char *part;
    } cases[] = {
        {"abc(?<secret>x+)", "no longest match"},
        {"\\\\Aabc(?<secret>x)", "\\A"},
        {"abc(?<secret>x{90})", "reach"},
        {"(?<=a)bc(?<secret>x)", "Vectorscan"},
        {"abc(x)", "secret"},
        {"abc(?<secret>x", "PCRE2"},
        {"(?<secret>x{0,3})", "empty"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[512];
        struct ts_ruleset one;
        ts_ruleset_init(&one);
        snprintf(text, sizeof text,
                 "rules:\n  - {id: a, name: N, severity: low, gate: [abc], reach: 20, pattern: \"%s\"}\n",
                 cases[i].pattern);
        assert_true(ts_ruleset_add(&one, "f.yml", ts_bytes_of_cstring(text), &error));
        assert_null(ts_detector_new(&one, &(struct ts_detector_options){.cache_folder = ""}, &error));
        if (error.kind != TS_DETECT_BAD_PATTERN || !strstr(error.text, cases[i].part))
            fail_msg("%s: %s", cases[i].pattern, error.text);
        ts_ruleset_release(&one);
    }
}

static void rules_for_names_and_shapes_do_not_apply_to_lock_files(void **state) {
    (void)state;
    struct ts_rule token = {.gate = TS_GATE_TOKEN};
    struct ts_rule text = {.gate = TS_GATE_TEXT};
    assert_false(ts_rule_applies(&token, "api/go.sum"));
    assert_true(ts_rule_applies(&token, "api/go.mod"));
    assert_true(ts_rule_applies(&token, ""));
    assert_true(ts_rule_applies(&text, "api/go.sum"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_for_names_and_shapes_do_not_apply_to_lock_files),
        cmocka_unit_test_setup_teardown(a_rule_has_what_its_file_says, fresh, done),
        cmocka_unit_test_setup_teardown(errors_name_line_rule_field_and_cure, fresh, done),
        cmocka_unit_test_setup_teardown(a_file_in_error_changes_nothing, fresh, done),
        cmocka_unit_test_setup_teardown(a_rule_of_the_same_id_takes_the_place, fresh, done),
        cmocka_unit_test_setup_teardown(the_digest_changes_with_what_decides, fresh, done),
        cmocka_unit_test_setup_teardown(examples_lose_their_double_tildes, fresh, done),
        cmocka_unit_test_setup_teardown(patterns_that_cannot_be_windowed_are_refused, fresh, done),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
