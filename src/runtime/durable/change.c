#include "change.h"

#include "os/grow.h"
#include "runtime/core/fleet_change.h"

#include <stdlib.h>

enum { PAGES_AT_ONCE = 4 };

/* The findings that the target has now, sorted. */
struct before {
    struct ts_fleet_finding *ids;
    size_t count, capacity;
    bool is_bad; /* a page cannot be read */
    bool no_memory;
};

static void take_page(struct before *before, struct ts_bytes bytes) {
    struct ts_fleet_page_reader reader;
    struct ts_fleet_item item;
    before->is_bad = before->is_bad || ts_fleet_page_open(bytes, &reader) != TS_FLEET_OK;
    while (!before->is_bad && !before->no_memory) {
        const enum ts_fleet_item_kind kind = ts_fleet_page_next(&reader, &item);
        if (kind == TS_FLEET_ITEM_END)
            return;
        before->is_bad = kind == TS_FLEET_ITEM_BAD;
        if (kind != TS_FLEET_ITEM_ENTRY || item.entry.from > 0)
            continue;
        before->no_memory = !TS_GROW(before->ids, before->capacity, before->count + 1);
        if (!before->no_memory)
            before->ids[before->count++] = item.entry.finding;
    }
}

static enum ts_durable_end read_before(struct ts_durable *durable, struct before *before,
                                       struct ts_durable_detail *ret_detail) {
    struct ts_fleet_range range = ts_fleet_range_occurrences(&durable->id, &durable->target.attempt);
    for (;;) {
        if (durable__must_stop(durable->options.stop))
            return TS_DURABLE_STOPPED;
        const enum ts_durable_end end =
            durable__scan(durable, durable->home, &range, PAGES_AT_ONCE, ret_detail);
        if (end != TS_DURABLE_OK)
            return end;
        for (size_t i = 0; i < durable->rows.count; i++)
            take_page(before, durable->rows.rows[i].value);
        if (before->no_memory)
            return durable__no_memory(ret_detail);
        struct ts_fleet_key last;
        if (durable->rows.count < PAGES_AT_ONCE ||
            !ts_fleet_key_of_bytes(durable->rows.rows[durable->rows.count - 1].key, &last))
            return TS_DURABLE_OK;
        ts_fleet_range_skip(&range, &last);
    }
}

/* Collects the findings that only one of the two lists contains: first the added findings, then the removed
 * ones. Both lists are sorted. */
static void compare(const struct before *before, const struct durable__order *order,
                    struct durable__change *change) {
    struct ts_fleet_finding *went = change->ids + order->count;
    size_t old = 0, new = 0;
    while (old < before->count || new < order->count) {
        struct ts_fleet_finding now = {{0}};
        if (new < order->count)
            now = durable__finding_of(&order->findings[new]->id);
        const int order_of = old == before->count  ? 1
                             : new == order->count ? -1
                                                   : memcmp(&before->ids[old], &now, sizeof now);
        if (order_of > 0)
            change->ids[change->came_count++] = now;
        if (order_of < 0)
            went[change->went_count++] = before->ids[old];
        old += order_of <= 0;
        new += order_of >= 0;
    }
    memmove(change->ids + change->came_count, went, change->went_count * sizeof *went);
}

enum ts_durable_end durable__change_find(struct ts_durable *durable, const struct durable__order *order,
                                         struct durable__change *ret_change,
                                         struct ts_durable_detail *ret_detail) {
    struct before before = {0};
    enum ts_durable_end end = TS_DURABLE_OK;
    struct durable__change change = {0};
    if (durable->has_target)
        end = read_before(durable, &before, ret_detail);
    if (end == TS_DURABLE_OK && durable->has_target &&
        (before.is_bad || before.count != durable->target.findings)) {
        change.is_blind = true;
        before.count = 0;
    }
    if (end == TS_DURABLE_OK) {
        change.ids = calloc(order->count + before.count + 1, sizeof *change.ids);
        if (change.ids == NULL)
            end = durable__no_memory(ret_detail);
        else
            compare(&before, order, &change);
    }
    free(before.ids);
    *ret_change = change;
    return end;
}

void durable__change_release(struct durable__change *change) {
    free(change->ids);
    *change = (struct durable__change){0};
}

uint32_t durable__change_pages(const struct durable__change *change) {
    const size_t total = change->came_count + change->went_count;
    const size_t pages = (total + TS_FLEET_CHANGE_IDS - 1) / TS_FLEET_CHANGE_IDS;
    if (pages == 0)
        return change->is_blind ? 1 : 0;
    return pages < TS_FLEET_CHANGE_PAGES ? (uint32_t)pages : TS_FLEET_CHANGE_PAGES;
}

/* Returns the ids from `from` (included) to `to` (excluded) as bytes. */
static struct ts_bytes ids_of(const struct durable__change *change, size_t from, size_t to) {
    return to > from ? ts_bytes_of(change->ids + from, (to - from) * sizeof *change->ids)
                     : (struct ts_bytes){0};
}

size_t durable__change_page(const struct durable__change *change, uint32_t page, uint64_t at_ms,
                            uint8_t *memory) {
    const size_t total = change->came_count + change->went_count;
    const size_t from = (size_t)page * TS_FLEET_CHANGE_IDS;
    const size_t to = total - from < TS_FLEET_CHANGE_IDS ? total : from + TS_FLEET_CHANGE_IDS;
    const size_t came = change->came_count;
    const struct ts_fleet_change record = {
        .is_blind = change->is_blind,
        .is_cut = total > (size_t)TS_FLEET_CHANGE_IDS * TS_FLEET_CHANGE_PAGES,
        .at_ms = at_ms,
        .came_total = came,
        .went_total = change->went_count,
        .came = ids_of(change, from < came ? from : came, to < came ? to : came),
        .went = ids_of(change, from > came ? from : came, to > came ? to : came)};
    return ts_fleet_change_encode(&record, memory);
}
