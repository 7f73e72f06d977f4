/*
 * Regular expressions of other tools (Go, Rust) as patterns of our rules: one group named `secret`, every repeat bounded, no comments.
 */
#ifndef TS_CLI_IMPORT_PATTERN_H
#define TS_CLI_IMPORT_PATTERN_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cli_import_request {
    struct ts_bytes pattern;
    uint32_t group; /* the group of the secret, from 1; 0: the first one, or everything if there are none */
    uint32_t bound; /* the most repetitions, where the pattern has no limit */
};

struct cli_import_pattern {
    char *text; /* owned */
    size_t len;
    size_t size;
    uint32_t groups;   /* capturing ones in the original */
    bool is_bounded;   /* a repeat had no limit */
    const char *wrong; /* why it cannot be translated; NULL: it can */
};

/* Returns false when memory runs out. Otherwise the caller releases it. */
bool cli__import_pattern(const struct cli_import_request *request, struct cli_import_pattern *ret_pattern);
void cli__import_pattern_release(struct cli_import_pattern *pattern);

#endif
