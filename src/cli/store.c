/*
 * turnstone store init, status, recover and fence: operates a cluster.
 */
#include "cluster_option.h"
#include "complain.h"
#include "output.h"
#include "verbs.h"

#include "base/bytes.h"
#include "base/hex.h"
#include "base/number.h"
#include "turnstone/txn.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

enum { INIT_STRATEGY = CLUSTER_OPTIONS, INIT_RANGES };
enum { SETTLE_TIMEOUT = CLUSTER_OPTIONS, RECOVER_ACCEPT_COPY };
enum { TIMEOUT_DEFAULT_S = 30 };

static void cluster_hex(const struct ts_meta *meta, char ret_text[33]) {
    *ts_hex_encode(ts_bytes_of(meta->cluster, sizeof meta->cluster), ret_text) = '\0';
}

static void print_object(json_t *object) {
    json_dumpf(object, stdout, JSON_COMPACT);
    putchar('\n');
    json_decref(object);
}

/* Writes the routing that the options select: "xxh64" or "range:LIST"; empty if the user did not select a
 * routing. */
static enum cli_exit routing_of(const struct cli_arguments *arguments, char *ret_routing, size_t size) {
    const char *strategy = arguments->values[INIT_STRATEGY];
    const char *ranges = arguments->values[INIT_RANGES];
    bool by_range = strategy && strcmp(strategy, "range") == 0;
    if (by_range != (ranges != NULL))
        return cli__complain(CLI_EXIT_USAGE, "store init: --ranges and --strategy range go together");
    int length = by_range ? snprintf(ret_routing, size, "range:%s", ranges)
                          : snprintf(ret_routing, size, "%s", strategy ? strategy : "");
    if (length < 0 || (size_t)length >= size)
        return cli__complain(CLI_EXIT_USAGE, "store init: --ranges is too long; merge some of its ranges");
    return CLI_EXIT_DONE;
}

static enum cli_exit run_init(const struct cli_arguments *arguments) {
    struct ts_txn_config config;
    struct ts_cluster_options options;
    char routing[TS_META_ROUTING_SIZE];
    const char *urls = cli__cluster_urls("store init", arguments);
    enum cli_exit status = urls ? routing_of(arguments, routing, sizeof routing) : CLI_EXIT_USAGE;
    if (status == CLI_EXIT_DONE)
        status = cli__cluster_options("store init", arguments, &config, &options);
    if (status != CLI_EXIT_DONE)
        return status;
    struct ts_cluster *cluster = NULL;
    struct ts_store_error error;
    if (ts_cluster_init(urls, routing, &options, &cluster, &error) != TS_STORE_OK)
        return cli__complain_store("store init", &error);
    const struct ts_meta *meta = ts_cluster_meta(cluster, 0);
    char id[33];
    cluster_hex(meta, id);
    if (arguments->values[CLUSTER_JSON])
        print_object(json_pack("{s:s, s:I, s:I, s:s}", "cluster", id, "stores",
                               (json_int_t)ts_cluster_count(cluster), "epoch", (json_int_t)meta->epoch,
                               "routing", meta->routing));
    else
        printf("cluster %s: %zu %s by %s, epoch %llu\n", id, ts_cluster_count(cluster),
               ts_cluster_count(cluster) == 1 ? "store" : "stores", meta->routing,
               (unsigned long long)meta->epoch);
    ts_cluster_close(cluster);
    return cli__finish_stdout(CLI_EXIT_DONE);
}

static json_t *store_object(const struct ts_cluster *cluster,
                            const struct ts_txn_cluster_status_store *store) {
    json_t *object = json_pack("{s:I, s:s}", "store", (json_int_t)store->place, "url",
                               ts_store_name(ts_cluster_store(cluster, store->place)));
    if (store->result != TS_STORE_OK) {
        json_object_set_new(object, "error", json_string(store->text));
        return object;
    }
    json_t *counts = json_pack(
        "{s:I, s:s, s:I, s:I, s:I, s:I, s:I}", "epoch", (json_int_t)store->epoch, "state", store->state,
        "promises", (json_int_t)store->promises, "commit_decisions", (json_int_t)store->commit_decisions,
        "abort_decisions", (json_int_t)store->abort_decisions, "coordinators",
        (json_int_t)store->coordinators, "fence_marks", (json_int_t)store->fence_marks);
    json_object_update(object, counts);
    json_decref(counts);
    return object;
}

static void print_status_json(const struct ts_cluster *cluster, const struct ts_txn_cluster_status *status) {
    json_t *stores = json_array();
    json_t *coordinators = json_array();
    json_t *promises = json_array();
    for (size_t i = 0; i < status->store_count; i++)
        json_array_append_new(stores, store_object(cluster, &status->stores[i]));
    for (size_t i = 0; i < status->coordinator_count; i++) {
        const struct ts_txn_cluster_status_coordinator *c = &status->coordinators[i];
        json_t *object = json_pack("{s:s, s:I, s:b}", "coordinator", c->uuid, "store", (json_int_t)c->place,
                                   "fenced", c->fenced);
        if (!c->fenced) {
            json_object_set_new(object, "heartbeat_age_ms", json_integer((json_int_t)c->heartbeat_age_ms));
            json_object_set_new(object, "low_water_mark", json_integer((json_int_t)c->low_water_mark));
            json_object_set_new(object, "total_timeout_ms", json_integer((json_int_t)c->total_timeout_ms));
        }
        json_array_append_new(coordinators, object);
    }
    for (size_t i = 0; i < status->promise_count; i++) {
        const struct ts_txn_cluster_status_promise *p = &status->promises[i];
        json_array_append_new(promises, json_pack("{s:s, s:I, s:I, s:I, s:s, s:b}", "id", p->id, "store",
                                                  (json_int_t)p->place, "decider", (json_int_t)p->decider,
                                                  "age_ms", (json_int_t)p->age_ms, "decision", p->decision,
                                                  "foreign", p->foreign));
    }
    const struct ts_meta *meta = ts_cluster_meta(cluster, 0);
    char id[33];
    cluster_hex(meta, id);
    print_object(json_pack("{s:s, s:s, s:o, s:o, s:o}", "cluster", id, "routing", meta->routing, "stores",
                           stores, "coordinators", coordinators, "promises", promises));
}

static void print_status_text(const struct ts_cluster *cluster, const struct ts_txn_cluster_status *status) {
    const struct ts_meta *meta = ts_cluster_meta(cluster, 0);
    char id[33];
    cluster_hex(meta, id);
    printf("cluster %s, %zu %s by %s\n", id, status->store_count,
           status->store_count == 1 ? "store" : "stores", meta->routing);
    for (size_t i = 0; i < status->store_count; i++) {
        const struct ts_txn_cluster_status_store *s = &status->stores[i];
        const char *name = ts_store_name(ts_cluster_store(cluster, s->place));
        bool is_named = strncmp(s->text, name, strlen(name)) == 0; /* a store's error begins with its name */
        printf("store %u%s%s: ", s->place, is_named ? "" : " ", is_named ? "" : name);
        if (s->result != TS_STORE_OK)
            printf("%s\n", s->text);
        else
            printf(
                "epoch %llu, %s; promises %llu, commit decisions %llu, abort decisions %llu, coordinators %llu, fence "
                "marks %llu\n",
                (unsigned long long)s->epoch, s->state, (unsigned long long)s->promises,
                (unsigned long long)s->commit_decisions, (unsigned long long)s->abort_decisions,
                (unsigned long long)s->coordinators, (unsigned long long)s->fence_marks);
    }
    for (size_t i = 0; i < status->coordinator_count; i++) {
        const struct ts_txn_cluster_status_coordinator *c = &status->coordinators[i];
        if (c->fenced)
            printf("coordinator %s on store %u: fenced\n", c->uuid, c->place);
        else
            printf("coordinator %s on store %u: %llu ms since its heartbeat\n", c->uuid, c->place,
                   (unsigned long long)c->heartbeat_age_ms);
    }
    for (size_t i = 0; i < status->promise_count; i++) {
        const struct ts_txn_cluster_status_promise *p = &status->promises[i];
        if (p->foreign)
            printf("promise %s on store %u: belongs to another cluster, %llu ms old\n", p->id, p->place,
                   (unsigned long long)p->age_ms);
        else
            printf("promise %s on store %u: %llu ms old, decision %s on store %u\n", p->id, p->place,
                   (unsigned long long)p->age_ms, p->decision, p->decider);
    }
}

static enum cli_exit run_status(const struct cli_arguments *arguments) {
    struct ts_txn_config config;
    struct ts_cluster *cluster = NULL;
    enum cli_exit exit =
        cli__cluster_open("store status", arguments, CLUSTER_NEED_SOME, &config, &cluster, NULL);
    if (exit != CLI_EXIT_DONE)
        return exit;
    struct ts_txn_cluster_status status = {0};
    struct ts_txn_error_detail detail;
    if (ts_txn_cluster_status_read(cluster, cli__call_timeout_ms(&config), &status, &detail) !=
        TS_TXN_ERROR_OK)
        exit = cli__complain(CLI_EXIT_INFRASTRUCTURE, "store status: %s", detail.text);
    else if (arguments->values[CLUSTER_JSON])
        print_status_json(cluster, &status);
    else
        print_status_text(cluster, &status);
    /* If a store did not answer, the status is incomplete. */
    for (size_t i = 0; exit == CLI_EXIT_DONE && i < status.store_count; i++)
        if (status.stores[i].result != TS_STORE_OK)
            exit = cli__complain(CLI_EXIT_INFRASTRUCTURE, "store status: store %u: %s",
                                 status.stores[i].place, status.stores[i].text);
    ts_txn_cluster_status_release(&status);
    ts_cluster_close(cluster);
    return cli__finish_stdout(exit);
}

static enum cli_exit timeout_of(const char *verb, const struct cli_arguments *arguments,
                                uint64_t *ret_timeout_ms) {
    const char *text = arguments->values[SETTLE_TIMEOUT];
    uint32_t seconds = TIMEOUT_DEFAULT_S;
    if (text && (ts_u32_parse(ts_bytes_of_cstring(text), &seconds) != TS_NUMBER_OK || seconds == 0))
        return cli__complain(CLI_EXIT_USAGE,
                             "%s: --timeout must be a whole number of seconds, at least 1; got '%s'", verb,
                             cli__quote_text(text).text);
    *ret_timeout_ms = (uint64_t)seconds * 1000;
    return CLI_EXIT_DONE;
}

static enum cli_exit exit_of_error(enum ts_txn_error error) {
    switch (error) {
    case TS_TXN_ERROR_OK:
        return CLI_EXIT_DONE;
    case TS_TXN_ERROR_BAD_ID:
    case TS_TXN_ERROR_BAD_CONFIG:
        return CLI_EXIT_USAGE;
    case TS_TXN_ERROR_UNSETTLED:
        return CLI_EXIT_INCOMPLETE;
    case TS_TXN_ERROR_STORE:
    case TS_TXN_ERROR_EPOCH:
    case TS_TXN_ERROR_NO_MEMORY:
    case TS_TXN_ERROR_SYSTEM:
        break;
    }
    return CLI_EXIT_INFRASTRUCTURE;
}

/* Prints the result of recover or fence. If `epoch` is not NULL, also prints the new epoch. */
static void print_settled(const struct cli_arguments *arguments, const struct ts_txn_settled *settled,
                          const uint64_t *epoch) {
    if (arguments->values[CLUSTER_JSON]) {
        json_t *object =
            json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "seen", (json_int_t)settled->seen,
                      "committed", (json_int_t)settled->committed, "aborted", (json_int_t)settled->aborted,
                      "left", (json_int_t)settled->left, "stuck", (json_int_t)settled->stuck, "foreign",
                      (json_int_t)settled->foreign, "fenced", (json_int_t)settled->fenced, "removed",
                      (json_int_t)settled->removed);
        if (epoch)
            json_object_set_new(object, "epoch", json_integer((json_int_t)*epoch));
        print_object(object);
        return;
    }
    if (epoch)
        printf("epoch %llu: ", (unsigned long long)*epoch);
    printf(
        "promises committed %llu, aborted %llu, left %llu; coordinators fenced %llu, records removed %llu\n",
        (unsigned long long)settled->committed, (unsigned long long)settled->aborted,
        (unsigned long long)settled->left + settled->stuck, (unsigned long long)settled->fenced,
        (unsigned long long)settled->removed);
}

static enum cli_exit run_recover(const struct cli_arguments *arguments) {
    struct ts_txn_config config;
    uint64_t timeout_ms = 0;
    struct ts_cluster *cluster = NULL;
    enum cli_exit exit = timeout_of("store recover", arguments, &timeout_ms);
    const bool accepts = arguments->values[RECOVER_ACCEPT_COPY] != NULL;
    if (exit == CLI_EXIT_DONE)
        exit = cli__cluster_open("store recover", arguments, accepts ? CLUSTER_NEED_COPY : CLUSTER_NEED_SOME,
                                 &config, &cluster, NULL);
    if (exit != CLI_EXIT_DONE)
        return exit;
    struct ts_txn_settled settled = {0};
    struct ts_txn_error_detail detail;
    uint64_t epoch = 0;
    enum ts_txn_error error = accepts ? ts_txn_accept_copy(cluster, timeout_ms, &epoch, &settled, &detail)
                                      : ts_txn_recover(cluster, timeout_ms, &settled, &detail);
    if (error == TS_TXN_ERROR_OK || error == TS_TXN_ERROR_UNSETTLED)
        print_settled(arguments, &settled, epoch != 0 ? &epoch : NULL);
    if (error != TS_TXN_ERROR_OK)
        exit = cli__complain(exit_of_error(error), "store recover: %s", detail.text);
    ts_cluster_close(cluster);
    return cli__finish_stdout(exit);
}

static enum cli_exit run_fence(const struct cli_arguments *arguments) {
    struct ts_txn_config config;
    uint64_t timeout_ms = 0;
    struct ts_cluster *cluster = NULL;
    enum cli_exit exit = timeout_of("store fence", arguments, &timeout_ms);
    if (exit == CLI_EXIT_DONE)
        exit = cli__cluster_open("store fence", arguments, CLUSTER_NEED_ALL, &config, &cluster, NULL);
    if (exit != CLI_EXIT_DONE)
        return exit;
    struct ts_txn_settled settled = {0};
    struct ts_txn_error_detail detail;
    uint64_t epoch = 0;
    enum ts_txn_error error = ts_txn_fence(cluster, timeout_ms, &epoch, &settled, &detail);
    if (error != TS_TXN_ERROR_OK)
        exit = cli__complain(exit_of_error(error), "store fence: %s", detail.text);
    else
        print_settled(arguments, &settled, &epoch);
    ts_cluster_close(cluster);
    return cli__finish_stdout(exit);
}

static const struct cli_option init_options[] = {
    CLI_CLUSTER_OPTIONS,
    [INIT_STRATEGY] =
        {.name = "strategy",
         .argument = "NAME",
         .choices = CLI_NUMBERED_CHOICES(TS_ROUTER_STRATEGIES),
         .help = "how keys map to stores; the cluster remembers it (default for a new cluster: xxh64)"},
    [INIT_RANGES] = {.name = "ranges",
                     .argument = "LIST",
                     .help =
                         "for the strategy range: STORE:START-END,… (see 'turnstone help route'); stores are "
                         "numbered from 0 in the order of --cluster"},
};

static const struct cli_option status_options[] = {CLI_CLUSTER_OPTIONS};

static const struct cli_option settle_options[] = {
    CLI_CLUSTER_OPTIONS,
    [SETTLE_TIMEOUT] = {.name = "timeout",
                        .argument = "SECONDS",
                        .help = "how long each store may take to answer (default: 30)"},
};

static const struct cli_option recover_options[] = {
    CLI_CLUSTER_OPTIONS,
    [SETTLE_TIMEOUT] = {.name = "timeout",
                        .argument = "SECONDS",
                        .help = "how long each store may take to answer (default: 30)"},
    [RECOVER_ACCEPT_COPY] =
        {.name = "accept-copy",
         .help = "accept copied directories as the stores of the cluster, in a new epoch; every store "
                 "must answer"},
};

const struct cli_verb cli__verb_store_init = {
    .name = "store init",
    .summary = "initialise stores as a cluster",
    .description =
        "Assigns each store its place in a new cluster, in the order of the list, and stores the routing "
        "that all processes will use. Repeat the command to finish an interrupted init. It does not change "
        "an existing cluster. It refuses a store that belongs to another cluster.",
    .options = init_options,
    .option_count = sizeof init_options / sizeof init_options[0],
    .variables = cli__cluster_variables,
    .variable_count = CLI_CLUSTER_VARIABLES,
    .run = run_init,
};

const struct cli_verb cli__verb_store_status = {
    .name = "store status",
    .summary = "show the epoch, coordinators and promises of a cluster",
    .description =
        "Shows every store with its epoch and counts, every coordinator with the age of its heartbeat, and "
        "the age and decision of every unfinished promise. It also works on a cluster that is being fenced. "
        "If a server does not answer, it prints the name of the server and ends with status 6.",
    .options = status_options,
    .option_count = sizeof status_options / sizeof status_options[0],
    .variables = cli__cluster_variables,
    .variable_count = CLI_CLUSTER_VARIABLES,
    .run = run_status,
};

const struct cli_verb cli__verb_store_recover = {
    .name = "store recover",
    .summary = "fence all coordinators and settle all promises",
    .description =
        "Fences every coordinator and commits or aborts every promise by its decision. A running process "
        "notices that it was fenced, reports 'unknown' for its transactions in progress, and continues under "
        "a new name. If a store does not answer, the other stores are settled and the status is 4; repeat "
        "the command later. Every command refuses a RocksDB directory that is a copy or is older than the "
        "others; --accept-copy accepts it, for a restored backup. Copy or restore all stores of a cluster "
        "together, while no process has them open: a transaction that is missing on one store cannot be "
        "recovered.",
    .options = recover_options,
    .option_count = sizeof recover_options / sizeof recover_options[0],
    .variables = cli__cluster_variables,
    .variable_count = CLI_CLUSTER_VARIABLES,
    .run = run_recover,
};

const struct cli_verb cli__verb_store_fence = {
    .name = "store fence",
    .summary = "raise the epoch: reject processes of earlier epochs",
    .description =
        "Closes every store to new promises, settles all promises, and opens the next epoch. From then on "
        "every store rejects processes that opened the cluster before. Each step is stored: after a "
        "crash, repeat the command from any process, and it continues where it stopped.",
    .options = settle_options,
    .option_count = sizeof settle_options / sizeof settle_options[0],
    .variables = cli__cluster_variables,
    .variable_count = CLI_CLUSTER_VARIABLES,
    .run = run_fence,
};
