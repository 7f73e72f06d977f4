/*
 * What was scanned, what was left out and why, and the verdict last, where the eye is when the program ends.
 *
 * A scan that looked at nothing, or not at everything, never ends like one that found nothing.
 */
#include "text.h"

#include <stdio.h>
#include <string.h>

static void put_duration(struct ts_out *out, uint64_t took_ns) {
    char text[64];
    uint64_t seconds = took_ns / 1000000000;
    if (seconds < 10)
        snprintf(text, sizeof text, "%.2f s", (double)took_ns / 1e9);
    else if (seconds < 120)
        snprintf(text, sizeof text, "%.1f s", (double)took_ns / 1e9);
    else
        snprintf(text, sizeof text, "%llu min %02llu s", (unsigned long long)(seconds / 60),
                 (unsigned long long)(seconds % 60));
    ts_out_put_cstring(out, text);
}

static void begin(const struct report_job *job, const char *heading, bool is_first) {
    report__text_margin(job, TEXT_BOLD, is_first ? heading : "");
}

static void put_target(const struct report_job *job, const struct ts_report_target *target) {
    struct ts_out *out = job->out;
    if (target->kind == TS_TARGET_KIND_INPUT) {
        ts_out_put_cstring(out, "standard input: ");
    } else {
        report__put_shown(out, target->name, REPORT_BACKSLASH_DOUBLED);
        ts_out_put_cstring(out, " (");
        ts_out_put_cstring(out, ts_target_kind_name(target->kind));
        ts_out_put_cstring(out, "): ");
    }
    if (report__is_empty(target)) {
        report__text_put(job, TEXT_MEDIUM,
                         target->outcome == TS_TARGET_SCANNED ? "nothing there to scan" : "not scanned");
        ts_out_put_char(out, '\n');
        return;
    }
    if (target->kind == TS_TARGET_KIND_REPOSITORY) {
        report__put_count(out, target->commits, "commit", "commits");
        ts_out_put_cstring(out, ", ");
        report__put_count(out, target->blobs, "blob", "blobs");
        ts_out_put_cstring(out, ", ");
    } else if (target->kind == TS_TARGET_KIND_DIRECTORY) {
        report__put_count(out, target->blobs, "file", "files");
        ts_out_put_cstring(out, ", ");
    }
    report__put_size(out, target->bytes);
    if (target->bytes_looked_at < target->bytes || target->blobs_known > 0) {
        ts_out_put_char(out, '\n');
        report__text_margin(job, TEXT_PLAIN, "");
        report__put_size(out, target->bytes_looked_at);
        ts_out_put_cstring(out, " looked at");
    }
    if (target->blobs_known > 0) {
        ts_out_put_cstring(out, ", ");
        report__put_count(out, target->blobs_known, "blob", "blobs");
        ts_out_put_cstring(out, " known from before");
    }
    ts_out_put_char(out, '\n');
}

static void put_targets(const struct report_job *job) {
    for (size_t i = 0; i < job->report->target_count; i++) {
        begin(job, "scanned", i == 0);
        put_target(job, &job->report->targets[i]);
    }
    if (job->report->target_count == 0) {
        begin(job, "scanned", true);
        report__text_put(job, TEXT_MEDIUM, "nothing\n");
    }
    begin(job, "rules", true);
    report__put_grouped(job->out, job->report->rule_count);
    ts_out_put_char(job->out, '\n');
}

static void put_suppressions(const struct report_job *job) {
    for (size_t i = 0; i < job->report->suppression_count; i++) {
        const struct ts_report_suppression *by = &job->report->suppressions[i];
        begin(job, "suppressed", i == 0);
        report__put_count(job->out, by->findings, "finding", "findings");
        ts_out_put_cstring(job->out, " (");
        report__put_count(job->out, by->occurrences, "occurrence", "occurrences");
        ts_out_put_cstring(job->out, ") by ");
        report__put_shown(job->out, ts_bytes_of_cstring(by->source), REPORT_BACKSLASH_KEPT);
        if (by->reason[0] != '\0') {
            ts_out_put_cstring(job->out, ": ");
            report__put_shown(job->out, ts_bytes_of_cstring(by->reason), REPORT_BACKSLASH_KEPT);
        }
        ts_out_put_char(job->out, '\n');
    }
}

static void put_baseline(const struct report_job *job) {
    const struct ts_report *report = job->report;
    if (!report->has_baseline)
        return;
    begin(job, "baseline", true);
    report__put_count(job->out, report->baseline_known, "finding", "findings");
    ts_out_put_cstring(job->out, " known, ");
    report__put_grouped(job->out, report->gone_count);
    ts_out_put_cstring(job->out,
                       ts_report_is_incomplete(report) ? " not found by this incomplete scan\n" : " gone\n");
    for (size_t i = 0; job->options->lists_gone && i < report->gone_count; i++) {
        begin(job, "gone", i == 0);
        report__text_put(job, TEXT_DIM, report->gone[i].id.text);
        ts_out_put_cstring(job->out, "  ");
        report__put_shown(job->out, ts_bytes_of_cstring(report->gone[i].rule), REPORT_BACKSLASH_KEPT);
        ts_out_put_char(job->out, '\n');
    }
}

/* What is missing by design: said, and no fault. */
static void put_left_out(const struct report_job *job) {
    uint64_t missing = 0;
    uint64_t cut = 0;
    uint64_t skipped = 0;
    for (size_t i = 0; i < job->report->target_count; i++) {
        missing += job->report->targets[i].missing_by_design;
        cut += job->report->targets[i].cut_commits;
        skipped += job->report->targets[i].skipped;
    }
    bool is_first = true;
    if (missing > 0) {
        begin(job, "left out", is_first);
        report__put_count(job->out, missing, "object", "objects");
        ts_out_put_cstring(job->out, " that the partial clone does not have\n");
        is_first = false;
    }
    if (cut > 0) {
        begin(job, "left out", is_first);
        ts_out_put_cstring(job->out, "what came before ");
        report__put_count(job->out, cut, "commit", "commits");
        ts_out_put_cstring(job->out, ": the clone is shallow\n");
        is_first = false;
    }
    if (skipped > 0) {
        begin(job, "left out", is_first);
        report__put_count(job->out, skipped, "path that is neither file nor folder",
                          "paths that are neither file nor folder");
        ts_out_put_char(job->out, '\n');
    }
}

static void put_notes(const struct report_job *job) {
    for (size_t i = 0; i < job->report->note_count; i++) {
        begin(job, i == 0 ? "note" : "", i == 0);
        report__text_put_wrapped(job, job->report->notes[i]);
    }
}

static void put_faults(const struct report_job *job) {
    const struct ts_report *report = job->report;
    const char *heading = "not scanned";
    for (size_t i = 0; i < report->fault_count; i++) {
        report__text_margin(job, TEXT_MEDIUM, heading);
        report__text_put_wrapped(job, report->faults[i].text);
        heading = "";
    }
    if (report->fault_total > report->fault_count) {
        report__text_margin(job, TEXT_MEDIUM, heading);
        ts_out_put_cstring(job->out, report->fault_count == 0 ? "" : "and ");
        report__put_grouped(job->out, report->fault_total - report->fault_count);
        ts_out_put_cstring(job->out,
                           report->fault_count == 0 ? " things that could not be read\n" : " more\n");
        heading = "";
    }
    if (report->limits_hit > 0) {
        report__text_margin(job, TEXT_MEDIUM, heading);
        report__put_count(job->out, report->limits_hit, "match", "matches");
        ts_out_put_cstring(job->out, " given up at the step limit of patterns\n");
        heading = "";
    }
    if (report->is_stopped) {
        report__text_margin(job, TEXT_MEDIUM, heading);
        ts_out_put_cstring(job->out, "what was left when a signal stopped the scan\n");
    }
}

static void put_findings_by_severity(const struct report_job *job) {
    const char *between = ": ";
    for (size_t i = TS_SEVERITY_COUNT; i-- > 0;) {
        if (job->totals.by_severity[i] == 0)
            continue;
        ts_out_put_cstring(job->out, between);
        report__text_style(job, report__text_style_of((enum ts_severity)i));
        report__put_grouped(job->out, job->totals.by_severity[i]);
        ts_out_put_char(job->out, ' ');
        ts_out_put_cstring(job->out, ts_severity_name((enum ts_severity)i));
        report__text_style(job, TEXT_PLAIN);
        between = ", ";
    }
}

static void put_verdict(const struct report_job *job) {
    const struct ts_report *report = job->report;
    const char *new = report->has_baseline ? "new " : "";
    ts_out_put_char(job->out, '\n');
    if (job->totals.findings > 0) {
        report__text_style(job, TEXT_BOLD);
        report__put_grouped(job->out, job->totals.findings);
        ts_out_put_char(job->out, ' ');
        ts_out_put_cstring(job->out, new);
        ts_out_put_cstring(job->out, job->totals.findings == 1 ? "finding" : "findings");
        report__text_style(job, TEXT_PLAIN);
        put_findings_by_severity(job);
        ts_out_put_cstring(job->out, "; ");
        report__put_count(job->out, job->totals.occurrences, "occurrence", "occurrences");
    } else if (report__looked_at_nothing(report)) {
        report__text_put(job, TEXT_MEDIUM, "Nothing was scanned");
    } else {
        report__text_style(job, ts_report_is_incomplete(report) ? TEXT_BOLD : TEXT_GOOD);
        ts_out_put_cstring(job->out, "No ");
        ts_out_put_cstring(job->out, new);
        ts_out_put_cstring(job->out, "findings");
        report__text_style(job, TEXT_PLAIN);
        if (ts_report_is_incomplete(report))
            ts_out_put_cstring(job->out, " in what could be scanned");
    }
    ts_out_put_cstring(job->out, " (");
    put_duration(job->out, report->took_ns);
    ts_out_put_cstring(job->out, ")\n");
    if (!ts_report_is_incomplete(report))
        return;
    report__text_put(job, TEXT_CRITICAL, "INCOMPLETE: not everything was scanned, see above");
    ts_out_put_char(job->out, '\n');
}

void report__text_put_summary(const struct report_job *job) {
    put_targets(job);
    put_suppressions(job);
    put_baseline(job);
    put_left_out(job);
    put_notes(job);
    put_faults(job);
    put_verdict(job);
}
