/*
 * turnstone rules test: measures the rules on a folder whose secrets are known.
 */
#include "complain.h"
#include "output.h"
#include "scan_run.h"
#include "verbs.h"

#include "base/redact.h"
#include "os/out.h"
#include "os/out_json.h"
#include "report/score.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CORPUS, MIN_CONFIDENCE, RULES, NO_BUILTIN_RULES, LIST, JSON, OPTION_COUNT };

enum { NAME_WIDTH = 40 };

static struct ts_out out;

__attribute__((format(printf, 1, 2))) static void put(const char *format, ...) {
    char text[512];
    va_list values;
    va_start(values, format);
    (void)vsnprintf(text, sizeof text, format, values);
    va_end(values);
    ts_out_put_cstring(&out, text);
}

static void put_row(const struct ts_score_row *row) {
    char name[NAME_WIDTH + 1];
    (void)ts_text_escape(ts_bytes_of_cstring(row->name), name, sizeof name);
    put("%-*s %8llu %8llu %8llu %9.4f %9.4f\n", NAME_WIDTH, name, (unsigned long long)row->secrets,
        (unsigned long long)row->found, (unsigned long long)row->false_positives, ts_score_recall(row),
        ts_score_precision(row));
}

/* Prints the figures of a rule or of a confidence, but no recall, because the secrets that the rule should
 * have found are unknown. */
static void put_rule(const struct ts_score_row *row) {
    put("%-*s %8s %8llu %8llu %9s %9.4f\n", NAME_WIDTH, row->name, "", (unsigned long long)row->found,
        (unsigned long long)row->false_positives, "", ts_score_precision(row));
}

static void put_head(const char *title) {
    put("\n%-*s %8s %8s %8s %9s %9s\n", NAME_WIDTH, title, "secrets", "found", "wrong", "recall",
        "precision");
}

/* Prints missed secrets or false positives, one per line: "missed  path:12:15  cloud  aws-key". */
static void put_misses(const char *what, const struct ts_score_miss *items, size_t count) {
    for (size_t i = 0; i < count; i++) {
        char path[400];
        (void)ts_text_escape(ts_bytes_of_cstring(items[i].path), path, sizeof path);
        put("%s  %s:%llu:%llu", what, path, (unsigned long long)items[i].at.line,
            (unsigned long long)items[i].at.column);
        put("  %s  %s\n", items[i].family[0] ? items[i].family : "-", items[i].rule[0] ? items[i].rule : "-");
    }
}

static void put_text(const struct ts_score *score, bool lists) {
    put("%-*s %8s %8s %8s %9s %9s\n", NAME_WIDTH, "", "secrets", "found", "wrong", "recall", "precision");
    put_row(&score->all);
    put("\nfalse positives in the labels: %llu; second findings for a secret: %llu; found by a rule other "
        "than the labelled one: %llu\n",
        (unsigned long long)score->negatives, (unsigned long long)score->doubles,
        (unsigned long long)score->by_another_rule);
    put_head("confidence");
    for (size_t i = TS_REPORT_CONFIDENCE_COUNT; i-- > 0;)
        put_rule(&score->by_confidence[i]);
    put_head("family");
    for (size_t i = 0; i < score->family_count; i++)
        put_row(&score->families[i]);
    put_head("rule");
    for (size_t i = 0; i < score->rule_count; i++)
        put_rule(&score->rules[i]);
    if (lists) {
        ts_out_put_char(&out, '\n');
        put_misses("missed", score->missed, score->missed_count);
        put_misses("wrong", score->wrong, score->wrong_count);
    }
}

static void put_json_numbers(const struct ts_score_row *row, bool has_recall) {
    put("\"found\":%llu,\"wrong\":%llu,\"precision\":%.4f", (unsigned long long)row->found,
        (unsigned long long)row->false_positives, ts_score_precision(row));
    if (has_recall)
        put(",\"secrets\":%llu,\"recall\":%.4f", (unsigned long long)row->secrets, ts_score_recall(row));
}

static void put_json_rows(const char *name, const struct ts_score_row *rows, size_t count, bool has_recall) {
    put(",\"%s\":{", name);
    for (size_t i = 0; i < count; i++) {
        put("%s", ts_json_separator(i, ","));
        ts_out_put_json(&out, ts_bytes_of_cstring(rows[i].name));
        put(":{");
        put_json_numbers(&rows[i], has_recall);
        put("}");
    }
    put("}");
}

static void put_json_misses(const char *name, const struct ts_score_miss *items, size_t count) {
    put(",\"%s\":[", name);
    for (size_t i = 0; i < count; i++) {
        put("%s{\"path\":", ts_json_separator(i, ","));
        ts_out_put_json(&out, ts_bytes_of_cstring(items[i].path));
        put(",\"line\":%llu,\"column\":%llu,\"family\":", (unsigned long long)items[i].at.line,
            (unsigned long long)items[i].at.column);
        ts_out_put_json(&out, ts_bytes_of_cstring(items[i].family));
        put(",\"rule\":");
        ts_out_put_json(&out, ts_bytes_of_cstring(items[i].rule));
        put("}");
    }
    put("]");
}

static void put_json(const struct ts_score *score, bool lists) {
    put("{");
    put_json_numbers(&score->all, true);
    put(",\"negatives\":%llu,\"doubles\":%llu,\"by_another_rule\":%llu", (unsigned long long)score->negatives,
        (unsigned long long)score->doubles, (unsigned long long)score->by_another_rule);
    put_json_rows("confidences", score->by_confidence, TS_REPORT_CONFIDENCE_COUNT, false);
    put_json_rows("families", score->families, score->family_count, true);
    put_json_rows("rules", score->rules, score->rule_count, false);
    if (lists) {
        put_json_misses("missed", score->missed, score->missed_count);
        put_json_misses("false_positives", score->wrong, score->wrong_count);
    }
    put("}\n");
}

static enum cli_exit tell(const struct cli_arguments *arguments, const struct ts_labels *labels,
                          const struct ts_report *report) {
    enum ts_confidence least = TS_CONFIDENCE_MEDIUM;
    struct ts_score score;
    const char *confidence = arguments->values[MIN_CONFIDENCE];
    if (confidence)
        (void)ts_confidence_parse(ts_bytes_of_cstring(confidence), &least);
    if (ts_report_is_incomplete(report)) {
        cli__scan_complain_incomplete("rules test", report);
        return CLI_EXIT_INCOMPLETE;
    }
    if (!ts_score_make(labels, report, least, &score))
        return cli__complain(CLI_EXIT_INFRASTRUCTURE, "out of memory");
    ts_out_init(&out, STDOUT_FILENO);
    bool lists = arguments->values[LIST] != NULL;
    if (arguments->values[JSON])
        put_json(&score, lists);
    else
        put_text(&score, lists);
    ts_score_release(&score);
    return cli__finish_out(&out, CLI_EXIT_DONE);
}

static enum cli_exit scan_and_tell(const struct cli_arguments *arguments, const struct ts_labels *labels) {
    struct ts_scan_target target = {.path = arguments->values[CORPUS], .kind = TS_SCAN_TARGET_FOLDER};
    struct cli_scan_options options = {
        .verb = "rules test",
        .no_progress = true,
        .scan = {.targets = &target,
                 .target_count = 1,
                 .occurrences_max = TS_SCAN_OCCURRENCES_ALL,
                 .no_repo_config = true,
                 .no_builtin_rules = arguments->values[NO_BUILTIN_RULES] != NULL}};
    const char **rules = calloc(arguments->given_count + 1, sizeof *rules);
    if (!rules)
        return cli__complain(CLI_EXIT_INFRASTRUCTURE, "out of memory");
    for (size_t i = 0; i < arguments->given_count; i++)
        if (arguments->given[i].option == RULES)
            rules[options.scan.rule_file_count++] = arguments->given[i].value;
    options.scan.rule_files = rules;
    struct ts_report report;
    enum cli_exit status = cli__scan_run(&options, &report);
    if (status == CLI_EXIT_DONE) {
        status = tell(arguments, labels, &report);
        ts_scan_report_release(&report);
    }
    free(rules);
    return status;
}

static enum cli_exit run_test(const struct cli_arguments *arguments) {
    const char *corpus = arguments->values[CORPUS];
    if (arguments->operand_count > 0 || !corpus)
        return cli__complain(CLI_EXIT_USAGE,
                             "rules test: takes --corpus DIR, a folder with the file " TS_LABELS_FILE
                             "; 'turnstone help rules test' explains it");
    struct ts_labels labels;
    struct ts_labels_error error;
    size_t size = strlen(corpus) + sizeof "/" TS_LABELS_FILE;
    char *path = malloc(size);
    if (!path)
        return cli__complain(CLI_EXIT_INFRASTRUCTURE, "out of memory");
    (void)snprintf(path, size, "%s/" TS_LABELS_FILE, corpus);
    bool is_read = ts_labels_read(path, &labels, &error);
    free(path);
    if (!is_read)
        return cli__complain(CLI_EXIT_USAGE, "rules test: %s", error.text);
    enum cli_exit status = scan_and_tell(arguments, &labels);
    ts_labels_release(&labels);
    return status;
}

static const struct cli_option options_table[OPTION_COUNT] = {
    [CORPUS] = {.name = "corpus",
                .argument = "DIR",
                .help =
                    "the labelled folder: files, and " TS_LABELS_FILE " that says where their secrets are"},
    [MIN_CONFIDENCE] = {.name = "min-confidence",
                        .argument = "CONFIDENCE",
                        .choices = CLI_CHOICES(TS_CONFIDENCES),
                        .help = "count only findings of this confidence or higher (default: medium)"},
    [RULES] = CLI_RULES_OPTION,
    [NO_BUILTIN_RULES] = CLI_NO_BUILTIN_RULES_OPTION,
    [LIST] = {.name = "list", .help = "also list the place of each missed secret and each false positive"},
    [JSON] = {.name = "json", .help = "print one JSON object"},
};

const struct cli_verb cli__verb_rules_test = {
    .name = "rules test",
    .summary = "score the rules on a labelled folder",
    .operands = "",
    .description =
        "Scans a folder whose secrets are known, and prints precision and recall: of all findings, by "
        "confidence, by family and by rule.\n\n"
        "Each line of " TS_LABELS_FILE
        " in the folder labels a place. Its fields, with tabs between them: path; start; end (exclusive); family; "
        "rule that should find it (optional). Start and end are LINE:COLUMN, from 1, columns in bytes. A family that begins with '!' labels a false positive. Files without "
        "labels contain no secrets. Configuration files in the folder are "
        "ignored.\n\n"
        "Exit status: 0 scored; 2 the labels cannot be read; 4 something could not be scanned.",
    .options = options_table,
    .option_count = OPTION_COUNT,
    .run = run_test,
};
