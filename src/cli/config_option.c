#include "config_option.h"

#include "complain.h"

#include "config/config.h"

#include <stdlib.h>

enum cli_exit cli__config_read(const char *verb, const struct cli_arguments *arguments, size_t config,
                               size_t set, struct ts_txn_config *ret_config) {
    const char **overrides = calloc(arguments->given_count + 1, sizeof *overrides);
    if (!overrides)
        return cli__complain(CLI_EXIT_INFRASTRUCTURE, "%s: out of memory", verb);
    struct ts_config_options options = {.path = arguments->values[config], .overrides = overrides};
    for (size_t i = 0; i < arguments->given_count; i++)
        if (arguments->given[i].option == set)
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
