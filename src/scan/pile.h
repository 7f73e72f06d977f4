/*
 * A pile is an array without a size limit: in memory up to a limit, then in an unlinked mapped file, so that
 * findings may need more than the memory. A pile moves when it grows, so callers keep positions, not
 * pointers.
 */
#ifndef TS_SCAN_PILE_H
#define TS_SCAN_PILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct scan_pile {
    uint8_t *bytes;
    size_t len;
    size_t capacity;
    size_t held_max;
    const char *spill_dir;
    int fd; /* -1 while the pile is in memory */
};

/* Makes an empty pile. Beyond held_max bytes, it moves to a file in spill_dir. The text spill_dir must stay
 * valid as long as the pile exists. */
void scan__pile_init(struct scan_pile *pile, size_t held_max, const char *spill_dir);
void scan__pile_release(struct scan_pile *pile);

/* Adds size zeroed bytes at the end of the pile. Returns false when memory or disk space runs out. */
bool scan__pile_grow(struct scan_pile *pile, size_t size);

/* Truncates the pile to len bytes. */
void scan__pile_cut(struct scan_pile *pile, size_t len);

#endif
