#include "set_impl.h"

#include "base/assert.h"
#include "repo_impl.h"

#include <stdlib.h>
#include <string.h>

static size_t word_count(const struct ts_git_set *set) {
    return (size_t)set->size / 64 + 1;
}

enum ts_git_error ts_git_set_new(struct ts_git_repo *repo, struct ts_git_set **ret_set,
                                 struct ts_git_fault *ret_fault) {
    enum ts_git_error error = git__numbers_fill(repo, NULL, ret_fault);
    if (error != TS_GIT_OK)
        return error;
    struct ts_git_set *set = malloc(sizeof *set);
    if (set == NULL)
        return git__fault(TS_GIT_NO_MEMORY, NULL, ret_fault);
    *set = (struct ts_git_set){.repo = repo, .size = repo->numbers.total};
    set->words = calloc(word_count(set), sizeof *set->words);
    if (set->words == NULL) {
        free(set);
        return git__fault(TS_GIT_NO_MEMORY, NULL, ret_fault);
    }
    *ret_set = set;
    return TS_GIT_OK;
}

struct ts_git_set *ts_git_set_copy(const struct ts_git_set *set) {
    struct ts_git_set *copy = NULL;
    if (ts_git_set_new(set->repo, &copy, NULL) == TS_GIT_OK)
        memcpy(copy->words, set->words, word_count(set) * sizeof *set->words);
    return copy;
}

void ts_git_set_free(struct ts_git_set *set) {
    if (set == NULL)
        return;
    free(set->words);
    free(set);
}

bool ts_git_set_add(struct ts_git_set *set, const struct ts_git_oid *oid) {
    uint32_t number = git__number_of(set->repo, oid->bytes);
    if (number == GIT__NONE)
        return false;
    (void)git__set_add(set, number);
    return true;
}

void ts_git_set_remove(struct ts_git_set *set, const struct ts_git_oid *oid) {
    uint32_t number = git__number_of(set->repo, oid->bytes);
    if (number != GIT__NONE)
        git__set_remove(set, number);
}

bool ts_git_set_has(const struct ts_git_set *set, const struct ts_git_oid *oid) {
    uint32_t number = git__number_of(set->repo, oid->bytes);
    return number != GIT__NONE && git__set_has(set, number);
}

/* A set has only the lowest number of each object, so each object counts once. */
bool ts_git_set_take(struct ts_git_set *set, uint32_t number, struct ts_git_oid *ret_oid) {
    if (number >= set->size || !git__set_has(set, number))
        return false;
    git__set_remove(set, number);
    *ret_oid = ts_git_oid_of(set->repo->hash, git__number_id(set->repo, number));
    return true;
}

size_t ts_git_set_count(const struct ts_git_set *set) {
    size_t count = 0;
    for (size_t i = 0; i < word_count(set); i++)
        count += (size_t)__builtin_popcountll(set->words[i]);
    return count;
}

void ts_git_set_invert(struct ts_git_set *set) {
    for (uint32_t number = 0; number < set->size; number++) {
        if (git__set_has(set, number))
            git__set_remove(set, number);
        else if (!git__number_is_copy(set->repo, number))
            (void)git__set_add(set, number);
    }
}

void ts_git_set_intersect(struct ts_git_set *set, const struct ts_git_set *other) {
    ts_assert(set->repo == other->repo);
    for (size_t i = 0; i < word_count(set); i++)
        set->words[i] &= other->words[i];
}

void ts_git_set_subtract(struct ts_git_set *set, const struct ts_git_set *other) {
    ts_assert(set->repo == other->repo);
    for (size_t i = 0; i < word_count(set); i++)
        set->words[i] &= ~other->words[i];
}

bool git__is_unwanted(const struct ts_git_repo *repo, uint32_t pack, const struct ts_git_set *wanted) {
    uint32_t first = repo->numbers.pack_first[pack];
    bool is_wanted = wanted == NULL;
    for (uint32_t i = first; i < first + repo->packs[pack].index.count && !is_wanted; i++)
        is_wanted = git__set_has(wanted, i);
    return !is_wanted;
}
