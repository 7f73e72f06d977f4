/*
 * Baselines: findings that are known, so that a scan shows what is new. docs/formats/baseline.md describes the file.
 *
 * A baseline has finding ids and rules only: no dates, no lines, no paths. It is sorted, so that the same findings give the same bytes, and it
 * is read in any order and with lines twice, as merging leaves it.
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

#define TS_BASELINE_ERRORS(X)                                                                                \
    X(NONE, "none")                                                                                          \
    X(UNREADABLE, "unreadable")                                                                              \
    X(NOT_A_BASELINE, "not a baseline")                                                                      \
    X(BAD_LINE, "bad line")                                                                                  \
    X(TOO_LARGE, "too large")                                                                                \
    X(OTHER_SALT, "other salt")                                                                              \
    X(NO_ENTROPY, "no random bytes")                                                                         \
    X(NO_MEMORY, "out of memory")                                                                            \
    X(UNWRITABLE, "unwritable")

#define TS_BASELINE_ERROR_ENUM(suffix, text) TS_BASELINE_##suffix,
enum ts_baseline_error_kind { TS_BASELINE_ERRORS(TS_BASELINE_ERROR_ENUM) };
#undef TS_BASELINE_ERROR_ENUM

struct ts_baseline_error {
    enum ts_baseline_error_kind kind;
    size_t line;    /* 0: not of a line */
    char text[400]; /* one line: thing, reason, cure */
};

const char *ts_baseline_error_name(enum ts_baseline_error_kind kind);

struct ts_baseline {
    uint8_t salt[TS_BASELINE_SALT_MAX];
    size_t salt_len; /* 0: the file has none of its own */
    char check[TS_BASELINE_CHECK_LEN +
               1];                  /* of the key that its ids were made with; "" when it does not say */
    struct ts_report_gone *entries; /* by id, each once */
    size_t count;
    struct ts_report_gone *gone; /* room for ts_baseline_apply */
    char *memory;
};

/* `file` is what messages call it. On failure there is nothing to release. */
bool ts_baseline_parse(const char *file, struct ts_bytes text, struct ts_baseline *ret_baseline,
                       struct ts_baseline_error *ret_error);
bool ts_baseline_read(const char *path, struct ts_baseline *ret_baseline,
                      struct ts_baseline_error *ret_error);
void ts_baseline_release(struct ts_baseline *baseline);

/* A baseline that has nothing but a salt of its own, drawn now. */
bool ts_baseline_new_salt(struct ts_baseline *ret_baseline, struct ts_baseline_error *ret_error);

/* The salt that a scan must use so that its ids are those of the baseline: its own, or else the one given, the project's. */
struct ts_bytes ts_baseline_salt(const struct ts_baseline *baseline, struct ts_bytes project_salt);

/* Whether ids made with this key can be those of the baseline. */
bool ts_baseline_fits(const struct ts_baseline *baseline, const struct ts_finding_key *key, const char *file,
                      struct ts_baseline_error *ret_error);

/* Says of every finding whether it is new, counts the known ones, and lists what is gone; the list is the baseline's, which must
 * outlive the report. */
void ts_baseline_apply(struct ts_baseline *baseline, struct ts_report *report);

/* The findings of a report as a baseline: the salt is that of `baseline`, which may be NULL; the key is the one the ids were made
 * with. Errors stick to `out`. False when there is no memory. */
bool ts_baseline_write(const struct ts_baseline *baseline, const struct ts_finding_key *key,
                       const struct ts_report *report, struct ts_out *out);

/* The same into a file, all of it or not at all. */
bool ts_baseline_save(const struct ts_baseline *baseline, const struct ts_finding_key *key,
                      const struct ts_report *report, const char *path, struct ts_baseline_error *ret_error);

#endif
