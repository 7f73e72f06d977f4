/*
 * Large tables that are read in random order. In pages of 4 KiB, most reads would also miss the translation
 * cache of the processor. So large tables are in huge pages if the system has them.
 */
#ifndef TS_GIT_TABLE_H
#define TS_GIT_TABLE_H

#include <stddef.h>

/* Allocates a table with malloc or aligned_alloc: the caller calls free. Returns NULL when memory runs
 * out. */
void *git__table_new(size_t count, size_t item_size);

/* Like git__table_new, with all bytes zero. */
void *git__table_new_zeroed(size_t count, size_t item_size);

#endif
