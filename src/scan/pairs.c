#include "pairs.h"

#include <stdlib.h>
#include <string.h>

static const struct ts_rule *rule_of(const struct scan_pairs *pairs, const struct scan_hit *hit) {
    return scan__hits_findings(pairs->hits)[hit->finding].rule;
}

/* Returns whether the rule `id` finds the key ids that belong to secrets of the rule `secret`. */
static bool is_id_for(const struct ts_rule *id, const struct ts_rule *secret) {
    for (size_t i = 0; i < id->pair.count; i++)
        if (strcmp(id->pair.texts[i], secret->id) == 0)
            return true;
    return false;
}

bool scan__pairs_init(struct scan_pairs *pairs, const struct scan_hits *hits) {
    size_t count = hits->findings.len / sizeof(struct scan_finding);
    bool has_pairs = false;
    *pairs = (struct scan_pairs){.hits = hits};
    for (size_t i = 0; i < count && !has_pairs; i++)
        has_pairs = scan__hits_findings(hits)[i].rule->pair.count > 0;
    if (!has_pairs)
        return true;
    pairs->id_of = malloc(count * sizeof *pairs->id_of);
    for (size_t i = 0; pairs->id_of != NULL && i < count; i++)
        pairs->id_of[i] = SCAN_PAIR_NONE;
    return pairs->id_of != NULL;
}

void scan__pairs_release(struct scan_pairs *pairs) {
    free(pairs->id_of);
    *pairs = (struct scan_pairs){.hits = NULL};
}

void scan__pairs_begin(struct scan_pairs *pairs) {
    pairs->waiting_count = 0;
}

/* Returns whether a and b are a pair, and records the pair. Only the first pair of a secret counts. */
static bool join(struct scan_pairs *pairs, const struct scan_hit *a, const struct scan_hit *b) {
    bool a_is_id = is_id_for(rule_of(pairs, a), rule_of(pairs, b));
    const struct scan_hit *id = a_is_id ? a : b;
    const struct scan_hit *secret = a_is_id ? b : a;
    if (a->at + a->len + SCAN_PAIR_NEAR < b->at || !is_id_for(rule_of(pairs, id), rule_of(pairs, secret)))
        return false;
    if (pairs->id_of[secret->finding] == SCAN_PAIR_NONE)
        pairs->id_of[secret->finding] = id->finding;
    return true;
}

/* Pairs the hit with an earlier hit, or remembers it. After a pair, earlier hits can no longer be paired,
 * because pairs do not enclose each other. */
void scan__pairs_see(struct scan_pairs *pairs, const struct scan_hit *hit) {
    if (pairs->id_of == NULL)
        return;
    for (size_t i = pairs->waiting_count; i-- > 0;)
        if (join(pairs, pairs->waiting[i], hit)) {
            pairs->waiting_count = 0;
            return;
        }
    if (pairs->waiting_count == SCAN_PAIR_KEPT) {
        for (size_t i = 1; i < SCAN_PAIR_KEPT; i++)
            pairs->waiting[i - 1] = pairs->waiting[i];
        pairs->waiting_count--;
    }
    pairs->waiting[pairs->waiting_count++] = hit;
}

uint32_t scan__pairs_id_of(const struct scan_pairs *pairs, uint32_t finding) {
    return pairs->id_of != NULL ? pairs->id_of[finding] : SCAN_PAIR_NONE;
}
