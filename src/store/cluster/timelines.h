/*
 * Timelines of servers. When a standby takes the place of a server, the standby begins a higher timeline. If
 * the old server is started again, it is still on the lower timeline, and must not be used. A process refuses
 * servers on a timeline lower than the highest that it has seen. Each store's highest timeline is noted on
 * all the other stores, so that other processes refuse the old server, too.
 */
#ifndef TS_STORE_CLUSTER_TIMELINES_H
#define TS_STORE_CLUSTER_TIMELINES_H

#include "store/cluster/cluster.h"

enum { STORE_TIMELINE_KEY_LEN = 6, STORE_TIMELINE_LEN = 21 };

/* These functions write the key and the value of a note about the store at `place`: its timeline.
 * docs/formats/meta.md has the layout. */
void store__timeline_key(uint32_t place, uint8_t ret_key[static STORE_TIMELINE_KEY_LEN]);
void store__timeline_encode(uint64_t timeline, uint8_t ret_value[static STORE_TIMELINE_LEN]);
/* Returns the timeline in the value of a note; 0 (unknown) for damaged bytes. */
uint64_t store__timeline_decode(struct ts_bytes value);

struct store__timelines {
    struct ts_store *const *stores; /* indexed by place; NULL: not opened */
    size_t count;
    ts_cluster_call *call;
    void *context;
};

/* Reads the notes of all stores that answer. From then on, servers on lower timelines are refused. Returns
 * true if a note has a higher timeline for a store than the timeline on which this process has used that
 * store. */
bool store__timelines_learn(const struct store__timelines *timelines);

/* Writes the notes that are missing or too low. With `replaces`, also replaces notes that are too high. */
void store__timelines_note(const struct store__timelines *timelines, bool replaces);

#endif
