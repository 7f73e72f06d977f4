/*
 * A store in memory, for simulations and tests. It is the shortest engine to read.
 *
 * A store in memory has no threads and no clock of its own. With the clock of a simulation, its behaviour
 * depends only on the order of the calls. The contents are a separate object that lives longer than the
 * stores over it. So a simulation can kill a process or a machine and open the contents again.
 */
#ifndef TS_STORE_LOCAL_MEMORY_H
#define TS_STORE_LOCAL_MEMORY_H

#include "store/contract/engine.h"

struct ts_memory;

/* Makes empty contents. Returns NULL when memory runs out. The clock (NULL: the real clock) must be valid as
 * long as the contents. */
struct ts_memory *ts_memory_new(const char *name, const struct ts_store_clock *clock);

/* Frees the contents. All stores over them must be closed. Accepts NULL. */
void ts_memory_free(struct ts_memory *memory);

/* Opens a store over the contents; the caller closes it. Several stores over the same contents are like
 * clients of one server: they share locks and promises. Returns NULL when memory runs out. */
struct ts_store *ts_memory_open(struct ts_memory *memory);

/* Opens a store over new contents, which are freed when the store is closed. Returns NULL when memory runs
 * out. */
struct ts_store *ts_memory_open_new(const char *name, const struct ts_store_clock *clock);

/*
 * Simulates that the server dies and restarts with its contents. Waiting calls end as UNAVAILABLE. The locks
 * of promises are taken again, as their records say. With lose_unsynced, commits and aborts since the last
 * durable call are lost, as after a power failure. No other thread may use the contents meanwhile. Stores
 * over the contents remain open.
 */
struct ts_memory_crash {
    bool lose_unsynced;
};
void ts_memory_restart(struct ts_memory *memory, struct ts_memory_crash crash);

/* For tests: damages the record of a key, as a bad disk would. Returns false when the key is absent. */
bool ts_memory_damage(struct ts_memory *memory, struct ts_bytes key);

#endif
