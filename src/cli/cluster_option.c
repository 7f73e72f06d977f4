#include "cluster_option.h"

#include "complain.h"

#include "base/bytes.h"
#include "base/number.h"

#include <stdlib.h>
#include <string.h>

const struct cli_variable cli__cluster_variables[CLI_CLUSTER_VARIABLES] = {
    {"TURNSTONE_CLUSTER",
     "the stores, when --cluster is not given; keeps passwords out of the list of processes"},
};

const char *cli__cluster_urls(const char *verb, const struct cli_arguments *arguments) {
    const char *urls = arguments->values[CLUSTER_URLS];
    if (!urls)
        urls = getenv("TURNSTONE_CLUSTER");
    if (!urls) {
        cli__complain(CLI_EXIT_USAGE, "%s: which cluster? --cluster URL,… or TURNSTONE_CLUSTER says it",
                      verb);
        return NULL;
    }
    static const char memory[] = "memory:";
    if (strncmp(urls, memory, strlen(memory)) == 0 || strstr(urls, ",memory:")) {
        cli__complain(
            CLI_EXIT_USAGE,
            "%s: a memory: store ends with the process, so nothing would be left of this; use rocksdb:DIRECTORY",
            verb);
        return NULL;
    }
    return urls;
}

enum cli_exit cli__cluster_options(const char *verb, const struct cli_arguments *arguments,
                                   struct ts_cluster_options *ret_options) {
    const char *wait = arguments->values[CLUSTER_WAIT];
    uint32_t seconds = 0;
    if (wait && ts_u32_parse(ts_bytes_of_cstring(wait), &seconds) != TS_NUMBER_OK)
        return cli__complain(CLI_EXIT_USAGE, "%s: --wait must be a whole number of seconds; got '%s'", verb,
                             cli__quote_text(wait).text);
    *ret_options = (struct ts_cluster_options){.store = {.wait_ms = (uint64_t)seconds * 1000}};
    return CLI_EXIT_DONE;
}

void cli__cluster_options_timeout(const struct ts_txn_config *config, struct ts_cluster_options *options) {
    options->store.connect_timeout_ms = (config->timeouts.shard_rpc_us + 999) / 1000;
}

/* Whether a result comes from how the command was called, rather than from the world. */
enum cli_exit cli__complain_store(const char *verb, const struct ts_store_error *error) {
    enum cli_exit status = CLI_EXIT_INFRASTRUCTURE;
    switch (error->result) {
    case TS_STORE_OK:
        return CLI_EXIT_DONE;
    case TS_STORE_BAD_USAGE:
    case TS_STORE_BAD_BATCH:
    case TS_STORE_TOO_LARGE:
        status = CLI_EXIT_USAGE;
        break;
    case TS_STORE_CHECK_FAILED:
    case TS_STORE_LATE:
    case TS_STORE_LIMIT:
    case TS_STORE_NOT_A_COUNTER:
    case TS_STORE_LOCK_CONFLICT:
    case TS_STORE_NO_SUCH_PROMISE:
    case TS_STORE_PROMISE_EXISTS:
        status = CLI_EXIT_REFUSED;
        break;
    case TS_STORE_UNKNOWN:
        status = CLI_EXIT_UNKNOWN;
        break;
    case TS_STORE_BUSY:
    case TS_STORE_UNAVAILABLE:
    case TS_STORE_TIMED_OUT:
    case TS_STORE_FULL:
    case TS_STORE_FOREIGN:
    case TS_STORE_CLOSING:
    case TS_STORE_BAD_CONFIGURATION:
    case TS_STORE_DAMAGED:
    case TS_STORE_FAILED:
        break;
    }
    return cli__complain(status, "%s: %s", verb, error->text);
}

enum cli_exit cli__cluster_open(const char *verb, const struct cli_arguments *arguments,
                                enum cluster_need need, const struct ts_txn_config *config,
                                struct ts_cluster **ret_cluster) {
    const char *urls = cli__cluster_urls(verb, arguments);
    if (!urls)
        return CLI_EXIT_USAGE;
    struct ts_cluster_options options;
    enum cli_exit status = cli__cluster_options(verb, arguments, &options);
    if (status != CLI_EXIT_DONE)
        return status;
    options.any_step = need != CLUSTER_NEED_OPEN;
    options.some_down = need == CLUSTER_NEED_SOME;
    options.store.must_exist = true;
    if (config)
        cli__cluster_options_timeout(config, &options);
    struct ts_store_error error;
    if (ts_cluster_open(urls, &options, ret_cluster, &error) != TS_STORE_OK)
        return cli__complain_store(verb, &error);
    return CLI_EXIT_DONE;
}
