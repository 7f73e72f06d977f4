/* The common first and last parts of the steps that need a lease and an op id. */
#ifndef TS_COORD_CORE_LEASED_H
#define TS_COORD_CORE_LEASED_H

#include "coord/core/shard_step.h"

/* Checks for ShardNotFound and replays. If the result is OK with an entry, the step answers with
 * coord__replay. If the result is OK without an entry, the step continues with coord__check_lease. */
enum ts_coord_error coord__find_replay(const struct ts_shard_record *record, const struct ts_step_env *env,
                                       const struct ts_lease_op *by, struct ts_payload_hash hash,
                                       const struct ts_op_log_entry **ret_entry,
                                       struct ts_coord_detail *ret_detail);

/* Makes the five checks of a lease (ts_validate_lease). */
enum ts_coord_error coord__check_lease(const struct ts_shard_record *record, const struct ts_step_env *env,
                                       const struct ts_lease_op *by, struct ts_coord_detail *ret_detail);

void coord__replay(const struct ts_shard_record *record, const struct ts_op_log_entry *entry,
                   struct ts_shard_step *ret_step);

/* Makes an executed step: a copy of the record with the operation in its op-log, to be written before the
 * lease's deadline. */
void coord__execute(const struct ts_shard_record *record, const struct ts_step_env *env,
                    const struct ts_lease_op *by, enum ts_shard_op_kind kind, struct ts_payload_hash hash,
                    struct ts_shard_step *ret_step);

/* Ends the lease, and sets the status. */
void coord__end(struct ts_shard_record *record, enum ts_shard_status status);

struct ts_event coord__event(enum ts_event_kind kind, const struct ts_shard_record *record,
                             struct ts_logical_time at);

#endif
