/*
 * Keys for each store of a cluster, assigned by the cluster's own router, so that the benchmark measures the
 * same work as a user's transaction, including routing.
 *
 * A key is "bench/" and eight hexadecimal digits. Numbers are tried from 0 upwards, and each goes to the pool
 * of the store that its key routes to, so that every process has the same pools for the same cluster.
 */
#ifndef TS_BENCH_KEYS_H
#define TS_BENCH_KEYS_H

#include "store/cluster/cluster.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BENCH_POOL_MAX = 10000, BENCH_KEY_LEN = 14 };

struct bench_key {
    char text[BENCH_KEY_LEN + 2];
};

struct bench_keys {
    uint32_t *numbers; /* BENCH_POOL_MAX numbers for each store */
    size_t *counts;    /* number of keys of each store */
    size_t place_count;
};

/* Why keys could not be made: memory ran out, or no key routes to a store. */
struct bench_keys_error {
    bool no_memory;
    size_t empty_place; /* the router sends no key to this store */
};

/* Makes the keys. Returns false, with the reason, when a store has no keys or memory runs out. The caller
 * releases the keys in any case. */
bool bench__keys_init(struct bench_keys *ret_keys, const struct ts_cluster *cluster,
                      struct bench_keys_error *ret_error);
void bench__keys_release(struct bench_keys *keys);

struct bench_key_at {
    size_t place;
    size_t index; /* taken modulo the size of the pool */
};

/* Writes the key to ret_key. Returns it as bytes, borrowed from ret_key. */
struct ts_bytes bench__keys_get(const struct bench_keys *keys, struct bench_key_at at,
                                struct bench_key *ret_key);

#endif
