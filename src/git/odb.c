/*
 * Reads single objects by id: refs, tags, the commits of a report. visit.c reads many objects, and is much
 * faster.
 *
 * Every complete content is compared with its id. Copies of an object are tried in this order: the copy that
 * a multi-pack index names, copies in the order of the packs, loose copies. If a delta's base is damaged in
 * one pack, another copy of the base is used.
 */
#include "delta.h"
#include "hash.h"
#include "loose.h"
#include "os/grow.h"
#include "repo_impl.h"
#include "resident.h"

#include "base/assert.h"
#include "base/checked.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define NEST_MAX     8 /* levels of damaged bases for which other copies are searched */
#define TAGS_MAX     32
#define FORGET_AFTER 512 /* release pages after reading this many packed objects */

struct reading {
    struct ts_git_repo *repo;
    size_t max;
    bool only_start; /* read the first max bytes of a larger object */
    unsigned nest;
    const struct git__spot *not_at; /* a damaged copy that must not be read; NULL: none */
    struct git__work *work;
};

static enum ts_git_error read_any(const struct reading *reading, const struct ts_git_oid *oid,
                                  uint32_t not_in_pack, struct ts_git_content *ret_content);

char *git__loose_path(const struct ts_git_repo *repo, size_t object_dir, const struct ts_git_oid *oid) {
    char hex[TS_GIT_OID_HEX_SIZE];
    char name[TS_GIT_OID_HEX_SIZE + 1];
    (void)ts_git_oid_format(repo->hash, oid, hex);
    (void)snprintf(name, sizeof name, "%.2s/%s", hex, hex + 2);
    return git__path_join(repo->object_dirs[object_dir], name);
}

/* Inflates the first len bytes of a larger object. Does not check the checksum at the end of the stream. */
static enum ts_git_error inflate_start(struct git__inflate_stream *stream, size_t len, uint8_t **ret_bytes) {
    uint8_t *bytes = malloc(len + 1);
    if (bytes == NULL)
        return TS_GIT_NO_MEMORY;
    size_t got = 0;
    enum ts_git_error error = git__inflate_stream_read(stream, bytes, len, &got);
    if (error == TS_GIT_OK && got < len)
        error = TS_GIT_BAD_DEFLATE;
    if (error != TS_GIT_OK) {
        free(bytes);
        return error;
    }
    *ret_bytes = bytes;
    return TS_GIT_OK;
}

static enum ts_git_error inflate_entry_start(const struct reading *reading, const struct git__entry *entry,
                                             struct ts_git_content *ret_content) {
    struct git__inflate_stream stream;
    struct ts_git_content content = {.type = entry->type, .len = reading->max};
    enum ts_git_error error = git__inflate_stream_init(&stream, entry->data);
    if (error != TS_GIT_OK)
        return error;
    error = inflate_start(&stream, content.len, &content.bytes);
    git__inflate_stream_release(&stream);
    if (error == TS_GIT_OK)
        *ret_content = content;
    return error;
}

static enum ts_git_error inflate_entry(const struct reading *reading, const struct git__entry *entry,
                                       struct ts_git_content *ret_content) {
    size_t size;
    if (!ts_narrow_u64_size(entry->size, &size) || size > reading->max)
        return TS_GIT_TOO_LARGE;
    uint8_t *bytes = malloc(size + 1);
    if (bytes == NULL)
        return TS_GIT_NO_MEMORY;
    size_t used;
    enum ts_git_error error = git__inflate(&reading->repo->inflater, entry->data, bytes, size, &used);
    if (error != TS_GIT_OK) {
        free(bytes);
        return error;
    }
    *ret_content = (struct ts_git_content){.type = entry->type, .bytes = bytes, .len = size};
    return TS_GIT_OK;
}

/* Applies the delta of `entry` to the base in *content, and replaces the base by the result. */
static enum ts_git_error apply_entry(const struct reading *reading, const struct git__entry *entry,
                                     struct ts_git_content *content) {
    struct ts_git_content delta;
    enum ts_git_error error = inflate_entry(reading, entry, &delta);
    if (error != TS_GIT_OK)
        return error;
    struct git__delta_head head;
    uint8_t *bytes = NULL;
    if (!git__delta_head_parse(ts_bytes_of(delta.bytes, delta.len), &head))
        error = TS_GIT_BAD_DELTA;
    if (error == TS_GIT_OK && head.result_size > reading->max)
        error = TS_GIT_TOO_LARGE;
    if (error == TS_GIT_OK && (bytes = malloc((size_t)head.result_size + 1)) == NULL)
        error = TS_GIT_NO_MEMORY;
    if (error == TS_GIT_OK &&
        !git__delta_apply(ts_bytes_of(content->bytes, content->len), &head, bytes, NULL))
        error = TS_GIT_BAD_DELTA;
    free(delta.bytes);
    if (error != TS_GIT_OK) {
        free(bytes);
        return error;
    }
    free(content->bytes);
    content->bytes = bytes;
    content->len = (size_t)head.result_size;
    return TS_GIT_OK;
}

static int compare_offsets(const void *a, const void *b, void *index) {
    uint64_t x = UINT64_MAX;
    uint64_t y = UINT64_MAX;
    (void)git__pack_index_offset(index, *(const uint32_t *)a, &x);
    (void)git__pack_index_offset(index, *(const uint32_t *)b, &y);
    return (x > y) - (x < y);
}

/* Sorts the positions of the pack by offset. Only damaged packs need this order, so it is made on first use.
 * Returns false when memory runs out. */
static bool order_by_offset(struct git__pack *pack) {
    if (pack->by_offset != NULL)
        return true;
    uint32_t *order = malloc(((size_t)pack->index.count + 1) * sizeof *order);
    if (order == NULL)
        return false;
    for (uint32_t i = 0; i < pack->index.count; i++)
        order[i] = i;
    qsort_r(order, pack->index.count, sizeof *order, compare_offsets, &pack->index);
    pack->by_offset = order;
    return true;
}

static bool id_at(struct git__pack *pack, uint64_t offset, struct ts_git_oid *ret_oid) {
    uint32_t low = 0;
    uint32_t high = pack->index.count;
    if (!order_by_offset(pack))
        return false;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        uint64_t at = UINT64_MAX;
        (void)git__pack_index_offset(&pack->index, pack->by_offset[middle], &at);
        if (at == offset) {
            const uint8_t *id = git__pack_index_id(&pack->index, pack->by_offset[middle]);
            *ret_oid = ts_git_oid_of(pack->index.hash, id);
            return true;
        }
        if (at < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

static enum ts_git_error base_elsewhere(const struct reading *reading, uint32_t pack, uint64_t offset,
                                        struct ts_git_content *ret_content) {
    struct ts_git_oid oid;
    struct reading deeper = *reading;
    deeper.not_at = NULL;
    deeper.only_start = false;
    if (++deeper.nest > NEST_MAX || !id_at(&reading->repo->packs[pack], offset, &oid))
        return TS_GIT_BASE_DAMAGED;
    return read_any(&deeper, &oid, pack, ret_content) == TS_GIT_OK ? TS_GIT_OK : TS_GIT_BASE_DAMAGED;
}

/* The chain of entries from a delta to its root. */
struct chain {
    uint64_t *offsets;
    size_t count;
    size_t capacity;
};

static enum ts_git_error entry_at(const struct git__pack *pack, uint64_t offset, struct git__entry *ret) {
    return git__pack_entry(pack, (struct git__extent){offset, pack->end}, ret);
}

static enum ts_git_error find_chain(const struct reading *reading, const struct git__pack *pack,
                                    uint64_t offset, struct chain *chain) {
    for (;;) {
        struct git__entry entry;
        if (reading->work->steps_left == 0)
            return TS_GIT_BASE_DAMAGED;
        reading->work->steps_left--;
        if (!TS_GROW(chain->offsets, chain->capacity, chain->count + 1))
            return TS_GIT_NO_MEMORY;
        chain->offsets[chain->count++] = offset;
        enum ts_git_error error = entry_at(pack, offset, &entry);
        if (error != TS_GIT_OK) /* another copy of the base may be intact */
            return chain->count > 1 ? TS_GIT_OK : error;
        if (entry.kind == GIT__ENTRY_WHOLE)
            return TS_GIT_OK;
        if (chain->count > pack->index.count) /* a limit, because bases by id can form a cycle */
            return TS_GIT_NO_BASE;
        uint32_t position;
        if (entry.kind == GIT__ENTRY_OFFSET_DELTA)
            offset = entry.base_offset;
        else if (!git__pack_index_find(&pack->index, entry.base_id, &position) ||
                 !git__pack_index_offset(&pack->index, position, &offset))
            return TS_GIT_NO_BASE;
    }
}

/* Returns whether the content has this id. An incomplete content cannot be checked, and counts as correct:
 * callers that read only the start have visited the whole object before. */
static bool has_id(const struct reading *reading, const struct ts_git_content *content,
                   const struct ts_git_oid *oid) {
    if (reading->only_start && content->len >= reading->max)
        return true;
    return git__is_content_of(reading->repo->hash, content->type, ts_bytes_of(content->bytes, content->len),
                              oid->bytes);
}

/* Returns whether the base that was built from the entry at offset has the id that the index gives it. */
static bool is_sound_base(const struct reading *reading, uint32_t pack, uint64_t offset,
                          const struct ts_git_content *content) {
    struct ts_git_oid oid;
    return id_at(&reading->repo->packs[pack], offset, &oid) && has_id(reading, content, &oid);
}

/* Builds the object at offset from its chain of bases. With checks_bases, also compares each base with its
 * id. */
static enum ts_git_error read_chain(const struct reading *reading, uint32_t number, uint64_t offset,
                                    bool checks_bases, struct ts_git_content *ret_content) {
    struct git__pack *pack = &reading->repo->packs[number];
    struct chain chain = {.offsets = NULL};
    struct ts_git_content content = {.bytes = NULL};
    struct git__entry entry;
    enum ts_git_error error = find_chain(reading, pack, offset, &chain);
    if (error != TS_GIT_OK)
        goto done;
    for (size_t left = chain.count; left > 0; left--) {
        bool is_root = left == chain.count;
        error = entry_at(pack, chain.offsets[left - 1], &entry);
        if (error == TS_GIT_OK && reading->only_start && chain.count == 1 && entry.size > reading->max)
            error = inflate_entry_start(reading, &entry, &content);
        else if (error == TS_GIT_OK)
            error =
                is_root ? inflate_entry(reading, &entry, &content) : apply_entry(reading, &entry, &content);
        bool is_base = left > 1;
        if (error == TS_GIT_OK && is_base && checks_bases &&
            !is_sound_base(reading, number, chain.offsets[left - 1], &content))
            error = TS_GIT_BAD_ID;
        if (error != TS_GIT_OK && is_base && error != TS_GIT_TOO_LARGE && error != TS_GIT_NO_MEMORY) {
            free(content.bytes);
            content.bytes = NULL;
            error = base_elsewhere(reading, number, chain.offsets[left - 1], &content);
        }
        if (error != TS_GIT_OK)
            goto done;
    }
    *ret_content = content;
    content.bytes = NULL;
done:
    free(content.bytes);
    free(chain.offsets);
    return error;
}

static enum ts_git_error read_packed(const struct reading *reading, const struct ts_git_oid *oid,
                                     uint32_t number, uint64_t offset, struct ts_git_content *ret_content) {
    if (++reading->repo->packed_reads % FORGET_AFTER == 0)
        git__resident_forget(reading->repo->packs, reading->repo->pack_count);
    for (int checks_bases = 0; checks_bases < 2; checks_bases++) {
        struct ts_git_content content;
        enum ts_git_error error = read_chain(reading, number, offset, checks_bases != 0, &content);
        if (error != TS_GIT_OK)
            return error;
        if (has_id(reading, &content, oid)) {
            *ret_content = content;
            return TS_GIT_OK;
        }
        free(content.bytes);
    }
    return TS_GIT_BAD_ID;
}

static enum ts_git_error read_loose_start(const struct reading *reading, struct ts_bytes file,
                                          const struct git__loose_head *head, uint8_t **ret_bytes) {
    struct git__inflate_stream stream;
    enum ts_git_error error = git__loose_stream(file, head, &stream);
    if (error != TS_GIT_OK)
        return error;
    error = inflate_start(&stream, reading->max, ret_bytes);
    git__inflate_stream_release(&stream);
    return error;
}

static enum ts_git_error read_loose(const struct reading *reading, size_t object_dir,
                                    const struct ts_git_oid *oid, struct ts_git_content *ret_content) {
    char *path = git__loose_path(reading->repo, object_dir, oid);
    struct git__map map = {.bytes = {NULL, 0}};
    struct git__loose_head head;
    uint8_t *bytes = NULL;
    if (path == NULL)
        return TS_GIT_NO_MEMORY;
    enum ts_git_error error = git__map_open_once(path, &map, NULL);
    if (error == TS_GIT_OK)
        error = git__loose_head(map.bytes, &head);
    if (error == TS_GIT_OK && head.size > reading->max) {
        error = reading->only_start ? read_loose_start(reading, map.bytes, &head, &bytes) : TS_GIT_TOO_LARGE;
        head.size = reading->max;
    } else {
        if (error == TS_GIT_OK && (bytes = malloc((size_t)head.size + 1)) == NULL)
            error = TS_GIT_NO_MEMORY;
        if (error == TS_GIT_OK)
            error = git__loose_content(&reading->repo->inflater, map.bytes, &head, bytes);
    }
    git__map_release(&map);
    free(path);
    if (error != TS_GIT_OK) {
        free(bytes);
        return error;
    }
    struct ts_git_content content = {.type = head.type, .bytes = bytes, .len = (size_t)head.size};
    if (!has_id(reading, &content, oid)) {
        free(bytes);
        return TS_GIT_BAD_ID;
    }
    *ret_content = content;
    return TS_GIT_OK;
}

/* Searches the multi-pack indexes. */
static bool find_by_midx(const struct ts_git_repo *repo, const struct ts_git_oid *oid, uint32_t *ret_pack,
                         uint64_t *ret_offset) {
    for (size_t i = 0; i < repo->midx_count; i++) {
        struct git__midx_place place;
        if (git__midx_find(&repo->midxs[i].midx, oid->bytes, &place) &&
            repo->midxs[i].packs[place.pack] != GIT__NONE) {
            *ret_pack = repo->midxs[i].packs[place.pack];
            *ret_offset = place.offset;
            return true;
        }
    }
    return false;
}

static bool is_avoided(const struct reading *reading, uint32_t pack, uint32_t position) {
    const struct git__spot *spot = reading->not_at;
    return spot != NULL && spot->pack == pack && spot->position == position;
}

/* Returns whether the loose copy that must not be read is in this folder. */
static bool is_avoided_folder(const struct reading *reading, size_t object_dir) {
    const struct git__spot *spot = reading->not_at;
    return spot != NULL && spot->pack == GIT__NONE &&
           reading->repo->numbers.loose[spot->position].object_dir == object_dir;
}

static enum ts_git_error read_any(const struct reading *reading, const struct ts_git_oid *oid,
                                  uint32_t not_in_pack, struct ts_git_content *ret_content) {
    const struct ts_git_repo *repo = reading->repo;
    enum ts_git_error worst = TS_GIT_MISSING;
    uint32_t pack;
    uint64_t offset;
    if (reading->not_at == NULL && find_by_midx(repo, oid, &pack, &offset) && pack != not_in_pack) {
        worst = read_packed(reading, oid, pack, offset, ret_content);
        if (worst == TS_GIT_OK)
            return worst;
    }
    for (pack = 0; pack < repo->pack_count; pack++) {
        uint32_t position;
        if (pack == not_in_pack || !git__pack_index_find(&repo->packs[pack].index, oid->bytes, &position) ||
            is_avoided(reading, pack, position))
            continue;
        worst = TS_GIT_BAD_ENTRY;
        if (git__pack_index_offset(&repo->packs[pack].index, position, &offset))
            worst = read_packed(reading, oid, pack, offset, ret_content);
        if (worst == TS_GIT_OK)
            return worst;
    }
    for (size_t dir = 0; dir < repo->object_dir_count; dir++) {
        enum ts_git_error error =
            is_avoided_folder(reading, dir) ? TS_GIT_MISSING : read_loose(reading, dir, oid, ret_content);
        if (error == TS_GIT_OK)
            return error;
        if (error != TS_GIT_MISSING)
            worst = error;
    }
    return worst;
}

enum ts_git_error git__object_read(struct ts_git_repo *repo, const struct ts_git_oid *oid, size_t max,
                                   const struct git__spot *not_at, struct git__work *work,
                                   struct ts_git_content *ret_content) {
    struct reading reading = {
        .repo = repo, .max = max < SIZE_MAX ? max : SIZE_MAX - 1, .not_at = not_at, .work = work};
    enum ts_git_error error = read_any(&reading, oid, GIT__NONE, ret_content);
    /* If the caller excludes a damaged copy, the object exists, and has not moved. */
    if (error != TS_GIT_MISSING || not_at != NULL)
        return error;
    return git__object_read_again(repo, oid, max, work, ret_content);
}

enum ts_git_error git__object_read_start(struct ts_git_repo *repo, const struct ts_git_oid *oid, size_t max,
                                         struct ts_git_content *ret_content) {
    struct git__work work = {.steps_left = UINT64_MAX};
    struct reading reading = {.repo = repo, .max = max, .only_start = true, .work = &work};
    enum ts_git_error error = read_any(&reading, oid, GIT__NONE, ret_content);
    if (error != TS_GIT_MISSING || repo->again == NULL)
        return error;
    reading.repo = repo->again;
    return read_any(&reading, oid, GIT__NONE, ret_content);
}

enum ts_git_error ts_git_object_read(struct ts_git_repo *repo, const struct ts_git_oid *oid, size_t max,
                                     struct ts_git_content *ret_content, struct ts_git_fault *ret_fault) {
    struct git__work work = {.steps_left = UINT64_MAX};
    enum ts_git_error error = git__object_read(repo, oid, max, NULL, &work, ret_content);
    if (error == TS_GIT_MISSING && !repo->is_partial && git__refs_have_changed(repo))
        error = TS_GIT_MOVED;
    if (error != TS_GIT_OK)
        return git__fault_object(error, repo->hash, oid, NULL, ret_fault);
    return TS_GIT_OK;
}

enum ts_git_error ts_git_blob_read(struct ts_git_repo *repo, const struct ts_git_oid *oid, size_t max,
                                   struct ts_git_content *ret_content, struct ts_git_fault *ret_fault) {
    struct ts_git_content content;
    enum ts_git_error error = ts_git_object_read(repo, oid, max, &content, ret_fault);
    if (error != TS_GIT_OK)
        return error;
    if (content.type != TS_GIT_BLOB) {
        free(content.bytes);
        return git__fault_object(TS_GIT_WRONG_TYPE, repo->hash, oid, NULL, ret_fault);
    }
    *ret_content = content;
    return TS_GIT_OK;
}

enum ts_git_error ts_git_object_peel(struct ts_git_repo *repo, const struct ts_git_oid *oid,
                                     struct ts_git_oid *ret_oid, struct ts_git_fault *ret_fault) {
    struct ts_git_oid at = *oid;
    for (int i = 0; i < TAGS_MAX; i++) {
        struct ts_git_content content = {.bytes = NULL};
        enum ts_git_error error = ts_git_object_read(repo, &at, 64u << 20, &content, ret_fault);
        if ((error == TS_GIT_MISSING && i > 0) || error == TS_GIT_TOO_LARGE) {
            *ret_oid = at;
            return TS_GIT_OK;
        }
        if (error != TS_GIT_OK)
            return error;
        struct ts_git_tag tag;
        bool is_tag = content.type == TS_GIT_TAG;
        bool is_valid = is_tag && ts_git_tag_parse(repo->hash, ts_bytes_of(content.bytes, content.len), &tag);
        free(content.bytes);
        if (!is_tag) {
            *ret_oid = at;
            return TS_GIT_OK;
        }
        if (!is_valid)
            return git__fault_object(TS_GIT_BAD_OBJECT, repo->hash, &at, NULL, ret_fault);
        at = tag.target;
    }
    return git__fault_object(TS_GIT_BAD_OBJECT, repo->hash, oid, NULL, ret_fault);
}

static bool begins_with(const struct ts_git_oid *oid, enum ts_git_hash hash, const char *digits) {
    char hex[TS_GIT_OID_HEX_SIZE];
    (void)ts_git_oid_format(hash, oid, hex);
    return strncasecmp(hex, digits, strlen(digits)) == 0;
}

size_t git__find_prefix(struct ts_git_repo *repo, const char *digits, struct ts_git_oid *ret_first) {
    size_t found = 0;
    if (git__numbers_fill(repo, NULL, NULL) != TS_GIT_OK)
        return 0;
    /* An id may have several numbers. Only the lowest number counts. */
    for (uint32_t number = 0; number < repo->numbers.total; number++) {
        struct ts_git_oid oid = ts_git_oid_of(repo->hash, git__number_id(repo, number));
        if (git__number_is_copy(repo, number) || !begins_with(&oid, repo->hash, digits))
            continue;
        if (found++ == 0)
            *ret_first = oid;
    }
    return found;
}
