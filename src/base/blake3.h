/*
 * BLAKE3: hash, keyed hash and key derivation, with output of any length. Uses the system's libblake3 where
 * there is one, otherwise blake3_portable.c; both implementations give the same bytes.
 *
 *     struct ts_blake3 hasher;
 *     ts_blake3_init(&hasher);                        or _init_keyed, or _init_derive_key
 *     ts_blake3_update(&hasher, TS_BYTES("..."));     any number of times
 *     ts_blake3_output(&hasher, 0, out, sizeof out);  may be repeated and followed by more input
 *
 * The division of the input into updates does not matter. A hasher owns nothing and may be copied. It
 * contains the key of its mode: do not keep it longer than needed.
 */
#ifndef TS_BASE_BLAKE3_H
#define TS_BASE_BLAKE3_H

#include "base/blake3_portable.h"
#include "base/bytes.h"

#include <stddef.h>
#include <stdint.h>

#define TS_BLAKE3_KEY_LEN 32
#define TS_BLAKE3_OUT_LEN 32

struct ts_blake3 {
    union {
        struct ts_blake3_portable portable;
        _Alignas(16) unsigned char system[1920];
    } u;
};

void ts_blake3_init(struct ts_blake3 *hasher);
void ts_blake3_init_keyed(struct ts_blake3 *hasher, const uint8_t key[static TS_BLAKE3_KEY_LEN]);

/* The context is a fixed text in the code, unique to one purpose. It never comes from outside. */
void ts_blake3_init_derive_key(struct ts_blake3 *hasher, struct ts_bytes context);

void ts_blake3_update(struct ts_blake3 *hasher, struct ts_bytes input);

/* Writes len bytes of the output stream, starting at byte `from`. The first TS_BLAKE3_OUT_LEN bytes are the
 * usual hash. */
void ts_blake3_output(const struct ts_blake3 *hasher, uint64_t from, uint8_t *ret_output, size_t len);

/* Hashes the input in one call. */
void ts_blake3_hash(struct ts_bytes input, uint8_t ret_hash[static TS_BLAKE3_OUT_LEN]);
void ts_blake3_keyed_hash(const uint8_t key[static TS_BLAKE3_KEY_LEN], struct ts_bytes input,
                          uint8_t ret_hash[static TS_BLAKE3_OUT_LEN]);
void ts_blake3_derive_key(struct ts_bytes context, struct ts_bytes material,
                          uint8_t ret_key[static TS_BLAKE3_OUT_LEN]);

/* Returns "libblake3" or "portable". */
const char *ts_blake3_backend(void);

#endif
