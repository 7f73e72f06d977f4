/*
 * "Did you mean": the candidate that a mistyped word is nearest to.
 */
#ifndef TS_CLI_NEAREST_H
#define TS_CLI_NEAREST_H

#include "base/bytes.h"

/* The nearest candidate, or NULL when none is near enough. */
const char *cli__nearest(struct ts_bytes word, const char *const *candidates, size_t count);

#endif
