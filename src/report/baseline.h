/*
 * Baselines: known findings, so that a scan shows only new ones. docs/formats/baseline.md describes the file.
 *
 * A baseline contains only finding ids and rules: no dates, lines or paths. Entries are written sorted, so
 * that the same findings give the same bytes. A baseline that is read may have any order and duplicate lines,
 * because merges produce them.
 */
#ifndef TS_REPORT_BASELINE_H
#define TS_REPORT_BASELINE_H

#include "report/report.h"

#include "os/out.h"

#include <stdbool.h>
#include <stddef.h>

#define TS_BASELINE_SIZE_MAX    ((size_t)256 << 20)
#define TS_BASELINE_ENTRIES_MAX ((size_t)4 << 20)
#define TS_BASELINE_SALT_MIN    16
#define TS_BASELINE_SALT_MAX    64
#define TS_BASELINE_CHECK_LEN   16

enum ts_baseline_error_kind {
    TS_BASELINE_NONE,
    TS_BASELINE_UNREADABLE,
    TS_BASELINE_NOT_A_BASELINE,
    TS_BASELINE_BAD_LINE,
    TS_BASELINE_TOO_LARGE,
    TS_BASELINE_OTHER_SALT,
    TS_BASELINE_NO_ENTROPY,
    TS_BASELINE_NO_MEMORY,
    TS_BASELINE_UNWRITABLE,
};

struct ts_baseline_error {
    enum ts_baseline_error_kind kind;
    size_t line;    /* number of the line; 0: the error does not concern a line */
    char text[400]; /* one line: what is wrong, why, and how to fix it */
};

struct ts_baseline {
    uint8_t salt[TS_BASELINE_SALT_MAX];
    size_t salt_len;                       /* 0: the file has no salt */
    char check[TS_BASELINE_CHECK_LEN + 1]; /* identifies the key of the ids; "" if the file has no `key` */
    struct ts_report_gone *entries;        /* sorted by id, without duplicates */
    size_t count;
    struct ts_report_gone *gone; /* memory for the list that ts_baseline_apply makes */
    char *memory;
};

/* Parses a baseline; `file` is its name in messages. On failure there is nothing to release. */
bool ts_baseline_parse(const char *file, struct ts_bytes text, struct ts_baseline *ret_baseline,
                       struct ts_baseline_error *ret_error);
/* Reads a file; the caller frees the text. A text that is too large is cut, and ts_baseline_parse then
 * refuses it. */
bool ts_baseline_load(const char *path, char **ret_text, size_t *ret_len,
                      struct ts_baseline_error *ret_error);

bool ts_baseline_read(const char *path, struct ts_baseline *ret_baseline,
                      struct ts_baseline_error *ret_error);
void ts_baseline_release(struct ts_baseline *baseline);

/* Makes a baseline with no entries and a newly drawn salt. */
bool ts_baseline_new_salt(struct ts_baseline *ret_baseline, struct ts_baseline_error *ret_error);

/* Returns the salt that a scan must use so that its ids match the baseline: the baseline's own salt, or if
 * the baseline has none, the project's salt. */
struct ts_bytes ts_baseline_salt(const struct ts_baseline *baseline, struct ts_bytes project_salt);

/* Returns whether ids made with this key can match the baseline. */
bool ts_baseline_fits(const struct ts_baseline *baseline, const struct ts_finding_key *key, const char *file,
                      struct ts_baseline_error *ret_error);

/* Marks every finding as new or known, counts the known findings, and lists entries that were not found. The
 * baseline owns the list, so release the baseline after the report. */
void ts_baseline_apply(struct ts_baseline *baseline, struct ts_report *report);

/* Writes the findings of a report as a baseline, with the salt of `baseline` (no salt if it is NULL), and
 * with a short hash of `key`, the key of the ids. `out` keeps the first error. Returns false when memory runs
 * out. */
bool ts_baseline_write(const struct ts_baseline *baseline, const struct ts_finding_key *key,
                       const struct ts_report *report, struct ts_out *out);

/* Writes a baseline to a file, completely or not at all. */
bool ts_baseline_save(const struct ts_baseline *baseline, const struct ts_finding_key *key,
                      const struct ts_report *report, const char *path, struct ts_baseline_error *ret_error);

#endif
