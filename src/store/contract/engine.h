/*
 * An engine: the table of functions behind every struct ts_store. Decorators are engines that hold another
 * store.
 */
#ifndef TS_STORE_CONTRACT_ENGINE_H
#define TS_STORE_CONTRACT_ENGINE_H

#include "store/contract/meta.h"
#include "turnstone/store.h"

#include <poll.h>

/*
 * The clock of a store: the real one, or that of a simulation, which must be safe for all threads that use
 * the store.
 */
struct ts_store_clock {
    uint64_t (*wall_ms)(void *context);      /* for NOW and BEFORE, on engines without a server */
    uint64_t (*monotonic_ns)(void *context); /* for deadlines */
    void *context;
};
extern const struct ts_store_clock store__real_clock;

enum { STORE_IDENTITY_SIZE = 96 };

#define STORE_NO_TIMELINE UINT64_MAX

struct store__past;

struct ts_engine {
    const char *name;

    /*
     * Begins a call whose arguments have been checked (limits, keys, duplicates: store.c does that for all
     * engines). Sets call->done and call->error when it is finished, here or in a later step. Never blocks on
     * locks or servers.
     */
    void (*start)(struct ts_store *store, struct ts_call *call);

    /* Makes progress without blocking on locks or servers. Called only while the call is not done. */
    void (*step)(struct ts_store *store, struct ts_call *call);

    /*
     * Ends the call now, because its deadline has passed. The engine sets the result: TIMED_OUT when nothing
     * can have happened (waiting for a lock, not sent yet), UNKNOWN when the store may have carried out the
     * call or may still do so.
     */
    void (*expire)(struct ts_store *store, struct ts_call *call);

    /*
     * The event to wait for before the next step; fd is -1 when a step is possible at once. May end the call
     * with an error when it cannot wait.
     */
    struct pollfd (*wait_for)(struct ts_store *store, struct ts_call *call);

    /*
     * The store's identity (meta.h). Both functions block until the deadline at most. Writing is atomic and
     * durable, and compares the version that was read (0: none). On postgres it also waits, for a limited
     * time, for writers that saw the old record.
     */
    enum ts_store_result (*meta_read)(struct ts_store *store, uint64_t deadline_ns, struct ts_meta *ret_meta,
                                      struct ts_store_error *ret_error);
    enum ts_store_result (*meta_write)(struct ts_store *store, uint64_t deadline_ns,
                                       const struct ts_meta *meta, struct ts_store_error *ret_error);

    /*
     * A text that identifies this store under all its names; empty if the store cannot provide one. NULL for
     * engines whose names are unique. Called before stores become a cluster: returns BAD_CONFIGURATION if
     * this store cannot be part of a cluster. Blocks until the deadline at most.
     */
    enum ts_store_result (*identify)(struct ts_store *store, uint64_t deadline_ns,
                                     char ret_text[static STORE_IDENTITY_SIZE],
                                     struct ts_store_error *ret_error);

    /*
     * Reads and writes the past of an exclusive store: its directory and the stores it was open with
     * (past.h); NULL for other engines. A write without sync becomes durable with the next synced one.
     */
    enum ts_store_result (*past_read)(struct ts_store *store, struct store__past *ret_past,
                                      struct ts_store_error *ret_error);
    enum ts_store_result (*past_write)(struct ts_store *store, const struct store__past *past, bool sync,
                                       struct ts_store_error *ret_error);

    /*
     * For stores whose server can be replaced by a standby of it; NULL for other engines. A store is on a
     * timeline, and every replacement begins a higher one. `timeline` returns the highest that is known, 0 if none is,
     * or STORE_NO_TIMELINE if the store inside a decorator has none.
     * After `refuse_below` the store is not used on a lower one: its server is an old primary.
     */
    uint64_t (*timeline)(struct ts_store *store);
    void (*refuse_below)(struct ts_store *store, uint64_t timeline);

    /* Sets the cluster and epoch that this process expects. Calls are refused as FOREIGN if the store has
     * others. */
    void (*expect)(struct ts_store *store, const struct ts_meta *meta);

    /* Does not wait: the caller has ended all calls. */
    void (*close)(struct ts_store *store);
};

/* Calls engine->identify; an empty text for engines without it. */
enum ts_store_result store__identify(struct ts_store *store, uint64_t deadline_ns,
                                     char ret_text[static STORE_IDENTITY_SIZE],
                                     struct ts_store_error *ret_error);

/* Call engine->past_read (all zeros for engines without it) and engine->past_write (only for stores whose
 * past_read sets is_kept). */
enum ts_store_result store__past_read(struct ts_store *store, struct store__past *ret_past,
                                      struct ts_store_error *ret_error);
enum ts_store_result store__past_write(struct ts_store *store, const struct store__past *past, bool sync,
                                       struct ts_store_error *ret_error);

/* The head of every engine's own struct. */
struct ts_store {
    const struct ts_engine *engine;
    const struct ts_store_clock *clock; /* never NULL; outlives the store */
    char name[256];                     /* the URL without a password */
    bool is_exclusive;                  /* one process at a time has it open; earlier ones have ended */
};

/* No call may be in progress. Accepts NULL. */
void ts_store_close(struct ts_store *store);

/*
 * Fills in an error, with the result's SQLSTATE; op is SIZE_MAX when no single operation caused it. Truncates
 * the text to fit. Returns the result.
 */
__attribute__((format(printf, 4, 5))) enum ts_store_result store__error(struct ts_store_error *ret_error,
                                                                        enum ts_store_result result,
                                                                        size_t op, const char *format, ...);

#endif
