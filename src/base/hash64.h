/*
 * 64-bit hashes that are the same in every release and on every machine, because the placement of stored data
 * depends on them. Not for secrets, and not safe against chosen input.
 */
#ifndef TS_BASE_HASH64_H
#define TS_BASE_HASH64_H

#include "base/bytes.h"

#include <stdint.h>

static inline uint64_t ts_hash64__rotate(uint64_t value, unsigned by) {
    return value << by | value >> (64 - by);
}

/*
 * Returns the XXH64, with seed 0, of the 8 little-endian bytes of an id; the algorithm is reduced to exactly
 * 8 bytes. Inline, because a call would cost as much as the hash. Tests compare the results with the library.
 */
static inline uint64_t ts_xxh64_of_id(uint64_t id) {
    const uint64_t prime1 = UINT64_C(0x9E3779B185EBCA87);
    const uint64_t prime2 = UINT64_C(0xC2B2AE3D27D4EB4F);
    const uint64_t prime3 = UINT64_C(0x165667B19E3779F9);
    const uint64_t prime4 = UINT64_C(0x85EBCA77C2B2AE63);
    const uint64_t prime5 = UINT64_C(0x27D4EB2F165667C5);
    uint64_t hash = prime5 + 8;
    hash ^= ts_hash64__rotate(id * prime2, 31) * prime1;
    hash = ts_hash64__rotate(hash, 27) * prime1 + prime4;
    hash = (hash ^ hash >> 33) * prime2;
    hash = (hash ^ hash >> 29) * prime3;
    return hash ^ hash >> 32;
}

/* Returns the XXH64 of bytes, with seed 0. */
uint64_t ts_xxh64_of_bytes(struct ts_bytes bytes);

/* Returns the FNV-1a hash, 64 bits, of the 8 little-endian bytes of an id. */
static inline uint64_t ts_fnv1a64_of_id(uint64_t id) {
    uint64_t hash = UINT64_C(14695981039346656037);
    for (int i = 0; i < 8; i++) {
        hash ^= id >> (8 * i) & 0xff;
        hash *= UINT64_C(1099511628211);
    }
    return hash;
}

#endif
