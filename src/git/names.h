/*
 * Names of tree entries with their modes, each stored once, because a history repeats few names millions of
 * times.
 *
 * While the graph is read, several threads add names, each through its own cache. Names are used when all are
 * added and ranked. Numbers of names depend on the order of the threads; ranks depend only on the repository.
 */
#ifndef TS_GIT_NAMES_H
#define TS_GIT_NAMES_H

#include "base/bytes.h"
#include "os/arena.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct git__name {
    const uint8_t *bytes;
    uint32_t len;
    uint32_t mode;
    /* The position of the name in git's order of tree entries. Files with the same name and different modes
     * have the same rank. */
    uint32_t rank;
};

struct git__names {
    pthread_mutex_t lock; /* guards everything until names are ranked; no other lock is held with it */
    uint64_t seed[2];     /* a random seed, so that an attacker cannot choose names that collide */
    struct git__name *items;
    size_t count;
    size_t capacity;
    uint32_t *slots;
    size_t slot_count;
    struct ts_arena bytes; /* the bytes of the names */
};

/* Names that a thread has used recently. */
#define GIT__NAMES_LATELY 4096
struct git__name_cache {
    struct git__name_known {
        uint64_t hash;
        const uint8_t *bytes; /* NULL: free */
        uint32_t len;
        uint32_t mode;
        uint32_t number;
    } known[GIT__NAMES_LATELY];
};

void git__names_init(struct git__names *names);
void git__names_release(struct git__names *names);

/* Memory of a name, not counting its bytes. Arrays have up to twice the needed capacity. */
#define GIT__NAME_BYTES (2 * sizeof(struct git__name) + 4 * sizeof(uint32_t))

/* Returns the number of a name with a mode; UINT32_MAX when memory runs out. *ret_bytes is the memory that a
 * new name takes; 0 if the name was known. */
uint32_t git__names_add(struct git__names *names, struct git__name_cache *cache, struct ts_bytes name,
                        uint32_t mode, size_t *ret_bytes);

/* Gives each name its rank. Call it when all names are added. Returns false when memory runs out. */
bool git__names_rank(struct git__names *names);

#endif
