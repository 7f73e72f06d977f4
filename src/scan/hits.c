#include "hits.h"

#include "base/blake3.h"
#include "base/endian.h"
#include "os/entropy.h"

#include <stdlib.h>
#include <string.h>

#define SLOT_FREE   UINT32_MAX
#define TEXT_ALIGN  4u
#define TEXT_START  ((size_t)2 * TEXT_ALIGN) /* position of the first text after the empty text */
#define SLOTS_FIRST 1024

/* In memory, hits may take 1/HITS_SHARE of held_max, and contents, texts and findings 1/TEXTS_SHARE each. A
 * pile that grows beyond its share moves to a file. */
#define HITS_SHARE  2
#define TEXTS_SHARE 4

bool scan__hits_init(struct scan_hits *hits, const struct scan_hits_options *options) {
    *hits = (struct scan_hits){.findings_max = options->findings_max};
    pthread_mutex_init(&hits->lock, NULL);
    atomic_init(&hits->finding_count, 0);
    scan__pile_init(&hits->hits, options->held_max / HITS_SHARE, options->spill_dir);
    scan__pile_init(&hits->contents, options->held_max / TEXTS_SHARE, options->spill_dir);
    scan__pile_init(&hits->texts, options->held_max / TEXTS_SHARE, options->spill_dir);
    scan__pile_init(&hits->findings, options->held_max / TEXTS_SHARE, options->spill_dir);
    /* Adds the empty text, so that no other text has position 0. */
    if (ts_entropy_fill(hits->key, sizeof hits->key) && scan__pile_grow(&hits->texts, TEXT_START))
        return true;
    scan__hits_release(hits);
    return false;
}

void scan__hits_release(struct scan_hits *hits) {
    scan__pile_release(&hits->hits);
    scan__pile_release(&hits->contents);
    scan__pile_release(&hits->texts);
    scan__pile_release(&hits->findings);
    free(hits->finding_table.slots);
    free(hits->text_table.slots);
    pthread_mutex_destroy(&hits->lock);
}

static uint64_t hash_of(const struct scan_hits *hits, struct ts_bytes bytes) {
    uint8_t hash[TS_BLAKE3_OUT_LEN];
    ts_blake3_keyed_hash(hits->key, bytes, hash);
    return ts_le64_load(hash);
}

struct ts_bytes scan__hits_text_at(const struct scan_hits *hits, uint32_t text) {
    const uint8_t *at = hits->texts.bytes + (size_t)text * TEXT_ALIGN;
    uint32_t len;
    memcpy(&len, at, sizeof len);
    return ts_bytes_of(at + sizeof len, len);
}

/* Returns the key of the item at `place`. */
typedef struct ts_bytes key_of(const struct scan_hits *hits, uint32_t place);

static struct ts_bytes finding_key(const struct scan_hits *hits, uint32_t place) {
    return ts_bytes_of(scan__hits_findings(hits)[place].id.text, TS_FINDING_ID_LEN);
}

static uint32_t *find_slot(const struct scan_hits *hits, const struct scan_table *table, key_of *key,
                           struct ts_bytes wanted) {
    size_t at = (size_t)hash_of(hits, wanted) & (table->slot_count - 1);
    while (table->slots[at] != SLOT_FREE && !ts_bytes_equal(key(hits, table->slots[at]), wanted))
        at = (at + 1) & (table->slot_count - 1);
    return &table->slots[at];
}

/* Makes room for another item in a table. Returns false when memory runs out. */
static bool table_grow(const struct scan_hits *hits, struct scan_table *table, key_of *key) {
    if (table->count * 2 < table->slot_count)
        return true;
    struct scan_table larger = {.slot_count = table->slot_count == 0 ? SLOTS_FIRST : table->slot_count * 2,
                                .count = table->count};
    larger.slots = malloc(larger.slot_count * sizeof *larger.slots);
    if (larger.slots == NULL)
        return false;
    memset(larger.slots, 0xff, larger.slot_count * sizeof *larger.slots);
    for (size_t i = 0; i < table->slot_count; i++)
        if (table->slots[i] != SLOT_FREE)
            *find_slot(hits, &larger, key, key(hits, table->slots[i])) = table->slots[i];
    free(table->slots);
    *table = larger;
    return true;
}

/* Returns the size of a stored text: its length, its bytes, a zero, and the alignment. */
static size_t text_size(size_t len) {
    return (sizeof(uint32_t) + len + 1 + TEXT_ALIGN - 1) & ~(size_t)(TEXT_ALIGN - 1);
}

/* Returns the position of a text, which is stored if it is new. The caller holds the lock. */
static uint32_t text_of(struct scan_hits *hits, struct ts_bytes text) {
    if (text.len == 0)
        return SCAN_NO_TEXT;
    if (text.len > UINT32_MAX || !table_grow(hits, &hits->text_table, scan__hits_text_at)) {
        hits->no_memory = true;
        return SCAN_NO_TEXT;
    }
    uint32_t *slot = find_slot(hits, &hits->text_table, scan__hits_text_at, text);
    if (*slot != SLOT_FREE)
        return *slot;
    uint32_t len = (uint32_t)text.len;
    size_t place = hits->texts.len / TEXT_ALIGN;
    size_t size = text_size(text.len);
    if (place >= SLOT_FREE || !scan__pile_grow(&hits->texts, size)) {
        hits->no_memory = true;
        return SCAN_NO_TEXT;
    }
    uint8_t *at = hits->texts.bytes + place * TEXT_ALIGN;
    memcpy(at, &len, sizeof len);
    memcpy(at + sizeof len, text.data, text.len);
    *slot = (uint32_t)place;
    hits->text_table.count++;
    return *slot;
}

uint32_t scan__hits_text(struct scan_hits *hits, struct ts_bytes text) {
    pthread_mutex_lock(&hits->lock);
    uint32_t place = text_of(hits, text);
    pthread_mutex_unlock(&hits->lock);
    return place;
}

/* Finds a finding, or adds it if it is new. The caller holds the lock. */
static bool finding_of(struct scan_hits *hits, const struct scan_finding_new *finding, uint32_t *ret_index) {
    struct ts_bytes key = ts_bytes_of(finding->id.text, TS_FINDING_ID_LEN);
    if (!table_grow(hits, &hits->finding_table, finding_key)) {
        hits->no_memory = true;
        return false;
    }
    uint32_t *slot = find_slot(hits, &hits->finding_table, finding_key, key);
    if (*slot != SLOT_FREE) {
        *ret_index = *slot;
        return true;
    }
    if (hits->finding_table.count >= hits->findings_max) {
        hits->is_over = true;
        return false;
    }
    if (!scan__pile_grow(&hits->findings, sizeof(struct scan_finding))) {
        hits->no_memory = true;
        return false;
    }
    uint32_t index = (uint32_t)hits->finding_table.count++;
    struct scan_finding *kept = (struct scan_finding *)(void *)hits->findings.bytes + index;
    *kept = (struct scan_finding){.id = finding->id,
                                  .rule = finding->rule,
                                  .print = finding->print,
                                  .redacted = text_of(hits, finding->redacted),
                                  .secret = text_of(hits, finding->secret)};
    *slot = index;
    *ret_index = index;
    atomic_fetch_add_explicit(&hits->finding_count, 1, memory_order_relaxed);
    return true;
}

bool scan__hits_finding(struct scan_hits *hits, const struct scan_finding_new *finding, uint32_t *ret_index) {
    pthread_mutex_lock(&hits->lock);
    bool is_kept = finding_of(hits, finding, ret_index);
    pthread_mutex_unlock(&hits->lock);
    return is_kept;
}

void scan__hits_add(struct scan_hits *hits, const struct scan_content *content, const struct scan_hit *items,
                    size_t count) {
    pthread_mutex_lock(&hits->lock);
    size_t first = hits->hits.len / sizeof *items;
    size_t at = hits->contents.len;
    if (!scan__pile_grow(&hits->hits, count * sizeof *items) ||
        !scan__pile_grow(&hits->contents, sizeof *content)) {
        hits->no_memory = true;
    } else {
        memcpy(hits->hits.bytes + first * sizeof *items, items, count * sizeof *items);
        struct scan_content kept = *content;
        kept.first_hit = first;
        kept.hit_count = (uint32_t)count;
        kept.path = text_of(hits, content->name);
        kept.name = (struct ts_bytes){NULL, 0};
        memcpy(hits->contents.bytes + at, &kept, sizeof kept);
    }
    pthread_mutex_unlock(&hits->lock);
}

struct scan_hits_mark scan__hits_mark(const struct scan_hits *hits) {
    return (struct scan_hits_mark){.hits = hits->hits.len,
                                   .contents = hits->contents.len,
                                   .findings = hits->findings.len,
                                   .texts = hits->texts.len,
                                   .no_memory = hits->no_memory,
                                   .is_over = hits->is_over};
}

/* Empties a table, so that the caller can fill it again with the remaining items. */
static void table_clear(struct scan_table *table) {
    if (table->slot_count > 0)
        memset(table->slots, 0xff, table->slot_count * sizeof *table->slots);
    table->count = 0;
}

void scan__hits_cut(struct scan_hits *hits, const struct scan_hits_mark *mark) {
    scan__pile_cut(&hits->hits, mark->hits);
    scan__pile_cut(&hits->contents, mark->contents);
    scan__pile_cut(&hits->findings, mark->findings);
    scan__pile_cut(&hits->texts, mark->texts);
    hits->no_memory = mark->no_memory;
    hits->is_over = mark->is_over;
    table_clear(&hits->finding_table);
    table_clear(&hits->text_table);
    /* Finds a free slot for each item, because the tables had at least as many items before. */
    for (uint32_t i = 0; i < mark->findings / sizeof(struct scan_finding); i++, hits->finding_table.count++)
        *find_slot(hits, &hits->finding_table, finding_key, finding_key(hits, i)) = i;
    for (size_t at = TEXT_START; at < mark->texts; hits->text_table.count++) {
        uint32_t place = (uint32_t)(at / TEXT_ALIGN);
        struct ts_bytes text = scan__hits_text_at(hits, place);
        *find_slot(hits, &hits->text_table, scan__hits_text_at, text) = place;
        at += text_size(text.len);
    }
    atomic_store(&hits->finding_count, hits->finding_table.count);
}

static int compare_blobs(const void *a, const void *b) {
    return ts_git_oid_compare(&((const struct scan_blob *)a)->oid, &((const struct scan_blob *)b)->oid);
}

void scan__blobs_sort(struct scan_blob *blobs, size_t count) {
    if (count > 0)
        qsort(blobs, count, sizeof *blobs, compare_blobs);
}

struct scan_blob *scan__blobs_find(struct scan_blob *blobs, size_t count, const struct ts_git_oid *oid,
                                   size_t *ret_count) {
    size_t low = 0;
    size_t high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ts_git_oid_compare(&blobs[middle].oid, oid) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    size_t end = low;
    while (end < count && ts_git_oid_equal(&blobs[end].oid, oid))
        end++;
    *ret_count = end - low;
    return blobs + low;
}
