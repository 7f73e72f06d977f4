/*
 * Submits targets as a run: one shard with its unit for each target, on the store of the target's records.
 *
 * The list is announced and registered in steps. The call can be repeated at any time with the same result;
 * after a crash it continues. Workers claim nothing before the last step. Submitting other targets for the
 * same run fails with ConfigMismatch.
 */
#ifndef TS_RUNTIME_DRIVER_SUBMIT_H
#define TS_RUNTIME_DRIVER_SUBMIT_H

#include "runtime/driver/target_list.h"

#include "coord/driver/coord.h"

struct ts_submission {
    struct ts_tenant_id tenant;
    struct ts_run_id run;
    struct ts_run_config config;
    const struct ts_target_list *targets; /* sorted, without duplicates (ts_target_list_settle); not empty */
    /* The run is created only while the record with this key, on the first store, has this version. If the
     * key is empty, there is no condition. */
    struct ts_bytes condition_key;
    uint64_t condition_version;
};

struct ts_submitted {
    bool is_new; /* false: the same targets were submitted before */
    struct ts_run_record run;
};

struct ts_submit_error {
    enum ts_error_variant variant;
    struct ts_coord_detail detail;
};

/* Submits the run. On failure ret_error says why; a repeated call continues. */
bool ts_submit(struct ts_coord *coord, const struct ts_submission *submission,
               struct ts_submitted *ret_submitted, struct ts_submit_error *ret_error);

#endif
