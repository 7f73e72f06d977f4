#include "txn/guard/breaker.h"

#include "base/assert.h"
#include "base/checked.h"

const char *ts_txn_breaker_state_name(enum ts_txn_breaker_state state) {
#define STATE_NAME(suffix, name)                                                                             \
    case TS_TXN_BREAKER_##suffix:                                                                            \
        return name;
    switch (state) {
        TS_TXN_BREAKER_STATES(STATE_NAME)
    case TS_TXN_BREAKER_STATE_COUNT:
        break;
    }
#undef STATE_NAME
    ts_unreachable("no such breaker state");
}

enum ts_txn_breaker_report ts_txn_breaker_report_of(const struct ts_txn_cause *cause) {
    switch (cause->kind) {
    case TS_TXN_CAUSE_NONE:
        return TS_TXN_BREAKER_SUCCESS;
    case TS_TXN_CAUSE_STORE:
    case TS_TXN_CAUSE_TIMEOUT: {
        struct ts_txn_error_verdict verdict = ts_txn_error_classify(cause);
        if (verdict.infrastructure)
            return cause->kind == TS_TXN_CAUSE_STORE && cause->down ? TS_TXN_BREAKER_DOWN
                                                                    : TS_TXN_BREAKER_FAILURE;
        return verdict.answered ? TS_TXN_BREAKER_ANSWERED : TS_TXN_BREAKER_TURNED_AWAY;
    }
    case TS_TXN_CAUSE_ADMISSION:
    case TS_TXN_CAUSE_BREAKER:
    case TS_TXN_CAUSE_REPLICATION_LAG:
    case TS_TXN_CAUSE_DEADLOCK:
    case TS_TXN_CAUSE_RESOLVER:
    case TS_TXN_CAUSE_FENCED:
        return TS_TXN_BREAKER_TURNED_AWAY;
    }
    ts_unreachable("no such cause");
}

static void enter(struct ts_txn_breaker *breaker, enum ts_txn_breaker_state state) {
    breaker->state = state;
    breaker->failures = 0;
    breaker->probe_out = false;
    breaker->turn++;
}

static void trip(struct ts_txn_breaker *breaker, uint64_t now_us) {
    enter(breaker, TS_TXN_BREAKER_OPEN);
    breaker->since_us = now_us;
    breaker->trips++;
}

/* Asserts the invariants of the current state. */
static void check(const struct ts_txn_breaker *breaker) {
    switch (breaker->state) {
    case TS_TXN_BREAKER_CLOSED:
        ts_assert(!breaker->probe_out && breaker->failures < breaker->config.failure_threshold);
        return;
    case TS_TXN_BREAKER_OPEN:
        ts_assert(!breaker->probe_out && breaker->failures == 0);
        return;
    case TS_TXN_BREAKER_HALF_OPEN:
        ts_assert(breaker->failures == 0);
        return;
    case TS_TXN_BREAKER_STATE_COUNT:
        break;
    }
    ts_unreachable("no such breaker state");
}

void ts_txn_breaker_init(struct ts_txn_breaker *breaker, const struct ts_txn_breaker_config *config) {
    ts_assert(config->failure_threshold > 0);
    *breaker = (struct ts_txn_breaker){.config = *config, .state = TS_TXN_BREAKER_CLOSED, .turn = 1};
}

static bool is_over(uint64_t since_us, uint64_t length_us, uint64_t now_us) {
    return now_us >= ts_saturating_add_u64(since_us, length_us);
}

enum ts_txn_breaker_state ts_txn_breaker_state_at(const struct ts_txn_breaker *breaker, uint64_t now_us) {
    if (breaker->state == TS_TXN_BREAKER_OPEN &&
        is_over(breaker->since_us, breaker->config.recovery_timeout_us, now_us))
        return TS_TXN_BREAKER_HALF_OPEN;
    return breaker->state;
}

/* Grants a probe. If another probe may still report, grants nothing. */
static bool send_probe(struct ts_txn_breaker *breaker, uint64_t now_us) {
    if (breaker->probe_out && !is_over(breaker->since_us, breaker->config.probe_timeout_us, now_us))
        return false;
    breaker->turn++;
    breaker->probe_out = true;
    breaker->since_us = now_us;
    return true;
}

bool ts_txn_breaker_ask(struct ts_txn_breaker *breaker, uint64_t now_us,
                        struct ts_txn_breaker_permit *ret_permit) {
    check(breaker);
    if (breaker->state == TS_TXN_BREAKER_OPEN &&
        ts_txn_breaker_state_at(breaker, now_us) == TS_TXN_BREAKER_HALF_OPEN)
        enter(breaker, TS_TXN_BREAKER_HALF_OPEN);

    bool granted = breaker->state == TS_TXN_BREAKER_CLOSED ||
                   (breaker->state == TS_TXN_BREAKER_HALF_OPEN && send_probe(breaker, now_us));
    if (!granted)
        breaker->turned_away++;
    *ret_permit = (struct ts_txn_breaker_permit){.granted = granted, .turn = breaker->turn};
    return granted;
}

static void report_when_closed(struct ts_txn_breaker *breaker, enum ts_txn_breaker_report report,
                               uint64_t now_us) {
    switch (report) {
    case TS_TXN_BREAKER_SUCCESS:
        breaker->failures = 0;
        return;
    case TS_TXN_BREAKER_FAILURE:
        if (++breaker->failures == breaker->config.failure_threshold)
            trip(breaker, now_us);
        return;
    case TS_TXN_BREAKER_DOWN:
        trip(breaker, now_us);
        return;
    case TS_TXN_BREAKER_ANSWERED:
    case TS_TXN_BREAKER_TURNED_AWAY:
        return;
    }
    ts_unreachable("no such report");
}

static void report_of_probe(struct ts_txn_breaker *breaker, enum ts_txn_breaker_report report,
                            uint64_t now_us) {
    switch (report) {
    case TS_TXN_BREAKER_SUCCESS:
    case TS_TXN_BREAKER_ANSWERED:
        enter(breaker, TS_TXN_BREAKER_CLOSED);
        return;
    case TS_TXN_BREAKER_FAILURE:
    case TS_TXN_BREAKER_DOWN:
        trip(breaker, now_us);
        return;
    case TS_TXN_BREAKER_TURNED_AWAY:
        breaker->probe_out = false;
        return;
    }
    ts_unreachable("no such report");
}

void ts_txn_breaker_report(struct ts_txn_breaker *breaker, struct ts_txn_breaker_permit *permit,
                           enum ts_txn_breaker_report report, uint64_t now_us) {
    bool counts = permit->granted && permit->turn == breaker->turn;
    permit->granted = false;
    if (!counts)
        return;
    if (breaker->state == TS_TXN_BREAKER_CLOSED)
        report_when_closed(breaker, report, now_us);
    else if (breaker->state == TS_TXN_BREAKER_HALF_OPEN && breaker->probe_out)
        report_of_probe(breaker, report, now_us);
    check(breaker);
}
