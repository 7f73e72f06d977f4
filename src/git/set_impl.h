/* Sets by object number. */
#ifndef TS_GIT_SET_IMPL_H
#define TS_GIT_SET_IMPL_H

#include "git/set.h"

#include <stdint.h>

struct ts_git_set {
    struct ts_git_repo *repo;
    uint32_t size; /* one more than the largest object number */
    uint64_t *words;
};

static inline bool git__set_has(const struct ts_git_set *set, uint32_t number) {
    return (set->words[number / 64] >> (number % 64) & 1) != 0;
}

/* Adds an object. Returns true if the set did not contain it before. */
static inline bool git__set_add(struct ts_git_set *set, uint32_t number) {
    uint64_t bit = UINT64_C(1) << (number % 64);
    bool is_new = (set->words[number / 64] & bit) == 0;
    set->words[number / 64] |= bit;
    return is_new;
}

static inline void git__set_remove(struct ts_git_set *set, uint32_t number) {
    set->words[number / 64] &= ~(UINT64_C(1) << (number % 64));
}

/* Returns true if `wanted` has no object of the pack, so that the outline of the pack is not needed. If
 * `wanted` is NULL, all objects are wanted. */
bool git__is_unwanted(const struct ts_git_repo *repo, uint32_t pack, const struct ts_git_set *wanted);

#endif
