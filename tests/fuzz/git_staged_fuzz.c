/* Reads any bytes as the index of a work tree. Bit 0 of the first byte chooses the hash. If bit 1 is set,
 * there are two files: a split index and its shared index. The next four bytes are the length of the first
 * file. */
#include "base/endian.h"
#include "split.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Checks properties that readers rely on: every path has the recorded length, and is safe. */
static void check(const struct ts_git_staged *staged) {
    for (size_t i = 0; i < staged->count; i++)
        if (staged->items[i].path_len != strlen(staged->items[i].path) ||
            !git__staged_is_safe(&staged->items[i]))
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct git__split split;
    struct git__split nested;
    struct ts_git_staged own;
    struct ts_git_staged shared = {.items = NULL};
    struct ts_git_staged joined;
    if (size == 0)
        return 0;
    enum ts_git_hash hash = (data[0] & 1) != 0 ? TS_GIT_SHA256 : TS_GIT_SHA1;
    struct ts_bytes file = ts_bytes_of(data + 1, size - 1);
    struct ts_bytes rest = {NULL, 0};
    if ((data[0] & 2) != 0 && file.len >= 4) {
        size_t len = ts_be32_load(file.data);
        file = ts_bytes_skip(file, 4);
        len = len < file.len ? len : file.len;
        rest = ts_bytes_skip(file, len);
        file = ts_bytes_first(file, len);
    }
    if (git__staged_parse(hash, file, UINT64_MAX, &own, &split) != TS_GIT_OK)
        return 0;
    if (!split.is_split) {
        check(&own);
    } else if (git__staged_parse(hash, rest, UINT64_MAX, &shared, &nested) == TS_GIT_OK && !nested.is_split &&
               git__split_join(&split, &shared, &own, &joined)) {
        check(&joined);
        ts_git_staged_release(&joined);
    }
    ts_git_staged_release(&own);
    ts_git_staged_release(&shared);
    return 0;
}
