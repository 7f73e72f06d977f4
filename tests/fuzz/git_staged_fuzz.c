/* The index of a work tree; the first byte chooses the hash. */
#include "git/staged.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct ts_git_staged staged;
    if (size == 0)
        return 0;
    enum ts_git_hash hash = (data[0] & 1) != 0 ? TS_GIT_SHA256 : TS_GIT_SHA1;
    if (ts_git_staged_parse(hash, ts_bytes_of(data + 1, size - 1), &staged))
        ts_git_staged_release(&staged);
    return 0;
}
