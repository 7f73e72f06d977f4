/*
 * turnstone rules import: translates rules of gitleaks and Nosey Parker to rules of turnstone.
 *
 * A rule is tried as it will be used: it is written as YAML, read back (which computes its reach and gate),
 * and checked. A repeat without a limit gets the largest limit that works. Rules that cannot be translated
 * are reported on standard error, one line each.
 */
#include "complain.h"
#include "import_examples.h"
#include "import_glob.h"
#include "import_pattern.h"
#include "import_tree.h"
#include "output.h"
#include "verbs.h"

#include "detect/rules_check.h"
#include "detect/ruleset.h"
#include "os/read.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILE_MAX ((size_t)64 << 20)

/* A rule of another tool. Its texts are borrowed from the parsed tree. A missing text is "". */
struct rule {
    char id[TS_RULE_ID_MAX + 1];
    const char *name;
    const char *description;
    const char *url;
    struct ts_bytes regex;
    uint32_t group;
    json_t *keywords; /* list of keywords; NULL if absent */
    double entropy;
    const json_t *paths; /* regular expressions: the rule reports only on these paths; or NULL */
    const json_t *not_paths;
    const json_t *examples;    /* texts with a secret; or NULL */
    const json_t *no_examples; /* texts without a secret; or NULL */
};

/* The parameters of one try to import a rule. */
struct attempt {
    uint32_t bound;
    uint32_t distance; /* distance of keywords; 0: without keywords */
};

struct import {
    const char *tool;
    size_t count;
    size_t translated;
    bool failed;   /* memory ran out */
    char why[400]; /* why a try failed: its first problem */
};

static struct ts_out out;

__attribute__((format(printf, 2, 3))) static void tell(const char *id, const char *format, ...) {
    char text[460];
    va_list values;
    va_start(values, format);
    (void)vsnprintf(text, sizeof text, format, values);
    va_end(values);
    (void)cli__complain(CLI_EXIT_DONE, "rules import: rule '%s': %s", id, text);
}

static const char *text_of(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    return json_is_string(value) ? json_string_value(value) : "";
}

/* ---- writing YAML ---- */

/* Writes a text in single quotes, on one line. */
static void put_quoted(FILE *to, const char *text) {
    (void)fputc('\'', to);
    for (; *text != '\0'; text++) {
        if (*text == '\'')
            (void)fputc('\'', to);
        (void)fputc((unsigned char)*text < ' ' ? ' ' : *text, to);
    }
    (void)fputs("'\n", to);
}

static void put_field(FILE *to, const char *name, const char *text) {
    if (text[0] == '\0')
        return;
    fprintf(to, "    %s: ", name);
    put_quoted(to, text);
}

static void put_keywords(FILE *to, const json_t *keywords, uint32_t distance) {
    size_t i;
    json_t *keyword;
    (void)fputs("    keywords:\n", to);
    json_array_foreach(keywords, i, keyword) {
        if (json_string_length(keyword) < 2)
            continue;
        (void)fputs("      - ", to);
        put_quoted(to, json_string_value(keyword));
    }
    fprintf(to, "    distance: %u\n", distance);
}

/* Writes path patterns for the expressions that cli__import_globs can convert; tell_paths reports the other
 * expressions. */
static void put_paths(FILE *to, const char *name, const json_t *paths) {
    size_t i;
    json_t *path;
    bool is_first = true;
    struct cli_import_globs *globs = malloc(sizeof *globs);
    json_array_foreach(paths, i, path) {
        if (globs == NULL || !json_is_string(path) || !cli__import_globs(json_string_value(path), globs))
            continue;
        if (is_first)
            fprintf(to, "    %s:\n", name);
        is_first = false;
        for (size_t k = 0; k < globs->count; k++) {
            (void)fputs("      - ", to);
            put_quoted(to, globs->texts[k]);
        }
    }
    free(globs);
}

/* Returns the text of a whole rule, which the caller frees. Returns NULL when memory runs out. */
static char *write_rule(const struct rule *rule, const struct attempt *attempt, const char *pattern,
                        size_t *ret_len) {
    char *text = NULL;
    FILE *to = open_memstream(&text, ret_len);
    if (to == NULL)
        return NULL;
    fprintf(to, "  - id: %s\n", rule->id);
    put_field(to, "name", rule->name);
    put_field(to, "description", rule->description);
    put_field(to, "url", rule->url);
    put_field(to, "pattern", pattern);
    if (attempt->distance > 0)
        put_keywords(to, rule->keywords, attempt->distance);
    put_paths(to, "paths", rule->paths);
    put_paths(to, "not-paths", rule->not_paths);
    if (rule->entropy > 0)
        fprintf(to, "    entropy: %.4g\n", rule->entropy);
    (void)fputs("    severity: high\n", to);
    if (strstr(rule->id, "generic") != NULL)
        (void)fputs("    generic: true\n", to);
    if (fclose(to) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

/* ---- trying a rule ---- */

/* Keeps the first problem of a rule. Ignores undecided checks and problems of examples, such as missing
 * examples. */
static void note_problem(void *context, const struct ts_detect_error *problem) {
    struct import *import = context;
    if (problem->kind == TS_DETECT_UNDECIDED || strcmp(problem->field, "examples") == 0 ||
        import->why[0] != '\0')
        return;
    const char *reason = strstr(problem->text, "': ");
    snprintf(import->why, sizeof import->why, "%s", reason != NULL ? reason + 3 : problem->text);
}

/* Returns whether the rule can be used. If not, import->why has the reason. */
static bool is_usable(struct import *import, const char *text, size_t len) {
    struct ts_ruleset one;
    struct ts_detect_error error;
    size_t size = len + sizeof "rules:\n";
    char *file = malloc(size);
    if (file == NULL) {
        import->failed = true;
        return false;
    }
    snprintf(file, size, "rules:\n%s", text);
    ts_ruleset_init(&one);
    import->why[0] = '\0';
    if (ts_ruleset_add(&one, "rule", ts_bytes_of(file, size - 1), &error))
        (void)ts_rules_check(&one, note_problem, import);
    else
        note_problem(import, &error);
    ts_ruleset_release(&one);
    free(file);
    return import->why[0] == '\0';
}

/* Tries to translate a rule. Returns the text of the usable rule, which the caller frees, or NULL. */
static char *try_once(struct import *import, const struct rule *rule, const struct attempt *attempt,
                      size_t *ret_len, struct cli_import_pattern *ret_pattern) {
    struct cli_import_request request = {
        .pattern = rule->regex, .group = rule->group, .bound = attempt->bound};
    if (!cli__import_pattern(&request, ret_pattern)) {
        import->failed = true;
        return NULL;
    }
    char *text = NULL;
    if (ret_pattern->wrong != NULL)
        snprintf(import->why, sizeof import->why, "pattern: %s", ret_pattern->wrong);
    else if ((text = write_rule(rule, attempt, ret_pattern->text, ret_len)) == NULL)
        import->failed = true;
    cli__import_pattern_release(ret_pattern);
    if (text != NULL && !is_usable(import, text, *ret_len)) {
        free(text);
        text = NULL;
    }
    return text;
}

/* Returns the text of the rule, in which repeats without a limit have the largest limit that works. Returns
 * NULL if no limit works. Tries all limits without keywords first, because other tools use keywords only to
 * skip files. */
static char *try_all(struct import *import, const struct rule *rule, struct attempt *ret_attempt,
                     size_t *ret_len, struct cli_import_pattern *ret_pattern) {
    static const uint32_t bounds[] = {4096, 1024, 256, 64, 16};
    static const uint32_t distances[] = {0, 256, 128, 40};
    char first[sizeof import->why] = "";
    for (size_t k = 0; k < sizeof distances / sizeof distances[0]; k++) {
        for (size_t i = 0; i < sizeof bounds / sizeof bounds[0] && !import->failed; i++) {
            *ret_attempt = (struct attempt){bounds[i], distances[k]};
            char *text = try_once(import, rule, ret_attempt, ret_len, ret_pattern);
            if (text != NULL)
                return text;
            if (first[0] == '\0')
                snprintf(first, sizeof first, "%s", import->why);
            if (ret_pattern->wrong != NULL || !ret_pattern->is_bounded)
                break;
        }
        if (json_array_size(rule->keywords) == 0 || ret_pattern->wrong != NULL)
            break;
    }
    snprintf(import->why, sizeof import->why, "%s", first);
    return NULL;
}

/* If the importer had to choose the group that is the secret, reports the choice, so that a person can check
 * it. */
static void tell_secret(const struct rule *rule, const struct cli_import_pattern *pattern) {
    if (pattern->groups == 0 || rule->group > 0)
        return;
    const char *plural = pattern->groups == 1 ? "" : "s";
    if (pattern->secret == CLI_IMPORT_MATCH)
        tell(rule->id, "has %u group%s, and the secret may be outside; the whole match is the secret",
             pattern->groups, plural);
    else if (pattern->secret == CLI_IMPORT_PART)
        tell(rule->id,
             "has %u group%s; the secret is the part of the match from the first to the last of them",
             pattern->groups, plural);
    else if (pattern->groups > 1)
        tell(rule->id, "has %u groups; group %u is the secret", pattern->groups, pattern->secret_group);
}

/* Searches the examples of the original rule with the translated rule, whose text is `text`. */
static struct cli_import_examples try_examples(const struct rule *rule, const char *text) {
    struct cli_import_examples examples = {.text = NULL};
    char *file = NULL;
    if (asprintf(&file, "rules:\n%s", text) >= 0) {
        examples = cli__import_examples(file, rule->examples, rule->no_examples);
        free(file);
    }
    return examples;
}

/* Appends a part to the text of a rule, if the rule with this part is usable. Returns the text. Takes
 * ownership of `text`. */
static char *append(struct import *import, char *text, const char *part, size_t *len) {
    char *with = NULL;
    int with_len = asprintf(&with, "%s%s", text, part);
    if (with_len < 0)
        return text;
    if (!is_usable(import, with, (size_t)with_len)) {
        free(with);
        return text;
    }
    free(text);
    *len = (size_t)with_len;
    return with;
}

/* Appends the validator password-hash if the rule finds none of its examples without this validator, but some
 * with it. A rule without this validator finds no hashes of passwords. Takes ownership of `text`. */
static char *add_validator(struct import *import, const struct rule *rule, char *text, size_t *len,
                           struct cli_import_examples *examples) {
    static const char validator[] = "    validators: [password-hash]\n";
    char *with = NULL;
    if (examples->not_found == 0 || examples->not_found < json_array_size(rule->examples) ||
        asprintf(&with, "%s%s", text, validator) < 0)
        return text;
    struct cli_import_examples better = try_examples(rule, with);
    free(with);
    if (better.not_found < examples->not_found) {
        struct cli_import_examples other = *examples;
        *examples = better;
        better = other;
        text = append(import, text, validator, len);
    }
    free(better.text);
    return text;
}

/* Appends the examples of the original rule, if they can be used, and the validator that they need. Returns
 * the text. Takes ownership of `text`. */
static char *add_examples(struct import *import, const struct rule *rule, char *text, size_t *len) {
    struct cli_import_examples examples = try_examples(rule, text);
    text = add_validator(import, rule, text, len, &examples);
    if (examples.not_found > 0)
        tell(rule->id, "the translated rule finds nothing in %zu of %zu examples, which are omitted",
             examples.not_found, json_array_size(rule->examples));
    if (examples.wrong > 0)
        tell(rule->id,
             "the translated rule finds a secret in %zu of %zu examples without one, which are omitted",
             examples.wrong, json_array_size(rule->no_examples));
    if (examples.text != NULL)
        text = append(import, text, examples.text, len);
    free(examples.text);
    return text;
}

static void translate(struct import *import, const struct rule *rule) {
    struct attempt attempt;
    struct cli_import_pattern pattern = {.wrong = NULL};
    size_t len = 0;
    char *text = try_all(import, rule, &attempt, &len, &pattern);
    if (text == NULL) {
        if (!import->failed)
            tell(rule->id, "not translated: %s", import->why);
        return;
    }
    if (import->translated++ == 0) {
        ts_out_put_cstring(&out, "# Rules of ");
        ts_out_put_cstring(&out, import->tool);
        ts_out_put_cstring(&out, ", translated by turnstone rules import.\nrules:\n");
    }
    text = add_examples(import, rule, text, &len);
    ts_out_put(&out, ts_bytes_of(text, len));
    free(text);
    if (pattern.is_bounded)
        tell(rule->id, "repeats without a limit now have the limit %u", attempt.bound);
    tell_secret(rule, &pattern);
    if (attempt.distance > 0)
        tell(rule->id,
             "a keyword must be within %u bytes before the secret; in the original it may be anywhere",
             attempt.distance);
}

/* ---- rules of other tools ---- */

/* Sets the id of the rule: lower-case letters, digits and '-'. Prints an error and returns false if `from` is
 * empty. */
static bool take_id(struct import *import, const char *from, struct rule *rule) {
    size_t len = 0;
    for (; *from != '\0' && len < TS_RULE_ID_MAX; from++) {
        int c = tolower((unsigned char)*from);
        rule->id[len++] = (char)(isalnum(c) && c < 0x80 ? c : '-');
    }
    rule->id[len] = '\0';
    if (len == 0)
        (void)cli__complain(CLI_EXIT_DONE, "rules import: rule %zu of the file has no id", import->count);
    return len > 0;
}

static double number_of(const json_t *value) {
    return json_is_string(value) ? strtod(json_string_value(value), NULL) : json_number_value(value);
}

static void tell_left_out(const json_t *object, const char *id, const char *key, const char *why) {
    if (json_object_get(object, key))
        tell(id, "%s: %s", key, why);
}

/* Reports the expressions that cannot be converted to path patterns. */
static void tell_paths(const char *id, const char *field, const json_t *paths) {
    size_t i;
    json_t *path;
    struct cli_import_globs *globs = malloc(sizeof *globs);
    json_array_foreach(paths, i, path) {
        const char *text = json_is_string(path) ? json_string_value(path) : "";
        if (globs == NULL || !cli__import_globs(text, globs))
            tell(id, "%s: '%s' cannot be written as a path pattern, and is omitted", field,
                 cli__quote_text(text).text);
    }
    free(globs);
}

/* Returns the paths of an allowlist that has only paths, or for which one condition is enough; otherwise
 * NULL. Reports the conditions that are not translated. */
static const json_t *take_allowlist(const json_t *list, const char *id) {
    static const char *const others[] = {"regexes", "stopwords", "commits"};
    bool has_others = false;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        has_others = has_others || json_array_size(json_object_get(list, others[i])) > 0;
        if (json_array_size(json_object_get(list, others[i])) > 0)
            tell(id, "allowlist %s: not translated; write them as 'allow' in .turnstone.yml", others[i]);
    }
    const json_t *paths = json_object_get(list, "paths");
    const char *condition = text_of(list, "condition");
    if (paths != NULL && has_others && (strcasecmp(condition, "AND") == 0 || strcmp(condition, "&&") == 0)) {
        tell(id, "allowlist paths: not translated, because they apply only together with omitted conditions");
        return NULL;
    }
    return paths;
}

/* Returns all paths of the rule's allowlists. The caller owns the array. */
static json_t *take_allowlists(const json_t *item, const char *id) {
    size_t i;
    json_t *list;
    json_t *all = json_array();
    const json_t *lists = json_object_get(item, "allowlists");
    json_t *one = json_object_get(item, "allowlist"); /* the form of older versions of gitleaks */
    const json_t *paths = one != NULL ? take_allowlist(one, id) : NULL;
    if (json_is_array(paths))
        (void)json_array_extend(all, json_object_get(one, "paths"));
    json_array_foreach(lists, i, list) {
        if (json_is_array(take_allowlist(list, id)))
            (void)json_array_extend(all, json_object_get(list, "paths"));
    }
    return all;
}

static void import_gitleaks(struct import *import, json_t *item) {
    struct rule rule = {.url = "",
                        .description = "",
                        .name = text_of(item, "description"),
                        .keywords = json_object_get(item, "keywords"),
                        .entropy = number_of(json_object_get(item, "entropy")),
                        .group = (uint32_t)number_of(json_object_get(item, "secretGroup"))};
    if (!take_id(import, text_of(item, "id"), &rule))
        return;
    rule.regex = ts_bytes_of_cstring(text_of(item, "regex"));
    if (rule.name[0] == '\0')
        rule.name = rule.id;
    if (rule.regex.len == 0) {
        tell(rule.id, "not translated: it has no regex, and finds files by their path alone");
        return;
    }
    json_t *not_paths = take_allowlists(item, rule.id);
    import->failed = import->failed || not_paths == NULL;
    json_t *paths = json_object_get(item, "path") != NULL ? json_pack("[s]", text_of(item, "path")) : NULL;
    rule.paths = paths;
    rule.not_paths = not_paths;
    tell_paths(rule.id, "path", paths);
    tell_paths(rule.id, "allowlist paths", not_paths);
    tell_left_out(item, rule.id, "required",
                  "depends on findings of other rules; this condition is not translated, so the rule also "
                  "reports without those findings");
    translate(import, &rule);
    json_decref(paths);
    json_decref(not_paths);
}

static void import_noseyparker(struct import *import, json_t *item) {
    const json_t *first = json_array_get(json_object_get(item, "references"), 0);
    struct rule rule = {.name = text_of(item, "name"),
                        .description = text_of(item, "description"),
                        .url = "",
                        .examples = json_object_get(item, "examples"),
                        .no_examples = json_object_get(item, "negative_examples")};
    if (!take_id(import, text_of(item, "id"), &rule))
        return;
    rule.regex = ts_bytes_of_cstring(text_of(item, "pattern"));
    if (rule.name[0] == '\0')
        rule.name = rule.id;
    if (json_is_string(first) && strncmp(json_string_value(first), "https://", 8) == 0 &&
        strpbrk(json_string_value(first), " \"'<>()[]{}\\^`|") == NULL)
        rule.url = json_string_value(first);
    if (rule.regex.len == 0) {
        tell(rule.id, "not translated: it has no pattern");
        return;
    }
    translate(import, &rule);
}

static enum cli_exit import_all(struct import *import, const char *path, const json_t *tree) {
    size_t i;
    json_t *item;
    size_t before = import->count;
    size_t translated = import->translated;
    const json_t *rules = json_object_get(tree, "rules");
    const json_t *first = json_array_get(rules, 0);
    bool is_gitleaks = json_object_get(first, "regex") || json_object_get(first, "path");
    if (!json_is_array(rules) || !json_is_object(first))
        return cli__complain(
            CLI_EXIT_USAGE,
            "rules import: %s: has no list of rules; rules of gitleaks (TOML) and Nosey Parker (YAML) can be imported",
            cli__quote_text(path).text);
    if (json_object_get(first, "severity"))
        return cli__complain(CLI_EXIT_USAGE,
                             "rules import: %s: already contains rules of turnstone; use it with --rules",
                             cli__quote_text(path).text);
    import->tool = is_gitleaks ? "gitleaks" : "Nosey Parker";
    json_array_foreach(rules, i, item) {
        import->count++;
        if (is_gitleaks)
            import_gitleaks(import, item);
        else
            import_noseyparker(import, item);
        if (import->failed)
            return cli__complain(CLI_EXIT_INFRASTRUCTURE, "out of memory");
    }
    if (json_object_get(tree, "allowlist") || json_object_get(tree, "allowlists"))
        (void)cli__complain(
            CLI_EXIT_DONE,
            "rules import: the global allowlist is not translated; write it as 'allow' in .turnstone.yml");
    if (json_object_get(tree, "extend"))
        (void)cli__complain(CLI_EXIT_DONE,
                            "rules import: the file extends rules of another file; import that file, too");
    before = import->count - before;
    translated = import->translated - translated;
    (void)cli__complain(CLI_EXIT_DONE, "rules import: %s: %zu of %zu rules translated",
                        cli__quote_text(path).text, translated, before);
    return translated == before ? CLI_EXIT_DONE : CLI_EXIT_FINDINGS;
}

static enum cli_exit import_file(struct import *import, const char *path) {
    struct cli_import_tree_error error;
    uint8_t *text = NULL;
    size_t len;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool is_read = fd >= 0 && ts_read_all(fd, FILE_MAX, &text, &len);
    int why = errno;
    if (fd >= 0)
        close(fd);
    if (!is_read)
        return cli__complain(CLI_EXIT_USAGE, "rules import: cannot read '%s': %s", cli__quote_text(path).text,
                             strerror(why));
    if (len > FILE_MAX) {
        free(text);
        return cli__complain(CLI_EXIT_USAGE, "rules import: '%s' has more than %zu bytes",
                             cli__quote_text(path).text, FILE_MAX);
    }
    json_t *tree = cli__import_tree(ts_bytes_of(text, len), &error);
    free(text);
    if (tree == NULL)
        return cli__complain(error.is_memory ? CLI_EXIT_INFRASTRUCTURE : CLI_EXIT_USAGE,
                             "rules import: %s: %s", cli__quote_text(path).text,
                             error.is_memory ? "out of memory" : error.text);
    enum cli_exit status = import_all(import, path, tree);
    json_decref(tree);
    return status;
}

static enum cli_exit run_import(const struct cli_arguments *arguments) {
    struct import import = {.tool = ""};
    enum cli_exit status = CLI_EXIT_DONE;
    if (arguments->operand_count == 0)
        return cli__complain(
            CLI_EXIT_USAGE, "rules import: no file given; name files with rules of gitleaks or Nosey Parker");
    ts_out_init(&out, STDOUT_FILENO);
    for (size_t i = 0; i < arguments->operand_count && status <= CLI_EXIT_FINDINGS; i++) {
        enum cli_exit one = import_file(&import, arguments->operands[i]);
        status = one != CLI_EXIT_DONE ? one : status;
    }
    return cli__finish_out(&out, status);
}

const struct cli_verb cli__verb_rules_import = {
    .name = "rules import",
    .summary = "translate rules of gitleaks or Nosey Parker",
    .operands = "FILE…",
    .description =
        "Reads rules of gitleaks (TOML) or Nosey Parker (YAML), and prints them as rules of turnstone, for "
        "--rules and for .turnstone.yml. An unbounded repeat gets the largest limit that works, up to 4096. "
        "Turnstone derives reach and gate from the pattern when it loads the rules. The severity is always "
        "high, because the other tools have none. Examples are kept if the translated rule agrees with them.\n\n"
        "Parts that cannot be translated are reported on "
        "standard error: look-around, back references, allowlists of texts, rules without a pattern.\n\n"
        "Exit "
        "status: 0 every rule was translated; 1 some were not; 2 a wrong file.",
    .run = run_import,
};
