#define PCRE2_CODE_UNIT_WIDTH 8

#include "config.h"

#include "error.h"
#include "finding_id.h"
#include "glob.h"
#include "pragma.h"
#include "yaml_reader.h"

#include "base/redact.h"

#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

enum {
    TEXT_MAX = 4096,
    MATCH_LIMIT = 100000,
    MATCH_LIMIT_MIN = 100,
    STEPS_MAX = 500000,
    DEPTH_LIMIT = 5000,
    HEAP_LIMIT_KIB = 4096
};

static void release_patterns(struct ts_allow_patterns *patterns) {
    for (size_t i = 0; i < patterns->count; i++)
        pcre2_code_free(patterns->codes[i]);
    patterns->count = 0;
}

void ts_detect_config_release(struct ts_detect_config *config) {
    for (size_t i = 0; i < config->allow_count; i++) {
        release_patterns(&config->allows[i].secrets);
        release_patterns(&config->allows[i].lines);
    }
    if (config->memory) {
        ts_arena_release(config->memory);
        free(config->memory);
    }
    *config = (struct ts_detect_config){0};
}

static struct ts_rule_texts read_texts(struct detect_yaml *yaml, yaml_node_t *mapping, const char *field) {
    yaml_node_t *node = detect__yaml_get(yaml, mapping, field);
    struct ts_rule_texts texts = {0};
    size_t count = detect__yaml_count(yaml, node, field);
    if (count == 0) {
        if (node)
            detect__yaml_fail(yaml, detect__yaml_line(node), field, "is empty; remove it, or add an item");
        return texts;
    }
    const char **list = ts_arena_take(yaml->arena, count * sizeof *list);
    texts.texts = list;
    for (size_t i = 0; i < count && !yaml->failed; i++) {
        yaml_node_t *item = detect__yaml_item(yaml, node, i);
        struct ts_bytes text = {0};
        if (!detect__yaml_scalar(yaml, item, field, &text))
            break;
        if (text.len == 0 || text.len > TEXT_MAX || memchr(text.data, 0, text.len))
            detect__yaml_fail(yaml, detect__yaml_line(item), field, "each must be a text of 1 to %d bytes",
                              TEXT_MAX);
        char *copy = list ? ts_arena_copy(yaml->arena, text) : NULL;
        if (!copy)
            detect__yaml_fail(yaml, detect__yaml_line(item), field, "out of memory");
        else
            list[texts.count++] = copy;
    }
    return texts;
}

static struct ts_allow_patterns compile_patterns(struct detect_yaml *yaml, yaml_node_t *mapping,
                                                 const char *field) {
    struct ts_rule_texts texts = read_texts(yaml, mapping, field);
    struct ts_allow_patterns patterns = {0};
    if (yaml->failed || texts.count == 0)
        return patterns;
    unsigned line = detect__yaml_line(detect__yaml_get(yaml, mapping, field));
    patterns.codes = ts_arena_take(yaml->arena, texts.count * sizeof *patterns.codes);
    for (size_t i = 0; patterns.codes && i < texts.count; i++) {
        int number = 0;
        PCRE2_SIZE at = 0;
        void *code = pcre2_compile((PCRE2_SPTR)texts.texts[i], strlen(texts.texts[i]),
                                   PCRE2_NEVER_UTF | PCRE2_NEVER_BACKSLASH_C, &number, &at, NULL);
        if (!code) {
            PCRE2_UCHAR why[160] = "";
            (void)pcre2_get_error_message(number, why, sizeof why);
            detect__yaml_fail(yaml, line, field, "item %zu is not a regular expression: %s, at byte %zu",
                              i + 1, (const char *)why, (size_t)at);
            return patterns;
        }
        patterns.codes[patterns.count++] = code;
    }
    return patterns;
}

static void check_texts(struct detect_yaml *yaml, const struct ts_allow *allow) {
    for (size_t i = 0; i < allow->paths.count; i++) {
        const char *problem = ts_glob_problem(allow->paths.texts[i]);
        if (problem)
            detect__yaml_fail(yaml, allow->line, "paths", "item %zu %s", i + 1, problem);
    }
    for (size_t i = 0; i < allow->findings.count; i++) {
        const char *id = allow->findings.texts[i];
        if (strlen(id) != TS_FINDING_ID_LEN || strspn(id, "0123456789abcdef") != TS_FINDING_ID_LEN)
            detect__yaml_fail(yaml, allow->line, "findings",
                              "item %zu is not a finding id: %d hexadecimal digits", i + 1,
                              TS_FINDING_ID_LEN);
    }
}

static void read_allow(struct detect_yaml *yaml, yaml_node_t *node, struct ts_allow *allow) {
    static const char *const names[] = {"paths", "rules", "secrets", "lines", "findings", "reason"};
    if (!detect__yaml_mapping(yaml, node, "an allow entry", names, sizeof names / sizeof names[0]))
        return;
    allow->line = detect__yaml_line(node);
    allow->paths = read_texts(yaml, node, "paths");
    allow->rules = read_texts(yaml, node, "rules");
    allow->findings = read_texts(yaml, node, "findings");
    allow->secrets = compile_patterns(yaml, node, "secrets");
    allow->lines = compile_patterns(yaml, node, "lines");
    struct ts_bytes reason = {0};
    (void)detect__yaml_scalar(yaml, detect__yaml_get(yaml, node, "reason"), "reason", &reason);
    allow->reason = ts_arena_copy(yaml->arena, reason);
    check_texts(yaml, allow);
    if (allow->paths.count + allow->rules.count + allow->findings.count + allow->secrets.count +
            allow->lines.count ==
        0)
        detect__yaml_fail(
            yaml, allow->line, NULL,
            "an allow entry needs paths, rules, secrets, lines or findings; without one it would allow "
            "everything");
}

static void read_rules(struct detect_yaml *yaml, yaml_node_t *node, struct ts_detect_config *config) {
    static const char *const names[] = {"builtin", "files"};
    if (node && node->type == YAML_SEQUENCE_NODE) {
        detect__yaml_fail(
            yaml, detect__yaml_line(node), "rules",
            "is a list of rules; move it to a file of its own, and name that file under rules: files:");
        return;
    }
    if (!node || !detect__yaml_mapping(yaml, node, "rules", names, 2))
        return;
    struct ts_bytes text = {0};
    yaml_node_t *builtin = detect__yaml_get(yaml, node, "builtin");
    if (detect__yaml_scalar(yaml, builtin, "builtin", &text)) {
        config->without_builtin = ts_bytes_equal(text, TS_BYTES("false"));
        if (!config->without_builtin && !ts_bytes_equal(text, TS_BYTES("true")))
            detect__yaml_fail(yaml, detect__yaml_line(builtin), "builtin", "must be true or false");
    }
    config->rule_files = read_texts(yaml, node, "files");
    if (config->without_builtin && config->rule_files.count == 0)
        detect__yaml_fail(yaml, detect__yaml_line(node), "builtin",
                          "is false and there are no other rules; name some under files");
}

static void read_config(struct detect_yaml *yaml, yaml_node_t *root, struct ts_detect_config *config) {
    static const char *const names[] = {"salt", "rules", "allow"};
    if (!root || !detect__yaml_mapping(yaml, root, "the configuration", names, 3))
        return;
    yaml_node_t *salt = detect__yaml_get(yaml, root, "salt");
    struct ts_bytes text = {0};
    if (detect__yaml_scalar(yaml, salt, "salt", &text)) {
        if (text.len < TS_DETECT_CONFIG_SALT_MIN)
            detect__yaml_fail(yaml, detect__yaml_line(salt), "salt",
                              "must have %d bytes or more; 'openssl rand -hex 16' makes one",
                              TS_DETECT_CONFIG_SALT_MIN);
        const char *copy = ts_arena_copy(yaml->arena, text);
        config->salt = (struct ts_bytes){(const uint8_t *)copy, copy ? text.len : 0};
    }
    read_rules(yaml, detect__yaml_get(yaml, root, "rules"), config);
    yaml_node_t *list = detect__yaml_get(yaml, root, "allow");
    size_t count = detect__yaml_count(yaml, list, "allow");
    config->allows = count > 0 ? ts_arena_take(yaml->arena, count * sizeof *config->allows) : NULL;
    for (size_t i = 0; config->allows && i < count && !yaml->failed; i++) {
        config->allow_count = i + 1;
        read_allow(yaml, detect__yaml_item(yaml, list, i), &config->allows[i]);
    }
}

/* Returns the step limit of one pattern. All patterns together have a limit, so that the cost of a match does
 * not grow with the number of slow patterns. */
static uint32_t match_limit_of(const struct ts_detect_config *config) {
    size_t count = 1;
    for (size_t i = 0; i < config->allow_count; i++)
        count += config->allows[i].secrets.count + config->allows[i].lines.count;
    size_t each = STEPS_MAX / count;
    return each > MATCH_LIMIT ? MATCH_LIMIT : each < MATCH_LIMIT_MIN ? MATCH_LIMIT_MIN : (uint32_t)each;
}

bool ts_detect_config_parse(const char *file, struct ts_bytes text, struct ts_detect_config *ret_config,
                            struct ts_detect_error *ret_error) {
    struct ts_detect_config config = {.memory = calloc(1, sizeof(struct ts_arena))};
    struct detect_place place = {.file = file};
    if (!config.memory) {
        detect__error_set(ret_error, TS_DETECT_NO_MEMORY, place, "out of memory");
        return false;
    }
    config.file = ts_arena_copy(config.memory, ts_bytes_of_cstring(file));
    if (!config.file || text.len > TS_DETECT_CONFIG_SIZE_MAX) {
        detect__error_set(ret_error, TS_DETECT_BAD_FIELD, place, "larger than %zu bytes; shorten it",
                          TS_DETECT_CONFIG_SIZE_MAX);
        ts_detect_config_release(&config);
        return false;
    }
    struct detect_yaml yaml;
    yaml_node_t *root = NULL;
    if (detect__yaml_open(&yaml, file, text, config.memory, ret_error, &root))
        read_config(&yaml, root, &config);
    bool good = !yaml.failed;
    detect__yaml_release(&yaml);
    config.match_limit = match_limit_of(&config);
    if (good)
        *ret_config = config;
    else
        ts_detect_config_release(&config);
    return good;
}

static bool has_text(const struct ts_rule_texts *texts, const char *text) {
    for (size_t i = 0; i < texts->count; i++)
        if (strcmp(texts->texts[i], text) == 0)
            return true;
    return texts->count == 0;
}

static bool has_path(const struct ts_rule_texts *globs, const char *path) {
    for (size_t i = 0; i < globs->count; i++)
        if (ts_glob_matches(globs->texts[i], path))
            return true;
    return globs->count == 0;
}

/* Returns true if one of the patterns matches, or if the list has no patterns. A pattern that needs too many
 * steps does not match: a reported false positive is better than a missed secret. */
static bool has_pattern(const struct ts_allow_patterns *patterns, uint32_t match_limit,
                        struct ts_bytes text) {
    if (patterns->count == 0)
        return true;
    pcre2_match_context *context = pcre2_match_context_create(NULL);
    pcre2_match_data *data = pcre2_match_data_create(1, NULL);
    bool found = false;
    if (context && data) {
        (void)pcre2_set_match_limit(context, match_limit);
        (void)pcre2_set_depth_limit(context, DEPTH_LIMIT);
        (void)pcre2_set_heap_limit(context, HEAP_LIMIT_KIB);
        PCRE2_SPTR subject = text.data ? text.data : (PCRE2_SPTR) "";
        for (size_t i = 0; i < patterns->count && !found; i++)
            found = pcre2_match(patterns->codes[i], subject, text.len, 0, 0, data, context) >= 0;
    }
    pcre2_match_data_free(data);
    pcre2_match_context_free(context);
    return found;
}

bool ts_detect_config_allows_all(const struct ts_detect_config *config, const char *path) {
    for (size_t i = 0; i < config->allow_count; i++) {
        const struct ts_allow *allow = &config->allows[i];
        if (allow->rules.count + allow->findings.count + allow->secrets.count + allow->lines.count == 0 &&
            has_path(&allow->paths, path))
            return true;
    }
    return false;
}

bool ts_allow_has_path(const struct ts_allow *allow, const char *path) {
    return has_path(&allow->paths, path);
}

static bool has_finding(const struct ts_rule_texts *findings, const struct ts_allow_question *question) {
    return has_text(findings, question->finding) ||
           (question->project_finding && has_text(findings, question->project_finding));
}

/* Returns whether all conditions of the entry except its paths allow the match. Checks the patterns last,
 * because they are the slowest condition. */
static bool allows_but_for_path(const struct ts_detect_config *config, const struct ts_allow *allow,
                                const struct ts_allow_question *question) {
    return has_text(&allow->rules, question->rule) && has_finding(&allow->findings, question) &&
           has_pattern(&allow->secrets, config->match_limit, question->secret) &&
           has_pattern(&allow->lines, config->match_limit, question->lines);
}

size_t ts_detect_config_consider(const struct ts_detect_config *config,
                                 const struct ts_allow_question *question, uint32_t *ret_entries) {
    size_t count = 0;
    bool is_decided = false;
    for (size_t i = 0; i < config->allow_count; i++) {
        const struct ts_allow *allow = &config->allows[i];
        if ((is_decided && allow->findings.count == 0) || !allows_but_for_path(config, allow, question))
            continue;
        ret_entries[count++] = (uint32_t)i;
        is_decided = is_decided || allow->paths.count == 0;
    }
    return count;
}
