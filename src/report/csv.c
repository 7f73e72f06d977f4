/*
 * CSV as in RFC 4180: a line for each listed occurrence. Lines end with CR LF. A field that contains a comma
 * or a quote, or begins or ends with a blank, is quoted.
 *
 * Spreadsheets treat a field that begins with = + - @ (or their full-width forms) as a formula, even if it is
 * quoted. Such a field gets an apostrophe in front, and so does a field that begins with an apostrophe: to
 * read a text field, drop one apostrophe at its beginning. Line breaks, tabs and other control bytes are
 * already \xNN (write.h), so a line of the file is a line of the table.
 */
#include "whereabouts.h"

static bool begins_formula(struct ts_bytes text) {
    static const char *const starts[] = {"=",
                                         "+",
                                         "-",
                                         "@",
                                         "'",
                                         "\xef\xbc\x9d",  /* ＝ */
                                         "\xef\xbc\x8b",  /* ＋ */
                                         "\xef\xbc\x8d",  /* － */
                                         "\xef\xbc\xa0"}; /* ＠ */
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++)
        if (ts_bytes_starts_with(text, ts_bytes_of_cstring(starts[i])))
            return true;
    return false;
}

static bool needs_quotes(struct ts_bytes text) {
    if (text.len > 0 && (text.data[0] == ' ' || text.data[text.len - 1] == ' '))
        return true;
    for (size_t i = 0; i < text.len; i++)
        if (text.data[i] == ',' || text.data[i] == '"')
            return true;
    return false;
}

static void put_field(struct ts_out *out, struct ts_bytes text, enum report_backslash backslash) {
    bool quoted = needs_quotes(text);
    if (quoted)
        ts_out_put_char(out, '"');
    if (begins_formula(text))
        ts_out_put_char(out, '\'');
    while (text.len > 0) {
        size_t plain = report__plain_len(text);
        ts_out_put(out, ts_bytes_first(text, plain));
        text = ts_bytes_skip(text, plain);
        if (text.len == 0)
            break;
        char piece[TS_TEXT_PIECE_MAX];
        size_t piece_len;
        size_t taken = report__show_one(text, backslash, piece, &piece_len);
        if (piece_len == 1 && piece[0] == '"')
            ts_out_put_char(out, '"');
        ts_out_put(out, ts_bytes_of(piece, piece_len));
        text = ts_bytes_skip(text, taken);
    }
    if (quoted)
        ts_out_put_char(out, '"');
}

static void put_next(struct ts_out *out, struct ts_bytes text) {
    ts_out_put_char(out, ',');
    put_field(out, text, REPORT_BACKSLASH_DOUBLED);
}

static void put_next_text(struct ts_out *out, const char *text) {
    put_next(out, ts_bytes_of_cstring(text));
}

static void put_next_number(struct ts_out *out, uint64_t number) {
    ts_out_put_char(out, ',');
    ts_out_put_u64(out, number);
}

static void put_finding(const struct report_job *job, const struct ts_report_finding *finding) {
    struct ts_out *out = job->out;
    ts_out_put_cstring(out, finding->id.text);
    put_next_text(out, finding->rule->id);
    put_next_text(out, finding->rule->name);
    put_next_text(out, ts_severity_name(finding->rule->severity));
    put_next_text(out, ts_confidence_name(finding->confidence));
    put_next_text(out, finding->is_new ? "yes" : "no");
    put_next(out, report__secret_of(job->report, finding));
    ts_out_put_char(out, ',');
    put_field(out, finding->excerpt, REPORT_BACKSLASH_KEPT);
    ts_out_put_char(out, ',');
    for (size_t i = 0; i < finding->depth; i++) {
        ts_out_put_cstring(out, i == 0 ? "" : " ");
        ts_out_put_cstring(out, ts_encoding_name(finding->encodings[i]));
    }
    put_next_number(out, finding->occurrence_count);
}

/* Writes a ref name into a quoted field. The name has no blank. If the name begins like a formula, an
 * apostrophe precedes it. */
static void put_ref(struct ts_out *out, const char *ref) {
    if (begins_formula(ts_bytes_of_cstring(ref)))
        ts_out_put_char(out, '\'');
    for (; *ref != '\0'; ref++) {
        char piece[TS_TEXT_PIECE_MAX];
        size_t piece_len;
        size_t taken =
            report__show_one(ts_bytes_of_cstring(ref), REPORT_BACKSLASH_DOUBLED, piece, &piece_len);
        if (piece_len == 1 && piece[0] == '"')
            ts_out_put_char(out, '"');
        ts_out_put(out, ts_bytes_of(piece, piece_len));
        ref += taken - 1;
    }
}

static void put_occurrence(const struct report_job *job, const struct ts_report_occurrence *occurrence) {
    struct ts_out *out = job->out;
    const struct ts_report_commit *commit = report__commit_of(job->report, occurrence);
    put_next_text(out, ts_place_name(occurrence->place));
    put_next(out, job->report->targets[occurrence->target].name);
    put_next(out, occurrence->path);
    put_next_number(out, occurrence->line);
    put_next_number(out, occurrence->column);
    put_next_number(out, occurrence->end_line);
    put_next_number(out, occurrence->end_column);
    if (commit == NULL) {
        ts_out_put_cstring(out, ",,,,");
    } else {
        char date_text[REPORT_DATE_SIZE];
        const char *date = report__date_iso(commit, date_text);
        put_next_text(out, commit->oid);
        put_next(out, commit->author_name);
        put_next(out, commit->author_mail);
        put_next_text(out, date != NULL ? date : "");
    }
    put_next_text(out, occurrence->object);
}

static void put_whereabouts(const struct report_job *job, const struct ts_report_finding *finding,
                            const struct ts_report_occurrence *occurrence) {
    struct ts_out *out = job->out;
    char link[TS_REPORT_LINK_SIZE];
    enum ts_report_head head = ts_report_head_of(job->report, finding);
    put_next_text(out, head == TS_REPORT_HEAD_UNKNOWN ? "" : head == TS_REPORT_HEAD_HAS ? "yes" : "no");
    put_next(out, finding->head != NULL ? finding->head->path : TS_BYTES(""));
    if (finding->head != NULL)
        put_next_number(out, finding->head->line);
    else
        ts_out_put_char(out, ',');
    ts_out_put_char(out, ',');
    for (size_t i = 0; i < finding->ref_listed; i++) {
        ts_out_put_cstring(out, i == 0 ? "\"" : " ");
        put_ref(out, report__ref_short(finding->refs[i]));
    }
    ts_out_put_cstring(out, finding->ref_listed > 0 ? "\"" : "");
    put_next_number(out, finding->ref_count);
    put_next_text(out, ts_report_link(job->report, occurrence, link) ? link : "");
    put_next_text(out, finding->rule->description);
    put_next_text(out, finding->rule->revoke);
    put_next_text(out, finding->rule->url);
    put_next_text(out, finding->pair != NULL ? finding->pair->rule->id : "");
    put_next(out, finding->pair != NULL ? report__secret_of(job->report, finding->pair) : TS_BYTES(""));
    ts_out_put_cstring(out, "\r\n");
}

void report__write_csv(const struct report_job *job) {
    ts_out_put_cstring(
        job->out,
        "id,rule,name,severity,confidence,is_new,secret,excerpt,encodings,occurrence_count,place,"
        "repo,path,line,column,end_line,end_column,commit,author,email,date,object,"
        "in_head,head_path,head_line,refs,ref_count,link,description,revoke,url,pair_rule,pair\r\n");
    for (size_t i = 0; i < job->report->finding_count; i++) {
        const struct ts_report_finding *finding = &job->report->findings[i];
        if (!report__is_listed(job, finding))
            continue;
        for (size_t k = 0; k < finding->listed_count; k++) {
            put_finding(job, finding);
            put_occurrence(job, &finding->occurrences[k]);
            put_whereabouts(job, finding, &finding->occurrences[k]);
        }
    }
}
