/* The table of rules that the build makes equals the result of reading the rule files. */
#include "builtin/builtin.h"

#include "support/cmocka.h"

#include <glob.h>
#include <unistd.h>

static void compare_texts(const struct ts_rule_texts *read, const struct ts_rule_texts *built) {
    assert_int_equal(read->count, built->count);
    for (size_t i = 0; i < read->count; i++)
        assert_string_equal(read->texts[i], built->texts[i]);
}

static void compare_bytes(struct ts_bytes read, struct ts_bytes built) {
    assert_int_equal(read.data == NULL, built.data == NULL);
    assert_true(ts_bytes_equal(read, built));
}

struct examples {
    const struct ts_rule_example *items;
    size_t count;
};

static void compare_examples(struct examples read, struct examples built) {
    assert_int_equal(read.count, built.count);
    for (size_t i = 0; i < read.count; i++) {
        compare_bytes(read.items[i].text, built.items[i].text);
        compare_bytes(read.items[i].secret, built.items[i].secret);
        assert_int_equal(read.items[i].line, built.items[i].line);
    }
}

static void compare_answers(const struct ts_rule_answer *read, const struct ts_rule_answer *built) {
    assert_int_equal(read->count, built->count);
    for (size_t i = 0; i < read->count; i++)
        assert_int_equal(read->statuses[i], built->statuses[i]);
    compare_texts(&read->texts, &built->texts);
}

static void compare_requests(const struct ts_rule_request *read, const struct ts_rule_request *built) {
    assert_int_equal(read == NULL, built == NULL);
    if (read == NULL || built == NULL)
        return;
    assert_string_equal(read->method, built->method);
    assert_string_equal(read->url, built->url);
    assert_string_equal(read->body, built->body);
    compare_texts(&read->headers, &built->headers);
    compare_answers(&read->live, &built->live);
    compare_answers(&read->revoked, &built->revoked);
}

static void compare_words(const struct ts_rule *read, const struct ts_rule *built) {
    assert_string_equal(read->id, built->id);
    assert_string_equal(read->name, built->name);
    assert_string_equal(read->description, built->description);
    assert_string_equal(read->revoke, built->revoke);
    assert_string_equal(read->url, built->url);
    assert_string_equal(read->pattern, built->pattern);
    assert_string_equal(read->written, built->written);
    assert_string_equal(read->file, built->file);
    compare_texts(&read->literals, &built->literals);
    compare_texts(&read->anchors, &built->anchors);
    compare_texts(&read->paths, &built->paths);
    compare_texts(&read->not_paths, &built->not_paths);
    compare_texts(&read->keywords, &built->keywords);
    compare_texts(&read->pair, &built->pair);
}

static void compare_rules(const struct ts_rule *read, const struct ts_rule *built) {
    compare_words(read, built);
    assert_int_equal(read->gate, built->gate);
    assert_int_equal(read->lead, built->lead);
    assert_int_equal(read->distance, built->distance);
    assert_memory_equal(&read->entropy, &built->entropy, sizeof read->entropy);
    assert_int_equal(read->validator_count, built->validator_count);
    for (size_t i = 0; i < read->validator_count; i++)
        assert_int_equal(read->validators[i], built->validators[i]);
    assert_int_equal(read->severity, built->severity);
    assert_int_equal(read->confidence, built->confidence);
    assert_int_equal(read->reach, built->reach);
    assert_int_equal(read->derived.reach, built->derived.reach);
    assert_int_equal(read->derived.gate, built->derived.gate);
    assert_int_equal(read->derived.lead, built->derived.lead);
    assert_int_equal(read->generic, built->generic);
    assert_int_equal(read->scored, built->scored);
    assert_int_equal(read->context, built->context);
    compare_examples((struct examples){read->matches, read->match_count},
                     (struct examples){built->matches, built->match_count});
    compare_examples((struct examples){read->non_matches, read->non_match_count},
                     (struct examples){built->non_matches, built->non_match_count});
    compare_requests(read->verify, built->verify);
    assert_int_equal(read->line, built->line);
    assert_int_equal(TS_RULE_OF_PROGRAM, built->origin);
}

static void test_the_table_is_what_the_rule_files_say(void **state) {
    (void)state;
    struct ts_ruleset read;
    struct ts_ruleset built;
    struct ts_detect_error error;
    glob_t files;
    ts_ruleset_init(&read);
    ts_ruleset_init(&built);
    assert_int_equal(chdir(TS_TREE), 0); /* rules name their files relative to the tree */
    assert_int_equal(glob("rules/*.yml", 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++)
        if (!ts_ruleset_add_file(&read, files.gl_pathv[i], &error))
            fail_msg("%s", error.text);
    globfree(&files);
    assert_true(ts_builtin_add(&built, &error));
    assert_int_equal(read.count, built.count);
    for (size_t i = 0; i < read.count; i++)
        compare_rules(&read.rules[i], &built.rules[i]);
    ts_ruleset_release(&built);
    ts_ruleset_release(&read);
}

static void test_a_builtin_rule_replaces_one_with_its_id(void **state) {
    (void)state;
    struct ts_ruleset set;
    struct ts_ruleset builtin;
    struct ts_detect_error error;
    char text[256];
    ts_ruleset_init(&set);
    ts_ruleset_init(&builtin);
    assert_true(ts_builtin_add(&builtin, &error));
    snprintf(text, sizeof text,
             "rules: [{id: %s, name: Mine, severity: low, pattern: 'mine_(?<secret>[0-9]{8})'}]",
             builtin.rules[1].id);
    assert_true(ts_ruleset_add(&set, "f.yml", ts_bytes_of_cstring(text), &error));
    assert_true(ts_builtin_add(&set, &error));
    assert_int_equal(set.count, builtin.count);
    assert_string_equal(set.rules[0].id, builtin.rules[1].id);
    assert_string_equal(set.rules[0].name, builtin.rules[1].name);
    assert_string_equal(set.rules[1].id, builtin.rules[0].id);
    ts_ruleset_release(&builtin);
    ts_ruleset_release(&set);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_table_is_what_the_rule_files_say),
        cmocka_unit_test(test_a_builtin_rule_replaces_one_with_its_id),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
