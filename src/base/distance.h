/*
 * The distance between two short words, for "did you mean": the number of insertions, deletions,
 * substitutions and swaps of neighbours that turn one word into the other. No part is edited twice (optimal
 * string alignment).
 */
#ifndef TS_BASE_DISTANCE_H
#define TS_BASE_DISTANCE_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stddef.h>

/* Longer words are compared for equality only. */
#define TS_DISTANCE_LEN_MAX 64

/* Returns the distance if it is at most `bound`, otherwise bound + 1. `bound` is below SIZE_MAX. */
size_t ts_distance(struct ts_bytes a, struct ts_bytes b, size_t bound);

/*
 * Sets *ret_index to the nearest candidate, or to the first one if several are equally near. Returns false
 * when no candidate is near. Near means a distance of at most 1 for a word of up to 3 letters, 2 for up to 6,
 * and 3 for longer words. A word of one letter is near only to itself.
 */
bool ts_distance_nearest(struct ts_bytes word, const char *const *candidates, size_t count,
                         size_t *ret_index);

#endif
