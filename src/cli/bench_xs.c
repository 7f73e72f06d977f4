/*
 * turnstone bench xs: runs transactions over the stores of a cluster in the scenarios of the specification,
 * and reports the specification's figures and acceptance criteria. It also checks that the accounts of an
 * earlier run still have their total.
 */
#include "bench_xs.h"

#include "cluster_option.h"
#include "complain.h"
#include "metrics_option.h"
#include "output.h"
#include "verbs.h"

#include "base/assert.h"
#include "base/number.h"
#include "bench/run.h"
#include "os/clock.h"
#include "store/cluster/open.h"
#include "store/decorators/fault.h"
#include "txn/guard/retry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    XS_SCENARIO = CLUSTER_OPTIONS,
    XS_THREADS,
    XS_SECONDS,
    XS_METRICS,
    XS_CHECK,
};

enum {
    DURATION_MIN_MS = 100,
    DURATION_MAX_MS = 86400000,
    BANK_PATIENCE_MS = 60000,
    FIRST_KEYS_MS = 10000,
    RETRIES_MAX = 1000
};

struct request {
    const char *urls;
    bool in_memory; /* the stores are in memory, and exist only during this run */
    struct ts_cluster_options cluster;
    struct ts_txn_config config;
    enum bench_scenario scenario;
    uint32_t threads;
    uint64_t duration_ms;
    bool check;
};

/* Reads seconds with up to three decimal places. *ret_ms is in milliseconds. */
static bool parse_seconds(const char *text, uint64_t *ret_ms) {
    const char *point = strchr(text, '.');
    size_t whole_len = point ? (size_t)(point - text) : strlen(text);
    uint64_t whole = 0, part = 0;
    uint32_t seconds = 0;
    if (ts_u32_parse(ts_bytes_of(text, whole_len), &seconds) != TS_NUMBER_OK)
        return false;
    whole = seconds;
    if (point) {
        size_t digits = strlen(point + 1);
        if (digits == 0 || digits > 3 || ts_u64_parse(ts_bytes_of(point + 1, digits), &part) != TS_NUMBER_OK)
            return false;
        for (; digits < 3; digits++)
            part *= 10;
    }
    *ret_ms = whole * 1000 + part;
    return true;
}

static enum cli_exit read_numbers(const struct cli_arguments *arguments, struct request *ret_request) {
    const char *threads = arguments->values[XS_THREADS], *seconds = arguments->values[XS_SECONDS];
    ret_request->threads = 4;
    ret_request->duration_ms = 5000;
    if (threads && (ts_u32_parse(ts_bytes_of_cstring(threads), &ret_request->threads) != TS_NUMBER_OK ||
                    ret_request->threads == 0 || ret_request->threads > BENCH_THREADS_MAX))
        return cli__complain(CLI_EXIT_USAGE, "bench xs: --threads must be a number from 1 to %d; got '%s'",
                             BENCH_THREADS_MAX, cli__quote_text(threads).text);
    if (seconds && (!parse_seconds(seconds, &ret_request->duration_ms) ||
                    ret_request->duration_ms < DURATION_MIN_MS || ret_request->duration_ms > DURATION_MAX_MS))
        return cli__complain(
            CLI_EXIT_USAGE,
            "bench xs: --seconds must be from 0.1 to %d, with at most three digits after the "
            "point; got '%s'",
            DURATION_MAX_MS / 1000, cli__quote_text(seconds).text);
    return CLI_EXIT_DONE;
}

static bool is_memory(const char *urls) {
    static const char memory[] = "memory:";
    return strncmp(urls, memory, sizeof memory - 1) == 0;
}

static enum cli_exit read_request(const struct cli_arguments *arguments, struct request *ret_request) {
    const char *scenario = arguments->values[XS_SCENARIO];
    *ret_request = (struct request){.check = arguments->values[XS_CHECK] != NULL};
    ret_request->urls = arguments->values[CLUSTER_URLS];
    if (!ret_request->urls)
        ret_request->urls = getenv("TURNSTONE_CLUSTER");
    if (!ret_request->urls)
        return cli__complain(CLI_EXIT_USAGE,
                             "bench xs: no cluster; name one with --cluster URL,… or TURNSTONE_CLUSTER");
    ret_request->in_memory = is_memory(ret_request->urls);
    if (!scenario)
        return cli__complain(CLI_EXIT_USAGE, "bench xs: no scenario; choose one with --scenario");
    if (!bench__scenario_from_name(scenario, &ret_request->scenario))
        return cli__complain(CLI_EXIT_USAGE, "bench xs: unknown scenario '%s'",
                             cli__quote_text(scenario).text);
    if (ret_request->check && ret_request->scenario != BENCH_BANK)
        return cli__complain(CLI_EXIT_USAGE, "bench xs: --check is for --scenario bank");
    if (ret_request->check && ret_request->in_memory)
        return cli__complain(CLI_EXIT_USAGE, "bench xs: --check: a store of kind 'memory:' is always empty");
    enum cli_exit status = read_numbers(arguments, ret_request);
    if (status == CLI_EXIT_DONE)
        status = cli__cluster_options("bench xs", arguments, &ret_request->config, &ret_request->cluster);
    if (status == CLI_EXIT_DONE)
        status = cli__metrics_check("bench xs", arguments->values[XS_METRICS]);
    if (status == CLI_EXIT_DONE && ret_request->scenario == BENCH_FAULTS)
        bench__faults_shorten(
            &ret_request->config,
            (struct bench_faults_span){.duration_ms = ret_request->duration_ms,
                                       .servers = strstr(ret_request->urls, "postgres") != NULL});
    return status;
}

/* Opens the stores of the list, and adds fault injection to the first two stores. The caller owns the opened
 * stores. */
static enum ts_store_result open_faulty(const struct request *request, struct bench_faults *ret_faults,
                                        struct ts_store **ret_stores, size_t *ret_count,
                                        struct ts_store_error *ret_error) {
    struct ts_store_options options = request->cluster.store;
    options.must_exist = !request->in_memory;
    *ret_count = 0;
    enum ts_store_result checked = ts_cluster_check_urls(request->urls, ret_error);
    if (checked != TS_STORE_OK)
        return checked;
    for (const char *at = request->urls; at;) {
        ts_assert(*ret_count < TS_TXN_PLACES_MAX);
        const char *comma = strchr(at, ',');
        char *url = comma ? strndup(at, (size_t)(comma - at)) : strdup(at);
        if (!url)
            return store__error(ret_error, TS_STORE_FAILED, SIZE_MAX, "out of memory");
        struct ts_store *store = NULL;
        enum ts_store_result result = ts_store_open(url, &options, &store, ret_error);
        free(url);
        if (result != TS_STORE_OK)
            return result;
        size_t place = (*ret_count)++;
        ret_stores[place] = store;
        if (place < BENCH_FAULTY_STORES) {
            struct ts_store *faulty = ts_fault_new(store, place + 1);
            if (!faulty)
                return store__error(ret_error, TS_STORE_FAILED, SIZE_MAX, "out of memory");
            ret_stores[place] = ret_faults->stores[place] = faulty;
        }
        at = comma ? comma + 1 : NULL;
    }
    return TS_STORE_OK;
}

static enum ts_store_result open_with_faults(const struct request *request, struct bench_faults *ret_faults,
                                             struct ts_cluster **ret_cluster,
                                             struct ts_store_error *ret_error) {
    struct ts_store *stores[TS_TXN_PLACES_MAX];
    size_t count = 0;
    enum ts_store_result result = open_faulty(request, ret_faults, stores, &count, ret_error);
    if (result != TS_STORE_OK) {
        for (size_t i = 0; i < count; i++)
            ts_store_close(stores[i]);
        return result;
    }
    if (request->in_memory)
        return ts_cluster_init_over(stores, count, "xxh64", &request->cluster, ret_cluster, ret_error);
    return ts_cluster_open_over(stores, count, &request->cluster, ret_cluster, ret_error);
}

static enum cli_exit open_cluster(const struct request *request, struct bench_faults *ret_faults,
                                  struct ts_cluster **ret_cluster) {
    struct ts_store_error error;
    enum ts_store_result result;
    if (request->scenario == BENCH_FAULTS)
        result = open_with_faults(request, ret_faults, ret_cluster, &error);
    else if (request->in_memory)
        result = ts_cluster_init(request->urls, "xxh64", &request->cluster, ret_cluster, &error);
    else
        result = ts_cluster_open(request->urls, &request->cluster, ret_cluster, &error);
    return result == TS_STORE_OK ? CLI_EXIT_DONE : cli__complain_store("bench xs", &error);
}

/* The parts of a run besides the cluster. release_setup releases the plan and the bank. */
struct setup {
    struct bench_plan plan;
    struct bench_bank bank;
    struct bench_faults faults;
    struct bench_bank_access access;
};

static void release_setup(struct setup *setup) {
    bench__keys_release(&setup->plan.keys);
    bench__zipf_release(&setup->plan.zipf);
    bench__bank_release(&setup->bank);
}

/* Prepares the stores for the scenario before the clock starts. */
static enum cli_exit prepare_stores(struct setup *setup) {
    if (setup->plan.scenario == BENCH_BANK) {
        struct bench_bank_error error;
        if (!bench__bank_open(&setup->bank, &setup->access, &error))
            return cli__complain(CLI_EXIT_INFRASTRUCTURE, "bench xs: cannot make the accounts: %s",
                                 error.text);
        return CLI_EXIT_DONE;
    }
    static struct bench_first first;
    bench__scenario_first(&setup->plan, &first);
    if (first.count == 0)
        return CLI_EXIT_DONE;
    /* Writes directly to the store, because the shortened timeouts are too short for the first connection. */
    struct ts_call call = {.kind = TS_CALL_APPLY,
                           .batch = {first.ops, first.count},
                           .deadline_ns = ts_clock_monotonic_ns() + UINT64_C(1000000) * FIRST_KEYS_MS};
    if (ts_store_run(ts_cluster_store(setup->access.cluster, 0), &call) != TS_STORE_OK)
        return cli__complain_store("bench xs", &call.error);
    return CLI_EXIT_DONE;
}

static enum cli_exit make_plan(const struct request *request, const struct ts_cluster *cluster,
                               struct bench_plan *plan) {
    plan->scenario = request->scenario;
    plan->threads = request->threads;
    if (request->scenario == BENCH_BANK)
        return CLI_EXIT_DONE;
    struct bench_keys_error error;
    if (!bench__keys_init(&plan->keys, cluster, &error)) {
        if (error.no_memory)
            return cli__complain(CLI_EXIT_INFRASTRUCTURE, "bench xs: out of memory");
        return cli__complain(
            CLI_EXIT_REFUSED,
            "bench xs: the cluster's routing sends no keys to store %zu; use a cluster that routes "
            "by a hash",
            error.empty_place);
    }
    if (request->scenario == BENCH_ZIPFIAN && !bench__zipf_init(&plan->zipf, BENCH_POOL_MAX))
        return cli__complain(CLI_EXIT_INFRASTRUCTURE, "bench xs: out of memory");
    return CLI_EXIT_DONE;
}

/* Returns the highest number of retries of a transaction. By default a transaction waits for locks until the
 * total timeout, and the pauses before its retries must fit into that time. One retry is added, because a
 * retry after an attempt that gave way has no pause. */
static uint32_t most_retries(const struct ts_txn_config *config) {
    struct ts_txn_retry_config waits = config->retry;
    struct ts_prng unused;
    waits.jitter_ppm = 0;
    ts_prng_init(&unused, 0);
    uint32_t retries = 0;
    for (uint64_t spent_us = 0; retries < RETRIES_MAX; retries++) {
        spent_us += ts_txn_retry_backoff_us(&waits, retries, &unused);
        if (spent_us > config->timeouts.total_us)
            break;
    }
    retries++;
    return config->retry.max_retries_given || retries < waits.max_retries ? waits.max_retries : retries;
}

static void judge(const struct request *request, const struct setup *setup, struct bench_xs_report *report) {
    (void)bench__metrics_read(setup->access.coordinator, report->before.store_count, &report->metrics);
    struct bench_evidence evidence = {
        .scenario = request->scenario,
        .tally = &report->result.tally,
        .max_retries = most_retries(&request->config),
        .retry_budget_us = request->config.retry.retry_budget_given ? request->config.retry.retry_budget_us
                                                                    : request->config.timeouts.total_us,
        .total_timeout_us = request->config.timeouts.total_us,
        .breaker_trips = report->metrics.breaker_trips,
        .breaker_closed = report->metrics.breaker_closed,
        .faults_struck = bench__faults_struck(&setup->faults),
        .stores_died = setup->faults.deaths,
    };
    if (request->scenario == BENCH_BANK) {
        bench__bank_look(&setup->access, BANK_PATIENCE_MS, &report->look);
        evidence.bank_checked =
            report->look.state == BENCH_BANK_SEEN && report->look.has_total && report->look.unreadable == 0;
        evidence.bank_off = (int64_t)(report->look.found - report->look.expected);
    }
    report->faults_struck = evidence.faults_struck;
    report->stores_died = evidence.stores_died;
    report->check_count = bench__accept(&evidence, report->checks);
}

/* Returns how long a client waits after a refusal: the initial backoff of a retry. In the scenario faults,
 * the pause is at least a quarter of the breaker's recovery timeout, so that an open breaker refuses the
 * client only a few times. */
static uint64_t pause_of(const struct request *request) {
    uint64_t backoff_us = request->config.retry.initial_backoff_us;
    uint64_t breaker_us = request->config.breaker.recovery_timeout_us / 4;
    return request->scenario == BENCH_FAULTS && breaker_us > backoff_us ? breaker_us : backoff_us;
}

static enum cli_exit run_scenario(const struct request *request, struct setup *setup,
                                  struct bench_xs_report *report) {
    enum cli_exit status = make_plan(request, setup->access.cluster, &setup->plan);
    if (status == CLI_EXIT_DONE)
        status = prepare_stores(setup);
    if (status != CLI_EXIT_DONE)
        return status;
    const struct bench_run_options options = {
        .plan = &setup->plan,
        .access = setup->access,
        .bank = request->scenario == BENCH_BANK ? &setup->bank : NULL,
        .faults = request->scenario == BENCH_FAULTS ? &setup->faults : NULL,
        .duration_ms = request->duration_ms,
        .pause_us = pause_of(request),
    };
    if (!bench__metrics_read(setup->access.coordinator, ts_cluster_count(setup->access.cluster),
                             &report->before) ||
        !bench__run(&options, &report->result))
        return cli__complain(CLI_EXIT_INFRASTRUCTURE,
                             "bench xs: out of memory, or a thread cannot be started");
    judge(request, setup, report);
    for (size_t i = 0; i < report->check_count; i++)
        if (!report->checks[i].pass)
            status = CLI_EXIT_FINDINGS;
    return status;
}

static enum cli_exit check_bank(const struct setup *setup, bool as_json) {
    struct bench_bank_look look;
    bench__bank_look(&setup->access, BANK_PATIENCE_MS, &look);
    if (look.state == BENCH_BANK_FAILED)
        return cli__complain(CLI_EXIT_INFRASTRUCTURE, "bench xs: %s", look.text);
    if (look.state == BENCH_BANK_BUSY)
        return cli__complain(
            CLI_EXIT_INCOMPLETE,
            "bench xs: the accounts keep changing, or promises on them are not settled; wait, or run "
            "'turnstone store recover' (%s)",
            look.text);
    return cli__bench_xs_print_bank(&look, as_json) ? CLI_EXIT_DONE : CLI_EXIT_FINDINGS;
}

static enum cli_exit run_bench_xs(const struct cli_arguments *arguments) {
    static struct bench_xs_report report; /* static, because it takes several hundred kilobytes */
    struct request request;
    struct setup setup = {0};
    struct ts_cluster *cluster = NULL;
    struct ts_txn_error_detail detail;
    bool as_json = arguments->values[CLUSTER_JSON] != NULL;
    enum cli_exit status = read_request(arguments, &request);
    if (status == CLI_EXIT_DONE)
        status = open_cluster(&request, &setup.faults, &cluster);
    if (status != CLI_EXIT_DONE)
        return status;
    setup.access = (struct bench_bank_access){
        .cluster = cluster, .call_timeout_ms = request.config.timeouts.shard_rpc_us / 1000 + 1};
    if (ts_coordinator_open(cluster, &request.config, &setup.access.coordinator, &detail) !=
        TS_TXN_ERROR_OK) {
        status = cli__complain(CLI_EXIT_INFRASTRUCTURE, "bench xs: %s", detail.text);
    } else if (request.check) {
        status = check_bank(&setup, as_json);
    } else {
        status = run_scenario(&request, &setup, &report);
        if (status == CLI_EXIT_DONE || status == CLI_EXIT_FINDINGS) {
            report.scenario = request.scenario;
            report.threads = request.threads;
            report.stores = ts_cluster_count(cluster);
            cli__bench_xs_print(&report, as_json);
            enum cli_exit written =
                cli__metrics_write("bench xs", arguments->values[XS_METRICS], setup.access.coordinator, NULL);
            if (written != CLI_EXIT_DONE)
                status = written;
        }
    }
    ts_coordinator_close(setup.access.coordinator);
    ts_cluster_close(cluster);
    release_setup(&setup);
    return cli__finish_stdout(status);
}

#define SCENARIO_CHOICE(suffix, name, specified, percent) "|" name
static const struct cli_option options[] = {
    CLI_CLUSTER_OPTIONS,
    [XS_SCENARIO] = {.name = "scenario",
                     .argument = "NAME",
                     .choices = &BENCH_SCENARIOS(SCENARIO_CHOICE)[1],
                     .help = "what the transactions do, as described above"},
    [XS_THREADS] = {.name = "threads", .argument = "N", .help = "number of concurrent clients (default: 4)"},
    [XS_SECONDS] = {.name = "seconds",
                    .argument = "S",
                    .help = "how long to run, such as 30 or 0.5 (default: 5)"},
    [XS_METRICS] = CLI_METRICS_OPTION,
    [XS_CHECK] = {.name = "check",
                  .help =
                      "with --scenario bank: run nothing, and check whether the existing accounts add up"},
};

#undef SCENARIO_CHOICE

static const struct cli_example examples[] = {
    {"turnstone bench xs --cluster memory:a,memory:b --scenario uniform --threads 1 --seconds 0.2",
     "the cost of the coordinator itself"},
    {"turnstone bench xs --cluster memory:a,memory:b --scenario bank --seconds 0.2 --json",
     "transfers between accounts, with a check of their total"},
};

const struct cli_verb cli__verb_bench_xs = {
    .name = "bench xs",
    .summary = "measure transactions across stores",
    .description =
        "Runs transactions over the stores of a cluster and prints how many committed, how fast, and which "
        "phase took most of the time. Then it prints whether each acceptance criterion holds. The "
        "status is 1 if a criterion does not hold.\n\nuniform: random keys; each transaction uses the next pair of stores.\n\n"
        "zipfian: hot keys (exponent 0.99) on two stores.\n\n"
        "mixed: four of five transactions on one store, the fifth on two.\n\n"
        "pure: every transaction on all stores.\n\n"
        "concurrency: each thread has its own keys and its own pair of stores.\n\n"
        "contended: every transaction writes to all stores, and each store has only two keys.\n\n"
        "faults: on two stores, inserts of ids that exist, lost replies, and a store that is dead for a third of "
        "the time; timeouts are shortened to a fraction of --seconds.\n\n"
        "bank: transfers between accounts spread over all stores; if there are no accounts, one transaction "
        "creates them.\n\nIn zipfian and mixed, a transaction reads its keys and checks that they have not "
        "changed, so that some transactions conflict. The figures of each store show the conflicts, and how "
        "the limit of concurrent transactions changed.\n\nMemory stores are made for the "
        "run. Other clusters must exist ('store init'); keys that begin with bench/ are written and not "
        "removed. Compare figures only within one run on one machine.",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .variables = cli__cluster_variables,
    .variable_count = CLI_CLUSTER_VARIABLES,
    .examples = examples,
    .example_count = sizeof examples / sizeof examples[0],
    .run = run_bench_xs,
};
