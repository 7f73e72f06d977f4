/*
 * The core that memory and rocksdb share: locks, versions, promises and time over a backend.
 *
 * Order of locks: locks on keys and gids (locks.h), then `gate`, then `mutex`, then what the backend has of
 * its own. Nobody waits for keys or gids while holding one of the others.
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
    struct store__locks *gids; /* who prepares, commits or aborts a gid is alone with it */

    /* Shared while a batch is looked at and written, so that whoever changes meta has no writer beside it
     * that saw the old one. */
    pthread_rwlock_t gate;
    struct ts_meta meta;

    pthread_mutex_t mutex; /* guards what follows */
    struct store__promises promises;
    uint64_t next_version;
    uint64_t version_bound; /* written down: at most this was given out */
    uint64_t last_ms;
    uint64_t kept_ms;          /* written down: it was this late before */
    uint64_t fixed_ms;         /* the time, when it stands still; 0: it does not */
    struct local__call *calls; /* that wait for a lock */
};

/* A struct ts_store over it. There may be several: then they share locks and promises as clients of one
 * server do. */
struct store__local_store {
    struct ts_store head;
    struct store__local *local;
    bool expects;
    struct ts_meta expected;
    void (*on_close)(void *owner);
    void *owner;
};

/*
 * Takes the backend over, also on failure, and reads meta, version and promises from it, whose locks are
 * taken again before anybody else can ask for them.
 */
enum ts_store_result store__local_new(struct store__backend *backend, const struct ts_store_clock *clock,
                                      const char *name, struct store__local **ret_local,
                                      struct ts_store_error *ret_error);
void store__local_free(struct store__local *local);

/* Writes down how late it is, so that the next process does not begin earlier; when that fails, it may. */
void store__local_keep_time(struct store__local *local);

/* Lets the time stand still at this, in this process. BAD_USAGE when the store has seen a later one. Before
 * anybody else uses it. It lasts, for the processes that follow, once something was written at it. */
enum ts_store_result store__local_fix_time(struct store__local *local, uint64_t now_ms,
                                           struct ts_store_error *ret_error);

/*
 * As if the process had ended and come back, without closing the backend: calls that wait end as UNAVAILABLE,
 * and everything is read again. No other thread is in a call. What had been read before stays only when
 * reading fails.
 */
enum ts_store_result store__local_restart(struct store__local *local, struct ts_store_error *ret_error);

/* on_close, when it is there, is called with owner after the store was closed. NULL when there is no memory.
 */
struct ts_store *store__local_store_new(struct store__local *local, void (*on_close)(void *owner),
                                        void *owner);

/* For local_batch.c: the rest is the core's own. */

/* APPLY, PREPARE, COMMIT and ABORT. */
void local__batch_start(struct store__local_store *store, struct ts_call *call);
void local__batch_step(struct store__local_store *store, struct ts_call *call);
void local__batch_expire(struct store__local_store *store, struct ts_call *call);
struct pollfd local__batch_wait_for(struct store__local_store *store, struct ts_call *call);
/* Ends every call that waits. */
void local__batch_drop_all(struct store__local *local);

/* The store's time: never less than what was told before. */
uint64_t local__now_ms(struct store__local *local);

/* Writes a time that stands still down, before the first batch that is written at it. */
enum ts_store_result local__keep_fixed_time(struct store__local *local, struct ts_store_error *ret_error);

/* Whether this store may be used as the handle expects. The gate is held. */
enum ts_store_result local__allowed(const struct store__local_store *store, enum ts_call_kind kind,
                                    struct ts_store_error *ret_error);

/* What the store remembers (engine.h). */
enum ts_store_result local__past_read(struct ts_store *head, struct store__past *ret_past,
                                      struct ts_store_error *ret_error);
enum ts_store_result local__past_write(struct ts_store *head, const struct store__past *past, bool sync,
                                       struct ts_store_error *ret_error);

enum ts_store_result local__damaged(const struct store__local *local, const char *what, size_t op,
                                    struct ts_store_error *ret_error);
enum ts_store_result local__no_memory(const struct store__local *local, struct ts_store_error *ret_error);

#endif
