#include "rule_reader.h"

#include "base64.h"
#include "compiled.h"
#include "derive.h"
#include "glob.h"
#include "pattern_names.h"
#include "request_reader.h"

#include "base/number.h"
#include "base/redact.h"

#include <stdlib.h>
#include <string.h>

enum { LITERAL_MIN = 3, TEXT_MAX = 256, ANCHOR_MAX = 1024, KEYWORD_MIN = 2, DISTANCE_DEFAULT = 40 };

yaml_node_t *detect__rules_list(struct detect_yaml *yaml, yaml_node_t *root, size_t *ret_count) {
    static const char *const names[] = {"rules"};
    *ret_count = 0;
    if (!root) {
        detect__yaml_fail(yaml, 1, NULL, "is empty; a rule file has a list under 'rules:'");
        return NULL;
    }
    if (!detect__yaml_mapping(yaml, root, "a rule file", names, 1))
        return NULL;
    yaml_node_t *list = detect__yaml_get(yaml, root, "rules");
    if (!list)
        detect__yaml_fail(yaml, detect__yaml_line(root), "rules",
                          "is missing; put the list of rules under it");
    *ret_count = detect__yaml_count(yaml, list, "rules");
    return list;
}

static const char *copy(struct detect_yaml *yaml, struct ts_bytes text) {
    char *made = ts_arena_copy(yaml->arena, text);
    if (!made)
        detect__yaml_fail(yaml, 0, NULL, "out of memory");
    return made;
}

const char *detect__read_text(struct detect_yaml *yaml, yaml_node_t *rule, const char *field, bool required) {
    yaml_node_t *node = detect__yaml_get(yaml, rule, field);
    struct ts_bytes text = {0};
    if (!node && required)
        detect__yaml_fail(yaml, detect__yaml_line(rule), field, "is missing; every rule has one");
    if (!detect__yaml_scalar(yaml, node, field, &text))
        return "";
    if (text.len == 0 && required)
        detect__yaml_fail(yaml, detect__yaml_line(node), field, "is empty; write one");
    if (text.len > 0 && memchr(text.data, 0, text.len))
        detect__yaml_fail(yaml, detect__yaml_line(node), field, "has a zero byte; remove it");
    const char *made = copy(yaml, text);
    return made ? made : "";
}

/* Returns a pattern or an anchor with its names replaced. */
static char *expand(struct detect_yaml *yaml, unsigned line, const char *field, const char *text) {
    struct ts_bytes unknown;
    char shown[40];
    char *expanded = detect__names_expand(text, yaml->arena, &unknown);
    if (!expanded && unknown.len > 0)
        detect__yaml_fail(yaml, line, field, "unknown name %s; there are {{start}}, {{escape}} and {{end}}",
                          ts_text_escape(unknown, shown, sizeof shown));
    else if (!expanded)
        detect__yaml_fail(yaml, line, field, "out of memory");
    return expanded;
}

/* Reads a link to a page. Reports show the link, so it must not contain markup. */
static const char *read_url(struct detect_yaml *yaml, yaml_node_t *rule) {
    static const char scheme[] = "https://";
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~:/?#@!$&*+,;=%";
    const char *url = detect__read_text(yaml, rule, "url", false);
    size_t len = strlen(url);
    if (len > 0 && (strncmp(url, scheme, sizeof scheme - 1) != 0 || len == sizeof scheme - 1 ||
                    strspn(url, plain) != len))
        detect__yaml_fail(yaml, detect__yaml_line(detect__yaml_get(yaml, rule, "url")), "url",
                          "must be a link that begins with https:// and has no blanks, quotes or brackets");
    return url;
}

static uint32_t read_number(struct detect_yaml *yaml, yaml_node_t *mapping, const char *field, uint32_t max,
                            uint32_t absent) {
    yaml_node_t *node = detect__yaml_get(yaml, mapping, field);
    struct ts_bytes text = {0};
    if (!detect__yaml_scalar(yaml, node, field, &text))
        return absent;
    uint32_t value = 0;
    if (ts_u32_parse(text, &value) != TS_NUMBER_OK || value > max)
        detect__yaml_fail(yaml, detect__yaml_line(node), field, "must be a number from 0 to %u", max);
    return value;
}

static double read_entropy(struct detect_yaml *yaml, yaml_node_t *rule) {
    yaml_node_t *node = detect__yaml_get(yaml, rule, "entropy");
    struct ts_bytes text = {0};
    if (!detect__yaml_scalar(yaml, node, "entropy", &text))
        return 0;
    char number[16] = "";
    char *end = number;
    double value = -1;
    if (text.len > 0 && text.len < sizeof number &&
        strspn((const char *)text.data, "0123456789.") >= text.len) {
        memcpy(number, text.data, text.len);
        number[text.len] = '\0';
        value = strtod(number, &end);
    }
    if (*end != '\0' || !(value >= 0 && value <= 8)) {
        detect__yaml_fail(yaml, detect__yaml_line(node), "entropy",
                          "must be bits per character from 0 to 8, such as 3.5");
        return 0;
    }
    return value;
}

struct ts_rule_texts detect__read_texts(struct detect_yaml *yaml, yaml_node_t *node, const char *field,
                                        struct detect_text_limits limits) {
    struct ts_rule_texts texts = {0};
    size_t count = detect__yaml_count(yaml, node, field);
    if (count == 0)
        return texts;
    const char **list = ts_arena_take(yaml->arena, count * sizeof *list);
    if (!list) {
        detect__yaml_fail(yaml, detect__yaml_line(node), field, "out of memory");
        return texts;
    }
    texts.texts = list;
    for (size_t i = 0; i < count; i++) {
        yaml_node_t *item = detect__yaml_item(yaml, node, i);
        struct ts_bytes text = {0};
        if (!detect__yaml_scalar(yaml, item, field, &text))
            continue;
        if (text.len < limits.min || text.len > limits.max)
            detect__yaml_fail(yaml, detect__yaml_line(item), field, "each must have %zu to %zu bytes",
                              limits.min, limits.max);
        if (text.len > 0 && memchr(text.data, 0, text.len))
            detect__yaml_fail(yaml, detect__yaml_line(item), field, "has a zero byte; remove it");
        char *made = ts_arena_copy(yaml->arena, text);
        if (made)
            list[texts.count++] = made;
        else
            detect__yaml_fail(yaml, detect__yaml_line(item), field, "out of memory");
    }
    return texts;
}

static void read_lead(struct detect_yaml *yaml, yaml_node_t *gate, struct ts_rule *rule) {
    rule->derived.lead = !detect__yaml_get(yaml, gate, "lead");
    rule->lead = read_number(yaml, gate, "lead", rule->reach > 0 ? rule->reach : TS_RULE_REACH_MAX, 0);
}

/* Reads {token: true, lead: N}. With `lead`, a match may begin further before the token characters than by
 * default. */
static void read_token_gate(struct detect_yaml *yaml, yaml_node_t *node, struct ts_rule *rule) {
    yaml_node_t *token = detect__yaml_get(yaml, node, "token");
    struct ts_bytes text = {0};
    if (detect__yaml_scalar(yaml, token, "gate token", &text) && !ts_bytes_equal(text, TS_BYTES("true")))
        detect__yaml_fail(yaml, detect__yaml_line(token), "gate token", "must be true, or left out");
    if (detect__yaml_get(yaml, node, "literals") || detect__yaml_get(yaml, node, "anchors"))
        detect__yaml_fail(yaml, detect__yaml_line(node), "gate",
                          "has both a token and texts; use only one of them");
    rule->gate = TS_GATE_TOKEN;
    read_lead(yaml, node, rule);
}

static struct ts_rule_texts expand_anchors(struct detect_yaml *yaml, unsigned line,
                                           struct ts_rule_texts given) {
    const char **list = given.count > 0 ? ts_arena_take(yaml->arena, given.count * sizeof *list) : NULL;
    struct ts_rule_texts anchors = {.texts = list};
    if (!list && given.count > 0)
        detect__yaml_fail(yaml, line, "gate anchors", "out of memory");
    for (size_t i = 0; list && i < given.count; i++) {
        char *expanded = expand(yaml, line, "gate anchors", given.texts[i]);
        if (expanded)
            list[anchors.count++] = expanded;
    }
    return anchors;
}

static void read_gate(struct detect_yaml *yaml, yaml_node_t *node, struct ts_rule *rule) {
    static const char *const names[] = {"literals", "anchors", "lead", "token"};
    static const struct detect_text_limits literal_limits = {LITERAL_MIN, TEXT_MAX};
    if (!node) {
        rule->derived.gate = true;
        rule->derived.lead = true;
        return;
    }
    switch (node->type) {
    case YAML_SCALAR_NODE: {
        struct ts_bytes text = {0};
        if (detect__yaml_scalar(yaml, node, "gate", &text) && !ts_bytes_equal(text, TS_BYTES("token")))
            detect__yaml_fail(yaml, detect__yaml_line(node), "gate",
                              "must be 'token', a list of literals, or a mapping of literals and anchors");
        rule->gate = TS_GATE_TOKEN;
        rule->derived.lead = true;
        return;
    }
    case YAML_SEQUENCE_NODE:
        rule->literals = detect__read_texts(yaml, node, "gate", literal_limits);
        rule->derived.lead = true;
        break;
    case YAML_MAPPING_NODE:
        if (!detect__yaml_mapping(yaml, node, "a gate", names, 4))
            return;
        if (detect__yaml_get(yaml, node, "token")) {
            read_token_gate(yaml, node, rule);
            return;
        }
        rule->literals = detect__read_texts(yaml, detect__yaml_get(yaml, node, "literals"), "gate literals",
                                            literal_limits);
        rule->anchors =
            expand_anchors(yaml, detect__yaml_line(node),
                           detect__read_texts(yaml, detect__yaml_get(yaml, node, "anchors"), "gate anchors",
                                              (struct detect_text_limits){1, ANCHOR_MAX}));
        read_lead(yaml, node, rule);
        break;
    case YAML_NO_NODE:
        break;
    }
    rule->gate = TS_GATE_TEXT;
    if (rule->literals.count + rule->anchors.count == 0)
        detect__yaml_fail(yaml, detect__yaml_line(node), "gate",
                          "is empty; name a literal that every match contains");
}

/* Reads patterns for paths. A name such as {{lock-files}} means several patterns. */
static struct ts_rule_texts read_paths(struct detect_yaml *yaml, yaml_node_t *rule, const char *field) {
    yaml_node_t *node = detect__yaml_get(yaml, rule, field);
    struct ts_rule_texts given =
        detect__read_texts(yaml, node, field, (struct detect_text_limits){1, TEXT_MAX});
    struct ts_rule_texts paths = {0};
    size_t count = 0;
    for (size_t i = 0; i < given.count; i++)
        count += detect__path_name(given.texts[i], NULL);
    if (given.count == 0)
        return paths;
    const char **list = ts_arena_take(yaml->arena, (count + given.count) * sizeof *list);
    if (!list) {
        detect__yaml_fail(yaml, detect__yaml_line(node), field, "out of memory");
        return paths;
    }
    paths.texts = list;
    for (size_t i = 0; i < given.count; i++) {
        const char *const *globs = NULL;
        size_t named = detect__path_name(given.texts[i], &globs);
        const char *problem = ts_glob_problem(given.texts[i]);
        for (size_t k = 0; k < named; k++) {
            char *made = ts_arena_copy(yaml->arena, ts_bytes_of_cstring(globs[k]));
            if (made)
                list[paths.count++] = made;
            else
                detect__yaml_fail(yaml, detect__yaml_line(node), field, "out of memory");
        }
        if (named == 0 && (problem || strstr(given.texts[i], "{{")))
            detect__yaml_fail(
                yaml, detect__yaml_line(node), field, "item %zu %s", i + 1,
                problem
                    ? problem
                    : "is not a known name; there are {{baselines}}, {{lock-files}} and {{translations}}");
        if (named == 0)
            list[paths.count++] = given.texts[i];
    }
    return paths;
}

static void read_validators(struct detect_yaml *yaml, yaml_node_t *node, struct ts_rule *rule) {
    size_t count = detect__yaml_count(yaml, node, "validators");
    if (count > TS_RULE_VALIDATORS_MAX) {
        detect__yaml_fail(yaml, detect__yaml_line(node), "validators", "at most %d", TS_RULE_VALIDATORS_MAX);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        yaml_node_t *item = detect__yaml_item(yaml, node, i);
        struct ts_bytes name = {0};
        char shown[40];
        if (detect__yaml_scalar(yaml, item, "validators", &name) &&
            !ts_validator_parse(name, &rule->validators[rule->validator_count++]))
            detect__yaml_fail(yaml, detect__yaml_line(item), "validators",
                              "unknown validator '%s'; docs/rules.md lists them",
                              ts_text_escape(name, shown, sizeof shown));
    }
}

/* Copies a text of an example without "~~". This mark keeps other tools from reporting a rule file as a
 * leak. */
static struct ts_bytes copy_example(struct detect_yaml *yaml, struct ts_bytes text) {
    char *made = ts_arena_take(yaml->arena, text.len + 1);
    if (!made) {
        detect__yaml_fail(yaml, 0, NULL, "out of memory");
        return (struct ts_bytes){0};
    }
    size_t len = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] == '~' && i + 1 < text.len && text.data[i + 1] == '~')
            i++;
        else
            made[len++] = (char)text.data[i];
    }
    return ts_bytes_of(made, len);
}

/* Reads a text of an example. If the text has the tag !!binary, decodes it to bytes. */
static bool read_example(struct detect_yaml *yaml, yaml_node_t *node, const char *field,
                         struct ts_bytes *ret) {
    struct ts_bytes text = {0};
    if (!detect__yaml_scalar(yaml, node, field, &text))
        return false;
    bool is_binary = node->tag && strcmp((const char *)node->tag, "tag:yaml.org,2002:binary") == 0;
    uint8_t *decoded = is_binary ? ts_arena_take(yaml->arena, text.len + 1) : NULL;
    if (is_binary && !decoded) {
        detect__yaml_fail(yaml, detect__yaml_line(node), field, "out of memory");
        return false;
    }
    *ret = is_binary ? ts_bytes_of(decoded, detect__base64_decode(text, decoded, text.len))
                     : copy_example(yaml, text);
    return true;
}

/* Reads the items under examples.<field>. A positive example also has its secret. */
static const struct ts_rule_example *read_examples(struct detect_yaml *yaml, yaml_node_t *node,
                                                   bool with_secret, size_t *ret_count) {
    static const char *const names[] = {"text", "secret"};
    const char *field = with_secret ? "examples match" : "examples no-match";
    size_t count = detect__yaml_count(yaml, node, field);
    *ret_count = 0;
    if (count == 0)
        return NULL;
    struct ts_rule_example *examples = ts_arena_take(yaml->arena, count * sizeof *examples);
    if (!examples) {
        detect__yaml_fail(yaml, detect__yaml_line(node), field, "out of memory");
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        yaml_node_t *item = detect__yaml_item(yaml, node, i);
        struct ts_bytes text = {0};
        struct ts_bytes secret = {0};
        if (with_secret && detect__yaml_mapping(yaml, item, "a matching example", names, 2)) {
            bool whole = read_example(yaml, detect__yaml_get(yaml, item, "text"), field, &text) &&
                         read_example(yaml, detect__yaml_get(yaml, item, "secret"), field, &secret);
            if (!whole)
                detect__yaml_fail(yaml, detect__yaml_line(item), field,
                                  "must have a text and the secret in it");
        } else if (!with_secret) {
            (void)read_example(yaml, item, field, &text);
        }
        examples[i] =
            (struct ts_rule_example){.text = text, .secret = secret, .line = detect__yaml_line(item)};
        *ret_count = i + 1;
    }
    return examples;
}

static void check_id(struct detect_yaml *yaml, const struct ts_rule *rule) {
    size_t len = strlen(rule->id);
    if (len > TS_RULE_ID_MAX || strspn(rule->id, "abcdefghijklmnopqrstuvwxyz0123456789-") != len)
        detect__yaml_fail(yaml, rule->line, "id", "must have 1 to %d characters, all of them a-z, 0-9 or '-'",
                          TS_RULE_ID_MAX);
}

/* Returns true only if the field exists and is true. */
static bool read_flag(struct detect_yaml *yaml, yaml_node_t *node, const char *field) {
    struct ts_bytes text;
    yaml_node_t *flag = detect__yaml_get(yaml, node, field);
    if (!detect__yaml_scalar(yaml, flag, field, &text))
        return false;
    bool is_true = ts_bytes_equal(text, TS_BYTES("true"));
    if (!is_true && !ts_bytes_equal(text, TS_BYTES("false")))
        detect__yaml_fail(yaml, detect__yaml_line(flag), field, "must be true or false");
    return is_true;
}

static void read_levels(struct detect_yaml *yaml, yaml_node_t *node, struct ts_rule *rule) {
    struct ts_bytes text = {0};
    yaml_node_t *severity = detect__yaml_get(yaml, node, "severity");
    if (!severity)
        detect__yaml_fail(yaml, rule->line, "severity", "is missing; write low, medium, high or critical");
    if (detect__yaml_scalar(yaml, severity, "severity", &text) && !ts_severity_parse(text, &rule->severity))
        detect__yaml_fail(yaml, detect__yaml_line(severity), "severity",
                          "must be low, medium, high or critical");
    yaml_node_t *confidence = detect__yaml_get(yaml, node, "confidence");
    rule->confidence = TS_CONFIDENCE_MEDIUM;
    if (detect__yaml_scalar(yaml, confidence, "confidence", &text) &&
        !ts_confidence_parse(text, &rule->confidence))
        detect__yaml_fail(yaml, detect__yaml_line(confidence), "confidence", "must be low, medium or high");
    rule->generic = read_flag(yaml, node, "generic");
    rule->scored = read_flag(yaml, node, "scored");
    rule->context = read_flag(yaml, node, "context");
    if (rule->context && rule->pair.count == 0)
        detect__yaml_fail(yaml, rule->line, "context",
                          "needs 'pair': name the rules of the secrets with which the matches are reported");
    if (rule->scored && confidence)
        detect__yaml_fail(yaml, detect__yaml_line(confidence), "confidence",
                          "the model decides the confidence of a rule with 'scored'; leave out 'confidence'");
}

/* Computes the fields that the file leaves out. If that fails, or the rule has other problems, also checks
 * the pattern, so that its author sees all problems at once. Otherwise the pattern is checked when the rule
 * is first used. */
static void derive(struct detect_yaml *yaml, yaml_node_t *node, struct ts_rule *rule, bool is_sound) {
    struct ts_detect_error error;
    const char *field = NULL;
    const char *problem = detect__rule_derive(rule, yaml->arena, &field);
    if ((is_sound && !problem) || rule->pattern[0] == '\0')
        return;
    /* If the reach cannot be computed, the pattern may be invalid, even in a rule without other problems. If
     * it is invalid, only that problem is reported. If the rule has other problems, such as wrong keywords,
     * they may have caused the problem of another field, which is then not reported. */
    bool has_no_reach = problem && strcmp(field, "reach") == 0;
    struct ts_rule at_pattern = {.file = rule->file, .id = rule->id, .pattern = rule->pattern};
    at_pattern.reach = UINT32_MAX;
    at_pattern.line = detect__yaml_line(detect__yaml_get(yaml, node, "pattern"));
    struct detect_code *code = has_no_reach ? NULL : detect__code_new(&at_pattern, &error);
    bool is_good = has_no_reach ? detect__rule_verify(&at_pattern, &error) : code != NULL;
    if (!is_good)
        detect__yaml_pass(yaml, &error);
    else if (has_no_reach || (problem && is_sound))
        detect__yaml_fail(yaml, at_pattern.line, field, "%s", problem);
    detect__code_free(code);
}

bool detect__rule_read(struct detect_yaml *yaml, yaml_node_t *node, struct ts_rule *ret_rule) {
    static const char *const names[] = {
        "id",       "name",      "description", "revoke",   "url",        "pattern", "gate",    "keywords",
        "distance", "entropy",   "validators",  "severity", "confidence", "reach",   "generic", "examples",
        "paths",    "not-paths", "verify",      "scored",   "pair",       "context"};
    static const char *const example_names[] = {"match", "no-match"};
    size_t problems_before = yaml->problems;
    yaml->rule = NULL;
    if (!detect__yaml_mapping(yaml, node, "a rule", names, sizeof names / sizeof names[0]))
        return false;
    struct ts_rule rule = {.file = yaml->file, .line = detect__yaml_line(node)};
    rule.id = detect__read_text(yaml, node, "id", true);
    check_id(yaml, &rule);
    yaml->rule = rule.id;
    rule.name = detect__read_text(yaml, node, "name", true);
    rule.description = detect__read_text(yaml, node, "description", false);
    rule.revoke = detect__read_text(yaml, node, "revoke", false);
    rule.url = read_url(yaml, node);
    rule.written = detect__read_text(yaml, node, "pattern", true);
    const char *pattern = expand(yaml, rule.line, "pattern", rule.written);
    rule.pattern = pattern ? pattern : "";
    rule.reach = read_number(yaml, node, "reach", TS_RULE_REACH_MAX, 0);
    rule.derived.reach = rule.reach == 0;
    read_gate(yaml, detect__yaml_get(yaml, node, "gate"), &rule);
    rule.keywords = detect__read_texts(yaml, detect__yaml_get(yaml, node, "keywords"), "keywords",
                                       (struct detect_text_limits){KEYWORD_MIN, TEXT_MAX});
    rule.distance = read_number(yaml, node, "distance", TS_RULE_DISTANCE_MAX,
                                rule.keywords.count > 0 ? DISTANCE_DEFAULT : 0);
    if (rule.gate == TS_GATE_TOKEN && rule.keywords.count == 0)
        detect__yaml_fail(yaml, rule.line, "keywords",
                          "are missing; a rule with the gate 'token' needs some");
    if (rule.distance > 0 && rule.keywords.count == 0)
        detect__yaml_fail(yaml, rule.line, "distance", "needs keywords, and there are none");
    rule.pair = detect__read_texts(yaml, detect__yaml_get(yaml, node, "pair"), "pair",
                                   (struct detect_text_limits){1, TS_RULE_ID_MAX});
    rule.paths = read_paths(yaml, node, "paths");
    rule.not_paths = read_paths(yaml, node, "not-paths");
    rule.entropy = read_entropy(yaml, node);
    read_validators(yaml, detect__yaml_get(yaml, node, "validators"), &rule);
    read_levels(yaml, node, &rule);
    rule.verify = detect__request_read(yaml, detect__yaml_get(yaml, node, "verify"));
    derive(yaml, node, &rule, yaml->problems == problems_before);
    yaml_node_t *examples = detect__yaml_get(yaml, node, "examples");
    if (examples && detect__yaml_mapping(yaml, examples, "examples", example_names, 2)) {
        rule.matches =
            read_examples(yaml, detect__yaml_get(yaml, examples, "match"), true, &rule.match_count);
        rule.non_matches =
            read_examples(yaml, detect__yaml_get(yaml, examples, "no-match"), false, &rule.non_match_count);
    }
    yaml->rule = NULL;
    if (yaml->problems > problems_before)
        return false;
    *ret_rule = rule;
    return true;
}
