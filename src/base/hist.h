/*
 * A histogram of 64-bit values, made for latencies: fixed memory, no allocation, the whole range of uint64_t.
 *
 * Values below 128 have a bucket each. From 128 on, every power of two is divided into 64 equal buckets, so
 * the width of a bucket is at most 1/64 of its lowest value; a percentile is reported as the middle of its
 * bucket, with an error of at most 1/128 (0.79 %). Count, smallest, largest and sum are exact; the mean is
 * rounded down. The struct takes 30,248 bytes.
 *
 *     bucket of v < 128:             v
 *     bucket of v in [2^e, 2^(e+1)): 64 * (e - 5) + ((v >> (e - 6)) - 64),  for e = 7 to 63
 */
#ifndef TS_BASE_HIST_H
#define TS_BASE_HIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TS_HIST_SUB_BITS = 6,
    TS_HIST_SUB_BUCKETS = 1 << TS_HIST_SUB_BITS,
    TS_HIST_BUCKETS = TS_HIST_SUB_BUCKETS * (64 - TS_HIST_SUB_BITS + 1),
};

/* An unsigned 128-bit number: the sum of up to 2^64 values of 64 bits cannot overflow it. */
struct ts_hist_sum {
    uint64_t high;
    uint64_t low;
};

struct ts_hist {
    uint64_t count;
    uint64_t min; /* UINT64_MAX when empty */
    uint64_t max; /* 0 when empty */
    struct ts_hist_sum sum;
    uint64_t buckets[TS_HIST_BUCKETS];
};

void ts_hist_init(struct ts_hist *hist);

/* Removes all recorded values, for reuse. */
void ts_hist_clear(struct ts_hist *hist);

void ts_hist_record(struct ts_hist *hist, uint64_t value);

struct ts_hist_times {
    uint64_t n;
};
/* Records the same value times.n times. A total of more than UINT64_MAX values is a programming error. */
void ts_hist_record_n(struct ts_hist *hist, uint64_t value, struct ts_hist_times times);

/* Adds everything that was recorded in `from` to `hist`. */
void ts_hist_merge(struct ts_hist *hist, const struct ts_hist *from);

uint64_t ts_hist_count(const struct ts_hist *hist);

/* The following functions return 0 when nothing was recorded. The mean is rounded down. */
uint64_t ts_hist_max(const struct ts_hist *hist);
struct ts_hist_sum ts_hist_sum(const struct ts_hist *hist);
uint64_t ts_hist_mean(const struct ts_hist *hist);

/*
 * Returns the value that per_100000 out of 100,000 recorded values do not exceed (50,000 is the median,
 * 99,900 is p99.9): the value of rank ceil(count * per_100000 / 100000), at least rank 1. The value is
 * rounded to the middle of its bucket, but is never outside min to max; 100,000 gives max. Returns 0 when
 * nothing was recorded. per_100000 is at most 100,000.
 */
uint64_t ts_hist_percentile(const struct ts_hist *hist, uint32_t per_100000);

/* Returns how many recorded values are in buckets that end at or below bound. If bound is the last value of a
 * bucket, the result is exact; otherwise it omits the values in bound's own bucket. */
uint64_t ts_hist_count_up_to(const struct ts_hist *hist, uint64_t bound);

/*
 * Visits the buckets that are not empty, from the lowest:
 *
 *     for (struct ts_hist_iter it = {0}; ts_hist_next(hist, &it);)
 *         print(it.last, it.cumulative);          "le" and value of a Prometheus bucket
 */
struct ts_hist_iter {
    uint64_t first;      /* smallest value of the bucket */
    uint64_t last;       /* largest value of the bucket */
    uint64_t count;      /* number of values in this bucket */
    uint64_t cumulative; /* number of values in this bucket and all lower ones */
    size_t next_bucket;
};
bool ts_hist_next(const struct ts_hist *hist, struct ts_hist_iter *iter);

#endif
