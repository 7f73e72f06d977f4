/*
 * The core that memory and rocksdb share: locks, versions, promises and time over a backend.
 *
 * Order of locks: locks on keys and gids (locks.h), then `meta_lock`, then `mutex`, then locks of the
 * backend. No thread waits for a lock on a key or gid while it holds one of the locks that come later in this
 * order.
 */
#ifndef TS_STORE_LOCAL_LOCAL_H
#define TS_STORE_LOCAL_LOCAL_H

#include "store/contract/engine.h"
#include "store/local/backend.h"
#include "store/local/locks.h"
#include "store/local/promises.h"

#include <pthread.h>

struct local__call;

/* One database in this process. */
struct store__local {
    struct store__backend *backend;
    const struct ts_store_clock *clock;
    char name[256];
    struct store__locks *keys;
    struct store__locks *gids; /* locks on gids: one prepare, commit or abort of a gid at a time */

    /* Held shared while a batch is checked and written. So when meta changes, no active writer has seen the
     * old meta. */
    pthread_rwlock_t meta_lock;
    struct ts_meta meta;

    pthread_mutex_t mutex; /* guards the fields below */
    struct store__promises promises;
    uint64_t next_version;
    uint64_t version_bound; /* stored: every assigned version is below this one */
    uint64_t last_ms;
    uint64_t kept_ms;          /* stored: later processes use no earlier time */
    uint64_t fixed_ms;         /* a frozen time; 0: the clock runs */
    struct local__call *calls; /* calls that wait for a lock */
};

/* A struct ts_store over the database. Several of these share locks and promises, like clients of one
 * server. */
struct store__local_store {
    struct ts_store head;
    struct store__local *local;
    bool expects;
    struct ts_meta expected;
    void (*on_close)(void *owner);
    void *owner;
};

/*
 * Makes the core over a backend. The core owns the backend; on failure, the backend is closed. Reads meta,
 * version and promises from the backend. Takes the locks of the promises again before any other call can take
 * them.
 */
enum ts_store_result store__local_new(struct store__backend *backend, const struct ts_store_clock *clock,
                                      const char *name, struct store__local **ret_local,
                                      struct ts_store_error *ret_error);
void store__local_free(struct store__local *local);

/* Stores the time, so that the next process does not start with an earlier time. If this fails, the next
 * process may start with an earlier time. */
void store__local_keep_time(struct store__local *local);

/* Freezes the time in this process. Returns BAD_USAGE when the store has seen a later time. Call it before
 * any other use of the store. After something was written at this time, later processes start with this
 * time. */
enum ts_store_result store__local_fix_time(struct store__local *local, uint64_t now_ms,
                                           struct ts_store_error *ret_error);

/*
 * Behaves as if the process had ended and restarted, without closing the backend. Waiting calls end as
 * UNAVAILABLE, and the store's records are read again. No other thread may be in a call. If reading fails,
 * the core can only be freed, because some of the records are missing.
 */
enum ts_store_result store__local_restart(struct store__local *local, struct ts_store_error *ret_error);

/* Makes a store over the database. If on_close is not NULL, closing the store later calls on_close(owner).
 * Returns NULL when memory runs out. */
struct ts_store *store__local_store_new(struct store__local *local, void (*on_close)(void *owner),
                                        void *owner);

/* The declarations below are internal to the core, and shared with local_batch.c. */

/* Begins an APPLY, PREPARE, COMMIT or ABORT. */
void local__batch_start(struct store__local_store *store, struct ts_call *call);
void local__batch_step(struct store__local_store *store, struct ts_call *call);
void local__batch_expire(struct store__local_store *store, struct ts_call *call);
struct pollfd local__batch_wait_for(struct store__local_store *store, struct ts_call *call);
/* Ends every waiting call. */
void local__batch_drop_all(struct store__local *local);

/* Returns the store's time, which never decreases. */
uint64_t local__now_ms(struct store__local *local);

/* Stores a frozen time before the first batch that is written at this time. */
enum ts_store_result local__keep_fixed_time(struct store__local *local, struct ts_store_error *ret_error);

/* Checks that the store has the cluster and epoch that the handle expects. The caller holds meta_lock. */
enum ts_store_result local__allowed(const struct store__local_store *store, enum ts_call_kind kind,
                                    struct ts_store_error *ret_error);

/* These functions read and write the past of the store (engine.h). */
enum ts_store_result local__past_read(struct ts_store *head, struct store__past *ret_past,
                                      struct ts_store_error *ret_error);
enum ts_store_result local__past_write(struct ts_store *head, const struct store__past *past, bool sync,
                                       struct ts_store_error *ret_error);

enum ts_store_result local__damaged(const struct store__local *local, const char *what, size_t op,
                                    struct ts_store_error *ret_error);
enum ts_store_result local__no_memory(const struct store__local *local, struct ts_store_error *ret_error);

#endif
