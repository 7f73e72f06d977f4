/* Reads any bytes as a multi-pack index; the first byte chooses the hash. */
#include "midx.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct git__midx midx;
    if (size == 0)
        return 0;
    enum ts_git_hash hash = (data[0] & 1) != 0 ? TS_GIT_SHA256 : TS_GIT_SHA1;
    if (!git__midx_init(hash, ts_bytes_of(data + 1, size - 1), &midx))
        return 0;
    for (uint32_t i = 0; i < midx.count; i++) {
        struct git__midx_place place;
        (void)git__midx_find(&midx, midx.ids.data + (size_t)i * ts_git_hash_len(hash), &place);
    }
    return 0;
}
