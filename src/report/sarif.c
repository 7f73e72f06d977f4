/*
 * SARIF 2.1.0: one run, with a result for each finding. The location is the place in HEAD, or if there is
 * none, the first occurrence. The listed occurrences are related locations. The finding's id is the
 * fingerprint, so that viewers can follow a finding through moves and rebases.
 *
 * A target is a base of URIs, TARGET0 and so on. It has a URI only if its absolute path is known, because
 * SARIF does not allow relative URIs there. SARIF counts columns in characters (columns.h); unknown columns
 * are omitted.
 */
#include "columns.h"
#include "whereabouts.h"

#include "base/hex.h"
#include "os/out_json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put_json_text(struct ts_out *out, const char *text) {
    ts_out_put_json(out, ts_bytes_of_cstring(text));
}

/* Writes `before` and a JSON string. */
static void put_member(struct ts_out *out, const char *before, const char *text) {
    ts_out_put_cstring(out, before);
    put_json_text(out, text);
}

static const char *level_of(enum ts_severity severity) {
    switch (severity) {
    case TS_SEVERITY_CRITICAL:
    case TS_SEVERITY_HIGH:
        return "error";
    case TS_SEVERITY_MEDIUM:
        return "warning";
    case TS_SEVERITY_LOW:
        return "note";
    }
    return "none";
}

/* Returns the severity on the scale of CVSS, by which code hosts sort alerts. */
static const char *security_severity_of(enum ts_severity severity) {
    switch (severity) {
    case TS_SEVERITY_CRITICAL:
        return "9.5";
    case TS_SEVERITY_HIGH:
        return "8.0";
    case TS_SEVERITY_MEDIUM:
        return "5.5";
    case TS_SEVERITY_LOW:
        return "3.0";
    }
    return "0.0";
}

/* --- URIs --- */

static void put_percent(struct ts_out *out, struct ts_bytes path) {
    for (size_t i = 0; i < path.len; i++) {
        char text[3];
        const size_t len = ts_percent_encode(path.data[i], text);
        ts_out_put(out, path.data[i] == '/' ? TS_BYTES("/") : ts_bytes_of(text, len));
    }
}

static bool is_absolute(struct ts_bytes name) {
    return name.len > 0 && name.data[0] == '/';
}

static bool has_uri(const struct report_job *job, const struct ts_report_target *target) {
    return target->kind != TS_REPORT_TARGET_KIND_INPUT &&
           (is_absolute(target->name) || job->options->folder != NULL);
}

/* Writes "file:///srv/app/", quoted. Folders end with a slash, because SARIF requires it for a base. */
static void put_target_uri(const struct report_job *job, const struct ts_report_target *target) {
    struct ts_bytes name = target->name;
    ts_out_put_cstring(job->out, "\"file://");
    if (!is_absolute(name)) {
        struct ts_bytes folder = ts_bytes_of_cstring(job->options->folder);
        put_percent(job->out, folder);
        if (folder.len == 0 || folder.data[folder.len - 1] != '/')
            ts_out_put_char(job->out, '/');
        while (ts_bytes_starts_with(name, TS_BYTES("./")))
            name = ts_bytes_skip(name, 2);
        if (ts_bytes_equal(name, TS_BYTES(".")))
            name = TS_BYTES("");
    }
    put_percent(job->out, name);
    bool is_folder = target->kind != TS_REPORT_TARGET_KIND_FILE;
    if (is_folder && name.len > 0 && name.data[name.len - 1] != '/')
        ts_out_put_char(job->out, '/');
    ts_out_put_char(job->out, '"');
}

static void put_base_id(struct ts_out *out, size_t target) {
    ts_out_put_cstring(out, "\"TARGET");
    ts_out_put_u64(out, target);
    ts_out_put_char(out, '"');
}

/* --- rules --- */

struct rule_of_run {
    const struct ts_rule *rule;
};

struct rules {
    struct rule_of_run *rules; /* sorted by id, without duplicates */
    size_t count;
};

static int compare_rules(const void *left, const void *right) {
    const struct rule_of_run *a = left;
    const struct rule_of_run *b = right;
    return strcmp(a->rule->id, b->rule->id);
}

/* Collects the rules that found something. Returns false when memory runs out. */
static bool rules_init(const struct report_job *job, struct rules *ret) {
    const struct ts_report *report = job->report;
    *ret = (struct rules){0};
    if (report->finding_count == 0)
        return true;
    ret->rules = calloc(report->finding_count, sizeof *ret->rules);
    if (ret->rules == NULL)
        return false;
    for (size_t i = 0; i < report->finding_count; i++)
        if (report__is_listed(job, &report->findings[i]))
            ret->rules[ret->count++].rule = report->findings[i].rule;
    if (ret->count > 1)
        qsort(ret->rules, ret->count, sizeof *ret->rules, compare_rules);
    size_t kept = 0;
    for (size_t i = 0; i < ret->count; i++)
        if (kept == 0 || compare_rules(&ret->rules[kept - 1], &ret->rules[i]) != 0)
            ret->rules[kept++] = ret->rules[i];
    ret->count = kept;
    return true;
}

static size_t rule_index(const struct rules *rules, const struct ts_rule *rule) {
    const struct rule_of_run wanted = {rule};
    const struct rule_of_run *found =
        bsearch(&wanted, rules->rules, rules->count, sizeof *rules->rules, compare_rules);
    return (size_t)(found - rules->rules);
}

/* Writes a text of a rule as Markdown in a JSON string. The text is escaped, so that untrusted text stays
 * plain text. */
static void put_markdown_part(struct ts_out *out, const char *text) {
    while (*text != '\0') {
        size_t plain = strcspn(text, "\\`*_{}[]()<>#|!~&");
        ts_out_put_json_part(out, ts_bytes_of(text, plain));
        text += plain;
        if (*text == '\0')
            return;
        ts_out_put_json_part(out, TS_BYTES("\\"));
        ts_out_put_json_part(out, ts_bytes_of(text, 1));
        text++;
    }
}

/* Writes the instructions for a finding of the rule. */
static void put_help(struct ts_out *out, const struct ts_rule *rule) {
    ts_out_put_cstring(out, "}, \"help\": {\"text\": \"");
    ts_out_put_json_part(out, ts_bytes_of_cstring(rule->name));
    ts_out_put_char(out, '.');
    if (rule->description[0] != '\0') {
        ts_out_put_cstring(out, " How it is abused: ");
        ts_out_put_json_part(out, ts_bytes_of_cstring(rule->description));
    }
    if (rule->revoke[0] != '\0') {
        ts_out_put_cstring(out, " To revoke it: ");
        ts_out_put_json_part(out, ts_bytes_of_cstring(rule->revoke));
    }
    ts_out_put_cstring(out, "\", \"markdown\": \"");
    put_markdown_part(out, rule->name);
    if (rule->description[0] != '\0') {
        ts_out_put_cstring(out, "\\n\\n**How it is abused:** ");
        put_markdown_part(out, rule->description);
    }
    if (rule->revoke[0] != '\0') {
        ts_out_put_cstring(out, "\\n\\n**To revoke it:** ");
        put_markdown_part(out, rule->revoke);
    }
    if (rule->url[0] != '\0') {
        ts_out_put_cstring(out, "\\n\\n<");
        ts_out_put_json_part(out, ts_bytes_of_cstring(rule->url));
        ts_out_put_char(out, '>');
    }
    ts_out_put_char(out, '"');
}

static void put_rule(struct ts_out *out, const struct ts_rule *rule) {
    put_member(out, "{\"id\": ", rule->id);
    if (rule->url[0] != '\0')
        put_member(out, ", \"helpUri\": ", rule->url);
    put_member(out, ", \"shortDescription\": {\"text\": ", rule->name);
    if (rule->description[0] != '\0')
        put_member(out, "}, \"fullDescription\": {\"text\": ", rule->description);
    put_help(out, rule);
    put_member(out, "}, \"defaultConfiguration\": {\"level\": ", level_of(rule->severity));
    put_member(out, "}, \"properties\": {\"tags\": [\"security\", \"secret\"], \"security-severity\": ",
               security_severity_of(rule->severity));
    put_member(out, ", \"severity\": ", ts_severity_name(rule->severity));
    ts_out_put_cstring(out, "}}");
}

/* Writes a version as a semantic version: "0.1.0.dev53+g01234" as "0.1.0-dev53+g01234". */
static void put_semantic_version(struct ts_out *out, const char *version) {
    char semantic[100];
    snprintf(semantic, sizeof semantic, "%s", version);
    char *dev = strstr(semantic, ".dev");
    if (dev != NULL)
        *dev = '-';
    put_member(out, ", \"semanticVersion\": ", semantic);
}

static void put_tool(const struct report_job *job, const struct rules *rules) {
    struct ts_out *out = job->out;
    put_member(out,
               "      \"tool\": {\"driver\": {\"name\": \"turnstone\", \"version\": ", job->options->version);
    put_semantic_version(out, job->options->version);
    ts_out_put_cstring(out, ", \"rules\": [");
    for (size_t i = 0; i < rules->count; i++) {
        ts_out_put_cstring(out, ts_json_separator(i, ","));
        ts_out_put_cstring(out, "\n        ");
        put_rule(out, rules->rules[i].rule);
    }
    ts_out_put_cstring(out, "\n      ]}},\n");
}

/* --- the scan and its result --- */

static void put_targets(const struct report_job *job) {
    struct ts_out *out = job->out;
    ts_out_put_cstring(out, "      \"originalUriBaseIds\": {");
    for (size_t i = 0; i < job->report->target_count; i++) {
        const struct ts_report_target *target = &job->report->targets[i];
        ts_out_put_cstring(out, ts_json_separator(i, ","));
        ts_out_put_cstring(out, "\n        ");
        put_base_id(out, i);
        ts_out_put_cstring(out, ": {");
        if (has_uri(job, target) && target->kind != TS_REPORT_TARGET_KIND_FILE) {
            ts_out_put_cstring(out, "\"uri\": ");
            put_target_uri(job, target);
            ts_out_put_cstring(out, ", ");
        }
        ts_out_put_cstring(out, "\"description\": {\"text\": ");
        ts_out_put_json(out, target->name);
        ts_out_put_cstring(out, "}}");
    }
    ts_out_put_cstring(out, "\n      },\n      \"versionControlProvenance\": [");
    size_t repositories = 0;
    for (size_t i = 0; i < job->report->target_count; i++) {
        const struct ts_report_target *target = &job->report->targets[i];
        if (target->kind != TS_REPORT_TARGET_KIND_REPOSITORY || !has_uri(job, target))
            continue;
        ts_out_put_cstring(out, ts_json_separator(repositories++, ","));
        ts_out_put_cstring(out, "\n        {\"repositoryUri\": ");
        put_target_uri(job, target);
        ts_out_put_cstring(out, ", \"mappedTo\": {\"uriBaseId\": ");
        put_base_id(out, i);
        ts_out_put_cstring(out, "}}");
    }
    ts_out_put_cstring(out, "\n      ],\n");
}

static void put_notification(struct ts_out *out, size_t *count, const char *level, const char *text) {
    ts_out_put_cstring(out, ts_json_separator((*count)++, ","));
    ts_out_put_cstring(out, "\n          ");
    put_member(out, "{\"level\": ", level);
    put_member(out, ", \"message\": {\"text\": ", text);
    ts_out_put_cstring(out, "}}");
}

/* Writes the changes of rules: as a warning if a target removes or replaces rules, otherwise as a note. */
static void put_rule_changes(const struct report_job *job) {
    struct ts_out *out = job->out;
    const struct ts_report *report = job->report;
    size_t count = 0;
    ts_out_put_cstring(out, "\n        ],\n        \"toolConfigurationNotifications\": [");
    for (size_t i = 0; i < report->rule_change_count; i++) {
        char line[TS_REPORT_LINE_SIZE];
        const struct ts_report_rule_change *change = &report->rule_changes[i];
        put_notification(out, &count, ts_report_is_rule_lost(change) ? "warning" : "note",
                         ts_report_rule_change_text(report, change, line));
    }
}

static void put_suppressions(struct ts_out *out, const struct ts_report *report) {
    ts_out_put_cstring(out, ", \"suppressions\": [");
    for (size_t i = 0; i < report->suppression_count; i++) {
        const struct ts_report_suppression *by = &report->suppressions[i];
        ts_out_put_cstring(out, ts_json_separator(i, ", "));
        put_member(out, "{\"source\": ", by->source);
        put_member(out, ", \"reason\": ", by->reason);
        ts_out_put_cstring(out, ", \"findings\": ");
        ts_out_put_u64(out, by->findings);
        ts_out_put_cstring(out, ", \"occurrences\": ");
        ts_out_put_u64(out, by->occurrences);
        ts_out_put_char(out, '}');
    }
    ts_out_put_char(out, ']');
}

static void put_invocation(const struct report_job *job) {
    struct ts_out *out = job->out;
    const struct ts_report *report = job->report;
    const struct ts_report_totals *totals = &job->totals;
    ts_out_put_cstring(out, "      \"invocations\": [{\"executionSuccessful\": ");
    ts_out_put_cstring(out, ts_report_is_incomplete(report) ? "false" : "true");
    ts_out_put_cstring(out, ",\n        \"toolExecutionNotifications\": [");
    size_t count = 0;
    for (size_t i = 0; i < report->fault_count; i++)
        put_notification(out, &count, "error", report->faults[i].text);
    if (report->fault_total > report->fault_count)
        put_notification(out, &count, "error", "there are more faults than are listed here");
    if (report->limits_hit > 0)
        put_notification(out, &count, "error", "matches were abandoned at a pattern's step limit");
    if (report->is_stopped)
        put_notification(out, &count, "error", "the scan was stopped by a signal");
    for (size_t i = 0; i < report->note_count; i++)
        put_notification(out, &count, "note", report->notes[i]);
    put_rule_changes(job);
    ts_out_put_cstring(out, "\n        ],\n        \"properties\": {\"commits\": ");
    ts_out_put_u64(out, totals->commits);
    ts_out_put_cstring(out, ", \"blobs\": ");
    ts_out_put_u64(out, totals->blobs);
    ts_out_put_cstring(out, ", \"bytes\": ");
    ts_out_put_u64(out, totals->bytes);
    ts_out_put_cstring(out, ", \"rules\": ");
    ts_out_put_u64(out, report->rule_count);
    ts_out_put_cstring(out, ", \"suppressed\": ");
    ts_out_put_u64(out, totals->suppressed);
    put_suppressions(out, report);
    ts_out_put_cstring(out, ", \"baselineKnown\": ");
    ts_out_put_u64(out, report->baseline_known);
    ts_out_put_cstring(out, "}}],\n");
}

/* --- results --- */

/* Writes the lines and columns of an occurrence. Without a start column, readers assume the first column of
 * the line; without an end column, the last. */
static void put_region(const struct report_job *job, const struct ts_report_finding *finding,
                       const struct ts_report_occurrence *occurrence, const struct ts_bytes *excerpt) {
    struct ts_out *out = job->out;
    struct report_columns columns = report__columns_of(job->report, finding, occurrence);
    ts_out_put_cstring(out, "{\"startLine\": ");
    ts_out_put_u64(out, occurrence->line);
    if (columns.start != 0) {
        ts_out_put_cstring(out, ", \"startColumn\": ");
        ts_out_put_u64(out, columns.start);
    }
    ts_out_put_cstring(out, ", \"endLine\": ");
    ts_out_put_u64(out, occurrence->end_line);
    if (columns.end != 0) {
        ts_out_put_cstring(out, ", \"endColumn\": ");
        ts_out_put_u64(out, columns.end);
    }
    if (excerpt != NULL) {
        ts_out_put_cstring(out, ", \"snippet\": {\"text\": ");
        ts_out_put_json(out, *excerpt);
        ts_out_put_char(out, '}');
    }
    ts_out_put_char(out, '}');
}

/* Writes the URI of an occurrence. Code hosts refuse a whole report if one result has no path, so an
 * occurrence outside a file gets a path below .git, where git tracks no files. */
static void put_uri(struct ts_out *out, const struct ts_report_occurrence *occurrence) {
    const bool is_in_file = occurrence->place == TS_PLACE_FILE || occurrence->place == TS_PLACE_STAGED ||
                            occurrence->place == TS_PLACE_WORKING_TREE;
    if (is_in_file && occurrence->path.len > 0) {
        put_percent(out, occurrence->path);
        return;
    }
    ts_out_put_cstring(out, ".git/");
    put_percent(out, ts_bytes_of_cstring(ts_place_name(occurrence->place)));
    if (occurrence->object[0] != '\0') {
        ts_out_put_char(out, '/');
        put_percent(out, ts_bytes_of_cstring(occurrence->object));
    }
}

static void put_physical(const struct report_job *job, const struct ts_report_finding *finding,
                         const struct ts_report_occurrence *occurrence, const struct ts_bytes *excerpt) {
    struct ts_out *out = job->out;
    ts_out_put_cstring(out, "\"physicalLocation\": {\"artifactLocation\": {\"uri\": \"");
    put_uri(out, occurrence);
    ts_out_put_char(out, '"');
    if (job->report->targets[occurrence->target].kind != TS_REPORT_TARGET_KIND_FILE) {
        ts_out_put_cstring(out, ", \"uriBaseId\": ");
        put_base_id(out, occurrence->target);
    }
    ts_out_put_cstring(out, "}, \"region\": ");
    put_region(job, finding, occurrence, excerpt);
    ts_out_put_cstring(out, "}, ");
}

/* Writes the place and the commit, because a finding outside a file has only a made-up path (put_uri). */
static void put_logical(const struct report_job *job, const struct ts_report_occurrence *occurrence) {
    struct ts_out *out = job->out;
    const struct ts_report_commit *commit = report__commit_of(job->report, occurrence);
    put_member(out, "\"logicalLocations\": [{\"kind\": ", ts_place_name(occurrence->place));
    ts_out_put_cstring(out, ", \"name\": ");
    if (occurrence->path.len > 0)
        ts_out_put_json(out, occurrence->path);
    else
        put_json_text(out, occurrence->object[0] != '\0' ? occurrence->object : "-");
    if (commit != NULL) {
        put_member(out, "}, {\"kind\": \"commit\", \"name\": ", commit->oid);
    }
    ts_out_put_cstring(out, "}]");
}

static void put_origin(const struct report_job *job, const struct ts_report_occurrence *occurrence) {
    struct ts_out *out = job->out;
    const struct ts_report_commit *commit = report__commit_of(job->report, occurrence);
    put_member(out, ", \"properties\": {\"place\": ", ts_place_name(occurrence->place));
    ts_out_put_cstring(out, ", \"line\": ");
    ts_out_put_u64(out, occurrence->line);
    ts_out_put_cstring(out, ", \"column\": ");
    ts_out_put_u64(out, occurrence->column);
    if (occurrence->object[0] != '\0')
        put_member(out, ", \"object\": ", occurrence->object);
    if (commit != NULL) {
        char date_text[REPORT_DATE_SIZE];
        const char *date = report__date_iso(commit, date_text);
        put_member(out, ", \"commit\": ", commit->oid);
        ts_out_put_cstring(out, ", \"author\": ");
        ts_out_put_json(out, commit->author_name);
        ts_out_put_cstring(out, ", \"email\": ");
        ts_out_put_json(out, commit->author_mail);
        if (date != NULL)
            put_member(out, ", \"date\": ", date);
    }
    ts_out_put_char(out, '}');
}

static void put_location(const struct report_job *job, const struct ts_report_finding *finding,
                         const struct ts_report_occurrence *occurrence, const struct ts_bytes *excerpt) {
    ts_out_put_char(job->out, '{');
    put_physical(job, finding, occurrence, excerpt);
    put_logical(job, occurrence);
    put_origin(job, occurrence);
    ts_out_put_char(job->out, '}');
}

static void put_whereabouts(const struct report_job *job, const struct ts_report_finding *finding) {
    struct ts_out *out = job->out;
    char link[TS_REPORT_LINK_SIZE];
    enum ts_report_head head = ts_report_head_of(job->report, finding);
    if (head != TS_REPORT_HEAD_UNKNOWN)
        ts_out_put_cstring(out, head == TS_REPORT_HEAD_HAS ? ", \"inHead\": true" : ", \"inHead\": false");
    ts_out_put_cstring(out, ", \"refs\": [");
    for (size_t i = 0; i < finding->ref_listed; i++)
        put_member(out, ts_json_separator(i, ", "), finding->refs[i]);
    ts_out_put_cstring(out, "], \"refCount\": ");
    ts_out_put_u64(out, finding->ref_count);
    if (ts_report_link(job->report, report__main_place(finding), link))
        put_member(out, ", \"link\": ", link);
}

static void put_result(const struct report_job *job, const struct rules *rules,
                       const struct ts_report_finding *finding) {
    struct ts_out *out = job->out;
    put_member(out, "{\"ruleId\": ", finding->rule->id);
    ts_out_put_cstring(out, ", \"ruleIndex\": ");
    ts_out_put_u64(out, rule_index(rules, finding->rule));
    put_member(
        out, ", \"level\": ",
        level_of(finding->confidence == TS_CONFIDENCE_LOW ? TS_SEVERITY_LOW : finding->rule->severity));
    ts_out_put_cstring(out, ", \"message\": {\"text\": \"");
    ts_out_put_json_part(out, ts_bytes_of_cstring(finding->rule->name));
    ts_out_put_cstring(out, ": ");
    ts_out_put_json_part(out, report__secret_of(job->report, finding));
    if (finding->pair != NULL) {
        ts_out_put_cstring(out, ", with ");
        ts_out_put_json_part(out, ts_bytes_of_cstring(finding->pair->rule->name));
        ts_out_put_char(out, ' ');
        ts_out_put_json_part(out, report__secret_of(job->report, finding->pair));
    }
    ts_out_put_cstring(out, "\"");
    put_member(out, "}, \"partialFingerprints\": {\"turnstoneFindingId/v1\": ", finding->id.text);
    ts_out_put_cstring(out, "}, \"occurrenceCount\": ");
    ts_out_put_u64(out, finding->occurrence_count);
    if (job->report->has_baseline)
        put_member(out, ", \"baselineState\": ", finding->is_new ? "new" : "unchanged");
    ts_out_put_cstring(out, ",\n         \"locations\": [");
    const struct ts_report_occurrence *first = &finding->occurrences[0];
    const struct ts_report_occurrence *main_place = report__main_place(finding);
    /* If the place in HEAD is also the first occurrence, the columns of the place are known. */
    if (strcmp(main_place->object, first->object) == 0 && main_place->line == first->line &&
        ts_bytes_equal(main_place->path, first->path))
        main_place = first;
    put_location(job, finding, main_place, main_place == first ? &finding->excerpt : NULL);
    ts_out_put_char(out, ']');
    size_t from = main_place == first ? 1 : 0;
    if (finding->listed_count > from)
        ts_out_put_cstring(out, ",\n         \"relatedLocations\": [");
    for (size_t i = from; i < finding->listed_count; i++) {
        ts_out_put_cstring(out, ts_json_separator(i - from, ", "));
        put_location(job, finding, &finding->occurrences[i], NULL);
    }
    ts_out_put_cstring(out, finding->listed_count > from ? "]" : "");
    put_member(out, ",\n         \"properties\": {\"confidence\": ", ts_confidence_name(finding->confidence));
    put_whereabouts(job, finding);
    ts_out_put_cstring(out, ", \"secret\": ");
    ts_out_put_json(out, report__secret_of(job->report, finding));
    ts_out_put_cstring(out, ", \"encodings\": [");
    for (size_t i = 0; i < finding->depth; i++)
        put_member(out, ts_json_separator(i, ", "), ts_encoding_name(finding->encodings[i]));
    ts_out_put_cstring(out, "]}}");
}

void report__write_sarif(const struct report_job *job) {
    struct ts_out *out = job->out;
    struct rules rules;
    if (!rules_init(job, &rules)) {
        out->error = ENOMEM;
        return;
    }
    ts_out_put_cstring(out, "{\n  \"$schema\": \"https://json.schemastore.org/sarif-2.1.0.json\",\n"
                            "  \"version\": \"2.1.0\",\n  \"runs\": [\n    {\n");
    put_tool(job, &rules);
    put_invocation(job);
    put_targets(job);
    ts_out_put_cstring(out, "      \"columnKind\": \"unicodeCodePoints\",\n");
    if (!job->report->shows_secrets)
        ts_out_put_cstring(out, "      \"redactionTokens\": [\"" TS_REPORT_MASK "\", \"…\"],\n");
    ts_out_put_cstring(out, "      \"results\": [");
    size_t listed = 0;
    for (size_t i = 0; i < job->report->finding_count; i++) {
        if (!report__is_listed(job, &job->report->findings[i]))
            continue;
        ts_out_put_cstring(out, ts_json_separator(listed++, ","));
        ts_out_put_cstring(out, "\n        ");
        put_result(job, &rules, &job->report->findings[i]);
    }
    ts_out_put_cstring(out, "\n      ]\n    }\n  ]\n}\n");
    free(rules.rules);
}
