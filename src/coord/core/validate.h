/*
 * The checks that operations on a leased shard share. An operation first searches for a replay
 * (ts_check_op_idempotency), then checks the lease (ts_validate_lease), then makes its own checks.
 *
 * The search for a replay comes first, so that a worker whose reply was lost gets the answer even after its
 * lease has ended. Only a caller of the record's own tenant can replay. For any other caller the op-log
 * counts as empty, and the check of the tenant fails.
 */
#ifndef TS_COORD_CORE_VALIDATE_H
#define TS_COORD_CORE_VALIDATE_H

#include "coord/core/error.h"
#include "coord/core/record.h"

/* Returns OK with an entry for a replay, and OK with NULL if the op id is not in the log. OP_ID_CONFLICT: the
 * op id was used with another hash. The hash must not be 0. */
enum ts_coord_error ts_check_op_idempotency(const ts_op_log *log, struct ts_op_id op_id,
                                            struct ts_payload_hash hash,
                                            const struct ts_op_log_entry **ret_entry,
                                            struct ts_coord_detail *ret_detail);

/*
 * Order of checks: TenantMismatch, ShardTerminal (the run has ended, which counts as Parked, or the shard is
 * not Active), StaleFence (another fence, or no holder), LeaseExpired, StaleFence (another owner). The tenant
 * is checked first, so that another tenant learns nothing about the shard.
 *
 * `now` must not be 0, and the lease must be one of this shard.
 */
enum ts_coord_error ts_validate_lease(const struct ts_shard_record *record, const struct ts_run_guard *guard,
                                      const struct ts_tenant_id *tenant, const struct ts_lease *lease,
                                      struct ts_logical_time now, struct ts_coord_detail *ret_detail);

/* Order of checks: CheckpointMissingKey, CursorKeyTooLarge, CursorTokenTooLarge, CursorRegression,
 * CursorOutOfBounds. */
enum ts_coord_error ts_validate_cursor_update(const struct ts_cursor *old_cursor,
                                              const struct ts_cursor *new_cursor, struct ts_key_range range,
                                              struct ts_coord_detail *ret_detail);

#endif
