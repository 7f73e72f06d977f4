/*
 * A ring of fixed capacity: pushing into a full ring overwrites the oldest element. No allocation.
 *
 *     typedef TS_RING(struct op, 16) op_log;     a type
 *     TS_RING(uint64_t, 8) recent;               or a member of a struct
 *
 * {0} is an empty ring. The storage is inside and there are no pointers, so a ring may be copied like any
 * struct. The operations take a pointer to a ring of any element type and capacity. Access to an element that
 * does not exist is a programming error.
 */
#ifndef TS_BASE_RING_H
#define TS_BASE_RING_H

#include "base/assert.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct ts_ring {
    size_t oldest; /* index of the oldest element; below the capacity */
    size_t count;  /* at most the capacity */
};

#define TS_RING(element_type, capacity)                                                                      \
    struct {                                                                                                 \
        struct ts_ring head;                                                                                 \
        element_type slots[capacity];                                                                        \
    }

#define ts_ring_capacity(ring) (sizeof((ring)->slots) / sizeof((ring)->slots[0]))
#define ts_ring_count(ring)    ((ring)->head.count)

/* Copies *element into the ring as the newest element. Returns true if the new element overwrote the oldest
 * one. (The conditional expression makes the compiler check the element's type.) */
#define ts_ring_push(ring, element)                                                                          \
    ts_ring__push(&(ring)->head, (ring)->slots, (1 ? (element) : (ring)->slots),                             \
                  (struct ts_ring_shape){sizeof((ring)->slots[0]), ts_ring_capacity(ring)})

/* Returns a pointer to an element, valid until the element is overwritten. Age 0 is the oldest element
 * (from_oldest) or the newest (from_newest); age 1 is its neighbour. */
#define ts_ring_from_oldest(ring, age)                                                                       \
    (&(ring)->slots[ts_ring__from_oldest(&(ring)->head, ts_ring_capacity(ring), (age))])
#define ts_ring_from_newest(ring, age)                                                                       \
    (&(ring)->slots[ts_ring__from_newest(&(ring)->head, ts_ring_capacity(ring), (age))])

/* The declarations below are for the macros. */

struct ts_ring_shape {
    size_t element_size;
    size_t capacity;
};

static inline size_t ts_ring__from_oldest(const struct ts_ring *head, size_t capacity, size_t age) {
    ts_assert(age < head->count);
    size_t at = head->oldest + age;
    return at < capacity ? at : at - capacity;
}

static inline size_t ts_ring__from_newest(const struct ts_ring *head, size_t capacity, size_t age) {
    ts_assert(age < head->count);
    return ts_ring__from_oldest(head, capacity, head->count - 1 - age);
}

static inline bool ts_ring__push(struct ts_ring *head, void *slots, const void *element,
                                 struct ts_ring_shape shape) {
    bool overwrites = head->count == shape.capacity;
    size_t at = head->oldest;
    if (overwrites) {
        head->oldest = at + 1 == shape.capacity ? 0 : at + 1;
    } else {
        at = at + head->count < shape.capacity ? at + head->count : at + head->count - shape.capacity;
        head->count++;
    }
    memmove((unsigned char *)slots + at * shape.element_size, element, shape.element_size);
    return overwrites;
}

#endif
