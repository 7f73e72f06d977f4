/* What looking at whole contents and at windows share. */
#ifndef TS_SCAN_LOOK_IMPL_H
#define TS_SCAN_LOOK_IMPL_H

#include "look.h"

/* Makes room for `count` elements. False when there is no memory. */
bool scan__grow(void **array, size_t *capacity, size_t count, size_t element_size);
#define SCAN_GROW(array, capacity, count) scan__grow((void **)&(array), &(capacity), (count), sizeof *(array))

/* Adds what is found to look->raw. */
ts_match_found scan__look_found;

/* To be called when all of look->raw is there, before judging. False when there is no memory. */
bool scan__look_prepare(struct scan_look *look);

/* A match where it stands in the bytes, as a hit. Matches come in order of their secrets. False when it cannot be kept. */
bool scan__look_judge(struct scan_look *look, struct ts_bytes bytes, const struct ts_match *match,
                      struct scan_lines *lines, struct scan_hit *ret_hit);

#endif
