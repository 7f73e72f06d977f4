/*
 * The text of metrics.h: https://prometheus.io/docs/instrumenting/exposition_formats/, version 0.0.4. Each
 * metric is HELP, TYPE and then all its series; label values have backslash, quote and line feed escaped.
 */
#include "txn/guard/metrics.h"

#include "base/assert.h"
#include "base/number.h"

#include <inttypes.h>
#include <stdio.h>

#define PREFIX "turnstone_xs_"

/* Buckets end at 2^k - 1 us: 15 us to 67 s, which is beyond the total timeout. */
enum { FIRST_POWER = 4, LAST_POWER = 26 };

struct text {
    struct ts_txn_text_writer writer;
    bool failed; /* the writer has returned false, so nothing more is written */
};

static void put_bytes(struct text *text, struct ts_bytes bytes) {
    if (!text->failed && bytes.len > 0)
        text->failed = !text->writer.write(text->writer.context, bytes);
}

static void put(struct text *text, const char *part) {
    put_bytes(text, ts_bytes_of_cstring(part));
}

static void put_u64(struct text *text, uint64_t value) {
    char digits[TS_NUMBER_TEXT_SIZE];
    put_bytes(text, ts_bytes_of(digits, ts_u64_format(value, digits)));
}

static void put_label_value(struct text *text, const char *value) {
    for (; *value != '\0'; value++) {
        if (*value == '\\')
            put(text, "\\\\");
        else if (*value == '"')
            put(text, "\\\"");
        else if (*value == '\n')
            put(text, "\\n");
        else
            put_bytes(text, ts_bytes_of(value, 1));
    }
}

/* A label and its value. If the name is NULL, there is no label. */
struct label {
    const char *name;
    const char *value;
};

enum type { COUNTER, GAUGE, HISTOGRAM };

static const char *type_name(enum type type) {
    switch (type) {
    case COUNTER:
        return "counter";
    case GAUGE:
        return "gauge";
    case HISTOGRAM:
        return "histogram";
    }
    ts_unreachable("no such type");
}

struct metric {
    enum type type;
    const char *name;
    const char *help; /* must contain no backslash and no line feed */
};

static void put_head(struct text *text, const struct metric *metric) {
    put(text, "# HELP " PREFIX);
    put(text, metric->name);
    put(text, " ");
    put(text, metric->help);
    put(text, ".\n# TYPE " PREFIX);
    put(text, metric->name);
    put(text, " ");
    put(text, type_name(metric->type));
    put(text, "\n");
}

/* Writes name, suffix and labels, and the blank before the value. */
static void put_series(struct text *text, const struct metric *metric, const char *suffix,
                       const struct label *labels, size_t count) {
    put(text, PREFIX);
    put(text, metric->name);
    put(text, suffix);
    const char *before = "{";
    for (size_t i = 0; i < count; i++) {
        if (labels[i].name == NULL)
            continue;
        put(text, before);
        put(text, labels[i].name);
        put(text, "=\"");
        put_label_value(text, labels[i].value);
        put(text, "\"");
        before = ",";
    }
    put(text, *before == ',' ? "} " : " ");
}

static void put_value(struct text *text, const struct metric *metric, struct label label, uint64_t value) {
    put_series(text, metric, "", &label, 1);
    put_u64(text, value);
    put(text, "\n");
}

static void put_single(struct text *text, const struct metric *metric, uint64_t value) {
    put_head(text, metric);
    put_value(text, metric, (struct label){0}, value);
}

static void put_ppm(struct text *text, const struct metric *metric, struct label label, uint32_t ppm) {
    char value[32];
    snprintf(value, sizeof value, "%" PRIu32 ".%06" PRIu32 "\n", ppm / TS_TXN_PPM, ppm % TS_TXN_PPM);
    put_series(text, metric, "", &label, 1);
    put(text, value);
}

/* Writes a sum. A sum that fits in 64 bits is exact. A larger sum is as exact as in Prometheus, which keeps
 * doubles. */
static void put_sum(struct text *text, struct ts_hist_sum sum) {
    if (sum.high == 0) {
        put_u64(text, sum.low);
        return;
    }
    char value[48];
    snprintf(value, sizeof value, "%.17g", (double)sum.high * 0x1p64 + (double)sum.low);
    put(text, value);
}

static void put_hist(struct text *text, const struct metric *metric, struct label label,
                     const struct ts_hist *hist) {
    struct label labels[] = {label, {"le", NULL}};
    for (unsigned power = FIRST_POWER; power <= LAST_POWER; power++) {
        char bound[TS_NUMBER_TEXT_SIZE];
        uint64_t last = (UINT64_C(1) << power) - 1;
        ts_u64_format(last, bound);
        labels[1].value = bound;
        put_series(text, metric, "_bucket", labels, 2);
        put_u64(text, ts_hist_count_up_to(hist, last));
        put(text, "\n");
    }
    labels[1].value = "+Inf";
    put_series(text, metric, "_bucket", labels, 2);
    put_u64(text, ts_hist_count(hist));
    put(text, "\n");
    put_series(text, metric, "_sum", &label, 1);
    put_sum(text, ts_hist_sum(hist));
    put(text, "\n");
    put_series(text, metric, "_count", &label, 1);
    put_u64(text, ts_hist_count(hist));
    put(text, "\n");
}

/* Returns the label of a store: its name, or its place as a number, which is written into the buffer. */
static struct label store_label(const struct ts_txn_view *view, size_t store,
                                char buffer[static TS_NUMBER_TEXT_SIZE]) {
    const char *name = view->stores[store].name;
    if (name == NULL) {
        ts_u64_format(store, buffer);
        name = buffer;
    }
    return (struct label){"store", name};
}

static void put_coordinator(struct text *text, const struct ts_txn_metrics *metrics,
                            const struct ts_txn_view *view) {
    put_single(text, &(struct metric){COUNTER, "total_attempted", "Transactions requested"},
               metrics->total_attempted);
    put_single(text, &(struct metric){COUNTER, "total_committed", "Transactions committed"},
               metrics->total_committed);
    const struct metric aborted = {COUNTER, "total_aborted", "Transactions that did not commit, by reason"};
    put_head(text, &aborted);
    for (size_t i = 0; i < TS_TXN_ABORT_REASON_COUNT; i++)
        put_value(text, &aborted,
                  (struct label){"reason", ts_txn_abort_reason_name((enum ts_txn_abort_reason)i)},
                  metrics->total_aborted[i]);
    put_single(text, &(struct metric){COUNTER, "total_unknown", "Transactions whose outcome is not known"},
               metrics->total_unknown);
    put_single(text, &(struct metric){COUNTER, "total_retried", "Transactions with more than one attempt"},
               metrics->total_retried);
    const struct ts_txn_admission_gauges *admission = &view->admission;
    put_single(text, &(struct metric){GAUGE, "coord_in_flight", "Transactions admitted and not finished"},
               admission->in_flight);
    put_single(text, &(struct metric){GAUGE, "coord_waiting", "Transactions that wait for admission"},
               admission->waiting);
    put_single(text, &(struct metric){COUNTER, "coord_admitted", "Transactions admitted"},
               admission->total_admitted);
    put_single(text, &(struct metric){COUNTER, "coord_rejected", "Transactions refused by admission"},
               admission->total_rejected);
    put_single(text, &(struct metric){COUNTER, "coord_queued", "Transactions that waited for admission"},
               admission->total_queued);
    put_single(text, &(struct metric){COUNTER, "coord_degraded", "Transactions answered at the commit point"},
               admission->total_degraded);
}

static void put_breaker(struct text *text, const struct ts_txn_view *view) {
    const struct metric state = {
        GAUGE, "circuit_breaker_state",
        "The worst state of the circuit breakers of all stores: 1 for this state, 0 for the others"};
    put_head(text, &state);
    for (size_t i = 0; i < TS_TXN_BREAKER_STATE_COUNT; i++)
        put_value(text, &state,
                  (struct label){"state", ts_txn_breaker_state_name((enum ts_txn_breaker_state)i)},
                  i == (size_t)view->breaker_state);
    put_single(text,
               &(struct metric){COUNTER, "circuit_breaker_trips", "Number of times that a breaker opened"},
               view->breaker_trips);
}

static void put_latencies(struct text *text, const struct ts_txn_metrics *metrics,
                          const struct ts_txn_view *view) {
    char buffer[TS_NUMBER_TEXT_SIZE];
    const struct metric total = {HISTOGRAM, "total_us",
                                 "Duration of transactions from end to end, in microseconds"};
    put_head(text, &total);
    put_hist(text, &total, (struct label){0}, &metrics->total_us);
    for (size_t i = 0; i < TS_TXN_BREAKDOWN_PHASE_COUNT; i++) {
        enum ts_txn_breakdown_phase phase = (enum ts_txn_breakdown_phase)i;
        char help[128];
        snprintf(help, sizeof help, "%s, in microseconds", ts_txn_breakdown_phase_help(phase));
        const struct metric metric = {HISTOGRAM, ts_txn_breakdown_phase_field(phase), help};
        put_head(text, &metric);
        if (phase != TS_TXN_BREAKDOWN_SHARD_RPC)
            put_hist(text, &metric, (struct label){0}, &metrics->phases[i]);
        else
            for (size_t store = 0; store < metrics->store_count; store++)
                put_hist(text, &metric, store_label(view, store, buffer),
                         &metrics->stores[store].shard_rpc_us);
    }
}

/* Writes the results of the transactions on each store since the start. */
static void put_totals(struct text *text, const struct ts_txn_metrics *metrics,
                       const struct ts_txn_view *view) {
    char buffer[TS_NUMBER_TEXT_SIZE];
    const struct metric all = {COUNTER, "shard_total_txns", "Transactions with this store as a participant"};
    put_head(text, &all);
    for (size_t i = 0; i < metrics->store_count; i++)
        put_value(text, &all, store_label(view, i, buffer), view->stores[i].conflicts.totals.total_txns);
    const struct metric conflicts = {COUNTER, "shard_conflict_aborts",
                                     "Transactions with this store as a participant, aborted by conflicts"};
    put_head(text, &conflicts);
    for (size_t i = 0; i < metrics->store_count; i++)
        put_value(text, &conflicts, store_label(view, i, buffer),
                  view->stores[i].conflicts.totals.conflict_aborts);
    const struct metric timeouts = {COUNTER, "shard_timeout_aborts",
                                    "Transactions with this store as a participant, aborted by timeouts"};
    put_head(text, &timeouts);
    for (size_t i = 0; i < metrics->store_count; i++)
        put_value(text, &timeouts, store_label(view, i, buffer),
                  view->stores[i].conflicts.totals.timeout_aborts);
}

static void put_stores(struct text *text, const struct ts_txn_metrics *metrics,
                       const struct ts_txn_view *view) {
    char buffer[TS_NUMBER_TEXT_SIZE];
    const struct metric conflicts = {GAUGE, "shard_conflict_rate",
                                     "Share of transactions aborted by conflicts, over conflict.window"};
    put_head(text, &conflicts);
    for (size_t i = 0; i < metrics->store_count; i++)
        put_ppm(text, &conflicts, store_label(view, i, buffer), view->stores[i].conflicts.conflict_rate_ppm);
    const struct metric aborts = {
        GAUGE, "shard_abort_rate",
        "Share of transactions aborted by conflicts and timeouts, over conflict.window"};
    put_head(text, &aborts);
    for (size_t i = 0; i < metrics->store_count; i++)
        put_ppm(text, &aborts, store_label(view, i, buffer), view->stores[i].conflicts.abort_rate_ppm);
    put_totals(text, metrics, view);
    const struct metric average = {GAUGE, "shard_avg_lock_wait_us",
                                   "Average time that a transaction waits for locks, over conflict.window"};
    put_head(text, &average);
    for (size_t i = 0; i < metrics->store_count; i++)
        put_value(text, &average, store_label(view, i, buffer), view->stores[i].conflicts.avg_lock_wait_us);
    const struct metric lock_waits = {HISTOGRAM, "shard_lock_wait_us", "Waits for locks, in microseconds"};
    put_head(text, &lock_waits);
    for (size_t i = 0; i < metrics->store_count; i++)
        put_hist(text, &lock_waits, store_label(view, i, buffer), &metrics->stores[i].shard_lock_wait_us);
    const struct metric limits = {GAUGE, "shard_concurrency_limit",
                                  "Limit of concurrent transactions on the store"};
    put_head(text, &limits);
    for (size_t i = 0; i < metrics->store_count; i++)
        put_value(text, &limits, store_label(view, i, buffer), view->stores[i].limit);
    const struct metric in_flight = {GAUGE, "shard_in_flight", "Transactions in flight on the store"};
    put_head(text, &in_flight);
    for (size_t i = 0; i < metrics->store_count; i++)
        put_value(text, &in_flight, store_label(view, i, buffer), view->stores[i].in_flight);
}

bool ts_txn_metrics_render(const struct ts_txn_metrics *metrics, const struct ts_txn_view *view,
                           struct ts_txn_text_writer writer) {
    ts_assert(metrics->store_count == 0 || view->stores != NULL);
    struct text text = {.writer = writer};
    put_coordinator(&text, metrics, view);
    put_breaker(&text, view);
    put_latencies(&text, metrics, view);
    put_stores(&text, metrics, view);
    put_single(&text, &(struct metric){COUNTER, "deadlocks_detected", "Transactions found stalled"},
               view->deadlocks_detected);
    put_single(&text, &(struct metric){GAUGE, "stalled_txns", "Transactions that are stalled now"},
               view->stalled_txns);
    return !text.failed;
}
