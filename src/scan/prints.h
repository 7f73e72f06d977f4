/*
 * Prints of secrets: fingerprints that are enough to recognise a secret in a text, but not to recover it.
 *
 * A print is the length of a secret and a keyed hash of it. If the secret is long enough for reports to show
 * its first bytes (show.h), the print also has two of these bytes, so that few positions of a text need to be
 * hashed.
 *
 * All prints of a scan have the same key, even if its targets have different salts, so that each position of
 * a text is hashed once. The key comes from the state folder (state.h), because the state keeps prints.
 */
#ifndef TS_SCAN_PRINTS_H
#define TS_SCAN_PRINTS_H

#include "base/siphash.h"

#include <stdbool.h>
#include <stddef.h>

/* Shorter secrets have no print, because they would match too many words. No built-in rule finds a shorter
 * secret. */
#define SCAN_PRINT_MIN      6
/* From this length on, a print has the first bytes of the secret. */
#define SCAN_PRINT_HEAD_MIN 12
#define SCAN_PRINT_HEAD_LEN 2

struct scan_print {
    uint64_t hash;
    uint32_t len;                      /* 0: no print */
    uint8_t head[SCAN_PRINT_HEAD_LEN]; /* zeros for secrets shorter than SCAN_PRINT_HEAD_MIN */
};

/* Makes the print of a secret. A word, such as "postgres", has no print. Otherwise the word would be masked
 * in every path and line that contains it. Readers cannot tell that such a word is a password anyway. */
struct scan_print scan__print_of(const struct ts_siphash_key *key, struct ts_bytes secret);

/* A head and a length that occur together in prints. */
struct scan_print_shape {
    uint32_t head;
    uint32_t len;
};

/* Prints of a scan. {.key = …} is empty. */
struct scan_prints {
    struct ts_siphash_key key;
    struct scan_print *slots; /* hash table; free slots have len 0 */
    size_t slot_count;        /* power of two */
    size_t count;
    uint32_t short_lens;             /* bit n: there are prints of length n, below SCAN_PRINT_HEAD_MIN */
    struct scan_print_shape *shapes; /* shapes of the other prints, sorted, without duplicates */
    size_t shape_count;
    size_t shape_capacity;
    uint8_t heads[(1 << 16) / 8]; /* a bit for each head that a shape has */
};

void scan__prints_release(struct scan_prints *prints);

/* Adds a print made with the same key. Returns false when memory runs out. */
bool scan__prints_add(struct scan_prints *prints, const struct scan_print *print);

/* Sorts the shapes. Call it when all prints are added, before the first search. */
void scan__prints_sort(struct scan_prints *prints);

/* Returns the length of the longest secret at the beginning of the bytes; 0 if no secret is there. If there
 * are prints with the head of the bytes, adds steps: one for each tried length, and one for each 64 hashed
 * bytes. */
size_t scan__prints_match(const struct scan_prints *prints, struct ts_bytes bytes, uint64_t *steps);

#endif
