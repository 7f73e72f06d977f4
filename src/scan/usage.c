#include "usage.h"

#include "look_impl.h"

#include "base/endian.h"
#include "os/clock.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of the layouts and of what keys mean; in every key. */
#define FORMAT 1

static void extend(struct scan_state_key *key, const void *bytes, size_t len) {
    memcpy(key->bytes + key->len, bytes, len);
    key->len += len;
}

struct scan_state_key scan__state_key(enum scan_state_kind kind, const struct scan_use *use) {
    struct scan_state_key key = {.bytes = {FORMAT, (uint8_t)kind}, .len = 2};
    extend(&key, use->repo, sizeof use->repo);
    extend(&key, use->rules, sizeof use->rules);
    if (kind != SCAN_STATE_KNOWN)
        extend(&key, use->judging, sizeof use->judging);
    return key;
}

struct entry {
    struct scan_use use;
    uint64_t time_ms;
    bool is_gone; /* the repository is not there any more */
};

struct entries {
    struct entry *items;
    size_t count;
    size_t capacity;
};

static bool take_row(void *ctx, struct ts_bytes key, struct ts_bytes value) {
    struct entries *entries = ctx;
    char path[4096];
    if (key.len != 2 + sizeof(struct scan_use) || value.len < 8 || value.len - 8 >= sizeof path)
        return false;
    if (!SCAN_GROW(entries->items, entries->capacity, entries->count + 1))
        return true;
    struct entry *entry = &entries->items[entries->count++];
    *entry = (struct entry){.time_ms = ts_be64_load(value.data)};
    memcpy(&entry->use, key.data + 2, sizeof entry->use);
    memcpy(path, value.data + 8, value.len - 8);
    path[value.len - 8] = '\0';
    entry->is_gone = access(path, F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR);
    return true;
}

/* The latest first. */
static int compare(const void *a, const void *b) {
    const struct entry *x = a;
    const struct entry *y = b;
    return (x->time_ms < y->time_ms) - (x->time_ms > y->time_ms);
}

static bool is_needed(const struct entries *kept, const struct scan_use *use) {
    for (size_t i = 0; i < kept->count; i++)
        if (memcmp(&kept->items[i].use, use, offsetof(struct scan_use, judging)) == 0)
            return true;
    return false;
}

static void drop(struct scan_state *state, enum scan_state_kind kind, const struct scan_use *use) {
    struct scan_state_key key = scan__state_key(kind, use);
    scan__state_drop(state, scan__state_key_bytes(&key));
}

/* Moves what stays to the front, and removes the rest. */
static void prune(struct scan_state *state, struct entries *all) {
    if (all->count > 1)
        qsort(all->items, all->count, sizeof *all->items, compare);
    struct entries kept = {.items = all->items};
    size_t removed = 0;
    for (size_t i = 0; i < all->count; i++) {
        struct entry entry = all->items[i];
        size_t same = 0;
        for (size_t k = 0; k < kept.count; k++)
            same += memcmp(kept.items[k].use.repo, entry.use.repo, sizeof entry.use.repo) == 0;
        if (!entry.is_gone && same < SCAN_USES_MAX && kept.count < SCAN_USES_TOTAL_MAX) {
            all->items[i] = kept.items[kept.count];
            kept.items[kept.count++] = entry;
        } else {
            removed++;
        }
    }
    for (size_t i = kept.count; i < kept.count + removed; i++) {
        const struct scan_use *use = &all->items[i].use;
        drop(state, SCAN_STATE_SNAPSHOT, use);
        drop(state, SCAN_STATE_HITS, use);
        if (!is_needed(&kept, use))
            drop(state, SCAN_STATE_KNOWN, use);
        drop(state, SCAN_STATE_USE, use);
    }
}

void scan__use_note(struct scan_state *state, const struct scan_use *use, const char *path) {
    uint8_t value[8 + 4096];
    struct scan_state_key key = scan__state_key(SCAN_STATE_USE, use);
    struct ts_bytes text = ts_bytes_of_cstring(path);
    if (text.len >= sizeof value - 8)
        return;
    ts_be64_store(ts_clock_wall_ms(), value);
    memcpy(value + 8, text.data, text.len);
    struct ts_op op = {
        .kind = TS_OP_PUT, .key = scan__state_key_bytes(&key), .value = ts_bytes_of(value, 8 + text.len)};
    struct entries entries = {.items = NULL};
    if (scan__state_apply(state, &op, 1) &&
        scan__state_each(state, ts_bytes_of(key.bytes, 2), take_row, &entries))
        prune(state, &entries);
    free(entries.items);
}
