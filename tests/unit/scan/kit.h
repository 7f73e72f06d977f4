/* Shared by the tests of this layer: rules ready to scan with, made-up secrets, and hits to examine. */
#ifndef TS_TESTS_SCAN_KIT_H
#define TS_TESTS_SCAN_KIT_H

#include "look.h"
#include "support/cmocka.h"

#include <stdlib.h>
#include <string.h>

/* A short rule, a long rule, a rule with conditions before and after its secret, and a generic rule. */
#define KIT_RULES                                                                                            \
    "rules:\n"                                                                                               \
    "  - {id: short, name: Short, pattern: '\\b(?<secret>tok_[a-z0-9]{12})\\b', gate: [tok_], "              \
    "severity: high, reach: 20}\n"                                                                           \
    "  - {id: block, name: Block, pattern: '(?<secret>BEGIN\\n[a-z0-9\\n]{20,900}END)', "                    \
    "gate: {literals: ['BEGIN'], lead: 8}, severity: critical, reach: 1000}\n"                               \
    "  - {id: edges, name: Edges, pattern: '(?:^|;)(?<secret>key_[0-9]{8})(?:$|;)', gate: [key_], "          \
    "severity: low, reach: 20}\n"                                                                            \
    "  - {id: assigned, name: Assigned, pattern: 'pass=(?<secret>[a-z0-9_]{8,40})', gate: ['pass='], "       \
    "severity: low, reach: 50, generic: true}\n"

struct kit {
    struct scan_profile profile;
    struct scan_hits hits;
    struct scan_look look;
};

static inline void kit_init(struct kit *kit, const char *config) {
    struct ts_detect_error error;
    *kit = (struct kit){.profile = {.has_config = config != NULL}};
    struct scan_rules *rules = calloc(1, sizeof *rules);
    assert_non_null(rules);
    rules->user_count = 1;
    kit->profile.rules = rules;
    if (!ts_ruleset_add(&rules->set, "kit.yml", TS_BYTES(KIT_RULES), &error))
        fail_msg("%s", error.text);
    rules->detector = ts_detector_new(&rules->set, &(struct ts_detector_options){.cache_folder = ""}, &error);
    if (!rules->detector)
        fail_msg("%s", error.text);
    if (config && !ts_detect_config_parse("kit", ts_bytes_of_cstring(config), &kit->profile.config, &error))
        fail_msg("%s", error.text);
    kit->profile.key = ts_finding_key_of((struct ts_bytes){NULL, 0});
    assert_true(scan__hits_init(
        &kit->hits,
        &(struct scan_hits_options){.held_max = 1 << 20, .findings_max = 100000, .spill_dir = "/tmp"}));
    assert_true(scan__look_init(&kit->look,
                                &(struct scan_look_options){.profile = &kit->profile, .hits = &kit->hits}));
}

static inline void kit_release(struct kit *kit) {
    scan__look_release(&kit->look);
    scan__hits_release(&kit->hits);
    scan__profile_release(&kit->profile);
}

static inline const struct scan_content *kit_content(const struct kit *kit, size_t index) {
    size_t count;
    const struct scan_content *contents = scan__hits_contents(&kit->hits, &count);
    assert_true(index < count);
    return &contents[index];
}

static inline size_t kit_content_count(const struct kit *kit) {
    size_t count;
    (void)scan__hits_contents(&kit->hits, &count);
    return count;
}

static inline const struct scan_hit *kit_hit(const struct kit *kit, size_t content, size_t index) {
    const struct scan_content *item = kit_content(kit, content);
    assert_true(index < item->hit_count);
    return &scan__hits_items(&kit->hits)[item->first_hit + index];
}

static inline bool kit_text_is(const struct kit *kit, uint32_t text, const char *expected) {
    return ts_bytes_equal(scan__hits_text_at(&kit->hits, text), ts_bytes_of_cstring(expected));
}

static inline bool kit_excerpt_is(const struct kit *kit, const struct scan_hit *hit, const char *expected) {
    char excerpt[SCAN_EXCERPT_SIZE];
    size_t len = scan__excerpt(scan__hits_text_at(&kit->hits, hit->around), NULL, excerpt);
    return ts_bytes_equal(ts_bytes_of(excerpt, len), ts_bytes_of_cstring(expected));
}

static inline const char *kit_rule(const struct kit *kit, const struct scan_hit *hit) {
    return scan__hits_findings(&kit->hits)[hit->finding].rule->id;
}

#endif
