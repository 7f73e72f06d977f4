/*
 * Arrays that grow. All calls of realloc are here.
 */
#ifndef TS_OS_GROW_H
#define TS_OS_GROW_H

#include <stdbool.h>
#include <stddef.h>

/* Makes room for `needed` elements. If the array must grow, its capacity grows by at least a half. Returns
 * false when memory runs out; the array is then unchanged. */
bool ts_grow(void **array, size_t *capacity, size_t needed, size_t element_size);

/* Calls ts_grow for an array with a type: TS_GROW(rows, capacity, count + 1). */
#define TS_GROW(array, capacity, needed)                                                                     \
    ts_grow((void **)&(array), &(capacity), (needed), sizeof(__typeof__(*(array))))

#endif
