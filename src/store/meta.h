/*
 * What a store knows about itself: its cluster, its place in it, the epoch, and how keys are routed. Written
 * by `store init` and changed only by fencing. docs/formats/meta.md has the byte layout.
 */
#ifndef TS_STORE_META_H
#define TS_STORE_META_H

#include "turnstone/store.h"

enum { TS_META_FORMAT = 1, TS_META_ROUTING_MAX = 1 << 20 };

/* Steps of raising the epoch. OPEN is the ordinary state; INITIALISING until every store of a new cluster has
 * its meta. */
enum ts_meta_state { TS_META_OPEN = 0, TS_META_CLOSING = 1, TS_META_INITIALISING = 2 };

struct ts_meta {
    bool present;         /* false: the store belongs to no cluster yet */
    uint32_t format;      /* of everything in the store */
    uint8_t cluster[16];  /* random, made by init */
    uint32_t place;       /* from 0, in the order of the cluster's list */
    uint32_t place_count; /* stores of the cluster */
    uint64_t epoch;       /* from 1 */
    enum ts_meta_state state;
    uint8_t secret[32]; /* made by init, the same on every store: key of what the cluster signs */
    char routing[512]; /* "xxh64", "jump", "single", "fnv1a" or "range:LIST"; a longer list is refused by init
                        */
};

#endif
