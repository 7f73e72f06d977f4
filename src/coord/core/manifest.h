/* The list of shards of a registration. */
#ifndef TS_COORD_CORE_MANIFEST_H
#define TS_COORD_CORE_MANIFEST_H

#include "coord/core/error.h"
#include "coord/core/hash.h"

/* The caller's memory for a check: the ids of the shards, from the caller or random, and room for sorting.
 * Needs no initialisation. */
struct ts_manifest_memory {
    struct ts_shard_id ids[TS_REGISTER_MAX];
    uint32_t order[TS_REGISTER_MAX];
};

/*
 * Order of checks: Empty, TooManyShards (TS_REGISTER_MAX), then for each entry InvalidSpec (a size is over its limit, the
 * range is inverted, or a given id has bit 63), CursorKeyTooLarge, CursorOutOfBounds, then for all entries
 * DuplicateIds, UnboundedRange (a range without a bound is not the outermost on that side), OverlappingRanges.
 *
 * Gaps between ranges are allowed. On success memory->ids holds the ids.
 */
enum ts_manifest_validation_error ts_manifest_check(struct ts_run_id run, struct ts_op_id op_id,
                                                    struct ts_new_shards shards,
                                                    struct ts_manifest_memory *memory,
                                                    struct ts_manifest_detail *ret_detail);

#endif
