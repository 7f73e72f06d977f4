/* Splitmix64: the same numbers in every run, so that a failing case is exact. */
#ifndef TS_TESTS_ROUTE_RANDOM_H
#define TS_TESTS_ROUTE_RANDOM_H

#include <stdint.h>

struct random {
    uint64_t state;
};

static inline uint64_t random_next(struct random *random) {
    uint64_t z = (random->state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Below `limit`, which is not 0; the bias does not matter here. */
static inline uint64_t random_below(struct random *random, uint64_t limit) {
    return random_next(random) % limit;
}

/* All magnitudes alike: small ids and small counts come as often as large ones. */
static inline uint64_t random_of_any_size(struct random *random) {
    return random_next(random) >> random_below(random, 64);
}

/* The same for counts of stores; never 0. */
static inline uint32_t random_count(struct random *random) {
    uint32_t count = (uint32_t)(random_next(random) >> (32 + random_below(random, 32)));
    return count == 0 ? UINT32_MAX : count;
}

#endif
