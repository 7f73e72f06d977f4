/*
 * Texts about a run for people: the names of its targets, and why targets were parked or handed back.
 */
#ifndef TS_RUNTIME_DURABLE_NOTES_H
#define TS_RUNTIME_DURABLE_NOTES_H

#include "coord/core/error.h"
#include "runtime/core/fleet_decision.h"

struct ts_coord;

struct ts_notes_query {
    struct ts_run_id run;
    const struct ts_target_id *targets;
    size_t count;
    /* Called with the index of a target, in any order, for each record that exists. The record is borrowed
     * until the call returns. */
    void (*unit)(void *context, size_t index, const struct ts_fleet_unit *unit);
    void (*decisions)(void *context, size_t index, const struct ts_fleet_decisions *decisions);
};

/* Reads the names and decisions of targets. On failure returns false, and ret_error says why. */
bool ts_notes_read(struct ts_coord *coord, const struct ts_notes_query *query, void *context,
                   struct ts_infra_error *ret_error);

#endif
