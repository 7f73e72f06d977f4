/*
 * BLAKE3 in plain C, from the specification (O'Connor, Aumasson, Neves, Wilcox-O'Hearn: "BLAKE3, one
 * function, fast everywhere"). Used if the system has no libblake3. Callers use base/blake3.h, which has the
 * same functions for both implementations. This header is public for the size of the state, and for the
 * tests, which check both implementations.
 */
#ifndef TS_BASE_BLAKE3_PORTABLE_H
#define TS_BASE_BLAKE3_PORTABLE_H

#include "base/bytes.h"

#include <stddef.h>
#include <stdint.h>

struct ts_blake3_portable {
    uint32_t key[8]; /* the initial chaining value of every chunk and parent */
    uint32_t flags;  /* flags of the mode */

    /* The current chunk. Its last block is held back, because the very last block is treated differently. */
    uint32_t chunk_cv[8];
    uint64_t chunk_number;
    uint8_t blocks_done;
    uint8_t block_len;
    uint8_t block[64];

    /* Chaining values of complete subtrees, the largest first: one for each bit that is set in chunk_number.
     * An input of 2^64 bytes has 2^54 chunks. */
    uint8_t stack_len;
    uint32_t stack[54][8];
};

void ts_blake3_portable_init(struct ts_blake3_portable *hasher);
void ts_blake3_portable_init_keyed(struct ts_blake3_portable *hasher, const uint8_t key[static 32]);
void ts_blake3_portable_init_derive_key(struct ts_blake3_portable *hasher, struct ts_bytes context);

/* Like init_derive_key, but takes the key that was derived from the context, as words. The key of a fixed
 * context can be a constant. That is faster for short inputs, because hashing the context costs as much as
 * hashing the input. */
void ts_blake3_portable_init_derived(struct ts_blake3_portable *hasher, const uint32_t context_key[static 8]);

/* The lengths of a chunk and of a block. */
#define TS_BLAKE3_CHUNK_LEN ((size_t)1024)
#define TS_BLAKE3_BLOCK_LEN ((size_t)64)
/* Hashes an input of at most one chunk without a hasher. Most inputs are one or two blocks. */
void ts_blake3_portable_derived(const uint32_t context_key[static 8], struct ts_bytes input,
                                uint8_t ret_output[static TS_BLAKE3_BLOCK_LEN]);

void ts_blake3_portable_update(struct ts_blake3_portable *hasher, struct ts_bytes input);
void ts_blake3_portable_output(const struct ts_blake3_portable *hasher, uint64_t from, uint8_t *ret_output,
                               size_t len);

#endif
