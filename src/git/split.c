/*
 *   link     id of the shared file, zeros for none | bitmap of entries that are gone | bitmap of replaced ones
 *            (both are optional)
 *   bitmap   be32 bits | be32 words | be64 words | be32 place of the last head
 *   words    a head, the literal words that it announces, the next head, ...
 *   head     bit 0 the bit of the run | bits 1-32 length of the run in words | bits 33-63 how many literal words follow
 *
 * Bit i, from the lowest of each word, is for entry i of the shared file. The first entries of the split file
 * have no paths: they replace, in order, the entries that the second bitmap marks. The other entries of the
 * split file are added. A replaced entry may also be deleted.
 */
#include "split.h"

#include "base/checked.h"
#include "base/endian.h"

#include <stdlib.h>

#define WORD_BITS 64u

bool git__split_parse(enum ts_git_hash hash, struct ts_bytes content, struct git__split *ret_split) {
    static const struct ts_git_oid none;
    size_t hash_len = ts_git_hash_len(hash);
    if (content.len < hash_len)
        return false;
    struct git__split split = {.shared = ts_git_oid_of(hash, content.data),
                               .bitmaps = ts_bytes_skip(content, hash_len)};
    split.is_split = !ts_git_oid_equal(&split.shared, &none);
    *ret_split = split;
    return true;
}

/* Removes a bitmap from the front of *rest. Every word and every set bit must belong to one of `count`
 * entries; otherwise returns false. */
static bool take_bitmap(struct ts_bytes *rest, size_t count, uint64_t *bits) {
    size_t room = count / WORD_BITS + (count % WORD_BITS != 0);
    size_t filled = 0;
    if (rest->len < 12)
        return false;
    size_t words = ts_be32_load(rest->data + 4);
    if (words > (rest->len - 12) / 8)
        return false;
    const uint8_t *at = rest->data + 8;
    for (size_t i = 0; i < words;) {
        uint64_t head = ts_be64_load(at + 8 * i++);
        uint64_t run = (head >> 1) & UINT32_MAX;
        uint64_t literals = head >> 33;
        if (run > room - filled)
            return false;
        if ((head & 1) != 0 && run > 0)
            memset(bits + filled, 0xff, (size_t)run * sizeof *bits);
        filled += (size_t)run;
        if (literals > words - i || literals > room - filled)
            return false;
        for (; literals > 0; literals--)
            bits[filled++] = ts_be64_load(at + 8 * i++);
    }
    *rest = ts_bytes_skip(*rest, 12 + words * 8);
    return count % WORD_BITS == 0 || bits[room - 1] >> (count % WORD_BITS) == 0;
}

static bool has_bit(const uint64_t *bits, size_t at) {
    return (bits[at / WORD_BITS] >> (at % WORD_BITS) & 1) != 0;
}

/* Replaces shared entries by the first entries of `own`, and keeps the paths of the shared entries.
 * *ret_count is the number of replaced entries. Returns false if the two files do not fit together. */
static bool replace(const uint64_t *replaced, struct ts_git_staged *shared, struct ts_git_staged *own,
                    size_t *ret_count) {
    size_t count = 0;
    for (size_t i = 0; i < shared->count; i++) {
        if (!has_bit(replaced, i))
            continue;
        if (count == own->count || own->items[count].path_len != 0)
            return false;
        struct ts_git_staged_entry *entry = &own->items[count++];
        char *empty = entry->path;
        entry->path = shared->items[i].path;
        entry->path_len = shared->items[i].path_len;
        shared->items[i] = *entry;
        entry->path = empty;
        if (!git__staged_is_safe(&shared->items[i]))
            return false;
    }
    for (size_t i = count; i < own->count; i++)
        if (own->items[i].path_len == 0)
            return false;
    *ret_count = count;
    return true;
}

static int compare_entries(const struct ts_git_staged_entry *a, const struct ts_git_staged_entry *b) {
    int order = ts_bytes_compare(ts_bytes_of(a->path, a->path_len), ts_bytes_of(b->path, b->path_len));
    return order != 0 ? order : (a->stage > b->stage) - (a->stage < b->stage);
}

static void move(struct ts_git_staged_entry *entry, struct ts_git_staged *to) {
    to->items[to->count++] = *entry;
    entry->path = NULL;
}

/* Merges both files. An added entry replaces a shared entry with the same path and stage. */
static void merge(const uint64_t *gone, struct ts_git_staged *shared, struct ts_git_staged *own, size_t added,
                  struct ts_git_staged *staged) {
    for (size_t i = 0; i < shared->count; i++) {
        if (has_bit(gone, i))
            continue;
        int order = -1;
        while (added < own->count && (order = compare_entries(&own->items[added], &shared->items[i])) < 0)
            move(&own->items[added++], staged);
        if (added == own->count || order != 0)
            move(&shared->items[i], staged);
    }
    while (added < own->count)
        move(&own->items[added++], staged);
}

bool git__split_join(const struct git__split *split, struct ts_git_staged *shared, struct ts_git_staged *own,
                     struct ts_git_staged *ret_staged) {
    struct ts_bytes rest = split->bitmaps;
    struct ts_git_staged staged = {.items = NULL};
    size_t words = shared->count / WORD_BITS + 1;
    size_t room;
    size_t replaced_count;
    uint64_t *gone = calloc(words, sizeof *gone);
    uint64_t *replaced = calloc(words, sizeof *replaced);
    bool done = gone != NULL && replaced != NULL && ts_checked_add_size(shared->count, own->count, &room) &&
                (rest.len == 0 || (take_bitmap(&rest, shared->count, gone) &&
                                   take_bitmap(&rest, shared->count, replaced) && rest.len == 0)) &&
                replace(replaced, shared, own, &replaced_count) &&
                (staged.items = calloc(room + 1, sizeof *staged.items)) != NULL;
    if (done) {
        merge(gone, shared, own, replaced_count, &staged);
        *ret_staged = staged;
    }
    free(gone);
    free(replaced);
    return done;
}
