/*
 * Raising the epoch, one stored step at a time. The stores determine the next step, so after a crash any
 * process continues at the same point.
 *
 *    every store OPEN, e ──► close them one by one ──► every store CLOSING, e ──► settle all promises
 *        ──► open them one by one at e + 1 ──► every store OPEN, e + 1
 *
 * A store that is already OPEN at e + 1 while others are CLOSING at e shows that everything was settled: no
 * store opens before everything is settled, and a closing store accepts no new promises. So no step undoes an
 * earlier one, and every step can be repeated safely.
 */
#ifndef TS_TXN_CORE_EPOCH_H
#define TS_TXN_CORE_EPOCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct txn__epoch_store {
    uint64_t epoch;
    bool closing;
};

enum txn__epoch_step_kind {
    TXN__EPOCH_CLOSE,  /* close store `place`, at its epoch */
    TXN__EPOCH_SETTLE, /* settle all promises */
    TXN__EPOCH_OPEN,   /* open store `place`, at `epoch` */
    TXN__EPOCH_DONE,   /* all stores are open at `epoch` */
    TXN__EPOCH_MIXED,  /* the stores are in states that these steps never produce */
};

struct txn__epoch_step {
    enum txn__epoch_step_kind kind;
    uint32_t place;
    uint64_t epoch;
};

/* The state of a raise that the stores do not show. The caller keeps it during the raise; it starts as
 * {0}. */
struct txn__epoch_raise {
    uint64_t target; /* epoch after the raise; 0: not known yet */
    bool settled;    /* set by the caller after a SETTLE that left no promise */
};

/* Returns the next step. The caller carries the step out, updates `stores`, and calls again. */
struct txn__epoch_step txn__epoch_next(struct txn__epoch_raise *raise, const struct txn__epoch_store *stores,
                                       size_t count);

#endif
