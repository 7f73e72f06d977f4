#include "before.h"

#include <stdlib.h>

static const struct scan_hit *hits_of(const struct scan_before *before, const struct scan_content *content) {
    return scan__hits_items(&before->pass->hits) + content->first_hit;
}

bool scan__before_begin(struct scan_before *before, struct scan_pass *pass, uint32_t target, size_t first) {
    *before = (struct scan_before){.pass = pass, .target = target, .first = first};
    const struct scan_content *contents = scan__hits_contents(&pass->hits, &before->mark);
    before->finding_count = pass->hits.findings.len / sizeof(struct scan_finding);
    before->are_candidates = calloc(before->finding_count + 1, sizeof *before->are_candidates);
    if (before->are_candidates == NULL)
        return false;
    pass->inside.is_quiet = true;
    for (size_t i = first; i < before->mark; i++)
        for (uint32_t k = 0; k < contents[i].hit_count; k++) {
            const struct scan_hit *hit = &hits_of(before, &contents[i])[k];
            before->are_candidates[hit->finding] |= hit->pragma == SCAN_NO_TEXT;
        }
    return true;
}

void scan__before_release(struct scan_before *before) {
    if (before->are_candidates != NULL)
        before->pass->inside.is_quiet = false;
    free(before->are_candidates);
    *before = (struct scan_before){.pass = NULL};
}

bool scan__before_is_open(const struct scan_before *before) {
    size_t total;
    const struct scan_content *contents = scan__hits_contents(&before->pass->hits, &total);
    size_t open = 0;
    bool *are_met = calloc(before->finding_count + 1, sizeof *are_met);
    for (size_t i = before->mark; are_met != NULL && i < total; i++)
        for (uint32_t k = 0; k < contents[i].hit_count; k++) {
            const struct scan_hit *hit = &hits_of(before, &contents[i])[k];
            if (hit->finding < before->finding_count && hit->pragma == SCAN_NO_TEXT &&
                hit->allows == SCAN_NO_TEXT)
                are_met[hit->finding] = true;
        }
    for (size_t i = 0; i < before->finding_count; i++)
        open += before->are_candidates[i] && (are_met == NULL || !are_met[i]);
    free(are_met);
    return open > 0;
}

bool scan__before_matters(const struct scan_before *before, const struct scan_content *content) {
    for (uint32_t k = 0; k < content->hit_count; k++) {
        uint32_t finding = hits_of(before, content)[k].finding;
        if (finding < before->finding_count && before->are_candidates[finding])
            return true;
    }
    return false;
}
