/*
 * Reads rule files of other tools, TOML or YAML, as trees of JSON values.
 */
#ifndef TS_CLI_IMPORT_TREE_H
#define TS_CLI_IMPORT_TREE_H

#include "base/bytes.h"

#include <jansson.h>

struct cli_import_tree_error {
    bool is_memory;
    char text[200];
};

/* Returns the tree, which the caller releases. On failure returns NULL and sets *ret_error. */
json_t *cli__import_tree(struct ts_bytes text, struct cli_import_tree_error *ret_error);

#endif
