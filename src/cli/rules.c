/*
 * turnstone rules list, check and explain: prints the detection rules, and checks rule files.
 */
#include "complain.h"
#include "nearest.h"
#include "output.h"
#include "rules_score.h"
#include "scan_options.h"
#include "verbs.h"

#include "builtin/builtin.h"
#include "detect/rules_check.h"
#include "detect/ruleset.h"
#include "os/out.h"
#include "os/out_json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LIST_RULES, LIST_NO_BUILTIN_RULES, LIST_JSON };
enum { CHECK_JSON };
enum { EXPLAIN_RULES, EXPLAIN_VALUE, EXPLAIN_FILE, EXPLAIN_PATH, EXPLAIN_JSON };

static struct ts_out out;

static void put_number(const char *name, uint64_t value) {
    ts_out_put_cstring(&out, name);
    ts_out_put_u64(&out, value);
}

/* Loads the built-in rules (if with_builtin is true), and the rules of every --rules. */
static enum cli_exit load(const struct cli_arguments *arguments, size_t rules_option, bool with_builtin,
                          struct ts_ruleset *rules) {
    struct ts_detect_error error;
    bool good = !with_builtin || ts_builtin_add(rules, &error);
    for (size_t i = 0; good && i < arguments->given_count; i++)
        if (arguments->given[i].option == rules_option)
            good = ts_ruleset_add_file(rules, arguments->given[i].value, &error);
    return good ? CLI_EXIT_DONE : cli__complain(CLI_EXIT_USAGE, "rules: %s", error.text);
}

static const char *gate_name(const struct ts_rule *rule) {
    return rule->gate == TS_GATE_TOKEN ? "token" : rule->literals.count > 0 ? "literal" : "anchor";
}

static void put_json_field(const char *name, const char *text) {
    ts_out_put_json_name(&out, 1, name);
    ts_out_put_json(&out, ts_bytes_of_cstring(text));
}

static void put_json_texts(const char *name, const struct ts_rule_texts *texts) {
    ts_out_put_json_name(&out, 1, name);
    ts_out_put_char(&out, '[');
    for (size_t i = 0; i < texts->count; i++) {
        ts_out_put_cstring(&out, ts_json_separator(i, ","));
        ts_out_put_json(&out, ts_bytes_of_cstring(texts->texts[i]));
    }
    ts_out_put_char(&out, ']');
}

/* Writes the examples as in a rule file: matching texts with their secret, then texts that must not match. */
static void put_json_examples(const struct ts_rule *rule) {
    ts_out_put_cstring(&out, ",\"examples\":{\"match\":[");
    for (size_t i = 0; i < rule->match_count; i++) {
        ts_out_put_cstring(&out, ts_json_separator(i, ","));
        ts_out_put_cstring(&out, "{\"text\":");
        ts_out_put_json(&out, rule->matches[i].text);
        ts_out_put_cstring(&out, ",\"secret\":");
        ts_out_put_json(&out, rule->matches[i].secret);
        ts_out_put_char(&out, '}');
    }
    ts_out_put_cstring(&out, "],\"no-match\":[");
    for (size_t i = 0; i < rule->non_match_count; i++) {
        ts_out_put_cstring(&out, ts_json_separator(i, ","));
        ts_out_put_json(&out, rule->non_matches[i].text);
    }
    ts_out_put_cstring(&out, "]}");
}

/* Writes the names of the fields that the rule file omits and that were derived from the rule's pattern. */
static void put_json_derived(const struct ts_rule *rule) {
    const char *names[3];
    struct ts_rule_texts derived = {.texts = names};
    if (rule->derived.reach)
        names[derived.count++] = "reach";
    if (rule->derived.gate)
        names[derived.count++] = "gate";
    if (rule->derived.lead)
        names[derived.count++] = "lead";
    put_json_texts("derived", &derived);
}

static void put_json_answer(const char *name, const struct ts_rule_answer *answer) {
    ts_out_put_json_name(&out, 1, name);
    ts_out_put_cstring(&out, "{\"statuses\":[");
    for (size_t i = 0; i < answer->count; i++)
        put_number(ts_json_separator(i, ","), answer->statuses[i]);
    ts_out_put_char(&out, ']');
    put_json_texts("texts", &answer->texts);
    ts_out_put_char(&out, '}');
}

/* Writes the request that turnstone verify sends for the rule, or null. */
static void put_json_verify(const struct ts_rule_request *request) {
    ts_out_put_cstring(&out, ",\"verify\":");
    if (!request) {
        ts_out_put_cstring(&out, "null");
        return;
    }
    ts_out_put_cstring(&out, "{\"method\":");
    ts_out_put_json(&out, ts_bytes_of_cstring(request->method));
    put_json_field("url", request->url);
    put_json_texts("headers", &request->headers);
    put_json_field("body", request->body);
    put_json_answer("live", &request->live);
    put_json_answer("revoked", &request->revoked);
    ts_out_put_char(&out, '}');
}

static void put_json_rule(const struct ts_rule *rule) {
    ts_out_put_cstring(&out, "{\"id\":");
    ts_out_put_json(&out, ts_bytes_of_cstring(rule->id));
    put_json_field("name", rule->name);
    put_json_field("description", rule->description);
    put_json_field("revoke", rule->revoke);
    put_json_field("url", rule->url);
    put_json_field("severity", ts_severity_name(rule->severity));
    put_json_field("confidence", ts_confidence_name(rule->confidence));
    put_json_field("pattern", rule->pattern);
    put_json_field("gate", gate_name(rule));
    put_json_texts("literals", &rule->literals);
    put_json_texts("anchors", &rule->anchors);
    put_number(",\"lead\":", rule->lead);
    put_json_texts("keywords", &rule->keywords);
    put_json_texts("paths", &rule->paths);
    put_json_texts("not-paths", &rule->not_paths);
    put_json_texts("pair", &rule->pair);
    put_number(",\"distance\":", rule->distance);
    char entropy[48];
    snprintf(entropy, sizeof entropy, ",\"entropy\":%.15g", rule->entropy);
    ts_out_put_cstring(&out, entropy);
    ts_out_put_cstring(&out, ",\"validators\":[");
    for (size_t i = 0; i < rule->validator_count; i++) {
        ts_out_put_cstring(&out, ts_json_separator(i, ","));
        ts_out_put_json(&out, ts_bytes_of_cstring(ts_validator_name(rule->validators[i])));
    }
    put_number("],\"reach\":", rule->reach);
    ts_out_put_cstring(&out, rule->generic ? ",\"generic\":true" : ",\"generic\":false");
    ts_out_put_cstring(&out, rule->scored ? ",\"scored\":true" : ",\"scored\":false");
    ts_out_put_cstring(&out, rule->context ? ",\"context\":true" : ",\"context\":false");
    put_json_derived(rule);
    put_json_verify(rule->verify);
    put_json_examples(rule);
    put_json_field("file", rule->file);
    put_number(",\"line\":", rule->line);
    ts_out_put_cstring(&out, "}\n");
}

static enum cli_exit run_list(const struct cli_arguments *arguments) {
    if (arguments->operand_count > 0)
        return cli__complain(CLI_EXIT_USAGE, "rules list: unexpected operand '%s'; --rules FILE adds rules",
                             cli__quote_text(arguments->operands[0]).text);
    struct ts_ruleset rules;
    ts_ruleset_init(&rules);
    bool with_builtin = !arguments->values[LIST_NO_BUILTIN_RULES];
    enum cli_exit status = CLI_EXIT_DONE;
    if (!with_builtin && !arguments->values[LIST_RULES])
        status = cli__complain(CLI_EXIT_USAGE,
                               "rules list: no rules are left with --no-builtin-rules; add some with "
                               "--rules FILE");
    if (status == CLI_EXIT_DONE)
        status = load(arguments, LIST_RULES, with_builtin, &rules);
    if (status == CLI_EXIT_DONE) {
        ts_out_init(&out, STDOUT_FILENO);
        size_t width = 0;
        for (size_t i = 0; i < rules.count; i++)
            width = strlen(rules.rules[i].id) > width ? strlen(rules.rules[i].id) : width;
        for (size_t i = 0; i < rules.count; i++) {
            const struct ts_rule *rule = &rules.rules[i];
            if (arguments->values[LIST_JSON]) {
                put_json_rule(rule);
                continue;
            }
            cli__put_padded(&out, rule->id, width);
            cli__put_padded(&out, ts_severity_name(rule->severity), 8);
            cli__put_escaped(&out, ts_bytes_of_cstring(rule->name));
            ts_out_put_char(&out, '\n');
        }
        status = cli__finish_out(&out, CLI_EXIT_DONE);
    }
    ts_ruleset_release(&rules);
    return status;
}

struct told {
    bool json;
    size_t problems;
    size_t warnings;
};

static void put_problem(void *context, const struct ts_detect_error *problem) {
    struct told *told = context;
    bool is_warning = problem->kind == TS_DETECT_UNDECIDED;
    told->warnings += is_warning;
    told->problems += !is_warning;
    if (told->json) {
        ts_out_put_cstring(&out, "{\"rule\":");
        ts_out_put_json(&out, ts_bytes_of_cstring(problem->rule));
        put_json_field("level", is_warning ? "warning" : "problem");
        put_json_field("field", problem->field);
        put_number(",\"line\":", problem->line);
        put_json_field("text", problem->text);
        ts_out_put_char(&out, '}');
    } else {
        ts_out_put_cstring(&out, problem->text);
    }
    ts_out_put_char(&out, '\n');
}

static void put_verdict(const char *name, size_t rules, const struct told *told) {
    cli__put_escaped(&out, ts_bytes_of_cstring(name));
    put_number(": ", rules);
    ts_out_put_cstring(&out, rules == 1 ? " rule, " : " rules, ");
    ts_out_put_u64(&out, told->problems);
    ts_out_put_cstring(&out, told->problems == 1 ? " problem" : " problems");
    if (told->warnings > 0) {
        put_number(", ", told->warnings);
        ts_out_put_cstring(&out, told->warnings == 1 ? " warning" : " warnings");
    }
    ts_out_put_char(&out, '\n');
}

/* Checks one file, or the built-in rules if `path` is NULL. Adds the number of its problems to *problems. */
static enum cli_exit check_file(const char *path, bool json, size_t *problems) {
    struct ts_ruleset rules;
    struct ts_detect_error error;
    struct told told = {.json = json};
    ts_ruleset_init(&rules);
    rules.visit = put_problem;
    rules.context = &told;
    enum cli_exit status = CLI_EXIT_DONE;
    bool loaded = path ? ts_ruleset_add_file(&rules, path, &error) : ts_builtin_add(&rules, &error);
    if (!loaded && told.problems == 0) {
        (void)ts_out_flush(&out);
        status = cli__complain(CLI_EXIT_USAGE, "rules check: %s", error.text);
    } else {
        (void)ts_rules_check(&rules, put_problem, &told);
        *problems += told.problems;
        if (!json)
            put_verdict(path ? path : "built-in rules", rules.count, &told);
    }
    ts_ruleset_release(&rules);
    return status;
}

static enum cli_exit run_check(const struct cli_arguments *arguments) {
    bool json = arguments->values[CHECK_JSON] != NULL;
    size_t problems = 0;
    ts_out_init(&out, STDOUT_FILENO);
    enum cli_exit status = CLI_EXIT_DONE;
    if (arguments->operand_count == 0)
        status = check_file(NULL, json, &problems);
    for (size_t i = 0; i < arguments->operand_count && status == CLI_EXIT_DONE; i++)
        status = check_file(arguments->operands[i], json, &problems);
    if (status == CLI_EXIT_DONE && problems > 0)
        status = CLI_EXIT_FINDINGS;
    return cli__finish_out(&out, status);
}

static void put_bytes(const char *label, struct ts_bytes text) {
    cli__put_padded(&out, label, 12);
    cli__put_escaped(&out, text);
    ts_out_put_char(&out, '\n');
}

static void put_line(const char *label, const char *text) {
    put_bytes(label, ts_bytes_of_cstring(text));
}

/* Prints a pattern with its backslashes as in the file. Escaping would double the many backslashes of
 * patterns. */
static void put_pattern(const char *label, const char *pattern) {
    cli__put_padded(&out, label, 12);
    const char *rest = pattern;
    for (const char *slash = strchr(rest, '\\'); slash; slash = strchr(rest, '\\')) {
        cli__put_escaped(&out, ts_bytes_of(rest, (size_t)(slash - rest)));
        ts_out_put_char(&out, '\\');
        rest = slash + 1;
    }
    cli__put_escaped(&out, ts_bytes_of_cstring(rest));
    ts_out_put_char(&out, '\n');
}

static void put_texts(const char *label, const struct ts_rule_texts *texts) {
    if (texts->count == 0)
        return;
    cli__put_padded(&out, label, 12);
    for (size_t i = 0; i < texts->count; i++) {
        if (i > 0)
            ts_out_put_cstring(&out, ", ");
        cli__put_escaped(&out, ts_bytes_of_cstring(texts->texts[i]));
    }
    ts_out_put_char(&out, '\n');
}

static void put_examples(const struct ts_rule *rule) {
    for (size_t i = 0; i < rule->match_count; i++) {
        put_bytes("finds", rule->matches[i].text);
        put_bytes("  secret", rule->matches[i].secret);
    }
    for (size_t i = 0; i < rule->non_match_count; i++)
        put_bytes("leaves", rule->non_matches[i].text);
}

static const char *from_pattern(bool is_derived) {
    return is_derived ? "; from the pattern" : "";
}

static void put_gate(const struct ts_rule *rule) {
    char text[160];
    bool is_token = rule->gate == TS_GATE_TOKEN;
    snprintf(text, sizeof text, "%s%s",
             is_token ? "16 or more token characters with at least two digits, after one of the keywords"
                      : "every match contains one of these",
             from_pattern(rule->derived.gate));
    put_line("gate", text);
    put_texts("literals", &rule->literals);
    put_texts("anchors", &rule->anchors);
    snprintf(text, sizeof text, "a match begins at most %u bytes before %s%s", rule->lead,
             is_token ? "these characters" : "the end of one of them", from_pattern(rule->derived.lead));
    put_line("lead", text);
}

static void put_verify(const struct ts_rule_request *request) {
    cli__put_padded(&out, "verify", 12);
    ts_out_put_cstring(&out, request->method);
    ts_out_put_char(&out, ' ');
    ts_out_put_cstring(&out, request->url);
    ts_out_put_cstring(&out, "; live:");
    for (size_t i = 0; i < request->live.count; i++)
        put_number(" ", request->live.statuses[i]);
    ts_out_put_cstring(&out, request->revoked.count > 0 ? "; revoked:" : "");
    for (size_t i = 0; i < request->revoked.count; i++)
        put_number(" ", request->revoked.statuses[i]);
    ts_out_put_char(&out, '\n');
}

static void put_explanation(const struct ts_rule *rule) {
    char number[96];
    put_line("id", rule->id);
    put_line("name", rule->name);
    if (rule->description[0])
        put_line("abused", rule->description);
    if (rule->revoke[0])
        put_line("revoke", rule->revoke);
    if (rule->url[0])
        put_line("url", rule->url);
    put_line("severity", ts_severity_name(rule->severity));
    if (!rule->scored)
        put_line("confidence", ts_confidence_name(rule->confidence));
    put_pattern("pattern", rule->written);
    if (strcmp(rule->written, rule->pattern) != 0)
        put_pattern("  in full", rule->pattern);
    put_gate(rule);
    put_texts("paths", &rule->paths);
    put_texts("not paths", &rule->not_paths);
    put_texts("keywords", &rule->keywords);
    put_texts("pair", &rule->pair);
    if (rule->keywords.count > 0) {
        snprintf(number, sizeof number, "a keyword within %u bytes before the secret", rule->distance);
        put_line("distance", number);
    }
    if (rule->entropy > 0) {
        snprintf(number, sizeof number, "at least %.15g bits per character", rule->entropy);
        put_line("entropy", number);
    }
    for (size_t i = 0; i < rule->validator_count; i++)
        put_line("validator", ts_validator_name(rule->validators[i]));
    if (rule->generic)
        put_line("generic", "ignored where a rule for a specific issuer matches");
    if (rule->context)
        put_line("context", "not a secret; reported only with the secret that it belongs to");
    if (rule->scored)
        put_line("scored", "the scoring model decides the confidence");
    snprintf(number, sizeof number, "at most %u bytes%s", rule->reach, from_pattern(rule->derived.reach));
    put_line("reach", number);
    if (rule->verify)
        put_verify(rule->verify);
    put_examples(rule);
    cli__put_padded(&out, "file", 12);
    cli__put_escaped(&out, ts_bytes_of_cstring(rule->file));
    put_number(", line ", rule->line);
    ts_out_put_char(&out, '\n');
}

static enum cli_exit complain_unknown(const struct ts_ruleset *rules, const char *id) {
    const char **ids = calloc(rules->count + 1, sizeof *ids);
    if (!ids)
        return cli__complain(CLI_EXIT_INFRASTRUCTURE, "out of memory");
    for (size_t i = 0; i < rules->count; i++)
        ids[i] = rules->rules[i].id;
    const char *nearest = cli__nearest(ts_bytes_of_cstring(id), ids, rules->count);
    enum cli_exit status =
        nearest
            ? cli__complain(CLI_EXIT_USAGE, "rules explain: no rule '%s'; did you mean '%s'?",
                            cli__quote_text(id).text, nearest)
            : cli__complain(CLI_EXIT_USAGE, "rules explain: no rule '%s'; 'turnstone rules list' lists them",
                            cli__quote_text(id).text);
    free(ids);
    return status;
}

/* Explains the confidence of findings in the texts and files that the options name. */
static enum cli_exit explain_findings(const struct cli_arguments *arguments, const struct ts_ruleset *rules) {
    ts_out_init(&out, STDOUT_FILENO);
    struct cli_scorer *scorer = cli__scorer_new(rules, &out, arguments->values[EXPLAIN_JSON] != NULL);
    if (!scorer)
        return CLI_EXIT_USAGE;
    const char *path = arguments->values[EXPLAIN_PATH];
    enum cli_exit status = CLI_EXIT_DONE;
    for (size_t i = 0; i < arguments->given_count && status == CLI_EXIT_DONE; i++) {
        const struct cli_given *given = &arguments->given[i];
        if (given->option == EXPLAIN_FILE)
            status = cli__scorer_explain_file(scorer, given->value);
        else if (given->option == EXPLAIN_VALUE &&
                 !cli__scorer_explain(scorer, path ? path : "", ts_bytes_of_cstring(given->value)))
            status = cli__complain(CLI_EXIT_INFRASTRUCTURE, "out of memory");
    }
    cli__scorer_free(scorer);
    return cli__finish_out(&out, status);
}

static enum cli_exit run_explain(const struct cli_arguments *arguments) {
    bool has_texts = arguments->values[EXPLAIN_VALUE] || arguments->values[EXPLAIN_FILE];
    if (has_texts && arguments->operand_count > 0)
        return cli__complain(CLI_EXIT_USAGE,
                             "rules explain: --value and --file explain findings, not rules; leave out "
                             "'%s'",
                             cli__quote_text(arguments->operands[0]).text);
    if (!has_texts && arguments->operand_count == 0)
        return cli__complain(CLI_EXIT_USAGE, "rules explain: which rule? 'turnstone rules list' lists them");
    struct ts_ruleset rules;
    ts_ruleset_init(&rules);
    enum cli_exit status = load(arguments, EXPLAIN_RULES, true, &rules);
    if (has_texts && status == CLI_EXIT_DONE) {
        status = explain_findings(arguments, &rules);
        ts_ruleset_release(&rules);
        return status;
    }
    for (size_t i = 0; i < arguments->operand_count && status == CLI_EXIT_DONE; i++)
        if (!ts_ruleset_find(&rules, arguments->operands[i]))
            status = complain_unknown(&rules, arguments->operands[i]);
    if (status == CLI_EXIT_DONE) {
        ts_out_init(&out, STDOUT_FILENO);
        for (size_t i = 0; i < arguments->operand_count; i++) {
            const struct ts_rule *rule = ts_ruleset_find(&rules, arguments->operands[i]);
            if (arguments->values[EXPLAIN_JSON]) {
                put_json_rule(rule);
                continue;
            }
            if (i > 0)
                ts_out_put_char(&out, '\n');
            put_explanation(rule);
        }
        status = cli__finish_out(&out, CLI_EXIT_DONE);
    }
    ts_ruleset_release(&rules);
    return status;
}

static const struct cli_option list_options[] = {
    [LIST_RULES] = CLI_RULES_OPTION,
    [LIST_NO_BUILTIN_RULES] = CLI_NO_BUILTIN_RULES_OPTION,
    [LIST_JSON] = {.name = "json", .help = "print one JSON object per line, with all fields of each rule"},
};

static const struct cli_example list_examples[] = {
    {"turnstone rules list", "all rules, with severity and name"},
};

const struct cli_verb cli__verb_rules_list = {
    .name = "rules list",
    .summary = "list the detection rules",
    .operands = "",
    .description = "Prints a line for each rule: its id, its severity and its name.",
    .options = list_options,
    .option_count = sizeof list_options / sizeof list_options[0],
    .examples = list_examples,
    .example_count = sizeof list_examples / sizeof list_examples[0],
    .run = run_list,
};

static const struct cli_option check_options[] = {
    [CHECK_JSON] = {.name = "json", .help = "print a JSON object for each problem and each warning"},
};

static const struct cli_example check_examples[] = {
    {"turnstone rules check", "check the built-in rules"},
};

const struct cli_verb cli__verb_rules_check = {
    .name = "rules check",
    .summary = "check rule files",
    .operands = "[FILE…]",
    .description =
        "Checks every rule of the files, or the built-in rules if no file is named. Prints one line for "
        "each problem, each warning and each file.\n\n"
        "A rule is sound if: its pattern compiles; the "
        "pattern is bounded; it matches at most 'reach' bytes; the rule's examples match, or do not match, as they "
        "should; its gate passes the examples that match; and, if the gate is 'token', it passes everything that "
        "the pattern can match. If the check cannot decide, it prints a warning.\n\n"
        "Exit status: 1 for problems; 2 if a "
        "file cannot be read as rules. Warnings do not change the status.",
    .options = check_options,
    .option_count = sizeof check_options / sizeof check_options[0],
    .examples = check_examples,
    .example_count = sizeof check_examples / sizeof check_examples[0],
    .run = run_check,
};

static const struct cli_option explain_options[] = {
    [EXPLAIN_RULES] = CLI_RULES_OPTION,
    [EXPLAIN_VALUE] = {.name = "value",
                       .argument = "TEXT",
                       .help = "explain the findings in this text, such as 'password = \"...\"'",
                       .many = true},
    [EXPLAIN_FILE] = {.name = "file",
                      .argument = "FILE",
                      .help = "explain the findings in this file",
                      .many = true},
    [EXPLAIN_PATH] = {.name = "path",
                      .argument = "PATH",
                      .help = "with --value: treat the text as a file with this path"},
    [EXPLAIN_JSON] = {.name = "json", .help = "print one JSON object per line"},
};

static const struct cli_example explain_examples[] = {
    {"turnstone rules explain github-pat", "what this rule looks for"},
    {"turnstone rules explain --value 'password = \"Tr33-h0use\"'", "why a finding has its confidence"},
};

const struct cli_verb cli__verb_rules_explain = {
    .name = "rules explain",
    .summary = "explain what a rule looks for",
    .operands = "[ID…]",
    .description =
        "Prints all fields of a rule, with defaults for those that its file does not set. The fields "
        "include: lead (how many bytes before the gate a match may begin), examples that the rule must find, "
        "and examples that it must ignore. The examples are made up.\n\n"
        "With --value or --file, explains "
        "findings instead: for each value found by a rule with 'scored', prints its features, what each "
        "feature adds to the score, and the resulting confidence. The score is the logarithm of the odds "
        "that the value is a secret.",
    .options = explain_options,
    .option_count = sizeof explain_options / sizeof explain_options[0],
    .examples = explain_examples,
    .example_count = sizeof explain_examples / sizeof explain_examples[0],
    .run = run_explain,
};
