/*
 * A number for every object of a repository: packs first, in their order, each by position in its index; then
 * loose objects by id. Numbers follow from the files alone, so they are the same on every machine and with
 * any number of threads. An object that is there more than once has several numbers; the lowest is *the*
 * number.
 *
 * Finding the number of an id is a probe of an open hash table of numbers; the ids themselves stay in the
 * mapped indexes. The bits of a slot that numbers leave free hold bits of the hash, so that an id is rarely looked at in
 * vain: each look is a wait for memory.
 */
#ifndef TS_GIT_NUMBERS_H
#define TS_GIT_NUMBERS_H

#include "git/error.h"

#include <stdbool.h>
#include <stdint.h>

#define GIT__NONE UINT32_MAX

struct ts_git_repo;

struct git__loose_object {
    struct ts_git_oid oid;
    uint32_t object_dir;
    uint8_t type; /* enum ts_git_type, when a visit met it and wanted others; 0: not known */
};

struct git__numbers {
    bool is_filled;
    uint32_t total;
    uint32_t *pack_first; /* of each pack, and where loose ones begin */
    struct git__loose_object *loose;
    uint32_t loose_count;
    uint32_t *slots;      /* number, and above it bits of the hash; GIT__NONE: free */
    unsigned number_bits; /* of a slot */
    uint64_t *copies;     /* a bit for each number: there is a lower one for the same id */
    uint32_t mask;
    uint64_t seed[2];
    struct ts_git_fault *faults; /* what could not be listed, until someone hears of it */
    size_t fault_count;
    size_t fault_capacity;
};

/* Where a number stands: position in the index of a pack, or in the list of loose objects. */
struct git__spot {
    uint32_t pack; /* GIT__NONE: loose */
    uint32_t position;
};

/* Folders of loose objects that cannot be listed, and indexes that are out of order, are faults. They are told once, to the
 * first sink that there is. */
enum ts_git_error git__numbers_fill(struct ts_git_repo *repo, const struct ts_git_fault_sink *faults,
                                    struct ts_git_fault *ret_fault);
void git__numbers_release(struct git__numbers *numbers);

/* The number of an id (as many bytes as the hash has), or GIT__NONE. */
uint32_t git__number_of(const struct ts_git_repo *repo, const uint8_t *id);

/* The numbers of several ids, much faster than one by one: waits for memory overlap. */
void git__numbers_of(const struct ts_git_repo *repo, const uint8_t *const *ids, size_t count,
                     uint32_t *ret_numbers);

/* Another number of the same object is the one to use. */
bool git__number_is_copy(const struct ts_git_repo *repo, uint32_t number);

struct git__spot git__number_spot(const struct ts_git_repo *repo, uint32_t number);
const uint8_t *git__number_id(const struct ts_git_repo *repo, uint32_t number);

/* A hash that whoever wrote the repository cannot foresee. */
uint64_t git__seeded_hash(const struct ts_git_repo *repo, uint64_t value);

/* Bytes that the tables take. */
size_t git__numbers_bytes(const struct ts_git_repo *repo);

#endif
