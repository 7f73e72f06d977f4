/*
 * The metrics of a worker in Prometheus' text format: how its targets ended, and why. Labels are names from
 * fixed lists (runtime/driver/crew.h, runtime/core/reason.h).
 */
#ifndef TS_CLI_WORKER_METRICS_H
#define TS_CLI_WORKER_METRICS_H

#include "runtime/driver/crew.h"

#include <stdio.h>

/* Counts an event. Only one thread may call this function at a time. */
void cli__worker_metrics_add(const struct ts_crew_event *event);

/* Writes everything that was counted. Call this function when the worker has ended. */
void cli__worker_metrics_put(FILE *file);

#endif
