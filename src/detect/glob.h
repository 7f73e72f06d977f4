/*
 * Patterns for paths, as in allow-lists.
 *
 *     *       any characters but '/'         ?      one character but '/'        [a-z] [!a-z]   one of them
 *     **      any characters, also slashes   a, a slash and two stars: everything below a
 *
 * A pattern without '/' (but at its end) is meant for the last part of the path or any folder on the way;
 * others begin at the top. A pattern that ends with '/', or that names a folder, is meant for everything
 * below it.
 */
#ifndef TS_DETECT_GLOB_H
#define TS_DETECT_GLOB_H

#include <stdbool.h>

/* Longer paths and patterns match nothing. Takes time in proportion to the product of both lengths. */
#define TS_GLOB_PATH_MAX    4096
#define TS_GLOB_PATTERN_MAX 512

bool ts_glob_matches(const char *pattern, const char *path);

/* NULL when it is a pattern, otherwise what is wrong with it. */
const char *ts_glob_problem(const char *pattern);

#endif
