#include "base/hash64.h"

#include "base/assert.h"

/* The functions of libxxhash are static here, so the program needs no libxxhash at run time, and exports none
 * of them. */
#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t ts_xxh64_of_bytes(struct ts_bytes bytes) {
    ts_assert(bytes.data != NULL || bytes.len == 0);
    return XXH64(bytes.data != NULL ? (const void *)bytes.data : "", bytes.len, 0);
}
