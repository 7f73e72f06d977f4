/* Random numbers for property tests. They are the same in every run, so that a failure can be repeated
 * exactly. */
#ifndef TS_TESTS_ROUTE_RANDOM_H
#define TS_TESTS_ROUTE_RANDOM_H

#include "base/prng.h"

#include <stdint.h>

/* Returns a random number. All magnitudes are equally likely: small ids and counts are as frequent as large
 * ones. */
static inline uint64_t random_of_any_size(struct ts_prng *random) {
    return ts_prng_next(random) >> ts_prng_below(random, 64);
}

/* Returns a random count of stores of any magnitude, never 0. */
static inline uint32_t random_count(struct ts_prng *random) {
    uint32_t count = (uint32_t)(ts_prng_next(random) >> (32 + ts_prng_below(random, 32)));
    return count == 0 ? UINT32_MAX : count;
}

#endif
