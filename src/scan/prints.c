#include "prints.h"

#include "look_impl.h"
#include "os/grow.h"

#include "detect/model.h"

#include <stdlib.h>
#include <string.h>

#define SLOTS_FIRST 64
/* Hashing this many bytes takes about as long as one lookup of a length. */
#define STEP_BYTES  64

struct scan_print scan__print_of(const struct ts_siphash_key *key, struct ts_bytes secret) {
    struct scan_print print = {.len = 0};
    if (secret.len < SCAN_PRINT_MIN || secret.len > UINT32_MAX || ts_model_is_word(secret))
        return print;
    print.hash = ts_siphash(key, secret);
    print.len = (uint32_t)secret.len;
    if (secret.len >= SCAN_PRINT_HEAD_MIN)
        memcpy(print.head, secret.data, SCAN_PRINT_HEAD_LEN);
    return print;
}

void scan__prints_release(struct scan_prints *prints) {
    free(prints->slots);
    free(prints->shapes);
    *prints = (struct scan_prints){.key = prints->key};
}

/* ---- adding ---- */

/* Returns the slot of a print, or the free slot for it. */
static struct scan_print *find_slot(const struct scan_prints *prints, uint64_t hash, uint32_t len) {
    size_t at = (size_t)hash & (prints->slot_count - 1);
    while (prints->slots[at].len != 0 && (prints->slots[at].hash != hash || prints->slots[at].len != len))
        at = (at + 1) & (prints->slot_count - 1);
    return &prints->slots[at];
}

/* Makes room for another print. Returns false when memory runs out. */
static bool grow(struct scan_prints *prints) {
    if (prints->count * 2 < prints->slot_count)
        return true;
    struct scan_prints larger = *prints;
    larger.slot_count = prints->slot_count == 0 ? SLOTS_FIRST : prints->slot_count * 2;
    larger.slots = calloc(larger.slot_count, sizeof *larger.slots);
    if (larger.slots == NULL)
        return false;
    for (size_t i = 0; i < prints->slot_count; i++)
        if (prints->slots[i].len != 0)
            *find_slot(&larger, prints->slots[i].hash, prints->slots[i].len) = prints->slots[i];
    free(prints->slots);
    prints->slots = larger.slots;
    prints->slot_count = larger.slot_count;
    return true;
}

static uint32_t head_of(const uint8_t *bytes) {
    return (uint32_t)bytes[0] << 8 | bytes[1];
}

bool scan__prints_add(struct scan_prints *prints, const struct scan_print *print) {
    if (print->len == 0)
        return true;
    if (!grow(prints))
        return false;
    struct scan_print *slot = find_slot(prints, print->hash, print->len);
    if (slot->len != 0)
        return true;
    if (print->len < SCAN_PRINT_HEAD_MIN) {
        prints->short_lens |= UINT32_C(1) << print->len;
    } else {
        uint32_t head = head_of(print->head);
        if (!TS_GROW(prints->shapes, prints->shape_capacity, prints->shape_count + 1))
            return false;
        prints->shapes[prints->shape_count++] = (struct scan_print_shape){head, print->len};
        prints->heads[head / 8] |= (uint8_t)(1u << head % 8);
    }
    *slot = *print;
    prints->count++;
    return true;
}

/* Compares by head, then by length. */
static int compare_shapes(const void *a, const void *b) {
    const struct scan_print_shape *x = a;
    const struct scan_print_shape *y = b;
    int order = (x->head > y->head) - (x->head < y->head);
    return order != 0 ? order : (x->len > y->len) - (x->len < y->len);
}

void scan__prints_sort(struct scan_prints *prints) {
    size_t kept = 0;
    if (prints->shape_count > 1)
        qsort(prints->shapes, prints->shape_count, sizeof *prints->shapes, compare_shapes);
    for (size_t k = 0; k < prints->shape_count; k++)
        if (kept == 0 || compare_shapes(&prints->shapes[kept - 1], &prints->shapes[k]) != 0)
            prints->shapes[kept++] = prints->shapes[k];
    prints->shape_count = kept;
}

/* ---- searching ---- */

static bool has(const struct scan_prints *prints, struct ts_siphash_prefixes *prefixes, size_t len) {
    return find_slot(prints, ts_siphash_prefix(prefixes, len), (uint32_t)len)->len != 0;
}

/* Returns the index of the first shape with this head or a later one. */
static size_t first_shape(const struct scan_prints *prints, uint32_t head) {
    size_t low = 0;
    size_t high = prints->shape_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (prints->shapes[middle].head < head)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Tries all lengths of secrets, starting with the shortest, so that the bytes are hashed only once. */
size_t scan__prints_match(const struct scan_prints *prints, struct ts_bytes bytes, uint64_t *steps) {
    if (prints->count == 0 || bytes.len < SCAN_PRINT_MIN)
        return 0;
    struct ts_siphash_prefixes prefixes;
    uint32_t head = head_of(bytes.data);
    bool has_head = (prints->heads[head / 8] & 1u << head % 8) != 0;
    size_t longest = 0;
    if (!has_head && prints->short_lens == 0)
        return 0;
    ts_siphash_prefixes_init(&prefixes, &prints->key, bytes);
    for (size_t len = SCAN_PRINT_MIN; prints->short_lens >> len != 0 && len <= bytes.len; len++)
        if ((prints->short_lens & UINT32_C(1) << len) != 0 && has(prints, &prefixes, len))
            longest = len;
    if (!has_head)
        return longest;
    for (size_t i = first_shape(prints, head);
         i < prints->shape_count && prints->shapes[i].head == head && prints->shapes[i].len <= bytes.len;
         i++) {
        longest = has(prints, &prefixes, prints->shapes[i].len) ? prints->shapes[i].len : longest;
        ++*steps;
    }
    *steps += prefixes.at / STEP_BYTES;
    return longest;
}
