/*
 * The options that every verb on a cluster has, and functions that open the cluster.
 */
#ifndef TS_CLI_CLUSTER_OPTION_H
#define TS_CLI_CLUSTER_OPTION_H

#include "verb.h"

#include "store/cluster/cluster.h"
#include "txn/guard/txn_config.h"

/* These options come first in the option table of every verb on a cluster. */
enum { CLUSTER_URLS, CLUSTER_WAIT, CLUSTER_JSON, CLUSTER_CONFIG, CLUSTER_SET, CLUSTER_OPTIONS };

#define CLI_CLUSTER_OPTIONS                                                                                  \
    [CLUSTER_URLS] = {.name = "cluster",                                                                     \
                      .argument = "URL,…",                                                                   \
                      .help = "the stores of the cluster, always in the same order: rocksdb:DIRECTORY or "   \
                              "postgresql://HOST,…/DATABASE (default: the variable TURNSTONE_CLUSTER)"},     \
    [CLUSTER_WAIT] = {.name = "wait",                                                                        \
                      .argument = "SECONDS",                                                                 \
                      .help =                                                                                \
                          "how long to wait for a directory that another process has open (default: 0)"},    \
    [CLUSTER_JSON] = {.name = "json", .help = "print JSON"},                                                 \
    [CLUSTER_CONFIG] =                                                                                       \
        {.name = "config",                                                                                   \
         .argument = "FILE",                                                                                 \
         .help = "the configuration file (default: the user's turnstone/config.yml; if there is none, "      \
                 "the system's)"},                                                                           \
    [CLUSTER_SET] = {                                                                                        \
        .name = "set",                                                                                       \
        .argument = "NAME=VALUE",                                                                            \
        .many = true,                                                                                        \
        .help = "override one setting of the configuration, such as timeouts.prepare=2s; may be repeated"}

/* The environment variable that names the stores if --cluster is absent. */
#define CLI_CLUSTER_VARIABLE                                                                                 \
    { "TURNSTONE_CLUSTER", "the stores, if there is no --cluster; keeps passwords out of the process list" }
enum { CLI_CLUSTER_VARIABLES = 1 };
extern const struct cli_variable cli__cluster_variables[CLI_CLUSTER_VARIABLES];

/* Returns the list of the stores' URLs. Prints an error and returns NULL if there is no list, or if the
 * stores of the list are only in memory. */
const char *cli__cluster_urls(const char *verb, const struct cli_arguments *arguments);

/*
 * Reads the configuration (defaults, then the file, then every --set). Sets *ret_options from the
 * configuration and from --wait: connecting takes at most timeouts.shard_rpc, like every other call without
 * locks. Prints an error when a setting is wrong.
 */
enum cli_exit cli__cluster_options(const char *verb, const struct cli_arguments *arguments,
                                   struct ts_txn_config *ret_config, struct ts_cluster_options *ret_options);

/*
 * How much of the cluster must be available. OPEN: at least one store must answer. Every store that answers
 * must be open, and later calls to the other stores fail. With ALL, SOME and COPY, a change of the epoch may
 * be in progress. ALL: all stores must answer. SOME: at least one store must answer. COPY: all stores must
 * answer; copies are accepted.
 */
enum cluster_need { CLUSTER_NEED_OPEN, CLUSTER_NEED_ALL, CLUSTER_NEED_SOME, CLUSTER_NEED_COPY };

/* Reads the configuration and opens the cluster. On failure prints the reason; ret_error, which may be NULL,
 * gets the error of the store. */
enum cli_exit cli__cluster_open(const char *verb, const struct cli_arguments *arguments,
                                enum cluster_need need, struct ts_txn_config *ret_config,
                                struct ts_cluster **ret_cluster, struct ts_store_error *ret_error);

/* Returns the timeout of a store call that waits for no lock, rounded up to milliseconds. */
uint64_t cli__call_timeout_ms(const struct ts_txn_config *config);

/* Prints a store's error, and returns the exit status for it. */
enum cli_exit cli__complain_store(const char *verb, const struct ts_store_error *error);

#endif
