/*
 * The targets that a command line names: addresses, lists, folders, standard input, requests to forges.
 */
#ifndef TS_CLI_TARGET_REQUEST_H
#define TS_CLI_TARGET_REQUEST_H

#include "exit_status.h"

#include "runtime/driver/target_list.h"

struct cli_target_request {
    const char *verb; /* name of the verb, for messages */
    struct ts_target_defaults defaults;
    struct ts_discover_options forge; /* options of requests to forges */
    struct ts_target_list list;
};

/* Adds the targets of an operand; `number` counts operands from 1, for messages. A folder contains
 * repositories, a file is a list, '-' is a list on standard input, a request to a forge means the
 * repositories that the forge lists, and anything else is an address. Continues after a wrong line, so that
 * all wrong lines are reported. */
enum cli_exit cli__target_request_add(struct cli_target_request *request, const char *operand, size_t number);

#endif
