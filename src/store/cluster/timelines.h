/*
 * Timelines of servers. When a standby takes the place of a server, it begins a higher timeline; the old
 * server, if it comes back, is still on the lower one, and must not be used. A process refuses servers on a
 * lower timeline than the highest that it has seen. So that other processes refuse it, too, the highest
 * timeline of each store is noted on all the other stores.
 */
#ifndef TS_STORE_CLUSTER_TIMELINES_H
#define TS_STORE_CLUSTER_TIMELINES_H

#include "store/cluster/cluster.h"

enum { STORE_TIMELINE_KEY_LEN = 6, STORE_TIMELINE_LEN = 21 };

/* The key and the value of a note: the timeline of the store at this place. docs/formats/meta.md has the layout. */
void store__timeline_key(uint32_t place, uint8_t ret_key[static STORE_TIMELINE_KEY_LEN]);
void store__timeline_encode(uint64_t timeline, uint8_t ret_value[static STORE_TIMELINE_LEN]);
/* Returns 0 for damaged bytes: unknown. */
uint64_t store__timeline_decode(struct ts_bytes value);

struct store__timelines {
    struct ts_store *const *stores; /* NULL: not opened */
    size_t count;
    ts_cluster_call *call;
    void *context;
};

/* Reads the notes of all stores, and refuses lower timelines from then on. Returns true if a store has a note
 * above the timeline it was used on. Stores that do not answer are left out. */
bool store__timelines_learn(const struct store__timelines *timelines);

/* Writes what the stores do not know yet. With `replaces`, replaces higher notes, too. */
void store__timelines_note(const struct store__timelines *timelines, bool replaces);

#endif
