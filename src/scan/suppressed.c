#include "suppressed.h"

#include "look_impl.h"
#include "os/grow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Records that an entry or mark allowed a finding, and how often. When there are many records, equal records
 * are merged, so that the list does not become larger than the result. */
struct scan_suppressed_item {
    uint32_t profile; /* number of the profile; MARK for marks */
    uint32_t source;  /* index of the entry; fingerprints come after all entries; MARK: text of the mark */
    uint32_t finding;
    uint64_t times;
};

/* A finding that a fingerprint ignores at a path, in every version of the file. */
struct scan_suppressed_pair {
    uint32_t finding;
    uint32_t path;
    uint32_t entry; /* index of the entry in the profile's `ignored` */
};

#define MARK        UINT32_MAX
#define MERGE_FIRST 65536

bool scan__suppressed_init(struct scan_suppressed *suppressed, const struct scan_hits *hits,
                           struct scan_profile *const *profiles, size_t profile_count) {
    *suppressed =
        (struct scan_suppressed){.hits = hits, .profiles = profiles, .profile_count = profile_count};
    suppressed->met = calloc(profile_count + 1, sizeof *suppressed->met);
    bool done = suppressed->met != NULL;
    for (size_t i = 0; done && i < profile_count; i++) {
        suppressed->met[i] = calloc(profiles[i]->config.allow_count + 1, sizeof **suppressed->met);
        done = suppressed->met[i] != NULL;
    }
    return done && TS_GROW(suppressed->items, suppressed->capacity, MERGE_FIRST);
}

void scan__suppressed_release(struct scan_suppressed *suppressed) {
    for (size_t i = 0; suppressed->met != NULL && i < suppressed->profile_count; i++)
        free(suppressed->met[i]);
    free(suppressed->met);
    suppressed->met = NULL;
    free(suppressed->pairs);
    suppressed->pairs = NULL;
    free(suppressed->items);
    suppressed->items = NULL;
}

void scan__suppressed_clear(struct scan_suppressed *suppressed) {
    suppressed->pair_count = 0;
}

static int compare_pairs(const void *left, const void *right) {
    const struct scan_suppressed_pair *a = left;
    const struct scan_suppressed_pair *b = right;
    if (a->finding != b->finding)
        return a->finding < b->finding ? -1 : 1;
    if (a->path != b->path)
        return a->path < b->path ? -1 : 1;
    return (a->entry > b->entry) - (a->entry < b->entry);
}

void scan__suppressed_sort(struct scan_suppressed *suppressed) {
    if (suppressed->pair_count == 0)
        return;
    qsort(suppressed->pairs, suppressed->pair_count, sizeof *suppressed->pairs, compare_pairs);
    size_t kept = 1;
    for (size_t i = 1; i < suppressed->pair_count; i++) {
        const struct scan_suppressed_pair *last = &suppressed->pairs[kept - 1];
        if (last->finding != suppressed->pairs[i].finding || last->path != suppressed->pairs[i].path)
            suppressed->pairs[kept++] = suppressed->pairs[i];
    }
    suppressed->pair_count = kept;
}

static const struct scan_suppressed_pair *find_pair(const struct scan_suppressed *suppressed,
                                                    uint32_t finding, uint32_t path) {
    size_t low = 0;
    size_t high = suppressed->pair_count;
    if (high == 0)
        return NULL;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct scan_suppressed_pair *pair = &suppressed->pairs[middle];
        if (pair->finding < finding || (pair->finding == finding && pair->path < path))
            low = middle + 1;
        else
            high = middle;
    }
    const struct scan_suppressed_pair *pair = &suppressed->pairs[low];
    return low < suppressed->pair_count && pair->finding == finding && pair->path == path ? pair : NULL;
}

/* Adds a pair. Drops duplicates, because versions of a file have the same pairs again and again. */
static bool add_pair(struct scan_suppressed *suppressed, struct scan_suppressed_pair pair) {
    if (suppressed->pair_count == suppressed->pair_capacity) {
        scan__suppressed_sort(suppressed);
        if (suppressed->pair_count >= suppressed->pair_capacity / 2 &&
            !TS_GROW(suppressed->pairs, suppressed->pair_capacity, suppressed->pair_capacity + 1))
            return false;
    }
    suppressed->pairs[suppressed->pair_count++] = pair;
    return true;
}

static bool is_ignored(const struct scan_ignored_entry *entry, const struct scan_hit *hit,
                       const struct scan_suppressed_place *place) {
    static const struct ts_git_oid any = {{0}};
    return entry->line >= hit->line && entry->line <= hit->end_line &&
           (ts_git_oid_equal(&entry->commit, &any) || place->is_before ||
            (place->commit != NULL && ts_git_oid_equal(&entry->commit, place->commit)));
}

void scan__suppressed_ignore(struct scan_suppressed *suppressed, const struct scan_suppressed_place *place) {
    const struct scan_ignored *ignored = &place->profile->ignored;
    const char *path = (const char *)scan__hits_text_at(suppressed->hits, place->path).data;
    size_t first;
    size_t count = scan__ignored_at(ignored, path, &first);
    for (uint32_t i = 0; i < place->content->hit_count && count > 0; i++) {
        const struct scan_hit *hit = &scan__hits_items(suppressed->hits)[place->content->first_hit + i];
        for (size_t k = first; k < first + count; k++) {
            struct scan_suppressed_pair pair = {hit->finding, place->path, (uint32_t)k};
            if (is_ignored(&ignored->entries[k], hit, place) && !add_pair(suppressed, pair)) {
                suppressed->no_memory = true;
                return;
            }
        }
    }
}

static int compare(const void *a, const void *b) {
    const struct scan_suppressed_item *x = a;
    const struct scan_suppressed_item *y = b;
    if (x->profile != y->profile)
        return x->profile < y->profile ? -1 : 1;
    if (x->source != y->source)
        return x->source < y->source ? -1 : 1;
    return (x->finding > y->finding) - (x->finding < y->finding);
}

static void merge(struct scan_suppressed *suppressed) {
    if (suppressed->count == 0)
        return;
    qsort(suppressed->items, suppressed->count, sizeof *suppressed->items, compare);
    size_t kept = 1;
    for (size_t i = 1; i < suppressed->count; i++) {
        struct scan_suppressed_item *last = &suppressed->items[kept - 1];
        if (compare(last, &suppressed->items[i]) == 0)
            last->times += suppressed->items[i].times;
        else
            suppressed->items[kept++] = suppressed->items[i];
    }
    suppressed->count = kept;
}

static void add(struct scan_suppressed *suppressed, struct scan_suppressed_item item) {
    if (suppressed->count == suppressed->capacity) {
        merge(suppressed);
        if (suppressed->count > suppressed->capacity / 2 &&
            !TS_GROW(suppressed->items, suppressed->capacity, suppressed->capacity + 1)) {
            suppressed->no_memory = true;
            return;
        }
    }
    suppressed->items[suppressed->count++] = item;
}

static uint32_t number_of(const struct scan_suppressed *suppressed, const struct scan_profile *profile) {
    uint32_t number = 0;
    while (suppressed->profiles[number] != profile)
        number++;
    return number;
}

bool scan__suppressed_take(struct scan_suppressed *suppressed, const struct scan_profile *profile,
                           const struct scan_hit *hit, uint32_t path_text) {
    struct ts_bytes entries = scan__hits_text_at(suppressed->hits, hit->allows);
    const char *path = (const char *)scan__hits_text_at(suppressed->hits, path_text).data;
    const struct scan_suppressed_pair *pair = find_pair(suppressed, hit->finding, path_text);
    uint32_t number = entries.len > 0 || pair != NULL ? number_of(suppressed, profile) : 0;
    bool is_taken = false;
    for (size_t i = 0; i < entries.len / sizeof(uint32_t); i++) {
        uint32_t entry;
        memcpy(&entry, entries.data + i * sizeof entry, sizeof entry);
        suppressed->met[number][entry] = true;
        if (is_taken || !ts_allow_has_path(&profile->config.allows[entry], path))
            continue;
        add(suppressed, (struct scan_suppressed_item){number, entry, hit->finding, 1});
        is_taken = true;
    }
    if (is_taken)
        return true;
    if (pair != NULL) {
        uint32_t source = (uint32_t)profile->config.allow_count + pair->entry;
        add(suppressed, (struct scan_suppressed_item){number, source, hit->finding, 1});
        return true;
    }
    if (hit->pragma == SCAN_NO_TEXT || suppressed->keeps_marked)
        return false;
    add(suppressed, (struct scan_suppressed_item){MARK, hit->pragma, hit->finding, 1});
    return true;
}

bool scan__is_allowed(const struct scan_hits *hits, const struct scan_profile *profile,
                      const struct scan_hit *hit, const char *path) {
    struct ts_bytes entries = scan__hits_text_at(hits, hit->allows);
    bool is_allowed = hit->pragma != SCAN_NO_TEXT;
    for (size_t i = 0; i < entries.len / sizeof(uint32_t) && !is_allowed; i++) {
        uint32_t entry;
        memcpy(&entry, entries.data + i * sizeof entry, sizeof entry);
        is_allowed = ts_allow_has_path(&profile->config.allows[entry], path);
    }
    return is_allowed;
}

bool scan__suppressed_would(const struct scan_suppressed *suppressed, const struct scan_profile *profile,
                            const struct scan_hit *hit, uint32_t path) {
    return find_pair(suppressed, hit->finding, path) != NULL ||
           scan__is_allowed(suppressed->hits, profile, hit,
                            (const char *)scan__hits_text_at(suppressed->hits, path).data);
}

size_t scan__suppressed_unmet(const struct scan_suppressed *suppressed, const struct scan_profile *profile,
                              unsigned *ret_line) {
    const bool *met = suppressed->met[number_of(suppressed, profile)];
    size_t count = 0;
    for (size_t i = 0; i < profile->config.allow_count; i++) {
        if (met[i] || profile->config.allows[i].findings.count == 0)
            continue;
        if (count++ == 0)
            *ret_line = profile->config.allows[i].line;
    }
    return count;
}

/* Returns both texts, one after the other, in the arena; NULL when memory runs out. */
static const char *join(struct ts_arena *arena, const char *first, const char *second) {
    size_t size = strlen(first) + strlen(second) + 1;
    char *text = ts_arena_take(arena, size);
    if (text != NULL)
        snprintf(text, size, "%s%s", first, second);
    return text;
}

/* Returns "FILE:LINE" in the arena; NULL when memory runs out. */
static const char *place_text(struct ts_arena *arena, const char *file, unsigned line) {
    char number[32];
    snprintf(number, sizeof number, ":%u", line);
    return join(arena, file, number);
}

static struct ts_report_suppression row_of(const struct scan_suppressed *suppressed, struct ts_arena *arena,
                                           const struct scan_suppressed_item *item) {
    if (item->profile == MARK)
        return (struct ts_report_suppression){
            .source = (const char *)scan__hits_text_at(suppressed->hits, item->source).data, .reason = ""};
    const struct scan_profile *profile = suppressed->profiles[item->profile];
    const struct ts_detect_config *config = &profile->config;
    if (item->source < config->allow_count)
        return (struct ts_report_suppression){
            .source = place_text(arena, config->file, config->allows[item->source].line),
            .reason = config->allows[item->source].reason};
    const struct scan_ignored_entry *entry = &profile->ignored.entries[item->source - config->allow_count];
    const char *reason = join(arena, "gitleaks rule ", entry->rule);
    return (struct ts_report_suppression){
        .source = reason != NULL ? place_text(arena, SCAN_IGNORE_NAME, entry->at) : NULL, .reason = reason};
}

static bool is_mark(const struct scan_suppressed_item *item) {
    return item->profile == MARK;
}

/* Sorts rows of marks by their texts, because the positions of these texts depend on threads. Entries are
 * already sorted. */
static void sort_marks(struct ts_report_suppression *rows, size_t count) {
    for (size_t i = 1; i < count; i++)
        for (size_t k = i; k > 0 && strcmp(rows[k - 1].source, rows[k].source) > 0; k--) {
            struct ts_report_suppression row = rows[k];
            rows[k] = rows[k - 1];
            rows[k - 1] = row;
        }
}

bool scan__suppressed_rows(struct scan_suppressed *suppressed, struct ts_arena *arena,
                           struct ts_report_suppression **ret_rows, size_t *ret_count) {
    merge(suppressed);
    size_t sources = 0;
    size_t marks = 0;
    const struct scan_suppressed_item *items = suppressed->items;
    for (size_t i = 0; i < suppressed->count; i++) {
        bool is_new =
            i == 0 || items[i].profile != items[i - 1].profile || items[i].source != items[i - 1].source;
        sources += is_new;
        marks += is_new && is_mark(&items[i]);
    }
    struct ts_report_suppression *rows = ts_arena_take(arena, sources * sizeof *rows);
    if (rows == NULL)
        return false;
    size_t count = 0;
    for (size_t i = 0; i < suppressed->count; i++) {
        if (i == 0 || items[i].profile != items[i - 1].profile || items[i].source != items[i - 1].source) {
            rows[count++] = row_of(suppressed, arena, &items[i]);
            if (rows[count - 1].source == NULL)
                return false;
        }
        rows[count - 1].findings++;
        rows[count - 1].occurrences += items[i].times;
    }
    sort_marks(rows + (count - marks), marks);
    *ret_rows = rows;
    *ret_count = count;
    return true;
}
