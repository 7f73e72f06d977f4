/*
 * Reads any bytes as an archive. The reading of its members ends, and never yields more bytes than the budget
 * allows.
 */
#include "unpack.h"

#include "base/assert.h"

#include <stddef.h>
#include <stdint.h>

static bool goes_on(void *ctx) {
    (void)ctx;
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
    uint64_t bytes;
    uint64_t members;
    bool is_open;
};

static bool begin(void *ctx, struct ts_bytes name) {
    struct seen *seen = ctx;
    ts_assert(!seen->is_open && (name.len == 0 || name.data != NULL));
    seen->is_open = true;
    seen->members++;
    return true;
}

static bool take(void *ctx, struct ts_bytes bytes) {
    struct seen *seen = ctx;
    ts_assert(seen->is_open);
    seen->bytes += bytes.len;
    return true;
}

static bool end(void *ctx) {
    struct seen *seen = ctx;
    ts_assert(seen->is_open);
    seen->is_open = false;
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const uint64_t most = 1 << 20;
    struct ts_bytes bytes = ts_bytes_of(data, size);
    struct scan_archive_budget budget = scan__archive_budget(size, most);
    struct seen seen = {.bytes = 0};
    struct scan_archive_sink sink = {
        .begin = begin, .data = take, .end = end, .goes_on = goes_on, .ctx = &seen};
    enum scan_archive_kind kind = scan__archive_kind(bytes, true);
    if (kind == SCAN_ARCHIVE_NONE)
        return 0;
    struct scan_archive_result result = scan__archive_read(kind, bytes, &budget, &sink);
    /* The target of a link does not count against the budget; it is at most as long as a path. */
    ts_assert(!seen.is_open && seen.bytes <= most + seen.members * 65536 && seen.members <= most / 512);
    ts_assert(result.end != SCAN_ARCHIVE_STOPPED && result.end != SCAN_ARCHIVE_NO_LIBRARY);
    return 0;
}
