/*
 * The rocksdb engine: the local core over a plain RocksDB database in a directory.
 */
#ifndef TS_STORE_ROCKSDB_ROCKSDB_H
#define TS_STORE_ROCKSDB_ROCKSDB_H

#include "store/local/backend.h"
#include "turnstone/cluster.h"

#include <rocksdb/c.h>
#include <stdatomic.h>

/* Opens the store in a directory, which is made when its parent is there. `name` is for messages. */
enum ts_store_result store__rocksdb_open(const char *directory, const char *name,
                                         const struct ts_store_options *options, struct ts_store **ret_store,
                                         struct ts_store_error *ret_error);

/* The rest is between rocksdb.c and rocksdb_open.c. */

enum { ROCKSDB_FORMAT = 1 };

struct rocksdb__backend {
    struct store__backend head;
    rocksdb_t *database;
    rocksdb_options_t *options;
    rocksdb_readoptions_t *read_latest;
    rocksdb_writeoptions_t *synced, *unsynced;
    int lock_fd; /* of the directory; -1 when it is not ours */
    struct store__origin origin;
    /* An enum ts_store_result: what every write returns after the log has failed; OK: the log has not failed. */
    atomic_int stopped;
    atomic_uint_least64_t room_seen_ns; /* when the room on the disk was looked at last */
    atomic_bool is_short;               /* of room, as it was then */
    char name[256];
};

extern const struct store__backend_ops rocksdb__ops;

/* What a call of RocksDB's was for: what its errors mean depends on it. */
enum rocksdb__purpose { ROCKSDB_OPENS, ROCKSDB_READS, ROCKSDB_WRITES };

/* Turns RocksDB's message into an error, and frees it. */
enum ts_store_result rocksdb__error(const char *name, enum rocksdb__purpose purpose, char *message,
                                    struct ts_store_error *ret_error);

#endif
