/*
 * Reads the part of TOML 1.0 that configurations of other tools use, as a tree of JSON values. Dates are
 * texts. Debian has no TOML parser for C.
 */
#ifndef TS_CLI_TOML_H
#define TS_CLI_TOML_H

#include "base/bytes.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct cli_toml_error {
    size_t line;    /* number of the line, from 1; 0: memory ran out */
    char text[100]; /* what is wrong in the line; never a part of the file */
};

/* Returns a JSON object, which the caller releases. On failure returns NULL and sets *ret_error. */
json_t *cli__toml_parse(struct ts_bytes text, struct cli_toml_error *ret_error);

#endif
