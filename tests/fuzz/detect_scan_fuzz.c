/*
 * Scans any bytes: a scan with gates and a scan without gates must find the same matches. The built-in rules
 * are compiled once.
 */
#include "detect/scanner.h"

#include "base/assert.h"
#include "builtin/builtin.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MATCHES_MAX = 4096 };

struct list {
    struct ts_match matches[MATCHES_MAX];
    size_t count;
    bool is_full;
};

static void add(void *context, const struct ts_match *match) {
    struct list *list = context;
    list->is_full = list->is_full || list->count == MATCHES_MAX;
    if (!list->is_full)
        list->matches[list->count++] = *match;
}

static bool same(const struct list *a, const struct list *b) {
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++) {
        const struct ts_match *x = &a->matches[i];
        const struct ts_match *y = &b->matches[i];
        if (x->rule != y->rule || x->secret_span.from != y->secret_span.from ||
            x->secret_span.len != y->secret_span.len || x->depth != y->depth)
            return false;
    }
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct ts_ruleset rules;
    static struct ts_scanner *scanner;
    static struct list gated;
    static struct list all;
    struct ts_detect_error error;
    if (!scanner) {
        ts_ruleset_init(&rules);
        ts_assert(ts_builtin_add(&rules, &error));
        struct ts_detector *detector =
            ts_detector_new(&rules, &(struct ts_detector_options){.cache_folder = ""}, &error);
        ts_assert(detector);
        scanner = ts_scanner_new(detector);
        ts_assert(scanner);
    }
    if (size > 65536)
        return 0;
    gated.count = all.count = 0;
    gated.is_full = all.is_full = false;
    uint64_t limits_before = ts_scanner_counts(scanner).limits_hit;
    (void)ts_scanner_scan(scanner, &(struct ts_scanner_input){.bytes = ts_bytes_of(data, size)}, add, &gated);
    (void)ts_scanner_scan(
        scanner, &(struct ts_scanner_input){.bytes = ts_bytes_of(data, size), .ungated = true}, add, &all);
    /* Where patterns hit the step limit, the two scans may differ. */
    if (gated.is_full || all.is_full || ts_scanner_counts(scanner).limits_hit != limits_before)
        return 0;
    gated.count = ts_matches_settle(&rules, gated.matches, gated.count);
    all.count = ts_matches_settle(&rules, all.matches, all.count);
    ts_assert(same(&gated, &all));
    return 0;
}
