/*
 * Coordination under load: workers claim shards of one run, and then checkpoint them as fast as they can.
 *
 *   1. A run is made, with the given number of shards.
 *   2. Each worker claims one shard after the other, and releases it before the next claim, until
 *      BENCH_COORD_CLAIMS claims are done, or fewer if there are few shards. All large runs make the same
 *      number of claims, so that the costs of a claim can be compared.
 *   3. Every worker checkpoints the shard that it holds, for the given time, and renews the lease in time.
 *   4. The run is cancelled. Its records stay.
 */
#ifndef TS_BENCH_COORD_H
#define TS_BENCH_COORD_H

#include "base/hist.h"
#include "coord/driver/coord.h"

#include <stdbool.h>
#include <stdint.h>

enum { BENCH_COORD_WORKERS_MAX = 256, BENCH_COORD_CLAIMS = 256 };

struct bench_coord_options {
    struct ts_coord *coord; /* its limits must allow the number of shards below */
    struct ts_run_id run;   /* an unused id */
    uint32_t workers;
    uint64_t shards; /* number of shards; at least one for each worker */
    uint64_t duration_ms;
};

struct bench_coord_result {
    struct ts_hist claims_ns; /* duration of each claim */
    struct ts_hist checkpoints_ns;
    uint64_t registered_ns;   /* duration of making the run and its shards */
    uint64_t checkpointed_ns; /* duration of the phase of checkpoints */
    uint64_t renewals;
};

struct bench_coord_error {
    char text[512];
};

/* Runs the benchmark. On failure returns false, with one line of text. The result takes several hundred
 * KiB. */
bool bench__coord(const struct bench_coord_options *options, struct bench_coord_result *ret_result,
                  struct bench_coord_error *ret_error);

#endif
