/*
 * A pack's index (.idx): the objects of the pack, sorted by id, and their offsets.
 *
 *   version 1   fan-out 256 x be32 | count x (be32 offset, id) | id of pack, id of index
 *   version 2   ff 't' 'O' 'c' | be32 2 | fan-out 256 x be32 | count x id | count x be32 CRC |
 *               count x be32 offset, or with the top bit set the number of a large one |
 *               large x be64 offset | id of pack, id of index
 *
 * The fan-out says for each first byte how many ids begin with it or a smaller one. Opening checks that the
 * fan-out never decreases and that every table is inside the file. The order of the ids, the agreement of
 * fan-out and ids, and the offsets are checked on use.
 */
#ifndef TS_GIT_PACK_INDEX_H
#define TS_GIT_PACK_INDEX_H

#include "base/bytes.h"
#include "git/oid.h"

#include <stdbool.h>
#include <stdint.h>

struct git__pack_index {
    enum ts_git_hash hash;
    uint32_t count;
    uint32_t large_count;
    const uint8_t *fanout;
    const uint8_t *ids; /* the first id; ids are id_step bytes apart */
    size_t id_step;
    const uint8_t *crcs; /* NULL in version 1 */
    const uint8_t *offsets;
    size_t offset_step;
    const uint8_t *large;
    const uint8_t *pack_id; /* the id that the pack's trailer must have */
};

/* Borrows bytes. Returns false if the bytes are not an index. */
bool git__pack_index_init(enum ts_git_hash hash, struct ts_bytes bytes, struct git__pack_index *ret_index);

static inline const uint8_t *git__pack_index_id(const struct git__pack_index *index, uint32_t position) {
    return index->ids + (size_t)position * index->id_step;
}

/* Sets *ret_offset to the offset of the object at `position`, which must be below count. Returns false if the
 * offset should be in the table of large offsets, but is not. */
bool git__pack_index_offset(const struct git__pack_index *index, uint32_t position, uint64_t *ret_offset);

bool git__pack_index_find(const struct git__pack_index *index, const uint8_t *id, uint32_t *ret_position);

/* Returns true if the fan-out is correct for the sorted ids. With a wrong fan-out, git would not find
 * objects. */
bool git__pack_index_fanout_fits(const struct git__pack_index *index);

/* Returns true if the fan-out never decreases. A multi-pack index also has a fan-out. */
bool git__fanout_is_valid(const uint8_t *fanout);

/* Finds the position of an id in a sorted list, with the help of the fan-out. Returns false if the list does
 * not have the id. */
bool git__fanout_find(const uint8_t *fanout, const uint8_t *ids, size_t id_step, size_t id_len,
                      const uint8_t *id, uint32_t *ret_position);

#endif
