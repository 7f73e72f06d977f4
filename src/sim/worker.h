/*
 * A worker: a process with a coordination, a coordinator of transactions and, on some, a session; straight-line code
 * in a fiber that works, makes mistakes, forgets, and comes back from the dead.
 */
#ifndef TS_SIM_WORKER_H
#define TS_SIM_WORKER_H

#include "check.h"
#include "world.h"

struct sim__worker {
    struct sim__actor actor;
    uint32_t number;
    uint32_t tenant;
    uint32_t run; /* that it works for */
    struct ts_worker_id id;
    uint64_t next_beat_ms;

    /* The process; NULL between two. */
    struct ts_coord *coord;
    struct ts_coord_session *session; /* NULL: it has none, and hands its lease in itself */
    struct ts_txn_virtual *txn;
    bool txn_under_way;

    struct ts_acquire_scratch *scratch;
    struct ts_manifest_memory *manifest;
    struct ts_new_shard *shards; /* as many as are registered at once */
    struct sim__key (*keys)[2];  /* of shards */

    /* What it holds, as it believes. */
    bool holding;
    struct ts_lease lease;
    uint64_t shard;
    uint32_t from, to; /* bounds */
    bool has_position;
    uint32_t position;

    /* Leases that it had. */
    struct ts_lease old[SIM_OLD_LEASES];
    size_t old_count;
};

/* The fiber of a worker and of the resolver. */
void sim__worker_main(void *context);
void sim__resolver_main(void *context);

/* Its heart, beside whatever it does. */
void sim__worker_beat(struct sim__worker *worker);

/* Everything that it holds of its process goes. */
void sim__worker_close(struct sim__worker *worker);

/* ---- one operation each, with all that is checked about its answer (operation.c) ---- */

void sim__create_run(struct sim__worker *worker, uint32_t run);
void sim__claim(struct sim__worker *worker, uint32_t run, enum ts_error_variant *ret_variant);
void sim__acquire(struct sim__worker *worker, uint32_t run, uint64_t shard);
void sim__renew(struct sim__worker *worker, const struct ts_lease *lease);
/* Begins, or repeats, an operation with an op id. True when it is done. */
bool sim__issue(struct sim__worker *worker, struct sim__op *op);
/* The id of an operation that is done, for another one: never done. */
void sim__reuse_id(struct sim__worker *worker, const struct sim__op *op);
void sim__look(struct sim__worker *worker, uint32_t run);
/* The counters and indexes of a run, by the driver's own audit, when nobody is at work. */
void sim__audit(struct sim__worker *worker, uint32_t run);

/* It holds nothing any more; the lease is kept as an old one. */
void sim__let_go(struct sim__worker *worker);

#endif
