/*
 * An array without a size limit: in memory up to a limit, then in an unlinked mapped file, so that there can
 * be more findings than memory. It moves when it grows: use positions in it, not pointers.
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
    int fd; /* -1 while it is in memory */
};

/* Beyond held_max bytes the pile moves to a file in spill_dir. The text spill_dir must stay valid as long as
 * the pile. */
void scan__pile_init(struct scan_pile *pile, size_t held_max, const char *spill_dir);
void scan__pile_release(struct scan_pile *pile);

/* Adds size zeroed bytes at its end. Returns false when memory and disk run out. */
bool scan__pile_grow(struct scan_pile *pile, size_t size);

/* Truncates it to len bytes. */
void scan__pile_cut(struct scan_pile *pile, size_t len);

#endif
