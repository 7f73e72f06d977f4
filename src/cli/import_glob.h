/*
 * Converts regular expressions for paths, as other tools have them, to path patterns (detect/glob.h).
 */
#ifndef TS_CLI_IMPORT_GLOB_H
#define TS_CLI_IMPORT_GLOB_H

#include <stdbool.h>
#include <stddef.h>

#define CLI_IMPORT_GLOBS_MAX 64
#define CLI_IMPORT_GLOB_SIZE 200

/* The patterns for an expression. They match exactly the paths that the expression matches, with one
 * exception: a pattern that matches a folder also matches everything below the folder. */
struct cli_import_globs {
    size_t count;
    char texts[CLI_IMPORT_GLOBS_MAX][CLI_IMPORT_GLOB_SIZE];
};

/* Converts an expression. Returns false if path patterns cannot express it, if there are too many patterns,
 * or if memory runs out. */
bool cli__import_globs(const char *regex, struct cli_import_globs *ret_globs);

#endif
