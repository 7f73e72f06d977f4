/*
 * Finds the candidate that is nearest to a mistyped or abbreviated word, for "did you mean".
 */
#ifndef TS_CLI_NEAREST_H
#define TS_CLI_NEAREST_H

#include "base/bytes.h"

/* Returns the candidate that is nearest to the word. If no candidate is near enough, returns the candidate
 * that the word abbreviates. Returns NULL if there is no such candidate, or if several are possible. */
const char *cli__nearest(struct ts_bytes word, const char *const *candidates, size_t count);

#endif
