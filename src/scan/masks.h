/*
 * Masking texts: every secret that was found goes from every text that is written, wherever the text comes from.
 *
 * A secret is looked for as it is and in what the text stands for (forms.h), two encodings within one another at most. It is
 * masked whether it stands alone or inside a word. Secrets that are shorter than SCAN_PRINT_MIN are masked only where they were
 * found, by show.h.
 *
 * A text that takes too many steps is masked whole: thousands of secrets that begin alike, and a line that repeats this
 * beginning, would take minutes. When no time is left, texts are searched for about a fifth of a second more, and masked whole then.
 *
 * Masks belong to one thread.
 */
#ifndef TS_SCAN_MASKS_H
#define TS_SCAN_MASKS_H

#include "arena.h"
#include "forms.h"
#include "prints.h"

/* Encodings within encodings that are looked into. */
#define SCAN_FORMS_DEPTH 2

/* {0} masks nothing. */
struct scan_masks {
    struct scan_prints prints;
    struct scan_form forms[SCAN_FORMS_DEPTH + 1]; /* room */
    bool *masked;                                 /* room */
    size_t capacity;
    uint64_t steps; /* of the search under way */
    uint64_t steps_max;
    uint64_t late_steps; /* of all searches since is_late */
    bool is_late; /* set it when no time is left: texts have few steps each, and a limit for all of them */
    bool is_cut;  /* so that one was masked whole */
};

void scan__masks_release(struct scan_masks *masks);

/* Takes the memory that a line or a message needs, so that none of them is masked whole for lack of it. Returns false when memory runs
 * out. */
bool scan__masks_reserve(struct scan_masks *masks);

/* Says of each byte of the text whether it is masked, and returns whether any is. When there is no memory to look, or it
 * takes too many steps, all are. */
bool scan__masks_find(struct scan_masks *masks, struct ts_bytes text, bool *ret_masked);

/* Whether there is anything to be masked. */
bool scan__masks_touch(struct scan_masks *masks, struct ts_bytes text);

/* The text, or a copy in the arena in which TS_REPORT_MASK stands for each run of masked bytes; it has a terminator, as the text
 * must have. When there is no memory, it is a mask. */
struct ts_bytes scan__masks_apply(struct scan_masks *masks, struct scan_arena *arena, struct ts_bytes text);

#endif
