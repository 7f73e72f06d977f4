/* Shared by operations on runs: reading a run with its counters, and planning its records. */
#ifndef TS_COORD_DRIVER_RUN_OPS_H
#define TS_COORD_DRIVER_RUN_OPS_H

#include "driver.h"

/* The run and the counters of limits, from the first store. */
struct coord__run_seen {
    bool has_run;
    uint64_t version;
    struct ts_run_record run;
    struct ts_shard_limits limits;
    uint64_t shards; /* number of shards of this run that count against the limits */
    uint64_t shards_version;
    uint64_t last_number; /* number of the tenant's last run */
    uint64_t last_number_version;
    struct ts_logical_time now;
};

enum coord__end coord__run_read(struct ts_coord *coord, struct coord__work *work,
                                const struct ts_coord_run_query *query, const struct coord__tries *tries,
                                struct coord__run_seen *ret_seen, struct ts_coord_detail *detail);

/* Like coord__run_read, for a run that must exist: waits if the run is being created. */
enum coord__end coord__run_read_made(struct ts_coord *coord, struct coord__work *work,
                                     const struct ts_coord_run_query *query, struct coord__tries *tries,
                                     struct coord__run_seen *ret_seen, struct ts_coord_detail *detail);

/* Plans the write of the run's record over the version that was read (0: a new record), and of the guard on
 * every store if step->write_guard is set. */
void coord__plan_run(struct coord__plan *plan, const struct ts_run_step *step, uint64_t version);

/* Plans all other records of a new run: its number, its entry in the tenant's list, and the counters of
 * active shards, whose versions complete_run checks. */
void coord__plan_birth(struct coord__plan *plan, const struct ts_run_record *run,
                       const struct coord__run_seen *seen);

struct ts_coord_outcome coord__run_outcome(const struct ts_run_step *step, bool attempted,
                                           struct ts_logical_time now);

#endif
