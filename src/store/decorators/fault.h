/*
 * A decorator that makes calls fail, by rules that say exactly when: N calls pass, then M calls fail; or each
 * call fails with some probability, reproducible from a seed. The first rule that fails a call decides how it
 * fails. Every rule counts all calls that it applies to.
 *
 *   ERROR         the call is not carried out and ends with `result`
 *   LOST_REPLY    the call is carried out, and ends with UNKNOWN
 *   LOST_REQUEST  the call is not carried out, and ends with UNKNOWN
 *   DELAY         the call begins `delay_ms` later, or ends at its deadline with TIMED_OUT
 *   LATE          the call is kept and ends at its deadline with UNKNOWN; ts_fault_deliver carries it out later.
 *                 Calls that change nothing are treated as by LOST_REQUEST
 *   CRASH_BEFORE  the store stops answering: this call and all later ones end at their deadlines with UNKNOWN
 *   CRASH_AFTER   like CRASH_BEFORE, but this call is carried out first
 */
#ifndef TS_STORE_DECORATORS_FAULT_H
#define TS_STORE_DECORATORS_FAULT_H

#include "base/prng.h"
#include "store/contract/engine.h"

enum ts_fault_kind {
    TS_FAULT_ERROR,
    TS_FAULT_LOST_REPLY,
    TS_FAULT_LOST_REQUEST,
    TS_FAULT_DELAY,
    TS_FAULT_LATE,
    TS_FAULT_CRASH_BEFORE,
    TS_FAULT_CRASH_AFTER,
};

#define TS_FAULT_CALL(kind) (1u << (kind))

struct ts_fault_rule {
    enum ts_fault_kind kind;
    uint32_t calls; /* kinds of calls that the rule applies to, as a set of TS_FAULT_CALL; 0: all */
    /* The rule applies only to batches that put a key with this prefix. If the prefix is empty, the rule
     * applies to all calls. The caller owns the prefix. */
    struct ts_bytes puts;
    uint64_t after; /* number of calls that pass before the first failure */
    uint64_t times; /* number of calls that fail after that; 0: all */
    /* Probability that a call after the first `after` calls fails; {0, 0}: always. Calls that do not fail are
     * not counted in `times`. */
    struct ts_ratio chance;
    enum ts_store_result result; /* for ERROR */
    uint64_t delay_ms;           /* for DELAY */
};

enum { TS_FAULT_RULES_MAX = 32 };

/* Makes a decorator, which owns the inner store and closes it. Returns NULL when memory runs out; then the
 * caller still owns the inner store. */
struct ts_store *ts_fault_new(struct ts_store *inside, uint64_t seed);

/* All functions below take a store from ts_fault_new, and may be called while other threads use the store.
 * ts_fault_add adds a rule, at most TS_FAULT_RULES_MAX. */
void ts_fault_add(struct ts_store *store, const struct ts_fault_rule *rule);
void ts_fault_clear(struct ts_store *store);

/* Returns the number of calls that rules have failed so far. */
uint64_t ts_fault_count(struct ts_store *store);

/* After a crash, ts_fault_is_down returns true until ts_fault_revive makes the store answer again.
 * ts_fault_revive also ends hanging calls, with UNKNOWN. */
bool ts_fault_is_down(struct ts_store *store);
void ts_fault_revive(struct ts_store *store);

/* ts_fault_late_count returns the number of calls that LATE has kept. ts_fault_deliver carries out one of
 * them now; index 0 is the oldest. It returns the call's result, or BUSY if the call must wait for a lock;
 * then the call stays in the list. */
size_t ts_fault_late_count(struct ts_store *store);
enum ts_store_result ts_fault_deliver(struct ts_store *store, size_t index);

#endif
