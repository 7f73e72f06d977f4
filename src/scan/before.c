#include "before.h"

#include "placed.h"
#include "suppressed.h"

#include "os/grow.h"

#include <stdlib.h>

static const struct scan_location *locations_of(const struct scan_before *before, size_t *ret_count) {
    *ret_count = before->pass->locations.len / sizeof(struct scan_location);
    return (const struct scan_location *)(const void *)before->pass->locations.bytes;
}

static const struct scan_content *content_at(const struct scan_before *before, size_t index) {
    size_t unused;
    return &scan__hits_contents(&before->pass->hits, &unused)[index];
}

static uint8_t level_at(const struct scan_before *before, const struct scan_location *location,
                        uint32_t index) {
    const struct scan_hits *hits = &before->pass->hits;
    const struct scan_content *content = content_at(before, location->content);
    const struct scan_hit *hit = &scan__hits_items(hits)[content->first_hit + index];
    const char *path = (const char *)scan__hits_text_at(hits, location->real_path).data;
    size_t unused;
    if (!ts_rule_applies(scan__hits_findings(hits)[hit->finding].rule, path) ||
        scan__is_outranked(hits, content, index, path) || scan__is_allowed(hits, before->profile, hit, path))
        return 0;
    /* A fingerprint of .gitleaksignore may ignore the hit here. Then the other locations in the base
     * decide. */
    if (location->role == SCAN_BEFORE && scan__ignored_at(&before->profile->ignored, path, &unused) > 0)
        return 0;
    return (uint8_t)(1 + scan__confidence_at(hits, hit, path));
}

/* Raises `levels` for the findings at locations with this role, from location `first` on. Counts only kin
 * with a level in `wanted`; NULL: all kin. */
static void raise_levels(const struct scan_before *before, enum scan_role role, size_t first,
                         const uint8_t *wanted, uint8_t *levels) {
    size_t count;
    const struct scan_location *locations = locations_of(before, &count);
    for (size_t i = first; i < count; i++) {
        if (locations[i].role != role)
            continue;
        const struct scan_content *content = content_at(before, locations[i].content);
        for (uint32_t k = 0; k < content->hit_count; k++) {
            uint32_t finding = scan__hits_items(&before->pass->hits)[content->first_hit + k].finding;
            uint32_t kin = before->kin.of[finding];
            if (wanted != NULL && wanted[kin] == 0)
                continue;
            uint8_t level = level_at(before, &locations[i], k);
            levels[kin] = level > levels[kin] ? level : levels[kin];
        }
    }
}

bool scan__before_begin(struct scan_before *before, struct scan_pass *pass, uint32_t target,
                        size_t location_first) {
    *before = (struct scan_before){.pass = pass, .profile = pass->targets[target].profile};
    (void)scan__hits_contents(&pass->hits, &before->mark);
    (void)locations_of(before, &before->location_mark);
    if (!scan__before_update(before))
        return false;
    pass->inside.is_quiet = true;
    raise_levels(before, SCAN_FOUND, location_first, NULL, before->levels);
    return true;
}

void scan__before_release(struct scan_before *before) {
    if (before->levels != NULL)
        before->pass->inside.is_quiet = false;
    free(before->levels);
    scan__kin_release(&before->kin);
    *before = (struct scan_before){.pass = NULL};
}

bool scan__before_update(struct scan_before *before) {
    size_t known = before->kin.count;
    if (!scan__kin_find(&before->kin, &before->pass->hits))
        return false;
    if (!TS_GROW(before->levels, before->level_capacity, before->kin.count + 1))
        return false;
    for (size_t i = known; i < before->kin.count; i++)
        before->levels[i] = 0;
    return true;
}

bool scan__before_matters(const struct scan_before *before, const struct scan_content *content) {
    const struct scan_hit *hits = scan__hits_items(&before->pass->hits) + content->first_hit;
    for (uint32_t k = 0; k < content->hit_count; k++)
        if (before->levels[before->kin.of[hits[k].finding]] > 0)
            return true;
    return false;
}

bool scan__before_is_open(const struct scan_before *before) {
    uint8_t *levels = calloc(before->kin.count + 1, sizeof *levels);
    bool is_open = levels == NULL;
    if (levels != NULL)
        raise_levels(before, SCAN_BEFORE, before->location_mark, before->levels, levels);
    for (size_t i = 0; levels != NULL && i < before->kin.count && !is_open; i++)
        is_open = before->levels[i] > levels[i];
    free(levels);
    return is_open;
}
