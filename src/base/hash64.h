/*
 * 64-bit hashes that are the same in every release and on every machine: placement of stored data depends on
 * them. Not for secrets, and not safe against chosen input.
 */
#ifndef TS_BASE_HASH64_H
#define TS_BASE_HASH64_H

#include "base/bytes.h"

#include <stdint.h>

/* XXH64 with seed 0 of the 8 little-endian bytes of an id. */
uint64_t ts_xxh64_of_id(uint64_t id);

/* XXH64 with seed 0 of bytes. */
uint64_t ts_xxh64_of_bytes(struct ts_bytes bytes);

/* FNV-1a, 64 bits, of the 8 little-endian bytes of an id. */
static inline uint64_t ts_fnv1a64_of_id(uint64_t id) {
    uint64_t hash = UINT64_C(14695981039346656037);
    for (int i = 0; i < 8; i++) {
        hash ^= id >> (8 * i) & 0xff;
        hash *= UINT64_C(1099511628211);
    }
    return hash;
}

#endif
