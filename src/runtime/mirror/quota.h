/*
 * Counts the disk space of all mirrors below a root, and evicts the mirrors that were used longest ago.
 *
 * Lock files have the sizes, so that counting need not walk through the mirrors. Between two counts the sum
 * is an estimate, because other processes use the root, too. A locked mirror is not evicted, so mirrors in
 * use may exceed the quota.
 */
#ifndef TS_RUNTIME_MIRROR_QUOTA_H
#define TS_RUNTIME_MIRROR_QUOTA_H

#include <pthread.h>
#include <stdint.h>

struct mirror__quota {
    pthread_mutex_t lock; /* guards everything below; its holder only tries locks of slots */
    uint64_t used;        /* bytes */
    uint64_t counted_ns;  /* time of the last count; 0: none yet */
};

/* Adds the growth of a mirror. If a count is due, counts all mirrors, and evicts some if necessary. */
void mirror__quota_grow(struct mirror__quota *quota, const char *root, uint64_t max, uint64_t bytes);

#endif
