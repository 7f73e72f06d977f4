/*
 * The standard scenarios: which keys a transaction writes, on which stores. A transaction puts one value of
 * BENCH_VALUE_LEN bytes on each store of its pattern. In zipfian and mixed a transaction first reads its
 * keys, and checks that they have not changed since, so that two transactions on the same keys conflict.
 *
 *   scenario     keys                                              stores
 *   uniform      any of a store's keys, equally likely             pairs in turn: (0,1), (1,2), … (n-1,0)
 *   zipfian      by Zipf's law with the exponent of zipf.h         0 and 1
 *   mixed        one after another; all threads go through the     one in turn; every fifth time a pair
 *                same keys, BENCH_SHARED for each of them
 *   pure         one after another, a stretch for each thread      all
 *   faults       equally likely; every fifth transaction inserts   0 and 1
 *                an existing id
 *   concurrency  a stretch for each thread                         a pair for each thread
 *   contended    any of the BENCH_CONTENDED_KEYS of a store        all
 *   bank         accounts, see bank.h                              any two accounts'
 *
 * On a cluster of one store a pair is that store, and one value is put.
 */
#ifndef TS_BENCH_SCENARIO_H
#define TS_BENCH_SCENARIO_H

#include "base/prng.h"
#include "bench/keys.h"
#include "bench/zipf.h"
#include "turnstone/store.h"
#include "turnstone/txn.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(SUFFIX, name, name in the specification, percent that must commit, 0 for no such threshold) */
#define BENCH_SCENARIOS(X)                                                                                   \
    X(UNIFORM, "uniform", "uniform_low_contention", 90)                                                      \
    X(ZIPFIAN, "zipfian", "zipfian_hotspot", 0)                                                              \
    X(MIXED, "mixed", "mixed_80_20", 85)                                                                     \
    X(PURE, "pure", "pure_cross_shard", 80)                                                                  \
    X(FAULTS, "faults", "fault_injection", 50)                                                               \
    X(CONCURRENCY, "concurrency", "high_concurrency", 80)                                                    \
    X(CONTENDED, "contended", "contended", 99)                                                               \
    X(BANK, "bank", "bank", 0)

#define BENCH_SCENARIO_ENUM(suffix, name, specified, percent) BENCH_##suffix,
enum bench_scenario { BENCH_SCENARIOS(BENCH_SCENARIO_ENUM) BENCH_SCENARIO_COUNT };
#undef BENCH_SCENARIO_ENUM

const char *bench__scenario_name(enum bench_scenario scenario);
const char *bench__scenario_specified(enum bench_scenario scenario);
uint32_t bench__scenario_percent(enum bench_scenario scenario);
bool bench__scenario_from_name(const char *name, enum bench_scenario *ret_scenario);

enum {
    BENCH_VALUE_LEN = 64,
    BENCH_THREADS_MAX = 1024,
    BENCH_EXISTING = 64,      /* faults: existing ids of store 0 */
    BENCH_SHARED = 64,        /* mixed: each store has this many keys per thread, for all threads */
    BENCH_CONTENDED_KEYS = 2, /* contended: number of keys of each store */
};

/* A plan that all threads share, and that is constant while they run. */
struct bench_plan {
    enum bench_scenario scenario;
    uint32_t threads;
    struct bench_keys keys;
    struct bench_zipf zipf; /* for the scenario zipfian */
};

/* One thread's position in the plan. */
struct bench_walk {
    const struct bench_plan *plan;
    uint32_t thread;
    uint64_t turn; /* number of transactions so far */
    struct ts_prng prng;
};

/* A transaction of one thread; each thread reuses its own. */
struct bench_txn {
    struct ts_op ops[TS_TXN_PLACES_MAX + 2];
    size_t count;
    bool duplicate; /* faults: the transaction inserts an existing id, and must not commit */
    bool reads;     /* zipfian and mixed: reads the keys first; each check gets its key's version */
    struct bench_key keys[TS_TXN_PLACES_MAX];
    uint8_t value[BENCH_VALUE_LEN];
};

/* Makes the thread's next transaction, in all scenarios but the bank. */
void bench__scenario_next(struct bench_walk *walk, struct bench_txn *ret_txn);

/* Puts of the keys of store 0 that must exist before the first transaction of the scenario faults. In other
 * scenarios, count is 0. */
struct bench_first {
    struct ts_op ops[BENCH_EXISTING];
    size_t count;
    struct bench_key keys[BENCH_EXISTING];
};
void bench__scenario_first(const struct bench_plan *plan, struct bench_first *ret_first);

#endif
