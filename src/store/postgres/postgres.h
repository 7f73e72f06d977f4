/*
 * The postgres engine: one database as a store, over libpq in pipeline mode, one round trip per call.
 * docs/formats/postgres.md has the tables and statements.
 *
 * A call becomes a job. A job takes a slot of the pool, which holds a connection or none yet:
 *
 *     start ─► QUEUED ──(a slot is handed over)──► CONNECTING ─► SETTING_UP ─► RUNNING ─► done
 *                 └──────────(its connection is alive)───────────────────────►──┘
 *
 *   QUEUED      all slots are taken; the job waits in order, at an eventfd of its own
 *   CONNECTING  PQconnectPoll; nothing that can take effect was sent
 *   SETTING_UP  the settings of a session are on their way, and their answers
 *   RUNNING     the call's statements were handed to libpq; its answers are collected until the last sync
 *   HELD        the server gave up a little before the deadline; the answer is kept back until then
 *
 * A slot belongs to one job at a time and is touched by that job's thread only; the lists of the pool are
 * under its mutex, which is held for a few instructions and never while anything is sent or waited for.
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
 * A store over the database that the URL names. Does not connect: the first call does. Options that are 0
 * have the defaults above.
 */
enum ts_store_result store__postgres_open(const struct store_url *url, const struct ts_store_options *options,
                                          struct ts_store **ret_store, struct ts_store_error *ret_error);

/* The rest is for the files of the engine. */

/* Statements that a session prepares when it first needs them. X(SUFFIX) */
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
    const char *gateless_sql; /* for servers without advisory locks; NULL when sql takes none */
    const Oid *types;
    int type_count;
};
const struct postgres_statement_text *postgres__statement(enum postgres_statement statement);

/* Makes schema and tables; each is sent as a statement of its own. Ends with NULL. */
extern const char *const postgres__schema[];

/* What the answers of a pipeline belong to, in the order sent. */
enum postgres_item {
    POSTGRES_ITEM_SETTING, /* its errors are no matter */
    POSTGRES_ITEM_PLACE,   /* the row has the number of the database */
    POSTGRES_ITEM_PARSE,   /* prepares the statement */
    POSTGRES_ITEM_DRAWN,   /* the first statement of a small batch: the row has the version that it drew */
    POSTGRES_ITEM_MINOR,   /* part of the call, with an answer that says nothing */
    POSTGRES_ITEM_MAIN,    /* the statement of the call, or the last of them */
    POSTGRES_ITEM_LAST, /* what makes it take effect, where that has a statement: PREPARE TRANSACTION, COMMIT
                         */
    POSTGRES_ITEM_SYNC,
};

enum { POSTGRES_ITEMS_MAX = 56, POSTGRES_PREFIX_SIZE = 32, POSTGRES_IDENTITY_LEN = 24 };

struct postgres_sent {
    enum postgres_item item;
    enum postgres_statement statement; /* of PARSE, and of what was prepared */
    size_t entry;                      /* which key of a batch it is about, from 1; 0: none alone */
};

struct postgres_slot {
    struct postgres_slot *next; /* in the list of free ones */
    PGconn *conn;               /* NULL: none yet, or lost */
    PostgresPollingStatusType polling;
    uint64_t connect_until_ns;
    bool is_set_up;
    bool is_gateless; /* what it has prepared is without gates */
    bool in_block;    /* an explicit transaction that failed is still to be closed */
    bool is_parsed[POSTGRES_STATEMENT_COUNT];
    bool is_parsing[POSTGRES_STATEMENT_COUNT]; /* their preparation is on its way */
    uint64_t statement_timeout_ms;             /* as the session has it; UINT64_MAX when that is not known */
    uint64_t lock_timeout_ms;                  /* likewise; 0: the server's own */
    char prefix[POSTGRES_PREFIX_SIZE];         /* of the names of promises in this database */

    struct postgres_sent items[POSTGRES_ITEMS_MAX];
    size_t item_count;
    size_t item_at;
    bool item_answered; /* the item at hand has had its result; what follows is its end */
    bool is_flushed;    /* all that was sent has left this process */
};

enum postgres_phase {
    POSTGRES_QUEUED,
    POSTGRES_CONNECTING,
    POSTGRES_SETTING_UP,
    POSTGRES_RUNNING,
    POSTGRES_HELD,
};

struct postgres_job;

/* What a kind of job sends and makes of its answers. */
struct postgres_work {
    /* Sends everything, up to and with the last sync. False with the job's error when nothing can be sent. */
    bool (*send)(struct postgres_job *job);
    /* One good answer to MAIN or LAST; may set the job's error. */
    void (*take)(struct postgres_job *job, enum postgres_item item, PGresult *result);
};

struct postgres_job {
    struct postgres_store *store;
    struct ts_call *call; /* NULL for those of meta */
    const struct postgres_work *work;
    void *context; /* of meta */
    uint64_t deadline_ns;
    enum postgres_phase phase;
    struct postgres_slot *slot;
    struct postgres_job *queued_next;
    int wake_fd; /* -1 unless it was queued */
    unsigned attempts;
    uint64_t sent_ns;

    bool can_take_effect; /* what is sent changes something on the server */
    bool main_done;       /* MAIN has answered well */
    bool last_done;       /* LAST has */
    bool again;           /* the same again: an insert met one that had just been committed, for one */
    bool must_look;       /* the promise's name may be taken */
    bool done;
    struct ts_store_error error;
};

struct postgres_store {
    struct ts_store base;
    struct store_url url;
    size_t connections_max;
    uint64_t connect_timeout_ms;
    _Atomic uint64_t latest_ms; /* the latest time that this process has seen */
    atomic_bool is_gateless;    /* the server has no advisory locks */

    pthread_mutex_t lock; /* guards what follows */
    struct postgres_slot *free_slots;
    struct postgres_slot *slots;
    size_t slot_count;
    struct postgres_job *queue_first;
    struct postgres_job *queue_last;
    bool has_expected;
    struct ts_meta expected;
};

/* postgres_pool.c */

/* Gives the job a slot, or queues it. False when there is no way to wait (job->error). */
bool postgres__pool_take(struct postgres_job *job);
/* Gives the slot to the first job in the queue, or back to the pool. */
void postgres__pool_give_back(struct postgres_job *job);
/* Whether a queued job has been given a slot by now. */
bool postgres__pool_was_served(struct postgres_job *job);
/* Leaves the queue, or gives back what it was given meanwhile. */
void postgres__pool_leave(struct postgres_job *job);

/* postgres_connection.c */

/* Closes the connection; what it was doing goes on at the server for as long as its timeouts let it. */
void postgres__connection_drop(struct postgres_slot *slot);
/* Whether the slot has a connection that was not closed by the server meanwhile. */
bool postgres__connection_is_alive(struct postgres_slot *slot);
bool postgres__connection_begin(struct postgres_job *job);
/* Goes on as far as it can without waiting. True: connected; false: not yet, or job->done with an error. */
bool postgres__connection_connect(struct postgres_job *job);
/* Queues one statement without parameters and what its answer belongs to. False when libpq refuses. */
bool postgres__connection_send(struct postgres_slot *slot, enum postgres_item item, const char *sql);
/* Queues a prepared statement, prepared first where the session does not have it yet. */
struct postgres_parameters {
    const char *const *values;
    const int *lengths;
    int count;
    size_t entry; /* as in struct postgres_sent */
};
bool postgres__connection_execute(struct postgres_job *job, enum postgres_item item,
                                  enum postgres_statement statement, struct postgres_parameters parameters);
bool postgres__connection_sync(struct postgres_slot *slot);
/* Before a job's own statements: closes what failed before, and sets how long the server may take. */
bool postgres__connection_open_job(struct postgres_job *job);
bool postgres__connection_send_settings(struct postgres_job *job);
/* Sends and receives as far as it can without waiting. True when the last answer is in, or job->done. */
bool postgres__connection_exchange(struct postgres_job *job);
struct pollfd postgres__connection_wait_for(const struct postgres_job *job);

/* postgres_batch.c */

/* One key of a batch. */
struct postgres_entry {
    const struct ts_op *check; /* or NULL */
    const struct ts_op *write; /* or NULL */
};
struct ts_bytes postgres__entry_key(const struct postgres_entry *entry);
/* Versions come from a sequence of 63 bits; one beyond is no version that a key can have. -1: any. */
int64_t postgres__entry_want(const struct postgres_entry *entry);
/* The number for which everyone queues who wants the key. */
int64_t postgres__entry_gate(const struct postgres_entry *entry);

/* A batch of this many keys at most, with nothing but checks and puts, is sent as a statement for each key. */
enum { POSTGRES_FEW_MAX = 8 };
/* The entries of such a batch, in the order of the keys, and how many; 0 for any other batch. */
size_t postgres__batch_few(const struct ts_batch *batch,
                           struct postgres_entry ret_entries[static POSTGRES_FEW_MAX]);

/* The operations of a batch, one entry for each key, in the order of the keys, as arrays of PostgreSQL. */
struct postgres_batch {
    uint8_t *memory;
    bool is_puts;              /* nothing else */
    struct ts_bytes arrays[7]; /* keys, checks, kinds, values, deltas, limits, gates */
    struct ts_bytes swept;     /* the keys of all deletions, or empty */
};
/* The earliest time that the batch must be before, UINT64_MAX for none. */
uint64_t postgres__batch_before_ms(const struct ts_batch *batch);
/* False without memory. */
bool postgres__batch_encode(const struct ts_batch *batch, struct postgres_batch *ret_batch);
void postgres__batch_release(struct postgres_batch *batch);
/* A list of keys as one array; memory is the caller's to free. */
bool postgres__keys_encode(const struct ts_bytes *keys, size_t count, uint8_t **ret_memory,
                           struct ts_bytes *ret);
/* Which operation entry n, from 1, stands for: its check, or its write. SIZE_MAX when there is no such entry.
 */
size_t postgres__batch_op_of(const struct ts_batch *batch, uint64_t n, bool is_check);

/* postgres_call.c */
extern const struct postgres_work postgres__call_work;

/* postgres_error.c */

/* What an error answer of the server means; sets job->error, or job->again. */
void postgres__error_of_result(struct postgres_job *job, enum postgres_item item, PGresult *result);
/* The connection was lost, by the text that libpq gives. */
void postgres__error_of_lost_connection(struct postgres_job *job);
/* No connection could be made. */
void postgres__error_of_connect(struct postgres_job *job);
/* The deadline has passed. */
void postgres__error_of_deadline(struct postgres_job *job);

/* postgres_meta.c */

/* What statements compare of a store's identity: its cluster, its place and how many there are. */
void postgres__identity(const struct ts_meta *meta, uint8_t ret_identity[static POSTGRES_IDENTITY_LEN]);
enum ts_store_result postgres__meta_read(struct ts_store *base, uint64_t deadline_ns,
                                         struct ts_meta *ret_meta, struct ts_store_error *ret_error);
enum ts_store_result postgres__identify(struct ts_store *base, uint64_t deadline_ns,
                                        char ret_text[static STORE_IDENTITY_SIZE],
                                        struct ts_store_error *ret_error);
enum ts_store_result postgres__meta_write(struct ts_store *base, uint64_t deadline_ns,
                                          const struct ts_meta *meta, struct ts_store_error *ret_error);

/* postgres.c */

/* Begins a job, moves it on, ends it at its deadline. job->done tells. */
void postgres__job_start(struct postgres_job *job);
void postgres__job_step(struct postgres_job *job);
void postgres__job_expire(struct postgres_job *job);
struct pollfd postgres__job_wait_for(const struct postgres_job *job);
/* Keeps the latest time that was seen, and returns it. */
uint64_t postgres__time_seen(struct postgres_store *store, uint64_t time_ms);

#endif
