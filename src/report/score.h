/*
 * A report compared with the labels of a corpus: which secrets were found, and which findings are false
 * positives.
 *
 *     recall      secrets that a finding touches, of all secrets
 *     precision   findings that touch a secret, of all findings
 *
 * Only findings of the minimum confidence or above count. A second finding for the same secret is a double,
 * which counts neither as right nor as wrong.
 */
#ifndef TS_REPORT_SCORE_H
#define TS_REPORT_SCORE_H

#include "report/labels.h"
#include "report/report.h"

#define TS_REPORT_CONFIDENCE_COUNT 3

/* Counts of a family, of a rule, or of the whole corpus. The secrets of a rule are the secrets that the rule
 * found. */
struct ts_score_row {
    const char *name;
    uint64_t secrets;
    uint64_t found;
    uint64_t false_positives;
};

/* Something to check: a missed secret, or a false positive. */
struct ts_score_miss {
    const char *path;
    struct ts_label_place at;
    const char *family; /* family of the secret; for a false positive: the labelled kind, or "" */
    const char *rule;   /* rule that should have found the secret, or ""; for a false positive: its rule */
};

struct ts_score {
    struct ts_score_row all;
    uint64_t negatives; /* labels of false positives */
    uint64_t doubles;
    uint64_t by_another_rule; /* secrets found only by rules other than the labelled one */
    struct ts_score_row by_confidence[TS_REPORT_CONFIDENCE_COUNT]; /* findings of exactly this confidence */
    /* sorted by name; the family of a rule is the name of its file */
    struct ts_score_row *families;
    size_t family_count;
    struct ts_score_row *rules; /* rules that found something, sorted by name */
    size_t rule_count;
    struct ts_score_miss *missed;
    size_t missed_count;
    struct ts_score_miss *wrong;
    size_t wrong_count;
    void *memory;
};

/* Compares a report with the labels. The report must list all occurrences. The score borrows texts of the
 * report and the labels. Returns false when memory runs out. */
bool ts_score_make(const struct ts_labels *labels, const struct ts_report *report,
                   enum ts_confidence least_confidence, struct ts_score *ret_score);
void ts_score_release(struct ts_score *score);

/* Return recall and precision; 1 if the divisor is 0. */
double ts_score_recall(const struct ts_score_row *row);
double ts_score_precision(const struct ts_score_row *row);

#endif
