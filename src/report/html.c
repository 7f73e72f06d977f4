/*
 * A self-contained page: a table that can be read without scripts, and page.js, which filters and sorts it.
 *
 * The page's policy forbids all requests, and all scripts and styles except the two embedded ones, which it
 * allows by their hash. Content from a repository is only text and quoted attributes, escaped by markup.h.
 * The script never turns it into markup.
 */
#include "markup.h"
#include "page.h"
#include "whereabouts.h"

#include <string.h>

enum { SHORT_OID_LEN = 10, OCCURRENCES_SHOWN = 20 };

static void put_head(const struct report_job *job) {
    struct ts_out *out = job->out;
    ts_out_put_cstring(
        out, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
             "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-");
    ts_out_put_cstring(out, report__page_style_sha256);
    ts_out_put_cstring(out, "'; script-src 'sha256-");
    ts_out_put_cstring(out, report__page_script_sha256);
    ts_out_put_cstring(out,
                       "'; base-uri 'none'; form-action 'none'\">\n"
                       "<meta name=\"referrer\" content=\"no-referrer\">\n"
                       "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>");
    report__put_count(out, job->totals.findings, "finding", "findings");
    ts_out_put_cstring(out, " - Turnstone</title>\n<style>");
    ts_out_put(out, report__page_style);
    ts_out_put_cstring(out, "</style>\n</head>\n<body>\n<main>\n");
}

static void put_verdict(const struct report_job *job) {
    struct ts_out *out = job->out;
    const char *new = job->report->has_baseline ? "new " : "";
    ts_out_put_cstring(out, "<h1>");
    if (job->totals.findings > 0) {
        report__put_grouped(out, job->totals.findings);
        ts_out_put_char(out, ' ');
        ts_out_put_cstring(out, new);
        ts_out_put_cstring(out, job->totals.findings == 1 ? "finding" : "findings");
        for (size_t i = TS_REPORT_SEVERITY_COUNT; i-- > 0;) {
            if (job->totals.by_severity[i] == 0)
                continue;
            const char *name = ts_severity_name((enum ts_severity)i);
            ts_out_put_cstring(out, " <span class=\"by ");
            ts_out_put_cstring(out, name);
            ts_out_put_cstring(out, "\">");
            report__put_count(out, job->totals.by_severity[i], name, name);
            ts_out_put_cstring(out, "</span>");
        }
    } else if (report__looked_at_nothing(job->report)) {
        ts_out_put_cstring(out, "Nothing was scanned");
    } else {
        ts_out_put_cstring(out,
                           ts_report_is_incomplete(job->report) ? "<span>No " : "<span class=\"good\">No ");
        ts_out_put_cstring(out, new);
        ts_out_put_cstring(out, "findings</span>");
    }
    ts_out_put_cstring(out, "</h1>\n");
}

static void put_faults(const struct report_job *job) {
    struct ts_out *out = job->out;
    const struct ts_report *report = job->report;
    if (!ts_report_is_incomplete(report))
        return;
    ts_out_put_cstring(
        out,
        "<div class=\"alarm\" role=\"alert\"><strong>INCOMPLETE</strong>: not everything was scanned.<ul>");
    for (size_t i = 0; i < report->fault_count; i++) {
        ts_out_put_cstring(out, "<li>");
        report__put_markup_text(out, report->faults[i].text);
        ts_out_put_cstring(out, "</li>");
    }
    if (report->fault_total > report->fault_count) {
        ts_out_put_cstring(out, "<li>");
        report__put_count(out, report->fault_total - report->fault_count, "more fault", "more faults");
        ts_out_put_cstring(out, "</li>");
    }
    if (report->limits_hit > 0) {
        ts_out_put_cstring(out, "<li>");
        report__put_count(out, report->limits_hit, "match", "matches");
        ts_out_put_cstring(out, " abandoned at a pattern's step limit</li>");
    }
    if (report->is_stopped)
        ts_out_put_cstring(out, "<li>stopped by a signal</li>");
    ts_out_put_cstring(out, "</ul></div>\n");
}

static void put_closed(struct ts_out *out, uint64_t count, const char *one, const char *many) {
    if (count == 0)
        return;
    ts_out_put_cstring(out, "; ");
    report__put_count(out, count, one, many);
    ts_out_put_cstring(out, " not scanned");
}

static void put_targets(const struct report_job *job) {
    struct ts_out *out = job->out;
    for (size_t i = 0; i < job->report->target_count; i++) {
        const struct ts_report_target *target = &job->report->targets[i];
        ts_out_put_cstring(out, i == 0 ? "<dt>Scanned</dt><dd>" : "<dt></dt><dd>");
        if (target->kind != TS_REPORT_TARGET_KIND_INPUT) {
            ts_out_put_cstring(out, "<code>");
            report__put_markup(out, target->name, REPORT_BACKSLASH_DOUBLED);
            ts_out_put_cstring(out, "</code> ");
        }
        ts_out_put_cstring(out, ts_report_target_kind_name(target->kind));
        if (report__is_empty(target)) {
            ts_out_put_cstring(out, ": <strong class=\"medium\">");
            ts_out_put_cstring(out, target->outcome == TS_REPORT_TARGET_SCANNED ? "there is nothing to scan"
                                                                                : "not scanned");
            ts_out_put_cstring(out, "</strong></dd>\n");
            continue;
        }
        ts_out_put_cstring(out, ": ");
        ts_out_put_cstring(out, report__content(target).text);
        if (target->blobs_known > 0) {
            ts_out_put_cstring(out, "; ");
            report__put_count(out, target->blobs_known, "blob", "blobs");
            ts_out_put_cstring(out, " known from earlier scans");
        }
        if (target->missing_by_design > 0) {
            ts_out_put_cstring(out, "; ");
            report__put_count(out, target->missing_by_design, "object", "objects");
            ts_out_put_cstring(out, " omitted by a partial clone");
        }
        if (target->cut_commits > 0) {
            ts_out_put_cstring(out, "; shallow before ");
            report__put_count(out, target->cut_commits, "commit", "commits");
        }
        put_closed(out, target->submodules, "submodule", "submodules");
        put_closed(out, target->lfs_missing, "missing LFS object", "missing LFS objects");
        put_closed(out, target->encrypted_archives, "encrypted archive", "encrypted archives");
        ts_out_put_cstring(out, "</dd>\n");
    }
}

static void put_rule_changes(const struct report_job *job) {
    char line[TS_REPORT_LINE_SIZE];
    const struct ts_report *report = job->report;
    for (size_t i = 0; i < report->rule_change_count; i++) {
        const struct ts_report_rule_change *change = &report->rule_changes[i];
        ts_out_put_cstring(job->out, ts_report_is_rule_lost(change) ? "<dt></dt><dd><strong class=\"medium\">"
                                                                    : "<dt></dt><dd class=\"soft\">");
        report__put_markup_text(job->out, ts_report_rule_change_text(report, change, line));
        ts_out_put_cstring(job->out, ts_report_is_rule_lost(change) ? "</strong></dd>\n" : "</dd>\n");
    }
}

static void put_suppression(struct ts_out *out, const struct ts_report_suppression *by) {
    report__put_count(out, by->findings, "finding", "findings");
    ts_out_put_cstring(out, " by <code>");
    report__put_markup_text(out, by->source);
    ts_out_put_cstring(out, "</code> ");
    report__put_markup_text(out, by->reason);
    ts_out_put_cstring(out, "</dd>\n");
}

static void put_suppressions(const struct report_job *job) {
    struct ts_out *out = job->out;
    const struct ts_report *report = job->report;
    for (size_t i = 0; i < report->suppression_count;) {
        struct report_suppressions group = report__suppressions_from(report, i);
        for (size_t k = i; k < i + group.shown; k++) {
            ts_out_put_cstring(out, k == 0 ? "<dt>Suppressed</dt><dd>" : "<dt></dt><dd>");
            put_suppression(out, &report->suppressions[k]);
        }
        if (group.shown < group.count) {
            ts_out_put_cstring(out, "<dt></dt><dd>");
            report__put_count(out, group.left_occurrences, "occurrence", "occurrences");
            ts_out_put_cstring(out, " by ");
            report__put_count(out, group.count - group.shown, "more line", "more lines");
            ts_out_put_cstring(out, " of <code>");
            report__put_markup(out, group.file, REPORT_BACKSLASH_KEPT);
            ts_out_put_cstring(out, "</code>" REPORT_SUPPRESSIONS_REST "</dd>\n");
        }
        i += group.count;
    }
}

static void put_summary(const struct report_job *job) {
    struct ts_out *out = job->out;
    const struct ts_report *report = job->report;
    ts_out_put_cstring(out, "<dl>\n");
    put_targets(job);
    ts_out_put_cstring(out, "<dt>Rules</dt><dd>");
    ts_out_put_u64(out, report->rule_count);
    ts_out_put_cstring(out, ", turnstone ");
    report__put_markup_text(out, job->options->version);
    ts_out_put_cstring(out, "</dd>\n");
    put_rule_changes(job);
    put_suppressions(job);
    if (report->has_baseline) {
        ts_out_put_cstring(out, "<dt>Baseline</dt><dd>");
        report__put_count(out, report->baseline_known, "finding", "findings");
        if (report->baseline_tool != NULL) {
            ts_out_put_cstring(out, " known; ");
            report__put_count(out, report->baseline_matched, "entry", "entries");
            ts_out_put_cstring(out, " of ");
            report__put_markup_text(out, report->baseline_tool);
            ts_out_put_cstring(out, " matched, ");
            report__put_grouped(out, report->baseline_unmatched);
            ts_out_put_cstring(out, " did not</dd>\n");
        } else {
            ts_out_put_cstring(out, " known, ");
            ts_out_put_u64(out, report->gone_count);
            ts_out_put_cstring(out, " no longer found</dd>\n");
        }
    }
    for (size_t i = 0; i < report->gone_count && job->options->lists_gone; i++) {
        ts_out_put_cstring(out, i == 0 ? "<dt>Gone</dt><dd><code>" : "<dt></dt><dd><code>");
        ts_out_put_cstring(out, report->gone[i].id.text);
        ts_out_put_cstring(out, "</code> ");
        report__put_markup_text(out, report->gone[i].rule);
        ts_out_put_cstring(out, "</dd>\n");
    }
    for (size_t i = 0; i < report->note_count; i++) {
        ts_out_put_cstring(out, i == 0 ? "<dt>Note</dt><dd>" : "<dt></dt><dd>");
        report__put_markup_text(out, report->notes[i]);
        ts_out_put_cstring(out, "</dd>\n");
    }
    ts_out_put_cstring(out, "</dl>\n");
}

/* Returns whether the finding is the first of its rule. Searches backwards, because findings of the same rule
 * are close together. */
static bool is_first_of_rule(const struct ts_report *report, size_t number) {
    const struct ts_rule *rule = report->findings[number].rule;
    for (size_t i = number; i-- > 0;)
        if (report->findings[i].rule == rule)
            return false;
    return true;
}

static void put_controls(const struct report_job *job) {
    struct ts_out *out = job->out;
    ts_out_put_cstring(
        out,
        "<form hidden>\n<input type=\"search\" name=\"search\" placeholder=\"Filter: path, rule, author, commit, id\" "
        "aria-label=\"Filter\" autocomplete=\"off\">\n");
    for (size_t i = TS_REPORT_SEVERITY_COUNT; i-- > 0;) {
        const char *name = ts_severity_name((enum ts_severity)i);
        ts_out_put_cstring(out, "<label class=\"");
        ts_out_put_cstring(out, name);
        ts_out_put_cstring(out, "\"><input type=\"checkbox\" checked value=\"");
        ts_out_put_u64(out, i);
        ts_out_put_cstring(out, "\">");
        ts_out_put_cstring(out, name);
        ts_out_put_cstring(out, "</label>\n");
    }
    ts_out_put_cstring(out,
                       "<select name=\"rule\" aria-label=\"Rule\"><option value=\"\">every rule</option>");
    for (size_t i = 0; i < job->report->finding_count; i++) {
        if (!report__is_listed(job, &job->report->findings[i]) || !is_first_of_rule(job->report, i))
            continue;
        ts_out_put_cstring(out, "<option>");
        report__put_markup_text(out, job->report->findings[i].rule->id);
        ts_out_put_cstring(out, "</option>");
    }
    ts_out_put_cstring(out, "</select>\n<select name=\"confidence\" aria-label=\"Confidence\">"
                            "<option value=\"0\">any confidence</option>"
                            "<option value=\"1\">medium or high confidence</option>"
                            "<option value=\"2\">high confidence</option></select>\n"
                            "<output></output>\n</form>\n");
}

/* Shows how to revoke the secrets of a rule, with a link to a page of the issuer. A URL contains no special
 * markup character except & (rule_reader.c checks this), which is escaped here. */
static void put_cure(struct ts_out *out, const struct ts_rule *rule) {
    if (rule->revoke[0] != '\0') {
        ts_out_put_cstring(out, "<br>To revoke it: ");
        report__put_markup_text(out, rule->revoke);
    }
    /* The author of the target may have written this URL, so it does not become a link. */
    if (rule->url[0] != '\0' && rule->origin == TS_RULE_OF_TARGET) {
        ts_out_put_cstring(out, "<br>");
        report__put_markup_text(out, rule->url);
    } else if (rule->url[0] != '\0') {
        ts_out_put_cstring(out, "<br><a rel=\"noreferrer noopener\" href=\"");
        report__put_markup_text(out, rule->url);
        ts_out_put_cstring(out, "\">");
        report__put_markup_text(out, rule->url);
        ts_out_put_cstring(out, "</a>");
    }
}

static void put_finding_cell(const struct report_job *job, const struct ts_report_finding *finding) {
    struct ts_out *out = job->out;
    ts_out_put_cstring(out, "<td><span class=\"name\">");
    report__put_markup_text(out, finding->rule->name);
    ts_out_put_cstring(out, "</span><br><code class=\"secret\">");
    report__put_markup(out, report__secret_of(job->report, finding), REPORT_BACKSLASH_KEPT);
    ts_out_put_cstring(out, "</code>");
    for (size_t i = 0; i < finding->depth; i++) {
        ts_out_put_cstring(out, " <span class=\"tag\">");
        ts_out_put_cstring(out, ts_encoding_name(finding->encodings[i]));
        ts_out_put_cstring(out, "</span>");
    }
    if (!finding->is_new)
        ts_out_put_cstring(out, " <span class=\"tag\">known</span>");
    if (finding->pair != NULL) {
        ts_out_put_cstring(out, "<br>with ");
        report__put_markup_text(out, finding->pair->rule->name);
        ts_out_put_cstring(out, " <code class=\"secret\">");
        report__put_markup(out, report__secret_of(job->report, finding->pair), REPORT_BACKSLASH_KEPT);
        ts_out_put_cstring(out, "</code>: <code>");
        report__put_markup_place(out, report__pair_place(finding));
        ts_out_put_cstring(out, "</code>");
    }
    ts_out_put_cstring(out, "<details><summary>");
    report__put_markup_text(out, finding->rule->id);
    ts_out_put_cstring(out, "</summary>");
    report__put_markup_text(out, finding->rule->description);
    put_cure(out, finding->rule);
    ts_out_put_cstring(out, "<br><code>");
    ts_out_put_cstring(out, finding->id.text);
    ts_out_put_cstring(out, "</code></details></td>");
}

static void put_target_name(const struct report_job *job, const struct ts_report_occurrence *occurrence) {
    if (job->report->target_count < 2)
        return;
    ts_out_put_cstring(job->out, "<span class=\"soft\">");
    report__put_markup(job->out, job->report->targets[occurrence->target].name, REPORT_BACKSLASH_DOUBLED);
    ts_out_put_cstring(job->out, "</span> ");
}

static void put_whereabouts(const struct report_job *job, const struct ts_report_finding *finding) {
    struct ts_out *out = job->out;
    char link[TS_REPORT_LINK_SIZE];
    enum ts_report_head head = ts_report_head_of(job->report, finding);
    if (ts_report_link(job->report, report__main_place(finding), link)) {
        ts_out_put_cstring(out, " <a rel=\"noreferrer noopener\" href=\"");
        ts_out_put_cstring(out, link);
        ts_out_put_cstring(out, "\">open</a>");
    }
    if (head != TS_REPORT_HEAD_UNKNOWN)
        ts_out_put_cstring(out, head == TS_REPORT_HEAD_HAS ? "<br>still in HEAD: <code>"
                                                           : "<br><span class=\"soft\">not in HEAD</span>");
    if (head == TS_REPORT_HEAD_HAS) {
        report__put_markup_place(out, finding->head);
        ts_out_put_cstring(out, "</code>");
    }
    for (size_t i = 0; i < finding->ref_listed; i++) {
        ts_out_put_cstring(out, i == 0 ? "<br><span class=\"soft\">reachable from " : ", ");
        report__put_markup_text(out, report__ref_short(finding->refs[i]));
    }
    if (finding->ref_count > finding->ref_listed) {
        ts_out_put_cstring(out, " and ");
        report__put_grouped(out, finding->ref_count - finding->ref_listed);
        ts_out_put_cstring(out, " more");
    }
    ts_out_put_cstring(out, finding->ref_listed > 0 ? "</span>" : "");
}

static void put_place_cell(const struct report_job *job, const struct ts_report_finding *finding) {
    struct ts_out *out = job->out;
    ts_out_put_cstring(out, "<td>");
    put_target_name(job, &finding->occurrences[0]);
    ts_out_put_cstring(out, "<code class=\"place\">");
    report__put_markup_place(out, &finding->occurrences[0]);
    ts_out_put_cstring(out, "</code>");
    put_whereabouts(job, finding);
    if (finding->excerpt.len > 0) {
        ts_out_put_cstring(out, "<code class=\"excerpt\">");
        report__put_markup(out, report__trimmed(finding->excerpt), REPORT_BACKSLASH_KEPT);
        ts_out_put_cstring(out, "</code>");
    }
    size_t shown = finding->listed_count < OCCURRENCES_SHOWN ? finding->listed_count : OCCURRENCES_SHOWN;
    if (finding->occurrence_count > 1) {
        ts_out_put_cstring(out, "<details><summary>");
        report__put_count(out, finding->occurrence_count - 1, "more place", "more places");
        ts_out_put_cstring(out, "</summary><ul>");
        for (size_t i = 1; i < shown; i++) {
            ts_out_put_cstring(out, "<li>");
            put_target_name(job, &finding->occurrences[i]);
            ts_out_put_cstring(out, "<code>");
            report__put_markup_place(out, &finding->occurrences[i]);
            ts_out_put_cstring(out, "</code></li>");
        }
        if (finding->occurrence_count > shown) {
            ts_out_put_cstring(out, "<li>and ");
            ts_out_put_u64(out, finding->occurrence_count - shown);
            ts_out_put_cstring(out, " that are not listed here</li>");
        }
        ts_out_put_cstring(out, "</ul></details>");
    }
    ts_out_put_cstring(out, "</td>");
}

static void put_commit_cell(struct ts_out *out, const struct ts_report_commit *commit) {
    if (commit == NULL) {
        ts_out_put_cstring(out, "<td class=\"soft\">no commit</td>");
        return;
    }
    struct ts_bytes oid = ts_bytes_of_cstring(commit->oid);
    char date_text[REPORT_DATE_SIZE];
    const char *date = report__date_utc(commit, date_text);
    ts_out_put_cstring(out, "<td><code title=\"");
    report__put_markup(out, oid, REPORT_BACKSLASH_DOUBLED);
    ts_out_put_cstring(out, "\">");
    report__put_markup(out, ts_bytes_first(oid, oid.len < SHORT_OID_LEN ? oid.len : SHORT_OID_LEN),
                       REPORT_BACKSLASH_DOUBLED);
    ts_out_put_cstring(out, "</code> <span class=\"soft\">");
    ts_out_put_cstring(out, date != NULL ? date : "date unknown");
    ts_out_put_cstring(out, "</span><br>");
    report__put_markup(out, commit->author_name, REPORT_BACKSLASH_DOUBLED);
    ts_out_put_cstring(out, "<br><span class=\"soft\">");
    report__put_markup(out, commit->author_mail, REPORT_BACKSLASH_DOUBLED);
    ts_out_put_cstring(out, "</span></td>");
}

static void put_row(const struct report_job *job, const struct ts_report_finding *finding) {
    struct ts_out *out = job->out;
    const struct ts_report_commit *commit = report__commit_of(job->report, &finding->occurrences[0]);
    const char *severity = ts_severity_name(finding->rule->severity);
    ts_out_put_cstring(out, "<tr data-severity=\"");
    ts_out_put_u64(out, finding->rule->severity);
    ts_out_put_cstring(out, "\" data-confidence=\"");
    ts_out_put_u64(out, finding->confidence);
    ts_out_put_cstring(out, "\" data-rule=\"");
    report__put_markup_text(out, finding->rule->id);
    ts_out_put_cstring(out, "\" data-time=\"");
    ts_out_put_i64(out, commit != NULL ? commit->author_time_s : 0);
    ts_out_put_cstring(out, "\" data-count=\"");
    ts_out_put_u64(out, finding->occurrence_count);
    ts_out_put_cstring(out, "\">\n<td class=\"severity ");
    ts_out_put_cstring(out, severity);
    ts_out_put_cstring(out, "\">");
    ts_out_put_cstring(out, severity);
    ts_out_put_cstring(out, "<br><span class=\"confidence\">");
    ts_out_put_cstring(out, ts_confidence_name(finding->confidence));
    ts_out_put_cstring(out, " confidence</span></td>");
    put_finding_cell(job, finding);
    put_place_cell(job, finding);
    put_commit_cell(out, commit);
    ts_out_put_cstring(out, "<td class=\"count\">");
    report__put_grouped(out, finding->occurrence_count);
    ts_out_put_cstring(out, "</td></tr>\n");
}

void report__write_html(const struct report_job *job) {
    struct ts_out *out = job->out;
    put_head(job);
    put_verdict(job);
    put_faults(job);
    put_summary(job);
    bool has_rows = false;
    for (size_t i = 0; i < job->report->finding_count && !has_rows; i++)
        has_rows = report__is_listed(job, &job->report->findings[i]);
    if (has_rows) {
        put_controls(job);
        ts_out_put_cstring(
            out,
            "<table>\n<thead><tr><th class=\"c-severity\" data-key=\"severity\">Severity</th>"
            "<th class=\"c-finding\" data-key=\"finding\">Finding</th>"
            "<th data-key=\"place\">Place</th><th class=\"c-commit\" data-key=\"commit\">First commit</th>"
            "<th class=\"c-count\" data-key=\"count\">Occurrences</th></tr></thead>\n<tbody>\n");
        for (size_t i = 0; i < job->report->finding_count; i++)
            if (report__is_listed(job, &job->report->findings[i]))
                put_row(job, &job->report->findings[i]);
        ts_out_put_cstring(out, "</tbody>\n</table>\n");
    }
    ts_out_put_cstring(out, "</main>\n<script>");
    ts_out_put(out, report__page_script);
    ts_out_put_cstring(out, "</script>\n</body>\n</html>\n");
}
