#include "midx.h"

#include "base/checked.h"
#include "base/endian.h"
#include "pack_index.h"

#define HEADER_SIZE         12u
#define CHUNK_SIZE          12u /* size of a row in the table of chunks */
#define NAME_OF(a, b, c, d) ((uint32_t)(a) << 24 | (uint32_t)(b) << 16 | (uint32_t)(c) << 8 | (uint32_t)(d))

/* Finds the chunk that a row of the table describes. Returns false if the chunk is not between the table and
 * the trailer. */
static bool chunk_at(struct ts_bytes file, size_t row, struct ts_span inside, struct ts_bytes *ret_chunk) {
    uint64_t from = ts_be64_load(file.data + HEADER_SIZE + row * CHUNK_SIZE + 4);
    uint64_t to = ts_be64_load(file.data + HEADER_SIZE + (row + 1) * CHUNK_SIZE + 4);
    if (from < inside.from || to < from || to > inside.from + inside.len)
        return false;
    *ret_chunk = ts_bytes_slice(file, (struct ts_span){(size_t)from, (size_t)(to - from)});
    return true;
}

static bool take_chunks(struct ts_bytes file, size_t chunks, struct git__midx *midx,
                        struct ts_bytes *ret_fanout) {
    size_t table_end = HEADER_SIZE + (chunks + 1) * CHUNK_SIZE;
    size_t trailer = ts_git_hash_len(midx->hash);
    if (file.len < table_end + trailer)
        return false;
    struct ts_span inside = {table_end, file.len - table_end - trailer};
    for (size_t row = 0; row < chunks; row++) {
        struct ts_bytes chunk;
        if (!chunk_at(file, row, inside, &chunk))
            return false;
        uint32_t name = ts_be32_load(file.data + HEADER_SIZE + row * CHUNK_SIZE);
        if (name == NAME_OF('P', 'N', 'A', 'M'))
            midx->names = chunk;
        else if (name == NAME_OF('O', 'I', 'D', 'F'))
            *ret_fanout = chunk;
        else if (name == NAME_OF('O', 'I', 'D', 'L'))
            midx->ids = chunk;
        else if (name == NAME_OF('O', 'O', 'F', 'F'))
            midx->places = chunk;
        else if (name == NAME_OF('L', 'O', 'F', 'F'))
            midx->large = chunk;
    }
    return true;
}

bool git__midx_init(enum ts_git_hash hash, struct ts_bytes bytes, struct git__midx *ret_midx) {
    if (bytes.len < HEADER_SIZE || memcmp(bytes.data, "MIDX", 4) != 0 || bytes.data[4] != 1 ||
        bytes.data[5] != (hash == TS_GIT_SHA256 ? 2 : 1) || bytes.data[7] != 0)
        return false;
    struct git__midx midx = {.hash = hash, .pack_count = ts_be32_load(bytes.data + 8)};
    struct ts_bytes fanout = {NULL, 0};
    if (!take_chunks(bytes, bytes.data[6], &midx, &fanout))
        return false;
    if (fanout.len != 1024 || !git__fanout_is_valid(fanout.data))
        return false;
    midx.fanout = fanout.data;
    midx.count = ts_be32_load(fanout.data + 1020);
    if (midx.ids.len != (size_t)midx.count * ts_git_hash_len(hash) ||
        midx.places.len != (size_t)midx.count * 8 || midx.large.len % 8 != 0)
        return false;
    *ret_midx = midx;
    return true;
}

bool git__midx_find(const struct git__midx *midx, const uint8_t *id, struct git__midx_place *ret_place) {
    uint32_t position;
    size_t id_len = ts_git_hash_len(midx->hash);
    if (!git__fanout_find(midx->fanout, midx->ids.data, id_len, id_len, id, &position))
        return false;
    const uint8_t *row = midx->places.data + (size_t)position * 8;
    struct git__midx_place place = {.pack = ts_be32_load(row), .offset = ts_be32_load(row + 4)};
    if (place.pack >= midx->pack_count)
        return false;
    /* Without a table of large offsets, the top bit belongs to the offset. */
    if (midx->large.len > 0 && (place.offset & 0x80000000u) != 0) {
        uint64_t number = place.offset & 0x7fffffffu;
        if (number >= midx->large.len / 8)
            return false;
        place.offset = ts_be64_load(midx->large.data + number * 8);
    }
    *ret_place = place;
    return true;
}
