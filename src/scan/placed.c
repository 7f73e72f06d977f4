#include "placed.h"

#include "detect/model.h"

/* No password is this long, so a secret that begins this many bytes before another secret cannot
 * overlap it. */
enum { LONGEST = 1024 };

static const struct ts_rule *rule_of(const struct scan_hits *hits, const struct scan_hit *hit) {
    return scan__hits_findings(hits)[hit->finding].rule;
}

enum ts_confidence scan__confidence_at(const struct scan_hits *hits, const struct scan_hit *hit,
                                       const char *path) {
    struct ts_model_match match = {(enum ts_confidence)hit->confidence, hit->score};
    return ts_model_confidence_at(rule_of(hits, hit), match, path);
}

static bool overlap(const struct scan_hit *a, const struct scan_hit *b) {
    return a->at < b->at + b->len && b->at < a->at + a->len;
}

/* Returns whether `other` counts instead of `hit` at the path. The rule of `hit` must apply at the path. */
static bool stands_for(const struct scan_hits *hits, const struct scan_hit *other, const struct scan_hit *hit,
                       const char *path) {
    const struct ts_rule *rule = rule_of(hits, hit);
    const struct ts_rule *better = rule_of(hits, other);
    bool is_for_paths = rule->paths.count > 0;
    bool better_is_for_paths = better->paths.count > 0;
    if (other->finding == hit->finding || !(is_for_paths || better_is_for_paths) || !overlap(other, hit) ||
        !rule->generic || !better->generic || !ts_rule_applies(better, path))
        return false;
    enum ts_confidence confidence = scan__confidence_at(hits, hit, path);
    enum ts_confidence better_confidence = scan__confidence_at(hits, other, path);
    if (confidence != better_confidence)
        return better_confidence > confidence;
    if (is_for_paths != better_is_for_paths)
        return better_is_for_paths;
    return other->len != hit->len ? other->len > hit->len : other < hit;
}

bool scan__is_outranked(const struct scan_hits *hits, const struct scan_content *content, uint32_t index,
                        const char *path) {
    const struct scan_hit *first = scan__hits_items(hits) + content->first_hit;
    const struct scan_hit *hit = &first[index];
    if (!rule_of(hits, hit)->generic)
        return false;
    /* Hits are in the order of their places. */
    for (uint32_t i = index; i > 0 && first[i - 1].at + LONGEST > hit->at; i--)
        if (stands_for(hits, &first[i - 1], hit, path))
            return true;
    for (uint32_t i = index + 1; i < content->hit_count && first[i].at < hit->at + hit->len; i++)
        if (stands_for(hits, &first[i], hit, path))
            return true;
    return false;
}
