#include "base/hist.h"

#include "base/assert.h"

#include <string.h>

__extension__ typedef unsigned __int128 u128;

_Static_assert(sizeof(struct ts_hist) == 30248, "say the size in the header");

static size_t bucket_of(uint64_t value) {
    if (value < (uint64_t)2 * TS_HIST_SUB_BUCKETS)
        return (size_t)value;
    unsigned exponent = 63 - (unsigned)__builtin_clzll(value);
    unsigned shift = exponent - TS_HIST_SUB_BITS;
    /* Buckets below 128 have shift 0. In later buckets, value >> shift is from 64 to 127. */
    return (size_t)TS_HIST_SUB_BUCKETS * shift + (size_t)(value >> shift);
}

static unsigned shift_of_bucket(size_t bucket) {
    return bucket < (size_t)2 * TS_HIST_SUB_BUCKETS ? 0 : (unsigned)(bucket / TS_HIST_SUB_BUCKETS - 1);
}

static uint64_t first_of_bucket(size_t bucket) {
    unsigned shift = shift_of_bucket(bucket);
    return (uint64_t)(bucket - (size_t)TS_HIST_SUB_BUCKETS * shift) << shift;
}

static uint64_t last_of_bucket(size_t bucket) {
    return first_of_bucket(bucket) + ((UINT64_C(1) << shift_of_bucket(bucket)) - 1);
}

static u128 sum_of(const struct ts_hist *hist) {
    return (u128)hist->sum.high << 64 | hist->sum.low;
}

static void add_to_sum(struct ts_hist *hist, u128 amount) {
    u128 sum = sum_of(hist) + amount;
    hist->sum = (struct ts_hist_sum){.high = (uint64_t)(sum >> 64), .low = (uint64_t)sum};
}

void ts_hist_init(struct ts_hist *hist) {
    memset(hist, 0, sizeof *hist);
    hist->min = UINT64_MAX;
}

void ts_hist_clear(struct ts_hist *hist) {
    ts_hist_init(hist);
}

void ts_hist_record(struct ts_hist *hist, uint64_t value) {
    ts_hist_record_n(hist, value, (struct ts_hist_times){1});
}

void ts_hist_record_n(struct ts_hist *hist, uint64_t value, struct ts_hist_times times) {
    if (times.n == 0)
        return;
    ts_assert(times.n <= UINT64_MAX - hist->count);
    hist->count += times.n;
    hist->buckets[bucket_of(value)] += times.n;
    if (value < hist->min)
        hist->min = value;
    if (value > hist->max)
        hist->max = value;
    add_to_sum(hist, (u128)value * times.n);
}

void ts_hist_merge(struct ts_hist *hist, const struct ts_hist *from) {
    ts_assert(from->count <= UINT64_MAX - hist->count);
    add_to_sum(hist, sum_of(from));
    hist->count += from->count;
    if (from->min < hist->min)
        hist->min = from->min;
    if (from->max > hist->max)
        hist->max = from->max;
    for (size_t i = 0; i < TS_HIST_BUCKETS; i++)
        hist->buckets[i] += from->buckets[i];
}

uint64_t ts_hist_count(const struct ts_hist *hist) {
    return hist->count;
}

uint64_t ts_hist_max(const struct ts_hist *hist) {
    return hist->max;
}

struct ts_hist_sum ts_hist_sum(const struct ts_hist *hist) {
    return hist->sum;
}

uint64_t ts_hist_mean(const struct ts_hist *hist) {
    if (hist->count == 0)
        return 0;
    /* Long division, a bit at a time. The mean is at most max, so the quotient has 64 bits and the high half
     * of the sum is below the count. Written by hand, because a 128-bit division would call the compiler's
     * library. */
    u128 remainder = hist->sum.high;
    uint64_t quotient = 0;
    for (int bit = 63; bit >= 0; bit--) {
        remainder = remainder << 1 | (hist->sum.low >> bit & 1);
        quotient <<= 1;
        if (remainder >= hist->count) {
            remainder -= hist->count;
            quotient |= 1;
        }
    }
    return quotient;
}

/* Returns ceil(count * per_100000 / 100000), without a product of more than 64 bits. */
static uint64_t rank_of(uint64_t count, uint32_t per_100000) {
    uint64_t whole = count / 100000 * per_100000;
    uint64_t rest = (count % 100000 * per_100000 + 99999) / 100000;
    uint64_t rank = whole + rest;
    return rank == 0 ? 1 : rank;
}

uint64_t ts_hist_percentile(const struct ts_hist *hist, uint32_t per_100000) {
    ts_assert(per_100000 <= 100000);
    if (hist->count == 0)
        return 0;
    uint64_t rank = rank_of(hist->count, per_100000);
    if (rank == hist->count)
        return hist->max;
    uint64_t seen = 0;
    size_t bucket = 0;
    while ((seen += hist->buckets[bucket]) < rank)
        bucket++;
    uint64_t first = first_of_bucket(bucket);
    uint64_t middle = first + (last_of_bucket(bucket) - first) / 2;
    if (middle < hist->min)
        return hist->min;
    return middle > hist->max ? hist->max : middle;
}

uint64_t ts_hist_count_up_to(const struct ts_hist *hist, uint64_t bound) {
    size_t end = bucket_of(bound);
    if (last_of_bucket(end) == bound)
        end++;
    uint64_t count = 0;
    for (size_t i = 0; i < end; i++)
        count += hist->buckets[i];
    return count;
}

bool ts_hist_next(const struct ts_hist *hist, struct ts_hist_iter *iter) {
    size_t bucket = iter->next_bucket;
    while (bucket < TS_HIST_BUCKETS && hist->buckets[bucket] == 0)
        bucket++;
    iter->next_bucket = bucket;
    if (bucket == TS_HIST_BUCKETS)
        return false;
    iter->first = first_of_bucket(bucket);
    iter->last = last_of_bucket(bucket);
    iter->count = hist->buckets[bucket];
    iter->cumulative += iter->count;
    iter->next_bucket++;
    return true;
}
