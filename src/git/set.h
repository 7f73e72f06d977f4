/*
 * A set of a repository's objects, by their numbers. The set belongs to the repository for which it was made.
 */
#ifndef TS_GIT_SET_H
#define TS_GIT_SET_H

#include "git/repo.h"

struct ts_git_set;

/* Makes an empty set. Lists the repository's objects, unless they are already listed. */
enum ts_git_error ts_git_set_new(struct ts_git_repo *repo, struct ts_git_set **ret_set,
                                 struct ts_git_fault *ret_fault);
void ts_git_set_free(struct ts_git_set *set);

/* Returns a copy of the set; NULL when memory runs out. */
struct ts_git_set *ts_git_set_copy(const struct ts_git_set *set);

/* Adds an object. Returns false if the repository has no such object. */
bool ts_git_set_add(struct ts_git_set *set, const struct ts_git_oid *oid);
void ts_git_set_remove(struct ts_git_set *set, const struct ts_git_oid *oid);
bool ts_git_set_has(const struct ts_git_set *set, const struct ts_git_oid *oid);

/* Removes the object with this number, and sets *ret_oid to its id. Returns false if the set does not contain
 * the object. */
bool ts_git_set_take(struct ts_git_set *set, uint32_t number, struct ts_git_oid *ret_oid);
size_t ts_git_set_count(const struct ts_git_set *set);

/* Replaces the set by its complement: for example, reachable objects by unreachable ones. */
void ts_git_set_invert(struct ts_git_set *set);

/* intersect keeps only the objects that are also in `other`; subtract keeps only those that are not in
 * `other`. */
void ts_git_set_intersect(struct ts_git_set *set, const struct ts_git_set *other);
void ts_git_set_subtract(struct ts_git_set *set, const struct ts_git_set *other);

#endif
