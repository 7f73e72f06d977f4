#include "os/grow.h"

#include "base/checked.h"

#include <stdlib.h>

enum { CAPACITY_MIN = 8 };

bool ts_grow(void **array, size_t *capacity, size_t needed, size_t element_size) {
    if (needed <= *capacity)
        return true;
    size_t larger = *capacity < CAPACITY_MIN ? CAPACITY_MIN : *capacity;
    while (larger < needed)
        if (!ts_checked_add_size(larger, larger / 2 + 1, &larger))
            return false;
    size_t bytes;
    if (!ts_checked_mul_size(larger, element_size, &bytes))
        return false;
    void *grown = realloc(*array, bytes);
    if (grown == NULL)
        return false;
    *array = grown;
    *capacity = larger;
    return true;
}
