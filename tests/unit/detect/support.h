/* Shared by the tests of this layer: the built-in rules ready to scan, and lists of matches. */
#ifndef TS_TESTS_DETECT_SUPPORT_H
#define TS_TESTS_DETECT_SUPPORT_H

#include "builtin/builtin.h"
#include "detect/scanner.h"
#include "support/cmocka.h"

#include <stdlib.h>
#include <string.h>

struct kit {
    struct ts_ruleset rules;
    struct ts_detector *detector;
    struct ts_scanner *scanner;
};

/* Prepares a scanner with own_rules, or with the built-in rules if own_rules is NULL. It uses no cache, so no
 * files remain. */
static inline void kit_init(struct kit *kit, const char *own_rules) {
    struct ts_detect_error error;
    ts_ruleset_init(&kit->rules);
    bool good = own_rules ? ts_ruleset_add(&kit->rules, "own.yml", ts_bytes_of_cstring(own_rules), &error)
                          : ts_builtin_add(&kit->rules, &error);
    if (!good)
        fail_msg("%s", error.text);
    kit->detector = ts_detector_new(&kit->rules, &(struct ts_detector_options){.cache_folder = ""}, &error);
    if (!kit->detector)
        fail_msg("%s", error.text);
    kit->scanner = ts_scanner_new(kit->detector);
    assert_non_null(kit->scanner);
}

static inline void kit_release(struct kit *kit) {
    ts_scanner_free(kit->scanner);
    ts_detector_free(kit->detector);
    ts_ruleset_release(&kit->rules);
}

/* Matches with copies of their secrets. list_add adds `shift` to the places of a match. */
struct list {
    struct ts_match *matches;
    size_t count;
    size_t capacity;
    size_t shift;
};

static inline void list_add(void *context, const struct ts_match *match) {
    struct list *list = context;
    if (list->count == list->capacity) {
        list->capacity = 2 * list->capacity + 16;
        list->matches = realloc(list->matches, list->capacity * sizeof *list->matches);
        assert_non_null(list->matches);
    }
    struct ts_match *added = &list->matches[list->count++];
    *added = *match;
    added->span.from += list->shift;
    added->secret_span.from += list->shift;
    added->depends.from += list->shift;
    uint8_t *copy = malloc(match->secret.len + 1);
    assert_non_null(copy);
    memcpy(copy, match->secret.data, match->secret.len);
    copy[match->secret.len] = 0;
    added->secret = ts_bytes_of(copy, match->secret.len);
}

static inline void list_release(struct list *list) {
    for (size_t i = 0; i < list->count; i++)
        free((void *)(uintptr_t)list->matches[i].secret.data);
    free(list->matches);
    *list = (struct list){0};
}

/* Settles the matches, and frees the secrets of those that settling drops. */
static inline void list_settle(struct list *list, const struct ts_ruleset *rules) {
    const uint8_t **all = malloc((list->count + 1) * sizeof *all);
    assert_non_null(all);
    size_t count = list->count;
    for (size_t i = 0; i < count; i++)
        all[i] = list->matches[i].secret.data;
    list->count = ts_matches_settle(rules, list->matches, list->count);
    for (size_t i = 0; i < count; i++) {
        bool kept = false;
        for (size_t j = 0; j < list->count && !kept; j++)
            kept = list->matches[j].secret.data == all[i];
        if (!kept)
            free((void *)(uintptr_t)all[i]);
    }
    free(all);
}

static inline struct list scan_raw(struct kit *kit, struct ts_scanner_input scan) {
    struct list list = {0};
    assert_true(ts_scanner_scan(kit->scanner, &scan, list_add, &list));
    return list;
}

static inline struct list scan_text(struct kit *kit, const void *text, size_t len) {
    struct list list = scan_raw(kit, (struct ts_scanner_input){.bytes = ts_bytes_of(text, len)});
    list_settle(&list, &kit->rules);
    return list;
}

static inline const char *rule_of(const struct kit *kit, const struct ts_match *match) {
    return kit->rules.rules[match->rule].id;
}

/* Fails the test with the first difference if the settled lists differ. */
static inline void assert_same(const struct kit *kit, const struct list *a, const struct list *b,
                               const char *what) {
    for (size_t i = 0; i < a->count || i < b->count; i++) {
        const struct ts_match *x = i < a->count ? &a->matches[i] : NULL;
        const struct ts_match *y = i < b->count ? &b->matches[i] : NULL;
        bool same = x && y && x->rule == y->rule && x->secret_span.from == y->secret_span.from &&
                    x->secret_span.len == y->secret_span.len && x->span.from == y->span.from &&
                    x->confidence == y->confidence && x->depth == y->depth &&
                    ts_bytes_equal(x->secret, y->secret);
        if (!same)
            fail_msg("%s: match %zu is %s at %zu (%zu) of depth %d here, %s at %zu (%zu) of depth %d there",
                     what, i, x ? rule_of(kit, x) : "none", x ? x->secret_span.from : 0, x ? x->span.from : 0,
                     x ? x->depth : 0, y ? rule_of(kit, y) : "none", y ? y->secret_span.from : 0,
                     y ? y->span.from : 0, y ? y->depth : 0);
    }
}

#endif
