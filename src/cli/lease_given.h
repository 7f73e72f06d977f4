/*
 * Reads the lease for a verb: from the command line (which every user of the machine can read), from a file,
 * or from the environment.
 */
#ifndef TS_CLI_LEASE_GIVEN_H
#define TS_CLI_LEASE_GIVEN_H

#include "cluster_option.h"

#include "coord/core/lease_token.h"

/* Longer than any lease. */
enum { CLI_LEASE_SIZE = 2 * TS_LEASE_TOKEN_SIZE };

#define CLI_LEASE_HELP                                                                                       \
    "the lease as 'lease claim' or 'lease acquire' printed it, or @FILE to read it from a file "             \
    "(default: the variable TURNSTONE_LEASE)"

enum { CLI_LEASE_VARIABLES = CLI_CLUSTER_VARIABLES + 1 };
extern const struct cli_variable cli__lease_variables[CLI_LEASE_VARIABLES];

/* Copies the lease to ret_text. Prints an error if there is no lease. `given` is the value of the option, or
 * NULL. */
enum cli_exit cli__lease_given(const char *verb, const char *given, char ret_text[static CLI_LEASE_SIZE]);

#endif
