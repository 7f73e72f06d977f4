/* Reads any bytes as a page of known objects. The page is refused, or it is read within bounds and then
 * written again with the same bytes. */
#include "state_codec.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    for (enum ts_git_hash hash = TS_GIT_SHA1; hash <= TS_GIT_SHA256; hash++) {
        struct scan_known_page page;
        if (!scan__known_page_decode(ts_bytes_of(data, size), hash, &page))
            continue;
        struct scan_buffer items = {.data = NULL};
        struct scan_buffer again = {.data = NULL};
        for (size_t i = 0; i < scan__known_page_count(&page); i++) {
            struct scan_known known = scan__known_page_at(&page, i);
            scan__known_encode(&items, hash, &known);
        }
        size_t len = page.pack_count * TS_GIT_PACK_ID_LEN + page.items.len;
        page.items = scan__buffer_bytes(&items);
        scan__known_page_encode(&page, &again);
        /* In the input, the encoding of the leading number may be longer than necessary. */
        if (items.no_memory || again.no_memory || again.len < len ||
            (len > 0 && memcmp(again.data + again.len - len, data + size - len, len) != 0))
            abort();
        scan__buffer_release(&items);
        scan__buffer_release(&again);
    }
    return 0;
}
