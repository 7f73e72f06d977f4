/*
 * A store in memory: what simulations and tests run on, and the shortest engine to read.
 *
 * It has no thread and no time of its own: with a clock that a simulation drives, everything that happens
 * follows from the order of the calls. The contents are an object that outlives the stores over them, so that
 * a simulation can let a process or a machine die and open the same store again.
 */
#ifndef TS_STORE_LOCAL_MEMORY_H
#define TS_STORE_LOCAL_MEMORY_H

#include "store/contract/engine.h"

struct ts_memory;

/* NULL when there is no memory. The clock, NULL for the real one, must outlive it. */
struct ts_memory *ts_memory_new(const char *name, const struct ts_store_clock *clock);

/* Its stores have been closed. NULL is no matter. */
void ts_memory_free(struct ts_memory *memory);

/* A store over the contents, which the caller closes. Several at once are like several clients of one server:
 * they share locks and promises. NULL when there is no memory. */
struct ts_store *ts_memory_open(struct ts_memory *memory);

/* A store over contents of its own, which go when it is closed. NULL when there is no memory. */
struct ts_store *ts_memory_open_new(const char *name, const struct ts_store_clock *clock);

/*
 * The server dies and comes back with what it had. Calls that were waiting end as UNAVAILABLE; locks of
 * promises are taken again from their records. With lose_unsynced, commits and aborts since the last durable
 * call never happened, as after a loss of power. Only one thread may be using it. Stores stay open.
 */
struct ts_memory_crash {
    bool lose_unsynced;
};
void ts_memory_restart(struct ts_memory *memory, struct ts_memory_crash crash);

/* Damages the record of a key, as a bad disk would: for tests. False when the key is absent. */
bool ts_memory_damage(struct ts_memory *memory, struct ts_bytes key);

#endif
