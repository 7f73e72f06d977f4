/*
 * A store: one transactional database as an ordered space of keys with versions.
 *
 * A store never holds an interactive transaction open. What changes it is a batch, which is applied as a
 * whole or not at all, or a promise, a batch that was checked and written down under a name, holds its locks,
 * can no longer fail, and waits to be committed or aborted.
 *
 * Calls are started and then polled, so that one thread can drive several stores; an engine may finish a call
 * at once. A store may be used by any number of threads at the same time; a call belongs to the thread that
 * started it until it is done. Waiting for a lock or a server ends at the call's deadline; a local disk write
 * cannot be interrupted and is waited for.
 */
#ifndef TURNSTONE_STORE_H
#define TURNSTONE_STORE_H

#include "turnstone/api.h"
#include "turnstone/bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Limits, the same on every engine. A batch's bytes are those of its keys and values together. What this library adds
 * to a batch for its own records does not count. */
#define TS_STORE_KEY_MAX          1024
#define TS_STORE_VALUE_MAX        ((size_t)16 << 20)
#define TS_STORE_BATCH_OPS_MAX    100000
#define TS_STORE_BATCH_BYTES_MAX  ((size_t)64 << 20)
#define TS_STORE_GID_MAX          160

/* Keys and values that one READ or SCAN gives back. */
#define TS_STORE_ANSWER_BYTES_MAX ((size_t)64 << 20)

/* clang-format off: it would run the list together. */
/*
 * What a batch is made of. A key is checked at most once and written (put, del, add) at most once in a batch;
 * a batch that breaks this is bad. Keys have 1 to TS_STORE_KEY_MAX bytes of any value. No operations at all
 * are a batch that succeeds.
 *
 *   CHECK   Fails with CHECK_FAILED unless the key's version is `version`. A shared lock until the batch or
 *           promise ends. Version 0 is "absent", and stands only together with a PUT of the same key: an insert,
 *           which waits for a promise that makes the key. Another version of an absent key may fail without waiting.
 *   BEFORE  Fails with LATE unless the store's time, taken under the locks, is below `time_ms`. Has no key.
 *   PUT     The key's value becomes `value`.
 *   DEL     The key is gone; no error when it is absent.
 *   ADD     The key's value, a decimal number of 0 to INT64_MAX as text (absent counts as 0), changes by `delta`.
 *           Fails with LIMIT when the result is below 0 or above `max`, and with NOT_A_COUNTER when the value is
 *           something else.
 *
 * Every write gives the key a new version, of which nothing is promised but that this key never had it
 * before: versions come from one counter per store, so that this holds for a key that was deleted and made
 * again, too.
 */
/* clang-format on */
enum ts_op_kind { TS_OP_CHECK, TS_OP_BEFORE, TS_OP_PUT, TS_OP_DEL, TS_OP_ADD };

struct ts_op {
    enum ts_op_kind kind;
    struct ts_bytes key;
    struct ts_bytes value; /* PUT */
    uint64_t version;      /* CHECK */
    uint64_t time_ms;      /* BEFORE */
    int64_t delta;         /* ADD */
    uint64_t max;          /* ADD; at most INT64_MAX */
};

struct ts_batch {
    const struct ts_op *ops;
    size_t count;
};

/*
 * How a call ended. X(SUFFIX, text). The comment says what is known and what a caller can do.
 */
#define TS_STORE_RESULTS(X)                                                                                  \
    X(OK, "ok")                                                                                              \
    /* nothing was changed; read again and decide anew */                                                    \
    X(CHECK_FAILED, "check failed")                                                                          \
    X(LATE, "late")                                                                                          \
    X(LIMIT, "limit")                                                                                        \
    X(NOT_A_COUNTER, "not a counter")                                                                        \
    /* nothing was changed; the same batch may be tried again */                                             \
    X(LOCK_CONFLICT, "lock conflict")                                                                        \
    X(BUSY, "busy")                                                                                          \
    X(UNAVAILABLE, "unavailable")                                                                            \
    /* nothing was changed, the deadline passed before the store was asked or while it waited for a lock */  \
    X(TIMED_OUT, "timed out")                                                                                \
    /* the store may or may not have done it */                                                              \
    X(UNKNOWN, "unknown")                                                                                    \
    /* commit and abort: it was finished before, or never was */                                             \
    X(NO_SUCH_PROMISE, "no such promise")                                                                    \
    /* prepare: a promise of this name is there already */                                                   \
    X(PROMISE_EXISTS, "promise exists")                                                                      \
    /* nothing was changed, and trying again would not help */                                               \
    X(BAD_BATCH, "bad batch")                                                                                \
    X(TOO_LARGE, "too large")                                                                                \
    X(FULL, "disk full")                                                                                     \
    X(FOREIGN, "of another cluster, place or epoch")                                                         \
    X(CLOSING, "closing: no new promises")                                                                   \
    X(BAD_USAGE, "bad usage")                                                                                \
    X(BAD_CONFIGURATION, "bad configuration")                                                                \
    X(DAMAGED, "damaged")                                                                                    \
    X(FAILED, "failed")

#define TS_STORE_RESULT_ENUM(suffix, text) TS_STORE_##suffix,
enum ts_store_result { TS_STORE_RESULTS(TS_STORE_RESULT_ENUM) };
#undef TS_STORE_RESULT_ENUM

/* What there is to say about a call that did not end well. Never has a password, a key or a value in it. */
struct ts_store_error {
    enum ts_store_result result;
    char sqlstate[6]; /* of the database, or the one that stands for the result; "00000" when all is well */
    size_t op;        /* index in the batch of the operation whose key or time caused it, or SIZE_MAX */
    char text[240];   /* one line: the thing, the reason and the cure */
};

/* The short text of a result, as in the table. */
TS_API const char *ts_store_result_text(enum ts_store_result result);

/* The SQLSTATE that stands for a result where no database has given one. */
TS_API const char *ts_store_result_sqlstate(enum ts_store_result result);

/* What reads and scans found: rows in order, in memory of their own. Zero-initialise it; reuse it; release
 * it. */
struct ts_row {
    struct ts_bytes key;
    struct ts_bytes value;
    uint64_t version; /* 0: absent (read). For promises: the store's time in ms when it was prepared */
};

struct ts_rows {
    struct ts_row *rows;
    size_t count;
    bool more; /* scan: the limit, in rows or bytes, was reached, and there may be more behind the last row */
    struct ts_rows_memory *memory;
    size_t capacity;
};

TS_API void ts_rows_clear(struct ts_rows *rows);
TS_API void ts_rows_release(struct ts_rows *rows);

/* clang-format off: it would run the list together. */
/*
 * Calls.
 *
 *   READ      One row for each of `keys`, in the order asked for, from one snapshot; an absent key has version 0.
 *             TOO_LARGE when the values together exceed TS_STORE_ANSWER_BYTES_MAX.
 *   SCAN      Rows with from <= key < to (an empty `to` is the end), ordered, at most `limit` (0: no rows are
 *             asked for), from one snapshot. Ends early, with `more`, before the bytes of its rows exceed
 *             TS_STORE_ANSWER_BYTES_MAX.
 *   APPLY     All of the batch or nothing; durable when it is OK.
 *   PREPARE   The batch as a promise named `gid`; durable when it is OK. Its checks were made, its BEFORE was
 *             looked at, its additions were reckoned: nothing of it can fail any more.
 *   COMMIT    Finishes the promise `gid` by applying its batch; durable with the next SYNC or durable call.
 *   ABORT     Finishes the promise `gid` by dropping its batch; durable likewise.
 *   PREPARED  The promises that are not finished, ordered by gid: key is the gid, version the store's time at
 *             PREPARE, the value empty.
 *   NOW       The store's time: the only clock that decides about leases. Never goes back for one process.
 *   SYNC      Everything that ended well before this call is durable.
 *   LAG       How far, in ms, the slowest standby that is connected is behind in replaying what this store has
 *             written: 0 on engines that have no standbys, without standbys, and when all have replayed
 *             everything. BAD_CONFIGURATION when the server does not let this role see its standbys.
 *
 * A gid has 1 to TS_STORE_GID_MAX printable ASCII characters.
 */
/* clang-format on */
enum ts_call_kind {
    TS_CALL_READ,
    TS_CALL_SCAN,
    TS_CALL_APPLY,
    TS_CALL_PREPARE,
    TS_CALL_COMMIT,
    TS_CALL_ABORT,
    TS_CALL_PREPARED,
    TS_CALL_NOW,
    TS_CALL_SYNC,
    TS_CALL_LAG,
};

struct ts_store;

/*
 * One call. The caller fills in the first part, which must stay in place until the call is done, starts it,
 * and reads the second part when `done` is true. A call struct may be used again. Everything else is the
 * engine's.
 */
struct ts_call {
    enum ts_call_kind kind;
    struct ts_batch batch;       /* APPLY, PREPARE */
    const char *gid;             /* PREPARE, COMMIT, ABORT */
    const struct ts_bytes *keys; /* READ */
    size_t key_count;
    struct ts_bytes from; /* SCAN */
    struct ts_bytes to;
    size_t limit;
    struct ts_rows *rows; /* READ, SCAN, PREPARED: where the answer goes; cleared first */
    uint64_t deadline_ns; /* by ts_clock_monotonic_ns; 0 is none */

    bool done;
    struct ts_store_error error;
    uint64_t version;      /* APPLY: of every key that it has put or added to; 0 when it wrote nothing */
    uint64_t time_ms;      /* NOW; also the store's time at the end of READ, SCAN and PREPARED */
    uint64_t lag_ms;       /* LAG */
    uint64_t lock_wait_us; /* time spent waiting for locks; 0 on postgres, which does not tell */
    uint64_t stall_us;     /* time spent in write stalls, where the engine can tell */

    struct ts_store *store;
    void *engine_state;
    uint64_t engine_words[6];
};

/* Starts a call. It may be done on return. */
TS_API void ts_store_start(struct ts_store *store, struct ts_call *call);

/* Lets a call make progress without waiting, and ends it when its deadline has passed. Returns call->done. */
TS_API bool ts_store_poll(struct ts_call *call);

/*
 * Waits until one of the calls that are not done can make progress or has reached its deadline, or until the
 * time (0: no time). NULLs and calls that are done are passed over; returns at once when there are no others.
 */
TS_API void ts_store_wait(struct ts_call *const *calls, size_t count, uint64_t until_ns);

/*
 * Ends a call that is not done, as if its deadline had passed: TIMED_OUT when nothing was changed, UNKNOWN
 * when it may have been or may still be.
 */
TS_API void ts_store_cancel(struct ts_call *call);

/* Starts a call and waits until it is done. Returns call->error.result. */
TS_API enum ts_store_result ts_store_run(struct ts_store *store, struct ts_call *call);

/* The URL without a password, for messages. */
TS_API const char *ts_store_name(const struct ts_store *store);

#ifdef __cplusplus
}
#endif

#endif
