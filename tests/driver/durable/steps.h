/*
 * The steps of a unit, as functions for tests. A step that does not succeed fails the test.
 */
#ifndef TS_TESTS_DRIVER_DURABLE_STEPS_H
#define TS_TESTS_DRIVER_DURABLE_STEPS_H

#include "world.h"

extern const struct ts_fleet_rules rules, other_rules, other_judging;

void must(enum ts_durable_end end, const struct worker *worker);

/* Claims the shard of the run, and reads its unit. */
void begin(struct worker *worker, uint64_t run_id, uint64_t number, const struct ts_fleet_rules *with);

/* Writes a part with this many pages of known ids and of hits, and makes a checkpoint. */
void part(struct worker *worker, size_t known, size_t hits);

/* Counts of the results of earlier scans, by kind. */
struct recalled {
    unsigned pages[TS_DURABLE_NO_TIPS + 1];
    size_t bytes[TS_DURABLE_NO_TIPS + 1];
};
struct recalled recall(struct worker *worker);

/* Releases the lease of the worker's session, without blame. */
void lose_lease(struct worker *worker);

/* Runs the rest of a unit that was read: stages and flips until the unit has a receipt, and then completes the
 * unit. If the outcome of a flip is unknown, looks it up. */
void finish(struct worker *worker, struct ts_durable_scan scan);

/* Completes the unit after the flip, and tidies up. */
void complete(struct worker *worker);

/* Runs a whole unit of a new run, on one target. */
void scan_target(unsigned number, const struct made_report *made, const struct ts_fleet_rules *with);

void expect_garbage_free(size_t visible, uint64_t places);

#endif
