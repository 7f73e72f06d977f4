/* What a repository object holds. */
#ifndef TS_GIT_REPO_IMPL_H
#define TS_GIT_REPO_IMPL_H

#include "git/repo.h"
#include "inflate.h"
#include "midx.h"
#include "numbers.h"
#include "pack.h"

struct git__midx_file {
    struct git__map map;
    struct git__midx midx;
    uint32_t *packs; /* by the midx's number: ours, or GIT__NONE */
};

struct ts_git_repo {
    enum ts_git_hash hash;
    char *git_dir;
    char *common_dir;
    char *work_tree;
    bool is_bare;
    bool is_partial;

    char **object_dirs; /* the repository's own, then alternates as they are found */
    size_t object_dir_count;
    size_t object_dir_capacity;

    struct git__pack *packs; /* by object folder, then by name */
    size_t pack_count;
    size_t pack_capacity;

    struct git__midx_file *midxs;
    size_t midx_count;
    size_t midx_capacity;

    struct ts_git_oid *shallow; /* sorted */
    size_t shallow_count;

    struct git__inflater inflater; /* for reading single objects */
    struct git__numbers numbers;   /* filled when first needed */
};

bool git__is_shallow_commit(const struct ts_git_repo *repo, const struct ts_git_oid *oid);

/* Path of a loose object in one of the object folders, from malloc. */
char *git__loose_path(const struct ts_git_repo *repo, size_t object_dir, const struct ts_git_oid *oid);

/* Sorted names in a folder that end with suffix, "." and ".." never; from malloc, as are the names. A folder
 * that is not there is empty. */
enum ts_git_error git__list_dir(const char *path, const char *suffix, char ***ret_names, size_t *ret_count,
                                struct ts_git_fault *ret_fault);
void git__free_names(char **names, size_t count);

/* A bound of work: entries that may still be looked at. */
struct git__work {
    uint64_t steps_left;
};

/* ts_git_object_read within a bound, which is counted down. */
enum ts_git_error git__object_read(struct ts_git_repo *repo, const struct ts_git_oid *oid, size_t max,
                                   struct git__work *work, struct ts_git_content *ret_content);

/* The ids that begin with `digits` hex digits of prefix: how many, and the first. */
size_t git__find_prefix(struct ts_git_repo *repo, const char *digits, struct ts_git_oid *ret_first);

#endif
