/*
 * A worker: a process with a coordination, a coordinator of transactions and sometimes a session. Its code is
 * straight-line code in a fiber. A worker works, makes mistakes, forgets its shard, and restarts after
 * crashes.
 */
#ifndef TS_SIM_WORKER_H
#define TS_SIM_WORKER_H

#include "check.h"
#include "world.h"

struct sim__worker {
    struct sim__actor actor;
    uint32_t number;
    uint32_t tenant;
    uint32_t home; /* the run that the worker works for */
    uint32_t run;  /* the run of the shard that the worker holds; otherwise its home */
    struct ts_worker_id id;
    uint64_t next_beat_ms;

    /* The process; NULL between a crash and the restart. */
    struct ts_coord *coord;
    struct ts_coord_session *session; /* NULL: the worker has no session, and passes its lease itself */
    struct ts_txn_virtual *txn;

    struct ts_acquire_scratch *scratch;
    struct ts_manifest_memory *manifest;
    struct ts_new_shard *shards; /* room for all shards of one registration */
    struct sim__key (*keys)[2];  /* start and end of each of these shards */

    /* The shard that the worker believes it holds. */
    bool holding;
    struct ts_lease lease;
    uint64_t shard;
    uint32_t from, to; /* bounds of the shard's range */
    bool has_position;
    uint32_t position;

    /* Earlier leases. */
    struct ts_lease old[SIM_OLD_LEASES];
    size_t old_count;
};

/* The functions that the fibers of a worker and of the resolver run. */
void sim__worker_main(void *context);
void sim__resolver_main(void *context);

/* Begins a process with a coordination and, if who is not NULL, a session. Returns false when memory runs
 * out. */
bool sim__process_open(struct sim__worker *worker, const struct ts_coord_worker *who);
/* Releases everything that belongs to the process, even if it was not opened completely. */
void sim__process_close(struct sim__worker *worker);

/* Sends the worker's heartbeat, in parallel with its other work. */
void sim__worker_beat(struct sim__worker *worker);

/* ---- one operation each, and all checks of its answer (operation.c) ---- */

void sim__claim(struct sim__worker *worker, enum ts_error_variant *ret_variant);
void sim__acquire(struct sim__worker *worker, uint32_t run, uint64_t shard);
void sim__renew(struct sim__worker *worker, const struct ts_lease *lease);
/* Begins or repeats an operation with an op id. Returns true when the operation is done. */
bool sim__issue(struct sim__worker *worker, struct sim__op *op);
/* Uses the op id of a finished operation for another operation, which must be refused. */
void sim__reuse_id(struct sim__worker *worker, const struct sim__op *op);
/* Registers a step of a list that is not the announced one; the step must be refused. */
void sim__register_wrong_step(struct sim__worker *worker, uint32_t run);
void sim__look(struct sim__worker *worker, uint32_t run);
/* Checks the counters and indexes of a run with the driver's own audit. Called after all runs have ended. */
void sim__audit(struct sim__worker *worker, const struct ts_tenant_id *tenant, struct ts_run_id run);

/* Returns the index of the run of a lease. */
uint32_t sim__run_of(const struct sim__world *world, const struct ts_lease *lease);

/* Forgets the shard that the worker holds, but keeps its lease as an old lease. */
void sim__let_go(struct sim__worker *worker);

#endif
