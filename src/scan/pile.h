/*
 * An array that grows without end: in memory up to a limit, then in an unlinked file that is mapped, so that what was
 * found can be more than what may be held. It moves when it grows: hold places in it, not pointers.
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

/* Beyond held_max bytes it goes to a file in spill_dir, which must outlive it. */
void scan__pile_init(struct scan_pile *pile, size_t held_max, const char *spill_dir);
void scan__pile_release(struct scan_pile *pile);

/* Room for size more bytes at its end, zeroed. False when there is neither memory nor disk. */
bool scan__pile_grow(struct scan_pile *pile, size_t size);

/* Takes away what is behind its first len bytes. */
void scan__pile_cut(struct scan_pile *pile, size_t len);

/* What it holds of ordinary memory. */
size_t scan__pile_held(const struct scan_pile *pile);

#endif
