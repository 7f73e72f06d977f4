/* The fields of a repository object. */
#ifndef TS_GIT_REPO_IMPL_H
#define TS_GIT_REPO_IMPL_H

#include "git/repo.h"
#include "grafts.h"
#include "inflate.h"
#include "midx.h"
#include "numbers.h"
#include "pack.h"

struct git__midx_file {
    struct git__map map;
    struct git__midx midx;
    uint32_t *packs; /* indexed by number in the multi-pack index: index in repo->packs, or GIT__NONE */
};

/* The refs of one moment. */
struct git__refs {
    bool is_read;
    struct ts_git_refs all; /* an item with the null id is broken, or a symbolic ref with a missing target */
    struct ts_git_fault *faults;
    size_t fault_count;
    size_t fault_capacity;
};

struct ts_git_repo {
    enum ts_git_hash hash;
    char *git_dir;
    char *common_dir;
    char *work_tree;
    bool is_bare;
    bool is_partial;
    bool no_alternates;

    char **object_dirs; /* the repository's own folder, then alternates in the order of discovery */
    size_t object_dir_count;
    size_t object_dir_capacity;

    struct git__pack *packs; /* sorted by object folder, then by time and name */
    size_t pack_count;
    size_t pack_capacity;
    char *half_pack; /* path of a pack without its index or of an index without its pack; NULL: none */
    const struct git__pack *damaged_index; /* a pack whose index has a wrong checksum; NULL: none */
    bool are_indexes_checked;              /* damaged_index is valid */

    struct git__midx_file *midxs;
    size_t midx_count;
    size_t midx_capacity;

    struct ts_git_oid *shallow; /* sorted */
    size_t shallow_count;

    struct git__grafts grafts;

    struct git__refs refs;         /* read when first needed, or before the objects are listed */
    struct git__inflater inflater; /* for reading single objects */
    unsigned packed_reads;         /* single objects that were read from packs */
    struct git__numbers numbers;   /* listed when first needed */

    struct ts_git_repo *again; /* the same repository, opened later, for missing objects; NULL until needed */
    unsigned vain_looks;       /* number of times that `again` was opened without finding the object */
};

bool git__is_shallow_commit(const struct ts_git_repo *repo, const struct ts_git_oid *oid);

/* Returns the path of a loose object in one of the object folders, from malloc. */
char *git__loose_path(const struct ts_git_repo *repo, size_t object_dir, const struct ts_git_oid *oid);

/* Lists the names in a folder that end with suffix, sorted, without "." and "..". The list and the names are
 * from malloc. A missing folder counts as empty. */
enum ts_git_error git__list_dir(const char *path, const char *suffix, char ***ret_names, size_t *ret_count,
                                struct ts_git_fault *ret_fault);
void git__free_names(char **names, size_t count);

/* Reads the refs, unless they were read before. Refs that cannot be read are kept as faults. */
enum ts_git_error git__refs_fill(struct ts_git_repo *repo, struct ts_git_fault *ret_fault);
void git__refs_release(struct git__refs *refs);

/* A limit of work: entries that may still be read. */
struct git__work {
    uint64_t steps_left;
};

/* Like ts_git_object_read, but decrements work->steps_left for each entry that it reads, and fails at 0. Does
 * not read the damaged copy at not_at, which may be NULL. */
enum ts_git_error git__object_read(struct ts_git_repo *repo, const struct ts_git_oid *oid, size_t max,
                                   const struct git__spot *not_at, struct git__work *work,
                                   struct ts_git_content *ret_content);

/* Reads the first max bytes of a larger object, if it is stored whole. Returns TOO_LARGE if it is stored as a
 * delta. */
enum ts_git_error git__object_read_start(struct ts_git_repo *repo, const struct ts_git_oid *oid, size_t max,
                                         struct ts_git_content *ret_content);

/* Like git__object_read, for objects that were not listed: reads the repository as it is now. */
enum ts_git_error git__object_read_again(struct ts_git_repo *repo, const struct ts_git_oid *oid, size_t max,
                                         struct git__work *work, struct ts_git_content *ret_content);

/* Finds out which of these unlisted objects exist now. All are false if that is unknown. */
void git__are_there_now(struct ts_git_repo *repo, const struct ts_git_oid *oids, size_t count,
                        bool *ret_are_there);

/* Returns true if the last check of the refs found that they had changed since they were read. */
bool git__refs_have_changed(const struct ts_git_repo *repo);

/* Returns the number of ids that begin with these hex digits. *ret_first is the first such id. */
size_t git__find_prefix(struct ts_git_repo *repo, const char *digits, struct ts_git_oid *ret_first);

#endif
