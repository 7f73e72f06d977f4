/* The list of shards of a registration. */
#ifndef TS_COORD_MANIFEST_H
#define TS_COORD_MANIFEST_H

#include "coord/error.h"
#include "coord/hash.h"

/* The caller's memory for a check: the ids of the shards, given or drawn, and room to sort. Needs no
 * initialisation. */
struct ts_manifest_memory {
    struct ts_shard_id ids[TS_REGISTER_MAX];
    uint32_t order[TS_REGISTER_MAX];
};

/*
 * Not empty; not more than TS_REGISTER_MAX; then each entry in turn: sizes within limits, not inverted, a
 * given id without bit 63, the cursor's key within its limit and inside the range; then no id twice; then no
 * ranges that overlap, where a range without a bound must be the outermost on that side. Gaps are allowed.
 * Fills in memory->ids when valid.
 */
enum ts_manifest_validation_error ts_manifest_check(struct ts_run_id run, struct ts_op_id op_id,
                                                    struct ts_new_shards shards,
                                                    struct ts_manifest_memory *memory,
                                                    struct ts_manifest_detail *ret_detail);

#endif
