/* Reads any bytes as a page of a scan's state. The page is refused completely; or it is accepted, and then
 * written and read again with the same result. */
#include "support/state_pass.h"

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t contents_of(const struct state_pass *made) {
    size_t count;
    (void)scan__hits_contents(&made->pass.hits, &count);
    return count;
}

static void write_again(const struct state_pass *made) {
    struct scan_buffer page = {.data = NULL};
    struct state_pass again;
    size_t count = contents_of(made);
    uint32_t *contents = calloc(count + 1, sizeof *contents);
    if (contents == NULL || !state_pass_init(&again))
        abort();
    for (size_t i = 0; i < count; i++)
        contents[i] = (uint32_t)i;
    struct scan_material material = {.pass = &made->pass,
                                     .hash = TS_GIT_SHA1,
                                     .contents = contents,
                                     .content_count = count,
                                     .commit_count = made->pass.commits.len / sizeof(struct scan_commit),
                                     .location_count =
                                         made->pass.locations.len / sizeof(struct scan_location)};
    scan__material_encode(&material, &page);
    struct scan_material_sink sink = {.pass = &again.pass};
    if (!scan__material_decode(scan__buffer_bytes(&page), &sink) || contents_of(&again) != count ||
        again.pass.hits.hits.len != made->pass.hits.hits.len ||
        again.pass.locations.len != made->pass.locations.len)
        abort();
    scan__buffer_release(&page);
    state_pass_release(&again);
    free(contents);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct state_pass made;
    if (!state_pass_init(&made))
        abort();
    struct scan_material_sink sink = {.pass = &made.pass};
    bool is_taken = scan__material_decode(ts_bytes_of(data, size), &sink);
    if (!is_taken && contents_of(&made) != 0)
        abort();
    if (is_taken && !made.pass.hits.is_over && !made.pass.hits.no_memory)
        write_again(&made);
    state_pass_release(&made);
    return 0;
}
