#include "cluster_option.h"

#include "complain.h"

#include "base/bytes.h"
#include "base/number.h"
#include "config/config.h"

#include <stdlib.h>
#include <string.h>

const struct cli_variable cli__cluster_variables[CLI_CLUSTER_VARIABLES] = {
    CLI_CLUSTER_VARIABLE,
};

const char *cli__cluster_urls(const char *verb, const struct cli_arguments *arguments) {
    const char *urls = arguments->values[CLUSTER_URLS];
    if (!urls)
        urls = getenv("TURNSTONE_CLUSTER");
    if (!urls) {
        cli__complain(CLI_EXIT_USAGE, "%s: no cluster; name one with --cluster URL,… or TURNSTONE_CLUSTER",
                      verb);
        return NULL;
    }
    static const char memory[] = "memory:";
    if (strncmp(urls, memory, strlen(memory)) == 0 || strstr(urls, ",memory:")) {
        cli__complain(CLI_EXIT_USAGE,
                      "%s: a 'memory:' store is lost when the process ends; use rocksdb:DIRECTORY", verb);
        return NULL;
    }
    return urls;
}

/* Reads the configuration: the defaults, changed by the file of --config and then by every --set. */
static enum cli_exit read_config(const char *verb, const struct cli_arguments *arguments,
                                 struct ts_txn_config *ret_config) {
    const char **overrides = calloc(arguments->given_count + 1, sizeof *overrides);
    if (!overrides)
        return cli__complain(CLI_EXIT_INFRASTRUCTURE, "%s: out of memory", verb);
    struct ts_config_options options = {.path = arguments->values[CLUSTER_CONFIG], .overrides = overrides};
    for (size_t i = 0; i < arguments->given_count; i++)
        if (arguments->given[i].option == CLUSTER_SET)
            overrides[options.override_count++] = arguments->given[i].value;
    struct ts_config_error error;
    enum ts_config_result result = ts_config_load(&options, ret_config, &error);
    free(overrides);
    switch (result) {
    case TS_CONFIG_OK:
        return CLI_EXIT_DONE;
    case TS_CONFIG_UNREADABLE:
    case TS_CONFIG_INVALID:
        return cli__complain(CLI_EXIT_USAGE, "%s: %s", verb, error.text);
    case TS_CONFIG_NO_MEMORY:
        break;
    }
    return cli__complain(CLI_EXIT_INFRASTRUCTURE, "%s: %s", verb, error.text);
}

uint64_t cli__call_timeout_ms(const struct ts_txn_config *config) {
    return (config->timeouts.shard_rpc_us + 999) / 1000;
}

enum cli_exit cli__cluster_options(const char *verb, const struct cli_arguments *arguments,
                                   struct ts_txn_config *ret_config, struct ts_cluster_options *ret_options) {
    const char *wait = arguments->values[CLUSTER_WAIT];
    uint32_t seconds = 0;
    if (wait && ts_u32_parse(ts_bytes_of_cstring(wait), &seconds) != TS_NUMBER_OK)
        return cli__complain(CLI_EXIT_USAGE, "%s: --wait must be a whole number of seconds; got '%s'", verb,
                             cli__quote_text(wait).text);
    enum cli_exit status = read_config(verb, arguments, ret_config);
    if (status == CLI_EXIT_DONE)
        *ret_options =
            (struct ts_cluster_options){.store = {.wait_ms = (uint64_t)seconds * 1000,
                                                  .connect_timeout_ms = cli__call_timeout_ms(ret_config)}};
    return status;
}

/* Returns the exit status for the answer of a store. */
static enum cli_exit exit_of(enum ts_store_result result) {
    switch (ts_store_result_meaning(result)->fault) {
    case TS_STORE_FAULT_NONE:
        return CLI_EXIT_DONE;
    case TS_STORE_FAULT_STATE:
        return CLI_EXIT_REFUSED;
    case TS_STORE_FAULT_CALLER:
        return CLI_EXIT_USAGE;
    case TS_STORE_FAULT_UNKNOWN:
        return CLI_EXIT_UNKNOWN;
    case TS_STORE_FAULT_LOAD:
    case TS_STORE_FAULT_SETUP:
    case TS_STORE_FAULT_STORE:
        break;
    }
    return CLI_EXIT_INFRASTRUCTURE;
}

enum cli_exit cli__complain_store(const char *verb, const struct ts_store_error *error) {
    const enum cli_exit status = exit_of(error->result);
    const char *option = error->in_use ? "; --wait SECONDS waits for it" : "";
    return status == CLI_EXIT_DONE ? status : cli__complain(status, "%s: %s%s", verb, error->text, option);
}

enum cli_exit cli__cluster_open(const char *verb, const struct cli_arguments *arguments,
                                enum cluster_need need, struct ts_txn_config *ret_config,
                                struct ts_cluster **ret_cluster, struct ts_store_error *ret_error) {
    const char *urls = cli__cluster_urls(verb, arguments);
    if (!urls)
        return CLI_EXIT_USAGE;
    struct ts_cluster_options options;
    enum cli_exit status = cli__cluster_options(verb, arguments, ret_config, &options);
    if (status != CLI_EXIT_DONE)
        return status;
    options.any_step = need != CLUSTER_NEED_OPEN;
    options.some_down = need == CLUSTER_NEED_OPEN || need == CLUSTER_NEED_SOME;
    options.accept_copy = need == CLUSTER_NEED_COPY;
    options.store.must_exist = true;
    struct ts_store_error error = {0};
    struct ts_store_error *told = ret_error != NULL ? ret_error : &error;
    if (ts_cluster_open(urls, &options, ret_cluster, told) != TS_STORE_OK)
        return cli__complain_store(verb, told);
    return CLI_EXIT_DONE;
}
