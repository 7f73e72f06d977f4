/*
 * A circuit breaker: failure_threshold failures in a row open it for recovery_timeout, and a failed
 * connection opens it at once. Then one probe may pass.
 *
 *             failures reach the threshold, or
 *             no connection can be made                 recovery_timeout is over
 *     CLOSED ────────────────────────────► OPEN ────────────────────────────────► HALF_OPEN
 *       ▲                                   ▲                                      │  │  ▲ │
 *       │                                   └── the probe failed ──────────────────┘  │  └─┘ the probe was turned
 *       └────────────────────────── the probe succeeded, or was answered ─────────────┘      away, or is lost:
 *                                                                                            another may go
 *
 *     CLOSED      everybody passes; a success sets the count of failures to 0
 *     OPEN        nobody passes
 *     HALF_OPEN   only the probe passes: at most one permit is out
 *
 * Only infrastructure failures count (ts_txn_error_verdict). A caller that passes gets a permit, and reports
 * its result once. A permit has the number of its turn. A new turn begins with every change of state and with
 * every probe. The report of a permit of an earlier turn has no effect. A probe that has not reported within
 * probe_timeout counts as lost.
 */
#ifndef TS_TXN_GUARD_BREAKER_H
#define TS_TXN_GUARD_BREAKER_H

#include "txn/guard/cause.h"
#include "txn/guard/txn_config.h"

#include <stdbool.h>
#include <stdint.h>

/* The states of a breaker. X(SUFFIX, name). */
#define TS_TXN_BREAKER_STATES(X)                                                                             \
    X(CLOSED, "Closed")                                                                                      \
    X(OPEN, "Open")                                                                                          \
    X(HALF_OPEN, "HalfOpen")

#define TS_TXN_BREAKER_STATE_ENUM(suffix, name) TS_TXN_BREAKER_##suffix,
enum ts_txn_breaker_state { TS_TXN_BREAKER_STATES(TS_TXN_BREAKER_STATE_ENUM) TS_TXN_BREAKER_STATE_COUNT };
#undef TS_TXN_BREAKER_STATE_ENUM

const char *ts_txn_breaker_state_name(enum ts_txn_breaker_state state);

struct ts_txn_breaker {
    struct ts_txn_breaker_config config;
    enum ts_txn_breaker_state state;
    uint32_t failures; /* CLOSED: failures in a row */
    bool probe_out;    /* HALF_OPEN: a probe is in progress */
    uint64_t since_us; /* OPEN: time of opening; HALF_OPEN: time when the probe was granted */
    uint64_t turn;
    uint64_t trips; /* how often the breaker opened */
    uint64_t turned_away;
};

struct ts_txn_breaker_permit {
    bool granted; /* false once the permit was reported */
    uint64_t turn;
};

enum ts_txn_breaker_report {
    TS_TXN_BREAKER_SUCCESS,
    TS_TXN_BREAKER_FAILURE,     /* a failure of the infrastructure */
    TS_TXN_BREAKER_DOWN,        /* no connection, after all retries: opens the breaker without counting */
    TS_TXN_BREAKER_ANSWERED,    /* failed, but the stores work: a probe succeeds; no count is reset */
    TS_TXN_BREAKER_TURNED_AWAY, /* never reached a store: refused by admission, or abandoned by its caller */
};

/* Returns what to report for a transaction that ended for this cause; a cause of NONE is a success. */
enum ts_txn_breaker_report ts_txn_breaker_report_of(const struct ts_txn_cause *cause);

void ts_txn_breaker_init(struct ts_txn_breaker *breaker, const struct ts_txn_breaker_config *config);

/* Asks for a permit. Returns true if it is granted. Sets *ret_permit in either case. */
bool ts_txn_breaker_ask(struct ts_txn_breaker *breaker, uint64_t now_us,
                        struct ts_txn_breaker_permit *ret_permit);

/* Reports a result. Call it once for each permit. Ignores a permit that was not granted or was already
 * reported. */
void ts_txn_breaker_report(struct ts_txn_breaker *breaker, struct ts_txn_breaker_permit *permit,
                           enum ts_txn_breaker_report report, uint64_t now_us);

/* Returns the state at this time, without granting a permit. OPEN becomes HALF_OPEN when recovery_timeout has
 * passed. */
enum ts_txn_breaker_state ts_txn_breaker_state_at(const struct ts_txn_breaker *breaker, uint64_t now_us);

#endif
