/*
 * Starts the runs of schedules that are due (runtime/core/fleet_schedule.h), for a worker that has nothing to
 * do.
 *
 *     due ──(forges are asked, the list is stored)──> begun ──(submit)──> started ──> old runs are deleted
 *
 * Any number of workers may do this at the same time, and each may be killed at any moment. A worker replaces
 * the record of the schedule only if the record still has the version that it has read. The run's id depends
 * on the due time only. The run is created only while the record says that it has begun. So there is exactly
 * one run for each due time that has begun.
 */
#ifndef TS_RUNTIME_DRIVER_START_H
#define TS_RUNTIME_DRIVER_START_H

#include "coord/driver/coord.h"
#include "discover/discover.h"

struct ts_starter {
    struct ts_coord *coord;
    struct ts_tenant_id tenant;
    struct ts_pin pin;                /* the rules of this worker */
    struct ts_discover_options forge; /* tokens, certificates and limits; the schedule has the filters */
    /* `started` is called once for each started run, by the worker that has started it. `failed` is called
     * once for each failed try that is recorded in the schedule; `why` is one line that is safe to print. */
    void (*started)(void *context, struct ts_run_id run, uint64_t targets);
    void (*failed)(void *context, struct ts_run_id run, const char *why);
    void *context;
};

/* Starts everything that is due. Returns false if a store failed; then some runs may have been started. */
bool ts_start_due(const struct ts_starter *starter, struct ts_infra_error *ret_error);

#endif
