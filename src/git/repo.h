/*
 * A git repository, opened for reading. Nothing in it is executed, and nothing is written to it. Hooks,
 * filters, attributes, includes and aliases are ignored.
 *
 * A repository object belongs to one thread; ts_git_visit uses its own threads inside. Files are mapped: if
 * another process truncates a pack during reading, this process ends, as git would. Git itself never
 * truncates packs; it only replaces them.
 */
#ifndef TS_GIT_REPO_H
#define TS_GIT_REPO_H

#include "git/error.h"
#include "git/object.h"

struct ts_git_repo;

struct ts_git_open_options {
    bool search_upward; /* search for the repository in the folders above, too */
    /* Folders, separated by colons, that end the upward search; NULL: none. */
    const char *ceilings;
    const char *work_tree; /* the work tree to use, also for a bare repository; NULL: its own */
    bool refs_first;       /* read the refs before listing objects, so that the list has the targets */
    bool no_alternates;    /* do not read the objects of the alternates that this repository names */
    struct ts_git_fault_sink faults; /* takes faults that do not prevent reading, such as a broken pack */
};

/* Opens a repository. path is a work tree (also a linked one), a .git folder or file, or a bare repository.
 * options may be NULL. */
enum ts_git_error ts_git_repo_open(const char *path, const struct ts_git_open_options *options,
                                   struct ts_git_repo **ret_repo, struct ts_git_fault *ret_fault);
void ts_git_repo_free(struct ts_git_repo *repo);

enum ts_git_hash ts_git_repo_hash(const struct ts_git_repo *repo);
const char *ts_git_repo_common_dir(const struct ts_git_repo *repo);
const char *ts_git_repo_work_tree(const struct ts_git_repo *repo); /* NULL if repo is bare */
bool ts_git_repo_is_shallow(const struct ts_git_repo *repo);

/* Returns whether a server may have promised a missing object (src/git/lacks.h). The function reads all
 * indexes, so call it only when something is missing. */
bool ts_git_repo_keeps_promises(struct ts_git_repo *repo);

/* Reads the URL of a remote from the configuration. A URL may contain a password. Returns false if the remote
 * has no URL, or if the URL does not fit. */
bool ts_git_repo_remote_url(const struct ts_git_repo *repo, const char *remote, char *ret_url, size_t size);

/* Returns the size of all objects on disk, including those of alternates. Queries the size of every loose
 * object. */
uint64_t ts_git_repo_disk_bytes(const struct ts_git_repo *repo);

/* A ref, by its full name. HEAD counts as a ref. */
struct ts_git_ref {
    char *name;
    struct ts_git_oid oid; /* the id that symbolic refs lead to */
};

struct ts_git_refs {
    struct ts_git_ref *items;
    size_t count;
};

/* Lists the refs at one moment: at the first call or, with refs_first, at the opening of the repository. A
 * ref that is broken or cannot be read is reported to the sink, which may be NULL; the other refs are listed.
 * Objects are not read: the target of a ref may be missing. A symbolic ref to a missing ref (HEAD of an empty
 * repository) is omitted. HEADs of other work trees are included, as main-worktree/HEAD and
 * worktrees/ID/HEAD. */
enum ts_git_error ts_git_refs_list(struct ts_git_repo *repo, const struct ts_git_fault_sink *faults,
                                   struct ts_git_refs *ret_refs, struct ts_git_fault *ret_fault);
void ts_git_refs_release(struct ts_git_refs *refs);

/* Replacements that git shows instead of the stored objects: the parents that info/grafts gives to commits,
 * and the objects that refs/replace names. History is read both with and without them. */
struct ts_git_substitutes {
    size_t grafts;
    size_t replaced;
};

enum ts_git_error ts_git_repo_substitutes(struct ts_git_repo *repo,
                                          struct ts_git_substitutes *ret_substitutes,
                                          struct ts_git_fault *ret_fault);

/* Resolves a ref as users write it (main, v1.0, origin/main, refs/…, HEAD), or a unique prefix of an object's
 * id with at least 4 digits. If the refs were read before, a ref has the value that it had at that time. Tags
 * are not peeled. Returns NO_SUCH_REF if the name is unknown; other errors mean that the ref cannot be
 * read. */
enum ts_git_error ts_git_repo_resolve(struct ts_git_repo *repo, const char *name, struct ts_git_oid *ret_oid,
                                      struct ts_git_fault *ret_fault);

/* The content of one object. The caller frees bytes. */
struct ts_git_content {
    enum ts_git_type type;
    uint8_t *bytes;
    size_t len;
};

/* Reads an object, and compares its content with its id. Returns TOO_LARGE if it has more than max bytes. If
 * one copy is damaged, the other copies are tried. If there is no copy, the repository is opened and searched
 * again. Returns MOVED if the object is gone, and the refs have changed since they were read. */
enum ts_git_error ts_git_object_read(struct ts_git_repo *repo, const struct ts_git_oid *oid, size_t max,
                                     struct ts_git_content *ret_content, struct ts_git_fault *ret_fault);

/* Like ts_git_object_read, for an object that should be a blob. Returns WRONG_TYPE if it is not a blob. */
enum ts_git_error ts_git_blob_read(struct ts_git_repo *repo, const struct ts_git_oid *oid, size_t max,
                                   struct ts_git_content *ret_content, struct ts_git_fault *ret_fault);

/* Follows tags to their target. If a target is missing, or if an object is too large to read, returns OK with
 * the id of that object. */
enum ts_git_error ts_git_object_peel(struct ts_git_repo *repo, const struct ts_git_oid *oid,
                                     struct ts_git_oid *ret_oid, struct ts_git_fault *ret_fault);

#endif
