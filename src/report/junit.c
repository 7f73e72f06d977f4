/*
 * JUnit XML: a test case for each target, and one for each finding. A finding's case has failed, or is
 * skipped if its confidence is too low to fail the scan. A target's case has an error if a part of the target
 * could not be read, and is skipped if the target is empty. Suppressions are in the output of the suite.
 */
#include "markup.h"
#include "whereabouts.h"

/* Returns whether there are faults of the scan as a whole, not of one target. */
static bool has_common_trouble(const struct ts_report *report) {
    return report->is_stopped || report->limits_hit > 0 || report->fault_total > report->fault_count;
}

static bool has_fault(const struct ts_report *report, size_t target) {
    for (size_t i = 0; i < report->fault_count; i++)
        if (report->faults[i].target == target)
            return true;
    return false;
}

/* Returns whether the finding fails the scan. If not, its test case is reported as skipped. */
static bool fails(const struct report_job *job, const struct ts_report_finding *finding) {
    return finding->confidence >= job->options->fails_from;
}

struct counts {
    uint64_t findings;
    uint64_t failures;
    uint64_t errors;
    uint64_t skipped;
};

static struct counts count(const struct report_job *job) {
    const struct ts_report *report = job->report;
    struct counts counts = {.errors = has_common_trouble(report) ? 1 : 0};
    for (size_t i = 0; i < report->finding_count; i++) {
        if (!report__is_listed(job, &report->findings[i]))
            continue;
        bool is_failure = fails(job, &report->findings[i]);
        counts.findings++;
        counts.failures += is_failure ? 1 : 0;
        counts.skipped += is_failure ? 0 : 1;
    }
    for (size_t i = 0; i < report->target_count; i++) {
        if (has_fault(report, i))
            counts.errors++;
        else if (report__is_empty(&report->targets[i]))
            counts.skipped++;
    }
    return counts;
}

static void put_number(struct ts_out *out, const char *name, uint64_t number) {
    ts_out_put_char(out, ' ');
    ts_out_put_cstring(out, name);
    ts_out_put_cstring(out, "=\"");
    ts_out_put_u64(out, number);
    ts_out_put_char(out, '"');
}

static void put_suite(const struct report_job *job, const char *element) {
    struct counts counts = count(job);
    uint64_t tests = counts.findings + job->report->target_count + (has_common_trouble(job->report) ? 1 : 0);
    ts_out_put_char(job->out, '<');
    ts_out_put_cstring(job->out, element);
    ts_out_put_cstring(job->out, " name=\"turnstone\"");
    put_number(job->out, "tests", tests);
    put_number(job->out, "failures", counts.failures);
    put_number(job->out, "errors", counts.errors);
    put_number(job->out, "skipped", counts.skipped);
    ts_out_put_cstring(job->out, ">\n");
}

static void put_target(const struct report_job *job, size_t number) {
    struct ts_out *out = job->out;
    const struct ts_report_target *target = &job->report->targets[number];
    ts_out_put_cstring(out, "    <testcase classname=\"turnstone.scan\" name=\"");
    ts_out_put_cstring(out, ts_report_target_kind_name(target->kind));
    ts_out_put_char(out, ' ');
    report__put_markup(out, target->name, REPORT_BACKSLASH_DOUBLED);
    ts_out_put_cstring(out, "\">\n");
    if (has_fault(job->report, number)) {
        ts_out_put_cstring(out,
                           "      <error type=\"incomplete\" message=\"not everything could be scanned\">");
        for (size_t i = 0; i < job->report->fault_count; i++) {
            if (job->report->faults[i].target != number)
                continue;
            report__put_markup_text(out, job->report->faults[i].text);
            ts_out_put_char(out, '\n');
        }
        ts_out_put_cstring(out, "</error>\n");
    } else if (report__is_empty(target)) {
        ts_out_put_cstring(out, "      <skipped message=\"there is nothing to scan\"/>\n");
    }
    ts_out_put_cstring(out, "      <system-out>");
    ts_out_put_cstring(out, report__content(target).text);
    ts_out_put_cstring(out, "</system-out>\n    </testcase>\n");
}

static void put_common_trouble(const struct report_job *job) {
    struct ts_out *out = job->out;
    ts_out_put_cstring(out, "    <testcase classname=\"turnstone.scan\" name=\"completeness\">\n"
                            "      <error type=\"incomplete\" message=\"not everything could be scanned\">");
    if (job->report->is_stopped)
        ts_out_put_cstring(out, "stopped by a signal\n");
    report__put_count(out, job->report->fault_total, "fault", "faults");
    ts_out_put_cstring(out, ", ");
    report__put_count(out, job->report->limits_hit, "match", "matches");
    ts_out_put_cstring(out, " abandoned at a pattern's step limit</error>\n    </testcase>\n");
}

static void put_output(const struct report_job *job) {
    struct ts_out *out = job->out;
    const struct ts_report *report = job->report;
    if (report->rule_change_count + report->suppression_count + report->note_count == 0)
        return;
    ts_out_put_cstring(out, "    <system-out>");
    for (size_t i = 0; i < report->rule_change_count; i++) {
        char line[TS_REPORT_LINE_SIZE];
        report__put_markup_text(out, ts_report_rule_change_text(report, &report->rule_changes[i], line));
        ts_out_put_char(out, '\n');
    }
    for (size_t i = 0; i < report->suppression_count; i++) {
        const struct ts_report_suppression *by = &report->suppressions[i];
        report__put_count(out, by->findings, "finding", "findings");
        ts_out_put_cstring(out, " suppressed by ");
        report__put_markup_text(out, by->source);
        ts_out_put_cstring(out, by->reason[0] != '\0' ? ": " : "");
        report__put_markup_text(out, by->reason);
        ts_out_put_char(out, '\n');
    }
    for (size_t i = 0; i < report->note_count; i++) {
        report__put_markup_text(out, report->notes[i]);
        ts_out_put_char(out, '\n');
    }
    ts_out_put_cstring(out, "</system-out>\n");
}

static void put_commit(struct ts_out *out, const struct ts_report_commit *commit) {
    char date_text[REPORT_DATE_SIZE];
    const char *date = report__date_utc(commit, date_text);
    ts_out_put_cstring(out, "\ncommit ");
    ts_out_put_cstring(out, commit->oid);
    ts_out_put_cstring(out, ", ");
    ts_out_put_cstring(out, date != NULL ? date : "date unknown");
    ts_out_put_cstring(out, ", ");
    report__put_markup(out, commit->author_name, REPORT_BACKSLASH_DOUBLED);
    ts_out_put_cstring(out, " &lt;");
    report__put_markup(out, commit->author_mail, REPORT_BACKSLASH_DOUBLED);
    ts_out_put_cstring(out, "&gt;");
}

/* Writes where the secret is now, and where it came from. */
static void put_place(const struct report_job *job, const struct ts_report_finding *finding) {
    struct ts_out *out = job->out;
    char link[TS_REPORT_LINK_SIZE];
    enum ts_report_head head = ts_report_head_of(job->report, finding);
    if (head == TS_REPORT_HEAD_HAS) {
        ts_out_put_cstring(out, "still in HEAD: ");
        report__put_markup_place(out, finding->head);
        ts_out_put_cstring(out, "\nfirst in ");
    }
    report__put_markup_place(out, &finding->occurrences[0]);
    ts_out_put_cstring(out, head == TS_REPORT_HEAD_GONE ? ", not in HEAD\n" : "\n");
    for (size_t i = 0; i < finding->ref_listed; i++) {
        ts_out_put_cstring(out, i == 0 ? "reachable from " : ", ");
        report__put_markup_text(out, report__ref_short(finding->refs[i]));
    }
    if (finding->ref_count > finding->ref_listed) {
        ts_out_put_cstring(out, " and ");
        ts_out_put_u64(out, finding->ref_count - finding->ref_listed);
        ts_out_put_cstring(out, " more");
    }
    ts_out_put_cstring(out, finding->ref_listed > 0 ? "\n" : "");
    if (ts_report_link(job->report, report__main_place(finding), link)) {
        ts_out_put_cstring(out, link);
        ts_out_put_char(out, '\n');
    }
}

static void put_help(struct ts_out *out, const struct ts_rule *rule) {
    if (rule->description[0] != '\0') {
        ts_out_put_cstring(out, "\nhow it is abused: ");
        report__put_markup_text(out, rule->description);
    }
    if (rule->revoke[0] != '\0') {
        ts_out_put_cstring(out, "\nto revoke it: ");
        report__put_markup_text(out, rule->revoke);
    }
    if (rule->url[0] != '\0') {
        ts_out_put_char(out, '\n');
        report__put_markup_text(out, rule->url);
    }
}

static void put_finding(const struct report_job *job, const struct ts_report_finding *finding) {
    struct ts_out *out = job->out;
    const struct ts_report_occurrence *first = &finding->occurrences[0];
    const struct ts_report_commit *commit = report__commit_of(job->report, first);
    ts_out_put_cstring(out, "    <testcase classname=\"");
    report__put_markup_text(out, finding->rule->id);
    ts_out_put_cstring(out, "\" name=\"");
    report__put_markup_place(out, report__main_place(finding));
    ts_out_put_cstring(out, " ");
    ts_out_put_cstring(out, finding->id.text);
    if (fails(job, finding)) {
        ts_out_put_cstring(out, "\">\n      <failure type=\"");
        ts_out_put_cstring(out, ts_severity_name(finding->rule->severity));
        ts_out_put_cstring(out, "\" message=\"");
    } else { /* `type` is missing, because readers' schemas do not allow it here */
        ts_out_put_cstring(out, "\">\n      <skipped message=\"");
    }
    report__put_markup_text(out, finding->rule->name);
    ts_out_put_cstring(out, ": ");
    report__put_markup(out, report__secret_of(job->report, finding), REPORT_BACKSLASH_DOUBLED);
    ts_out_put_cstring(out, "\">");
    put_place(job, finding);
    report__put_markup(out, finding->excerpt, REPORT_BACKSLASH_KEPT);
    if (finding->pair != NULL) {
        ts_out_put_cstring(out, "\nwith ");
        report__put_markup_text(out, finding->pair->rule->name);
        ts_out_put_char(out, ' ');
        report__put_markup(out, report__secret_of(job->report, finding->pair), REPORT_BACKSLASH_DOUBLED);
        ts_out_put_cstring(out, ": ");
        report__put_markup_place(out, report__pair_place(finding));
    }
    if (commit != NULL)
        put_commit(out, commit);
    put_help(out, finding->rule);
    ts_out_put_cstring(out, "\n");
    ts_out_put_u64(out, finding->occurrence_count);
    ts_out_put_cstring(out, finding->occurrence_count == 1 ? " occurrence, " : " occurrences, ");
    ts_out_put_cstring(out, ts_confidence_name(finding->confidence));
    ts_out_put_cstring(out, fails(job, finding)
                                ? " confidence</failure>\n    </testcase>\n"
                                : " confidence, which does not fail the scan</skipped>\n    </testcase>\n");
}

void report__write_junit(const struct report_job *job) {
    ts_out_put_cstring(job->out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    put_suite(job, "testsuites");
    ts_out_put_cstring(job->out, "  ");
    put_suite(job, "testsuite");
    for (size_t i = 0; i < job->report->target_count; i++)
        put_target(job, i);
    if (has_common_trouble(job->report))
        put_common_trouble(job);
    for (size_t i = 0; i < job->report->finding_count; i++)
        if (report__is_listed(job, &job->report->findings[i]))
            put_finding(job, &job->report->findings[i]);
    put_output(job);
    ts_out_put_cstring(job->out, "  </testsuite>\n</testsuites>\n");
}
