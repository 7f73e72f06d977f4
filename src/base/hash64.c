#include "base/hash64.h"

#include "base/endian.h"

/* The functions become static here: the library exports none of them, and needs no libxxhash to run. */
#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t ts_xxh64_of_id(uint64_t id) {
    uint8_t bytes[8];
    ts_le64_store(id, bytes);
    return XXH64(bytes, sizeof bytes, 0);
}

uint64_t ts_xxh64_of_bytes(struct ts_bytes bytes) {
    return XXH64(bytes.len == 0 ? "" : (const void *)bytes.data, bytes.len, 0);
}
