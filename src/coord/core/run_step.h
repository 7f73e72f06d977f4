/*
 * Operations on a run: create it, register shards, end it, delete it. As with shards, a step takes state and
 * operation and returns the new state; the run's record, its guards on every store and the shards' records
 * are written together or not at all.
 */
#ifndef TS_COORD_CORE_RUN_STEP_H
#define TS_COORD_CORE_RUN_STEP_H

#include "coord/core/error.h"
#include "coord/core/event.h"
#include "coord/core/hash.h"
#include "coord/core/manifest.h"
#include "coord/core/record.h"
#include "coord/core/shard_step.h"
#include "coord/core/split_check.h"

struct ts_run_step {
    enum ts_idempotent_outcome outcome;
    bool write;                  /* store `record`, and report `event` */
    bool write_guard;            /* store `guard` on every store */
    struct ts_run_record record; /* valid if write is set */
    struct ts_run_guard guard;   /* valid if write_guard is set */
    struct ts_event event;       /* valid if write is set */
};

struct ts_create_run_op {
    struct ts_tenant_id tenant;
    struct ts_run_id run;
    struct ts_run_config config;
    struct ts_announced announced;
};

struct ts_create_env {
    struct ts_logical_time now;
    uint64_t last_number; /* number of the tenant's last run; 0: none yet */
};

/* `existing` is NULL when the run does not exist. The number of the new run is the next one of its tenant.
 * Order of checks: ts_run_config_check() as InvalidConfig, RunAlreadyExists, TooManyShards in RegisterShardsFailed
 * (more shards are announced than the run may have). */
enum ts_create_run_error ts_create_run_step(const struct ts_run_record *existing,
                                            const struct ts_create_run_op *op,
                                            const struct ts_create_env *env, struct ts_run_step *ret_step,
                                            struct ts_coord_detail *ret_detail);

/*
 * The first half of create_run_with_shards. It may be repeated: if a run with the same configuration and
 * announcement exists, the outcome is REPLAYED. The second half is ts_register_shards_step on the run's
 * record, new or existing. The results of both halves are written together.
 *
 * Order of checks: ts_create_run_step() for a new run; for an existing one ts_run_config_check() as
 * InvalidConfig, ts_get_run_step() as GetRunFailed, ConfigMismatch.
 */
enum ts_create_run_error ts_ensure_run_step(const struct ts_run_record *existing,
                                            const struct ts_create_run_op *op,
                                            const struct ts_create_env *env, struct ts_run_step *ret_step,
                                            struct ts_coord_detail *ret_detail);

/* Converts the error of one part of create_run_with_shards to an error of the whole operation. detail->nested
 * receives the error of the part. */
enum ts_create_run_error ts_create_run_error_from_register(enum ts_register_shards_error error,
                                                           struct ts_coord_detail *detail);
enum ts_create_run_error ts_create_run_error_from_get_run(enum ts_get_run_error error,
                                                          struct ts_coord_detail *detail);

/* Checks that this tenant may see this run. Order of checks: RunNotFound, TenantMismatch. */
enum ts_get_run_error ts_get_run_step(const struct ts_run_record *run, const struct ts_tenant_id *tenant,
                                      struct ts_coord_detail *ret_detail);

struct ts_register_op {
    struct ts_tenant_id tenant;
    struct ts_run_id run;
    struct ts_op_id op_id;
    struct ts_new_shards shards;
    /* For a step of an announced list: the announcement, and the index of the step's first shard in that
     * list. Steps are registered in the order of the list. A count of 0 means a registration without an
     * announced list. */
    struct ts_announced announced;
    uint64_t from;
};

struct ts_register_env {
    struct ts_logical_time now;
    size_t record_max;
    struct ts_shard_limits limits;
    size_t already_there; /* shards that have a matching record; `registered` counts them already */
};

/*
 * Order of checks: RunNotFound, TenantMismatch, OpIdConflict (also for a step of another list than the
 * announced one) or replay (which repeats ts_manifest_check() for the ids), WrongStatus (the run has ended; or
 * it waits for another step of its announced list), ts_manifest_check() as ManifestInvalid, TooManyShards (the
 * announced list, the run's own limit), ShardLimitExceeded (for a step: counts all shards that are not
 * registered yet), ResourceExhausted. On success, and after a replay, memory->ids holds the ids of the shards.
 *
 * A step whose shards are all registered is always a replay: if the op-log has forgotten the op id, the
 * number of registered shards shows that the step was done.
 */
enum ts_register_shards_error
ts_register_shards_step(const struct ts_run_record *run, const struct ts_register_env *env,
                        const struct ts_register_op *op, struct ts_manifest_memory *memory,
                        struct ts_run_step *ret_step, struct ts_coord_detail *ret_detail);

/* Makes the record of the shard with this index in a registration. */
void ts_registered_shard(const struct ts_run_record *run, const struct ts_register_op *op,
                         const struct ts_manifest_memory *memory, size_t index,
                         struct ts_shard_record *ret_record);

/* Returns whether an existing record can be the result of this registration and later progress: the same
 * tenant, run, id, semantics, start and metadata; no parent; the same end unless parts were split off; and a
 * cursor that is not before the registered one. If not, the error of the registration is ManifestInvalid,
 * DuplicateIds. */
bool ts_registered_shard_matches(const struct ts_shard_record *existing,
                                 const struct ts_shard_record *wanted);

struct ts_end_run_op {
    struct ts_tenant_id tenant;
    struct ts_run_id run;
    struct ts_op_id op_id;
    enum ts_run_op_kind kind; /* COMPLETE_RUN, FAIL_RUN or CANCEL_RUN */
};

/*
 * Order of checks: RunNotFound, TenantMismatch, OpIdConflict or replay, RunTerminal, WrongStatus. complete_run needs an
 * Active run without active shards; parked shards do not prevent it. active_shards is counted in the same
 * transaction.
 */
enum ts_run_transition_error ts_end_run_step(const struct ts_run_record *run, const struct ts_end_run_op *op,
                                             uint64_t active_shards, struct ts_logical_time now,
                                             struct ts_run_step *ret_step,
                                             struct ts_coord_detail *ret_detail);

/* Checks that this tenant may delete this run. A missing run is OK: there is nothing to delete. The run must
 * have ended. Order of checks: TenantMismatch, WrongStatus. */
enum ts_delete_run_error ts_delete_run_step(const struct ts_run_record *run,
                                            const struct ts_tenant_id *tenant,
                                            struct ts_coord_detail *ret_detail);

#endif
