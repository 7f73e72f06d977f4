/*
 * A store: one transactional database as an ordered space of keys with versions.
 *
 * A store never holds an interactive transaction open. A batch changes the store, as a whole or not at all. A
 * promise is a batch that was checked and stored under a name: it holds its locks, can no longer fail, and
 * waits to be committed or aborted.
 *
 * Calls are started and then polled, so that one thread can drive several stores; an engine may finish a call
 * at once. Any number of threads may use a store at the same time. A call belongs to the thread that started
 * it until it is done. Waiting for a lock or a server ends at the call's deadline. A local disk write cannot
 * be interrupted.
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

/* Limits, the same on every engine. The bytes of a batch are those of its keys and values together. Records
 * that this library adds to a batch do not count. */
#define TS_STORE_KEY_MAX          1024
#define TS_STORE_VALUE_MAX        ((size_t)16 << 20)
#define TS_STORE_BATCH_OPS_MAX    100000
#define TS_STORE_BATCH_BYTES_MAX  ((size_t)64 << 20)
#define TS_STORE_GID_MAX          160

/* Limit of the keys and values that one READ or SCAN returns. */
#define TS_STORE_ANSWER_BYTES_MAX ((size_t)64 << 20)

/* clang-format off: it would join the lines of the list. */
/*
 * The operations of a batch. A key is checked at most once and written (put, del, add) at most once in a
 * batch; a batch that breaks this is bad. Keys have 1 to TS_STORE_KEY_MAX bytes of any value. A batch without
 * operations succeeds.
 *
 *   CHECK   Fails with CHECK_FAILED unless the key's version is `version`. Holds a shared lock until the batch or
 *           promise ends. Version 0 is "absent", and is allowed only together with a PUT of the same key: an insert,
 *           which waits for a promise that creates the key. If the key is absent, a CHECK of another version may
 *           fail without waiting.
 *   BEFORE  Fails with LATE unless the store's time, read under the locks, is below `time_ms`. Has no key.
 *   PUT     The key's value becomes `value`.
 *   DEL     Deletes the key; not an error if it is absent.
 *   ADD     The key's value, a decimal number of 0 to INT64_MAX as text (absent counts as 0), changes by `delta`.
 *           Fails with LIMIT when the result is below 0 or above `max`, and with NOT_A_COUNTER when the value is
 *           something else.
 *
 * Every write gives the key a new version. The only guarantee is that the key never had this version before:
 * versions come from one counter per store, so this also holds for a key that was deleted and created again.
 */
/* clang-format on */
enum ts_op_kind { TS_OP_CHECK, TS_OP_BEFORE, TS_OP_PUT, TS_OP_DEL, TS_OP_ADD };

struct ts_op {
    enum ts_op_kind kind;
    struct ts_bytes key;
    struct ts_bytes value; /* value of a PUT */
    uint64_t version;      /* version of a CHECK */
    uint64_t time_ms;      /* time of a BEFORE */
    int64_t delta;         /* change by an ADD */
    uint64_t max;          /* maximum of an ADD; at most INT64_MAX */
};

struct ts_batch {
    const struct ts_op *ops;
    size_t count;
};

/* The side that caused a result, and that can therefore change it. */
enum ts_store_fault {
    TS_STORE_FAULT_NONE,
    TS_STORE_FAULT_STATE,   /* the store's contents or concurrent calls prevent the call */
    TS_STORE_FAULT_CALLER,  /* the call itself is wrong */
    TS_STORE_FAULT_LOAD,    /* the store has too much to do */
    TS_STORE_FAULT_SETUP,   /* the store answers, but its operator must set it up for this call */
    TS_STORE_FAULT_STORE,   /* the store is unreachable or failing */
    TS_STORE_FAULT_UNKNOWN, /* the reply was lost */
};

/* Says whether trying again makes sense. */
enum ts_store_retry {
    TS_STORE_RETRY_NONE,  /* trying again does not help */
    TS_STORE_RETRY_READ,  /* before the next try, read and decide again */
    TS_STORE_RETRY_SAME,  /* try the same batch again */
    TS_STORE_RETRY_LATER, /* try the same batch again, but later: the store may need a long time */
};

/*
 * How a call ended. X(SUFFIX, text, SQLSTATE (used if the database gave none), fault, retry). UNKNOWN is the
 * only failure that may have changed something. Callers base their decisions on these columns.
 */
#define TS_STORE_RESULTS(X)                                                                                  \
    X(OK, "ok", "00000", NONE, NONE)                                                                         \
    X(CHECK_FAILED, "check failed", "40001", STATE, READ)                                                    \
    X(LATE, "late", "40001", STATE, READ)                                                                    \
    X(LIMIT, "limit", "54000", STATE, NONE)                                                                  \
    X(NOT_A_COUNTER, "not a counter", "22P02", STATE, NONE)                                                  \
    X(LOCK_CONFLICT, "lock conflict", "40001", STATE, SAME)                                                  \
    X(BUSY, "busy", "53300", LOAD, SAME)                                                                     \
    X(UNAVAILABLE, "unavailable", "08001", STORE, SAME)                                                      \
    /* the deadline passed before the store was asked or while it waited for a lock */                       \
    X(TIMED_OUT, "timed out", "57014", LOAD, LATER)                                                          \
    /* the store may or may not have carried out the call */                                                 \
    X(UNKNOWN, "unknown", "08006", UNKNOWN, READ)                                                            \
    /* commit and abort: the promise is finished, or was never made */                                       \
    X(NO_SUCH_PROMISE, "no such promise", "42704", STATE, NONE)                                              \
    /* prepare: a promise of this name already exists */                                                     \
    X(PROMISE_EXISTS, "promise exists", "42710", STATE, NONE)                                                \
    X(BAD_BATCH, "bad batch", "22023", CALLER, NONE)                                                         \
    X(TOO_LARGE, "too large", "54000", CALLER, NONE)                                                         \
    X(FULL, "disk full", "53100", STORE, NONE)                                                               \
    X(FOREIGN, "wrong cluster, place or epoch", "58000", SETUP, NONE)                                        \
    X(CLOSING, "closing: no new promises", "58000", SETUP, LATER)                                            \
    X(BAD_USAGE, "bad usage", "F0000", CALLER, NONE)                                                         \
    X(BAD_CONFIGURATION, "bad configuration", "F0000", SETUP, NONE)                                          \
    X(DAMAGED, "damaged", "XX001", STORE, NONE)                                                              \
    /* the database's own SQLSTATE says more */                                                              \
    X(FAILED, "failed", "XX000", STORE, NONE)

#define TS_STORE_RESULT_ENUM(suffix, text, sqlstate, fault, retry) TS_STORE_##suffix,
enum ts_store_result { TS_STORE_RESULTS(TS_STORE_RESULT_ENUM) };
#undef TS_STORE_RESULT_ENUM

/* The row of a result in TS_STORE_RESULTS. */
struct ts_store_meaning {
    const char *text;
    char sqlstate[6];
    enum ts_store_fault fault;
    enum ts_store_retry retry;
};

static inline const struct ts_store_meaning *ts_store_result_meaning(enum ts_store_result result) {
#define TS_STORE_RESULT_ROW(suffix, text, sqlstate, fault, retry)                                            \
    {text, sqlstate, TS_STORE_FAULT_##fault, TS_STORE_RETRY_##retry},
    static const struct ts_store_meaning rows[] = {TS_STORE_RESULTS(TS_STORE_RESULT_ROW)};
#undef TS_STORE_RESULT_ROW
    return &rows[result];
}

/* The error of a failed call. Never contains a password, a key or a value. */
struct ts_store_error {
    enum ts_store_result result;
    char sqlstate[6]; /* from the database, or from the table of results; "00000" on success */
    size_t op;        /* index of the operation whose key or time caused the failure, or SIZE_MAX */
    bool down;        /* UNAVAILABLE: no connection could be made, so every other call would fail as well */
    bool in_use;      /* BAD_CONFIGURATION: another process has the directory open */
    char text[240];   /* one line: what is wrong, why, and how to fix it */
};

/* The columns of TS_STORE_RESULTS as functions, for callers that cannot use the inline function above. */
TS_API const char *ts_store_result_text(enum ts_store_result result);
TS_API const char *ts_store_result_sqlstate(enum ts_store_result result);

/* Rows that reads and scans found, in order. struct ts_rows owns the memory of its rows. Initialise it with
 * zeros before use; it may be reused; release it at the end. */
struct ts_row {
    struct ts_bytes key;
    struct ts_bytes value;
    uint64_t version; /* read: 0 means absent. Promises: the store's time in ms at PREPARE */
};

struct ts_rows {
    struct ts_row *rows;
    size_t count;
    bool more; /* scan: the limit of rows or bytes was reached, and there may be more rows */
    struct ts_rows_memory *memory;
    size_t capacity;
};

TS_API void ts_rows_clear(struct ts_rows *rows);
TS_API void ts_rows_release(struct ts_rows *rows);

/* clang-format off: it would join the lines of the list. */
/*
 * Calls.
 *
 *   READ      One row for each of `keys`, in their order, from one snapshot; an absent key has version 0.
 *             TOO_LARGE when the values together exceed TS_STORE_ANSWER_BYTES_MAX.
 *   SCAN      Rows with from <= key < to (an empty `to` is the end), ordered, at most `limit` (0: no rows at
 *             all), from one snapshot. Ends early, with `more`, before the bytes of its rows exceed
 *             TS_STORE_ANSWER_BYTES_MAX.
 *   APPLY     Applies all of the batch or nothing; durable when the call is OK.
 *   PREPARE   Stores the batch as a promise named `gid`; durable when the call is OK. The checks, BEFORE and
 *             additions of the batch are then done, so that nothing of it can fail any more.
 *   COMMIT    Finishes the promise `gid` by applying its batch; durable with the next SYNC or durable call.
 *   ABORT     Finishes the promise `gid` by dropping its batch; durable like a COMMIT.
 *   PREPARED  The promises that are not finished, ordered by gid: key is the gid, version the store's time at
 *             PREPARE, the value is empty.
 *   NOW       The store's time: the only clock that decides about leases. Never goes back for one process.
 *   SYNC      Makes everything durable that succeeded before this call.
 *   LAG       By how many ms the slowest connected standby is late in replaying this store's writes. 0 if the
 *             engine has no standbys, if none is connected, or if all have replayed everything.
 *             BAD_CONFIGURATION when the server does not let this role see the standbys.
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
 * One call. The caller fills in the first part, which must stay in place until the call is done, starts the
 * call, and reads the second part when `done` is true. A call struct may be reused. The rest belongs to the
 * engine.
 */
struct ts_call {
    enum ts_call_kind kind;
    struct ts_batch batch;       /* for APPLY, PREPARE */
    const char *gid;             /* for PREPARE, COMMIT, ABORT */
    const struct ts_bytes *keys; /* for READ */
    size_t key_count;
    struct ts_bytes from; /* for SCAN */
    struct ts_bytes to;
    size_t limit;
    struct ts_rows *rows; /* for READ, SCAN, PREPARED: receives the answer; cleared first */
    uint64_t deadline_ns; /* a time of ts_clock_monotonic_ns; 0: no deadline */
    /* APPLY, PREPARE: how long to wait for one lock before the call ends with LOCK_CONFLICT.
     * 0: until the deadline, which ends the call with TIMED_OUT. */
    uint64_t lock_wait_max_us;

    bool done;
    struct ts_store_error error;
    /* APPLY: the version of every key that a PUT or ADD of the batch wrote; 0 when none did */
    uint64_t version;
    uint64_t time_ms;      /* result of NOW; also the store's time at the end of READ, SCAN and PREPARED */
    uint64_t lag_ms;       /* result of LAG */
    uint64_t lock_wait_us; /* time spent waiting for locks; 0 on PostgreSQL, which does not report it */
    uint64_t stall_us;     /* time spent in write stalls, if the engine reports it */

    struct ts_store *store;
    void *engine_state;
    uint64_t engine_words[6];
    uint64_t poll_by_ns; /* poll the call by this time in any case; 0: no limit */
};

/* Starts a call. The call may already be done on return. */
TS_API void ts_store_start(struct ts_store *store, struct ts_call *call);

/* Lets a call make progress without waiting, and ends it when its deadline has passed. Returns call->done. */
TS_API bool ts_store_poll(struct ts_call *call);

/*
 * Waits until one of the unfinished calls can make progress or has reached its deadline, or until the given
 * time (0: no limit). Ignores NULLs and finished calls; returns at once when all calls are finished.
 */
TS_API void ts_store_wait(struct ts_call *const *calls, size_t count, uint64_t until_ns);

/*
 * Ends an unfinished call as if its deadline had passed: TIMED_OUT when nothing was changed, UNKNOWN when the
 * store may have carried out the call, or may still carry it out.
 */
TS_API void ts_store_cancel(struct ts_call *call);

/* Starts a call and waits until it is done. Returns call->error.result. */
TS_API enum ts_store_result ts_store_run(struct ts_store *store, struct ts_call *call);

/* Returns the store's URL without a password, for messages. */
TS_API const char *ts_store_name(const struct ts_store *store);

#ifdef __cplusplus
}
#endif

#endif
