#include "turnstone/route.h"

#include "base/assert.h"

#include <inttypes.h>
#include <stdio.h>

#define TEXT(suffix, text) (text),
static const char *const texts[] = {TS_ROUTER_ERRORS(TEXT)};
#undef TEXT
_Static_assert(sizeof texts / sizeof texts[0] == TS_ROUTER_ERROR_COUNT, "one text for each error");

const char *ts_router_error_text(enum ts_router_error error) {
    return (size_t)error < TS_ROUTER_ERROR_COUNT ? texts[error] : NULL;
}

/* snprintf returns the length of the whole text, even if it was truncated; our formats cannot fail. */
static size_t length_of(int printed) {
    ts_assert(printed >= 0);
    return (size_t)printed;
}

static const char *strategy_shown(enum ts_router_strategy strategy) {
    const char *name = ts_router_strategy_name(strategy);
    return name != NULL ? name : "the strategy";
}

static int describe_overlap(const struct ts_router_error_detail *d, char *ret_text, size_t size) {
    if (d->expected == UINT64_MAX)
        return snprintf(
            ret_text, size,
            "overlap: expected nothing after a range that ends at max, found a range that starts at "
            "%" PRIu64,
            d->found);
    return snprintf(ret_text, size, "overlap: expected a range that starts at %" PRIu64 ", found %" PRIu64,
                    d->expected, d->found);
}

size_t ts_router_error_describe(const struct ts_router_error_detail *d, char *ret_text, size_t size) {
    uint32_t store = d->store.v;
    switch (d->error) {
    case TS_ROUTER_OK:
        return length_of(snprintf(ret_text, size, "ok"));
    case TS_ROUTER_ZERO_STORES:
        return length_of(snprintf(ret_text, size, "zero stores: %s needs at least one store",
                                  strategy_shown(d->strategy)));
    case TS_ROUTER_NOT_A_HASH:
        return length_of(snprintf(ret_text, size, "not a hash: %s is not one of xxh64, fnv1a and jump",
                                  strategy_shown(d->strategy)));
    case TS_ROUTER_EMPTY_LIST:
        return length_of(snprintf(ret_text, size, "empty list: expected at least one range"));
    case TS_ROUTER_MEMORY_TOO_SMALL:
        return length_of(
            snprintf(ret_text, size, "memory too small: expected %zu bytes, found %zu", d->needed, d->given));
    case TS_ROUTER_EMPTY_RANGE:
        return length_of(snprintf(ret_text, size,
                                  "empty range: store %" PRIu32 " starts at %" PRIu64 " and ends at %" PRIu64,
                                  store, d->start, d->end));
    case TS_ROUTER_DUPLICATE_STORE:
        return length_of(snprintf(
            ret_text, size, "duplicate store: store %" PRIu32 " has more than one range (items %zu and %zu)",
            store, d->first_position + 1, d->position + 1));
    case TS_ROUTER_GAP:
        return length_of(snprintf(ret_text, size,
                                  "gap: expected a range that starts at %" PRIu64 ", found %" PRIu64,
                                  d->expected, d->found));
    case TS_ROUTER_OVERLAP:
        return length_of(describe_overlap(d, ret_text, size));
    case TS_ROUTER_INCOMPLETE_COVERAGE:
        return length_of(snprintf(
            ret_text, size, "incomplete coverage: the ranges end at %" PRIu64 ", expected max", d->ends_at));
    }
    ts_unreachable("every error has a description");
}
