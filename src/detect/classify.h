/*
 * Finds token characters, digits and zeros, 64 bytes at a time. This is the vector part of the token gate.
 * The program chooses the fastest implementation for the processor at run time; all give the same masks.
 */
#ifndef TS_DETECT_CLASSIFY_H
#define TS_DETECT_CLASSIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sets of bytes of a block: bit i of a mask is set if byte i of the block is in the set. */
struct detect_masks {
    uint64_t token; /* A-Z a-z 0-9 _ + / = . - */
    uint64_t digit;
    uint64_t zero;
};

typedef void detect_classify(const uint8_t *bytes, size_t blocks, struct detect_masks *ret_masks);

/* Returns the fastest implementation that this processor supports. */
detect_classify *detect__classify_choose(void);

enum detect_classify_way {
    DETECT_CLASSIFY_PORTABLE,
    DETECT_CLASSIFY_SSE2,
    DETECT_CLASSIFY_AVX2,
    DETECT_CLASSIFY_AVX512,
    DETECT_CLASSIFY_WAYS
};
/* Returns one implementation, for tests; NULL if the processor does not support it. */
detect_classify *detect__classify_way(enum detect_classify_way way);

extern const uint8_t detect__is_token[256]; /* 0: not a token character; 1: a token character; 3: a digit */

#endif
