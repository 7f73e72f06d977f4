#include "masks.h"

#include "report/report.h"

#include <stdlib.h>
#include <string.h>

#define CAPACITY_MIN   2048
/* The limit on the steps of a search in one text: STEPS_MAX, plus STEPS_OF_BYTE for each byte. The longest
 * lines of real repositories take a few thousand steps. */
#define STEPS_MAX      16384
#define STEPS_OF_BYTE  4
/* This many bytes of a form count as one step, because they take about as long as one step. */
#define STEP_BYTES     64
/* Limits of steps when the time limit of the scan is over: for one text, and for all texts together (about
 * 20 ms). */
#define STEPS_MAX_LATE 1024
#define STEPS_ALL_LATE ((uint64_t)1 << 16)
/* Longer texts are masked completely, because their forms would take many times as much memory. */
#define TEXT_MAX       ((size_t)64 << 10)

/* ---- searching ---- */

static void search(struct scan_masks *masks, const struct scan_form *form, size_t depth, bool *masked);

static bool is_any(const bool *masked, size_t len) {
    return memchr(masked, 1, len * sizeof *masked) != NULL;
}

static bool is_spent(const struct scan_masks *masks) {
    return masks->steps > masks->steps_max;
}

bool scan__masks_is_over(struct scan_masks *masks) {
    bool is_over = masks->is_late && masks->late_steps > STEPS_ALL_LATE;
    masks->is_cut = masks->is_cut || is_over;
    return is_over;
}

static void search_plain(struct scan_masks *masks, const struct scan_form *form, bool *masked) {
    for (size_t i = 0; i + SCAN_PRINT_MIN <= form->len && !is_spent(masks); i++) {
        struct ts_bytes rest = ts_bytes_of(form->bytes + i, form->len - i);
        size_t len = scan__prints_match(&masks->prints, rest, &masks->steps);
        if (len > 0)
            memset(masked + form->from[i], true, form->to[i + len - 1] - form->from[i]);
    }
}

static struct scan_form part_of(const struct scan_form *form, size_t from, size_t len) {
    return (struct scan_form){form->bytes + from, form->from + from, form->to + from, len};
}

static bool is_control(uint8_t c) {
    return (c < 0x20 && !(c >= '\t' && c <= '\r') && c != 0) || c == 0x7f;
}

/* Searches the decoded form of a code for texts. Most words are valid base64 but decode to random bytes. So
 * only runs without control characters count as text. */
static void search_texts(struct scan_masks *masks, const struct scan_form *form, size_t depth, bool *masked) {
    for (size_t from = 0; from < form->len && !is_spent(masks);) {
        size_t to = from;
        while (to < form->len && !is_control(form->bytes[to]))
            to++;
        struct scan_form part = part_of(form, from, to - from);
        if (part.len >= SCAN_PRINT_MIN)
            search(masks, &part, depth, masked);
        from = to + 1;
    }
}

static void search_code(struct scan_masks *masks, const struct scan_form *form, size_t depth,
                        const struct scan_code *code, bool *masked) {
    size_t least = (SCAN_PRINT_MIN * code->group + code->bytes - 1) / code->bytes;
    for (size_t from = 0; from < form->len && !is_spent(masks);) {
        size_t to = from;
        while (to < form->len && code->has(form->bytes[to]))
            to++;
        for (size_t phase = 0; phase < code->group && to - from >= least + phase && !is_spent(masks);
             phase++) {
            struct scan_form *decoded = &masks->forms[depth + 1];
            decoded->len = 0;
            code->decode(form, (struct ts_span){from + phase, to - from - phase}, decoded);
            struct scan_form whole = *decoded;
            search_texts(masks, &whole, depth + 1, masked);
        }
        from = to + 1;
    }
}

static void search(struct scan_masks *masks, const struct scan_form *form, size_t depth, bool *masked) {
    masks->steps += 1 + form->len / STEP_BYTES;
    search_plain(masks, form, masked);
    if (depth == SCAN_FORMS_DEPTH)
        return;
    for (size_t i = 0; i < SCAN_DECODER_COUNT && !is_spent(masks); i++) {
        struct scan_form *decoded = &masks->forms[depth + 1];
        decoded->len = 0;
        if (scan__decoders[i](form, decoded)) {
            struct scan_form whole = *decoded;
            search(masks, &whole, depth + 1, masked);
        }
    }
    for (size_t i = 0; i < SCAN_CODE_COUNT; i++)
        search_code(masks, form, depth, &scan__codes[i], masked);
}

/* ---- texts ---- */

static void release_room(struct scan_masks *masks) {
    for (size_t i = 0; i <= SCAN_FORMS_DEPTH; i++) {
        free(masks->forms[i].bytes);
        free(masks->forms[i].from);
        free(masks->forms[i].to);
        masks->forms[i] = (struct scan_form){.bytes = NULL};
    }
    free(masks->masked);
    masks->masked = NULL;
    masks->capacity = 0;
}

static bool make_room(struct scan_masks *masks, size_t len) {
    if (len <= masks->capacity)
        return true;
    if (len > TEXT_MAX)
        return false;
    size_t capacity = len < CAPACITY_MIN ? CAPACITY_MIN : len;
    release_room(masks);
    bool done = true;
    for (size_t i = 0, room = capacity; i <= SCAN_FORMS_DEPTH; i++, room = scan__form_room(room)) {
        struct scan_form *form = &masks->forms[i];
        form->bytes = malloc(room);
        form->from = malloc(room * sizeof *form->from);
        form->to = malloc(room * sizeof *form->to);
        done = done && form->bytes != NULL && form->from != NULL && form->to != NULL;
    }
    masks->masked = malloc(capacity * sizeof *masks->masked);
    done = done && masks->masked != NULL;
    if (done)
        masks->capacity = capacity;
    else
        release_room(masks);
    return done;
}

bool scan__masks_reserve(struct scan_masks *masks) {
    return make_room(masks, CAPACITY_MIN);
}

void scan__masks_release(struct scan_masks *masks) {
    release_room(masks);
    scan__prints_release(&masks->prints);
}

bool scan__masks_find(struct scan_masks *masks, struct ts_bytes text, bool *ret_masked) {
    if (text.len == 0)
        return false;
    memset(ret_masked, false, text.len * sizeof *ret_masked);
    if (masks->prints.count == 0 || text.len < SCAN_PRINT_MIN)
        return false;
    if (scan__masks_is_over(masks) || !make_room(masks, text.len)) {
        memset(ret_masked, true, text.len * sizeof *ret_masked);
        return true;
    }
    struct scan_form *form = &masks->forms[0];
    memcpy(form->bytes, text.data, text.len);
    for (size_t i = 0; i < text.len; i++) {
        form->from[i] = (uint32_t)i;
        form->to[i] = (uint32_t)i + 1;
    }
    form->len = text.len;
    masks->steps = 0;
    masks->steps_max = masks->is_late ? STEPS_MAX_LATE : STEPS_MAX + text.len * STEPS_OF_BYTE;
    search(masks, form, 0, ret_masked);
    masks->late_steps += masks->is_late ? masks->steps : 0;
    masks->is_cut = masks->is_cut || (masks->is_late && is_spent(masks));
    if (is_spent(masks))
        memset(ret_masked, true, text.len * sizeof *ret_masked);
    return is_any(ret_masked, text.len);
}

bool scan__masks_touch(struct scan_masks *masks, struct ts_bytes text) {
    if (masks->prints.count == 0 || text.len < SCAN_PRINT_MIN)
        return false;
    return scan__masks_is_over(masks) || !make_room(masks, text.len) ||
           scan__masks_find(masks, text, masks->masked);
}

struct ts_bytes scan__masks_apply(struct scan_masks *masks, struct ts_arena *arena, struct ts_bytes text) {
    if (!scan__masks_touch(masks, text))
        return text;
    const struct ts_bytes mask = TS_BYTES(TS_REPORT_MASK);
    size_t kept = 0;
    size_t runs = 0;
    for (size_t i = 0; !scan__masks_is_over(masks) && masks->capacity >= text.len && i < text.len; i++) {
        kept += !masks->masked[i];
        runs += masks->masked[i] && (i == 0 || !masks->masked[i - 1]);
    }
    char *copy = kept > 0 ? ts_arena_take(arena, kept + runs * mask.len + 1) : NULL;
    if (copy == NULL)
        return mask;
    size_t len = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (!masks->masked[i]) {
            copy[len++] = (char)text.data[i];
        } else if (i == 0 || !masks->masked[i - 1]) {
            memcpy(copy + len, mask.data, mask.len);
            len += mask.len;
        }
    }
    return ts_bytes_of(copy, len);
}
