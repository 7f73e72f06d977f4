/*
 * Finds the candidate that is nearest to a mistyped word, for "did you mean".
 */
#ifndef TS_CLI_NEAREST_H
#define TS_CLI_NEAREST_H

#include "base/bytes.h"

/* Returns the candidate that is nearest to the word, or NULL if no candidate is near enough. */
const char *cli__nearest(struct ts_bytes word, const char *const *candidates, size_t count);

#endif
