#include "coord/driver/io.h"

#include "base/assert.h"
#include "driver_io.h"
#include "os/clock.h"
#include "os/failpoint.h"
#include "store/cluster/cluster.h"
#include "txn/driver/reads.h"

#include <time.h>

#define NS_PER_MS UINT64_C(1000000)

/* The maximum number of parallel calls of an operation over all stores. */
enum { AT_ONCE = 64 };

/* Waits until all calls are done. If the caller must stop, ends the unfinished calls as if they had timed
 * out, and returns false. */
static bool wait_for_all(const struct ts_txn_stop *stop, struct ts_coord_call *calls, size_t count) {
    struct ts_call *pending[AT_ONCE];
    for (;;) {
        size_t left = 0;
        for (size_t i = 0; i < count; i++) {
            if (!calls[i].call.done && !ts_store_poll(&calls[i].call))
                pending[left++] = &calls[i].call;
        }
        if (left == 0)
            return true;
        ts_store_wait(pending, left, stop->must != NULL ? ts_clock_monotonic_ns() + TS_TXN_STOP_NS : 0);
        if (!ts_txn_must_stop(stop))
            continue;
        for (size_t i = 0; i < left; i++)
            ts_store_cancel(pending[i]);
        return false;
    }
}

static void run_at_once(const struct coord__cluster_io *own, struct ts_coord_call *calls, size_t count,
                        uint64_t deadline_ns) {
    ts_assert(count <= AT_ONCE);
    struct ts_txn_breaker_permit permits[AT_ONCE];
    for (size_t i = 0; i < count; i++) {
        calls[i].call.deadline_ns = deadline_ns;
        ts_txn_read_start(own->coordinator, calls[i].place, &calls[i].call, &permits[i]);
    }
    const bool are_answered = wait_for_all(&own->stop, calls, count);
    for (size_t i = 0; i < count; i++) {
        if (are_answered)
            ts_txn_read_end(own->coordinator, calls[i].place, &calls[i].call, &permits[i]);
        else
            ts_txn_read_cancelled(own->coordinator, calls[i].place, &permits[i]);
    }
}

static void run_calls(void *context, struct ts_coord_call *calls, size_t count) {
    const struct coord__cluster_io *own = context;
    const uint64_t deadline_ns = ts_clock_monotonic_ns() + own->call_timeout_us * 1000;
    for (size_t from = 0; from < count; from += AT_ONCE)
        run_at_once(own, calls + from, count - from < AT_ONCE ? count - from : AT_ONCE, deadline_ns);
}

static void run_txn(void *context, const struct ts_txn_part *parts, size_t count,
                    struct ts_txn_result *ret_result) {
    const struct coord__cluster_io *own = context;
    static const struct ts_txn_options options = {.system = true};
    ts_txn_run_parts_until(own->coordinator, parts, count, &options, &own->stop, ret_result);
    if (ts_failpoint_loses_reply())
        ret_result->outcome = TS_TXN_UNKNOWN;
}

static uint64_t elapsed_ms(void *context) {
    const struct coord__cluster_io *own = context;
    return own->is_clock_frozen ? 0 : ts_clock_monotonic_ns() / NS_PER_MS;
}

static void pause_ms(void *context, uint64_t ms) {
    const struct coord__cluster_io *own = context;
    if (ts_txn_must_stop(&own->stop))
        return;
    struct timespec pause = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000 * NS_PER_MS)};
    while (nanosleep(&pause, &pause) != 0)
        continue;
}

struct ts_coord_io coord__io_over_cluster(struct coord__cluster_io *own) {
    return (struct ts_coord_io){.context = own,
                                .router = ts_cluster_router(own->cluster),
                                .place_count = (uint32_t)ts_cluster_count(own->cluster),
                                .call = run_calls,
                                .txn = run_txn,
                                .elapsed_ms = elapsed_ms,
                                .pause_ms = pause_ms};
}
