/*
 * Converts regular expressions of other tools (Go, Rust) to patterns of our rules: one group named `secret`,
 * every repeat bounded, no comments.
 */
#ifndef TS_CLI_IMPORT_PATTERN_H
#define TS_CLI_IMPORT_PATTERN_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cli_import_request {
    struct ts_bytes pattern;
    uint32_t group; /* number of the secret's group, from 1; 0: the translation chooses the secret */
    uint32_t bound; /* the limit for repeats without a limit */
};

enum cli_import_secret {
    CLI_IMPORT_GROUP, /* a group of the original pattern */
    CLI_IMPORT_PART,  /* a part of the match that contains several groups */
    CLI_IMPORT_MATCH,
};

struct cli_import_pattern {
    char *text; /* the translated pattern, owned */
    size_t len;
    size_t size;
    uint32_t groups; /* number of capturing groups in the original pattern */
    enum cli_import_secret secret;
    uint32_t secret_group; /* with CLI_IMPORT_GROUP: the number of that group */
    bool is_bounded;       /* a repeat had no limit, and got one */
    const char *wrong;     /* why the pattern cannot be translated; NULL if it can */
};

/* Translates a pattern. Returns false when memory runs out. Otherwise the caller releases *ret_pattern. */
bool cli__import_pattern(const struct cli_import_request *request, struct cli_import_pattern *ret_pattern);
void cli__import_pattern_release(struct cli_import_pattern *pattern);

#endif
