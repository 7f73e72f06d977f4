/* Reads any bytes as the index of a pack; the first byte chooses the hash. In an accepted index, every lookup
 * must be safe. */
#include "pack_index.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct git__pack_index index;
    if (size == 0)
        return 0;
    enum ts_git_hash hash = (data[0] & 1) != 0 ? TS_GIT_SHA256 : TS_GIT_SHA1;
    if (!git__pack_index_init(hash, ts_bytes_of(data + 1, size - 1), &index))
        return 0;
    for (uint32_t i = 0; i < index.count; i++) {
        uint64_t offset;
        uint32_t position;
        (void)git__pack_index_offset(&index, i, &offset);
        (void)git__pack_index_find(&index, git__pack_index_id(&index, i), &position);
    }
    return 0;
}
