/*
 * Computes the store of an id. The functions are inline, because a call would cost as much as the hash. The
 * results must be the same on every machine and in every release, because they decide where data is. XXH64
 * and FNV-1a themselves are in base/hash64.h.
 */
#ifndef TS_ROUTE_HASH_H
#define TS_ROUTE_HASH_H

#include "base/hash64.h"

#include <float.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the store that FNV-1a chooses: only 16 bits of the hash count. count > 0. */
static inline uint32_t route__fnv1a_store(uint64_t id, uint32_t count) {
    return (uint32_t)(ts_fnv1a64_of_id(id) & 0xffff) % count;
}

/*
 * Jump divides and multiplies in double. Every machine gets the same results if these are IEEE doubles
 * without wider intermediate results, and if the compiler does not replace the division by a reciprocal.
 * Otherwise some ids would move to other stores. There is no addition that the compiler could fuse with the
 * multiplication.
 */
_Static_assert(FLT_EVAL_METHOD == 0 || FLT_EVAL_METHOD == 1, "doubles must be evaluated as doubles");
_Static_assert(FLT_RADIX == 2 && DBL_MANT_DIG == 53 && DBL_MAX_EXP == 1024, "doubles must be IEEE binary64");
#ifdef __FAST_MATH__
#error "jump needs exact doubles: do not compile with -ffast-math"
#endif

/*
 * Lamping and Veach, "A Fast, Minimal Memory, Consistent Hash Algorithm". count > 0. A bucket is below 2^32 -
 * 1 and the factor is at most 2^31, so the next jump fits 63 bits.
 */
static inline uint32_t route__jump_store(uint64_t id, uint32_t count) {
    uint64_t key = id;
    int64_t bucket = 0;
    int64_t next = 0;
    while (next < (int64_t)count) {
        bucket = next;
        key = key * UINT64_C(2862933555777941757) + 1;
        next = (int64_t)((double)(bucket + 1) * ((double)(INT64_C(1) << 31) / (double)((key >> 33) + 1)));
    }
    return (uint32_t)bucket;
}

/* Returns the reciprocal for route__modulo; count > 0. */
static inline uint64_t route__reciprocal(uint32_t count) {
    return UINT64_MAX / count;
}

/*
 * Returns value % count, with a multiplication in place of the division. Exact for every value: with m =
 * floor((2^64 - 1) / count), 2^64 - m * count is from 1 to count, so value / count - value * m / 2^64 is
 * from 0 to value / 2^64 < 1, and the quotient below is right or one too small.
 */
static inline uint32_t route__modulo(uint64_t value, uint32_t count, uint64_t reciprocal) {
#ifdef __SIZEOF_INT128__
    __extension__ typedef unsigned __int128 wide;
    uint64_t quotient = (uint64_t)(((wide)value * reciprocal) >> 64);
    uint64_t rest = value - quotient * count;
    return (uint32_t)(rest >= count ? rest - count : rest);
#else
    (void)reciprocal;
    return (uint32_t)(value % count);
#endif
}

#endif
