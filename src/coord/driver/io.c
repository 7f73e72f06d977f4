#include "coord/driver/io.h"

#include "base/assert.h"
#include "driver_io.h"
#include "os/clock.h"
#include "store/cluster/cluster.h"

#include <time.h>

#define NS_PER_MS UINT64_C(1000000)

/* Calls of one operation: the most that a walk over all stores starts in parallel. */
enum { AT_ONCE = 64 };

static void wait_for_all(struct ts_coord_call *calls, size_t count) {
    ts_assert(count <= AT_ONCE);
    struct ts_call *pending[AT_ONCE];
    for (;;) {
        size_t left = 0;
        for (size_t i = 0; i < count; i++) {
            if (!calls[i].call.done && !ts_store_poll(&calls[i].call))
                pending[left++] = &calls[i].call;
        }
        if (left == 0)
            return;
        ts_store_wait(pending, left, 0);
    }
}

static void run_calls(void *context, struct ts_coord_call *calls, size_t count) {
    struct coord__cluster_io *own = context;
    /* Everything that writes is a transaction, with its limits, retries and metrics. */
    for (size_t i = 0; i < count; i++)
        ts_assert(calls[i].call.kind == TS_CALL_READ || calls[i].call.kind == TS_CALL_SCAN);
    const uint64_t deadline_ns = ts_clock_monotonic_ns() + own->call_timeout_us * 1000;
    if (count == 1) {
        calls->call.deadline_ns = deadline_ns;
        (void)ts_store_run(ts_cluster_store(own->cluster, calls->place), &calls->call);
        return;
    }
    for (size_t from = 0; from < count; from += AT_ONCE) {
        const size_t batch = count - from < AT_ONCE ? count - from : AT_ONCE;
        for (size_t i = from; i < from + batch; i++) {
            calls[i].call.deadline_ns = deadline_ns;
            ts_store_start(ts_cluster_store(own->cluster, calls[i].place), &calls[i].call);
        }
        wait_for_all(calls + from, batch);
    }
}

static void run_txn(void *context, const struct ts_txn_part *parts, size_t count,
                    struct ts_txn_result *ret_result) {
    const struct coord__cluster_io *own = context;
    static const struct ts_txn_options options = {.system = true};
    ts_txn_run_parts(own->coordinator, parts, count, &options, ret_result);
}

static uint64_t elapsed_ms(void *context) {
    const struct coord__cluster_io *own = context;
    return own->time_stands_still ? 0 : ts_clock_monotonic_ns() / NS_PER_MS;
}

static void pause_ms(void *context, uint64_t ms) {
    (void)context;
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
