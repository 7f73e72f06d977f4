#include "packed_refs.h"

#include "os/grow.h"
#include "repo_impl.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare_refs(const void *a, const void *b) {
    const struct git__packed_ref *x = a;
    const struct git__packed_ref *y = b;
    int order = ts_bytes_compare(x->name, y->name);
    return order != 0 ? order : (x->name.data > y->name.data) - (x->name.data < y->name.data);
}

/* The state of parsing. is_bad says whether the current line is invalid. */
struct lines {
    struct git__packed_refs *packed;
    enum ts_git_hash hash;
    bool says_sorted; /* the header says that the lines are sorted */
    bool has_ref;     /* the last line was a ref, so a line with its peeled target may follow */
    bool is_bad;
    bool no_memory;
};

/* Parses the header: "# pack-refs with: TRAIT TRAIT". */
static void take_header(struct lines *lines, struct ts_bytes line) {
    static const char sorted[] = " sorted";
    lines->is_bad = !ts_bytes_starts_with(line, TS_BYTES("# pack-refs with:"));
    const char *found = memmem(line.data, line.len, sorted, strlen(sorted));
    const char *end = (const char *)line.data + line.len;
    lines->says_sorted = found != NULL && (found + strlen(sorted) == end || found[strlen(sorted)] == ' ');
}

/* Parses a line "ID NAME". */
static void take_ref(struct lines *lines, struct ts_bytes line) {
    struct git__packed_refs *packed = lines->packed;
    size_t hex_len = 2 * ts_git_hash_len(lines->hash);
    struct git__packed_ref ref;
    if (line.len <= hex_len + 1 || line.data[hex_len] != ' ' ||
        !ts_git_oid_parse(lines->hash, ts_bytes_first(line, hex_len), &ref.oid)) {
        lines->is_bad = true;
        return;
    }
    ref.name = ts_bytes_skip(line, hex_len + 1);
    if (!TS_GROW(packed->items, packed->capacity, packed->count + 1)) {
        lines->no_memory = true;
        return;
    }
    bool is_next =
        packed->count == 0 || ts_bytes_compare(packed->items[packed->count - 1].name, ref.name) < 0;
    packed->is_sorted = packed->is_sorted && is_next;
    lines->is_bad = !git__ref_name_is_valid(ref.name) || (lines->says_sorted && !is_next);
    lines->has_ref = true;
    packed->items[packed->count++] = ref;
}

/* Parses a line "^ID": the peeled target of the tag in the line before. */
static void take_peeled(struct lines *lines, struct ts_bytes line) {
    struct ts_git_oid oid;
    lines->is_bad = !lines->has_ref || !ts_git_oid_parse(lines->hash, ts_bytes_skip(line, 1), &oid);
    lines->has_ref = false;
}

/* Parses all lines. If a file is truncated inside a line, git refuses the whole file, but this function reads
 * the complete lines. */
static bool read_lines(enum ts_git_hash hash, const struct ts_git_fault_sink *faults,
                       struct git__packed_refs *packed) {
    struct lines lines = {.packed = packed, .hash = hash};
    struct ts_bytes rest = packed->map.bytes;
    packed->is_sorted = true;
    for (uint64_t number = 1; rest.len > 0 && !lines.no_memory; number++) {
        const uint8_t *end = memchr(rest.data, '\n', rest.len);
        size_t len = end != NULL ? (size_t)(end - rest.data) : rest.len;
        struct ts_bytes line = ts_bytes_first(rest, len);
        rest = ts_bytes_skip(rest, end != NULL ? len + 1 : len);
        lines.is_bad = false;
        if (end == NULL || len == 0)
            lines.is_bad = true;
        else if (line.data[0] == '#' && number == 1)
            take_header(&lines, line);
        else if (line.data[0] == '^')
            take_peeled(&lines, line);
        else
            take_ref(&lines, line);
        if (lines.is_bad && packed->bad_line == 0)
            packed->bad_line = number;
    }
    if (packed->bad_line > 0) {
        struct ts_git_fault fault;
        (void)git__packed_refs_fault(packed, &fault);
        git__fault_send(faults, &fault);
    }
    if (!packed->is_sorted)
        qsort(packed->items, packed->count, sizeof *packed->items, compare_refs);
    return !lines.no_memory;
}

enum ts_git_error git__packed_refs_fault(const struct git__packed_refs *packed,
                                         struct ts_git_fault *ret_fault) {
    char thing[64];
    (void)snprintf(thing, sizeof thing, "packed-refs, line %" PRIu64, packed->bad_line);
    return git__fault(TS_GIT_BAD_LINE, thing, ret_fault);
}

/* Returns whether a part of a name, between slashes, follows git's rules for new refs. */
static bool part_is_valid(struct ts_bytes part) {
    static const char lock[] = ".lock";
    size_t len = strlen(lock);
    return part.len > 0 && part.data[0] != '.' &&
           (part.len < len || memcmp(part.data + part.len - len, lock, len) != 0);
}

/* Returns whether a name may not contain the character. Uses a switch, because a repository may have 100,000
 * refs, and searching a list for each character would take longer than everything else. */
static bool is_forbidden(uint8_t c) {
    switch (c) {
    case '~':
    case '^':
    case ':':
    case '?':
    case '*':
    case '[':
    case '\\':
    case 0x7f:
        return true;
    default:
        return c <= ' ';
    }
}

bool git__ref_name_is_valid(struct ts_bytes name) {
    if (name.len == 0 || name.data[name.len - 1] == '.' || ts_bytes_equal(name, TS_BYTES("@")))
        return false;
    size_t from = 0;
    for (size_t i = 0; i <= name.len; i++) {
        uint8_t c = i < name.len ? name.data[i] : '/';
        uint8_t before = i > 0 ? name.data[i - 1] : 0;
        if (is_forbidden(c) || (c == '.' && before == '.') || (c == '{' && before == '@'))
            return false;
        if (c != '/')
            continue;
        if (!part_is_valid(ts_bytes_slice(name, (struct ts_span){from, i - from})))
            return false;
        from = i + 1;
    }
    return true;
}

enum ts_git_error git__packed_refs_read(const struct ts_git_repo *repo,
                                        const struct ts_git_fault_sink *faults,
                                        struct git__packed_refs *ret_packed, struct ts_git_fault *ret_fault) {
    *ret_packed = (struct git__packed_refs){.items = NULL};
    char *path = git__path_join(repo->common_dir, "packed-refs");
    if (path == NULL)
        return git__fault(TS_GIT_NO_MEMORY, repo->common_dir, ret_fault);
    enum ts_git_error error = git__map_open(path, &ret_packed->map, ret_fault);
    free(path);
    if (error == TS_GIT_MISSING)
        return TS_GIT_OK;
    if (error == TS_GIT_OK && !read_lines(repo->hash, faults, ret_packed)) {
        git__packed_refs_release(ret_packed);
        error = git__fault(TS_GIT_NO_MEMORY, repo->common_dir, ret_fault);
    }
    return error;
}

void git__packed_refs_release(struct git__packed_refs *packed) {
    free(packed->items);
    git__map_release(&packed->map);
    *packed = (struct git__packed_refs){.items = NULL};
}

const struct git__packed_ref *git__packed_refs_find(const struct git__packed_refs *packed, const char *name) {
    struct ts_bytes wanted = ts_bytes_of_cstring(name);
    size_t low = 0;
    size_t high = packed->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ts_bytes_compare(packed->items[middle].name, wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    bool is_found = low < packed->count && ts_bytes_compare(packed->items[low].name, wanted) == 0;
    return is_found ? &packed->items[low] : NULL;
}
