#include "resident.h"

#include <stdlib.h>

bool git__resident_init(const struct git__pack *packs, size_t pack_count,
                        struct git__resident *ret_resident) {
    uint64_t bytes = 0;
    uint64_t windows = 0;
    *ret_resident = (struct git__resident){.packs = packs, .pack_count = pack_count};
    uint64_t *first = malloc((pack_count + 1) * sizeof *first);
    if (first == NULL)
        return false;
    for (size_t i = 0; i < pack_count; i++) {
        first[i] = windows;
        bytes += packs[i].map.bytes.len;
        windows += packs[i].map.bytes.len / GIT__RESIDENT_WINDOW + 1;
    }
    first[pack_count] = windows;
    ret_resident->first = first;
    if (bytes <= GIT__RESIDENT_MAX)
        return true;
    ret_resident->is_read = calloc(windows, sizeof *ret_resident->is_read);
    for (size_t i = 0; i < pack_count; i++) /* pages from the visit before are not counted here */
        git__map_forget(&packs[i].map);
    return ret_resident->is_read != NULL;
}

void git__resident_release(struct git__resident *resident) {
    free(resident->first);
    free(resident->is_read);
    *resident = (struct git__resident){.packs = NULL};
}

/* Pages that other threads read meanwhile may not be counted: at most one window per thread. */
static void forget(struct git__resident *resident) {
    atomic_store_explicit(&resident->count, 0, memory_order_relaxed);
    for (uint64_t i = 0; i < resident->first[resident->pack_count]; i++)
        atomic_store_explicit(&resident->is_read[i], 0, memory_order_relaxed);
    for (size_t i = 0; i < resident->pack_count; i++)
        git__map_forget(&resident->packs[i].map);
}

void git__resident_note(struct git__resident *resident, const struct git__pack *pack,
                        struct git__extent extent) {
    if (resident->is_read == NULL)
        return;
    uint64_t first = resident->first[pack - resident->packs];
    uint64_t added = 0;
    for (uint64_t at = extent.from / GIT__RESIDENT_WINDOW; at <= (extent.to - 1) / GIT__RESIDENT_WINDOW;
         at++) {
        atomic_uchar *is_read = &resident->is_read[first + at];
        if (atomic_load_explicit(is_read, memory_order_relaxed) == 0) {
            atomic_store_explicit(is_read, 1, memory_order_relaxed);
            added++;
        }
    }
    if (added == 0)
        return;
    uint64_t count = atomic_fetch_add_explicit(&resident->count, added, memory_order_relaxed) + added;
    if (count > GIT__RESIDENT_MAX / GIT__RESIDENT_WINDOW)
        forget(resident);
}
