#include "quota.h"

#include "slot.h"

#include "base/number.h"
#include "os/clock.h"
#include "os/grow.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COUNT_EVERY_NS UINT64_C(60000000000)

struct entry {
    char *lock_path; /* owned */
    struct timespec used_at;
    uint64_t size;
};

struct entries {
    struct entry *items;
    size_t count;
    size_t capacity;
    uint64_t size;
};

/* Called for a mirror that a worker is changing, or was changing when it was killed. Removes what a killed
 * worker left, because this slot may never be used again. Returns the size of the remaining files. */
static uint64_t clean(const char *lock_path) {
    struct mirror__slot slot;
    if (!mirror__slot_of_lock(&slot, lock_path))
        return 0;
    if (mirror__slot_try_lock(&slot) != MIRROR__LOCKED)
        return mirror__tree_size(slot.path) + mirror__tree_size(slot.new_path);
    (void)mirror__tree_remove(slot.old_path);
    (void)mirror__tree_remove(slot.new_path);
    mirror__tree_tidy(slot.path);
    const uint64_t size = mirror__tree_size(slot.path);
    /* Keeps the mark `busy`, so that the next worker refreshes the mirror even if no ref has changed. */
    if (size > 0)
        mirror__slot_unlock(&slot);
    else
        mirror__slot_remove(&slot);
    return size;
}

/* Returns the size of a mirror, as the lock file says. If the file has no size, cleans the mirror first. */
static uint64_t size_of(int folder, const char *name, const char *lock_path) {
    char text[TS_NUMBER_TEXT_SIZE + 1] = "";
    uint64_t size = 0;
    const int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
    const ssize_t len = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        (void)close(fd);
    if (len > 0 && ts_u64_parse(ts_bytes_of(text, strcspn(text, "\n")), &size) == TS_NUMBER_OK)
        return size;
    return clean(lock_path);
}

static void add(struct entries *entries, int folder, const char *folder_path, const char *name) {
    struct stat status;
    char *path = NULL;
    const size_t len = strlen(name);
    if (len < 5 || strcmp(name + len - 5, ".lock") != 0 || fstatat(folder, name, &status, 0) != 0 ||
        asprintf(&path, "%s/%s", folder_path, name) < 0)
        return;
    if (!TS_GROW(entries->items, entries->capacity, entries->count + 1)) {
        free(path);
        return;
    }
    struct entry *entry = &entries->items[entries->count++];
    *entry =
        (struct entry){.lock_path = path, .used_at = status.st_mtim, .size = size_of(folder, name, path)};
    entries->size += entry->size;
}

static void list_folder(struct entries *entries, const char *root, const char *name) {
    char path[PATH_MAX];
    const int len = snprintf(path, sizeof path, "%s/%s", root, name);
    DIR *folder = name[0] != '.' && len > 0 && (size_t)len < sizeof path ? opendir(path) : NULL;
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;)
        add(entries, dirfd(folder), path, entry->d_name);
    if (folder != NULL)
        (void)closedir(folder);
}

static void list(struct entries *ret_entries, const char *root) {
    DIR *folder = opendir(root);
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;)
        list_folder(ret_entries, root, entry->d_name);
    if (folder != NULL)
        (void)closedir(folder);
}

static int by_use(const void *one, const void *other) {
    const struct entry *a = one;
    const struct entry *b = other;
    if (a->used_at.tv_sec != b->used_at.tv_sec)
        return a->used_at.tv_sec < b->used_at.tv_sec ? -1 : 1;
    return (a->used_at.tv_nsec > b->used_at.tv_nsec) - (a->used_at.tv_nsec < b->used_at.tv_nsec);
}

/* If the mirrors exceed max, evicts until they have at most 90 % of max, so that not every sync must evict.
 * Returns the bytes that are left. */
static uint64_t evict(struct entries *entries, uint64_t max) {
    uint64_t size = entries->size;
    if (size <= max || entries->count == 0)
        return size;
    qsort(entries->items, entries->count, sizeof *entries->items, by_use);
    for (size_t i = 0; i < entries->count && size > max - max / 10; i++) {
        struct mirror__slot slot;
        if (!mirror__slot_of_lock(&slot, entries->items[i].lock_path) ||
            mirror__slot_try_lock(&slot) != MIRROR__LOCKED)
            continue;
        mirror__slot_remove(&slot);
        size -= entries->items[i].size;
    }
    return size;
}

void mirror__quota_grow(struct mirror__quota *quota, const char *root, uint64_t max, uint64_t bytes) {
    const uint64_t now_ns = ts_clock_monotonic_ns();
    struct entries entries = {.count = 0};
    pthread_mutex_lock(&quota->lock);
    quota->used += bytes;
    if (quota->used > max || quota->counted_ns == 0 || now_ns - quota->counted_ns > COUNT_EVERY_NS) {
        list(&entries, root);
        quota->used = evict(&entries, max);
        quota->counted_ns = now_ns;
    }
    pthread_mutex_unlock(&quota->lock);
    for (size_t i = 0; i < entries.count; i++)
        free(entries.items[i].lock_path);
    free(entries.items);
}
