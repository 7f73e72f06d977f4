/*
 * One unit of a simulated worker. It carries out the wishes of ts_unit_step with the real layer that makes
 * results durable; repositories are sets of objects.
 */
#ifndef TS_SIM_FLEET_UNIT_H
#define TS_SIM_FLEET_UNIT_H

#include "fleet.h"
#include "runtime/durable/durable.h"

struct sim__fleet_unit {
    struct sim__worker *worker;
    struct ts_durable *durable;
    uint32_t run;    /* index of the run */
    uint32_t target; /* index of the target */
    struct ts_unit unit;

    /* The scan. */
    uint32_t state;                     /* state of the refs that were synced */
    sim__fleet_objects known;           /* scanned, with nothing found */
    sim__fleet_objects hits;            /* scanned, with something found */
    sim__fleet_objects missed;          /* cannot be read */
    sim__fleet_objects durable_objects; /* known objects and hits that are already durable */

    const struct ts_item_receipt *item;
    const struct ts_unit_receipt *receipt;
    struct ts_op_id park_id, release_id;
};

/* Runs the unit after the session has claimed the shard of the target. Returns when the unit has ended or the
 * worker is dead. */
void sim__fleet_unit_run(struct sim__fleet_unit *unit);

#endif
