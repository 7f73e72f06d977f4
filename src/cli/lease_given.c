#include "lease_given.h"

#include "complain.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct cli_variable cli__lease_variables[CLI_LEASE_VARIABLES] = {
    {"TURNSTONE_CLUSTER", "the stores, if there is no --cluster; keeps passwords out of the process list"},
    {"TURNSTONE_LEASE", "the lease, or @FILE, if there is no --lease; keeps leases out of the process list"},
};

static enum cli_exit read_file(const char *verb, const char *path, char ret_text[static CLI_LEASE_SIZE]) {
    FILE *file = fopen(path, "re");
    if (!file)
        return cli__complain(CLI_EXIT_USAGE, "%s: cannot open the file of the lease %s: %s", verb,
                             cli__quote_text(path).text, strerror(errno));
    const size_t len = fread(ret_text, 1, CLI_LEASE_SIZE - 1, file);
    const bool failed = ferror(file) != 0;
    const int error = errno;
    (void)fclose(file);
    if (failed)
        return cli__complain(CLI_EXIT_USAGE, "%s: cannot read the file of the lease %s: %s", verb,
                             cli__quote_text(path).text, strerror(error));
    ret_text[len] = '\0';
    ret_text[strcspn(ret_text, "\r\n")] = '\0';
    return CLI_EXIT_DONE;
}

enum cli_exit cli__lease_given(const char *verb, const char *given, char ret_text[static CLI_LEASE_SIZE]) {
    const char *text = given ? given : getenv("TURNSTONE_LEASE"); /* NOLINT(concurrency-mt-unsafe) */
    if (!text)
        return cli__complain(
            CLI_EXIT_USAGE,
            "%s: no lease; give --lease LEASE as 'lease claim' or 'lease acquire' printed it, or @FILE, "
            "or set TURNSTONE_LEASE",
            verb);
    if (text[0] == '@')
        return read_file(verb, text + 1, ret_text);
    /* A text that is too long is not a lease, so truncating it is harmless. */
    snprintf(ret_text, CLI_LEASE_SIZE, "%s", text);
    return CLI_EXIT_DONE;
}
