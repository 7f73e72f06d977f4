/*
 *   'DIRC' | be32 version | be32 entries | entries | extensions | id of all before
 *
 *   entry   be32 ctime s, ns | mtime s, ns | dev | ino | mode | uid | gid | file size | id | be16 flags |
 *           be16 more flags (version 3 and 4, when bit 14 of the flags says so) | path
 *   flags   bit 15 assume valid, 14 extended, 13-12 stage, 11-0 length of path or 0xfff
 *   path    versions 2 and 3: the bytes, then 1 to 8 zeros up to a multiple of 8 from the entry's start
 *           version 4: how many bytes to remove from the previous path (a number as in offset deltas: pack.h),
 *           then the bytes to append, then a zero
 *
 * With index.skipHash, git writes zeros as the id at the end. Any other id must be correct: one wrong bit can
 * make git skip an entry.
 */
#include "git/staged.h"

#include "base/checked.h"
#include "base/endian.h"
#include "hash.h"
#include "os/grow.h"
#include "repo_impl.h"
#include "split.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIXED_SIZE  40u /* bytes of an entry before its id */
#define PATH_MAX_   (1u << 20)
/* The memory for an entry, not counting its path: its row in a list that grows by doubling, and the overhead
 * of malloc. */
#define ENTRY_BYTES (2 * sizeof(struct ts_git_staged_entry) + 32)

struct parser {
    enum ts_git_hash hash;
    uint32_t version;
    struct ts_bytes rest;
    struct ts_git_staged staged;
    size_t capacity;
    uint64_t memory_left;
    enum ts_git_error error; /* why parsing stopped */
};

/* Returns false for paths that git refuses to check out. */
bool git__staged_is_safe(const struct ts_git_staged_entry *entry) {
    const char *path = entry->path;
    size_t len = entry->path_len;
    bool is_folder = len > 0 && path[len - 1] == '/';
    if (is_folder != ts_git_mode_is_tree(entry->mode))
        return false;
    len -= is_folder;
    if (len == 0)
        return false;
    for (size_t from = 0; from <= len;) {
        const char *slash = from < len ? memchr(path + from, '/', len - from) : NULL;
        size_t to = slash != NULL ? (size_t)(slash - path) : len;
        size_t part = to - from;
        if (part == 0 || (part == 1 && path[from] == '.') ||
            (part == 2 && path[from] == '.' && path[from + 1] == '.') ||
            (part == 4 && memcmp(path + from, ".git", 4) == 0))
            return false;
        from = to + 1;
    }
    return true;
}

static bool take_path(struct parser *p, size_t entry_head, char **ret_path, size_t *ret_len) {
    uint64_t strip = 0;
    size_t kept = 0;
    const struct ts_git_staged_entry *before =
        p->staged.count > 0 ? &p->staged.items[p->staged.count - 1] : NULL;
    if (p->version == 4) {
        size_t known = before != NULL ? before->path_len : 0;
        if (!git__distance_parse(&p->rest, &strip) || strip > known)
            return false;
        kept = known - (size_t)strip;
    }
    const uint8_t *zero = p->rest.len > 0 ? memchr(p->rest.data, 0, p->rest.len) : NULL;
    if (zero == NULL)
        return false;
    size_t added = (size_t)(zero - p->rest.data);
    size_t len = kept + added;
    size_t taken = added + 1;
    if (p->version != 4)
        taken = ((entry_head + added + 8) & ~(size_t)7) - entry_head;
    if (len > PATH_MAX_ || taken > p->rest.len)
        return false;
    if (len + ENTRY_BYTES > p->memory_left) {
        p->error = TS_GIT_TOO_LARGE;
        return false;
    }
    char *path = malloc(len + 1);
    if (path == NULL) {
        p->error = TS_GIT_NO_MEMORY;
        return false;
    }
    p->memory_left -= len + ENTRY_BYTES;
    if (kept > 0)
        memcpy(path, before->path, kept);
    memcpy(path + kept, p->rest.data, added);
    path[len] = '\0';
    p->rest = ts_bytes_skip(p->rest, taken);
    *ret_path = path;
    *ret_len = len;
    return true;
}

static bool take_entry(struct parser *p) {
    size_t hash_len = ts_git_hash_len(p->hash);
    size_t head = FIXED_SIZE + hash_len + 2;
    if (p->rest.len < head)
        return false;
    const uint8_t *at = p->rest.data;
    uint16_t flags = ts_be16_load(at + FIXED_SIZE + hash_len);
    uint16_t more = 0;
    if ((flags & 0x4000u) != 0) {
        if (p->version < 3 || p->rest.len < head + 2)
            return false;
        more = ts_be16_load(at + head);
        head += 2;
    }
    struct ts_git_staged_entry entry = {
        .oid = ts_git_oid_of(p->hash, at + FIXED_SIZE),
        .mode = ts_be32_load(at + 24),
        .stage = (flags >> 12) & 3u,
        .is_intent_to_add = (more & 0x2000u) != 0,
        .is_ignored = (flags & 0x8000u) != 0 || (more & 0x4000u) != 0,
        .mtime_s = ts_be32_load(at + 8),
        .mtime_ns = ts_be32_load(at + 12),
        .size = ts_be32_load(at + 36),
    };
    p->rest = ts_bytes_skip(p->rest, head);
    if (!take_path(p, head, &entry.path, &entry.path_len))
        return false;
    /* Entries without a path are checked later, by git__split_join. */
    if ((entry.path_len > 0 && !git__staged_is_safe(&entry)) ||
        !TS_GROW(p->staged.items, p->capacity, p->staged.count + 1)) {
        free(entry.path);
        return false;
    }
    p->staged.items[p->staged.count++] = entry;
    return true;
}

/* Reads the first tree of the extension TREE, which is the tree of all entries. Its form: an empty path and a
 * zero, the number of entries, a blank, the number of folders, a line end, the id. If the tree is unknown,
 * the number of entries is negative, and the id is missing. */
static void take_tree(struct parser *p, struct ts_bytes content) {
    size_t hash_len = ts_git_hash_len(p->hash);
    const uint8_t *end = content.len > 2 ? memchr(content.data, '\n', content.len) : NULL;
    size_t line = end != NULL ? (size_t)(end - content.data) + 1 : 0;
    p->staged.has_tree =
        end != NULL && content.data[0] == 0 && content.data[1] != '-' && content.len - line >= hash_len;
    if (p->staged.has_tree)
        p->staged.tree = ts_git_oid_of(p->hash, content.data + line);
}

/* Reads the extensions. Extensions whose name begins with a capital may be ignored. */
static bool take_extensions(struct parser *p, struct git__split *ret_split) {
    struct ts_bytes rest = p->rest;
    while (rest.len >= 8) {
        uint32_t len = ts_be32_load(rest.data + 4);
        if (len > rest.len - 8)
            return false;
        struct ts_bytes content = ts_bytes_slice(rest, (struct ts_span){8, len});
        if (memcmp(rest.data, "link", 4) == 0) {
            if (!git__split_parse(p->hash, content, ret_split))
                return false;
        } else if (memcmp(rest.data, "TREE", 4) == 0) {
            take_tree(p, content);
        } else if ((rest.data[0] < 'A' || rest.data[0] > 'Z') && memcmp(rest.data, "sdir", 4) != 0) {
            return false;
        }
        rest = ts_bytes_skip(rest, 8 + (size_t)len);
    }
    return rest.len == 0;
}

static bool has_paths(const struct ts_git_staged *staged) {
    for (size_t i = 0; i < staged->count; i++)
        if (staged->items[i].path_len == 0)
            return false;
    return true;
}

enum ts_git_error git__staged_parse(enum ts_git_hash hash, struct ts_bytes file, uint64_t memory_max,
                                    struct ts_git_staged *ret_staged, struct git__split *ret_split) {
    size_t hash_len = ts_git_hash_len(hash);
    struct parser p = {.hash = hash, .memory_left = memory_max, .error = TS_GIT_BAD_FILE};
    struct git__split split = {.is_split = false};
    if (file.len < 12 + hash_len || memcmp(file.data, "DIRC", 4) != 0)
        return TS_GIT_BAD_FILE;
    p.version = ts_be32_load(file.data + 4);
    uint32_t count = ts_be32_load(file.data + 8);
    p.rest = ts_bytes_slice(file, (struct ts_span){12, file.len - 12 - hash_len});
    bool is_valid = p.version >= 2 && p.version <= 4;
    for (uint32_t i = 0; i < count && is_valid; i++)
        is_valid = take_entry(&p);
    if (!is_valid || !take_extensions(&p, &split) || (!split.is_split && !has_paths(&p.staged))) {
        ts_git_staged_release(&p.staged);
        return p.error;
    }
    *ret_staged = p.staged;
    *ret_split = split;
    return TS_GIT_OK;
}

static bool is_sound(enum ts_git_hash hash, struct ts_bytes file) {
    static const uint8_t none[TS_GIT_OID_MAX];
    size_t len = ts_git_hash_len(hash);
    return file.len >= len &&
           (memcmp(file.data + file.len - len, none, len) == 0 || git__has_checksum(hash, file));
}

/* Opens the shared file, which is in the folder of the repository, or next to the index. */
static enum ts_git_error open_shared(const struct ts_git_repo *repo, const char *index, const char *name,
                                     char **ret_path, struct git__map *ret_map,
                                     struct ts_git_fault *ret_fault) {
    char *path = git__path_join(repo->git_dir, name);
    if (path == NULL)
        return git__fault(TS_GIT_NO_MEMORY, index, ret_fault);
    enum ts_git_error error = git__map_open(path, ret_map, ret_fault);
    const char *slash = strrchr(index, '/');
    if (error == TS_GIT_MISSING) {
        struct ts_git_fault ignored;
        char *folder = slash != NULL ? strndup(index, (size_t)(slash - index)) : strdup(".");
        char *beside = folder != NULL ? git__path_join(folder, name) : NULL;
        free(folder);
        if (beside == NULL) {
            error = git__fault(TS_GIT_NO_MEMORY, index, ret_fault);
        } else if (git__map_open(beside, ret_map, &ignored) == TS_GIT_OK) {
            error = TS_GIT_OK;
            free(path);
            path = beside;
        } else {
            error = git__fault(TS_GIT_NO_SHARED_INDEX, path, ret_fault);
            free(beside);
        }
    }
    if (error == TS_GIT_OK)
        *ret_path = path;
    else
        free(path);
    return error;
}

/* Adds the entries of the shared file to `staged`, which has the entries of the index itself. */
static enum ts_git_error join_shared(const struct ts_git_repo *repo, const char *index, uint64_t memory_max,
                                     const struct git__split *split, struct ts_git_staged *staged,
                                     struct ts_git_fault *ret_fault) {
    char hex[TS_GIT_OID_HEX_SIZE];
    char name[sizeof "sharedindex." + TS_GIT_OID_HEX_SIZE];
    size_t hash_len = ts_git_hash_len(repo->hash);
    struct git__map map = {.bytes = {NULL, 0}};
    struct git__split nested = {.is_split = false};
    struct ts_git_staged shared = {.items = NULL};
    struct ts_git_staged joined;
    char *path = NULL;
    (void)snprintf(name, sizeof name, "sharedindex.%s", ts_git_oid_format(repo->hash, &split->shared, hex));
    enum ts_git_error error = open_shared(repo, index, name, &path, &map, ret_fault);
    if (error != TS_GIT_OK)
        return error;
    error = is_sound(repo->hash, map.bytes)
                ? git__staged_parse(repo->hash, map.bytes, memory_max, &shared, &nested)
                : TS_GIT_BAD_FILE;
    if (error == TS_GIT_OK && (nested.is_split || memcmp(map.bytes.data + map.bytes.len - hash_len,
                                                         split->shared.bytes, hash_len) != 0))
        error = TS_GIT_BAD_FILE;
    if (error != TS_GIT_OK) {
        (void)git__fault(error, path, ret_fault);
    } else if (!git__split_join(split, &shared, staged, &joined)) {
        error = git__fault(TS_GIT_BAD_FILE, index, ret_fault);
    } else {
        joined.has_tree = staged->has_tree;
        joined.tree = staged->tree;
        ts_git_staged_release(staged);
        *staged = joined;
    }
    ts_git_staged_release(&shared);
    git__map_release(&map);
    free(path);
    return error;
}

enum ts_git_error ts_git_staged_read_file(struct ts_git_repo *repo, const char *path, uint64_t memory_max,
                                          struct ts_git_staged *ret_staged, struct ts_git_fault *ret_fault) {
    struct git__map map = {.bytes = {NULL, 0}};
    struct git__split split = {.is_split = false};
    struct ts_git_staged staged = {.items = NULL};
    enum ts_git_error error = git__map_open(path, &map, ret_fault);
    if (error == TS_GIT_MISSING)
        error = TS_GIT_OK;
    else if (error == TS_GIT_OK &&
             (error = is_sound(repo->hash, map.bytes)
                          ? git__staged_parse(repo->hash, map.bytes, memory_max / 2, &staged, &split)
                          : TS_GIT_BAD_FILE) != TS_GIT_OK)
        (void)git__fault(error, path, ret_fault);
    if (error == TS_GIT_OK && split.is_split)
        error = join_shared(repo, path, memory_max / 2, &split, &staged, ret_fault);
    git__map_release(&map);
    if (error == TS_GIT_OK)
        *ret_staged = staged;
    else
        ts_git_staged_release(&staged);
    return error;
}

enum ts_git_error ts_git_staged_read(struct ts_git_repo *repo, uint64_t memory_max,
                                     struct ts_git_staged *ret_staged, struct ts_git_fault *ret_fault) {
    char *path = git__path_join(repo->git_dir, "index");
    if (path == NULL)
        return git__fault(TS_GIT_NO_MEMORY, repo->git_dir, ret_fault);
    enum ts_git_error error = ts_git_staged_read_file(repo, path, memory_max, ret_staged, ret_fault);
    free(path);
    return error;
}

size_t ts_git_staged_find(const struct ts_git_staged *staged, const char *path) {
    size_t low = 0;
    for (size_t high = staged->count; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(staged->items[middle].path, path) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void ts_git_staged_release(struct ts_git_staged *staged) {
    for (size_t i = 0; i < staged->count; i++)
        free(staged->items[i].path);
    free(staged->items);
    *staged = (struct ts_git_staged){.items = NULL};
}

/* ---- the parents of the next commit ---- */

#define PARENTS_MAX 256 /* HEAD included; a MERGE_HEAD with more lines is ignored */

enum ts_git_error ts_git_staged_parents(struct ts_git_repo *repo, struct ts_git_oid **ret_oids,
                                        size_t *ret_count, struct ts_git_fault *ret_fault) {
    size_t hex = 2 * ts_git_hash_len(repo->hash);
    struct ts_git_oid *oids = calloc(PARENTS_MAX, sizeof *oids);
    char *path = git__path_join(repo->git_dir, "MERGE_HEAD");
    char *text = NULL;
    size_t len = 0;
    size_t count = 0;
    if (oids == NULL || path == NULL) {
        free(oids);
        free(path);
        return git__fault(TS_GIT_NO_MEMORY, repo->git_dir, ret_fault);
    }
    if (ts_git_repo_resolve(repo, "HEAD", &oids[0], NULL) == TS_GIT_OK)
        count = 1;
    if (count > 0 && git__file_read(path, PARENTS_MAX * (hex + 1), &text, &len, NULL) != TS_GIT_OK)
        len = 0;
    for (size_t at = 0; at + hex <= len && count < PARENTS_MAX; at += hex + 1)
        count += ts_git_oid_parse(repo->hash, ts_bytes_of(text + at, hex), &oids[count]);
    free(text);
    free(path);
    *ret_oids = oids;
    *ret_count = count;
    return TS_GIT_OK;
}
