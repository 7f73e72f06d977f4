#include "bench_xs.h"

#include "bench/zipf.h"
#include "os/out_json.h"

#include <stdio.h>

struct percentile {
    const char *name;
    uint32_t per_100000;
};

static const struct percentile percentiles[] = {
    {"p50_us", 50000}, {"p95_us", 95000}, {"p99_us", 99000}, {"p999_us", 99900}};
enum { PERCENTILES = sizeof percentiles / sizeof percentiles[0] };

static double throughput(const struct bench_run_result *result) {
    return result->took_ns > 0 ? (double)result->tally.committed * 1e9 / (double)result->took_ns : 0;
}

static bool all_pass(const struct bench_xs_report *report) {
    for (size_t i = 0; i < report->check_count; i++)
        if (!report->checks[i].pass)
            return false;
    return true;
}

/* A number of the tally, and its name in the text output and in JSON. */
struct count {
    const char *name;
    uint64_t value;
};
enum { COUNTS_MAX = 12 };

static size_t counts_of(const struct bench_tally *tally, struct count ret_counts[COUNTS_MAX]) {
    const struct count counts[] = {
        {"total_txns", tally->total}, {"committed", tally->committed}, {"pending", tally->pending},
        {"aborted", tally->aborted},  {"refused", tally->refused},     {"unknown", tally->unknown},
        {"retried", tally->retried},  {"global", tally->global},       {"check_failed", tally->check_failed},
        {"limit", tally->limit},
    };
    size_t count = sizeof counts / sizeof counts[0];
    for (size_t i = 0; i < count; i++)
        ret_counts[i] = counts[i];
    return count;
}

static void print_json_figures(const struct bench_xs_report *report, const struct ts_hist *latency) {
    struct count counts[COUNTS_MAX];
    size_t count = counts_of(&report->result.tally, counts);
    for (size_t i = 0; i < count; i++)
        printf(",\"%s\":%llu", counts[i].name, (unsigned long long)counts[i].value);
    printf(",\"throughput_tps\":%.1f", throughput(&report->result));
    for (size_t i = 0; i < PERCENTILES; i++)
        printf(",\"%s\":%.2f", percentiles[i].name,
               (double)ts_hist_percentile(latency, percentiles[i].per_100000) / 1000);
    printf(",\"mean_us\":%.2f,\"slices_p999_us\":[", (double)ts_hist_mean(latency) / 1000);
    for (size_t i = 0; i < BENCH_SLICES; i++)
        printf("%s%.1f", ts_json_separator(i, ","),
               (double)ts_hist_percentile(&report->result.tally.slices[i], 99900) / 1000);
    printf("],\"dominant_phases\":{");
    const struct bench_phase *phases = report->result.tally.phases;
    for (size_t i = 0; i < BENCH_PHASES_MAX && phases[i].name; i++)
        printf("%s\"%s\":%llu", ts_json_separator(i, ","), phases[i].name,
               (unsigned long long)phases[i].count);
    printf("},\"duration_ms\":%.0f", (double)report->result.took_ns / 1e6);
}

static void print_json_extra(const struct bench_xs_report *report) {
    printf(",\"circuit_breaker_trips\":%llu,\"by_store\":[",
           (unsigned long long)report->metrics.breaker_trips);
    for (size_t i = 0; i < report->metrics.store_count; i++) {
        const struct bench_store_metrics *store = &report->metrics.stores[i];
        printf("%s{\"store\":%zu,\"txns\":%llu,\"conflicts\":%llu,\"concurrency_limit_before\":%llu,"
               "\"concurrency_limit\":%llu}",
               ts_json_separator(i, ","), i, (unsigned long long)store->txns,
               (unsigned long long)store->conflicts,
               (unsigned long long)report->before.stores[i].concurrency_limit,
               (unsigned long long)store->concurrency_limit);
    }
    printf("]");
    if (report->scenario == BENCH_ZIPFIAN)
        printf(",\"zipf_exponent\":%.2f", BENCH_ZIPF_EXPONENT);
    if (report->scenario == BENCH_FAULTS)
        printf(",\"faults\":{\"duplicates\":%llu,\"calls_struck\":%llu,\"stores_died\":%llu}",
               (unsigned long long)report->result.tally.duplicates, (unsigned long long)report->faults_struck,
               (unsigned long long)report->stores_died);
    if (report->scenario == BENCH_BANK)
        printf(",\"bank\":{\"accounts\":%zu,\"expected\":%llu,\"found\":%llu}", report->look.accounts,
               (unsigned long long)report->look.expected, (unsigned long long)report->look.found);
}

static void print_json(const struct bench_xs_report *report, const struct ts_hist *latency) {
    printf(
        "{\"bench\":\"xs\",\"scenario\":\"%s\",\"specified_as\":\"%s\",\"stores\":%zu,\"threads\":%u,\"value_bytes\":%d",
        bench__scenario_name(report->scenario), bench__scenario_specified(report->scenario), report->stores,
        report->threads, BENCH_VALUE_LEN);
    print_json_figures(report, latency);
    print_json_extra(report);
    printf(",\"acceptance\":[");
    for (size_t i = 0; i < report->check_count; i++) {
        const struct bench_check *check = &report->checks[i];
        printf("%s{\"name\":\"%s\",\"threshold\":\"%s\",\"found\":\"%s\",\"pass\":%s}",
               ts_json_separator(i, ","), check->name, check->threshold, check->found,
               check->pass ? "true" : "false");
    }
    printf("],\"pass\":%s}\n", all_pass(report) ? "true" : "false");
}

static void print_text(const struct bench_xs_report *report, const struct ts_hist *latency) {
    struct count counts[COUNTS_MAX];
    size_t count = counts_of(&report->result.tally, counts);
    printf("%s (%s): %zu stores, %u threads, %.1f s\n", bench__scenario_name(report->scenario),
           bench__scenario_specified(report->scenario), report->stores, report->threads,
           (double)report->result.took_ns / 1e9);
    for (size_t i = 0; i < count; i++)
        printf("%-16s %12llu\n", counts[i].name, (unsigned long long)counts[i].value);
    printf("%-16s %12.1f\n", "throughput_tps", throughput(&report->result));
    for (size_t i = 0; i < PERCENTILES; i++)
        printf("%-16s %12.1f\n", percentiles[i].name,
               (double)ts_hist_percentile(latency, percentiles[i].per_100000) / 1000);
    printf("dominant_phases ");
    const struct bench_phase *phases = report->result.tally.phases;
    for (size_t i = 0; i < BENCH_PHASES_MAX && phases[i].name; i++)
        printf(" %s=%llu", phases[i].name, (unsigned long long)phases[i].count);
    printf("\n");
    for (size_t i = 0; i < report->metrics.store_count; i++) {
        const struct bench_store_metrics *store = &report->metrics.stores[i];
        printf("store %-10zu %12llu txns, %llu conflicts, concurrency limit %llu -> %llu\n", i,
               (unsigned long long)store->txns, (unsigned long long)store->conflicts,
               (unsigned long long)report->before.stores[i].concurrency_limit,
               (unsigned long long)store->concurrency_limit);
    }
    if (report->scenario == BENCH_FAULTS)
        printf("faults           %llu inserts of existing ids, %llu calls with faults, %llu deaths of a "
               "store\n",
               (unsigned long long)report->result.tally.duplicates, (unsigned long long)report->faults_struck,
               (unsigned long long)report->stores_died);
    for (size_t i = 0; i < report->check_count; i++) {
        const struct bench_check *check = &report->checks[i];
        printf("%s %-16s %s; found: %s\n", check->pass ? "pass" : "FAIL", check->name, check->threshold,
               check->found);
    }
}

void cli__bench_xs_print(const struct bench_xs_report *report, bool as_json) {
    static struct ts_hist latency;
    bench__tally_latency(&report->result.tally, &latency);
    if (as_json)
        print_json(report, &latency);
    else
        print_text(report, &latency);
}

bool cli__bench_xs_print_bank(const struct bench_bank_look *look, bool as_json) {
    bool none = look->state == BENCH_BANK_NONE;
    long long off = (long long)(look->found - look->expected);
    bool well = none || (look->has_total && look->unreadable == 0 && off == 0);
    if (as_json) {
        printf(
            "{\"bench\":\"xs\",\"scenario\":\"bank\",\"check\":true,\"accounts\":%zu,\"expected\":%llu,\"found\":%llu,"
            "\"off\":%lld,\"unreadable\":%zu,\"total_recorded\":%s,\"pass\":%s}\n",
            look->accounts, (unsigned long long)look->expected, (unsigned long long)look->found, off,
            look->unreadable, look->has_total ? "true" : "false", well ? "true" : "false");
        return well;
    }
    if (none)
        printf("there are no accounts\n");
    else if (!look->has_total)
        printf("the record of the total is missing; %zu accounts hold %llu\n", look->accounts,
               (unsigned long long)look->found);
    else if (look->unreadable > 0)
        printf("%zu of %zu accounts have a balance that is not a number\n", look->unreadable, look->accounts);
    else if (well)
        printf("%zu accounts hold %llu, as they should\n", look->accounts, (unsigned long long)look->found);
    else
        printf("the total is off by %+lld: %zu accounts hold %llu and should hold %llu\n", off,
               look->accounts, (unsigned long long)look->found, (unsigned long long)look->expected);
    return well;
}
