/*
 * --config FILE and --set NAME=VALUE.
 */
#ifndef TS_CLI_CONFIG_OPTION_H
#define TS_CLI_CONFIG_OPTION_H

#include "verb.h"

#include "txn/txn_config.h"

#define CLI_CONFIG_OPTION                                                                                    \
    {                                                                                                        \
        .name = "config", .argument = "FILE",                                                                \
        .help = "the configuration; without it the user's turnstone/config.yml, or else the system's"        \
    }
#define CLI_SET_OPTION                                                                                       \
    {                                                                                                        \
        .name = "set", .argument = "NAME=VALUE", .many = true,                                               \
        .help = "one setting instead of the configuration's, such as timeouts.prepare=2s; may be repeated"   \
    }

/* Defaults, then the file, then every --set. `config` and `set` are the options' places in the verb's table. */
enum cli_exit cli__config_read(const char *verb, const struct cli_arguments *arguments, size_t config,
                               size_t set, struct ts_txn_config *ret_config);

#endif
