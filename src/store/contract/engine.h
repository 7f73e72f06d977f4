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
 * The clock of a store: the real clock, or the clock of a simulation. If several threads use the store, the
 * functions of the clock must be thread-safe.
 */
struct ts_store_clock {
    uint64_t (*wall_ms)(void *context);      /* for NOW and BEFORE, on engines without a server */
    uint64_t (*monotonic_ns)(void *context); /* monotonic time, for deadlines */
    void *context;
};
extern const struct ts_store_clock store__real_clock;

enum { STORE_IDENTITY_SIZE = 96 };

#define STORE_NO_TIMELINE UINT64_MAX

struct store__past;

struct ts_engine {
    const char *name;

    /*
     * Begins a call. store.c has checked its arguments (limits, keys, duplicates) for all engines. When the
     * call is finished, here or in a later step, sets call->done and call->error. Never blocks on locks or
     * servers.
     */
    void (*start)(struct ts_store *store, struct ts_call *call);

    /* Continues the call without blocking on locks or servers. The call is not done yet. */
    void (*step)(struct ts_store *store, struct ts_call *call);

    /*
     * Ends the call now, because its deadline has passed. Sets the result: TIMED_OUT if the store cannot have
     * carried out the call (it waits for a lock, or was not sent yet); UNKNOWN if the store may have carried
     * out the call or may still do so.
     */
    void (*expire)(struct ts_store *store, struct ts_call *call);

    /*
     * Returns the event to wait for before the next step; fd is -1 if a step is possible at once. If waiting
     * is not possible, may end the call with an error.
     */
    struct pollfd (*wait_for)(struct ts_store *store, struct ts_call *call);

    /*
     * Reads and writes the meta record (meta.h). Both functions block until the deadline at most. meta_write
     * is atomic and durable, and fails if the stored version is not the one that was read (0: no record). On
     * postgres, meta_write also waits, for a limited time, for writers that saw the old record.
     */
    enum ts_store_result (*meta_read)(struct ts_store *store, uint64_t deadline_ns, struct ts_meta *ret_meta,
                                      struct ts_store_error *ret_error);
    enum ts_store_result (*meta_write)(struct ts_store *store, uint64_t deadline_ns,
                                       const struct ts_meta *meta, struct ts_store_error *ret_error);

    /*
     * Writes a text that is the same for this store under each of its names, and different for other stores.
     * Writes an empty text if the store cannot provide such a text. NULL for engines whose names are unique.
     * Called before stores become a cluster. Returns BAD_CONFIGURATION if this store cannot be part of a
     * cluster. Blocks until the deadline at most.
     */
    enum ts_store_result (*identify)(struct ts_store *store, uint64_t deadline_ns,
                                     char ret_text[static STORE_IDENTITY_SIZE],
                                     struct ts_store_error *ret_error);

    /*
     * Read and write the past of an exclusive store: its directory, and its meetings with other stores
     * (past.h). NULL for other engines. A write without sync becomes durable with the next synced write.
     */
    enum ts_store_result (*past_read)(struct ts_store *store, struct store__past *ret_past,
                                      struct ts_store_error *ret_error);
    enum ts_store_result (*past_write)(struct ts_store *store, const struct store__past *past, bool sync,
                                       struct ts_store_error *ret_error);

    /*
     * For stores whose server can be replaced by a standby; NULL for other engines. A store is on a timeline,
     * and every replacement begins a higher timeline. `timeline` returns the highest known timeline, 0 if
     * none is known, or STORE_NO_TIMELINE if the store inside a decorator has no timelines. After
     * `refuse_below`, a server on a lower timeline is not used: it is an old primary.
     */
    uint64_t (*timeline)(struct ts_store *store);
    void (*refuse_below)(struct ts_store *store, uint64_t timeline);

    /* Sets the cluster and the epoch that this process expects. If the store has another cluster or epoch, it
     * refuses calls as FOREIGN. */
    void (*expect)(struct ts_store *store, const struct ts_meta *meta);

    /* Closes the store. Does not wait, because the caller has ended all calls. */
    void (*close)(struct ts_store *store);
};

/* This function calls engine->identify. If the engine does not have that function, the text is empty. */
enum ts_store_result store__identify(struct ts_store *store, uint64_t deadline_ns,
                                     char ret_text[static STORE_IDENTITY_SIZE],
                                     struct ts_store_error *ret_error);

/* These functions call engine->past_read and engine->past_write. If the engine has no past_read, the past is
 * all zeros. past_write may only be called if past_read has set is_kept. */
enum ts_store_result store__past_read(struct ts_store *store, struct store__past *ret_past,
                                      struct ts_store_error *ret_error);
enum ts_store_result store__past_write(struct ts_store *store, const struct store__past *past, bool sync,
                                       struct ts_store_error *ret_error);

/* The first field of every engine's own struct. */
struct ts_store {
    const struct ts_engine *engine;
    const struct ts_store_clock *clock; /* never NULL; outlives the store */
    char name[256];                     /* the URL without a password */
    bool is_exclusive;                  /* one process at a time has it open; earlier processes have ended */
};

/* Closes a store, which has no call in progress. Accepts NULL. */
void ts_store_close(struct ts_store *store);

/*
 * Fills in an error, with the result's SQLSTATE; op is SIZE_MAX when no single operation caused it. Truncates
 * the text to fit. Returns the result.
 */
__attribute__((format(printf, 4, 5))) enum ts_store_result store__error(struct ts_store_error *ret_error,
                                                                        enum ts_store_result result,
                                                                        size_t op, const char *format, ...);

#endif
