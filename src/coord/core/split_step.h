/*
 * Splitting a shard, by its holder.
 *
 *     split_replace    [a ........................ z)   Split, not leased
 *                      [a ..... g)[g ..... p)[p .. z)   two to 256 children, Active
 *
 *     split_residual   [a .......... g)                 the parent stays Active and leased
 *                                     [g ......... z)   the residual, Active
 *
 * The ids of children are derived from the parent, the operation's id and the number of shards that the
 * parent had spawned, so that a repeated split makes the same shards. The parent and all children are written
 * together or not at all.
 */
#ifndef TS_COORD_CORE_SPLIT_STEP_H
#define TS_COORD_CORE_SPLIT_STEP_H

#include "coord/core/hash.h"
#include "coord/core/shard_step.h"
#include "coord/core/split_check.h"

struct ts_split_env {
    struct ts_step_env step;
    struct ts_shard_limits limits;
    const struct ts_shard_id *taken; /* derived ids that already have a record; normally none */
    size_t taken_count;
};

/* The caller's memory for the parent's new list of spawned shards. Must stay valid while the step's record is
 * in use, and must not overlap with the record that is split. */
struct ts_split_memory {
    uint8_t spawned[8 * TS_SPAWNED_MAX];
};

struct ts_split_replace_op {
    struct ts_lease_op by;
    struct ts_new_shards children;
};

struct ts_split_replace_result {
    size_t count;
    struct ts_shard_id children[TS_SPLIT_CHILD_MAX];
};

/* Order of checks: ShardNotFound, OpIdConflict or replay, ts_validate_lease(), ts_split_coverage_check(),
 * SpawnLimitExceeded, ShardLimitExceeded, DerivedIdCollision, ResourceExhausted. */
enum ts_split_replace_error
ts_split_replace_step(const struct ts_shard_record *record, const struct ts_split_env *env,
                      const struct ts_split_replace_op *op, struct ts_split_memory *memory,
                      struct ts_shard_step *ret_step, struct ts_split_replace_result *ret_result,
                      struct ts_coord_detail *ret_detail);

struct ts_split_residual_op {
    struct ts_lease_op by;
    struct ts_new_shard residual; /* range.start is where the parent is cut; range.end is ignored */
};

struct ts_split_residual_result {
    struct ts_shard_id residual;
};

/*
 * Order of checks: ShardNotFound, OpIdConflict or replay, ts_validate_lease(), ts_split_residual_check(),
 * SpawnLimitExceeded, ShardLimitExceeded, DerivedIdCollision, ResourceExhausted.
 *
 * A replay is found in the op-log, or in the list of spawned shards, which outlives the op-log. The list
 * shows the op id but not the parameters. The first execution moved the parent's end to the cut. So a cut
 * inside the present range is a different cut, and the answer is OpIdConflict.
 */
enum ts_split_residual_error
ts_split_residual_step(const struct ts_shard_record *record, const struct ts_split_env *env,
                       const struct ts_split_residual_op *op, struct ts_split_memory *memory,
                       struct ts_shard_step *ret_step, struct ts_split_residual_result *ret_result,
                       struct ts_coord_detail *ret_detail);

/* Makes the record of child number `index`, or of the residual, after an executed step. `parent` is the
 * record before the split. */
void ts_split_replace_child(const struct ts_shard_record *parent, const struct ts_split_replace_op *op,
                            const struct ts_split_replace_result *result, size_t index,
                            struct ts_shard_record *ret_record);
void ts_split_residual_child(const struct ts_shard_record *parent, const struct ts_split_residual_op *op,
                             const struct ts_split_residual_result *result,
                             struct ts_shard_record *ret_record);

#endif
