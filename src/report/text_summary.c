/*
 * The summary: scanned and omitted parts, with reasons. The verdict comes last, because users first look at
 * the end of the output.
 *
 * The summary of an empty or incomplete scan never looks like that of a complete scan without findings.
 */
#include "text.h"

#include <stdio.h>
#include <string.h>

static struct report_words duration(uint64_t took_ns) {
    struct report_words words;
    uint64_t seconds = took_ns / 1000000000;
    if (seconds < 10)
        snprintf(words.text, sizeof words.text, "%.2f s", (double)took_ns / 1e9);
    else if (seconds < 120)
        snprintf(words.text, sizeof words.text, "%.1f s", (double)took_ns / 1e9);
    else
        snprintf(words.text, sizeof words.text, "%llu min %02llu s", (unsigned long long)(seconds / 60),
                 (unsigned long long)(seconds % 60));
    return words;
}

/* Begins a line of the summary. Only the first line under a heading shows the heading. */
static struct text_flow begin(const struct report_job *job, const char *heading, bool is_first) {
    struct text_flow flow;
    report__text_margin(job, TEXT_BOLD, is_first ? heading : "");
    report__flow_begin(&flow, job, true);
    return flow;
}

static void put_looked_at(const struct report_job *job, const struct ts_report_target *target) {
    char size[TS_SIZE_TEXT_SIZE];
    struct text_flow flow = begin(job, "", false);
    (void)ts_size_format(target->bytes_looked_at, size);
    report__flow_put(&flow, size);
    report__flow_put(&flow, " looked at");
    if (target->blobs_known > 0) {
        report__flow_put(&flow, ", ");
        report__flow_put(&flow, report__count(target->blobs_known, "blob", "blobs").text);
        report__flow_put(&flow, " known from earlier scans");
    }
    report__flow_end(&flow);
}

static void put_target(const struct report_job *job, const struct ts_report_target *target, bool is_first) {
    struct text_flow flow = begin(job, "scanned", is_first);
    if (target->kind == TS_REPORT_TARGET_KIND_INPUT) {
        report__flow_put(&flow, "standard input: ");
    } else {
        report__flow_put_whole(&flow, target->name, REPORT_BACKSLASH_DOUBLED);
        report__flow_put(&flow, " (");
        report__flow_put(&flow, ts_report_target_kind_name(target->kind));
        report__flow_put(&flow, "): ");
    }
    if (report__is_empty(target)) {
        report__flow_style(&flow, TEXT_MEDIUM);
        report__flow_put(&flow, target->outcome == TS_REPORT_TARGET_SCANNED ? "there is nothing to scan"
                                                                            : "not scanned");
        report__flow_style(&flow, TEXT_PLAIN);
        report__flow_end(&flow);
        return;
    }
    report__flow_put(&flow, report__content(target).text);
    report__flow_end(&flow);
    if (target->bytes_looked_at < target->bytes || target->blobs_known > 0)
        put_looked_at(job, target);
}

static void put_targets(const struct report_job *job) {
    for (size_t i = 0; i < job->report->target_count; i++)
        put_target(job, &job->report->targets[i], i == 0);
    if (job->report->target_count == 0) {
        report__text_margin(job, TEXT_BOLD, "scanned");
        report__text_put(job, TEXT_MEDIUM, "nothing");
        ts_out_put_char(job->out, '\n');
    }
}

static void put_rules(const struct report_job *job) {
    char line[TS_REPORT_LINE_SIZE];
    const struct ts_report *report = job->report;
    report__text_margin(job, TEXT_BOLD, "rules");
    report__put_grouped(job->out, report->rule_count);
    ts_out_put_char(job->out, '\n');
    for (size_t i = 0; i < report->rule_change_count; i++) {
        if (ts_report_is_rule_lost(&report->rule_changes[i]))
            continue;
        report__text_margin(job, TEXT_PLAIN, "");
        report__text_put_wrapped(job, TEXT_DIM,
                                 ts_report_rule_change_text(report, &report->rule_changes[i], line));
    }
}

static void put_rest(const struct report_job *job, const struct report_suppressions *group) {
    struct text_flow flow = begin(job, "", false);
    report__flow_put(&flow, report__count(group->left_occurrences, "occurrence", "occurrences").text);
    report__flow_put(&flow, " by ");
    report__flow_put(&flow, report__count(group->count - group->shown, "more line", "more lines").text);
    report__flow_put(&flow, " of ");
    report__flow_put_whole(&flow, group->file, REPORT_BACKSLASH_KEPT);
    report__flow_put(&flow, REPORT_SUPPRESSIONS_REST);
    report__flow_end(&flow);
}

static void put_suppression(const struct report_job *job, const struct ts_report_suppression *by,
                            bool is_first) {
    struct text_flow flow = begin(job, "suppressed", is_first);
    report__flow_put(&flow, report__count(by->findings, "finding", "findings").text);
    report__flow_put(&flow, " (");
    report__flow_put(&flow, report__count(by->occurrences, "occurrence", "occurrences").text);
    report__flow_put(&flow, ") by ");
    report__flow_put_whole(&flow, ts_bytes_of_cstring(by->source), REPORT_BACKSLASH_KEPT);
    if (by->reason[0] != '\0') {
        report__flow_put(&flow, ": ");
        report__flow_put(&flow, by->reason);
    }
    report__flow_end(&flow);
}

/* Writes the rules that a target removed or replaced, and the suppressions. The rules come first, because
 * their findings are missing. */
static void put_suppressions(const struct report_job *job) {
    const struct ts_report *report = job->report;
    bool is_first = true;
    for (size_t i = 0; i < report->rule_change_count; i++) {
        char line[TS_REPORT_LINE_SIZE];
        if (!ts_report_is_rule_lost(&report->rule_changes[i]))
            continue;
        report__text_margin(job, TEXT_BOLD, is_first ? "suppressed" : "");
        report__text_put_wrapped(job, TEXT_MEDIUM,
                                 ts_report_rule_change_text(report, &report->rule_changes[i], line));
        is_first = false;
    }
    for (size_t i = 0; i < report->suppression_count;) {
        struct report_suppressions group = report__suppressions_from(report, i);
        for (size_t k = 0; k < group.shown; k++, is_first = false)
            put_suppression(job, &report->suppressions[i + k], is_first);
        if (group.shown < group.count)
            put_rest(job, &group);
        i += group.count;
    }
}

static void put_gone(const struct report_job *job, const struct ts_report_gone *gone, bool is_first) {
    struct ts_bytes rule = ts_bytes_of_cstring(gone->rule);
    report__text_margin(job, TEXT_BOLD, is_first ? "gone" : "");
    report__text_put(job, TEXT_DIM, gone->id.text);
    if (report__text_room(job) < TS_FINDING_ID_LEN + 2 + report__text_cells(rule, REPORT_BACKSLASH_KEPT)) {
        ts_out_put_char(job->out, '\n');
        report__text_margin(job, TEXT_PLAIN, "");
    } else {
        ts_out_put_cstring(job->out, "  ");
    }
    report__put_shown(job->out, rule, REPORT_BACKSLASH_KEPT);
    ts_out_put_char(job->out, '\n');
}

static void put_baseline(const struct report_job *job) {
    const struct ts_report *report = job->report;
    if (!report->has_baseline)
        return;
    struct text_flow flow = begin(job, "baseline", true);
    report__flow_put(&flow, report__count(report->baseline_known, "finding", "findings").text);
    if (report->baseline_tool != NULL) {
        report__flow_put(&flow, " known; ");
        report__flow_put(&flow, report__count(report->baseline_matched, "entry", "entries").text);
        report__flow_put(&flow, " of ");
        report__flow_put(&flow, report->baseline_tool);
        report__flow_put(&flow, " matched, ");
        report__flow_put(&flow, report__grouped(report->baseline_unmatched).text);
        report__flow_put(&flow, " did not");
    } else {
        report__flow_put(&flow, " known, ");
        report__flow_put(&flow, report__grouped(report->gone_count).text);
        report__flow_put(&flow,
                         ts_report_is_incomplete(report) ? " not found by this incomplete scan" : " gone");
    }
    report__flow_end(&flow);
    for (size_t i = 0; job->options->lists_gone && i < report->gone_count; i++)
        put_gone(job, &report->gone[i], i == 0);
}

static void put_left_out_one(const struct report_job *job, bool *is_first, const char *before,
                             const char *count, const char *after) {
    struct text_flow flow = begin(job, "left out", *is_first);
    report__flow_put(&flow, before);
    report__flow_put(&flow, count);
    report__flow_put(&flow, after);
    report__flow_end(&flow);
    *is_first = false;
}

/* Writes the parts that were left out. The faults say whether these parts make the report incomplete. */
static void put_left_out(const struct report_job *job) {
    struct ts_report_target sum = {.missing_by_design = 0};
    bool is_first = true;
    for (size_t i = 0; i < job->report->target_count; i++) {
        const struct ts_report_target *target = &job->report->targets[i];
        sum.missing_by_design += target->missing_by_design;
        sum.cut_commits += target->cut_commits;
        sum.submodules += target->submodules;
        sum.lfs_missing += target->lfs_missing;
        sum.encrypted_archives += target->encrypted_archives;
        sum.skipped += target->skipped;
    }
    if (sum.missing_by_design > 0)
        put_left_out_one(job, &is_first, "", report__count(sum.missing_by_design, "object", "objects").text,
                         " that the partial clone does not have");
    if (sum.cut_commits > 0)
        put_left_out_one(job, &is_first, "the history before ",
                         report__count(sum.cut_commits, "commit", "commits").text, ": the clone is shallow");
    if (sum.submodules > 0)
        put_left_out_one(job, &is_first, "", report__count(sum.submodules, "submodule", "submodules").text,
                         sum.submodules == 1 ? ", which is a repository of its own"
                                             : ", which are repositories of their own");
    if (sum.lfs_missing > 0)
        put_left_out_one(job, &is_first, "", report__count(sum.lfs_missing, "LFS object", "LFS objects").text,
                         " that 'git lfs fetch --all' fetches");
    if (sum.encrypted_archives > 0)
        put_left_out_one(
            job, &is_first, "",
            report__count(sum.encrypted_archives, "encrypted archive", "encrypted archives").text, "");
    if (sum.skipped > 0)
        put_left_out_one(job, &is_first, "",
                         report__count(sum.skipped, "path that is", "paths that are").text,
                         " neither file, folder nor link");
}

/* Writes how many of the listed findings are likely false positives. */
static void put_confidence(const struct report_job *job) {
    uint64_t low = 0;
    for (size_t i = 0; i < job->report->finding_count; i++)
        low += report__is_listed(job, &job->report->findings[i]) &&
               job->report->findings[i].confidence == TS_CONFIDENCE_LOW;
    if (low > 0 && job->options->fails_from > TS_CONFIDENCE_LOW) {
        struct text_flow flow = begin(job, "confidence", true);
        report__flow_put(&flow, report__count(low, "finding", "findings").text);
        report__flow_put(&flow, " of low confidence, which ");
        report__flow_put(&flow, low == 1 ? "does" : "do");
        report__flow_put(&flow, " not fail the scan");
        report__flow_end(&flow);
    }
}

static void put_redaction(const struct report_job *job) {
    if (job->totals.findings == 0 || job->report->shows_secrets)
        return;
    report__text_margin(job, TEXT_BOLD, "redacted");
    report__text_put_wrapped(job, TEXT_DIM, "secrets are not shown in full; --show-secrets shows them");
}

static void put_notes(const struct report_job *job) {
    for (size_t i = 0; i < job->report->note_count; i++) {
        report__text_margin(job, TEXT_BOLD, i == 0 ? "note" : "");
        report__text_put_wrapped(job, TEXT_PLAIN, job->report->notes[i]);
    }
}

static void put_fault(const struct report_job *job, const char **heading, const char *text) {
    report__text_margin(job, TEXT_MEDIUM, *heading);
    report__text_put_wrapped(job, TEXT_PLAIN, text);
    *heading = "";
}

static void put_faults(const struct report_job *job) {
    const struct ts_report *report = job->report;
    const char *heading = "not scanned";
    char line[160];
    for (size_t i = 0; i < report->fault_count; i++)
        put_fault(job, &heading, report->faults[i].text);
    if (report->fault_total > report->fault_count) {
        bool is_alone = report->fault_count == 0;
        snprintf(line, sizeof line, "%s%s %s", is_alone ? "" : "and ",
                 report__grouped(report->fault_total - report->fault_count).text,
                 is_alone ? "parts that could not be read" : "more");
        put_fault(job, &heading, line);
    }
    if (report->limits_hit > 0) {
        snprintf(line, sizeof line, "%s abandoned at a pattern's step limit",
                 report__count(report->limits_hit, "match", "matches").text);
        put_fault(job, &heading, line);
    }
    if (report->is_stopped)
        put_fault(job, &heading, "the rest, because a signal stopped the scan");
}

static void put_findings_by_severity(const struct report_job *job, struct text_flow *flow) {
    const char *between = ": ";
    for (size_t i = TS_REPORT_SEVERITY_COUNT; i-- > 0;) {
        if (job->totals.by_severity[i] == 0)
            continue;
        report__flow_put(flow, between);
        report__flow_style(flow, report__text_style_of((enum ts_severity)i));
        report__flow_put(flow, report__grouped(job->totals.by_severity[i]).text);
        report__flow_put(flow, " ");
        report__flow_put(flow, ts_severity_name((enum ts_severity)i));
        report__flow_style(flow, TEXT_PLAIN);
        between = ", ";
    }
}

static void put_verdict(const struct report_job *job) {
    const struct ts_report *report = job->report;
    const char *new = report->has_baseline ? "new " : "";
    bool is_incomplete = ts_report_is_incomplete(report);
    struct text_flow flow;
    ts_out_put_char(job->out, '\n');
    report__flow_begin(&flow, job, false);
    if (job->totals.findings > 0) {
        report__flow_style(&flow, TEXT_BOLD);
        report__flow_put(&flow, report__grouped(job->totals.findings).text);
        report__flow_put(&flow, " ");
        report__flow_put(&flow, new);
        report__flow_put(&flow, job->totals.findings == 1 ? "finding" : "findings");
        report__flow_style(&flow, TEXT_PLAIN);
        put_findings_by_severity(job, &flow);
        report__flow_put(&flow, "; ");
        report__flow_put(&flow, report__count(job->totals.occurrences, "occurrence", "occurrences").text);
    } else if (report__looked_at_nothing(report)) {
        report__flow_style(&flow, TEXT_MEDIUM);
        report__flow_put(&flow, "Nothing was scanned");
        report__flow_style(&flow, TEXT_PLAIN);
    } else {
        report__flow_style(&flow, is_incomplete ? TEXT_BOLD : TEXT_GOOD);
        report__flow_put(&flow, "No ");
        report__flow_put(&flow, new);
        report__flow_put(&flow, "findings");
        report__flow_style(&flow, TEXT_PLAIN);
        report__flow_put(&flow, is_incomplete ? " in what could be scanned" : "");
    }
    report__flow_put(&flow, " (");
    report__flow_put(&flow, duration(report->took_ns).text);
    report__flow_put(&flow, ")");
    report__flow_end(&flow);
    if (!is_incomplete)
        return;
    report__flow_begin(&flow, job, false);
    report__flow_style(&flow, TEXT_CRITICAL);
    report__flow_put(&flow, "INCOMPLETE: not everything was scanned, see above");
    report__flow_style(&flow, TEXT_PLAIN);
    report__flow_end(&flow);
}

void report__text_put_summary(const struct report_job *job) {
    put_targets(job);
    put_rules(job);
    put_suppressions(job);
    put_baseline(job);
    put_left_out(job);
    put_confidence(job);
    put_redaction(job);
    put_notes(job);
    put_faults(job);
    put_verdict(job);
}

const char *ts_report_verdict(const struct ts_report *report, char ret_line[static TS_REPORT_VERDICT_SIZE]) {
    struct ts_report_totals totals = ts_report_totals(report);
    const char *new = report->has_baseline ? "new " : "";
    char severities[120] = "";
    size_t len = 0;
    for (size_t i = TS_REPORT_SEVERITY_COUNT; i-- > 0;)
        if (totals.by_severity[i] > 0)
            len += (size_t)snprintf(severities + len, sizeof severities - len, "%s%s %s",
                                    len == 0 ? ": " : ", ", report__grouped(totals.by_severity[i]).text,
                                    ts_severity_name((enum ts_severity)i));
    bool is_incomplete = ts_report_is_incomplete(report);
    if (totals.findings > 0)
        snprintf(ret_line, TS_REPORT_VERDICT_SIZE, "%.30s %sfinding%s%s; %.60s (%.40s)%s",
                 report__grouped(totals.findings).text, new, totals.findings == 1 ? "" : "s", severities,
                 report__count(totals.occurrences, "occurrence", "occurrences").text,
                 duration(report->took_ns).text, is_incomplete ? "; INCOMPLETE" : "");
    else if (report__looked_at_nothing(report))
        snprintf(ret_line, TS_REPORT_VERDICT_SIZE, "nothing was scanned (%.40s)%s",
                 duration(report->took_ns).text, is_incomplete ? "; INCOMPLETE" : "");
    else
        snprintf(ret_line, TS_REPORT_VERDICT_SIZE, "no %sfindings%s (%.40s)%s", new,
                 is_incomplete ? " in what could be scanned" : "", duration(report->took_ns).text,
                 is_incomplete ? "; INCOMPLETE" : "");
    return ret_line;
}
