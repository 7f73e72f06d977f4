/*
 * Work for a job that finds nothing to claim: it completes runs whose shards have all ended, removes rows
 * that killed workers left, and starts runs of schedules. One job at a time does this.
 *
 * A worker sweeps once after its start, after the end of each run, and again while a sweep leaves rows. Rows
 * on other stores can be removed only some time after the first sweep that found them. Rows of a running
 * worker can be removed only when that worker has ended.
 */
#include "job.h"

#include "base/blake3.h"
#include "base/endian.h"
#include "os/clock.h"
#include "os/grow.h"
#include "runtime/driver/start.h"
#include "runtime/durable/durable.h"
#include "runtime/durable/notices.h"

#include <stdlib.h>

#define NS_PER_MS UINT64_C(1000000)

/* Waiting a little longer avoids a sweep that is just too early. */
enum { SWEEP_LATER_MS = 100 };

struct runs {
    struct ts_pin pin; /* only runs with this pin: other runs belong to another kind or version of worker */
    struct ts_run_id *items;
    size_t count;
    size_t capacity;
    bool no_memory;
};

static bool add_run(void *context, const struct ts_run_record *run) {
    struct runs *runs = context;
    if (run->status != TS_RUN_ACTIVE || !ts_pin_equal(&run->config.pin, &runs->pin))
        return true;
    runs->no_memory = !TS_GROW(runs->items, runs->capacity, runs->count + 1);
    if (!runs->no_memory)
        runs->items[runs->count++] = run->run;
    return !runs->no_memory;
}

static bool skip_damaged(void *context, struct ts_run_id run, const struct ts_infra_error *reason) {
    (void)context;
    (void)run;
    (void)reason;
    return true;
}

/* Lists the active runs that this worker works for. */
static bool list_active(const struct runtime__crew *crew, struct runs *ret_runs) {
    const struct ts_crew_options *options = crew->options;
    struct ts_coord_detail detail = {0};
    if (options->has_run) {
        const struct ts_coord_run_query query = {.tenant = options->tenant, .run = options->run};
        struct ts_run_record run;
        return ts_coord_get_run(options->coord, &query, &run, &detail) == TS_GET_RUN_OK &&
               add_run(ret_runs, &run);
    }
    const struct ts_coord_runs_query query = {
        .filter = {.tenant = options->tenant, .by_status = true, .status = TS_RUN_ACTIVE},
        .damaged = skip_damaged};
    return ts_coord_list_runs(options->coord, &query, add_run, ret_runs, &detail) == TS_GET_RUN_OK &&
           !ret_runs->no_memory;
}

/* Returns the op id for completing a run. It is the same for all workers, so a second worker only repeats the
 * operation. */
static struct ts_op_id completion_id(struct ts_run_id run) {
    uint8_t hash[TS_BLAKE3_OUT_LEN];
    uint8_t number[8];
    ts_le64_store(run.v, number);
    ts_blake3_derive_key(TS_BYTES("turnstone 2026-11 completion of a run"),
                         ts_bytes_of(number, sizeof number), hash);
    return (struct ts_op_id){ts_le64_load(hash)};
}

/* Completes the run if all its shards have ended. Returns whether the run has ended. */
static bool complete(struct runtime__job *job, struct ts_run_id run) {
    const struct ts_crew_options *options = job->crew->options;
    const struct ts_coord_run_query query = {.tenant = options->tenant, .run = run};
    struct ts_shard_counts counts;
    struct ts_coord_detail detail = {0};
    if (ts_coord_run_counts(options->coord, &query, &counts, &detail) != TS_GET_RUN_OK || counts.active > 0)
        return false;
    const struct ts_end_run_op op = {.tenant = options->tenant, .run = run, .op_id = completion_id(run)};
    struct ts_coord_outcome outcome;
    const enum ts_run_transition_error error = ts_coord_complete_run(options->coord, op, &outcome, &detail);
    if (error == TS_RUN_TRANSITION_OK && outcome.outcome == TS_OUTCOME_EXECUTED)
        runtime__report(job->crew, &(struct ts_crew_event){.kind = TS_CREW_EVENT_RUN_COMPLETED,
                                                           .job = job->number,
                                                           .run = run,
                                                           .count = counts.parked});
    return error == TS_RUN_TRANSITION_OK || error == TS_RUN_TRANSITION_RUN_TERMINAL;
}

void runtime__sweep_later(struct runtime__crew *crew, uint64_t wait_ms) {
    const uint64_t at_ns = ts_clock_monotonic_ns() + (wait_ms + SWEEP_LATER_MS) * NS_PER_MS;
    pthread_mutex_lock(&crew->lock);
    if (crew->sweep_at_ns == 0 || crew->sweep_at_ns > at_ns)
        crew->sweep_at_ns = at_ns;
    pthread_mutex_unlock(&crew->lock);
}

/* Returns whether a sweep is due. If so, the caller must sweep, and no sweep is due any more. */
static bool take_sweep(struct runtime__crew *crew) {
    pthread_mutex_lock(&crew->lock);
    const bool is_due = crew->sweep_at_ns != 0 && ts_clock_monotonic_ns() >= crew->sweep_at_ns;
    if (is_due)
        crew->sweep_at_ns = 0;
    pthread_mutex_unlock(&crew->lock);
    return is_due;
}

static bool must_stop(void *context) {
    return runtime__is_asked_to_stop(context);
}

static void sweep(struct runtime__job *job) {
    const struct ts_crew_options *options = job->crew->options;
    const struct ts_durable_stop stop = {must_stop, job->crew};
    struct ts_durable_swept swept;
    struct ts_infra_error error;
    struct ts_notice_refs none = {0};
    const bool is_done = ts_durable_sweep(options->coord, &options->tenant, stop, &swept, &error) &&
                         ts_notices_list(options->coord, &options->tenant, 0, &none, &error);
    if (!is_done || swept.kept > 0)
        runtime__sweep_later(job->crew, is_done ? swept.wait_ms : TS_DURABLE_FOREIGN_MS);
    if (is_done && swept.marks > 0)
        runtime__report(job->crew, &(struct ts_crew_event){
                                       .kind = TS_CREW_EVENT_SWEPT, .job = job->number, .count = swept.rows});
}

/* ---- schedules ---- */

struct starting {
    struct runtime__job *job;
    uint64_t started;
};

static void report_started(void *context, struct ts_run_id run, uint64_t targets) {
    struct starting *starting = context;
    starting->started++;
    runtime__report(starting->job->crew, &(struct ts_crew_event){.kind = TS_CREW_EVENT_SCHEDULED,
                                                                 .job = starting->job->number,
                                                                 .run = run,
                                                                 .count = targets});
}

static void report_not_started(void *context, struct ts_run_id run, const char *why) {
    const struct starting *starting = context;
    runtime__report(starting->job->crew, &(struct ts_crew_event){.kind = TS_CREW_EVENT_SCHEDULE_FAILED,
                                                                 .job = starting->job->number,
                                                                 .run = run,
                                                                 .text = why});
}

/* Starts the schedules that are due, and returns how many runs were started. A worker for one run starts
 * none. */
static uint64_t start_due(struct runtime__job *job) {
    const struct ts_crew_options *options = job->crew->options;
    struct starting starting = {.job = job};
    struct ts_infra_error error = {0};
    struct ts_starter starter = {.coord = options->coord,
                                 .tenant = options->tenant,
                                 .pin = ts_fleet_rules_pin(&job->crew->rules.rules),
                                 .forge = options->forge,
                                 .started = report_started,
                                 .failed = report_not_started,
                                 .context = &starting};
    starter.forge.stop = &options->progress->stop;
    if (!options->has_run && !ts_start_due(&starter, &error))
        runtime__report(job->crew, &(struct ts_crew_event){.kind = TS_CREW_EVENT_STORE_FAILED,
                                                           .job = job->number,
                                                           .reason = ts_infra_kind_name(error.kind)});
    return starting.started;
}

/* ---- everything ---- */

static bool tidy(struct runtime__job *job, uint64_t *ret_active) {
    struct runs runs = {.pin = ts_fleet_rules_pin(&job->crew->rules.rules)};
    const bool is_known = list_active(job->crew, &runs);
    uint64_t active = runs.count;
    for (size_t i = 0; i < runs.count; i++)
        active -= complete(job, runs.items[i]);
    /* A run that has ended may have rows of killed workers, so a sweep follows the end of a run. */
    const bool is_due = take_sweep(job->crew);
    if (active < runs.count || is_due)
        sweep(job);
    free(runs.items);
    *ret_active = active + start_due(job);
    return is_known;
}

bool runtime__tidy(struct runtime__job *job, uint64_t *ret_active) {
    struct runtime__crew *crew = job->crew;
    pthread_mutex_lock(&crew->lock);
    const bool is_mine = !crew->is_tidying;
    crew->is_tidying = true;
    pthread_mutex_unlock(&crew->lock);
    if (!is_mine)
        return false;
    const bool is_known = tidy(job, ret_active);
    pthread_mutex_lock(&crew->lock);
    crew->is_tidying = false;
    pthread_mutex_unlock(&crew->lock);
    return is_known;
}
