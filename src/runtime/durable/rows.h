/*
 * Converts a report to rows: pages of occurrences, the summary, and the rows that are stored by finding.
 */
#ifndef TS_RUNTIME_DURABLE_ROWS_H
#define TS_RUNTIME_DURABLE_ROWS_H

#include "report/report.h"
#include "runtime/core/fleet_page.h"
#include "runtime/core/fleet_summary.h"

struct ts_fleet_finding durable__finding_of(const struct ts_finding_id *id);

/* The findings of a report in the order of their ids. Set to {0}, then initialise. */
struct durable__order {
    const struct ts_report_finding **findings;
    size_t count;
};
/* Returns false when memory runs out. */
bool durable__order_init(struct durable__order *order, const struct ts_report *report);
void durable__order_release(struct durable__order *order);

/* Writes pages one after the other. */
struct durable__pager {
    const struct ts_report *report;
    const struct durable__order *order;
    uint32_t *numbers; /* for each commit: its number in this page, or TS_FLEET_NO_COMMIT */
    size_t finding;    /* the next finding */
    size_t place;      /* the next place of that finding */
};

bool durable__pager_init(struct durable__pager *pager, const struct ts_report *report,
                         const struct durable__order *order); /* returns false when memory runs out */
void durable__pager_release(struct durable__pager *pager);

/* Fills memory of TS_FLEET_PAGE_MAX bytes with the next page, and returns its length; 0: no page is left. */
size_t durable__pager_next(struct durable__pager *pager, uint8_t *memory);

/* Writes the summary of the report's target to ret_bytes, which has TS_FLEET_PAGE_MAX bytes. Returns its
 * length. */
size_t durable__summary(const struct ts_report *report, const struct ts_fleet_unit *unit,
                        const struct durable__order *order, uint8_t *ret_bytes);

struct ts_fleet_seen durable__seen_of(const struct ts_report *report,
                                      const struct ts_report_finding *finding);
struct ts_fleet_finding_record durable__record_of(const struct ts_report_finding *finding);

#endif
