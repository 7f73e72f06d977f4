/* The list of shards of a registration. */
#ifndef TS_COORD_CORE_MANIFEST_H
#define TS_COORD_CORE_MANIFEST_H

#include "coord/core/error.h"
#include "coord/core/hash.h"

/* The caller's memory for a check: the ids of the shards, given or drawn, and room for sorting. Needs no
 * initialisation. */
struct ts_manifest_memory {
    struct ts_shard_id ids[TS_REGISTER_MAX];
    uint32_t order[TS_REGISTER_MAX];
};

/* Like ts_manifest_memory, for a list of any length. */
struct ts_manifest_room {
    struct ts_shard_id *ids;
    uint32_t *order;
};

/* Checks a whole announced list as ts_manifest_check() does, but with up to TS_GLOBAL_SHARD_MAX shards. So a
 * list that cannot be registered is refused before its first step. */
enum ts_manifest_validation_error ts_manifest_check_announced(struct ts_run_id run, struct ts_op_id op_id,
                                                              struct ts_new_shards shards,
                                                              struct ts_manifest_room room,
                                                              struct ts_manifest_detail *ret_detail);

/*
 * Order of checks: Empty, TooManyShards (TS_REGISTER_MAX), then for each entry InvalidSpec (a size is over
 * its limit, the range is inverted, a given id has bit 63, or a shard has a unit but is not the shard of a
 * target), CursorKeyTooLarge, CursorOutOfBounds, then for all entries DuplicateIds, UnboundedRange (a range
 * without a bound is not the outermost on that side), OverlappingRanges.
 *
 * Gaps between ranges are allowed. On success memory->ids holds the ids.
 */
enum ts_manifest_validation_error ts_manifest_check(struct ts_run_id run, struct ts_op_id op_id,
                                                    struct ts_new_shards shards,
                                                    struct ts_manifest_memory *memory,
                                                    struct ts_manifest_detail *ret_detail);

#endif
