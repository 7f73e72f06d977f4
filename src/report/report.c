#include "report.h"

#include "base/redact.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert((int)TS_SEVERITY_CRITICAL + 1 == TS_REPORT_SEVERITY_COUNT, "a count for each severity");

#define NAME_OF(suffix, text) text,

const char *ts_report_target_kind_name(enum ts_report_target_kind kind) {
    static const char *const names[] = {TS_REPORT_TARGET_KINDS(NAME_OF)};
    return names[kind];
}

const char *ts_place_name(enum ts_place place) {
    static const char *const names[] = {TS_PLACES(NAME_OF)};
    return names[place];
}

const char *ts_report_rule_change_name(enum ts_report_rule_change_kind change) {
    static const char *const names[] = {TS_REPORT_RULE_CHANGES(NAME_OF)};
    return names[change];
}

#undef NAME_OF

struct ts_report_totals ts_report_totals(const struct ts_report *report) {
    struct ts_report_totals totals = {0};
    for (size_t i = 0; i < report->target_count; i++) {
        const struct ts_report_target *target = &report->targets[i];
        totals.commits += target->commits;
        totals.blobs += target->blobs;
        totals.bytes += target->bytes;
        totals.bytes_looked_at += target->bytes_looked_at;
        totals.blobs_known += target->blobs_known;
    }
    for (size_t i = 0; i < report->finding_count; i++) {
        const struct ts_report_finding *finding = &report->findings[i];
        if (!finding->is_new)
            continue;
        totals.findings++;
        totals.occurrences += finding->occurrence_count;
        totals.by_severity[finding->rule->severity]++;
    }
    for (size_t i = 0; i < report->suppression_count; i++)
        totals.suppressed += report->suppressions[i].findings;
    return totals;
}

bool ts_report_is_incomplete(const struct ts_report *report) {
    return report->fault_total > 0 || report->limits_hit > 0 || report->is_stopped;
}

bool ts_report_is_rule_lost(const struct ts_report_rule_change *change) {
    return change->target != TS_REPORT_NONE && change->change != TS_REPORT_RULE_CHANGE_ADDED;
}

const char *ts_report_rule_change_text(const struct ts_report *report,
                                       const struct ts_report_rule_change *change,
                                       char ret_line[static TS_REPORT_LINE_SIZE]) {
    enum { RULES_NAMED = 5 };
    char source[300];
    char whose[330] = "";
    char target[300];
    (void)ts_text_escape(ts_bytes_of_cstring(change->source), source, sizeof source);
    if (change->target != TS_REPORT_NONE && report->target_count > 1)
        snprintf(whose, sizeof whose, " of %s",
                 ts_text_escape(report->targets[change->target].name, target, sizeof target));
    else if (change->target != TS_REPORT_NONE)
        snprintf(whose, sizeof whose, " of the target");
    int len =
        snprintf(ret_line, TS_REPORT_LINE_SIZE, "%zu %srule%s %s by %s%s", change->count,
                 change->change == TS_REPORT_RULE_CHANGE_ADDED ? "" : "built-in ",
                 change->count == 1 ? "" : "s", ts_report_rule_change_name(change->change), source, whose);
    size_t named = change->change != TS_REPORT_RULE_CHANGE_REPLACED ? 0
                   : change->count < RULES_NAMED                    ? change->count
                                                                    : RULES_NAMED;
    for (size_t i = 0; i < named; i++)
        len += snprintf(ret_line + len, TS_REPORT_LINE_SIZE - (size_t)len, "%s%s", i == 0 ? ": " : ", ",
                        change->rules[i]);
    if (named > 0 && named < change->count)
        (void)snprintf(ret_line + len, TS_REPORT_LINE_SIZE - (size_t)len, " and %zu more",
                       change->count - named);
    return ret_line;
}

static int compare_numbers(uint64_t a, uint64_t b) {
    return (a > b) - (a < b);
}

static int compare_occurrences(const struct ts_report_occurrence *a, const struct ts_report_occurrence *b) {
    int order = compare_numbers(a->target, b->target);
    if (order == 0)
        order = ts_bytes_compare(a->path, b->path);
    if (order == 0)
        order = compare_numbers(a->line, b->line);
    if (order == 0)
        order = compare_numbers(a->column, b->column);
    return order != 0 ? order : strcmp(a->object, b->object);
}

/* An id belongs to one rule and secret, so no two findings are equal. */
static int compare_findings(const void *left, const void *right) {
    const struct ts_report_finding *a = left;
    const struct ts_report_finding *b = right;
    int order = compare_numbers(a->confidence == TS_CONFIDENCE_LOW, b->confidence == TS_CONFIDENCE_LOW);
    if (order == 0)
        order = compare_numbers(b->rule->severity, a->rule->severity);
    if (order == 0)
        order = compare_numbers(b->confidence, a->confidence);
    if (order == 0)
        order = strcmp(a->rule->id, b->rule->id);
    if (order == 0)
        order = compare_occurrences(a->occurrences, b->occurrences);
    return order != 0 ? order : strcmp(a->id.text, b->id.text);
}

void ts_report_sort(struct ts_report *report) {
    if (report->finding_count > 1)
        qsort(report->findings, report->finding_count, sizeof *report->findings, compare_findings);
}
