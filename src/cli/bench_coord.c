/*
 * turnstone bench coord: measures how fast workers claim and checkpoint on a cluster.
 */
#include "cluster_option.h"
#include "complain.h"
#include "output.h"
#include "verbs.h"

#include "base/bytes.h"
#include "base/endian.h"
#include "base/number.h"
#include "bench/coord.h"
#include "os/entropy.h"
#include "turnstone/txn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COORD_WORKERS = CLUSTER_OPTIONS, COORD_SHARDS, COORD_SECONDS };
enum { WORKERS_DEFAULT = 16, SHARDS_DEFAULT = 1000, SECONDS_DEFAULT = 3, SECONDS_MAX = 3600 };

struct request {
    const char *urls;
    struct ts_cluster_options cluster;
    struct ts_txn_config config;
    uint32_t workers;
    uint64_t shards;
    uint32_t seconds;
};

/* Reads the value of an option, a whole number within the limits. Without the option, *value keeps its
 * default. */
static enum cli_exit read_number(const struct cli_arguments *arguments, size_t option, const char *name,
                                 struct ts_span limits, uint64_t *value) {
    const char *text = arguments->values[option];
    uint64_t number = *value;
    if (text && ts_u64_parse(ts_bytes_of_cstring(text), &number) != TS_NUMBER_OK)
        number = UINT64_MAX;
    if (number < limits.from || number >= limits.from + limits.len)
        return cli__complain(
            CLI_EXIT_USAGE, "bench coord: --%s must be a whole number from %zu to %zu; got '%s'", name,
            limits.from, limits.from + limits.len - 1, text ? cli__quote_text(text).text : "");
    *value = number;
    return CLI_EXIT_DONE;
}

static enum cli_exit read_request(const struct cli_arguments *arguments, struct request *ret_request) {
    const char *urls = arguments->values[CLUSTER_URLS];
    if (!urls)
        urls = getenv("TURNSTONE_CLUSTER");
    if (!urls)
        return cli__complain(CLI_EXIT_USAGE,
                             "bench coord: no cluster; name one with --cluster URL,… or TURNSTONE_CLUSTER");
    struct request request = {.urls = urls, .shards = SHARDS_DEFAULT};
    uint64_t workers = WORKERS_DEFAULT;
    uint64_t seconds = SECONDS_DEFAULT;
    enum cli_exit status = read_number(arguments, COORD_WORKERS, "workers",
                                       (struct ts_span){1, BENCH_COORD_WORKERS_MAX}, &workers);
    if (status == CLI_EXIT_DONE)
        status = read_number(arguments, COORD_SHARDS, "shards", (struct ts_span){1, TS_GLOBAL_SHARD_MAX},
                             &request.shards);
    if (status == CLI_EXIT_DONE)
        status = read_number(arguments, COORD_SECONDS, "seconds", (struct ts_span){1, SECONDS_MAX}, &seconds);
    if (status == CLI_EXIT_DONE && request.shards < 2 * workers)
        status = cli__complain(CLI_EXIT_USAGE,
                               "bench coord: %llu workers need at least twice as many shards; raise --shards",
                               (unsigned long long)workers);
    if (status == CLI_EXIT_DONE)
        status = cli__cluster_options("bench coord", arguments, &request.config, &request.cluster);
    request.workers = (uint32_t)workers;
    request.seconds = (uint32_t)seconds;
    *ret_request = request;
    return status;
}

static enum cli_exit open_cluster(const struct request *request, struct ts_cluster **ret_cluster) {
    static const char memory[] = "memory:";
    struct ts_cluster_options options = request->cluster;
    struct ts_store_error error;
    options.store.connections_max = request->workers;
    enum ts_store_result result;
    if (strncmp(request->urls, memory, sizeof memory - 1) == 0) {
        result = ts_cluster_init(request->urls, "xxh64", &options, ret_cluster, &error);
    } else {
        options.store.must_exist = true;
        result = ts_cluster_open(request->urls, &options, ret_cluster, &error);
    }
    return result == TS_STORE_OK ? CLI_EXIT_DONE : cli__complain_store("bench coord", &error);
}

static void print_latency(const char *name, const struct ts_hist *hist) {
    printf(",\"%s\":{\"count\":%llu,\"mean_us\":%.1f,\"p50_us\":%.1f,\"p99_us\":%.1f,\"max_us\":%.1f}", name,
           (unsigned long long)ts_hist_count(hist), (double)ts_hist_mean(hist) / 1000,
           (double)ts_hist_percentile(hist, 50000) / 1000, (double)ts_hist_percentile(hist, 99000) / 1000,
           (double)ts_hist_max(hist) / 1000);
}

static void say_latency(const char *name, const struct ts_hist *hist) {
    printf("%-12s %8llu, median %.0f us, 99th percentile %.0f us\n", name,
           (unsigned long long)ts_hist_count(hist), (double)ts_hist_percentile(hist, 50000) / 1000,
           (double)ts_hist_percentile(hist, 99000) / 1000);
}

static void print_result(const struct cli_arguments *arguments, const struct request *request, size_t stores,
                         const struct bench_coord_result *result) {
    double per_second = result->checkpointed_ns == 0 ? 0
                                                     : (double)ts_hist_count(&result->checkpoints_ns) * 1e9 /
                                                           (double)result->checkpointed_ns;
    double registered = (double)request->shards * 1e9 / (double)result->registered_ns;
    if (!arguments->values[CLUSTER_JSON]) {
        printf("%u workers on %llu shards, %zu %s\n", request->workers, (unsigned long long)request->shards,
               stores, stores == 1 ? "store" : "stores");
        say_latency("claims", &result->claims_ns);
        say_latency("checkpoints", &result->checkpoints_ns);
        printf("%-12s %.0f per second; %.0f shards registered per second\n", "", per_second, registered);
        return;
    }
    printf("{\"bench\":\"coord\",\"stores\":%zu,\"workers\":%u,\"shards\":%llu,\"seconds\":%u,"
           "\"checkpoints_per_second\":%.1f,\"registered_per_second\":%.1f,\"renewals\":%llu",
           stores, request->workers, (unsigned long long)request->shards, request->seconds, per_second,
           registered, (unsigned long long)result->renewals);
    print_latency("claim", &result->claims_ns);
    print_latency("checkpoint", &result->checkpoints_ns);
    printf("}\n");
}

static enum cli_exit measure(const struct cli_arguments *arguments, const struct request *request,
                             struct ts_cluster *cluster, struct ts_coordinator *coordinator) {
    struct ts_coord *coord = ts_coord_new(cluster, coordinator, NULL);
    uint8_t drawn[8];
    if (!coord || !ts_entropy_fill(drawn, sizeof drawn)) {
        ts_coord_free(coord);
        return cli__complain(CLI_EXIT_INFRASTRUCTURE,
                             "bench coord: out of memory, or the system gave no random numbers");
    }
    const struct bench_coord_options options = {.coord = coord,
                                                .run = {ts_le64_load(drawn) >> 11},
                                                .workers = request->workers,
                                                .shards = request->shards,
                                                .duration_ms = (uint64_t)request->seconds * 1000};
    static struct bench_coord_result result;
    struct bench_coord_error error;
    enum cli_exit status = CLI_EXIT_DONE;
    if (bench__coord(&options, &result, &error))
        print_result(arguments, request, ts_cluster_count(cluster), &result);
    else
        status = cli__complain(CLI_EXIT_INFRASTRUCTURE, "bench coord: %s", error.text);
    ts_coord_free(coord);
    return status;
}

static enum cli_exit run_bench(const struct cli_arguments *arguments) {
    struct request request = {.urls = ""};
    struct ts_cluster *cluster = NULL;
    enum cli_exit status = read_request(arguments, &request);
    if (status == CLI_EXIT_DONE)
        status = open_cluster(&request, &cluster);
    if (status != CLI_EXIT_DONE)
        return status;
    struct ts_coordinator *coordinator = NULL;
    struct ts_txn_error_detail detail;
    if (ts_coordinator_open(cluster, &request.config, &coordinator, &detail) != TS_TXN_ERROR_OK)
        status = cli__complain(CLI_EXIT_INFRASTRUCTURE, "bench coord: %s", detail.text);
    else
        status = measure(arguments, &request, cluster, coordinator);
    if (coordinator)
        ts_coordinator_close(coordinator);
    ts_cluster_close(cluster);
    return cli__finish_stdout(status);
}

static const struct cli_option options[] = {
    CLI_CLUSTER_OPTIONS,
    [COORD_WORKERS] = {.name = "workers",
                       .argument = "N",
                       .help = "number of threads, 1 to 256 (default: "
                               "16)"},
    [COORD_SHARDS] = {.name = "shards",
                      .argument = "N",
                      .help = "number of shards, at least two for each worker (default: 1000)"},
    [COORD_SECONDS] = {.name = "seconds",
                       .argument = "N",
                       .help = "duration of the checkpoints (default: 3)"},
};

static const struct cli_example examples[] = {
    {"turnstone bench coord --cluster memory: --workers 1 --shards 100 --seconds 1",
     "the cost of coordination without a disk"},
};

const struct cli_verb cli__verb_bench_coord = {
    .name = "bench coord",
    .summary = "measure claims and checkpoints",
    .description =
        "Creates a run with --shards shards. The workers first make a fixed number of claims, and then make "
        "checkpoints for --seconds. At the end the run is cancelled. Prints how long claims and checkpoints "
        "took. The records stay in the cluster, so use a cluster that has no other purpose.",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .variables = cli__cluster_variables,
    .variable_count = CLI_CLUSTER_VARIABLES,
    .examples = examples,
    .example_count = sizeof examples / sizeof examples[0],
    .run = run_bench,
};
