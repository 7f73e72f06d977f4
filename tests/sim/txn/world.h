/*
 * A world in which the protocol's own machines run over stores in memory. Messages are delivered, delivered
 * late, or lost. Coordinators crash or are fenced, and resolvers run. Only the test advances the time. The
 * calls below determine everything that happens, so a test can prescribe a history, and a seed always gives
 * the same history.
 *
 * Every transaction adds 1 to its own counter on each of its stores, and moves money between shared accounts.
 * world_broken checks the contents of the stores, and names the violation, such as a transaction that is
 * applied twice, half applied, or different from its answer.
 */
#ifndef TS_SIM_TXN_WORLD_H
#define TS_SIM_TXN_WORLD_H

#include "store/contract/engine.h"
#include "store/local/memory.h"
#include "txn/core/batches.h"
#include "txn/core/marks.h"
#include "txn/core/removal.h"
#include "txn/core/resolve.h"
#include "txn/core/run.h"

enum {
    STORES = 3,
    TXNS = 24,
    COORDINATORS = 4,
    RUNS = 3, /* maximum number of runs in progress for each coordinator */
    RESOLVERS = 2,
    MESSAGES = 64,
    MEMBERS = 3,
    ACCOUNTS = 2, /* number of accounts on each store */
    BALANCE = 1000,
    TOTAL_MS = 300, /* total timeout of a coordinator */
};

enum owner { OWNER_RUN, OWNER_RESOLVER };

enum message_state {
    MESSAGE_FREE,
    MESSAGE_FLYING,  /* sent */
    MESSAGE_WAITING, /* the store has it, and it waits for a lock */
    MESSAGE_REPLIED, /* the reply is on its way back */
};

struct message {
    enum message_state state;
    bool late; /* the owner no longer waits for the message */
    enum owner owner;
    size_t owner_index; /* for OWNER_RUN: coordinator * RUNS + run */
    uint64_t owner_turn;
    size_t member;
    uint32_t place;
    enum txn__wish wish;
    struct txn__own own;
    struct ts_op ops[2 + TXN__OWN_OPS_MAX];
    char keys[2][24];
    char gid[TS_TXN_ID_SIZE];
    struct txn__look_keys look_keys;
    struct ts_rows rows;
    struct ts_call call;
};

struct world_txn {
    bool used;
    size_t count;
    uint32_t places[MEMBERS];
    uint32_t decider;
    struct txn__gid gid;
    bool said_anything;
    enum ts_txn_outcome said;
};

struct world_run {
    bool used;
    uint64_t turn;
    size_t txn;
    struct txn__run run;
    struct txn__member members[MEMBERS];
    struct txn__entry *entry;
};

struct world_coordinator {
    bool used;
    struct txn__uuid uuid;
    uint64_t registered[STORES]; /* version of the registration; 0: not registered */
    struct txn__marks marks;
    struct txn__mark_list deciders[STORES];
    struct txn__entry entries[TXNS];
    uint64_t moved[STORES]; /* for each store: the mark that was written last */
    bool dirty[STORES];     /* a transaction with this decider has ended since that write */
    struct world_run runs[RUNS];
};

struct world_resolver {
    bool busy;
    bool sent;
    uint64_t turn;
    struct txn__resolve resolve;
};

struct world {
    struct txn__taken taken;
    bool in_order; /* new attempts prepare one participant after the other */
    struct ts_store_clock clock;
    uint64_t now_ms;
    struct ts_memory *memories[STORES];
    struct ts_store *stores[STORES];
    uint8_t cluster[16];
    struct message messages[MESSAGES];
    struct world_txn txns[TXNS];
    size_t txn_count;
    struct world_coordinator coordinators[COORDINATORS];
    struct world_resolver resolvers[RESOLVERS];
    uint64_t turns;
    uint64_t touched;  /* number of calls that may have changed a store */
    bool flaky;        /* stores sometimes do not answer cleaning calls */
    bool away[STORES]; /* stores never answer cleaning calls */
    uint8_t uuids;
    char trouble[160];
};

void world_init(struct world *world, struct txn__taken taken);
void world_release(struct world *world);

/* Applies a batch with a direct call, which is done at once. */
enum ts_store_result world_apply(struct world *world, uint32_t place, const struct ts_op *ops, size_t count);
enum ts_store_result world_finish(struct world *world, uint32_t place, enum ts_call_kind kind,
                                  const struct txn__gid *gid);
void world_look(struct world *world, const struct txn__gid *gid, struct txn__look *ret_look);
/* Returns how often a transaction was applied on a store. */
uint64_t world_applied(struct world *world, size_t txn, uint32_t place);
size_t world_promises(struct world *world, uint32_t place);

/* Starts a new coordinator, which has a new uuid and registers everywhere. */
void coordinator_start(struct world *world, size_t coordinator);
void coordinator_crash(struct world *world, size_t coordinator);
void coordinator_beat(struct world *world, size_t coordinator);
/* Begins a transaction over these stores; the first of them decides. Returns the index of the run. */
size_t coordinator_begin(struct world *world, size_t coordinator, const uint32_t *places, size_t count);
/* Sends the run's next request. Returns the message, or NULL if there is no request. */
struct message *coordinator_send(struct world *world, size_t coordinator, size_t run);
/* Syncs the stores of transactions that every participant has applied. Then moves the marks, and removes the
 * decisions below the marks. */
void coordinator_clean(struct world *world, size_t coordinator);
/* Ends a coordinator like the driver's close: cleans up, and deregisters from the stores where that is
 * allowed. No run may be in progress. */
void coordinator_leave(struct world *world, size_t coordinator);
/* Commits pending transactions, as the driver does in the background. */
void coordinator_push(struct world *world, size_t coordinator);

/* Resolvers. */
bool resolver_begin(struct world *world, size_t resolver, uint32_t place, size_t nth, bool fence_all);
struct message *resolver_send(struct world *world, size_t resolver);
/* Lets a resolver handle every promise of every store. Each message is answered at once; a message that waits
 * for a lock is given up. */
void resolver_pass(struct world *world, bool fence_all);
void fence(struct world *world, const struct txn__uuid *uuid, uint32_t place);
/* Removes from one store the decision records that may be removed. */
void sweep(struct world *world, uint32_t place);

/* Delivers a message to its store. */
void message_arrive(struct world *world, struct message *message);
/* Retries a message that waits for a lock. If it gets the lock, the message continues. */
void message_poll(struct message *message);
void message_answer(struct world *world, struct message *message); /* delivers the reply to its owner */
/* Makes the owner stop waiting; the owner gets UNKNOWN. The message may still reach its store. */
void message_give_up(struct world *world, struct message *message);
void message_drop(struct message *message); /* drops a late message */

/* The machine of all stores and processes loses power: everything that was not synced is lost, and all
 * processes end. */
void world_lose_power(struct world *world);

/* Returns NULL, or the violation. With at_end, nothing is in progress, so everything must be settled. */
const char *world_broken(struct world *world, bool at_end);

#endif
