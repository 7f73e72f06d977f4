/*
 * GitLab's report of secret detection, version 15.0.0 of its schema: a vulnerability for each finding.
 *
 * GitLab recognises a vulnerability by its location. So the location is the first occurrence, which is the
 * same in every later scan. The place in HEAD is one of the details. GitLab keeps reports and shows them to
 * every developer: so a report contains neither secrets nor excerpts, even if the scan shows secrets.
 */
#include "whereabouts.h"

#include "os/out_json.h"

#include <stdio.h>
#include <string.h>

/* GitLab's own scanner writes this for files that no commit has. */
#define NO_COMMIT "0000000"

static void put_member(struct ts_out *out, const char *before, const char *text) {
    ts_out_put_cstring(out, before);
    ts_out_put_json(out, ts_bytes_of_cstring(text));
}

/* --- the scan --- */

static void put_program(const struct report_job *job, const char *role) {
    put_member(job->out, "    ", role);
    put_member(job->out,
               ": {\"id\": \"turnstone\", \"name\": \"Turnstone\", \"version\": ", job->options->version);
    ts_out_put_cstring(job->out, ", \"vendor\": {\"name\": \"Turnstone\"}},\n");
}

static void put_message(struct ts_out *out, size_t *count, const char *level, const char *text) {
    ts_out_put_cstring(out, ts_json_separator((*count)++, ","));
    ts_out_put_cstring(out, "\n      ");
    put_member(out, "{\"level\": ", level);
    put_member(out, ", \"value\": ", text);
    ts_out_put_char(out, '}');
}

static void put_suppressions(struct ts_out *out, size_t *count, const struct ts_report *report) {
    for (size_t i = 0; i < report->suppression_count; i++) {
        const struct ts_report_suppression *by = &report->suppressions[i];
        char line[TS_REPORT_LINE_SIZE];
        snprintf(line, sizeof line, "%s suppressed by %s%s%s",
                 report__count(by->findings, "finding", "findings").text, by->source,
                 by->reason[0] != '\0' ? ": " : "", by->reason);
        put_message(out, count, "info", line);
    }
}

static void put_messages(const struct report_job *job) {
    struct ts_out *out = job->out;
    const struct ts_report *report = job->report;
    size_t count = 0;
    ts_out_put_cstring(out, "    \"messages\": [");
    for (size_t i = 0; i < report->fault_count; i++)
        put_message(out, &count, "warn", report->faults[i].text);
    if (report->fault_total > report->fault_count)
        put_message(out, &count, "warn", "there are more faults than are listed here");
    if (report->limits_hit > 0)
        put_message(out, &count, "warn", "matches were abandoned at a pattern's step limit");
    if (report->is_stopped)
        put_message(out, &count, "fatal", "the scan was stopped by a signal");
    for (size_t i = 0; i < report->rule_change_count; i++) {
        char line[TS_REPORT_LINE_SIZE];
        const struct ts_report_rule_change *change = &report->rule_changes[i];
        put_message(out, &count, ts_report_is_rule_lost(change) ? "warn" : "info",
                    ts_report_rule_change_text(report, change, line));
    }
    put_suppressions(out, &count, report);
    for (size_t i = 0; i < report->note_count; i++)
        put_message(out, &count, "info", report->notes[i]);
    ts_out_put_cstring(out, count == 0 ? "],\n" : "\n    ],\n");
}

static void put_scan(const struct report_job *job) {
    struct ts_out *out = job->out;
    char time[REPORT_DATE_SIZE];
    ts_out_put_cstring(out, "  \"scan\": {\n");
    put_program(job, "analyzer");
    put_program(job, "scanner");
    put_messages(job);
    put_member(out, "    \"type\": \"secret_detection\", \"start_time\": ",
               report__time_utc(job->options->start_s, time));
    put_member(out, ", \"end_time\": ", report__time_utc(job->options->end_s, time));
    put_member(out, ", \"status\": ", ts_report_is_incomplete(job->report) ? "failure" : "success");
    ts_out_put_cstring(out, "\n  },\n");
}

/* --- findings --- */

static const char *severity_of(enum ts_severity severity) {
    switch (severity) {
    case TS_SEVERITY_CRITICAL:
        return "Critical";
    case TS_SEVERITY_HIGH:
        return "High";
    case TS_SEVERITY_MEDIUM:
        return "Medium";
    case TS_SEVERITY_LOW:
        return "Low";
    }
    return "Unknown";
}

static bool is_page(const char *url) {
    return strncmp(url, "https://", 8) == 0 || strncmp(url, "http://", 7) == 0;
}

static void put_rule(struct ts_out *out, const struct ts_rule *rule) {
    put_member(out, ", \"name\": ", rule->name);
    put_member(out, ", \"description\": ", rule->description[0] != '\0' ? rule->description : rule->name);
    put_member(out, ", \"severity\": ", severity_of(rule->severity));
    if (rule->revoke[0] != '\0')
        put_member(out, ", \"solution\": ", rule->revoke);
    put_member(out, ",\n     \"identifiers\": [{\"type\": \"turnstone_rule_id\", \"name\": ", rule->id);
    put_member(out, ", \"value\": ", rule->id);
    if (is_page(rule->url))
        put_member(out, ", \"url\": ", rule->url);
    ts_out_put_cstring(out, "}]");
}

static bool is_file(enum ts_place place) {
    return place == TS_PLACE_FILE || place == TS_PLACE_STAGED || place == TS_PLACE_WORKING_TREE;
}

static void put_commit(struct ts_out *out, const struct ts_report_commit *commit) {
    char date_text[REPORT_DATE_SIZE];
    const char *date = report__date_iso(commit, date_text);
    put_member(out, "{\"sha\": ", commit->oid);
    ts_out_put_cstring(out, ", \"author\": \"");
    ts_out_put_json_part(out, commit->author_name);
    ts_out_put_cstring(out, " <");
    ts_out_put_json_part(out, commit->author_mail);
    ts_out_put_cstring(out, ">\"");
    if (date != NULL)
        put_member(out, ", \"date\": ", date);
    ts_out_put_char(out, '}');
}

static void put_location(const struct report_job *job, const struct ts_report_occurrence *first) {
    struct ts_out *out = job->out;
    const struct ts_report_commit *commit = report__commit_of(job->report, first);
    ts_out_put_cstring(out, ",\n     \"location\": {");
    if (is_file(first->place) && first->path.len > 0) {
        ts_out_put_cstring(out, "\"file\": ");
        ts_out_put_json(out, first->path);
        ts_out_put_cstring(out, ", ");
    }
    ts_out_put_cstring(out, "\"start_line\": ");
    ts_out_put_u64(out, first->line);
    ts_out_put_cstring(out, ", \"end_line\": ");
    ts_out_put_u64(out, first->end_line);
    ts_out_put_cstring(out, ", \"commit\": ");
    if (commit != NULL)
        put_commit(out, commit);
    else
        ts_out_put_cstring(out, "{\"sha\": \"" NO_COMMIT "\"}");
    ts_out_put_char(out, '}');
}

static void put_refs(struct ts_out *out, const struct ts_report_finding *finding) {
    ts_out_put_cstring(out,
                       ", \"refs\": {\"name\": \"Branches and tags\", \"type\": \"text\", \"value\": \"");
    for (size_t i = 0; i < finding->ref_listed; i++) {
        ts_out_put_cstring(out, ts_json_separator(i, ", "));
        ts_out_put_json_part(out, ts_bytes_of_cstring(report__ref_short(finding->refs[i])));
    }
    if (finding->ref_count > finding->ref_listed) {
        ts_out_put_cstring(out, " and ");
        ts_out_put_u64(out, finding->ref_count - finding->ref_listed);
        ts_out_put_cstring(out, " more");
    }
    ts_out_put_cstring(out, "\"}");
}

static void put_details(const struct report_job *job, const struct ts_report_finding *finding) {
    struct ts_out *out = job->out;
    enum ts_report_head head = ts_report_head_of(job->report, finding);
    put_member(out,
               ",\n     \"details\": {\"secret\": {\"name\": \"Secret\", \"type\": \"text\", \"value\": ",
               finding->redacted);
    if (finding->pair != NULL) {
        put_member(out, "}, \"pair\": {\"name\": ", finding->pair->rule->name);
        put_member(out, ", \"type\": \"text\", \"value\": ", finding->pair->redacted);
    }
    put_member(out, "}, \"place\": {\"name\": \"Place\", \"type\": \"text\", \"value\": ",
               ts_place_name(finding->occurrences[0].place));
    put_member(out, "}, \"confidence\": {\"name\": \"Confidence\", \"type\": \"text\", \"value\": ",
               ts_confidence_name(finding->confidence));
    ts_out_put_cstring(out,
                       "}, \"occurrences\": {\"name\": \"Occurrences\", \"type\": \"value\", \"value\": ");
    ts_out_put_u64(out, finding->occurrence_count);
    ts_out_put_char(out, '}');
    if (head == TS_REPORT_HEAD_HAS && finding->head->path.len > 0) {
        ts_out_put_cstring(
            out, ", \"head\": {\"name\": \"Still in HEAD\", \"type\": \"file-location\", \"file_name\": ");
        ts_out_put_json(out, finding->head->path);
        ts_out_put_cstring(out, ", \"line_start\": ");
        ts_out_put_u64(out, finding->head->line);
        ts_out_put_cstring(out, ", \"line_end\": ");
        ts_out_put_u64(out, finding->head->end_line);
        ts_out_put_char(out, '}');
    }
    if (head == TS_REPORT_HEAD_GONE)
        ts_out_put_cstring(
            out, ", \"head\": {\"name\": \"Still in HEAD\", \"type\": \"value\", \"value\": false}");
    if (finding->ref_listed > 0)
        put_refs(out, finding);
    ts_out_put_char(out, '}');
}

static void put_finding(const struct report_job *job, const struct ts_report_finding *finding) {
    struct ts_out *out = job->out;
    char link[TS_REPORT_LINK_SIZE];
    put_member(out, "{\"id\": ", finding->id.text);
    ts_out_put_cstring(out, ", \"category\": \"secret_detection\"");
    put_rule(out, finding->rule);
    put_location(job, &finding->occurrences[0]);
    put_details(job, finding);
    if (ts_report_link(job->report, report__main_place(finding), link)) {
        put_member(out, ",\n     \"links\": [{\"name\": \"The secret\", \"url\": ", link);
        ts_out_put_cstring(out, "}]");
    }
    if (finding->confidence == TS_CONFIDENCE_LOW)
        ts_out_put_cstring(out,
                           ",\n     \"flags\": [{\"type\": \"flagged-as-likely-false-positive\", \"origin\": "
                           "\"turnstone\", \"description\": \"low confidence\"}]");
    ts_out_put_char(out, '}');
}

void report__write_gitlab(const struct report_job *job) {
    ts_out_put_cstring(job->out, "{\n  \"version\": \"15.0.0\",\n");
    put_scan(job);
    ts_out_put_cstring(job->out, "  \"vulnerabilities\": ");
    report__put_json_list(job, put_finding);
    ts_out_put_cstring(job->out, "\n}\n");
}
