/*
 * The meta record of a store: its cluster, its place in the cluster, the epoch, and how keys are routed.
 * `store init` writes the record. Afterwards only fencing changes it. docs/formats/meta.md has the byte
 * layout.
 */
#ifndef TS_STORE_CONTRACT_META_H
#define TS_STORE_CONTRACT_META_H

#include "turnstone/store.h"

#include <stdbool.h>
#include <stdint.h>

enum { TS_META_FORMAT = 1, TS_META_ROUTING_SIZE = 512 };

/* OPEN is the usual state. CLOSING is a step of raising the epoch. INITIALISING is the state until every
 * store of a new cluster has its meta record. */
enum ts_meta_state { TS_META_OPEN = 0, TS_META_CLOSING = 1, TS_META_INITIALISING = 2 };

struct ts_meta {
    bool present;         /* false: the store belongs to no cluster yet */
    uint64_t version;     /* as read, 0 when absent; a write fails with CHECK_FAILED if it is outdated */
    uint32_t format;      /* number of the format of everything in the store */
    uint8_t cluster[16];  /* id of the cluster: random, made by init */
    uint32_t place;       /* place of the store, from 0, in the order of the cluster's list */
    uint32_t place_count; /* number of stores of the cluster */
    uint64_t epoch;       /* epoch of the store, from 1 */
    enum ts_meta_state state;
    uint8_t secret[32]; /* key of the cluster's signatures; made by init, equal on every store */
    char routing[TS_META_ROUTING_SIZE]; /* "xxh64", "jump", "single", "fnv1a" or "range:LIST" */
};

/* The maximum size of the encoded record, for engines that store the bytes of docs/formats/meta.md. */
enum { TS_META_ENCODED_MAX = 84 + TS_META_ROUTING_SIZE };
size_t store__meta_encode(const struct ts_meta *meta, uint8_t ret_bytes[static TS_META_ENCODED_MAX]);

/* Returns OK, DAMAGED, or BAD_CONFIGURATION if the record has another format; then ret_meta->format is that
 * format. Leaves `version` unchanged. */
enum ts_store_result store__meta_decode(struct ts_bytes bytes, struct ts_meta *ret_meta);

/* Checks whether a process that expects `expected` may use a store whose record is `actual`. Returns OK or
 * FOREIGN, with the reason. */
enum ts_store_result store__meta_compare(const struct ts_meta *actual, const struct ts_meta *expected,
                                         const char *store_name, struct ts_store_error *ret_error);

#endif
