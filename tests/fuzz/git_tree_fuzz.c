/* Reads any bytes as a tree; the first byte chooses the hash. */
#include "git/object.h"

#include "base/assert.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0)
        return 0;
    enum ts_git_hash hash = (data[0] & 1) != 0 ? TS_GIT_SHA256 : TS_GIT_SHA1;
    struct ts_bytes rest = ts_bytes_of(data + 1, size - 1);
    struct ts_git_tree_entry entry;
    size_t before = rest.len;
    while (ts_git_tree_next(hash, &rest, &entry) == TS_GIT_TREE_ENTRY) {
        ts_assert(entry.name.len > 0 && rest.len < before);
        before = rest.len;
    }
    return 0;
}
