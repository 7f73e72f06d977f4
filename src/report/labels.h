/*
 * The labels of a corpus: where its secrets are, and which places are false positives.
 *
 *     # a comment; empty lines are comments too
 *     app/settings.py <TAB> 12:15 <TAB> 12:55 <TAB> cloud <TAB> aws-secret-access-key
 *     app/settings.py <TAB> 14:9  <TAB> 14:41 <TAB> !uuid
 *
 * The fields are the path, the start of the secret, the place after its end (lines and columns from 1,
 * columns in bytes), its family, and optionally the rule that should find it. A family that begins with '!'
 * is a kind of false positive. Files without labels have no secrets.
 */
#ifndef TS_REPORT_LABELS_H
#define TS_REPORT_LABELS_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TS_LABELS_FILE     "labels.tsv"
#define TS_LABELS_SIZE_MAX ((size_t)64 << 20)

struct ts_label_place {
    uint64_t line;
    uint64_t column;
};

struct ts_label {
    const char *path;
    struct ts_label_place from;
    struct ts_label_place to; /* place after the last byte */
    const char *family;       /* for a false positive: its kind, without '!' */
    const char *rule;         /* rule that should find the secret; "": any rule */
    bool is_secret;
};

struct ts_labels {
    struct ts_label *items; /* sorted by path and place */
    size_t count;
    size_t secret_count;
    char *text; /* memory of the texts */
};

struct ts_labels_error {
    char text[400]; /* one line: what happened, why, and the fix; safe to print */
};

/* Reads the labels. On failure there is nothing to release. */
bool ts_labels_read(const char *path, struct ts_labels *ret_labels, struct ts_labels_error *ret_error);
void ts_labels_release(struct ts_labels *labels);

/* Compares two places. Returns below 0, 0 or above 0, like memcmp. */
int ts_label_place_compare(struct ts_label_place a, struct ts_label_place b);

#endif
