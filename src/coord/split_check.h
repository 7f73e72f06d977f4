/* Whether what a split leaves is exactly what there was: the parts partition the range, and each is a valid
 * shard. */
#ifndef TS_COORD_SPLIT_CHECK_H
#define TS_COORD_SPLIT_CHECK_H

#include "coord/error.h"
#include "coord/hash.h"

/* The shards that count against a limit, and the limit. */
struct ts_shard_limit {
    uint64_t current;
    uint64_t max;
};

struct ts_shard_limits {
    struct ts_shard_limit tenant;
    struct ts_shard_limit global;
};

/* Whether `additional` more shards are within both; the tenant's limit is looked at first. */
bool ts_shard_limits_allow(const struct ts_shard_limits *limits, uint64_t additional,
                           struct ts_limit_detail *ret_detail);

/*
 * split_replace: at least two children; the first starts and the last ends where the parent does; each ends
 * where the next starts; none is empty or inverted; sizes are within their limits, no id is given, and
 * cursors lie in their own range. The first that fails is the answer.
 */
enum ts_split_validation_error ts_split_coverage_check(struct ts_key_range parent,
                                                       struct ts_new_shards children,
                                                       struct ts_split_detail *ret_detail);

/* split_residual: what the parent keeps and what is split off. */
struct ts_residual_ranges {
    struct ts_key_range kept;
    struct ts_key_range residual;
};

/* Sizes first, then as above; then the residual's cursor and the parent's, each in its own part. */
enum ts_split_validation_error ts_split_residual_check(struct ts_key_range parent,
                                                       struct ts_residual_ranges ranges,
                                                       const struct ts_new_shard *residual,
                                                       const struct ts_cursor *parent_cursor,
                                                       struct ts_split_detail *ret_detail);

#endif
