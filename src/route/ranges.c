/*
 * Makes a range router: checks that the ranges cover every id exactly once, and lays them out for the search.
 *
 * A valid list is a partition, so the start of a range is enough to identify it: the range of an id is the
 * one with the greatest start that is not above it. The starts are kept as a binary tree in an array
 * (Eytzinger's order): the root at 1, the children of k at 2k and 2k + 1, in-order ascending. The search then
 * needs no branch that could be predicted wrongly, and can fetch the cache line three levels ahead. A sorted
 * array allows neither.
 *
 * The borrowed memory, from its first address that is a multiple of 64:
 *
 *     uint64_t starts[count + 1]    in tree order; [0] is not used
 *     uint32_t stores[count + 1]    of the same ranges, in the same order
 *     uint32_t all_stores[count]    ascending
 *     uint32_t by_start[count]      positions in the given list, ascending by start; not needed after init
 */
#include "ranges.h"

#include "turnstone/route.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BYTES_PER_RANGE (sizeof(uint64_t) + 3 * sizeof(uint32_t))
#define BYTES_ALWAYS    (sizeof(uint64_t) + sizeof(uint32_t) + ROUTE__LINE_BYTES - 1)

_Static_assert(ROUTE__LINE_KEYS == 8, "a cache line holds a node's descendants three levels below");

size_t ts_router_range_memory(size_t count) {
    if (count > (SIZE_MAX - BYTES_ALWAYS) / BYTES_PER_RANGE)
        return SIZE_MAX;
    return count * BYTES_PER_RANGE + BYTES_ALWAYS;
}

struct arrays {
    uint64_t *starts;
    uint32_t *stores;
    uint32_t *all_stores;
    uint32_t *by_start;
};

/* Divides the memory into the arrays. The caller has checked that the memory is large enough. */
static struct arrays lay_out(void *memory, size_t count) {
    unsigned char *at = memory;
    at += -(uintptr_t)at % ROUTE__LINE_BYTES;
    struct arrays arrays;
    arrays.starts = (void *)at;
    at += (count + 1) * sizeof(uint64_t);
    arrays.stores = (void *)at;
    at += (count + 1) * sizeof(uint32_t);
    arrays.all_stores = (void *)at;
    at += count * sizeof(uint32_t);
    arrays.by_start = (void *)at;
    return arrays;
}

/* Returns whether a comes before b. Without `ranges`, a and b are numbers; otherwise they are positions of
 * ranges, which are ordered by start, and by position if the starts are equal. */
static bool before(const struct ts_router_range *ranges, uint32_t a, uint32_t b) {
    if (ranges == NULL || ranges[a].start == ranges[b].start)
        return a < b;
    return ranges[a].start < ranges[b].start;
}

static void sift_down(const struct ts_router_range *ranges, uint32_t *items, size_t at, size_t count) {
    uint32_t item = items[at];
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= count)
            break;
        if (child + 1 < count && before(ranges, items[child], items[child + 1]))
            child++;
        if (!before(ranges, item, items[child]))
            break;
        items[at] = items[child];
        at = child;
    }
    items[at] = item;
}

/* Heapsort: in place and never quadratic. qsort may allocate. */
static void sort(const struct ts_router_range *ranges, uint32_t *items, size_t count) {
    for (size_t i = count / 2; i-- > 0;)
        sift_down(ranges, items, i, count);
    for (size_t end = count; end-- > 1;) {
        uint32_t greatest = items[0];
        items[0] = items[end];
        items[end] = greatest;
        sift_down(ranges, items, 0, end);
    }
}

static enum ts_router_error check_not_empty(const struct ts_router_range *ranges, size_t count,
                                            struct ts_router_error_detail *ret_detail) {
    for (size_t i = 0; i < count; i++) {
        const struct ts_router_range *range = &ranges[i];
        /*
         * The range from UINT64_MAX to UINT64_MAX is the last id alone. It is never part of a valid list: the
         * range before it would have to end at UINT64_MAX, and that end includes the last id. It is therefore
         * reported as a gap or an overlap.
         */
        bool last_id = range->start == UINT64_MAX && range->end == UINT64_MAX;
        if (range->start >= range->end && !last_id) {
            *ret_detail = (struct ts_router_error_detail){.error = TS_ROUTER_EMPTY_RANGE,
                                                          .position = i,
                                                          .store = range->store,
                                                          .start = range->start,
                                                          .end = range->end};
            return TS_ROUTER_EMPTY_RANGE;
        }
    }
    return TS_ROUTER_OK;
}

/* Returns the position of the first range, from `from` on, that has this store. There must be one. */
static size_t position_of(const struct ts_router_range *ranges, size_t from, uint32_t store) {
    while (ranges[from].store.v != store)
        from++;
    return from;
}

/* Fills all_stores, and checks that no store occurs twice. */
static enum ts_router_error check_stores_unique(const struct ts_router_range *ranges, size_t count,
                                                uint32_t *all_stores,
                                                struct ts_router_error_detail *ret_detail) {
    for (size_t i = 0; i < count; i++)
        all_stores[i] = ranges[i].store.v;
    sort(NULL, all_stores, count);
    for (size_t i = 1; i < count; i++) {
        if (all_stores[i] == all_stores[i - 1]) {
            size_t first = position_of(ranges, 0, all_stores[i]);
            *ret_detail =
                (struct ts_router_error_detail){.error = TS_ROUTER_DUPLICATE_STORE,
                                                .position = position_of(ranges, first + 1, all_stores[i]),
                                                .first_position = first,
                                                .store = {all_stores[i]}};
            return TS_ROUTER_DUPLICATE_STORE;
        }
    }
    return TS_ROUTER_OK;
}

/* Fills by_start, and checks that the ranges cover every id once. A position fits 32 bits: stores are unique
 * here, so there are at most 2^32 ranges. */
static enum ts_router_error check_partition(const struct ts_router_range *ranges, size_t count,
                                            uint32_t *by_start, struct ts_router_error_detail *ret_detail) {
    for (size_t i = 0; i < count; i++)
        by_start[i] = (uint32_t)i;
    sort(ranges, by_start, count);

    uint64_t expected = 0;
    bool complete = false; /* all ids are used: expected is UINT64_MAX and means 2^64 */
    for (size_t i = 0; i < count; i++) {
        const struct ts_router_range *range = &ranges[by_start[i]];
        if (complete || range->start != expected) {
            bool gap = range->start > expected;
            *ret_detail = (struct ts_router_error_detail){.error = gap ? TS_ROUTER_GAP : TS_ROUTER_OVERLAP,
                                                          .position = by_start[i],
                                                          .store = range->store,
                                                          .expected = expected,
                                                          .found = range->start};
            return ret_detail->error;
        }
        expected = range->end;
        complete = range->end == UINT64_MAX;
    }
    if (!complete) {
        *ret_detail = (struct ts_router_error_detail){.error = TS_ROUTER_INCOMPLETE_COVERAGE,
                                                      .position = by_start[count - 1],
                                                      .store = ranges[by_start[count - 1]].store,
                                                      .ends_at = expected};
        return TS_ROUTER_INCOMPLETE_COVERAGE;
    }
    return TS_ROUTER_OK;
}

static enum ts_router_error check(const struct ts_router_range *ranges, size_t count,
                                  const struct arrays *arrays, struct ts_router_error_detail *ret_detail) {
    enum ts_router_error error = check_not_empty(ranges, count, ret_detail);
    if (error == TS_ROUTER_OK)
        error = check_stores_unique(ranges, count, arrays->all_stores, ret_detail);
    if (error == TS_ROUTER_OK)
        error = check_partition(ranges, count, arrays->by_start, ret_detail);
    return error;
}

static size_t leftmost(size_t k, size_t count) {
    while (2 * k <= count)
        k *= 2;
    return k;
}

/* Visits the nodes of the tree in order, and gives each node the range with the next higher start. */
static void fill_tree(const struct ts_router_range *ranges, size_t count, const struct arrays *arrays) {
    arrays->starts[0] = 0;
    arrays->stores[0] = 0;
    size_t k = leftmost(1, count);
    for (size_t i = 0; i < count; i++) {
        const struct ts_router_range *range = &ranges[arrays->by_start[i]];
        arrays->starts[k] = range->start;
        arrays->stores[k] = range->store.v;
        if (2 * k + 1 <= count)
            k = leftmost(2 * k + 1, count);
        else /* go up over every right turn, and then up by one level */
            k >>= __builtin_ctzll(~(unsigned long long)k) + 1;
    }
}

enum ts_router_error ts_router_init_range(const struct ts_router_range *ranges, size_t count, void *memory,
                                          size_t memory_size, struct ts_router *ret_router,
                                          struct ts_router_error_detail *ret_detail) {
    struct ts_router_error_detail unwanted;
    if (ret_detail == NULL)
        ret_detail = &unwanted;

    if (count == 0) {
        *ret_detail = (struct ts_router_error_detail){.error = TS_ROUTER_EMPTY_LIST};
        return TS_ROUTER_EMPTY_LIST;
    }
    size_t needed = ts_router_range_memory(count);
    if (memory == NULL || memory_size < needed || needed == SIZE_MAX) {
        *ret_detail = (struct ts_router_error_detail){
            .error = TS_ROUTER_MEMORY_TOO_SMALL, .needed = needed, .given = memory == NULL ? 0 : memory_size};
        return TS_ROUTER_MEMORY_TOO_SMALL;
    }
    struct arrays arrays = lay_out(memory, count);
    enum ts_router_error error = check(ranges, count, &arrays, ret_detail);
    if (error != TS_ROUTER_OK)
        return error;
    fill_tree(ranges, count, &arrays);
    *ret_router = (struct ts_router){.strategy = TS_ROUTER_STRATEGY_RANGE,
                                     .range_count = count,
                                     .starts = arrays.starts,
                                     .stores = arrays.stores,
                                     .all_stores = arrays.all_stores};
    return TS_ROUTER_OK;
}
