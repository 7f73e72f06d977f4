/*
 * The refs of an origin, as `git ls-remote --symref` lists them; the refs that a selection needs; and whether
 * a mirror already has them. Everything in a listing comes from a server.
 */
#ifndef TS_RUNTIME_MIRROR_LISTING_H
#define TS_RUNTIME_MIRROR_LISTING_H

#include "base/bytes.h"
#include "git/oid.h"
#include "os/arena.h"

#include <stdbool.h>
#include <stddef.h>

/* This ref keeps the commit of a detached HEAD. */
#define MIRROR__HEAD_REF   "refs/turnstone/head"

/* If the origin has no HEAD, HEAD of the mirror names this ref. */
#define MIRROR__UNBORN_REF "refs/turnstone/unborn"

struct mirror__ref {
    const char *source; /* the name at the origin, or the id of a commit */
    const char *name;   /* the name in the mirror */
    struct ts_git_oid oid;
};

struct mirror__refs {
    struct mirror__ref *items; /* in the order of their names */
    size_t count;
    size_t capacity;
};

/* Zero-initialise it; release it. */
struct mirror__listing {
    struct mirror__refs refs; /* all refs of the listing except HEAD */
    enum ts_git_hash hash;
    const char *head; /* the branch that HEAD names; NULL: none */
    bool has_head;
    struct ts_git_oid head_oid;
    char *output; /* owned; the texts of the listing are in this memory */
    struct ts_arena arena;
};

enum mirror__listed {
    MIRROR__LISTED,
    MIRROR__LISTING_WRONG, /* the output is not a list of refs */
    MIRROR__LISTING_NO_MEMORY,
};

/* Parses the output, and writes terminators into it. `hash` is the object format if the list is empty. */
enum mirror__listed mirror__listing_parse(char *output, size_t len, enum ts_git_hash hash,
                                          struct mirror__listing *ret_listing);
void mirror__listing_release(struct mirror__listing *listing);

/* Chooses the refs that a mirror needs for the selection. Returns false when memory runs out. */
bool mirror__listing_choose(struct mirror__listing *listing, struct ts_bytes selection,
                            struct mirror__refs *ret_wanted);

/* The state of a mirror, compared with a listing. */
struct mirror__state {
    bool is_readable; /* false: the mirror is damaged, or does not exist */
    bool is_same;     /* the mirror's refs and HEAD are the wanted ones */
    enum ts_git_hash hash;
    struct mirror__refs stale; /* refs that are not wanted; names belong to the listing's arena */
};

/* Compares a mirror with the wanted refs. Returns false when memory runs out. */
bool mirror__listing_compare(struct mirror__listing *listing, const struct mirror__refs *wanted,
                             const char *path, struct mirror__state *ret_state);

/* Sets HEAD of the mirror to that of the listing. On failure returns false and sets errno. */
bool mirror__head_write(const struct mirror__listing *listing, const char *path);

#endif
