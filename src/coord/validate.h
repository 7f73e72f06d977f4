/*
 * The checks that operations on a leased shard share, in the order in which they are made:
 *
 *     replay -> tenant -> run ended -> terminal -> fence -> expiry -> owner -> the operation's own
 *
 * Replay comes first, so that a worker that lost a reply gets it again after its lease has ended. Only a
 * caller of the record's own tenant can replay: to any other the op-log is empty, and the next check answers.
 */
#ifndef TS_COORD_VALIDATE_H
#define TS_COORD_VALIDATE_H

#include "coord/error.h"
#include "coord/record.h"

/*
 * OK with the entry: a replay. OK with NULL: not there, or forgotten. OP_ID_CONFLICT: there with another
 * hash. The hash must not be 0.
 */
enum ts_coord_error ts_check_op_idempotency(const ts_op_log *log, struct ts_op_id op_id,
                                            struct ts_payload_hash hash,
                                            const struct ts_op_log_entry **ret_entry,
                                            struct ts_coord_detail *ret_detail);

/*
 * 1 tenant, so that nothing else is told to another tenant (then the run: in one that has ended every shard
 * is ShardTerminal, Parked); 2 status; 3 fence; 4 expiry, where a record without a holder is a stale fence; 5
 * owner. now must not be 0, and the lease must be one of this shard.
 */
enum ts_coord_error ts_validate_lease(const struct ts_shard_record *record, const struct ts_run_guard *guard,
                                      const struct ts_tenant_id *tenant, const struct ts_lease *lease,
                                      struct ts_logical_time now, struct ts_coord_detail *ret_detail);

/* 1 a key; 2 its size; 3 the token's size; 4 not before the old key; 5 inside the range. */
enum ts_coord_error ts_validate_cursor_update(const struct ts_cursor *old_cursor,
                                              const struct ts_cursor *new_cursor, struct ts_key_range range,
                                              struct ts_coord_detail *ret_detail);

#endif
