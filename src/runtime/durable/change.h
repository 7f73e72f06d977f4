/*
 * The findings that a flip adds and removes, compared with the target's current findings. The rows are in the
 * flip's own batch, so they exist exactly if the change became visible.
 */
#ifndef TS_RUNTIME_DURABLE_CHANGE_H
#define TS_RUNTIME_DURABLE_CHANGE_H

#include "durable_impl.h"
#include "rows.h"

/* {0} is empty. */
struct durable__change {
    struct ts_fleet_finding *ids; /* the added findings, then the removed findings, each part sorted */
    size_t came_count, went_count;
    bool is_blind; /* the target's current findings cannot be read */
};

/* Compares the findings of a scan with those of the attempt that was current when the target was last
 * read. */
enum ts_durable_end durable__change_find(struct ts_durable *durable, const struct durable__order *order,
                                         struct durable__change *ret_change,
                                         struct ts_durable_detail *ret_detail);
void durable__change_release(struct durable__change *change);

/* Returns the number of pages; 0: nothing changes. */
uint32_t durable__change_pages(const struct durable__change *change);
/* Encodes a page into memory, which has TS_FLEET_PAGE_MAX bytes. Returns the length. */
size_t durable__change_page(const struct durable__change *change, uint32_t page, uint64_t at_ms,
                            uint8_t *memory);

#endif
