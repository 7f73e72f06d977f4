/*
 * Ranks by Zipf's law: rank k of n, from 1, has the weight 1 / k^s. The exponent s is 0.99, as in YCSB. With
 * 10,000 ranks, the first rank gets a tenth of all draws.
 *
 * Exact: a draw is a binary search in the table of cumulated weights. Once made, the table is read-only, and
 * many threads may draw from it.
 */
#ifndef TS_BENCH_ZIPF_H
#define TS_BENCH_ZIPF_H

#include "base/prng.h"

#include <stdbool.h>
#include <stddef.h>

#define BENCH_ZIPF_EXPONENT 0.99

struct bench_zipf {
    double *cumulated; /* ascending, the last is 1 */
    size_t count;
};

/* Makes the table, for at least one rank. Returns false when memory runs out. The caller releases the
 * table. */
bool bench__zipf_init(struct bench_zipf *ret_zipf, size_t count);
void bench__zipf_release(struct bench_zipf *zipf);

/* Returns a random index from 0 to count - 1: a rank minus 1. Index 0 is the most frequent. */
size_t bench__zipf_draw(const struct bench_zipf *zipf, struct ts_prng *prng);

#endif
