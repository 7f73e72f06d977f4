#include "forge_option.h"

#include "complain.h"

#include "base/number.h"

#include <unistd.h>

enum cli_exit cli__count_read(const char *verb, const char *name, const char *text, uint32_t max,
                              uint32_t *count) {
    if (text &&
        (ts_u32_parse(ts_bytes_of_cstring(text), count) != TS_NUMBER_OK || *count == 0 || *count > max))
        return cli__complain(CLI_EXIT_USAGE, "%s: --%s must be a whole number from 1 to %u; got '%s'", verb,
                             name, max, cli__quote_text(text).text);
    return CLI_EXIT_DONE;
}

enum cli_exit cli__ca_check(const char *verb, const char *file) {
    if (file && access(file, R_OK) != 0)
        return cli__complain(CLI_EXIT_USAGE, "%s: cannot read the certificates '%s'", verb,
                             cli__quote_text(file).text);
    return CLI_EXIT_DONE;
}

enum cli_exit cli__forge_options_read(const char *verb, const struct cli_arguments *arguments, size_t first,
                                      struct ts_discover_options *ret_options) {
    const char *const *values = arguments->values + first;
    struct ts_discover_options options = {.tokens_file = values[FORGE_TOKENS],
                                          .ca_file = values[FORGE_CA],
                                          .timeout_s = TS_DISCOVER_TIMEOUT_S,
                                          .per_second = TS_DISCOVER_PER_SECOND,
                                          .no_archived = values[FORGE_NO_ARCHIVED] != NULL,
                                          .no_forks = values[FORGE_NO_FORKS] != NULL,
                                          .ssh = values[FORGE_SSH] != NULL};
    enum cli_exit status =
        cli__count_read(verb, "timeout", values[FORGE_TIMEOUT], CLI_TIMEOUT_MAX_S, &options.timeout_s);
    if (status == CLI_EXIT_DONE)
        status = cli__count_read(verb, "rate", values[FORGE_RATE], CLI_RATE_MAX, &options.per_second);
    if (status == CLI_EXIT_DONE)
        status = cli__ca_check(verb, options.ca_file);
    if (status == CLI_EXIT_DONE)
        *ret_options = options;
    return status;
}

bool cli__forge_options_are_given(const struct cli_arguments *arguments, size_t first) {
    for (size_t i = 0; i < FORGE_OPTIONS; i++)
        if (arguments->values[first + i])
            return true;
    return false;
}
