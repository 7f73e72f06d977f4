/*
 * builtin_table OUTPUT FILE...: reads rule files, and writes their rules as a C file.
 *
 * The table contains everything that reading a rule derives from its pattern. The texts of all rules are in
 * one array, all examples in a second and all requests in a third. Each rule points into these arrays:
 *
 *     static const char *const texts[];
 *     static const struct ts_rule_example examples[];
 *     static const struct ts_rule_request requests[];
 *     const struct ts_rule builtin__rules[];
 *
 * Each array ends with an unused element, because C has no empty arrays. tests/unit/builtin compares every
 * field of the table with the rule files.
 */
#include "detect/ruleset.h"

#include <stdio.h>
#include <stdlib.h>

/* A new field must be written here, and compared in tests/unit/builtin. */
_Static_assert(sizeof(void *) != 8 || sizeof(struct ts_rule) == 288, "the fields of a rule have changed");
_Static_assert(sizeof(void *) != 8 || sizeof(struct ts_rule_request) == 120,
               "the fields of a request have changed");

/* The output, and the numbers of elements of all earlier rules. These numbers are the offsets of a rule's own
 * elements. */
struct table {
    FILE *out;
    size_t text_count;
    size_t example_count;
    size_t request_count;
};

/* Writes a string literal. Its escapes have three octal digits, so that a following digit is not read as part
 * of the escape. */
static void put_literal(FILE *out, struct ts_bytes text) {
    fputc('"', out);
    for (size_t i = 0; i < text.len; i++) {
        uint8_t byte = text.data[i];
        bool is_plain = byte >= ' ' && byte <= '~' && byte != '"' && byte != '\\' && byte != '?';
        fprintf(out, is_plain ? "%c" : "\\%03o", byte);
    }
    fputc('"', out);
}

static void put_field(FILE *out, const char *name, const char *text) {
    fprintf(out, "        .%s = ", name);
    put_literal(out, ts_bytes_of_cstring(text));
    fputs(",\n", out);
}

/* ---- the arrays ---- */

static void put_texts(FILE *out, const struct ts_rule_texts *texts) {
    for (size_t i = 0; i < texts->count; i++) {
        fputs("    ", out);
        put_literal(out, ts_bytes_of_cstring(texts->texts[i]));
        fputs(",\n", out);
    }
}

static void put_texts_of(FILE *out, const struct ts_rule *rule) {
    put_texts(out, &rule->literals);
    put_texts(out, &rule->anchors);
    put_texts(out, &rule->paths);
    put_texts(out, &rule->not_paths);
    put_texts(out, &rule->keywords);
    put_texts(out, &rule->pair);
    if (rule->verify == NULL)
        return;
    put_texts(out, &rule->verify->headers);
    put_texts(out, &rule->verify->live.texts);
    put_texts(out, &rule->verify->revoked.texts);
}

static void put_bytes(FILE *out, struct ts_bytes bytes) {
    if (bytes.data == NULL) {
        fputs("{0}", out);
        return;
    }
    fputs("{(const uint8_t *)", out);
    put_literal(out, bytes);
    fprintf(out, ", %zu}", bytes.len);
}

static void put_examples(FILE *out, const struct ts_rule_example *examples, size_t count) {
    for (size_t i = 0; i < count; i++) {
        fputs("    {", out);
        put_bytes(out, examples[i].text);
        fputs(", ", out);
        put_bytes(out, examples[i].secret);
        fprintf(out, ", %u},\n", examples[i].line);
    }
}

/* Writes a field that refers to its texts in the array `texts`. */
static void refer_to_texts(struct table *table, const char *name, const struct ts_rule_texts *texts) {
    if (texts->count > 0)
        fprintf(table->out, "        .%s = {texts + %zu, %zu},\n", name, table->text_count, texts->count);
    table->text_count += texts->count;
}

static void put_answer(struct table *table, const char *name, const struct ts_rule_answer *answer) {
    char texts[32];
    for (size_t i = 0; i < answer->count; i++)
        fprintf(table->out, "        .%s.statuses[%zu] = %u,\n", name, i, (unsigned)answer->statuses[i]);
    fprintf(table->out, "        .%s.count = %zu,\n", name, answer->count);
    snprintf(texts, sizeof texts, "%s.texts", name);
    refer_to_texts(table, texts, &answer->texts);
}

/* Writes the request of a rule, if it has one. Counts the texts of every rule in the order of
 * put_texts_of. */
static void put_request(struct table *table, const struct ts_rule *rule) {
    table->text_count += rule->literals.count + rule->anchors.count + rule->paths.count +
                         rule->not_paths.count + rule->keywords.count + rule->pair.count;
    if (rule->verify == NULL)
        return;
    fputs("    {\n", table->out);
    put_field(table->out, "method", rule->verify->method);
    put_field(table->out, "url", rule->verify->url);
    put_field(table->out, "body", rule->verify->body);
    refer_to_texts(table, "headers", &rule->verify->headers);
    put_answer(table, "live", &rule->verify->live);
    put_answer(table, "revoked", &rule->verify->revoked);
    fputs("    },\n", table->out);
}

/* ---- rules ---- */

static void refer_to_examples(struct table *table, const char *name, size_t count) {
    if (count > 0)
        fprintf(table->out, "        .%s = examples + %zu,\n", name, table->example_count);
    table->example_count += count;
}

static void put_numbers(FILE *out, const struct ts_rule *rule) {
    fprintf(out, "        .gate = (enum ts_gate)%d,\n        .lead = %u,\n        .distance = %u,\n",
            (int)rule->gate, rule->lead, rule->distance);
    fprintf(out, "        .entropy = %a,\n        .validator_count = %zu,\n", rule->entropy,
            rule->validator_count);
    for (size_t i = 0; i < rule->validator_count; i++)
        fprintf(out, "        .validators[%zu] = (enum ts_validator)%d,\n", i, (int)rule->validators[i]);
    fprintf(out, "        .severity = (enum ts_severity)%d,\n        .confidence = (enum ts_confidence)%d,\n",
            (int)rule->severity, (int)rule->confidence);
    fprintf(out, "        .reach = %u,\n        .derived = {%d, %d, %d},\n        .generic = %d,\n",
            rule->reach, rule->derived.reach, rule->derived.gate, rule->derived.lead, rule->generic);
    fprintf(out, "        .scored = %d,\n        .context = %d,\n        .match_count = %zu,\n", rule->scored,
            rule->context, rule->match_count);
    fprintf(out, "        .non_match_count = %zu,\n", rule->non_match_count);
    fprintf(out, "        .line = %u,\n        .origin = TS_RULE_OF_PROGRAM,\n", rule->line);
}

static void put_rule(struct table *table, const struct ts_rule *rule) {
    fputs("    {\n", table->out);
    put_field(table->out, "id", rule->id);
    put_field(table->out, "name", rule->name);
    put_field(table->out, "description", rule->description);
    put_field(table->out, "revoke", rule->revoke);
    put_field(table->out, "url", rule->url);
    put_field(table->out, "pattern", rule->pattern);
    put_field(table->out, "written", rule->written);
    put_field(table->out, "file", rule->file);
    put_numbers(table->out, rule);
    refer_to_texts(table, "literals", &rule->literals);
    refer_to_texts(table, "anchors", &rule->anchors);
    refer_to_texts(table, "paths", &rule->paths);
    refer_to_texts(table, "not_paths", &rule->not_paths);
    refer_to_texts(table, "keywords", &rule->keywords);
    refer_to_texts(table, "pair", &rule->pair);
    refer_to_examples(table, "matches", rule->match_count);
    refer_to_examples(table, "non_matches", rule->non_match_count);
    if (rule->verify != NULL) {
        fprintf(table->out, "        .verify = requests + %zu,\n", table->request_count++);
        table->text_count +=
            rule->verify->headers.count + rule->verify->live.texts.count + rule->verify->revoked.texts.count;
    }
    fputs("    },\n", table->out);
}

static void put_table(FILE *out, const struct ts_ruleset *set) {
    struct table requests = {.out = out};
    struct table rules = {.out = out};
    fputs("#include \"table.h\"\n\nstatic const char *const texts[] = {\n", out);
    for (size_t i = 0; i < set->count; i++)
        put_texts_of(out, &set->rules[i]);
    fputs("    0};\n\nstatic const struct ts_rule_example examples[] = {\n", out);
    for (size_t i = 0; i < set->count; i++) {
        put_examples(out, set->rules[i].matches, set->rules[i].match_count);
        put_examples(out, set->rules[i].non_matches, set->rules[i].non_match_count);
    }
    fputs("    {.line = 0}};\n\nstatic const struct ts_rule_request requests[] = {\n", out);
    for (size_t i = 0; i < set->count; i++)
        put_request(&requests, &set->rules[i]);
    fputs("    {.body = 0}};\n\nconst struct ts_rule builtin__rules[] = {\n", out);
    for (size_t i = 0; i < set->count; i++)
        put_rule(&rules, &set->rules[i]);
    fprintf(out, "    {.line = 0}};\nconst size_t builtin__rule_count = %zu;\n", set->count);
}

int main(int argc, char **argv) {
    struct ts_ruleset set;
    struct ts_detect_error error;
    bool is_read = argc >= 2;
    ts_ruleset_init(&set);
    for (int i = 2; i < argc && is_read; i++) {
        is_read = ts_ruleset_add_file(&set, argv[i], &error);
        if (!is_read)
            fprintf(stderr, "%s\n", error.text);
    }
    FILE *out = is_read ? fopen(argv[1], "we") : NULL;
    bool is_written = out != NULL;
    if (is_written) {
        put_table(out, &set);
        is_written = ferror(out) == 0;
        is_written = fclose(out) == 0 && is_written;
    }
    if (is_read && !is_written)
        fprintf(stderr, "%s: cannot be written\n", argv[1]);
    ts_ruleset_release(&set);
    return is_written ? EXIT_SUCCESS : EXIT_FAILURE;
}
