#include "pack_index.h"

#include "base/assert.h"
#include "base/checked.h"
#include "base/endian.h"

#define FANOUT_SIZE 1024u

bool git__fanout_is_valid(const uint8_t *fanout) {
    uint32_t before = 0;
    for (size_t i = 0; i < 256; i++) {
        uint32_t upto = ts_be32_load(fanout + 4 * i);
        if (upto < before)
            return false;
        before = upto;
    }
    return true;
}

bool git__fanout_find(const uint8_t *fanout, const uint8_t *ids, size_t id_step, size_t id_len,
                      const uint8_t *id, uint32_t *ret_position) {
    uint32_t low = id[0] == 0 ? 0 : ts_be32_load(fanout + 4 * ((size_t)id[0] - 1));
    uint32_t high = ts_be32_load(fanout + 4 * (size_t)id[0]);
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int order = memcmp(ids + (size_t)middle * id_step, id, id_len);
        if (order == 0) {
            *ret_position = middle;
            return true;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

static bool init_v1(struct ts_bytes bytes, struct git__pack_index *index) {
    size_t hash_len = ts_git_hash_len(index->hash);
    size_t step = 4 + hash_len;
    if (bytes.len < FANOUT_SIZE + 2 * hash_len || !git__fanout_is_valid(bytes.data))
        return false;
    index->fanout = bytes.data;
    index->count = ts_be32_load(bytes.data + FANOUT_SIZE - 4);
    if (bytes.len != FANOUT_SIZE + (size_t)index->count * step + 2 * hash_len)
        return false;
    index->offsets = bytes.data + FANOUT_SIZE;
    index->offset_step = step;
    index->ids = index->offsets + 4;
    index->id_step = step;
    return true;
}

static bool init_v2(struct ts_bytes bytes, struct git__pack_index *index) {
    size_t hash_len = ts_git_hash_len(index->hash);
    size_t fixed = 8 + FANOUT_SIZE + 2 * hash_len;
    if (bytes.len < fixed || ts_be32_load(bytes.data + 4) != 2 || !git__fanout_is_valid(bytes.data + 8))
        return false;
    index->fanout = bytes.data + 8;
    index->count = ts_be32_load(index->fanout + FANOUT_SIZE - 4);
    size_t tables = (size_t)index->count * (hash_len + 8);
    size_t large;
    if (!ts_checked_sub_size(bytes.len - fixed, tables, &large) || large % 8 != 0 || large / 8 > index->count)
        return false;
    index->large_count = (uint32_t)(large / 8);
    index->ids = index->fanout + FANOUT_SIZE;
    index->id_step = hash_len;
    index->crcs = index->ids + (size_t)index->count * hash_len;
    index->offsets = index->crcs + (size_t)index->count * 4;
    index->offset_step = 4;
    index->large = index->offsets + (size_t)index->count * 4;
    return true;
}

bool git__pack_index_init(enum ts_git_hash hash, struct ts_bytes bytes, struct git__pack_index *ret_index) {
    static const uint8_t magic[4] = {0xff, 't', 'O', 'c'};
    struct git__pack_index index = {.hash = hash};
    bool is_v2 = bytes.len >= 8 && memcmp(bytes.data, magic, sizeof magic) == 0;
    if (!(is_v2 ? init_v2(bytes, &index) : init_v1(bytes, &index)))
        return false;
    index.pack_id = bytes.data + bytes.len - 2 * ts_git_hash_len(hash);
    *ret_index = index;
    return true;
}

bool git__pack_index_fanout_fits(const struct git__pack_index *index) {
    for (size_t first = 0; first < 256; first++) {
        uint32_t upto = ts_be32_load(index->fanout + 4 * first);
        if ((upto > 0 && git__pack_index_id(index, upto - 1)[0] > first) ||
            (upto < index->count && git__pack_index_id(index, upto)[0] <= first))
            return false;
    }
    return true;
}

bool git__pack_index_offset(const struct git__pack_index *index, uint32_t position, uint64_t *ret_offset) {
    ts_assert(position < index->count);
    uint32_t small = ts_be32_load(index->offsets + (size_t)position * index->offset_step);
    if (index->crcs == NULL || (small & 0x80000000u) == 0) {
        *ret_offset = small;
        return true;
    }
    uint32_t number = small & 0x7fffffffu;
    if (number >= index->large_count)
        return false;
    *ret_offset = ts_be64_load(index->large + (size_t)number * 8);
    return true;
}

bool git__pack_index_find(const struct git__pack_index *index, const uint8_t *id, uint32_t *ret_position) {
    return git__fanout_find(index->fanout, index->ids, index->id_step, ts_git_hash_len(index->hash), id,
                            ret_position);
}
