/*
 * A multi-pack index: one sorted list of ids over many packs.
 *
 *   'MIDX' | 1 version | 1 hash (1: SHA-1, 2: SHA-256) | 1 chunks | 1 base files (0) | be32 packs |
 *   (chunks + 1) x (4 name, be64 offset in the file) | the chunks | id of this file
 *
 *   PNAM  names of packs, each ended by a zero, sorted
 *   OIDF  fan-out, as in a pack's index
 *   OIDL  ids, sorted
 *   OOFF  for each id: be32 pack, be32 offset or, with the top bit set, the number of a large one
 *   LOFF  be64 large offsets
 *
 * A multi-pack index makes finding an object faster. Every pack also has its own index. If the two differ,
 * the pack's own index decides.
 */
#ifndef TS_GIT_MIDX_H
#define TS_GIT_MIDX_H

#include "base/bytes.h"
#include "git/oid.h"

#include <stdbool.h>
#include <stdint.h>

struct git__midx {
    enum ts_git_hash hash;
    uint32_t pack_count;
    uint32_t count;
    struct ts_bytes names;
    struct ts_bytes ids;
    struct ts_bytes places;
    struct ts_bytes large;
    const uint8_t *fanout;
};

struct git__midx_place {
    uint32_t pack;
    uint64_t offset;
};

/* Borrows bytes. Returns false if the bytes are not a multi-pack index for this hash. */
bool git__midx_init(enum ts_git_hash hash, struct ts_bytes bytes, struct git__midx *ret_midx);

/* Finds the place of an id. Returns false if the id is missing, or if its place is not valid. */
bool git__midx_find(const struct git__midx *midx, const uint8_t *id, struct git__midx_place *ret_place);

#endif
