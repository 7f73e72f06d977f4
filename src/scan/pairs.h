/*
 * Pairs: the key id and the secret of one key, found near each other.
 *
 * The rule of the key id names the rules of the secrets that belong to it (`pair` in rule files). In each
 * content, hits are visited in the order of their places. A key id and a secret that follow each other, in
 * either order and at most SCAN_PAIR_NEAR bytes apart, are a pair; each hit is in one pair at most. So in a
 * file with several keys, each id is paired with its own secret. The report shows the id with the finding of
 * its secret, and not as a finding of its own.
 */
#ifndef TS_SCAN_PAIRS_H
#define TS_SCAN_PAIRS_H

#include "hits.h"

#include "detect/rule.h"

#define SCAN_PAIR_NEAR 1024u
/* Maximum number of hits without a partner that are remembered in a content. */
#define SCAN_PAIR_KEPT 16
#define SCAN_PAIR_NONE UINT32_MAX

struct scan_pairs {
    const struct scan_hits *hits;
    /* Indexed by the finding of a secret: the finding of its key id, or SCAN_PAIR_NONE. NULL if no rule of
     * the findings has pairs. */
    uint32_t *id_of;
    const struct scan_hit *waiting[SCAN_PAIR_KEPT]; /* unpaired hits of the content, in order */
    size_t waiting_count;
};

/* Returns false when memory runs out. */
bool scan__pairs_init(struct scan_pairs *pairs, const struct scan_hits *hits);
void scan__pairs_release(struct scan_pairs *pairs);

/* Begins a content. */
void scan__pairs_begin(struct scan_pairs *pairs);

/* Pairs the hit with an earlier hit, if possible. Call it for each reported hit of the content, in order. */
void scan__pairs_see(struct scan_pairs *pairs, const struct scan_hit *hit);

/* Returns the finding of the key id that belongs to the secret, or SCAN_PAIR_NONE. */
uint32_t scan__pairs_id_of(const struct scan_pairs *pairs, uint32_t finding);

#endif
