/*
 * A cluster for tests of the driver, and functions to use it. Each store in memory is behind a fault
 * decorator, so that any call can fail, be lost, or be carried out late.
 */
#ifndef TS_DRIVER_TXN_STAGE_H
#define TS_DRIVER_TXN_STAGE_H

#include "store/cluster/cluster.h"
#include "store/decorators/fault.h"
#include "store/local/memory.h"
#include "turnstone/txn.h"
#include "txn/guard/txn_config.h"

#include <stdatomic.h>

enum { STAGE_STORES_MAX = 4 };

struct stage {
    size_t count;
    struct ts_memory *memories[STAGE_STORES_MAX];
    struct ts_store *faults[STAGE_STORES_MAX]; /* owned by the cluster */
    struct ts_cluster *cluster;
    struct ts_txn_config config;
    struct ts_coordinator *coordinator;
    struct ts_store_clock clock; /* clock of the stores in memory: real time plus `ahead_ms` */
    _Atomic uint64_t ahead_ms;   /* how far `clock` is ahead of the real time */
    char directory[200];         /* directory of the stores of RocksDB */
    char urls[1000];
};

/* stage_init makes a cluster of stores in memory. stage_open and stage_close open and close its coordinator.
 * stage_release frees everything that is open. */
void stage_init(struct stage *stage, size_t count);
void stage_open(struct stage *stage);
void stage_close(struct stage *stage);
void stage_release(struct stage *stage);

/* Opens the cluster as another process sees it; the caller closes it. Only for stores in memory. */
struct ts_cluster *stage_other_process(struct stage *stage);

/* Initialises directories of RocksDB; nothing is open afterwards. */
void stage_init_rocksdb(struct stage *stage, size_t count);
void stage_name_rocksdb(struct stage *stage, size_t count); /* only names the directories */
struct ts_cluster *stage_open_rocksdb(const struct stage *stage, bool any_step);
/* Opens the stage's cluster with each store behind a fault decorator. */
void stage_open_rocksdb_with_faults(struct stage *stage);

/* Makes a key that routes to the store: `name` followed by a number. */
void stage_key(const struct ts_cluster *cluster, size_t place, const char *name, char ret_key[40]);

/* Returns the number under a key, or -1 when the key is absent. */
int64_t stage_number(struct ts_cluster *cluster, size_t place, const char *key);
uint64_t stage_version(struct ts_cluster *cluster, size_t place, const char *key);
size_t stage_promises(struct ts_cluster *cluster);
/* Returns the number of keys of the transaction layer on all stores. Keys of outcomes do not count. */
size_t stage_records(struct ts_cluster *cluster);

/* Returns the number of keys of one kind on one store. `kind` is the third byte of the key: 'c' coordinators,
 * 'd' decisions, 'h' heartbeats, 'l' marks. Sets *ret_version to the version of the first of these keys, 0
 * when there is none. */
size_t stage_keys(struct ts_cluster *cluster, size_t place, char kind, uint64_t *ret_version);

/* Waits until the condition holds. If that takes more than ten seconds, fails the test. */
void stage_wait_until(bool (*done)(void));

/* Makes a promise of another transaction on the store. The promise locks the key until stage_let_go. */
void stage_hold(struct stage *stage, size_t place, const char *key);
void stage_let_go(struct stage *stage, size_t place);

/* stage_shows returns whether the coordinator's metrics contain this text. stage_metric returns the number
 * after this text, which must exist. */
bool stage_shows(const struct stage *stage, const char *text);
uint64_t stage_metric(const struct stage *stage, const char *text);

/* Makes the next `times` calls (0: all) of a kind on the store fail. `result` is used only if `kind` is
 * TS_FAULT_ERROR. */
void stage_fault(struct stage *stage, size_t place, enum ts_call_kind call, enum ts_fault_kind kind,
                 enum ts_store_result result, uint64_t times);
/* Like stage_fault, but only the next write of a decision to the store fails. Other writes to the store
 * succeed. */
void stage_fault_decision(struct stage *stage, size_t place, enum ts_fault_kind kind);
void stage_no_faults(struct stage *stage);

struct ts_op stage_add(const char *key, int64_t delta);
struct ts_op stage_put(const char *key, const char *value);

#endif
