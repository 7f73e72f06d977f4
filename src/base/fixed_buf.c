#include "base/fixed_buf.h"

#include "base/assert.h"
#include "base/hex.h"

#include <stdio.h>
#include <string.h>

enum { DEBUG_BYTES = 8 };

void ts_fixed_buf__init(struct ts_fixed_buf *head, uint8_t *storage, size_t capacity) {
    memset(storage, 0, capacity);
    head->len = 0;
}

void ts_fixed_buf__write(struct ts_fixed_buf *head, uint8_t *storage, size_t capacity, struct ts_bytes from,
                         const struct ts_fixed_buf_caller *caller) {
    if (from.len > capacity)
        ts_assert_fail(caller->message, caller->file, caller->line);
    /* memmove, because `from` may be a part of the buffer itself. */
    if (from.len > 0)
        memmove(storage, from.data, from.len);
    head->len = from.len;
}

const char *ts_fixed_buf__debug(struct ts_bytes content, char ret_text[static TS_FIXED_BUF_DEBUG_SIZE]) {
    char hex[2 * DEBUG_BYTES + 1];
    size_t shown = content.len < DEBUG_BYTES ? content.len : DEBUG_BYTES;
    *ts_hex_encode(ts_bytes_first(content, shown), hex) = '\0';
    snprintf(ret_text, TS_FIXED_BUF_DEBUG_SIZE, "FixedBuf(%zu byte%s%s%s%s)", content.len,
             content.len == 1 ? "" : "s", shown == 0 ? "" : ": ", hex, content.len > shown ? "..." : "");
    return ret_text;
}
