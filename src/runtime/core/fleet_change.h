/*
 * The findings that a run has added to a target and removed from it. This record is written together with the
 * target's record, so it exists exactly if the change became visible. It never changes, and is never removed.
 * A run that changes nothing in a target writes no such record.
 */
#ifndef TS_RUNTIME_CORE_FLEET_CHANGE_H
#define TS_RUNTIME_CORE_FLEET_CHANGE_H

#include "runtime/core/fleet_page.h"

/* The maximum number of ids in a page, and the maximum number of pages. All pages are in one batch. */
enum { TS_FLEET_CHANGE_IDS = 65000, TS_FLEET_CHANGE_PAGES = 3 };

/* One page of a change. */
struct ts_fleet_change {
    bool is_blind; /* the target's earlier findings could not be read: all its findings count as new */
    bool is_cut;   /* there were more ids than the pages can hold */
    uint64_t at_ms;
    uint64_t came_total; /* number of ids in all pages, including ids that are cut */
    uint64_t went_total;
    struct ts_bytes came; /* ids of TS_FLEET_FINDING_LEN bytes each, sorted */
    struct ts_bytes went;
};

/* Encodes a page of at most TS_FLEET_CHANGE_IDS ids into ret_bytes, which has TS_FLEET_PAGE_MAX bytes.
 * Returns the length. */
size_t ts_fleet_change_encode(const struct ts_fleet_change *change, uint8_t *ret_bytes);
enum ts_fleet_error ts_fleet_change_decode(struct ts_bytes bytes, struct ts_fleet_change *ret_change);

#endif
