/*
 * JSON, and JSON lines: docs/formats/findings.md. A finding is the same object in both formats.
 *
 * JSON cannot represent arbitrary bytes. A text that is not UTF-8 is written with U+FFFD for each invalid
 * byte. A second member, named with the suffix "_base64", has the exact bytes.
 */
#include "whereabouts.h"

#include "base/base64.h"
#include "base/utf8.h"
#include "os/out_json.h"

static void put_base64(struct ts_out *out, struct ts_bytes bytes) {
    for (; bytes.len > 0; bytes = ts_bytes_skip(bytes, bytes.len < 3 ? bytes.len : 3)) {
        char text[4];
        (void)ts_base64_encode(ts_bytes_first(bytes, bytes.len < 3 ? bytes.len : 3), text);
        ts_out_put(out, ts_bytes_of(text, sizeof text));
    }
}

/* Writes a comma and the name of a member. */
static void put_name(struct ts_out *out, const char *name) {
    ts_out_put_cstring(out, ", \"");
    ts_out_put_cstring(out, name);
    ts_out_put_cstring(out, "\": ");
}

static void put_text(struct ts_out *out, const char *name, const char *text) {
    put_name(out, name);
    ts_out_put_json(out, ts_bytes_of_cstring(text));
}

static void put_bytes(struct ts_out *out, const char *name, struct ts_bytes bytes) {
    put_name(out, name);
    ts_out_put_json(out, bytes);
    if (ts_utf8_is_valid(bytes))
        return;
    ts_out_put_cstring(out, ", \"");
    ts_out_put_cstring(out, name);
    ts_out_put_cstring(out, "_base64\": \"");
    put_base64(out, bytes);
    ts_out_put_char(out, '"');
}

static void put_number(struct ts_out *out, const char *name, uint64_t number) {
    put_name(out, name);
    ts_out_put_u64(out, number);
}

static void put_bool(struct ts_out *out, const char *name, bool value) {
    put_name(out, name);
    ts_out_put_cstring(out, value ? "true" : "false");
}

static void put_null(struct ts_out *out, const char *name) {
    put_name(out, name);
    ts_out_put_cstring(out, "null");
}

static void put_commit(struct ts_out *out, const struct ts_report_commit *commit) {
    if (commit == NULL) {
        ts_out_put_cstring(out, ", \"commit\": null, \"author\": null, \"email\": null, \"date\": null");
        return;
    }
    char date_text[REPORT_DATE_SIZE];
    const char *date = report__date_iso(commit, date_text);
    put_text(out, "commit", commit->oid);
    put_bytes(out, "author", commit->author_name);
    put_bytes(out, "email", commit->author_mail);
    if (date == NULL)
        put_null(out, "date");
    else
        put_text(out, "date", date);
}

static void put_occurrence(const struct report_job *job, const struct ts_report_occurrence *occurrence) {
    struct ts_out *out = job->out;
    ts_out_put_cstring(out, "{\"place\": ");
    ts_out_put_json(out, ts_bytes_of_cstring(ts_place_name(occurrence->place)));
    put_bytes(out, "repo", job->report->targets[occurrence->target].name);
    put_bytes(out, "path", occurrence->path);
    put_number(out, "line", occurrence->line);
    put_number(out, "column", occurrence->column);
    put_number(out, "end_line", occurrence->end_line);
    put_number(out, "end_column", occurrence->end_column);
    put_commit(out, report__commit_of(job->report, occurrence));
    if (occurrence->object[0] == '\0')
        put_null(out, "object");
    else
        put_text(out, "object", occurrence->object);
    char link[TS_REPORT_LINK_SIZE];
    if (ts_report_link(job->report, occurrence, link))
        put_text(out, "link", link);
    else
        put_null(out, "link");
    if (occurrence->is_allowed)
        put_bool(out, "allowed", true);
    ts_out_put_char(out, '}');
}

static void put_whereabouts(const struct report_job *job, const struct ts_report_finding *finding) {
    struct ts_out *out = job->out;
    enum ts_report_head head = ts_report_head_of(job->report, finding);
    if (head == TS_REPORT_HEAD_UNKNOWN)
        put_null(out, "in_head");
    else
        put_bool(out, "in_head", head == TS_REPORT_HEAD_HAS);
    put_name(out, "head");
    if (finding->head != NULL)
        put_occurrence(job, finding->head);
    else
        ts_out_put_cstring(out, "null");
    put_number(out, "head_count", finding->head_count);
    put_name(out, "refs");
    ts_out_put_char(out, '[');
    for (size_t i = 0; i < finding->ref_listed; i++) {
        ts_out_put_cstring(out, ts_json_separator(i, ", "));
        ts_out_put_json(out, ts_bytes_of_cstring(finding->refs[i]));
    }
    ts_out_put_char(out, ']');
    put_number(out, "ref_count", finding->ref_count);
}

static void put_pair(const struct report_job *job, const struct ts_report_finding *finding) {
    struct ts_out *out = job->out;
    const struct ts_report_finding *pair = finding->pair;
    if (pair == NULL) {
        put_null(out, "pair");
        return;
    }
    put_name(out, "pair");
    ts_out_put_cstring(out, "{\"id\": \"");
    ts_out_put_cstring(out, pair->id.text);
    ts_out_put_char(out, '"');
    put_text(out, "rule", pair->rule->id);
    put_text(out, "name", pair->rule->name);
    put_bytes(out, "secret", report__secret_of(job->report, pair));
    put_number(out, "occurrence_count", pair->occurrence_count);
    put_name(out, "occurrence");
    put_occurrence(job, report__pair_place(finding));
    ts_out_put_char(out, '}');
}

static void put_finding(const struct report_job *job, const struct ts_report_finding *finding) {
    struct ts_out *out = job->out;
    ts_out_put_cstring(out, "{\"id\": \"");
    ts_out_put_cstring(out, finding->id.text);
    ts_out_put_char(out, '"');
    put_text(out, "rule", finding->rule->id);
    put_text(out, "name", finding->rule->name);
    put_text(out, "description", finding->rule->description);
    put_text(out, "revoke", finding->rule->revoke);
    put_text(out, "url", finding->rule->url);
    put_text(out, "severity", ts_severity_name(finding->rule->severity));
    put_text(out, "confidence", ts_confidence_name(finding->confidence));
    put_bool(out, "is_new", finding->is_new);
    put_bytes(out, "secret", report__secret_of(job->report, finding));
    put_bool(out, "is_redacted", !job->report->shows_secrets);
    put_bytes(out, "excerpt", finding->excerpt);
    put_name(out, "encodings");
    ts_out_put_char(out, '[');
    for (size_t i = 0; i < finding->depth; i++) {
        ts_out_put_cstring(out, ts_json_separator(i, ", "));
        ts_out_put_json(out, ts_bytes_of_cstring(ts_encoding_name(finding->encodings[i])));
    }
    ts_out_put_char(out, ']');
    put_pair(job, finding);
    put_whereabouts(job, finding);
    put_number(out, "occurrence_count", finding->occurrence_count);
    put_name(out, "occurrences");
    ts_out_put_char(out, '[');
    for (size_t i = 0; i < finding->listed_count; i++) {
        ts_out_put_cstring(out, ts_json_separator(i, ", "));
        put_occurrence(job, &finding->occurrences[i]);
    }
    ts_out_put_cstring(out, "]}");
}

void report__write_jsonl(const struct report_job *job) {
    for (size_t i = 0; i < job->report->finding_count; i++) {
        if (!report__is_listed(job, &job->report->findings[i]))
            continue;
        put_finding(job, &job->report->findings[i]);
        ts_out_put_char(job->out, '\n');
    }
}

static void put_targets(struct ts_out *out, const struct ts_report *report) {
    ts_out_put_cstring(out, ",\n    \"targets\": [");
    for (size_t i = 0; i < report->target_count; i++) {
        const struct ts_report_target *target = &report->targets[i];
        ts_out_put_cstring(out, ts_json_separator(i, ","));
        ts_out_put_cstring(out, "\n      {\"kind\": ");
        ts_out_put_json(out, ts_bytes_of_cstring(ts_report_target_kind_name(target->kind)));
        put_bytes(out, "name", target->name);
        put_number(out, "commits", target->commits);
        put_number(out, "trees", target->trees);
        put_number(out, "tags", target->tags);
        put_number(out, "blobs", target->blobs);
        put_number(out, "bytes", target->bytes);
        put_number(out, "bytes_looked_at", target->bytes_looked_at);
        put_number(out, "blobs_known", target->blobs_known);
        put_number(out, "missing_by_design", target->missing_by_design);
        put_number(out, "cut_commits", target->cut_commits);
        put_number(out, "submodules", target->submodules);
        put_number(out, "lfs_objects", target->lfs_objects);
        put_number(out, "lfs_missing", target->lfs_missing);
        put_number(out, "encrypted_archives", target->encrypted_archives);
        put_number(out, "skipped", target->skipped);
        ts_out_put_cstring(out, target->outcome == TS_REPORT_TARGET_SCANNED ? ", \"is_scanned\": true"
                                                                            : ", \"is_scanned\": false");
        ts_out_put_char(out, '}');
    }
    ts_out_put_char(out, ']');
}

static void put_suppressions(struct ts_out *out, const struct ts_report *report) {
    ts_out_put_cstring(out, ",\n    \"suppressions\": [");
    for (size_t i = 0; i < report->suppression_count; i++) {
        const struct ts_report_suppression *by = &report->suppressions[i];
        ts_out_put_cstring(out, ts_json_separator(i, ","));
        ts_out_put_cstring(out, "\n      {\"source\": ");
        ts_out_put_json(out, ts_bytes_of_cstring(by->source));
        put_text(out, "reason", by->reason);
        put_number(out, "findings", by->findings);
        put_number(out, "occurrences", by->occurrences);
        ts_out_put_char(out, '}');
    }
    ts_out_put_char(out, ']');
}

static void put_rule_changes(struct ts_out *out, const struct ts_report *report) {
    ts_out_put_cstring(out, ",\n    \"rule_changes\": [");
    for (size_t i = 0; i < report->rule_change_count; i++) {
        const struct ts_report_rule_change *by = &report->rule_changes[i];
        ts_out_put_cstring(out, ts_json_separator(i, ","));
        ts_out_put_cstring(out, "\n      {\"change\": ");
        ts_out_put_json(out, ts_bytes_of_cstring(ts_report_rule_change_name(by->change)));
        put_bytes(out, "source", ts_bytes_of_cstring(by->source));
        if (by->target == TS_REPORT_NONE)
            put_null(out, "repo");
        else
            put_bytes(out, "repo", report->targets[by->target].name);
        put_number(out, "count", by->count);
        put_name(out, "rules");
        ts_out_put_char(out, '[');
        for (size_t k = 0; k < by->count; k++) {
            ts_out_put_cstring(out, ts_json_separator(k, ", "));
            ts_out_put_json(out, ts_bytes_of_cstring(by->rules[k]));
        }
        ts_out_put_cstring(out, "]}");
    }
    ts_out_put_char(out, ']');
}

static void put_faults_and_notes(struct ts_out *out, const struct ts_report *report) {
    ts_out_put_cstring(out, ",\n    \"is_incomplete\": ");
    ts_out_put_cstring(out, ts_report_is_incomplete(report) ? "true" : "false");
    put_bool(out, "is_stopped", report->is_stopped);
    put_number(out, "limits_hit", report->limits_hit);
    put_number(out, "fault_count", report->fault_total);
    ts_out_put_cstring(out, ",\n    \"faults\": [");
    for (size_t i = 0; i < report->fault_count; i++) {
        const struct ts_report_fault *fault = &report->faults[i];
        ts_out_put_cstring(out, ts_json_separator(i, ","));
        ts_out_put_cstring(out, "\n      {\"text\": ");
        ts_out_put_json(out, ts_bytes_of_cstring(fault->text));
        put_bytes(out, "repo", report->targets[fault->target].name);
        ts_out_put_char(out, '}');
    }
    ts_out_put_cstring(out, "],\n    \"notes\": [");
    for (size_t i = 0; i < report->note_count; i++) {
        ts_out_put_cstring(out, ts_json_separator(i, ","));
        ts_out_put_cstring(out, "\n      ");
        ts_out_put_json(out, ts_bytes_of_cstring(report->notes[i]));
    }
    ts_out_put_char(out, ']');
}

static void put_baseline(struct ts_out *out, const struct ts_report *report) {
    ts_out_put_cstring(out, ",\n    \"baseline\": ");
    if (!report->has_baseline) {
        ts_out_put_cstring(out, "null");
        return;
    }
    ts_out_put_cstring(out, "{\"known\": ");
    ts_out_put_u64(out, report->baseline_known);
    put_name(out, "gone");
    ts_out_put_char(out, '[');
    for (size_t i = 0; i < report->gone_count; i++) {
        ts_out_put_cstring(out, ts_json_separator(i, ", "));
        ts_out_put_cstring(out, "{\"id\": \"");
        ts_out_put_cstring(out, report->gone[i].id.text);
        ts_out_put_char(out, '"');
        put_text(out, "rule", report->gone[i].rule);
        ts_out_put_char(out, '}');
    }
    ts_out_put_char(out, ']');
    if (report->baseline_tool != NULL) {
        put_text(out, "tool", report->baseline_tool);
        put_number(out, "matched", report->baseline_matched);
        put_number(out, "unmatched", report->baseline_unmatched);
    }
    ts_out_put_char(out, '}');
}

static void put_summary(const struct report_job *job) {
    struct ts_out *out = job->out;
    const struct ts_report_totals *totals = &job->totals;
    ts_out_put_cstring(out, "  \"summary\": {\n    \"program\": \"turnstone\"");
    put_text(out, "version", job->options->version);
    put_number(out, "rules", job->report->rule_count);
    put_text(out, "salt", job->report->has_public_salt ? "public" : "project");
    ts_out_put_cstring(out, ",\n    \"findings\": ");
    ts_out_put_u64(out, totals->findings);
    put_number(out, "occurrences", totals->occurrences);
    put_name(out, "by_severity");
    ts_out_put_char(out, '{');
    for (size_t i = TS_REPORT_SEVERITY_COUNT; i-- > 0;) {
        ts_out_put_cstring(out, ts_json_separator(TS_REPORT_SEVERITY_COUNT - 1 - i, ", "));
        ts_out_put_json(out, ts_bytes_of_cstring(ts_severity_name((enum ts_severity)i)));
        ts_out_put_cstring(out, ": ");
        ts_out_put_u64(out, totals->by_severity[i]);
    }
    ts_out_put_char(out, '}');
    put_number(out, "suppressed", totals->suppressed);
    ts_out_put_cstring(out, ",\n    \"commits\": ");
    ts_out_put_u64(out, totals->commits);
    put_number(out, "blobs", totals->blobs);
    put_number(out, "bytes", totals->bytes);
    put_number(out, "bytes_looked_at", totals->bytes_looked_at);
    put_number(out, "blobs_known", totals->blobs_known);
    put_targets(out, job->report);
    put_rule_changes(out, job->report);
    put_suppressions(out, job->report);
    put_baseline(out, job->report);
    put_faults_and_notes(out, job->report);
    ts_out_put_cstring(out, "\n  }\n");
}

void report__put_json_list(const struct report_job *job, report_put_finding *put) {
    size_t listed = 0;
    ts_out_put_char(job->out, '[');
    for (size_t i = 0; i < job->report->finding_count; i++) {
        if (!report__is_listed(job, &job->report->findings[i]))
            continue;
        ts_out_put_cstring(job->out, ts_json_separator(listed++, ","));
        ts_out_put_cstring(job->out, "\n    ");
        put(job, &job->report->findings[i]);
    }
    ts_out_put_cstring(job->out, listed == 0 ? "]" : "\n  ]");
}

void report__write_json(const struct report_job *job) {
    ts_out_put_cstring(job->out, "{\n  \"findings\": ");
    report__put_json_list(job, put_finding);
    ts_out_put_cstring(job->out, ",\n");
    put_summary(job);
    ts_out_put_cstring(job->out, "}\n");
}
