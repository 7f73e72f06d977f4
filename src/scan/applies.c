#include "applies.h"

#include <stdlib.h>

bool scan__applies_init(struct scan_applies *applies, const struct scan_hits *hits) {
    *applies =
        (struct scan_applies){.hits = hits, .answers = calloc(SCAN_APPLIES_COUNT, sizeof *applies->answers)};
    return applies->answers != NULL;
}

void scan__applies_release(struct scan_applies *applies) {
    free(applies->answers);
    *applies = (struct scan_applies){.answers = NULL};
}

bool scan__applies(struct scan_applies *applies, const struct ts_rule *rule, uint32_t path) {
    if (!ts_rule_needs_path(rule))
        return true;
    uint64_t mixed = ((uint64_t)(uintptr_t)rule ^ path) * UINT64_C(0x9e3779b97f4a7c15);
    struct scan_applies_answer *answer = &applies->answers[mixed >> 32 & (SCAN_APPLIES_COUNT - 1)];
    if (answer->rule != rule || answer->path != path) {
        const char *text = (const char *)scan__hits_text_at(applies->hits, path).data;
        *answer = (struct scan_applies_answer){rule, path, ts_rule_applies(rule, text)};
    }
    return answer->applies;
}
