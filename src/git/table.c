#include "table.h"

#include "base/checked.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define HUGE_PAGE ((size_t)2 << 20)

void *git__table_new(size_t count, size_t item_size) {
    size_t bytes;
    if (!ts_checked_mul_size(count, item_size, &bytes))
        return NULL;
    if (bytes < 2 * HUGE_PAGE || bytes > SIZE_MAX / 2)
        return malloc(bytes > 0 ? bytes : 1);
    size_t whole = bytes / HUGE_PAGE * HUGE_PAGE;
    void *table = aligned_alloc(HUGE_PAGE, whole == bytes ? whole : whole + HUGE_PAGE);
    if (table != NULL)
        (void)madvise(table, whole, MADV_HUGEPAGE); /* without huge pages, access is only slower */
    return table;
}

void *git__table_new_zeroed(size_t count, size_t item_size) {
    void *table = git__table_new(count, item_size);
    if (table != NULL && count > 0)
        memset(table, 0, count * item_size);
    return table;
}
