#include "detect/config.h"
#include "detect/finding_id.h"
#include "support/cmocka.h"

#include <string.h>

static struct ts_detect_config config;
static struct ts_detect_error error;

static void parse(const char *text) {
    if (!ts_detect_config_parse(".turnstone.yml", ts_bytes_of_cstring(text), &config, &error))
        fail_msg("%s", error.text);
}

static int done(void **state) {
    (void)state;
    ts_detect_config_release(&config);
    return 0;
}

static struct ts_allow_question question(void) {
    return (struct ts_allow_question){.path = "src/app/main.c",
                                      .rule = "github-pat",
                                      .finding = "00112233445566778899aabbccddeeff",
                                      .secret = TS_BYTES("ghp_Fake"),
                                      .lines = TS_BYTES("token = ghp_Fake")};
}

static const struct ts_allow *allowed_by(struct ts_allow_question asked) {
    uint32_t entries[8];
    assert_true(config.allow_count <= sizeof entries / sizeof entries[0]);
    size_t count = ts_detect_config_consider(&config, &asked, entries);
    for (size_t i = 0; i < count; i++)
        if (ts_allow_has_path(&config.allows[entries[i]], asked.path))
            return &config.allows[entries[i]];
    return NULL;
}

static void an_empty_file_says_nothing(void **state) {
    (void)state;
    parse("");
    assert_int_equal(config.allow_count, 0);
    assert_int_equal(config.salt.len, 0);
    assert_false(config.without_builtin);
    assert_null(allowed_by(question()));
}

static void everything_that_is_said_is_there(void **state) {
    (void)state;
    parse("salt: 0123456789abcdef\nrules:\n  builtin: false\n  files: [a.yml, b/c.yml]\nallow:\n"
          "  - paths: ['tests/**']\n    reason: made up\n  - rules: [jwt]\n");
    assert_true(ts_bytes_equal(config.salt, TS_BYTES("0123456789abcdef")));
    assert_true(config.without_builtin);
    assert_string_equal(config.rule_files.texts[1], "b/c.yml");
    assert_int_equal(config.allow_count, 2);
    assert_string_equal(config.allows[0].reason, "made up");
    assert_int_equal(config.allows[1].line, 8);
    assert_string_equal(config.file, ".turnstone.yml");
}

static void each_condition_allows(void **state) {
    (void)state;
    static const char *const texts[] = {
        "allow: [{paths: ['src/**']}]",
        "allow: [{paths: [main.c]}]",
        "allow: [{rules: [jwt, github-pat]}]",
        "allow: [{secrets: ['^ghp_F']}]",
        "allow: [{lines: ['token\\s*=']}]",
        "allow: [{findings: [00112233445566778899aabbccddeeff]}]",
        "allow: [{paths: [nowhere]}, {paths: ['*.c'], rules: [github-pat], secrets: [Fake], lines: [ghp]}]",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        parse(texts[i]);
        const struct ts_allow *by = allowed_by(question());
        if (by == NULL)
            fail_msg("not allowed by %s", texts[i]);
        assert_ptr_equal(by, &config.allows[config.allow_count - 1]);
        ts_detect_config_release(&config);
    }
}

static void all_conditions_of_an_entry_must_hold(void **state) {
    (void)state;
    static const char *const texts[] = {
        "allow: [{paths: ['tests/**']}]",
        "allow: [{paths: ['*.c'], rules: [jwt]}]",
        "allow: [{secrets: ['^Fake'], lines: [ghp]}]",
        "allow: [{findings: [ffffffffffffffffffffffffffffffff]}]",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        parse(texts[i]);
        assert_null(allowed_by(question()));
        ts_detect_config_release(&config);
    }
}

/* A baseline's salt changes the ids of findings. An entry with an id that was made with the project's own
 * salt still allows its finding. */
static void a_finding_has_an_id_by_each_of_two_salts(void **state) {
    (void)state;
    parse("allow: [{rules: [github-pat], findings: [0123456789abcdef0123456789abcdef]}]");
    struct ts_allow_question asked = question();
    asked.rule = "github-pat";
    asked.finding = "ffffffffffffffffffffffffffffffff";
    assert_null(allowed_by(asked));
    asked.project_finding = "0123456789abcdef0123456789abcdef";
    assert_non_null(allowed_by(asked));
    asked.rule = "jwt";
    assert_null(allowed_by(asked));
}

static void entries_that_name_the_finding_count_as_used_after_the_deciding_one(void **state) {
    (void)state;
    parse("allow:\n  - {rules: [github-pat]}\n  - {paths: [a]}\n"
          "  - {findings: [0123456789abcdef0123456789abcdef]}\n"
          "  - {findings: [fedcba98765432100123456789abcdef]}\n");
    struct ts_allow_question asked = question();
    uint32_t entries[4];
    asked.rule = "github-pat";
    asked.finding = "0123456789abcdef0123456789abcdef";
    assert_int_equal(ts_detect_config_consider(&config, &asked, entries), 2);
    assert_int_equal(entries[0], 0);
    assert_int_equal(entries[1], 2);
}

static void a_pattern_that_takes_too_long_allows_nothing(void **state) {
    (void)state;
    parse("allow: [{secrets: ['(a+)+$']}]");
    struct ts_allow_question asked = question();
    static char long_text[4001];
    memset(long_text, 'a', 4000);
    long_text[3999] = 'b';
    asked.secret = ts_bytes_of(long_text, 4000);
    assert_null(allowed_by(asked));
}

static void mistakes_are_named(void **state) {
    (void)state;
    static const struct {
        const char *text;
        unsigned line;
        const char *part;
    } cases[] = {
        {"salt: short\n", 1, "16"},
        {"\nalow: []\n", 2, "did you mean 'allow'"},
        {"allow: {}\n", 1, "list"},
        {"allow:\n  - {}\n", 2, "everything"},
        {"allow:\n  - reason: why\n", 2, "everything"},
        {"allow:\n  - secrets: ['(']\n", 2, "regular expression"},
        {"allow:\n  - lines: [a, '[']\n", 2, "item 2"},
        {"allow:\n  - paths: ['a[']\n", 2, "paths"},
        {"allow:\n  - findings: [abc]\n", 2, "32 hexadecimal"},
        {"allow:\n  - rules: []\n", 2, "empty"},
        {"rules: {builtin: false}\n", 1, "files"},
        {"rules: {builtin: maybe}\n", 1, "true or false"},
        {"a: [\n", 2, "not YAML"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (ts_detect_config_parse("c.yml", ts_bytes_of_cstring(cases[i].text), &config, &error))
            fail_msg("taken: %s", cases[i].text);
        if (error.line != cases[i].line || !strstr(error.text, cases[i].part))
            fail_msg("%s: line %u: %s", cases[i].text, error.line, error.text);
    }
}

/* libyaml would take many minutes for a text with such deep nesting. */
static void deep_nesting_is_refused_early(void **state) {
    (void)state;
    enum { LEN = 200000 };
    static char text[LEN];
    static const struct {
        const char *unit;
        unsigned line;
    } cases[] = {{"[", 1}, {"{", 1}, {"- ", 1}, {"[\n", 65}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t unit_len = strlen(cases[i].unit);
        for (size_t at = 0; at < LEN; at++)
            text[at] = cases[i].unit[at % unit_len];
        assert_false(ts_detect_config_parse("c.yml", ts_bytes_of(text, LEN), &config, &error));
        assert_non_null(strstr(error.text, "more than 64"));
        assert_int_equal(error.line, cases[i].line);
    }
    /* Brackets in quotes do not nest. */
    memset(text, '[', 300);
    memcpy(text, "salt: '", 7);
    text[300] = '\'';
    assert_true(ts_detect_config_parse("c.yml", ts_bytes_of(text, 301), &config, &error));
}

static void the_salt_is_in_no_message(void **state) {
    (void)state;
    assert_false(ts_detect_config_parse("c.yml", TS_BYTES("salt: hushhush\n"), &config, &error));
    assert_null(strstr(error.text, "hush"));
}

static void finding_ids_follow_from_salt_rule_and_secret(void **state) {
    (void)state;
    struct ts_finding_key public_key = ts_finding_key_of((struct ts_bytes){0});
    struct ts_finding_key own_key = ts_finding_key_of(TS_BYTES("0123456789abcdef"));
    struct ts_finding_id id = ts_finding_id_of(&public_key, "jwt", TS_BYTES("secret"));
    assert_int_equal(strlen(id.text), TS_FINDING_ID_LEN);
    assert_string_equal(ts_finding_id_of(&public_key, "jwt", TS_BYTES("secret")).text, id.text);
    assert_string_not_equal(ts_finding_id_of(&own_key, "jwt", TS_BYTES("secret")).text, id.text);
    assert_string_not_equal(ts_finding_id_of(&public_key, "jwts", TS_BYTES("ecret")).text, id.text);
    assert_string_not_equal(ts_finding_id_of(&public_key, "jwt", TS_BYTES("secreT")).text, id.text);
    struct ts_finding_id lines = ts_finding_id_of(&public_key, "private-key", TS_BYTES("a\nb\n\nc\n"));
    assert_string_equal(ts_finding_id_of(&public_key, "private-key", TS_BYTES("a\r\nb\r\n\r\nc\r\n")).text,
                        lines.text);
    assert_string_not_equal(ts_finding_id_of(&public_key, "private-key", TS_BYTES("a\rb\n\nc\n")).text,
                            lines.text);
    assert_string_not_equal(ts_finding_id_of(&public_key, "jwt", TS_BYTES("secret\r")).text, id.text);
    /* Existing baselines contain ids, so this value must never change. */
    assert_string_equal(id.text, "a3063a20e78da3994cefa7b4b46545a3");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(an_empty_file_says_nothing, done),
        cmocka_unit_test_teardown(everything_that_is_said_is_there, done),
        cmocka_unit_test_teardown(each_condition_allows, done),
        cmocka_unit_test_teardown(all_conditions_of_an_entry_must_hold, done),
        cmocka_unit_test_teardown(a_finding_has_an_id_by_each_of_two_salts, done),
        cmocka_unit_test_teardown(entries_that_name_the_finding_count_as_used_after_the_deciding_one, done),
        cmocka_unit_test_teardown(a_pattern_that_takes_too_long_allows_nothing, done),
        cmocka_unit_test_teardown(mistakes_are_named, done),
        cmocka_unit_test_teardown(deep_nesting_is_refused_early, done),
        cmocka_unit_test_teardown(the_salt_is_in_no_message, done),
        cmocka_unit_test(finding_ids_follow_from_salt_rule_and_secret),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
