#include "base/blake3.h"

#ifdef TS_BLAKE3_SYSTEM

#include <blake3.h>

_Static_assert(sizeof(blake3_hasher) <= sizeof(struct ts_blake3), "the system's hasher does not fit");
_Static_assert(_Alignof(blake3_hasher) <= _Alignof(struct ts_blake3), "the system's hasher is not aligned");

static blake3_hasher *system_of(struct ts_blake3 *hasher) {
    return (blake3_hasher *)(void *)hasher->u.system;
}

void ts_blake3_init(struct ts_blake3 *hasher) {
    blake3_hasher_init(system_of(hasher));
}

void ts_blake3_init_keyed(struct ts_blake3 *hasher, const uint8_t key[static TS_BLAKE3_KEY_LEN]) {
    blake3_hasher_init_keyed(system_of(hasher), key);
}

void ts_blake3_init_derive_key(struct ts_blake3 *hasher, struct ts_bytes context) {
    blake3_hasher_init_derive_key_raw(system_of(hasher), context.data, context.len);
}

void ts_blake3_update(struct ts_blake3 *hasher, struct ts_bytes input) {
    blake3_hasher_update(system_of(hasher), input.data, input.len);
}

void ts_blake3_output(const struct ts_blake3 *hasher, uint64_t from, uint8_t *ret_output, size_t len) {
    blake3_hasher_finalize_seek((const blake3_hasher *)(const void *)hasher->u.system, from, ret_output, len);
}

const char *ts_blake3_backend(void) {
    return "libblake3";
}

#else

void ts_blake3_init(struct ts_blake3 *hasher) {
    ts_blake3_portable_init(&hasher->u.portable);
}

void ts_blake3_init_keyed(struct ts_blake3 *hasher, const uint8_t key[static TS_BLAKE3_KEY_LEN]) {
    ts_blake3_portable_init_keyed(&hasher->u.portable, key);
}

void ts_blake3_init_derive_key(struct ts_blake3 *hasher, struct ts_bytes context) {
    ts_blake3_portable_init_derive_key(&hasher->u.portable, context);
}

void ts_blake3_update(struct ts_blake3 *hasher, struct ts_bytes input) {
    ts_blake3_portable_update(&hasher->u.portable, input);
}

void ts_blake3_output(const struct ts_blake3 *hasher, uint64_t from, uint8_t *ret_output, size_t len) {
    ts_blake3_portable_output(&hasher->u.portable, from, ret_output, len);
}

const char *ts_blake3_backend(void) {
    return "portable";
}

#endif

void ts_blake3_hash(struct ts_bytes input, uint8_t ret_hash[static TS_BLAKE3_OUT_LEN]) {
    struct ts_blake3 hasher;
    ts_blake3_init(&hasher);
    ts_blake3_update(&hasher, input);
    ts_blake3_output(&hasher, 0, ret_hash, TS_BLAKE3_OUT_LEN);
}

void ts_blake3_keyed_hash(const uint8_t key[static TS_BLAKE3_KEY_LEN], struct ts_bytes input,
                          uint8_t ret_hash[static TS_BLAKE3_OUT_LEN]) {
    struct ts_blake3 hasher;
    ts_blake3_init_keyed(&hasher, key);
    ts_blake3_update(&hasher, input);
    ts_blake3_output(&hasher, 0, ret_hash, TS_BLAKE3_OUT_LEN);
}

void ts_blake3_derive_key(struct ts_bytes context, struct ts_bytes material,
                          uint8_t ret_key[static TS_BLAKE3_OUT_LEN]) {
    struct ts_blake3 hasher;
    ts_blake3_init_derive_key(&hasher, context);
    ts_blake3_update(&hasher, material);
    ts_blake3_output(&hasher, 0, ret_key, TS_BLAKE3_OUT_LEN);
}
