/*
 * Implements findings and occurrences of turnstone/scan.h with rows of the report.
 */
#include "public.h"

#include <stdlib.h>
#include <string.h>

/* Makes the finding of a row. Its occurrences begin at *next, which then moves after them. */
static struct ts_scan_finding make(const struct ts_report *report, const struct ts_report_finding *row,
                                   struct ts_scan_occurrence **next) {
    struct ts_scan_finding finding = {
        .report = report, .row = row, .head = {.report = report, .row = row->head}, .occurrences = *next};
    for (size_t i = 0; i < row->listed_count; i++)
        *(*next)++ = (struct ts_scan_occurrence){.report = report, .row = &row->occurrences[i]};
    return finding;
}

bool scan__findings_make(struct ts_scan *scan) {
    const struct ts_report *report = &scan->report;
    size_t listed = 0;
    size_t pairs = 0;
    for (size_t i = 0; i < report->finding_count; i++) {
        const struct ts_report_finding *pair = report->findings[i].pair;
        listed += report->findings[i].listed_count + (pair != NULL ? pair->listed_count : 0);
        pairs += pair != NULL;
    }
    scan->findings = calloc(report->finding_count + pairs + 1, sizeof *scan->findings);
    scan->occurrences = calloc(listed + 1, sizeof *scan->occurrences);
    if (scan->findings == NULL || scan->occurrences == NULL)
        return false;
    struct ts_scan_occurrence *next = scan->occurrences;
    struct ts_scan_finding *next_pair = scan->findings + report->finding_count;
    for (size_t i = 0; i < report->finding_count; i++) {
        const struct ts_report_finding *row = &report->findings[i];
        scan->findings[i] = make(report, row, &next);
        if (row->pair == NULL)
            continue;
        *next_pair = make(report, row->pair, &next);
        scan->findings[i].pair = next_pair++;
    }
    return true;
}

/* ---- findings ---- */

#define SEVERITY_IS_THE_SAME(suffix, text)                                                                   \
    _Static_assert((int)TS_SCAN_SEVERITY_##suffix == (int)TS_SEVERITY_##suffix, text);
TS_SCAN_SEVERITIES(SEVERITY_IS_THE_SAME)
#undef SEVERITY_IS_THE_SAME

const char *ts_scan_severity_text(enum ts_scan_severity severity) {
#define SEVERITY_TEXT(suffix, text) [TS_SCAN_SEVERITY_##suffix] = text,
    static const char *const texts[] = {TS_SCAN_SEVERITIES(SEVERITY_TEXT)};
#undef SEVERITY_TEXT
    return (size_t)severity < sizeof texts / sizeof texts[0] ? texts[severity] : NULL;
}

#define CONFIDENCE_IS_THE_SAME(suffix, text)                                                                 \
    _Static_assert((int)TS_SCAN_CONFIDENCE_##suffix == (int)TS_CONFIDENCE_##suffix, text);
TS_SCAN_CONFIDENCES(CONFIDENCE_IS_THE_SAME)
#undef CONFIDENCE_IS_THE_SAME

const char *ts_scan_confidence_text(enum ts_scan_confidence confidence) {
#define CONFIDENCE_TEXT(suffix, text) [TS_SCAN_CONFIDENCE_##suffix] = text,
    static const char *const texts[] = {TS_SCAN_CONFIDENCES(CONFIDENCE_TEXT)};
#undef CONFIDENCE_TEXT
    return (size_t)confidence < sizeof texts / sizeof texts[0] ? texts[confidence] : NULL;
}

const char *ts_scan_finding_id(const struct ts_scan_finding *finding) {
    return finding->row->id.text;
}

const char *ts_scan_finding_rule(const struct ts_scan_finding *finding) {
    return finding->row->rule->id;
}

const char *ts_scan_finding_rule_name(const struct ts_scan_finding *finding) {
    return finding->row->rule->name;
}

const char *ts_scan_finding_description(const struct ts_scan_finding *finding) {
    return finding->row->rule->description;
}

const char *ts_scan_finding_revoke(const struct ts_scan_finding *finding) {
    return finding->row->rule->revoke;
}

const char *ts_scan_finding_url(const struct ts_scan_finding *finding) {
    return finding->row->rule->url;
}

enum ts_scan_severity ts_scan_finding_severity(const struct ts_scan_finding *finding) {
    return (enum ts_scan_severity)finding->row->rule->severity;
}

enum ts_scan_confidence ts_scan_finding_confidence(const struct ts_scan_finding *finding) {
    return (enum ts_scan_confidence)finding->row->confidence;
}

const char *ts_scan_finding_redacted(const struct ts_scan_finding *finding) {
    return finding->row->redacted;
}

struct ts_bytes ts_scan_finding_excerpt(const struct ts_scan_finding *finding) {
    return finding->row->excerpt;
}

struct ts_bytes ts_scan_finding_secret(const struct ts_scan_finding *finding) {
    return finding->row->secret;
}

const struct ts_scan_finding *ts_scan_finding_pair(const struct ts_scan_finding *finding) {
    return finding->pair;
}

uint64_t ts_scan_finding_occurrence_count(const struct ts_scan_finding *finding) {
    return finding->row->occurrence_count;
}

const struct ts_scan_occurrence *ts_scan_finding_occurrence(const struct ts_scan_finding *finding,
                                                            size_t index) {
    return index < finding->row->listed_count ? &finding->occurrences[index] : NULL;
}

_Static_assert((int)TS_SCAN_HEAD_UNKNOWN == (int)TS_REPORT_HEAD_UNKNOWN &&
                   (int)TS_SCAN_HEAD_GONE == (int)TS_REPORT_HEAD_GONE &&
                   (int)TS_SCAN_HEAD_HAS == (int)TS_REPORT_HEAD_HAS,
               "the same values");

enum ts_scan_head ts_scan_finding_in_head(const struct ts_scan_finding *finding) {
    return (enum ts_scan_head)ts_report_head_of(finding->report, finding->row);
}

const struct ts_scan_occurrence *ts_scan_finding_head(const struct ts_scan_finding *finding) {
    return finding->head.row != NULL ? &finding->head : NULL;
}

uint64_t ts_scan_finding_ref_count(const struct ts_scan_finding *finding) {
    return finding->row->ref_count;
}

const char *ts_scan_finding_ref(const struct ts_scan_finding *finding, size_t index) {
    return index < finding->row->ref_listed ? finding->row->refs[index] : NULL;
}

/* ---- occurrences ---- */

static const struct ts_report_commit *commit_of(const struct ts_scan_occurrence *occurrence) {
    uint32_t commit = occurrence->row->commit;
    return commit != TS_REPORT_NONE ? &occurrence->report->commits[commit] : NULL;
}

size_t ts_scan_occurrence_target(const struct ts_scan_occurrence *occurrence) {
    return occurrence->row->target;
}

const char *ts_scan_occurrence_place(const struct ts_scan_occurrence *occurrence) {
    return ts_place_name(occurrence->row->place);
}

struct ts_bytes ts_scan_occurrence_path(const struct ts_scan_occurrence *occurrence) {
    return occurrence->row->path;
}

uint64_t ts_scan_occurrence_line(const struct ts_scan_occurrence *occurrence) {
    return occurrence->row->line;
}

uint64_t ts_scan_occurrence_column(const struct ts_scan_occurrence *occurrence) {
    return occurrence->row->column;
}

uint64_t ts_scan_occurrence_end_line(const struct ts_scan_occurrence *occurrence) {
    return occurrence->row->end_line;
}

uint64_t ts_scan_occurrence_end_column(const struct ts_scan_occurrence *occurrence) {
    return occurrence->row->end_column;
}

const char *ts_scan_occurrence_object(const struct ts_scan_occurrence *occurrence) {
    return occurrence->row->object;
}

const char *ts_scan_occurrence_commit(const struct ts_scan_occurrence *occurrence) {
    const struct ts_report_commit *commit = commit_of(occurrence);
    return commit != NULL ? commit->oid : "";
}

struct ts_bytes ts_scan_occurrence_author_name(const struct ts_scan_occurrence *occurrence) {
    const struct ts_report_commit *commit = commit_of(occurrence);
    return commit != NULL ? commit->author_name : (struct ts_bytes){NULL, 0};
}

struct ts_bytes ts_scan_occurrence_author_mail(const struct ts_scan_occurrence *occurrence) {
    const struct ts_report_commit *commit = commit_of(occurrence);
    return commit != NULL ? commit->author_mail : (struct ts_bytes){NULL, 0};
}

int64_t ts_scan_occurrence_author_time_s(const struct ts_scan_occurrence *occurrence) {
    const struct ts_report_commit *commit = commit_of(occurrence);
    return commit != NULL ? commit->author_time_s : 0;
}

size_t ts_scan_occurrence_link(const struct ts_scan_occurrence *occurrence, char *ret_link, size_t size) {
    char link[TS_REPORT_LINK_SIZE];
    if (!ts_report_link(occurrence->report, occurrence->row, link))
        return 0;
    size_t len = strlen(link);
    if (len < size)
        memcpy(ret_link, link, len + 1);
    return len;
}
