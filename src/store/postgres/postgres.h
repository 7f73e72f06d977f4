/*
 * The postgres engine: one database as a store, over libpq in pipeline mode, one round trip per call.
 * docs/formats/postgres.md has the tables and statements.
 *
 * A call becomes a job. A job takes a slot of the pool, with or without a connection:
 *
 *     start ─► QUEUED ──(gets a slot)─────────────► CONNECTING ─► SETTING_UP ─► RUNNING ─► done
 *                 └──────────(its connection is alive)───────────────────────►──┘
 *
 *   QUEUED      all slots are taken; the job waits in a queue, at its own eventfd
 *   CONNECTING  PQconnectPoll; nothing was sent that can take effect
 *   SETTING_UP  waits for the answers to the session's settings
 *   RUNNING     libpq has the call's statements; the answers are collected until the last sync
 *   HELD        the server stopped a little before the deadline; the answer waits until the deadline
 *
 * A slot belongs to one job at a time, and only that job's thread touches the slot. The pool's mutex guards
 * the lists of the pool. It is held for a few instructions, never while sending or waiting.
 */
#ifndef TS_STORE_POSTGRES_POSTGRES_H
#define TS_STORE_POSTGRES_POSTGRES_H

#include "store/contract/engine.h"
#include "store/contract/url.h"
#include "turnstone/cluster.h"

#include <libpq-fe.h>
#include <pthread.h>
#include <stdatomic.h>

enum { POSTGRES_CONNECTIONS_DEFAULT = 32, POSTGRES_CONNECT_TIMEOUT_MS_DEFAULT = 10000 };

/*
 * Makes a store over the database that the URL names. The store connects at its first call. Options with
 * value 0 get the values of POSTGRES_CONNECTIONS_DEFAULT and POSTGRES_CONNECT_TIMEOUT_MS_DEFAULT.
 */
enum ts_store_result store__postgres_open(const struct store_url *url, const struct ts_store_options *options,
                                          struct ts_store **ret_store, struct ts_store_error *ret_error);

/* The declarations below are for the files of the engine. */

/* Statements that a session prepares when it first needs each of them. X(SUFFIX) */
#define POSTGRES_STATEMENTS(X)                                                                               \
    X(BEGIN)                                                                                                 \
    X(CLAIM)                                                                                                 \
    X(UNUSED)                                                                                                \
    X(APPLY)                                                                                                 \
    X(PUTS)                                                                                                  \
    X(SWEEP)                                                                                                 \
    X(GUARD)                                                                                                 \
    X(FIRST_PUT)                                                                                             \
    X(FIRST_CHECK)                                                                                           \
    X(PUT) X(MAKE) X(CHANGE) X(CHECK) X(LATE) X(READ) X(SCAN) X(SCAN_TO_END) X(PREPARED) X(NOW) X(LAG)

#define POSTGRES_STATEMENT_ENUM(suffix) POSTGRES_##suffix,
enum postgres_statement { POSTGRES_STATEMENTS(POSTGRES_STATEMENT_ENUM) POSTGRES_STATEMENT_COUNT };
#undef POSTGRES_STATEMENT_ENUM

struct postgres_statement_text {
    const char *name;
    const char *sql;
    const char *unqueued_sql; /* like `sql`, without advisory locks; NULL when `sql` uses none */
    const Oid *types;
    int type_count;
};
const struct postgres_statement_text *postgres__statement(enum postgres_statement statement);

/* Statements that create the schema and its tables; each is sent separately. NULL ends the list. */
extern const char *const postgres__schema[];

/* The kinds of items in a pipeline. Each answer of the server belongs to one item, in the order of
 * sending. */
enum postgres_item {
    POSTGRES_ITEM_SETTING,  /* a setting of the session; errors are ignored */
    POSTGRES_ITEM_PLACE,    /* asks for the number of the database */
    POSTGRES_ITEM_TIMELINE, /* asks for the timeline of the server; errors are ignored */
    POSTGRES_ITEM_PARSE,    /* prepares a statement */
    POSTGRES_ITEM_DRAWN,    /* the first statement of a small batch: the row has the drawn version */
    POSTGRES_ITEM_MINOR,    /* part of the call; its answer is ignored */
    POSTGRES_ITEM_MAIN,     /* the statement of the call; if there are several, the last one */
    POSTGRES_ITEM_LAST,     /* the statement that commits or prepares: PREPARE TRANSACTION, COMMIT */
    POSTGRES_ITEM_SYNC,
};

enum { POSTGRES_ITEMS_MAX = 56, POSTGRES_PREFIX_SIZE = 32, POSTGRES_IDENTITY_LEN = 24 };

struct postgres_sent {
    enum postgres_item item;
    enum postgres_statement statement; /* the statement of PARSE or of a prepared statement */
    size_t entry;                      /* number of the item's key in the batch, from 1; 0: no single key */
};

struct postgres_slot {
    struct postgres_slot *next; /* the next free slot, if this one is free */
    PGconn *conn;               /* NULL: no connection yet, or the connection is lost */
    PostgresPollingStatusType polling;
    uint64_t connect_until_ns;
    bool is_set_up;
    uint64_t timeline;    /* timeline of the session's server; 0: unknown */
    bool is_unreplicated; /* the server has answered without its synchronous standby */
    bool is_unqueued;     /* the session's prepared statements take no advisory locks */
    bool in_block;        /* an explicit transaction is open, or failed; it must be ended */
    bool is_parsed[POSTGRES_STATEMENT_COUNT];
    bool is_parsing[POSTGRES_STATEMENT_COUNT]; /* the statement's preparation was sent, but not answered */
    uint64_t statement_timeout_ms;             /* statement_timeout of the session; UINT64_MAX: unknown */
    uint64_t lock_timeout_ms;                  /* lock_timeout of the session; 0: the server's default */
    char prefix[POSTGRES_PREFIX_SIZE];         /* prefix of the names of promises in this database */

    struct postgres_sent items[POSTGRES_ITEMS_MAX];
    size_t item_count;
    size_t item_at;
    bool item_answered; /* the current item has its result, but its end was not received yet */
    bool is_flushed;    /* everything that was sent has left this process */
};

enum postgres_phase {
    POSTGRES_QUEUED,
    POSTGRES_CONNECTING,
    POSTGRES_SETTING_UP,
    POSTGRES_RUNNING,
    POSTGRES_HELD,
};

struct postgres_job;

/* A kind of job: the statements to send, and how to handle the answers. */
struct postgres_work {
    /* Sends all statements of the job, including the last sync. When nothing can be sent, sets the job's
     * error and returns false. */
    bool (*send)(struct postgres_job *job);
    /* Handles one successful answer to MAIN or LAST; may set the job's error. */
    void (*take)(struct postgres_job *job, enum postgres_item item, PGresult *result);
};

struct postgres_job {
    struct postgres_store *store;
    struct ts_call *call; /* NULL for jobs that read or write meta */
    const struct postgres_work *work;
    void *context; /* state of the work, for jobs that read or write meta */
    uint64_t deadline_ns;
    enum postgres_phase phase;
    struct postgres_slot *slot;
    struct postgres_job *queued_next;
    int wake_fd; /* descriptor that wakes a queued job; -1 if the job was not queued */
    unsigned attempts;
    size_t refusals; /* number of hosts that are old primaries, or refuse the connection */
    uint64_t sent_ns;

    bool can_take_effect; /* the sent statements change something on the server */
    bool main_done;       /* MAIN has succeeded */
    bool last_done;       /* LAST has succeeded */
    bool again;           /* run the job again: for example, an insert met a row that was just committed */
    bool must_look;       /* the promise's name may be in use already: search for it */
    bool done;
    struct ts_store_error error;
};

struct postgres_store {
    struct ts_store base;
    struct store_url url;
    size_t connections_max;
    uint64_t connect_timeout_ms;
    _Atomic uint64_t latest_ms; /* the latest time that this process has seen */
    atomic_bool is_unqueued;    /* the server has no advisory locks */
    /* The highest known timeline; 0: unknown. Servers on a lower timeline are old primaries. */
    _Atomic uint64_t timeline;
    atomic_size_t first_host; /* number of the host to try first, modulo the number of hosts */

    pthread_mutex_t lock; /* guards the fields below */
    struct postgres_slot *free_slots;
    struct postgres_slot *slots;
    size_t slot_count;
    struct postgres_job *queue_first;
    struct postgres_job *queue_last;
    bool has_expected;
    struct ts_meta expected;
};

/* postgres_pool.c */

/* Gives the job a slot, or queues the job. Returns false, with job->error, if the job can do neither. */
bool postgres__pool_take(struct postgres_job *job);
/* Gives the slot to the first job in the queue, or returns it to the pool. */
void postgres__pool_give_back(struct postgres_job *job);
/* Returns true if the queued job has received a slot. */
bool postgres__pool_was_served(struct postgres_job *job);
/* Removes the job from the queue. If the job has received a slot meanwhile, returns the slot. */
void postgres__pool_leave(struct postgres_job *job);

/* postgres_connection.c */

/* Closes the connection. The server continues the current statement until its timeouts end it. */
void postgres__connection_drop(struct postgres_slot *slot);
/* Returns true if the slot has a connection that the server has not closed. */
bool postgres__connection_is_alive(struct postgres_slot *slot);
bool postgres__connection_begin(struct postgres_job *job);
/* After a host has failed, makes the next connection begin with the host after it. */
void postgres__connection_next_host(struct postgres_store *store);
/* Call it when the session is set up. Returns true if the server is an old primary: a standby has taken its
 * place. */
bool postgres__connection_is_outdated(struct postgres_job *job);
/* Continues to connect as far as possible without waiting. Returns true when connected. Returns false if the
 * connection is not ready yet, or on failure, which sets job->done. */
bool postgres__connection_connect(struct postgres_job *job);
/* Queues one statement without parameters, and the item that its answer belongs to. Returns false when libpq
 * refuses. */
bool postgres__connection_send(struct postgres_slot *slot, enum postgres_item item, const char *sql);
/* Queues a prepared statement; first queues its preparation if the session does not have the statement
 * yet. */
struct postgres_parameters {
    const char *const *values;
    const int *lengths;
    int count;
    size_t entry; /* as in struct postgres_sent: number of the key, from 1, or 0 */
};
bool postgres__connection_execute(struct postgres_job *job, enum postgres_item item,
                                  enum postgres_statement statement, struct postgres_parameters parameters);
bool postgres__connection_sync(struct postgres_slot *slot);
/* Prepares the session for a job's own statements: ends a failed transaction, and sets the server's
 * timeouts. */
bool postgres__connection_open_job(struct postgres_job *job);
bool postgres__connection_send_settings(struct postgres_job *job);
/* Sends and receives as far as possible without waiting. Returns true when the last answer was received, or
 * when job->done is set. */
bool postgres__connection_exchange(struct postgres_job *job);
struct pollfd postgres__connection_wait_for(const struct postgres_job *job);

/* postgres_batch.c */

/* One key of a batch, with its operations. */
struct postgres_entry {
    const struct ts_op *check; /* the check of the key, or NULL */
    const struct ts_op *write; /* the write of the key, or NULL */
};
struct ts_bytes postgres__entry_key(const struct postgres_entry *entry);
/* Returns the version that the entry expects; -1: any version. Versions are from a sequence of 63 bits, so
 * every version fits. */
int64_t postgres__entry_want(const struct postgres_entry *entry);
/* Returns the number of the advisory lock that serves as the queue of the key. */
int64_t postgres__entry_queue(const struct postgres_entry *entry);

/*
 * A batch of at most this many keys and bytes, with only checks and puts, is sent as a statement for each
 * key. All statements of such a batch fit into the 8 KiB that libpq collects before it sends. So they reach
 * the server together: a client that is stopped while it sends holds no locks.
 */
enum { POSTGRES_FEW_MAX = 8, POSTGRES_FEW_BYTES_MAX = 4096 };
/* Sets the entries of such a batch, in the order of the keys. Returns their number, or 0 for any other
 * batch. */
size_t postgres__batch_few(const struct ts_batch *batch,
                           struct postgres_entry ret_entries[static POSTGRES_FEW_MAX]);

/* The operations of a batch, one entry for each key, in the order of the keys, as arrays of PostgreSQL. */
struct postgres_batch {
    uint8_t *memory;
    bool is_puts;              /* the batch has only puts */
    struct ts_bytes arrays[7]; /* keys, checks, kinds, values, deltas, limits, queues */
    struct ts_bytes swept;     /* the keys of all deletions, or empty */
};
/* Returns the earliest deadline (BEFORE) of the batch; UINT64_MAX: no deadline. */
uint64_t postgres__batch_before_ms(const struct ts_batch *batch);
/* Encodes the batch. Returns false when memory runs out. */
bool postgres__batch_encode(const struct ts_batch *batch, struct postgres_batch *ret_batch);
void postgres__batch_release(struct postgres_batch *batch);
/* Encodes a list of keys as one array; the caller frees *ret_memory. Returns false when memory runs out. */
bool postgres__keys_encode(const struct ts_bytes *keys, size_t count, uint8_t **ret_memory,
                           struct ts_bytes *ret);
/* Returns the index of an operation in the batch: the check of the nth entry (is_check), or its write. n counts
 * from 1. Returns SIZE_MAX if there is no such entry. */
size_t postgres__batch_op_of(const struct ts_batch *batch, uint64_t n, bool is_check);

/* postgres_call.c */
extern const struct postgres_work postgres__call_work;

/* postgres_error.c */

/* Interprets an error answer of the server; sets job->error, or job->again. */
void postgres__error_of_result(struct postgres_job *job, enum postgres_item item, PGresult *result);
/* Reports a lost connection, with libpq's text. */
void postgres__error_of_lost_connection(struct postgres_job *job);
/* Reports that no connection could be made. */
void postgres__error_of_connect(struct postgres_job *job);
/* Reports that every host is an old primary. */
void postgres__error_of_timeline(struct postgres_job *job);
/* Reports that the server has committed, but its standby may not have the commit. */
void postgres__error_of_replication(struct postgres_job *job);
/* Reports that the deadline has passed. */
void postgres__error_of_deadline(struct postgres_job *job);

/* postgres_meta.c */

/* Encodes the part of the meta record that statements compare: the cluster, the place and the number of
 * stores. */
void postgres__identity(const struct ts_meta *meta, uint8_t ret_identity[static POSTGRES_IDENTITY_LEN]);
enum ts_store_result postgres__meta_read(struct ts_store *base, uint64_t deadline_ns,
                                         struct ts_meta *ret_meta, struct ts_store_error *ret_error);
enum ts_store_result postgres__identify(struct ts_store *base, uint64_t deadline_ns,
                                        char ret_text[static STORE_IDENTITY_SIZE],
                                        struct ts_store_error *ret_error);
enum ts_store_result postgres__meta_write(struct ts_store *base, uint64_t deadline_ns,
                                          const struct ts_meta *meta, struct ts_store_error *ret_error);

/* postgres.c */

/* These functions begin a job, continue it, and end it at its deadline. Each of them sets job->done when the
 * job has ended. */
void postgres__job_start(struct postgres_job *job);
void postgres__job_step(struct postgres_job *job);
void postgres__job_expire(struct postgres_job *job);
struct pollfd postgres__job_wait_for(const struct postgres_job *job);
/* Remembers the timeline if it is the highest so far. */
void postgres__timeline_seen(struct postgres_store *store, uint64_t timeline);
/* Remembers the time if it is the latest so far. Returns the latest time so far. */
uint64_t postgres__time_seen(struct postgres_store *store, uint64_t time_ms);

#endif
