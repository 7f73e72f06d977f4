#include "coord/driver/coord.h"

#include "base/hash64.h"
#include "driver.h"
#include "os/entropy.h"
#include "txn/guard/txn_config.h"

#include <stdlib.h>

enum { TRIES_DEFAULT = 32, PATIENCE_DEFAULT_MS = 30000 };

/* Converts microseconds to milliseconds. The result is never 0, because 0 would mean unset. */
static uint64_t ms_of(uint64_t us) {
    return us / 1000 + 1;
}

static struct ts_coord_options with_defaults(const struct ts_coord_options *options) {
    struct ts_coord_options filled = options != NULL ? *options : (struct ts_coord_options){0};
    if (filled.tenant_shard_max == 0)
        filled.tenant_shard_max = TS_TENANT_SHARD_MAX;
    if (filled.global_shard_max == 0)
        filled.global_shard_max = TS_GLOBAL_SHARD_MAX;
    if (filled.record_max == 0 || filled.record_max > TS_RECORD_MAX)
        filled.record_max = TS_RECORD_MAX;
    if (filled.tries_max == 0)
        filled.tries_max = TRIES_DEFAULT;
    if (filled.patience_ms == 0)
        filled.patience_ms = PATIENCE_DEFAULT_MS;
    return filled;
}

static struct ts_coord *new_with(const struct ts_coord_options *options, uint64_t seed) {
    struct ts_coord *coord = calloc(1, sizeof *coord);
    if (coord == NULL)
        return NULL;
    coord->options = with_defaults(options);
    ts_prng_init(&coord->prng, seed);
    if (pthread_mutex_init(&coord->lock, NULL) != 0) {
        free(coord);
        return NULL;
    }
    return coord;
}

/* Fills in unset options from the coordinator's configuration. */
static struct ts_coord_options as_configured(const struct ts_coord_options *options,
                                             const struct ts_txn_config *config) {
    struct ts_coord_options filled = options != NULL ? *options : (struct ts_coord_options){0};
    if (filled.patience_ms == 0)
        filled.patience_ms = ms_of(config->timeouts.total_us);
    if (filled.tenant_shard_max == 0)
        filled.tenant_shard_max = config->shards.tenant_max;
    if (filled.global_shard_max == 0)
        filled.global_shard_max = config->shards.global_max;
    return filled;
}

struct ts_coord *ts_coord_new(struct ts_cluster *cluster, struct ts_coordinator *coordinator,
                              const struct ts_coord_options *options) {
    uint64_t seed = 0;
    if (!ts_entropy_fill(&seed, sizeof seed))
        return NULL;
    const struct ts_txn_config *config = ts_coordinator_config(coordinator);
    const struct ts_coord_options configured = as_configured(options, config);
    struct ts_coord *coord = new_with(&configured, seed);
    if (coord == NULL)
        return NULL;
    coord->cluster_io = (struct coord__cluster_io){.cluster = cluster,
                                                   .coordinator = coordinator,
                                                   .call_timeout_us = config->timeouts.shard_rpc_us,
                                                   .is_clock_frozen = coord->options.is_clock_frozen};
    coord->io = coord__io_over_cluster(&coord->cluster_io);
    return coord;
}

struct ts_coord *ts_coord_new_over(const struct ts_coord_io *io, const struct ts_coord_options *options) {
    struct ts_coord *coord = new_with(options, options != NULL ? options->seed : 0);
    if (coord != NULL)
        coord->io = *io;
    return coord;
}

struct ts_coord *ts_coord_new_stoppable(struct ts_coord *coord, const struct ts_coord_stop *stop) {
    struct ts_coord *own = new_with(&coord->options, coord__draw(coord));
    if (own == NULL)
        return NULL;
    own->io = coord->io;
    if (coord->io.context != &coord->cluster_io)
        return own;
    own->cluster_io = coord->cluster_io;
    own->cluster_io.stop = (struct ts_txn_stop){stop->must, stop->context};
    own->io = coord__io_over_cluster(&own->cluster_io);
    return own;
}

static void free_work(struct coord__work *work, uint32_t place_count) {
    if (work == NULL)
        return;
    for (size_t i = 0; work->rows != NULL && i < 2 * (size_t)place_count + 2; i++)
        ts_rows_release(&work->rows[i]);
    ts_arena_release(&work->plan.arena);
    free(work->plan.planned);
    free(work->plan.ops);
    free(work->plan.origins);
    free(work->plan.parts);
    free(work->plan.counts);
    free(work->calls);
    free(work->rows);
    free(work);
}

void ts_coord_free(struct ts_coord *coord) {
    if (coord == NULL)
        return;
    while (coord->free_works != NULL) {
        struct coord__work *work = coord->free_works;
        coord->free_works = work->next;
        free_work(work, coord->io.place_count);
    }
    pthread_mutex_destroy(&coord->lock);
    free(coord);
}

static struct coord__work *new_work(uint32_t place_count) {
    struct coord__work *work = calloc(1, sizeof *work);
    if (work == NULL)
        return NULL;
    const size_t calls = 2 * (size_t)place_count + 2;
    work->calls = calloc(calls, sizeof *work->calls);
    work->rows = calloc(calls, sizeof *work->rows);
    work->plan.place_count = place_count;
    work->plan.parts = calloc(place_count, sizeof *work->plan.parts);
    work->plan.counts = calloc((size_t)place_count * COORD__COUNTERS, sizeof *work->plan.counts);
    if (work->calls == NULL || work->rows == NULL || work->plan.parts == NULL || work->plan.counts == NULL) {
        free_work(work, place_count);
        return NULL;
    }
    return work;
}

struct coord__work *coord__work_take(struct ts_coord *coord) {
    pthread_mutex_lock(&coord->lock);
    struct coord__work *work = coord->free_works;
    if (work != NULL)
        coord->free_works = work->next;
    pthread_mutex_unlock(&coord->lock);
    if (work == NULL)
        work = new_work(coord->io.place_count);
    return work;
}

void coord__work_give(struct ts_coord *coord, struct coord__work *work) {
    coord__plan_clear(&work->plan);
    work->seen.known = false;
    pthread_mutex_lock(&coord->lock);
    work->next = coord->free_works;
    coord->free_works = work;
    pthread_mutex_unlock(&coord->lock);
}

uint64_t coord__draw(struct ts_coord *coord) {
    pthread_mutex_lock(&coord->lock);
    const uint64_t drawn = ts_prng_next(&coord->prng);
    pthread_mutex_unlock(&coord->lock);
    return drawn;
}

void coord__tell(struct ts_coord *coord, const struct ts_event *event) {
    if (coord->options.event != NULL)
        coord->options.event(coord->options.context, event);
}

uint64_t coord__elapsed_ms(struct ts_coord *coord) {
    return coord->io.elapsed_ms(coord->io.context);
}

const struct ts_router *ts_coord_router(const struct ts_coord *coord) {
    return coord->io.router;
}

uint32_t ts_coord_place_of_shard(const struct ts_coord *coord, struct ts_shard_id shard) {
    return ts_router_route(coord->io.router, shard.v).v;
}

uint32_t coord__place_of_worker(const struct ts_coord *coord, const struct ts_worker_id *worker) {
    const uint64_t id = ts_xxh64_of_bytes(ts_bytes_of(worker->b, sizeof worker->b));
    return ts_router_route(coord->io.router, id).v;
}
