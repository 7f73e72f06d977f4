#include "pack.h"

#include "outline.h"

#include "base/checked.h"
#include "base/endian.h"

#include <stdlib.h>
#include <string.h>

#define PACK_HEADER_SIZE 12u

char *git__with_suffix(const char *path, const char *suffix) {
    const char *dot = strrchr(path, '.');
    size_t stem = dot != NULL ? (size_t)(dot - path) : strlen(path);
    size_t len = strlen(suffix);
    char *changed = malloc(stem + len + 1);
    if (changed == NULL)
        return NULL;
    memcpy(changed, path, stem);
    memcpy(changed + stem, suffix, len);
    changed[stem + len] = '\0';
    return changed;
}

/* Checks the header and trailer of a pack. */
static bool frame_is_sound(const struct git__pack *pack) {
    struct ts_bytes bytes = pack->map.bytes;
    size_t hash_len = ts_git_hash_len(pack->index.hash);
    if (bytes.len < PACK_HEADER_SIZE + hash_len || memcmp(bytes.data, "PACK", 4) != 0)
        return false;
    uint32_t version = ts_be32_load(bytes.data + 4);
    return (version == 2 || version == 3) && ts_be32_load(bytes.data + 8) == pack->index.count &&
           memcmp(bytes.data + bytes.len - hash_len, pack->index.pack_id, hash_len) == 0;
}

static enum ts_git_error open_index(enum ts_git_hash hash, const char *path, struct git__pack *pack,
                                    struct ts_git_fault *ret_fault) {
    enum ts_git_error error = git__map_open(path, &pack->index_map, ret_fault);
    if (error != TS_GIT_OK)
        return error;
    if (!git__pack_index_init(hash, pack->index_map.bytes, &pack->index))
        return git__fault(TS_GIT_BAD_FILE, path, ret_fault);
    return TS_GIT_OK;
}

/* Opens the pack of an index that is already open. */
static enum ts_git_error open_pack(const char *index_path, struct git__pack *pack,
                                   struct ts_git_fault *ret_fault) {
    pack->path = git__with_suffix(index_path, ".pack");
    if (pack->path == NULL)
        return git__fault(TS_GIT_NO_MEMORY, index_path, ret_fault);
    char *promise = git__with_suffix(index_path, ".promisor");
    if (promise == NULL)
        return git__fault(TS_GIT_NO_MEMORY, index_path, ret_fault);
    pack->is_promised = git__is_file(promise);
    free(promise);
    struct git__map map;
    enum ts_git_error error = git__map_open(pack->path, &map, ret_fault);
    if (error == TS_GIT_OK)
        pack->map = map;
    return error;
}

enum ts_git_error git__pack_open(enum ts_git_hash hash, const char *index_path, struct git__pack *ret_pack,
                                 bool *ret_is_damaged, struct ts_git_fault *ret_fault) {
    struct git__pack pack = {.path = NULL};
    enum ts_git_error error = open_index(hash, index_path, &pack, ret_fault);
    if (error == TS_GIT_OK)
        error = open_pack(index_path, &pack, ret_fault);
    if (error != TS_GIT_OK) {
        git__pack_release(&pack);
        return error;
    }
    bool is_sound = frame_is_sound(&pack);
    /* If the trailer is wrong, the pack may be truncated, and its last bytes may belong to an entry. */
    pack.end = pack.map.bytes.len - (is_sound ? ts_git_hash_len(hash) : 0);
    *ret_is_damaged = !is_sound;
    *ret_pack = pack;
    return TS_GIT_OK;
}

void git__pack_release(struct git__pack *pack) {
    git__map_release(&pack->index_map);
    git__map_release(&pack->map);
    free(pack->path);
    free(pack->by_offset);
    git__outline_free(pack->outline);
    pack->path = NULL;
    pack->by_offset = NULL;
    pack->outline = NULL;
}

const char *git__pack_name(const struct git__pack *pack) {
    const char *slash = strrchr(pack->path, '/');
    return slash != NULL ? slash + 1 : pack->path;
}

static bool size_parse(struct ts_bytes *rest, uint8_t *ret_type, uint64_t *ret_size) {
    if (rest->len == 0)
        return false;
    uint8_t byte = rest->data[0];
    *rest = ts_bytes_skip(*rest, 1);
    uint8_t type = (byte >> 4) & 7;
    uint64_t size = byte & 15;
    for (unsigned shift = 4; (byte & 0x80u) != 0; shift += 7) {
        if (rest->len == 0 || shift > 60)
            return false;
        byte = rest->data[0];
        *rest = ts_bytes_skip(*rest, 1);
        uint64_t bits = byte & 0x7fu;
        if (shift == 60 && bits > 15)
            return false;
        size |= bits << shift;
    }
    *ret_type = type;
    *ret_size = size;
    return true;
}

bool git__distance_parse(struct ts_bytes *rest, uint64_t *ret_distance) {
    uint64_t distance = 0;
    for (unsigned count = 0;; count++) {
        if (rest->len == 0 || count > 8)
            return false;
        uint8_t byte = rest->data[0];
        *rest = ts_bytes_skip(*rest, 1);
        distance = (count == 0 ? 0 : (distance + 1) << 7) | (byte & 0x7fu);
        if ((byte & 0x80u) == 0)
            break;
    }
    *ret_distance = distance;
    return true;
}

enum ts_git_error git__pack_entry(const struct git__pack *pack, struct git__extent extent,
                                  struct git__entry *ret_entry) {
    if (extent.from < PACK_HEADER_SIZE || extent.to > pack->end || extent.from >= extent.to)
        return TS_GIT_BAD_ENTRY;
    struct ts_bytes rest = ts_bytes_slice(
        pack->map.bytes, (struct ts_span){(size_t)extent.from, (size_t)(extent.to - extent.from)});
    struct git__entry entry = {.kind = GIT__ENTRY_WHOLE};
    uint8_t type;
    if (!size_parse(&rest, &type, &entry.size))
        return TS_GIT_BAD_ENTRY;
    uint64_t distance;
    size_t hash_len = ts_git_hash_len(pack->index.hash);
    switch (type) {
    case 1:
    case 2:
    case 3:
    case 4:
        entry.type = (enum ts_git_type)type;
        break;
    case 6:
        entry.kind = GIT__ENTRY_OFFSET_DELTA;
        if (!git__distance_parse(&rest, &distance) || distance == 0 || distance >= extent.from)
            return TS_GIT_BAD_ENTRY;
        entry.base_offset = extent.from - distance;
        break;
    case 7:
        entry.kind = GIT__ENTRY_REF_DELTA;
        if (rest.len < hash_len)
            return TS_GIT_BAD_ENTRY;
        entry.base_id = rest.data;
        rest = ts_bytes_skip(rest, hash_len);
        break;
    default:
        return TS_GIT_BAD_ENTRY;
    }
    entry.data = rest;
    *ret_entry = entry;
    return TS_GIT_OK;
}
