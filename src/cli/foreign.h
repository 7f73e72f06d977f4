/*
 * Reports of other tools as baselines: gitleaks' JSON report, detect-secrets' .secrets.baseline, TruffleHog's
 * JSON lines.
 *
 * The rules of other tools have other names, so an entry is compared by its secret: as a text (gitleaks,
 * TruffleHog) or by its SHA-1 (detect-secrets). An entry without a usable secret, such as one of a redacted
 * report, is compared by its place: path, line and, if the entry has one, commit.
 */
#ifndef TS_CLI_FOREIGN_H
#define TS_CLI_FOREIGN_H

#include "report/report.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLI_FOREIGN_HASH_SIZE 20

struct cli_foreign_entry {
    struct ts_bytes secret; /* the secret; empty: compare by hash or, without a hash, by place */
    struct ts_bytes joined; /* TruffleHog: all parts of the secret together; empty if absent */
    struct ts_bytes path;   /* path of the file, without a leading "./" */
    const char *commit;     /* hexadecimal id of the commit; "" if absent */
    uint64_t line;          /* number of the line, from 1; 0 if absent */
    uint8_t hash[CLI_FOREIGN_HASH_SIZE];
    bool has_hash;
    bool is_met; /* a finding matched this entry */
};

struct cli_foreign {
    const char *tool; /* name of the other tool */
    struct cli_foreign_entry *entries;
    size_t count;
    size_t capacity;
    size_t *by_name; /* indexes into `entries`, sorted by the last part of the entries' paths */
    void *memory;    /* the parsed text, which entries point into */
};

struct cli_foreign_error {
    bool is_memory; /* memory ran out; the file is not wrong */
    char text[300]; /* one line without secrets */
};

/* Returns whether a text is JSON rather than a baseline of turnstone. */
bool cli__foreign_is_json(struct ts_bytes text);

/* Parses a report. `file` is the name of the report in messages. On failure sets *ret_error, and there is
 * nothing to release. */
bool cli__foreign_parse(const char *file, struct ts_bytes text, struct cli_foreign *ret_foreign,
                        struct cli_foreign_error *ret_error);
void cli__foreign_release(struct cli_foreign *foreign);

/* Returns the last part of a path. Entries are searched by the last part of their path. */
struct ts_bytes cli__foreign_name(struct ts_bytes path);

/* Marks every finding as new or known, and counts the known findings and the matched entries. The report must
 * contain the secrets (keeps_secrets). */
void cli__foreign_apply(struct cli_foreign *foreign, struct ts_report *report);

#endif
