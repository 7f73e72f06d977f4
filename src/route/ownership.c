#include "turnstone/route.h"

#include "base/assert.h"

#include <inttypes.h>
#include <stdio.h>

#define TEXT(suffix, text) (text),
static const char *const texts[] = {TS_OWNERSHIP_ERRORS(TEXT)};
#undef TEXT
_Static_assert(sizeof texts / sizeof texts[0] == TS_OWNERSHIP_ERROR_COUNT, "one text for each error");
_Static_assert(TS_OWNERSHIP_ERROR_COUNT == 1 + 2, "ok, and the two variants of the specification");

const char *ts_ownership_error_text(enum ts_ownership_error error) {
    return (size_t)error < TS_OWNERSHIP_ERROR_COUNT ? texts[error] : NULL;
}

size_t ts_ownership_error_describe(const struct ts_ownership_error_detail *detail, char *ret_text,
                                   size_t size) {
    int printed = -1;
    switch (detail->error) {
    case TS_OWNERSHIP_OK:
        printed = snprintf(ret_text, size, "ok");
        break;
    case TS_OWNERSHIP_ZERO_STORE_COUNT:
        printed = snprintf(ret_text, size, "TURNSTONE_STORE_COUNT must be >= 1; got 0");
        break;
    case TS_OWNERSHIP_INDEX_OUT_OF_RANGE:
        printed = snprintf(ret_text, size,
                           "TURNSTONE_STORE_INDEX %" PRIu32 " >= TURNSTONE_STORE_COUNT %" PRIu32
                           "; the index must be in 0..count",
                           detail->index.v, detail->count);
        break;
    }
    ts_assert(printed >= 0);
    return (size_t)printed;
}

struct ts_ownership ts_ownership_default(void) {
    return (struct ts_ownership){.index = {0}, .count = 1};
}

enum ts_ownership_error ts_ownership_init(struct ts_store_id index, uint32_t count,
                                          struct ts_ownership *ret_ownership,
                                          struct ts_ownership_error_detail *ret_detail) {
    enum ts_ownership_error error = TS_OWNERSHIP_OK;
    if (count == 0)
        error = TS_OWNERSHIP_ZERO_STORE_COUNT;
    else if (index.v >= count)
        error = TS_OWNERSHIP_INDEX_OUT_OF_RANGE;
    if (error != TS_OWNERSHIP_OK) {
        if (ret_detail != NULL)
            *ret_detail = (struct ts_ownership_error_detail){.error = error, .index = index, .count = count};
        return error;
    }
    *ret_ownership = (struct ts_ownership){.index = index, .count = count};
    return TS_OWNERSHIP_OK;
}

bool ts_ownership_owns(const struct ts_ownership *ownership, uint64_t id) {
    if (ownership->count <= 1)
        return true;
    return ts_router_store_for(id, ownership->count).v == ownership->index.v;
}
