/* Reads any bytes as a delta and its base; the first byte is the length of the base. The whole result, the
 * result in pieces and the list of copies must agree. */
#include "delta.h"

#include "base/assert.h"

#include <stdlib.h>
#include <string.h>

#define RESULT_MAX (1u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool in_pieces(struct ts_bytes base, const struct git__delta_head *head, uint8_t *result,
                      size_t piece) {
    struct git__delta_stream stream;
    git__delta_stream_init(&stream, base, head);
    while (stream.left > 0) {
        size_t part = stream.left < piece ? (size_t)stream.left : piece;
        if (!git__delta_stream_read(&stream, result, part))
            return false;
        result += part;
    }
    return git__delta_stream_is_done(&stream);
}

static void check(struct ts_bytes base, const struct git__delta_head *head) {
    size_t size = (size_t)head->result_size;
    uint8_t *whole = malloc(size + 1);
    uint8_t *pieces = malloc(size + 1);
    struct git__copies copies = {.max = 1000};
    struct git__copies listed = {.max = 1000};
    if (whole == NULL || pieces == NULL)
        abort();
    bool is_valid = git__delta_apply(base, head, whole, &copies);
    bool is_listed = git__delta_copies(base.len, head, &listed);
    ts_assert(is_valid == is_listed);
    if (is_valid) {
        ts_assert(in_pieces(base, head, pieces, 7) && memcmp(whole, pieces, size) == 0);
        ts_assert(copies.too_many == listed.too_many);
        for (size_t i = 0; !copies.too_many && i < copies.count; i++) {
            const struct ts_git_copy *copy = &copies.items[i];
            ts_assert(memcmp(copy, &listed.items[i], sizeof *copy) == 0);
            ts_assert(memcmp(whole + copy->at, base.data + copy->from, (size_t)copy->len) == 0);
        }
    }
    free(whole);
    free(pieces);
    free(copies.items);
    free(listed.items);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0 || (size_t)data[0] + 1 > size)
        return 0;
    struct ts_bytes base = ts_bytes_of(data + 1, data[0]);
    struct git__delta_head head;
    if (git__delta_head_parse(ts_bytes_of(data + 1 + base.len, size - 1 - base.len), &head) &&
        head.result_size <= RESULT_MAX)
        check(base, &head);
    return 0;
}
