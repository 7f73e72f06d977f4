/*
 * turnstone txn: runs the operations on standard input as one atomic transaction, and shows the status of a
 * transaction.
 */
#include "cluster_option.h"
#include "complain.h"
#include "metrics_option.h"
#include "ops.h"
#include "output.h"
#include "verbs.h"

#include "turnstone/txn.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

enum { TXN_RECORD = CLUSTER_OPTIONS, TXN_METRICS };

/* Returns the exit status for an outcome. An abort caused by infrastructure is an infrastructure failure. */
static enum cli_exit exit_of(const struct ts_txn_result *result) {
    switch (result->outcome) {
    case TS_TXN_COMMITTED:
    case TS_TXN_COMMITTED_PENDING:
        return CLI_EXIT_DONE;
    case TS_TXN_UNKNOWN:
        return CLI_EXIT_UNKNOWN;
    case TS_TXN_ABORTED:
    case TS_TXN_REFUSED:
        break;
    }
    switch (ts_store_result_meaning(result->reason)->fault) {
    case TS_STORE_FAULT_CALLER:
        return CLI_EXIT_USAGE;
    case TS_STORE_FAULT_SETUP:
    case TS_STORE_FAULT_STORE:
        return CLI_EXIT_INFRASTRUCTURE;
    case TS_STORE_FAULT_NONE:
    case TS_STORE_FAULT_STATE:
    case TS_STORE_FAULT_LOAD:
    case TS_STORE_FAULT_UNKNOWN:
        break;
    }
    return CLI_EXIT_REFUSED;
}

static bool is_committed(const struct ts_txn_result *result) {
    return result->outcome == TS_TXN_COMMITTED || result->outcome == TS_TXN_COMMITTED_PENDING;
}

static json_t *microseconds(uint64_t us) {
    return json_integer((json_int_t)us);
}

/* Returns the latencies as a JSON object. Each member has the name of its field in the specification.
 * shard_rpc_us is in the order of "stores". */
static json_t *latency_object(const struct ts_txn_result *result) {
    const struct ts_txn_latency *latency = &result->latency;
    json_t *calls = json_array();
    for (size_t i = 0; i < result->place_count; i++)
        json_array_append_new(calls, microseconds(result->places[i].rpc_us));
    return json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "coord_queue_us",
        microseconds(latency->coord_queue_us), "route_plan_us", microseconds(latency->route_plan_us),
        "shard_rpc_us", calls, "shard_rpc_max_us", microseconds(latency->shard_rpc_max_us), "other_rpc_us",
        microseconds(latency->other_rpc_us), "read_phase_us", microseconds(latency->read_phase_us),
        "lock_validate_us", microseconds(latency->lock_validate_us), "prepare_wal_us",
        microseconds(latency->prepare_wal_us), "commit_barrier_us", microseconds(latency->commit_barrier_us),
        "commit_wal_us", microseconds(latency->commit_wal_us), "replication_ack_us",
        microseconds(latency->replication_ack_us), "gc_impact_us", microseconds(latency->gc_impact_us),
        "retry_backoff_us", microseconds(latency->retry_backoff_us), "total_us",
        microseconds(latency->total_us));
}

static void print_json(const struct ts_txn_result *result, const struct cli_ops *ops) {
    char waterfall[TS_TXN_WATERFALL_SIZE];
    ts_txn_latency_waterfall(&result->latency, waterfall);
    json_t *stores = json_array();
    for (size_t i = 0; i < result->place_count; i++)
        json_array_append_new(stores, json_integer((json_int_t)result->places[i].place));
    json_t *object = json_pack("{s:s, s:s, s:o, s:s, s:s, s:i, s:s, s:s, s:o}", "id", result->id, "class",
                               result->global ? "global" : "local", "stores", stores, "outcome",
                               ts_txn_outcome_text(result->outcome), "sqlstate", result->sqlstate, "attempts",
                               (int)result->attempts, "waterfall", waterfall, "dominant_phase",
                               ts_txn_latency_dominant(&result->latency), "latency", latency_object(result));
    if (!is_committed(result)) {
        json_object_set_new(
            object, "reason",
            json_string(result->cause ? result->cause : ts_store_result_text(result->reason)));
        json_object_set_new(object, "text", json_string(result->text));
        if (result->op < ops->count)
            json_object_set_new(object, "line", json_integer((json_int_t)ops->lines[result->op]));
    }
    if (result->timeout)
        json_object_set_new(object, "timeout", json_string(result->timeout));
    json_dumpf(object, stdout, JSON_COMPACT);
    putchar('\n');
    json_decref(object);
}

static void print_text(const struct ts_txn_result *result) {
    char waterfall[TS_TXN_WATERFALL_SIZE];
    ts_txn_latency_waterfall(&result->latency, waterfall);
    printf("%s %s ", result->id[0] ? result->id : "-", ts_txn_outcome_text(result->outcome));
    for (size_t i = 0; i < result->place_count; i++)
        printf(i ? ", %u" : (result->global ? "(global on stores %u" : "(local on store %u"),
               result->places[i].place);
    printf("%s%s\n%s\n", result->place_count > 0 ? ") " : "", result->sqlstate, waterfall);
}

/* Prints an answer for a transaction that was not begun. The answer has the form of other answers, so that
 * scripts need to read only one form. If no store reported an error, the answer repeats the message of
 * standard error. */
static void print_refusal(enum cli_exit status, const struct ts_store_error *error) {
    static const char verb[] = "txn: ";
    static struct ts_txn_result result;
    const char *text = error->text;
    result = (struct ts_txn_result){.outcome = TS_TXN_REFUSED, .op = SIZE_MAX, .reason = error->result};
    if (error->result == TS_STORE_OK) {
        result.reason = status == CLI_EXIT_USAGE ? TS_STORE_BAD_USAGE : TS_STORE_FAILED;
        text = cli__last_complaint();
        text += strncmp(text, verb, strlen(verb)) == 0 ? strlen(verb) : 0;
    }
    snprintf(result.sqlstate, sizeof result.sqlstate, "%s",
             error->sqlstate[0] ? error->sqlstate : ts_store_result_sqlstate(result.reason));
    snprintf(result.text, sizeof result.text, "%s", text);
    print_json(&result, &(struct cli_ops){0});
}

static enum cli_exit open_coordinator(struct ts_cluster *cluster, const struct ts_txn_config *config,
                                      struct ts_coordinator **ret_coordinator,
                                      struct ts_store_error *ret_error) {
    struct ts_txn_error_detail detail;
    if (ts_coordinator_open(cluster, config, ret_coordinator, &detail) == TS_TXN_ERROR_OK)
        return CLI_EXIT_DONE;
    ret_error->result = detail.reason;
    memcpy(ret_error->sqlstate, detail.sqlstate, sizeof ret_error->sqlstate);
    memcpy(ret_error->text, detail.text, sizeof ret_error->text);
    return cli__complain(CLI_EXIT_INFRASTRUCTURE, "txn: %s", detail.text);
}

static enum cli_exit run_transaction(const struct cli_arguments *arguments,
                                     struct ts_coordinator *coordinator, const struct cli_ops *ops) {
    static struct ts_txn_result result;
    struct ts_txn_options options = {.record = arguments->values[TXN_RECORD] != NULL};
    ts_txn_run(coordinator, ops->ops, ops->count, &options, &result);
    enum cli_exit status = exit_of(&result);
    if (arguments->values[CLUSTER_JSON])
        print_json(&result, ops);
    else
        print_text(&result);
    if (status != CLI_EXIT_DONE && result.op < ops->count)
        cli__complain(status, "txn: line %llu: %s", (unsigned long long)ops->lines[result.op], result.text);
    else if (status != CLI_EXIT_DONE)
        cli__complain(status, "txn: %s", result.text);
    enum cli_exit written = cli__metrics_write("txn", arguments->values[TXN_METRICS], coordinator, NULL);
    ts_coordinator_close(coordinator);
    /* The exit status is that of the transaction, even if its result cannot be printed. Otherwise users would
     * repeat the transaction. */
    if (cli__finish_stdout(written) != CLI_EXIT_DONE && is_committed(&result))
        cli__complain(status, "txn: %s is %s, although its report could not be written; do not repeat it",
                      result.id, ts_txn_outcome_text(result.outcome));
    return status;
}

static enum cli_exit run_txn(const struct cli_arguments *arguments) {
    struct ts_txn_config config;
    struct cli_ops ops = {0};
    struct ts_cluster *cluster = NULL;
    struct ts_coordinator *coordinator = NULL;
    struct ts_store_error error = {.result = TS_STORE_OK};
    enum cli_exit status = cli__metrics_check("txn", arguments->values[TXN_METRICS]);
    if (status == CLI_EXIT_DONE)
        status = cli__ops_read("txn", stdin, &ops);
    if (status == CLI_EXIT_DONE)
        status = cli__cluster_open("txn", arguments, CLUSTER_NEED_OPEN, &config, &cluster, &error);
    if (status == CLI_EXIT_DONE)
        status = open_coordinator(cluster, &config, &coordinator, &error);
    if (status == CLI_EXIT_DONE) {
        status = run_transaction(arguments, coordinator, &ops);
    } else if (arguments->values[CLUSTER_JSON]) {
        print_refusal(status, &error);
        status = cli__finish_stdout(status);
    }
    ts_cluster_close(cluster);
    cli__ops_release(&ops);
    return status;
}

static const struct cli_option txn_options[] = {
    CLI_CLUSTER_OPTIONS,
    [TXN_RECORD] = {.name = "record",
                    .help = "store the outcome with the transaction, so that 'txn status' can show it later"},
    [TXN_METRICS] = CLI_METRICS_OPTION,
};

static const struct cli_example txn_examples[] = {
    {"printf '%s\\n' '{\"op\":\"put\",\"key\":\"a\",\"value\":\"1\"}' '{\"op\":\"add\",\"key\":\"n\",\"delta\":1}' | "
     "turnstone txn",
     "put a and increment n, both or neither"},
};

const struct cli_verb cli__verb_txn = {
    .name = "txn",
    .summary = "apply operations as one atomic transaction",
    .description =
        "Reads operations as JSON lines from standard input and applies all of them or none, even if their "
        "keys are on different stores. Prints the transaction's id, its class (local for one store, global "
        "for several), the outcome, the SQLSTATE, and the duration of each phase in "
        "microseconds.\n\n"
        "Operations are {\"op\":\"put\",\"key\":\"a\",\"value\":\"1\"} (or \"value_hex\"), "
        "{\"op\":\"del\",\"key\":\"a\"}, {\"op\":\"add\",\"key\":\"n\",\"delta\":1,\"max\":10}, "
        "{\"op\":\"check\",\"key\":\"a\",\"version\":7} (version 0 means absent, and needs a put of the same "
        "key) and {\"op\":\"before\",\"time_ms\":N}. Keys are text, or any bytes as 0x and hexadecimal "
        "digits. A transaction may write each key only once.\n\n"
        "The outcome 'unknown' (status 5) means that the "
        "transaction may have been committed; if it was run with --record, 'turnstone txn status ID' shows "
        "its outcome. The exit status is that of the transaction, even if its report or the metrics cannot "
        "be written: after a commit it is 0, with a message on standard error. With --json the answer is "
        "always on standard output, even if the operations or the settings are wrong. Keys that begin with a "
        "zero byte are reserved.",
    .options = txn_options,
    .option_count = sizeof txn_options / sizeof txn_options[0],
    .variables = cli__cluster_variables,
    .variable_count = CLI_CLUSTER_VARIABLES,
    .examples = txn_examples,
    .example_count = sizeof txn_examples / sizeof txn_examples[0],
    .run = run_txn,
};

static enum cli_exit run_status(const struct cli_arguments *arguments) {
    if (arguments->operand_count != 1)
        return cli__complain(CLI_EXIT_USAGE, "txn status: expected one transaction id");
    struct ts_txn_config config;
    struct ts_cluster *cluster = NULL;
    enum cli_exit status =
        cli__cluster_open("txn status", arguments, CLUSTER_NEED_SOME, &config, &cluster, NULL);
    if (status != CLI_EXIT_DONE)
        return status;
    struct ts_txn_status answer;
    struct ts_txn_error_detail detail;
    enum ts_txn_error error =
        ts_txn_status(cluster, arguments->operands[0], cli__call_timeout_ms(&config), &answer, &detail);
    if (error != TS_TXN_ERROR_OK) {
        status = cli__complain(error == TS_TXN_ERROR_BAD_ID ? CLI_EXIT_USAGE : CLI_EXIT_INFRASTRUCTURE,
                               "txn status: %s", detail.text);
    } else if (arguments->values[CLUSTER_JSON]) {
        json_t *object = json_pack("{s:s, s:s, s:b, s:i, s:i}", "id", arguments->operands[0], "status",
                                   ts_txn_state_text(answer.state), "recorded", answer.recorded, "promises",
                                   (int)answer.promises, "unreachable", (int)answer.unreachable);
        json_dumpf(object, stdout, JSON_COMPACT);
        putchar('\n');
        json_decref(object);
    } else {
        printf("%s\n", ts_txn_state_text(answer.state));
        if (answer.unreachable > 0 && answer.state == TS_TXN_STATE_UNKNOWN)
            cli__complain(
                CLI_EXIT_UNKNOWN,
                "txn status: %u %s did not answer and may hold a promise; repeat the command when all stores "
                "are reachable",
                answer.unreachable, answer.unreachable == 1 ? "store" : "stores");
    }
    ts_cluster_close(cluster);
    if (status == CLI_EXIT_DONE && answer.state == TS_TXN_STATE_UNKNOWN)
        status = CLI_EXIT_UNKNOWN;
    return cli__finish_stdout(status);
}

static const struct cli_option status_options[] = {CLI_CLUSTER_OPTIONS};

const struct cli_verb cli__verb_txn_status = {
    .name = "txn status",
    .summary = "show the outcome of a transaction",
    .operands = "ID",
    .description =
        "Asks the stores for the outcome of a transaction by its id, from any process: committed, aborted "
        "(also by a resolver or by 'store recover'), pending (promised and not yet decided), or unknown. "
        "The outcome is unknown, with status 5, if the transaction is finished and was run without "
        "--record, or if no store has received it. A damaged record of the transaction is an error with "
        "status 6. Nothing is changed.",
    .options = status_options,
    .option_count = sizeof status_options / sizeof status_options[0],
    .variables = cli__cluster_variables,
    .variable_count = CLI_CLUSTER_VARIABLES,
    .run = run_status,
};
