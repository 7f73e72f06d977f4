/* Checks that the parts of a split cover exactly the range of the parent without overlaps, and that each part
 * is a valid shard. */
#ifndef TS_COORD_CORE_SPLIT_CHECK_H
#define TS_COORD_CORE_SPLIT_CHECK_H

#include "coord/core/error.h"
#include "coord/core/hash.h"

/* The current number of shards, and the maximum. */
struct ts_shard_limit {
    uint64_t current;
    uint64_t max;
};

struct ts_shard_limits {
    struct ts_shard_limit tenant;
    struct ts_shard_limit global;
};

/* Returns true if both limits allow `additional` more shards. Checks the tenant's limit first. */
bool ts_shard_limits_allow(const struct ts_shard_limits *limits, uint64_t additional,
                           struct ts_limit_detail *ret_detail);

/*
 * split_replace: the first child starts where the parent starts, and the last child ends where the parent
 * ends; each child ends where the next starts; no child is empty or inverted. InvalidChildSpec: a size is
 * over its limit, an id is given, or a cursor lies outside the child's range.
 *
 * Order of checks: NoChildren, SingleChild, StartMismatch, EndMismatch, OverlappingChild, BoundaryMismatch,
 * InvertedChild, InvalidChildSpec.
 */
enum ts_split_validation_error ts_split_coverage_check(struct ts_key_range parent,
                                                       struct ts_new_shards children,
                                                       struct ts_split_detail *ret_detail);

/* split_residual: the parent's remaining range, and the part that is split off. */
struct ts_residual_ranges {
    struct ts_key_range kept;
    struct ts_key_range residual;
};

/* Order of checks: InvalidChildSpec (sizes), ts_split_coverage_check() of both parts, ParentCursorOutOfBounds. */
enum ts_split_validation_error ts_split_residual_check(struct ts_key_range parent,
                                                       struct ts_residual_ranges ranges,
                                                       const struct ts_new_shard *residual,
                                                       const struct ts_cursor *parent_cursor,
                                                       struct ts_split_detail *ret_detail);

#endif
