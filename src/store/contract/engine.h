/*
 * What an engine is: a table of functions behind every struct ts_store. Decorators are engines that hold
 * another store.
 */
#ifndef TS_STORE_CONTRACT_ENGINE_H
#define TS_STORE_CONTRACT_ENGINE_H

#include "store/contract/meta.h"
#include "turnstone/store.h"

#include <poll.h>

/*
 * Where a store's idea of time comes from. The real ones unless a simulation gives its own, which must then
 * answer for all threads that use the store.
 */
struct ts_store_clock {
    uint64_t (*wall_ms)(void *context);      /* what NOW and BEFORE go by, on engines that have no server */
    uint64_t (*monotonic_ns)(void *context); /* what deadlines go by */
    void *context;
};
extern const struct ts_store_clock store__real_clock;

enum { STORE_IDENTITY_SIZE = 96 };

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
     * The deadline has passed: ends the call now. The engine says which it is: TIMED_OUT when nothing can
     * have happened (waiting for a lock, not sent yet), UNKNOWN when the store may have done it or may still
     * do it.
     */
    void (*expire)(struct ts_store *store, struct ts_call *call);

    /*
     * What to wait for before the next step; fd -1 when a step can be made at once. May end the call with an
     * error when there is no way to wait.
     */
    struct pollfd (*wait_for)(struct ts_store *store, struct ts_call *call);

    /*
     * The store's identity (meta.h). Both block, within the deadline. Writing it is atomic and durable,
     * compares the version that was read (0: there was none), and on postgres waits, bounded, for writers
     * that saw the old one.
     */
    enum ts_store_result (*meta_read)(struct ts_store *store, uint64_t deadline_ns, struct ts_meta *ret_meta,
                                      struct ts_store_error *ret_error);
    enum ts_store_result (*meta_write)(struct ts_store *store, uint64_t deadline_ns,
                                       const struct ts_meta *meta, struct ts_store_error *ret_error);

    /*
     * What tells this store from every other, however it is called; an empty text when that is not to be
     * had. NULL for engines whose names are enough. For one of several stores that are to become a cluster:
     * BAD_CONFIGURATION when it cannot be one. Blocks, within the deadline.
     */
    enum ts_store_result (*identify)(struct ts_store *store, uint64_t deadline_ns,
                                     char ret_text[static STORE_IDENTITY_SIZE],
                                     struct ts_store_error *ret_error);

    /*
     * What a store that one process has to itself remembers of where and with whom it was open (past.h); NULL for
     * others. What is written without sync is durable with the next write that is.
     */
    enum ts_store_result (*past_read)(struct ts_store *store, struct store__past *ret_past,
                                      struct ts_store_error *ret_error);
    enum ts_store_result (*past_write)(struct ts_store *store, const struct store__past *past, bool sync,
                                       struct ts_store_error *ret_error);

    /* The cluster and epoch that this process believes in: calls are refused as FOREIGN when the store has
     * another. */
    void (*expect)(struct ts_store *store, const struct ts_meta *meta);

    /* Waits for nothing: calls under way have ended before. */
    void (*close)(struct ts_store *store);
};

/* engine->identify, with an empty text where there is none. */
enum ts_store_result store__identify(struct ts_store *store, uint64_t deadline_ns,
                                     char ret_text[static STORE_IDENTITY_SIZE],
                                     struct ts_store_error *ret_error);

/* engine->past_read, with all zeros where there is none, and past_write, for what past_read has said is kept. */
enum ts_store_result store__past_read(struct ts_store *store, struct store__past *ret_past,
                                      struct ts_store_error *ret_error);
enum ts_store_result store__past_write(struct ts_store *store, const struct store__past *past, bool sync,
                                       struct ts_store_error *ret_error);

/* The head of every engine's own struct. */
struct ts_store {
    const struct ts_engine *engine;
    const struct ts_store_clock *clock; /* never NULL; outlives the store */
    char name[256];                     /* the URL without a password */
    bool is_exclusive; /* one process at a time has it open: whoever registered there before is gone */
};

/* No call may be under way. NULL does nothing. */
void ts_store_close(struct ts_store *store);

/*
 * Fills in an error, with the result's SQLSTATE; op is SIZE_MAX when no operation is to blame. Returns the
 * result. The text is cut where it does not fit.
 */
__attribute__((format(printf, 4, 5))) enum ts_store_result store__error(struct ts_store_error *ret_error,
                                                                        enum ts_store_result result,
                                                                        size_t op, const char *format, ...);

#endif
