/*
 * Every object of a repository has a number: objects in packs come first, in the order of the packs and by
 * position in the index; then loose objects by id. Numbers depend only on the files and their times, not on
 * the number of threads. An object with several copies has several numbers; the lowest is *the* number.
 *
 * Finding the number of an id is a probe of an open hash table of numbers; the ids themselves stay in the
 * mapped indexes. The bits of a slot that numbers do not need hold bits of the hash. Therefore few wrong ids
 * are compared, which matters because each comparison waits for memory.
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
    uint8_t type; /* enum ts_git_type, if a visit for other types has seen the object; 0: unknown */
};

struct git__numbers {
    bool is_filled;
    bool is_loose_filled; /* loose objects are listed */
    uint32_t total;
    uint32_t *pack_first; /* first number of each pack, then the first number of the loose objects */
    struct git__loose_object *loose;
    uint32_t loose_count;
    uint32_t *slots;      /* the number, with bits of the hash above it; GIT__NONE: free */
    unsigned number_bits; /* bits of a slot that hold the number */
    uint64_t *copies;     /* a bit for each number: set if a lower number has the same id */
    uint32_t mask;
    uint64_t seed[2];
    struct ts_git_fault *faults; /* folders that could not be listed, until they are reported */
    size_t fault_count;
    size_t fault_capacity;
};

/* The place of an object: its position in the index of a pack, or in the list of loose objects. */
struct git__spot {
    uint32_t pack; /* GIT__NONE: loose */
    uint32_t position;
};

/* Numbers all objects. Folders of loose objects that cannot be listed, and unsorted indexes, are faults. Each
 * fault is reported once, to the first sink. */
enum ts_git_error git__numbers_fill(struct ts_git_repo *repo, const struct ts_git_fault_sink *faults,
                                    struct ts_git_fault *ret_fault);
void git__numbers_release(struct git__numbers *numbers);

/* Lists only the loose objects. Does nothing if they are already listed. */
enum ts_git_error git__loose_fill(struct ts_git_repo *repo, struct ts_git_fault *ret_fault);
bool git__loose_is_listed(const struct ts_git_repo *repo, const struct ts_git_oid *oid);

/* Returns the number of an id, which has as many bytes as the hash; GIT__NONE if there is no such object. */
uint32_t git__number_of(const struct ts_git_repo *repo, const uint8_t *id);

/* Finds the numbers of several ids. This is much faster than several calls, because memory accesses
 * overlap. */
void git__numbers_of(const struct ts_git_repo *repo, const uint8_t *const *ids, size_t count,
                     uint32_t *ret_numbers);

/* Returns true if the object also has a lower number. The lowest number is the one to use. */
bool git__number_is_copy(const struct ts_git_repo *repo, uint32_t number);

struct git__spot git__number_spot(const struct ts_git_repo *repo, uint32_t number);
const uint8_t *git__number_id(const struct ts_git_repo *repo, uint32_t number);

/* Returns a hash that the author of the repository cannot predict. */
uint64_t git__seeded_hash(const struct ts_git_repo *repo, uint64_t value);

/* Returns the size of the tables, in bytes. */
size_t git__numbers_bytes(const struct ts_git_repo *repo);

#endif
