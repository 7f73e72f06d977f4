/*
 * What every verb on a cluster takes, and opening the cluster that it names.
 */
#ifndef TS_CLI_CLUSTER_OPTION_H
#define TS_CLI_CLUSTER_OPTION_H

#include "verb.h"

#include "store/cluster.h"
#include "txn/txn_config.h"

/* These stand first in the option table of such a verb. */
enum { CLUSTER_URLS, CLUSTER_WAIT, CLUSTER_JSON, CLUSTER_OPTIONS };

#define CLI_CLUSTER_OPTIONS                                                                                  \
    [CLUSTER_URLS] =                                                                                         \
        {.name = "cluster",                                                                                  \
         .argument = "URL,…",                                                                                \
         .help = "the stores, in their order: rocksdb:DIRECTORY or postgresql://…; without it, the "       \
                 "variable TURNSTONE_CLUSTER"},                                                              \
    [CLUSTER_WAIT] = {.name = "wait",                                                                        \
                      .argument = "SECONDS",                                                                 \
                      .help =                                                                                \
                          "how long to wait for a directory that another process has open; 0 unless given"}, \
    [CLUSTER_JSON] = {.name = "json", .help = "print JSON"}

/* What the environment says instead of --cluster. */
enum { CLI_CLUSTER_VARIABLES = 1 };
extern const struct cli_variable cli__cluster_variables[CLI_CLUSTER_VARIABLES];

/* The list of URLs that was given, or NULL after saying that there is none, or that nothing of it would last. */
const char *cli__cluster_urls(const char *verb, const struct cli_arguments *arguments);

/* Fills the options from --wait; complains when it is not a number of seconds. */
enum cli_exit cli__cluster_options(const char *verb, const struct cli_arguments *arguments,
                                   struct ts_cluster_options *ret_options);

/* Lets timeouts.shard_rpc bound connecting, as it bounds every other call that is no phase of its own. */
void cli__cluster_options_timeout(const struct ts_txn_config *config, struct ts_cluster_options *options);

/*
 * How much of the cluster must be there: all stores and open; all, in whatever steps of changing the epoch; or, in
 * whatever steps, as many of its servers as answer, but one.
 */
enum cluster_need { CLUSTER_NEED_OPEN, CLUSTER_NEED_ALL, CLUSTER_NEED_SOME };

/* Opens the cluster, or says why not. The configuration may be NULL: the defaults. */
enum cli_exit cli__cluster_open(const char *verb, const struct cli_arguments *arguments,
                                enum cluster_need need, const struct ts_txn_config *config,
                                struct ts_cluster **ret_cluster);

/* The status that a store's answer ends a verb with, after saying it. */
enum cli_exit cli__complain_store(const char *verb, const struct ts_store_error *error);

#endif
