/*
 * Kin: findings of different generic rules with the same secret.
 *
 * Files of different kinds have different generic rules, so a password that moves from a program into a setting
 * is found by another rule, which makes another finding. Both findings are about one secret.
 */
#ifndef TS_SCAN_KIN_H
#define TS_SCAN_KIN_H

#include "hits.h"

/* {0} is empty. */
struct scan_kin {
    uint32_t *of; /* indexed by finding: the first finding of its kin, or itself */
    size_t count;
    size_t capacity;
};

/* Finds the kin of all findings so far. When findings are added later, the first finding of a kin remains the
 * first. Returns false when memory runs out; release `kin` in any case. */
bool scan__kin_find(struct scan_kin *kin, const struct scan_hits *hits);
void scan__kin_release(struct scan_kin *kin);

#endif
