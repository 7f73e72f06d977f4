/*
 * A git repository, opened for reading. Nothing in it is executed, no hook, filter, attribute, include or
 * alias is looked at, and nothing is written to it.
 *
 * A repository object belongs to one thread; ts_git_visit uses threads of its own inside. Files are mapped: a
 * pack that another process cuts short while it is read ends this process, as it would end git's; packs are
 * never cut short by git itself, only replaced.
 */
#ifndef TS_GIT_REPO_H
#define TS_GIT_REPO_H

#include "git/error.h"
#include "git/object.h"

struct ts_git_repo;

struct ts_git_open_options {
    bool search_upward;    /* look for the repository in the folders above, too */
    const char *work_tree; /* instead of where it stands by itself, also of a bare one; NULL: there */
    bool refs_first;       /* read the refs before objects are listed: what they name is then among those */
    bool no_alternates;    /* do not read objects of other repositories that this one names */
    struct ts_git_fault_sink faults; /* what cannot be read and leaves the rest: a broken pack, for one */
};

/* path is a work tree (also a linked one), a .git folder or file, or a bare repository. options may be NULL.
 */
enum ts_git_error ts_git_repo_open(const char *path, const struct ts_git_open_options *options,
                                   struct ts_git_repo **ret_repo, struct ts_git_fault *ret_fault);
void ts_git_repo_free(struct ts_git_repo *repo);

enum ts_git_hash ts_git_repo_hash(const struct ts_git_repo *repo);
const char *ts_git_repo_git_dir(const struct ts_git_repo *repo);
const char *ts_git_repo_common_dir(const struct ts_git_repo *repo);
const char *ts_git_repo_work_tree(const struct ts_git_repo *repo); /* NULL when it is bare */
bool ts_git_repo_is_shallow(const struct ts_git_repo *repo);
bool ts_git_repo_is_partial(const struct ts_git_repo *repo);

/* What its objects take on disk, those of alternates, too. Asks for the size of every loose one. */
uint64_t ts_git_repo_disk_bytes(const struct ts_git_repo *repo);

/* Refs, by name; HEAD is one of them. */
struct ts_git_ref {
    char *name;
    struct ts_git_oid oid; /* symbolic refs followed */
};

struct ts_git_refs {
    struct ts_git_ref *items;
    size_t count;
};

/* As they were at one moment: when the first call of this asked for them, or, with refs_first, when the repository was opened.
 * A ref that is broken or cannot be read goes to the sink, which may be NULL; the others are listed. Objects are not
 * looked at: what a ref names may be missing. A symbolic ref to one that is not there yet (HEAD of an empty repository) is left out. HEADs of other work
 * trees are among them, as main-worktree/HEAD and worktrees/ID/HEAD. */
enum ts_git_error ts_git_refs_list(struct ts_git_repo *repo, const struct ts_git_fault_sink *faults,
                                   struct ts_git_refs *ret_refs, struct ts_git_fault *ret_fault);
void ts_git_refs_release(struct ts_git_refs *refs);

/* What git shows instead of what objects say: commits with other parents by info/grafts, and objects that refs/replace
 * replaces. History is read with both and without. */
struct ts_git_substitutes {
    size_t grafts;
    size_t replaced;
};

enum ts_git_error ts_git_repo_substitutes(struct ts_git_repo *repo,
                                          struct ts_git_substitutes *ret_substitutes,
                                          struct ts_git_fault *ret_fault);

/* A ref as users write it (main, v1.0, origin/main, refs/…, HEAD), or an id of at least 4 digits that begins
 * only one object. A ref that was read before is as it was then. Tags are not peeled. NO_SUCH_REF when there is none; other errors are of one that cannot be read. */
enum ts_git_error ts_git_repo_resolve(struct ts_git_repo *repo, const char *name, struct ts_git_oid *ret_oid,
                                      struct ts_git_fault *ret_fault);

/* One object. The caller frees bytes. */
struct ts_git_content {
    enum ts_git_type type;
    uint8_t *bytes;
    size_t len;
};

/* TOO_LARGE beyond max bytes. What is read has the id that was asked for: when one copy is damaged, the others are
 * tried, and when there is none, it is looked for again. MOVED when it is gone, and the refs are not those that were read. */
enum ts_git_error ts_git_object_read(struct ts_git_repo *repo, const struct ts_git_oid *oid, size_t max,
                                     struct ts_git_content *ret_content, struct ts_git_fault *ret_fault);

/* The same of what should be a blob: WRONG_TYPE when it is none. */
enum ts_git_error ts_git_blob_read(struct ts_git_repo *repo, const struct ts_git_oid *oid, size_t max,
                                   struct ts_git_content *ret_content, struct ts_git_fault *ret_fault);

/* Follows tags to what they name; OK with the last one when that is missing. */
enum ts_git_error ts_git_object_peel(struct ts_git_repo *repo, const struct ts_git_oid *oid,
                                     struct ts_git_oid *ret_oid, struct ts_git_fault *ret_fault);

#endif
