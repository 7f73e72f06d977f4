/* Finds the range of an id; see ranges.c for the layout. Inline, so that ts_router_route is one function. */
#ifndef TS_ROUTE_RANGES_H
#define TS_ROUTE_RANGES_H

#include "turnstone/route.h"

#include <stddef.h>
#include <stdint.h>

/* Keys in a cache line: the descendants three levels below key k are the keys 8k .. 8k + 7, exactly one line.
 */
#define ROUTE__LINE_BYTES 64
#define ROUTE__LINE_KEYS  (ROUTE__LINE_BYTES / sizeof(uint64_t))

/*
 * Walks down from the root, and turns right when the key is not above the id. The binary digits of k after
 * the leading 1 are then the turns (1: right). The range of the id is the key at which the last right turn
 * was made: the digits before the last 1. There is always a right turn, because some range starts at 0.
 */
static inline uint32_t route__range_store(const struct ts_router *router, uint64_t id) {
    const uint64_t *starts = router->starts;
    size_t count = router->range_count;
    size_t k = 1;
    while (k <= count) {
        /* The address may be beyond the keys. It is only a hint, so it is computed as a number, not by
         * pointer arithmetic. */
        __builtin_prefetch((const void *)((uintptr_t)starts + k * ROUTE__LINE_BYTES));
        k = 2 * k + (starts[k] <= id);
    }
    k >>= __builtin_ctzll(k) + 1;
    return router->stores[k];
}

#endif
