/*
 * The place of a mirror and its lock.
 *
 * The lock file has the state of the mirror, for the next process that locks it:
 *
 *     (empty)     nothing was fetched yet
 *     busy        somebody began to change the mirror; if the lock is free, that process was killed
 *     a number    bytes of the mirror
 */
#ifndef TS_RUNTIME_MIRROR_SLOT_H
#define TS_RUNTIME_MIRROR_SLOT_H

#include "runtime/mirror/mirror.h"

enum { MIRROR__SLOTS = 4 };

struct mirror__slot {
    int fd;              /* the lock; -1: none */
    bool is_interrupted; /* the last process that changed the mirror was killed */
    char lock_path[PATH_MAX];
    char path[PATH_MAX];     /* the mirror */
    char new_path[PATH_MAX]; /* a clone that is not complete yet */
    char old_path[PATH_MAX]; /* a mirror that is being removed */
};

enum mirror__lock {
    MIRROR__LOCKED,
    MIRROR__LOCK_BUSY,
    MIRROR__LOCK_FAILED, /* errno says why */
};

/* Sets the paths of a slot. Returns false if they are too long. */
bool mirror__slot_init(struct mirror__slot *slot, const char *root, const struct ts_mirror_request *request,
                       unsigned number);

/* Sets the paths of the slot to which a lock file belongs. Returns false if the path is not that of a lock
 * file. */
bool mirror__slot_of_lock(struct mirror__slot *slot, const char *lock_path);

/* Makes the folders above the slot. On failure returns false and sets errno. */
bool mirror__slot_make_folders(const char *root, const struct mirror__slot *slot);

/* Tries once to take an exclusive lock. */
enum mirror__lock mirror__slot_try_lock(struct mirror__slot *slot);

/* Stores the state: MIRROR__BUSY or the size. On failure returns false and sets errno. */
#define MIRROR__BUSY UINT64_MAX
bool mirror__slot_mark(const struct mirror__slot *slot, uint64_t size);

/* Changes the lock to a shared one. Returns false if another process has evicted the mirror meanwhile. */
bool mirror__slot_share(const struct mirror__slot *slot);

void mirror__slot_unlock(struct mirror__slot *slot);

/* Removes the mirror and its lock file. The slot must be locked; afterwards it is unlocked. */
void mirror__slot_remove(struct mirror__slot *slot);

/* ---- trees of files ---- */

/* Removes a tree of files. Returns whether nothing is left. A missing tree is not an error. */
bool mirror__tree_remove(const char *path);
uint64_t mirror__tree_size(const char *path);

/* Removes temporary packs and locks that a killed git has left in a repository. */
void mirror__tree_tidy(const char *path);

#endif
