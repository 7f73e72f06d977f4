/* Shared by the fixtures of the decorators. The contents are in memory, and are opened again for each
 * store. */
#ifndef TS_TESTS_CONTRACT_DECORATED_H
#define TS_TESTS_CONTRACT_DECORATED_H

#include "contract.h"
#include "store/local/memory.h"

static inline void *decorated_set_up(void) {
    struct ts_memory *memory = ts_memory_new("memory:", NULL);
    assert_non_null(memory);
    return memory;
}

static inline void decorated_tear_down(void *place) {
    ts_memory_free(place);
}

static inline struct ts_store *decorated_inside(void *place) {
    ts_memory_restart(place, (struct ts_memory_crash){.lose_unsynced = false});
    struct ts_store *store = ts_memory_open(place);
    assert_non_null(store);
    return store;
}

#endif
