/*
 * Patterns for paths, as in allow-lists.
 *
 *     *       any characters but '/'         ?      one character but '/'        [a-z] [!a-z]   one of them
 *     **      any characters, also slashes   a, a slash and two stars: everything below a
 *
 * A pattern without '/' (except at its end) matches the last part of the path, or any folder of the path.
 * Other patterns begin at the top. A pattern that ends with '/', or that names a folder, matches everything
 * below it. An archive is a folder, too: "deploy.zip" matches "deploy.zip!/etc/app.env".
 */
#ifndef TS_DETECT_GLOB_H
#define TS_DETECT_GLOB_H

#include <stdbool.h>

/* Longer paths and patterns match nothing, because the time is proportional to the product of both lengths. */
#define TS_GLOB_PATH_MAX    4096
#define TS_GLOB_PATTERN_MAX 512

bool ts_glob_matches(const char *pattern, const char *path);

/* Returns NULL if the pattern is valid, otherwise the problem. */
const char *ts_glob_problem(const char *pattern);

#endif
