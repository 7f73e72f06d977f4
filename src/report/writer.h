/*
 * Shared by the writers.
 */
#ifndef TS_REPORT_WRITER_H
#define TS_REPORT_WRITER_H

#include "write.h"

#include "base/redact.h"

/* The report, the options and the output of a writer. */
struct report_job {
    const struct ts_report *report;
    const struct ts_report_options *options;
    struct ts_out *out;
    struct ts_report_totals totals;
};

#define REPORT_WRITER_DECLARE(suffix, name, extension, writer)                                               \
    void report__write_##writer(const struct report_job *job);
TS_REPORT_FORMATS(REPORT_WRITER_DECLARE)
#undef REPORT_WRITER_DECLARE

bool report__is_listed(const struct report_job *job, const struct ts_report_finding *finding);

typedef void report_put_finding(const struct report_job *job, const struct ts_report_finding *finding);
/* Writes the listed findings as a JSON array, one per line, indented by four blanks. */
void report__put_json_list(const struct report_job *job, report_put_finding *put);

/* Returns the first commit of an occurrence, or NULL if it has no commit. */
const struct ts_report_commit *report__commit_of(const struct ts_report *report,
                                                 const struct ts_report_occurrence *occurrence);

/* Returns the secret if the report shows secrets, otherwise its redacted form. */
struct ts_bytes report__secret_of(const struct ts_report *report, const struct ts_report_finding *finding);

enum report_backslash { REPORT_BACKSLASH_DOUBLED, REPORT_BACKSLASH_KEPT };

/* Writes one character in its shown form; see write.h. A tab in an excerpt becomes a blank. Returns the
 * number of bytes of the character. */
size_t report__show_one(struct ts_bytes bytes, enum report_backslash backslash,
                        char ret_piece[static TS_TEXT_PIECE_MAX], size_t *ret_piece_len);

/* Characters that some format escapes: \\ " & < > ' */
extern const bool report__is_special[256];

/* Returns the number of bytes at the start that every format shows unchanged: usually most of the bytes. */
static inline size_t report__plain_len(struct ts_bytes bytes) {
    size_t len = 0;
    while (len < bytes.len && bytes.data[len] >= ' ' && bytes.data[len] < 0x7f &&
           !report__is_special[bytes.data[len]])
        len++;
    return len;
}

/* Writes all characters of bytes in their shown form. */
void report__put_shown(struct ts_out *out, struct ts_bytes bytes, enum report_backslash backslash);

/* Describes where an occurrence is, for people: before, subject, ":LINE:COLUMN", after. "src/a.c:12:4
 * (staged)", "commit message:3:1", "tag v1.0:2:1", "object 5f2c…:1:1" for a blob without a path. Only the
 * subject needs escaping. */
struct report_place {
    const char *before;
    struct ts_bytes subject;
    const char *after;
};
struct report_place report__place_of(const struct ts_report_occurrence *occurrence);

/* Texts for people. report__grouped makes "1,234", report__count makes "1,234 blobs" or "1 blob", and
 * report__content makes "12 commits, 1,234 blobs, 91.4 MB". */
struct report_words {
    char text[120];
};
struct report_words report__grouped(uint64_t number);
struct report_words report__count(uint64_t count, const char *one, const char *many);
struct report_words report__content(const struct ts_report_target *target);
void report__put_grouped(struct ts_out *out, uint64_t number);
void report__put_count(struct ts_out *out, uint64_t count, const char *one, const char *many);

/* Consecutive suppressions that are lines of the same file, such as .gitleaksignore. If there are many, only
 * the first suppressions are shown, and one sentence counts the rest. */
struct report_suppressions {
    size_t count;
    size_t shown;
    struct ts_bytes file; /* the name of the file; empty: one suppression of another kind */
    uint64_t left_occurrences;
};
struct report_suppressions report__suppressions_from(const struct ts_report *report, size_t first);
#define REPORT_SUPPRESSIONS_REST ", which a JSON report lists"

/* Returns the line without blanks and line breaks at its ends. */
struct ts_bytes report__trimmed(struct ts_bytes line);

/* Return whether a target has nothing to scan, and whether no target has anything to scan. */
bool report__is_empty(const struct ts_report_target *target);
bool report__looked_at_nothing(const struct ts_report *report);

/* Room for any date. */
#define REPORT_DATE_SIZE 32

/* Writes a date such as "2024-03-01T14:22:07+01:00", in the author's zone. Returns NULL for a time outside
 * the years 0 to 9999. */
const char *report__date_iso(const struct ts_report_commit *commit, char ret_text[static REPORT_DATE_SIZE]);

/* Writes a date such as "2024-03-01 13:22 UTC". */
const char *report__date_utc(const struct ts_report_commit *commit, char ret_text[static REPORT_DATE_SIZE]);

/* Writes a time such as "2024-03-01T13:22:07", in UTC; 1970-01-01 for a time outside the years 0 to 9999. */
const char *report__time_utc(int64_t time_s, char ret_text[static REPORT_DATE_SIZE]);

#endif
