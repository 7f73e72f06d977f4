/*
 * Lists of ranges as text: STORE:START-END,STORE:START-END. This file passes offsets instead of pointers,
 * because an error reports which bytes of the caller's text are wrong.
 */
#include "turnstone/route.h"

#include "base/assert.h"
#include "base/number.h"
#include "base/redact.h"

#include <stdio.h>
#include <string.h>

#define TEXT(suffix, text) (text),
static const char *const texts[] = {TS_ROUTER_LIST_ERRORS(TEXT)};
#undef TEXT
_Static_assert(sizeof texts / sizeof texts[0] == TS_ROUTER_LIST_ERROR_COUNT, "one text for each error");

const char *ts_router_list_error_text(enum ts_router_list_error error) {
    return (size_t)error < TS_ROUTER_LIST_ERROR_COUNT ? texts[error] : NULL;
}

size_t ts_router_list_count(const char *text, size_t length) {
    if (length == 0)
        return 0;
    size_t count = 1;
    for (size_t i = 0; i < length; i++)
        count += text[i] == ',';
    return count;
}

/* Bytes of the text, from `from` up to `to`. */
struct part {
    size_t from;
    size_t to;
};

/* Returns where the byte is in the part, or part.to if it is not there. */
static size_t find(const char *text, struct part part, char byte) {
    const char *at = part.from < part.to ? memchr(text + part.from, byte, part.to - part.from) : NULL;
    return at != NULL ? (size_t)(at - text) : part.to;
}

static struct ts_bytes bytes_of(const char *text, struct part part) {
    return ts_bytes_of(text + part.from, part.to - part.from);
}

static bool parse_end(const char *text, struct part part, uint64_t *ret_end) {
    if (part.to - part.from == 3 && memcmp(text + part.from, "max", 3) == 0) {
        *ret_end = UINT64_MAX;
        return true;
    }
    return ts_u64_parse(bytes_of(text, part), ret_end) == TS_NUMBER_OK;
}

/* Parses one item. On failure *ret_wrong is the part of the text to quote. */
static enum ts_router_list_error parse_item(const char *text, struct part item,
                                            struct ts_router_range *ret_range, struct part *ret_wrong) {
    *ret_wrong = item;
    if (item.from == item.to)
        return TS_ROUTER_LIST_EMPTY_ITEM;
    size_t colon = find(text, item, ':');
    if (colon == item.to)
        return TS_ROUTER_LIST_NO_COLON;
    struct part bounds = {colon + 1, item.to};
    size_t dash = find(text, bounds, '-');
    if (dash == bounds.to)
        return TS_ROUTER_LIST_NO_DASH;

    struct ts_router_range range;
    *ret_wrong = (struct part){item.from, colon};
    if (ts_u32_parse(bytes_of(text, *ret_wrong), &range.store.v) != TS_NUMBER_OK)
        return TS_ROUTER_LIST_BAD_STORE;
    *ret_wrong = (struct part){bounds.from, dash};
    if (ts_u64_parse(bytes_of(text, *ret_wrong), &range.start) != TS_NUMBER_OK)
        return TS_ROUTER_LIST_BAD_START;
    *ret_wrong = (struct part){dash + 1, bounds.to};
    if (!parse_end(text, *ret_wrong, &range.end))
        return TS_ROUTER_LIST_BAD_END;
    *ret_range = range;
    return TS_ROUTER_LIST_OK;
}

/* Reads every item. Stores the items if ret_ranges is not NULL; the array is then large enough. */
static enum ts_router_list_error parse_items(const char *text, size_t length,
                                             struct ts_router_range *ret_ranges, size_t capacity,
                                             struct ts_router_list_error_detail *ret_detail) {
    size_t from = 0;
    for (size_t position = 0; from <= length; position++) {
        struct part item = {from, find(text, (struct part){from, length}, ',')};
        struct part wrong;
        struct ts_router_range range;
        enum ts_router_list_error error = parse_item(text, item, &range, &wrong);
        if (error == TS_ROUTER_LIST_OK && position >= capacity) {
            error = TS_ROUTER_LIST_TOO_MANY;
            wrong = item;
        }
        if (error != TS_ROUTER_LIST_OK) {
            if (wrong.from == wrong.to)
                wrong = item; /* no bytes to quote: the number of the item is enough */
            *ret_detail = (struct ts_router_list_error_detail){
                .error = error, .position = position, .offset = wrong.from, .length = wrong.to - wrong.from};
            return error;
        }
        if (ret_ranges != NULL)
            ret_ranges[position] = range;
        from = item.to + 1;
    }
    return TS_ROUTER_LIST_OK;
}

enum ts_router_list_error ts_router_list_parse(const char *text, size_t length,
                                               struct ts_router_range *ret_ranges, size_t capacity,
                                               size_t *ret_count,
                                               struct ts_router_list_error_detail *ret_detail) {
    struct ts_router_list_error_detail detail;
    if (ret_detail == NULL)
        ret_detail = &detail;
    if (length == 0) {
        *ret_detail = (struct ts_router_list_error_detail){.error = TS_ROUTER_LIST_EMPTY_LIST};
        return TS_ROUTER_LIST_EMPTY_LIST;
    }
    /* Reads the list twice, to check and to store, so that a bad list leaves the array unchanged. */
    enum ts_router_list_error error = parse_items(text, length, NULL, capacity, ret_detail);
    if (error != TS_ROUTER_LIST_OK)
        return error;
    error = parse_items(text, length, ret_ranges, capacity, ret_detail);
    ts_assert(error == TS_ROUTER_LIST_OK);
    *ret_count = ts_router_list_count(text, length);
    return TS_ROUTER_LIST_OK;
}

size_t ts_router_list_error_describe(const struct ts_router_list_error_detail *detail, const char *text,
                                     char *ret_text, size_t size) {
    const char *what = ts_router_list_error_text(detail->error);
    ts_assert(what != NULL);
    int printed;
    if (detail->error == TS_ROUTER_LIST_OK || detail->error == TS_ROUTER_LIST_EMPTY_LIST) {
        printed = snprintf(ret_text, size, "%s", what);
    } else {
        char quoted[72]; /* short, so that the message stays on one line */
        ts_text_quote(ts_bytes_of(text + detail->offset, detail->length), quoted, sizeof quoted);
        printed = snprintf(ret_text, size, "item %zu (\"%s\"): %s", detail->position + 1, quoted, what);
    }
    ts_assert(printed >= 0);
    return (size_t)printed;
}
