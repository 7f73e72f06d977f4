#include "txn/guard/timeouts.h"

#include "base/assert.h"
#include "base/checked.h"

#include <stddef.h>

#define NAME_OF(suffix, name, setting)                                                                       \
    case TS_TXN_TIMEOUT_##suffix:                                                                            \
        return name;
#define SETTING_OF(suffix, name, setting)                                                                    \
    case TS_TXN_TIMEOUT_##suffix:                                                                            \
        return setting;

const char *ts_txn_timeout_phase_name(enum ts_txn_timeout_phase phase) {
    switch (phase) {
        TS_TXN_TIMEOUT_PHASES(NAME_OF)
    case TS_TXN_TIMEOUT_NONE:
        return "None";
    }
    ts_unreachable("no such timeout phase");
}

const char *ts_txn_timeout_phase_setting(enum ts_txn_timeout_phase phase) {
    switch (phase) {
        TS_TXN_TIMEOUT_PHASES(SETTING_OF)
    case TS_TXN_TIMEOUT_NONE:
        return NULL;
    }
    ts_unreachable("no such timeout phase");
}

/* Returns the timeout of a phase, which must not be NONE. */
static uint64_t length_us(const struct ts_txn_timeouts *timeouts, enum ts_txn_timeout_phase phase) {
    switch (phase) {
    case TS_TXN_TIMEOUT_COORD_QUEUE:
        return timeouts->coord_queue_us;
    case TS_TXN_TIMEOUT_SHARD_RPC:
        return timeouts->shard_rpc_us;
    case TS_TXN_TIMEOUT_PREPARE:
        return timeouts->prepare_us;
    case TS_TXN_TIMEOUT_COMMIT:
        return timeouts->commit_us;
    case TS_TXN_TIMEOUT_LOCK_VALIDATE:
        return timeouts->lock_validate_us;
    case TS_TXN_TIMEOUT_TOTAL:
        return timeouts->total_us;
    case TS_TXN_TIMEOUT_RETRY_CEILING:
        return timeouts->retry_ceiling_us;
    case TS_TXN_TIMEOUT_NONE:
        break;
    }
    ts_unreachable("no phase has no timeout");
}

struct end {
    enum ts_txn_timeout_phase phase;
    uint64_t at_us;
};

static void take_if_earlier(struct end *end, enum ts_txn_timeout_phase phase, uint64_t at_us) {
    if (at_us < end->at_us)
        *end = (struct end){phase, at_us};
}

static bool is_of_a_call(enum ts_txn_timeout_phase phase) {
    switch (phase) {
    case TS_TXN_TIMEOUT_COORD_QUEUE:
    case TS_TXN_TIMEOUT_SHARD_RPC:
    case TS_TXN_TIMEOUT_PREPARE:
    case TS_TXN_TIMEOUT_COMMIT:
    case TS_TXN_TIMEOUT_LOCK_VALIDATE:
        return true;
    case TS_TXN_TIMEOUT_NONE:
    case TS_TXN_TIMEOUT_TOTAL:
        return false;
    case TS_TXN_TIMEOUT_RETRY_CEILING:
        break;
    }
    ts_unreachable("the retry ceiling is no phase of a call");
}

/* Returns the earliest end of the wait. */
static struct end first_end(const struct ts_txn_timeouts *timeouts,
                            const struct ts_txn_timeout_watch *watch) {
    bool fails_fast = timeouts->policy == TS_TXN_TIMEOUT_POLICY_FAIL_FAST;
    struct end end = {TS_TXN_TIMEOUT_NONE, UINT64_MAX};
    if (is_of_a_call(watch->phase) && fails_fast)
        take_if_earlier(&end, watch->phase,
                        ts_saturating_add_u64(watch->call_begun_us, length_us(timeouts, watch->phase)));
    take_if_earlier(&end, TS_TXN_TIMEOUT_TOTAL,
                    ts_saturating_add_u64(watch->txn_begun_us, timeouts->total_us));
    bool has_ceiling = timeouts->retry_ceiling_given || !watch->only_conflicts;
    if (fails_fast && has_ceiling)
        take_if_earlier(&end, TS_TXN_TIMEOUT_RETRY_CEILING,
                        ts_saturating_add_u64(watch->txn_begun_us, timeouts->retry_ceiling_us));
    return end;
}

uint64_t ts_txn_timeout_until_us(const struct ts_txn_timeouts *timeouts,
                                 const struct ts_txn_timeout_watch *watch) {
    return first_end(timeouts, watch).at_us;
}

static bool is_given(const struct ts_txn_timeouts *timeouts, enum ts_txn_timeout_phase phase) {
    switch (phase) {
    case TS_TXN_TIMEOUT_PREPARE:
        return timeouts->prepare_given;
    case TS_TXN_TIMEOUT_LOCK_VALIDATE:
        return timeouts->lock_validate_given;
    case TS_TXN_TIMEOUT_NONE:
    case TS_TXN_TIMEOUT_COORD_QUEUE:
    case TS_TXN_TIMEOUT_SHARD_RPC:
    case TS_TXN_TIMEOUT_COMMIT:
    case TS_TXN_TIMEOUT_TOTAL:
    case TS_TXN_TIMEOUT_RETRY_CEILING:
        break;
    }
    return true; /* there are no lock waits in this phase, or a lock wait ends the transaction */
}

uint64_t ts_txn_timeout_lock_wait_us(const struct ts_txn_timeouts *timeouts,
                                     const struct ts_txn_timeout_watch *watch) {
    struct end end = first_end(timeouts, watch);
    return is_given(timeouts, end.phase) ? 0 : (end.at_us - watch->call_begun_us) / 4 * 3;
}

enum ts_txn_timeout_phase ts_txn_timeout_over(const struct ts_txn_timeouts *timeouts,
                                              const struct ts_txn_timeout_watch *watch, uint64_t now_us) {
    struct end end = first_end(timeouts, watch);
    return now_us >= end.at_us ? end.phase : TS_TXN_TIMEOUT_NONE;
}
