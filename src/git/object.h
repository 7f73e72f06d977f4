/*
 * Parsing commits, trees and tags. These functions borrow the bytes; the results point into them. For a
 * damaged object ts_git_tree_next returns TS_GIT_TREE_BAD, and the other functions return false.
 */
#ifndef TS_GIT_OBJECT_H
#define TS_GIT_OBJECT_H

#include "base/bytes.h"
#include "git/oid.h"

#include <stdbool.h>
#include <stdint.h>

/* The numbers are the type numbers in packs. */
enum ts_git_type { TS_GIT_COMMIT = 1, TS_GIT_TREE = 2, TS_GIT_BLOB = 3, TS_GIT_TAG = 4 };

const char *ts_git_type_name(enum ts_git_type type);
bool ts_git_type_from_name(struct ts_bytes name, enum ts_git_type *ret_type);

/* A line "Name <mail> seconds zone". Parts that cannot be parsed are empty or 0, because old tools wrote
 * unusual lines. */
struct ts_git_person {
    struct ts_bytes name;
    struct ts_bytes mail;
    int64_t time_s;       /* seconds since 1970 */
    int32_t zone_minutes; /* east of Greenwich */
};

/* An entry of a tree. Modes are as git writes them: 040000 is a tree, 0160000 a commit of another repository
 * (submodule), 0120000 a symbolic link; everything else is a file. */
struct ts_git_tree_entry {
    uint32_t mode;
    struct ts_bytes name; /* no slash, no zero, not empty; otherwise any bytes */
    struct ts_git_oid oid;
};

static inline bool ts_git_mode_is_tree(uint32_t mode) {
    return (mode & 0170000u) == 0040000u;
}

static inline bool ts_git_mode_is_submodule(uint32_t mode) {
    return (mode & 0170000u) == 0160000u;
}

enum ts_git_tree_step { TS_GIT_TREE_ENTRY, TS_GIT_TREE_END, TS_GIT_TREE_BAD };

/* Takes an entry from the front of *rest. */
enum ts_git_tree_step ts_git_tree_next(enum ts_git_hash hash, struct ts_bytes *rest,
                                       struct ts_git_tree_entry *ret_entry);

struct ts_git_commit {
    struct ts_git_oid tree;
    struct ts_bytes parents; /* the lines of all parents: use ts_git_commit_next_parent */
    struct ts_git_person author;
    struct ts_git_person committer;
    struct ts_bytes message; /* all bytes after the first empty line, in the encoding of the author */
};

bool ts_git_commit_parse(enum ts_git_hash hash, struct ts_bytes content, struct ts_git_commit *ret_commit);
bool ts_git_commit_next_parent(enum ts_git_hash hash, struct ts_bytes *parents,
                               struct ts_git_oid *ret_parent);

struct ts_git_tag {
    struct ts_git_oid target;
    enum ts_git_type target_type;
    struct ts_bytes name;
    struct ts_git_person tagger; /* empty if the tag has no tagger */
    struct ts_bytes message;
};

bool ts_git_tag_parse(enum ts_git_hash hash, struct ts_bytes content, struct ts_git_tag *ret_tag);

#endif
