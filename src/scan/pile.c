#include "pile.h"

#include "base/checked.h"
#include "os/unnamed_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define CAPACITY_MIN ((size_t)64 << 10)

void scan__pile_init(struct scan_pile *pile, size_t held_max, const char *spill_dir) {
    *pile = (struct scan_pile){.held_max = held_max, .spill_dir = spill_dir, .fd = -1};
}

void scan__pile_release(struct scan_pile *pile) {
    if (pile->bytes != NULL)
        munmap(pile->bytes, pile->capacity);
    if (pile->capacity > 0 && pile->fd >= 0)
        close(pile->fd);
    *pile = (struct scan_pile){.fd = -1};
}

/* Moves the pile to a file of this capacity, or enlarges its file. Reserves disk blocks, so that a full disk
 * causes an error here and not a signal later. */
static bool to_file(struct scan_pile *pile, size_t capacity) {
    bool was_held = pile->fd < 0;
    int fd = was_held ? ts_unnamed_file_open(pile->spill_dir) : pile->fd;
    off_t size;
    if (fd < 0 || __builtin_add_overflow(capacity, 0, &size) || posix_fallocate(fd, 0, size) != 0) {
        if (was_held && fd >= 0)
            close(fd);
        return false;
    }
    uint8_t *bytes = mmap(NULL, capacity, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (bytes == MAP_FAILED) {
        if (was_held)
            close(fd);
        return false;
    }
    if (was_held && pile->len > 0)
        memcpy(bytes, pile->bytes, pile->len);
    if (pile->bytes != NULL)
        munmap(pile->bytes, pile->capacity);
    pile->bytes = bytes;
    pile->capacity = capacity;
    pile->fd = fd;
    return true;
}

static bool to_memory(struct scan_pile *pile, size_t capacity) {
    void *bytes = pile->bytes == NULL
                      ? mmap(NULL, capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                      : mremap(pile->bytes, pile->capacity, capacity, MREMAP_MAYMOVE);
    if (bytes == MAP_FAILED)
        return false;
    pile->bytes = bytes;
    pile->capacity = capacity;
    return true;
}

bool scan__pile_grow(struct scan_pile *pile, size_t size) {
    size_t needed;
    if (!ts_checked_add_size(pile->len, size, &needed) || needed > SIZE_MAX / 4)
        return false;
    size_t capacity = pile->capacity == 0 ? CAPACITY_MIN : pile->capacity;
    while (capacity < needed)
        capacity += capacity / 2;
    capacity = (capacity + 4095) & ~(size_t)4095;
    if (capacity > pile->capacity &&
        !(pile->fd < 0 && capacity <= pile->held_max ? to_memory(pile, capacity) : to_file(pile, capacity)))
        return false;
    pile->len = needed;
    return true;
}

void scan__pile_cut(struct scan_pile *pile, size_t len) {
    if (pile->len > len)
        memset(pile->bytes + len, 0, pile->len - len); /* bytes that are added later must be zero */
    pile->len = len;
}
