/*
 * The steps of a unit for tests, each of which fails the test if it does not succeed.
 */
#ifndef TS_TESTS_DRIVER_DURABLE_STEPS_H
#define TS_TESTS_DRIVER_DURABLE_STEPS_H

#include "world.h"

extern const struct ts_fleet_rules rules, other_rules, other_judging;

void must(enum ts_durable_end end, const struct worker *worker);

/* Claims the shard of the run, and reads the unit. */
void begin(struct worker *worker, uint64_t run_id, uint64_t number, const struct ts_fleet_rules *with);

/* A part with this many pages of known ids and of hits, and a checkpoint. */
void part(struct worker *worker, size_t known, size_t hits);

/* The results of earlier scans, by kind. */
struct recalled {
    unsigned pages[TS_DURABLE_NO_TIPS + 1];
    size_t bytes[TS_DURABLE_NO_TIPS + 1];
};
struct recalled recall(struct worker *worker);

/* Ends the lease of the worker, and the worker does not notice that. */
void lose_lease(struct worker *worker);

/* Runs the unit from the read to the end, as the core's state machine decides, even if single writes fail. */
void finish(struct worker *worker, struct ts_durable_scan scan);

/* Completes the unit, after the flip. */
void complete(struct worker *worker);

/* A whole unit of a new run on one target. */
void scan_target(unsigned number, const struct made_report *made, const struct ts_fleet_rules *with);

void expect_garbage_free(size_t visible, uint64_t places);

#endif
