/* Reads any bytes as .gitleaksignore. Every entry must be found by its path. */
#include "ignored.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct scan_ignored ignored;
    if (!scan__ignored_parse(ts_bytes_of(data, size), &ignored))
        return 0;
    for (size_t i = 0; i < ignored.count; i++) {
        size_t first;
        size_t count = scan__ignored_at(&ignored, ignored.entries[i].path, &first);
        if (i < first || i >= first + count || ignored.entries[i].path[0] == '\0' ||
            ignored.entries[i].at == 0)
            abort();
    }
    scan__ignored_release(&ignored);
    return 0;
}
