#include "resident.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/uio.h>
#include <unistd.h>

#define FORGET_PART 8   /* at the limit, 1/FORGET_PART of the resident windows are released */
#define BATCH_MAX   256 /* 4 KiB on the stack */

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
    ret_resident->states = calloc(windows + 1, sizeof *ret_resident->states);
    if (ret_resident->states == NULL)
        return false;
    ret_resident->process = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ret_resident->self = pidfd_open(getpid(), 0); /* closed when this process starts a program */
    atomic_init(&ret_resident->count_max, GIT__RESIDENT_MAX / ret_resident->window);
    for (size_t i = 0; i < pack_count; i++)
        divide(&packs[i], ret_resident->window);
    git__resident_forget(packs, pack_count); /* pages from which single objects were read */
    return true;
}

/* Windows to release with one call. Each call interrupts the other threads, because their processors may have
 * translations of these pages. */
struct batch {
    struct iovec windows[BATCH_MAX];
    size_t count;
};

/* Releases the windows of a batch. Before Linux 6.13, process_madvise does not know MADV_DONTNEED. */
static void flush(const struct git__resident *resident, struct batch *batch) {
    ssize_t released = resident->self < 0 || batch->count == 0
                           ? -1
                           : process_madvise(resident->self, batch->windows, batch->count, MADV_DONTNEED, 0);
    for (size_t i = 0; released < 0 && i < batch->count; i++)
        (void)madvise(batch->windows[i].iov_base, batch->windows[i].iov_len, MADV_DONTNEED);
    batch->count = 0;
}

/* Releases up to `count` windows that were not read since the previous search passed them; UINT64_MAX: all
 * windows. Begins where the previous search ended. Windows that other threads read meanwhile may not be
 * counted: at most one window per thread. */
static void forget(struct git__resident *resident, uint64_t count) {
    uint64_t total = resident->first[resident->pack_count];
    size_t pack = 0;
    struct batch batch;
    batch.count = 0;
    for (uint64_t steps = 2 * total; steps > 0 && count > 0; steps--) {
        uint64_t i = atomic_fetch_add_explicit(&resident->hand, 1, memory_order_relaxed) % total;
        pack = i < resident->first[pack] ? 0 : pack;
        while (i >= resident->first[pack + 1])
            pack++;
        unsigned char state = atomic_load_explicit(&resident->states[i], memory_order_relaxed);
        if (state == GIT__WINDOW_RELEASED ||
            !atomic_compare_exchange_strong(&resident->states[i], &state, (unsigned char)(state - 1)) ||
            state != GIT__WINDOW_OLD)
            continue;
        struct ts_bytes bytes = resident->packs[pack].map.bytes;
        uint64_t from = (i - resident->first[pack]) * resident->window;
        uint64_t len = bytes.len - from < resident->window ? bytes.len - from : resident->window;
        batch.windows[batch.count++] =
            (struct iovec){.iov_base = (void *)(uintptr_t)(bytes.data + from), .iov_len = (size_t)len};
        if (batch.count == BATCH_MAX)
            flush(resident, &batch);
        atomic_fetch_sub_explicit(&resident->count, 1, memory_order_relaxed);
        count--;
    }
    flush(resident, &batch);
}

void git__resident_release(struct git__resident *resident) {
    if (resident->states != NULL) {
        forget(resident, UINT64_MAX);
        if (resident->process >= 0)
            close(resident->process);
        if (resident->self >= 0)
            close(resident->self);
    }
    free(resident->first);
    free(resident->states);
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
    if (process_bytes(resident) < GIT__RESIDENT_PROCESS) {
        most = count + GIT__RESIDENT_STEP / resident->window;
    } else {
        forget(resident, count / FORGET_PART);
        most = count - count / FORGET_PART > most ? count - count / FORGET_PART : most;
    }
    atomic_store_explicit(&resident->count_max, most, memory_order_relaxed);
}

void git__resident_note(struct git__resident *resident, const struct git__pack *pack,
                        struct git__extent extent) {
    if (resident->states == NULL)
        return;
    uint64_t first = resident->first[pack - resident->packs];
    uint64_t added = 0;
    for (uint64_t at = extent.from / resident->window; at <= (extent.to - 1) / resident->window; at++) {
        atomic_uchar *state = &resident->states[first + at];
        if (atomic_load_explicit(state, memory_order_relaxed) != GIT__WINDOW_READ)
            added += atomic_exchange(state, GIT__WINDOW_READ) == GIT__WINDOW_RELEASED;
    }
    if (added == 0)
        return;
    uint64_t count = atomic_fetch_add_explicit(&resident->count, added, memory_order_relaxed) + added;
    if (count > atomic_load_explicit(&resident->count_max, memory_order_relaxed))
        limit(resident, count);
}
