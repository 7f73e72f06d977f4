#include "slot.h"

#include "base/blake3.h"
#include "base/hex.h"
#include "base/number.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TENANT_DIGITS = 16 };

static bool write_path(char ret_path[static PATH_MAX], const char *base, const char *end) {
    const int len = snprintf(ret_path, PATH_MAX, "%s%s", base, end);
    return len > 0 && len < PATH_MAX;
}

static bool init(struct mirror__slot *slot, const char *base) {
    slot->fd = -1;
    slot->is_interrupted = false;
    return write_path(slot->lock_path, base, ".lock") && write_path(slot->path, base, ".git") &&
           write_path(slot->new_path, base, ".new") && write_path(slot->old_path, base, ".old");
}

bool mirror__slot_of_lock(struct mirror__slot *slot, const char *lock_path) {
    static const char end[] = ".lock";
    char base[PATH_MAX];
    const size_t len = strlen(lock_path), end_len = strlen(end);
    if (len <= end_len || len >= sizeof base || strcmp(lock_path + len - end_len, end) != 0)
        return false;
    memcpy(base, lock_path, len - end_len);
    base[len - end_len] = '\0';
    return init(slot, base);
}

bool mirror__slot_init(struct mirror__slot *slot, const char *root, const struct ts_mirror_request *request,
                       unsigned number) {
    uint8_t hash[TS_BLAKE3_OUT_LEN];
    char tenant[TENANT_DIGITS + 1] = "";
    char target[2 * TS_TARGET_ID_LEN + 1] = "";
    char base[PATH_MAX];
    ts_blake3_derive_key(TS_BYTES("turnstone 2026-11 folder of a tenant's mirrors"), request->tenant, hash);
    (void)ts_hex_encode(ts_bytes_of(hash, TENANT_DIGITS / 2), tenant);
    (void)ts_hex_encode(ts_bytes_of(request->target.bytes, TS_TARGET_ID_LEN), target);
    const int len = snprintf(base, sizeof base, "%s/%s/%s.%u", root, tenant, target, number);
    return len > 0 && (size_t)len < sizeof base && init(slot, base);
}

/* Creates the folders of a path up to its last slash. Only their owner can access them. */
static bool make_folders(char *path) {
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        const bool done = mkdir(path, 0700) == 0 || errno == EEXIST;
        *slash = '/';
        if (!done)
            return false;
    }
    return true;
}

bool mirror__slot_make_folders(const char *root, const struct mirror__slot *slot) {
    char path[PATH_MAX];
    char other[PATH_MAX];
    memcpy(path, slot->lock_path, sizeof path);
    if (!make_folders(path) || !write_path(path, root, "/turnstone-mirrors") ||
        !write_path(other, root, "/TURNSTONE-MIRRORS"))
        return false;
    const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    (void)close(fd);
    /* If the other name exists, too, the file system ignores case. Refs that differ only in case would then
     * be one file. */
    errno = EINVAL;
    return access(other, F_OK) != 0;
}

/* Returns whether the open file is still the file at its path. An eviction may have removed the lock file. */
static bool is_current(const struct mirror__slot *slot) {
    struct stat open_file, named;
    return fstat(slot->fd, &open_file) == 0 && stat(slot->lock_path, &named) == 0 &&
           open_file.st_ino == named.st_ino && open_file.st_dev == named.st_dev;
}

enum mirror__lock mirror__slot_try_lock(struct mirror__slot *slot) {
    slot->fd = open(slot->lock_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (slot->fd < 0)
        return errno == ENOENT ? MIRROR__LOCK_BUSY : MIRROR__LOCK_FAILED;
    if (flock(slot->fd, LOCK_EX | LOCK_NB) != 0 || !is_current(slot)) {
        (void)close(slot->fd);
        slot->fd = -1;
        return MIRROR__LOCK_BUSY;
    }
    char state[8] = "";
    slot->is_interrupted = pread(slot->fd, state, sizeof state - 1, 0) > 0 && state[0] == 'b';
    return MIRROR__LOCKED;
}

bool mirror__slot_mark(const struct mirror__slot *slot, uint64_t size) {
    char text[TS_NUMBER_TEXT_SIZE + 1] = "busy\n";
    size_t len = strlen(text);
    if (size != MIRROR__BUSY) {
        len = ts_u64_format(size, text);
        text[len++] = '\n';
    }
    return ftruncate(slot->fd, 0) == 0 && pwrite(slot->fd, text, len, 0) == (ssize_t)len;
}

bool mirror__slot_share(const struct mirror__slot *slot) {
    int locked;
    do
        locked = flock(slot->fd, LOCK_SH);
    while (locked != 0 && errno == EINTR);
    (void)futimens(slot->fd, NULL);
    return locked == 0 && is_current(slot) && access(slot->path, F_OK) == 0;
}

/* Unlocks before it closes, because a child that is being forked may still have a copy of the descriptor for
 * a moment. */
void mirror__slot_unlock(struct mirror__slot *slot) {
    if (slot->fd < 0)
        return;
    (void)flock(slot->fd, LOCK_UN);
    (void)close(slot->fd);
    slot->fd = -1;
}

void mirror__slot_remove(struct mirror__slot *slot) {
    (void)mirror__tree_remove(slot->old_path);
    (void)mirror__tree_remove(slot->new_path);
    if (rename(slot->path, slot->old_path) == 0)
        (void)mirror__tree_remove(slot->old_path);
    (void)unlink(slot->lock_path);
    mirror__slot_unlock(slot);
}

/* ---- trees of files ---- */

static FTS *open_tree(const char *path) {
    char *paths[] = {(char *)(uintptr_t)path, NULL};
    return fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL);
}

bool mirror__tree_remove(const char *path) {
    FTS *tree = open_tree(path);
    for (FTSENT *entry; tree != NULL && (entry = fts_read(tree)) != NULL;)
        if (entry->fts_info == FTS_DP)
            (void)rmdir(entry->fts_accpath);
        else if (entry->fts_info != FTS_D)
            (void)unlink(entry->fts_accpath);
    if (tree != NULL)
        (void)fts_close(tree);
    struct stat status;
    return lstat(path, &status) != 0 && errno == ENOENT;
}

uint64_t mirror__tree_size(const char *path) {
    uint64_t size = 0;
    FTS *tree = open_tree(path);
    for (FTSENT *entry; tree != NULL && (entry = fts_read(tree)) != NULL;)
        if (entry->fts_info == FTS_F)
            size += (uint64_t)entry->fts_statp->st_size;
    if (tree != NULL)
        (void)fts_close(tree);
    return size;
}

/* Whether a killed git has left the file: a temporary file, or a lock. A lock is no ref, because no ref can
 * end in .lock. */
static bool is_left_over(const char *below, const char *name, size_t len) {
    const bool is_temporary = strncmp(name, "tmp_", 4) == 0 || strncmp(name, ".tmp-", 5) == 0;
    return (is_temporary && strncmp(below, "/objects/", 9) == 0) ||
           (len > 5 && strcmp(name + len - 5, ".lock") == 0);
}

void mirror__tree_tidy(const char *path) {
    FTS *tree = open_tree(path);
    for (FTSENT *entry; tree != NULL && (entry = fts_read(tree)) != NULL;)
        if (entry->fts_info == FTS_F &&
            is_left_over(entry->fts_path + strlen(path), entry->fts_name, entry->fts_namelen))
            (void)unlink(entry->fts_accpath);
    if (tree != NULL)
        (void)fts_close(tree);
}
