/*
 * The rocksdb engine: the local core over a plain RocksDB database in a directory.
 */
#ifndef TS_STORE_ROCKSDB_ROCKSDB_H
#define TS_STORE_ROCKSDB_ROCKSDB_H

#include "store/local/backend.h"
#include "turnstone/cluster.h"

#include <rocksdb/c.h>
#include <stdatomic.h>

/* Opens the store in a directory, and creates the directory if its parent exists. `name` is for messages. */
enum ts_store_result store__rocksdb_open(const char *directory, const char *name,
                                         const struct ts_store_options *options, struct ts_store **ret_store,
                                         struct ts_store_error *ret_error);

/* The declarations below are shared by rocksdb.c and rocksdb_open.c. */

enum { ROCKSDB_FORMAT = 1 };

struct rocksdb__backend {
    struct store__backend head;
    rocksdb_t *database;
    rocksdb_options_t *options;
    rocksdb_readoptions_t *read_latest;
    rocksdb_writeoptions_t *synced, *unsynced;
    int lock_fd; /* descriptor of the locked file in the directory; -1 without a lock */
    struct store__origin origin;
    /* An enum ts_store_result: the result of every write after a failure of the log; OK: no failure so far. */
    atomic_int stopped;
    atomic_uint_least64_t room_seen_ns; /* time of the last check of the room on the disk */
    atomic_bool is_short;               /* the last check found too little room on the disk */
    char name[256];
};

extern const struct store__backend_ops rocksdb__ops;

/* The purpose of a RocksDB call, which decides what its errors mean. */
enum rocksdb__purpose { ROCKSDB_OPENS, ROCKSDB_READS, ROCKSDB_WRITES };

/* Turns RocksDB's message into an error, and frees the message. */
enum ts_store_result rocksdb__error(const char *name, enum rocksdb__purpose purpose, char *message,
                                    struct ts_store_error *ret_error);

#endif
