/*
 * Masking texts: removes every found secret from every text in the output, wherever the text comes from.
 *
 * A secret is searched in the text itself and in decoded forms of the text (forms.h), at most two encodings
 * deep. It is masked as a separate word and inside a word. Secrets without a print (prints.h) are masked only
 * where they were found, by show.h.
 *
 * A text that takes too many steps is masked completely. Otherwise thousands of secrets with the same
 * beginning, and a line that repeats this beginning, would take minutes. When the time is over, texts are
 * searched for about 20 ms more, and then masked completely.
 *
 * Masks belong to one thread.
 */
#ifndef TS_SCAN_MASKS_H
#define TS_SCAN_MASKS_H

#include "forms.h"
#include "os/arena.h"
#include "prints.h"

/* Maximum depth of nested encodings. */
#define SCAN_FORMS_DEPTH 2

/* {0} masks nothing. */
struct scan_masks {
    struct scan_prints prints;
    struct scan_form forms[SCAN_FORMS_DEPTH + 1]; /* buffers */
    bool *masked;                                 /* buffer */
    size_t capacity;
    uint64_t steps; /* steps of the current search */
    uint64_t steps_max;
    uint64_t late_steps; /* steps of all searches since is_late was set */
    bool is_late;        /* set when the time limit is reached: limits the steps per text and in total */
    bool is_cut;         /* because of is_late, a text was masked completely */
};

void scan__masks_release(struct scan_masks *masks);

/* Allocates the memory for a line or a message in advance. Without that memory, the text would later be
 * masked completely. Returns false when memory runs out. */
bool scan__masks_reserve(struct scan_masks *masks);

/* Returns true if no time is left for any text, so that every text is masked completely. */
bool scan__masks_is_over(struct scan_masks *masks);

/* Sets ret_masked[i] to true if byte i of the text is masked, otherwise to false. Returns true if any byte is
 * masked. If memory or steps run out, all bytes are masked. */
bool scan__masks_find(struct scan_masks *masks, struct ts_bytes text, bool *ret_masked);

/* Returns true if something in the text must be masked. */
bool scan__masks_touch(struct scan_masks *masks, struct ts_bytes text);

/* Returns the text itself, or a copy in the arena in which TS_REPORT_MASK replaces each run of masked bytes.
 * The result has a terminator. When memory runs out, it is only TS_REPORT_MASK. */
struct ts_bytes scan__masks_apply(struct scan_masks *masks, struct ts_arena *arena, struct ts_bytes text);

#endif
