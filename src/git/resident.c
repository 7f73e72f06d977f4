#include "resident.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static uint64_t mapped_bytes(const struct git__pack *packs, size_t pack_count) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < pack_count; i++)
        bytes += packs[i].map.bytes.len;
    return bytes;
}

void git__resident_forget(const struct git__pack *packs, size_t pack_count) {
    if (mapped_bytes(packs, pack_count) <= GIT__RESIDENT_MAX)
        return;
    for (size_t i = 0; i < pack_count; i++)
        git__map_forget(&packs[i].map);
}

/* Divides the mapping of a pack into windows. On failure the kernel maps more than necessary, which only
 * costs memory. */
static void divide(struct git__pack *pack, uint64_t window) {
    struct ts_bytes bytes = pack->map.bytes;
    for (uint64_t at = 0; !pack->is_divided && at + window < bytes.len; at += 2 * window)
        (void)madvise((void *)(uintptr_t)(bytes.data + at), (size_t)window, MADV_DONTDUMP);
    pack->is_divided = true;
}

bool git__resident_init(struct git__pack *packs, size_t pack_count, struct git__resident *ret_resident) {
    uint64_t bytes = mapped_bytes(packs, pack_count);
    uint64_t windows = 0;
    *ret_resident = (struct git__resident){
        .packs = packs,
        .pack_count = pack_count,
        .window = (bytes / GIT__RESIDENT_WINDOWS / GIT__RESIDENT_WINDOW + 1) * GIT__RESIDENT_WINDOW};
    uint64_t *first = malloc((pack_count + 1) * sizeof *first);
    if (first == NULL)
        return false;
    for (size_t i = 0; i < pack_count; i++) {
        first[i] = windows;
        windows += packs[i].map.bytes.len / ret_resident->window + 1;
    }
    first[pack_count] = windows;
    ret_resident->first = first;
    if (bytes <= GIT__RESIDENT_MAX)
        return true;
    ret_resident->is_read = calloc(windows + 1, sizeof *ret_resident->is_read);
    if (ret_resident->is_read == NULL)
        return false;
    ret_resident->process = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    atomic_init(&ret_resident->count_max, GIT__RESIDENT_MAX / ret_resident->window);
    for (size_t i = 0; i < pack_count; i++)
        divide(&packs[i], ret_resident->window);
    git__resident_forget(packs, pack_count); /* pages from which single objects were read */
    return true;
}

/* Releases the windows that were read. Other windows are skipped, because each call of the kernel takes time.
 * Pages that other threads read meanwhile may not be counted: at most one window per thread. */
static void forget(struct git__resident *resident) {
    atomic_store_explicit(&resident->count, 0, memory_order_relaxed);
    for (size_t pack = 0; pack < resident->pack_count; pack++) {
        struct ts_bytes bytes = resident->packs[pack].map.bytes;
        for (uint64_t i = resident->first[pack]; i < resident->first[pack + 1]; i++) {
            uint64_t from = (i - resident->first[pack]) * resident->window;
            if (atomic_exchange_explicit(&resident->is_read[i], 0, memory_order_relaxed) == 0)
                continue;
            uint64_t len = bytes.len - from < resident->window ? bytes.len - from : resident->window;
            (void)madvise((void *)(uintptr_t)(bytes.data + from), (size_t)len, MADV_DONTNEED);
        }
    }
}

void git__resident_release(struct git__resident *resident) {
    if (resident->is_read != NULL) {
        forget(resident);
        if (resident->process >= 0)
            close(resident->process);
    }
    free(resident->first);
    free(resident->is_read);
    *resident = (struct git__resident){.packs = NULL};
}

/* Returns the memory that the process takes, mapped files included; UINT64_MAX if that is unknown. */
static uint64_t process_bytes(const struct git__resident *resident) {
    char text[128];
    ssize_t len = resident->process < 0 ? -1 : pread(resident->process, text, sizeof text - 1, 0);
    if (len <= 0)
        return UINT64_MAX;
    text[len] = '\0';
    const char *second = strchr(text, ' '); /* numbers of pages: mapped, resident, and other values */
    uint64_t pages = second != NULL ? strtoull(second, NULL, 10) : 0;
    return pages > 0 ? pages * (uint64_t)sysconf(_SC_PAGESIZE) : UINT64_MAX;
}

static void limit(struct git__resident *resident, uint64_t count) {
    uint64_t most = GIT__RESIDENT_MAX / resident->window;
    if (process_bytes(resident) < GIT__RESIDENT_PROCESS)
        most = count + GIT__RESIDENT_STEP / resident->window;
    else
        forget(resident);
    atomic_store_explicit(&resident->count_max, most, memory_order_relaxed);
}

void git__resident_note(struct git__resident *resident, const struct git__pack *pack,
                        struct git__extent extent) {
    if (resident->is_read == NULL)
        return;
    uint64_t first = resident->first[pack - resident->packs];
    uint64_t added = 0;
    for (uint64_t at = extent.from / resident->window; at <= (extent.to - 1) / resident->window; at++) {
        atomic_uchar *is_read = &resident->is_read[first + at];
        if (atomic_load_explicit(is_read, memory_order_relaxed) == 0) {
            atomic_store_explicit(is_read, 1, memory_order_relaxed);
            added++;
        }
    }
    if (added == 0)
        return;
    uint64_t count = atomic_fetch_add_explicit(&resident->count, added, memory_order_relaxed) + added;
    if (count > atomic_load_explicit(&resident->count_max, memory_order_relaxed))
        limit(resident, count);
}
