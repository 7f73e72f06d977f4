#ifndef TS_RUNTIME_DURABLE_DURABLE_IMPL_H
#define TS_RUNTIME_DURABLE_DURABLE_IMPL_H

#include "batch.h"
#include "coord/driver/data.h"
#include "frontier.h"
#include "runtime/durable/durable.h"

enum { DURABLE__TRIES = 5 };

struct ts_durable {
    struct ts_durable_options options;
    struct ts_frontier *frontier;
    struct ts_rows rows;

    /* The current unit. */
    struct ts_durable_run run;
    struct ts_lease lease;
    struct ts_target_id id;
    uint32_t home;
    bool has_shape;    /* the shard's range has the form of a target's range */
    uint64_t limit_ms; /* time limit of batches on other stores */

    /* The results of the last read. */
    uint8_t unit_bytes[TS_FLEET_UNIT_MAX];
    struct ts_fleet_unit unit;
    bool has_target;
    struct ts_fleet_target target;
    uint64_t version; /* version of the target's record; 0: absent */
    uint64_t now_ms;  /* time of the home store when it was last read */
    uint64_t time_ms; /* time of the store that was read last */

    /* Parts. */
    uint32_t known_pages, hits_pages; /* numbers of pages of this lease, durable or being written */
    uint32_t parts;
    bool has_known_mark, has_hits_mark; /* the store has a mark for such pages of this lease */
    struct ts_item_receipt *item;

    /* The staged attempt: operations that wait for the flip, and the record that the flip writes. */
    struct durable__batch pending;
    struct ts_fleet_target next;
    bool is_staged;
    bool has_staged;                      /* the next three fields are valid */
    uint32_t staged_n;                    /* number of the attempt */
    uint32_t staged_hits;                 /* number of the attempt's first page of hits */
    bool has_staged_mark;                 /* some of the attempt's rows are in the store, with a mark */
    struct ts_unit_receipt *unit_receipt; /* memory of the receipt */
    struct ts_checkpoint_receipt *checkpoint_receipt;
    bool has_waste;         /* marks of this target may exist */
    bool has_doubtful_hits; /* the last recall of HITS has left out pages that a sweep may remove */
    bool is_unsure;         /* a write of this lease on another store was not answered */

    /* Room for pages and summaries: TS_FLEET_PAGE_MAX bytes. */
    uint8_t *page;
};

struct ts_attempt durable__attempt(const struct ts_durable *durable, uint32_t n);
/* Returns the attempt under which rows are staged. With a planted mistake, this is a wrong attempt. */
struct ts_attempt durable__staged_attempt(const struct ts_durable *durable, uint32_t n);

/* ---- stores ---- */

enum ts_durable_end durable__failed(enum ts_unit_reason reason, struct ts_durable_detail *ret_detail);
enum ts_durable_end durable__no_memory(struct ts_durable_detail *ret_detail);

/* Returns the end for a write, checkpoint or complete that coordination has refused. */
enum ts_durable_end durable__lost(enum ts_error_variant error, const struct ts_coord_detail *detail,
                                  struct ts_durable_detail *ret_detail);

/* Reads keys into durable->rows, in one call. */
enum ts_durable_end durable__read_keys(struct ts_durable *durable, uint32_t place,
                                       const struct ts_bytes *keys, size_t count,
                                       struct ts_durable_detail *ret_detail);

/* Scans a range into durable->rows, in one call. */
enum ts_durable_end durable__scan(struct ts_durable *durable, uint32_t place,
                                  const struct ts_fleet_range *range, size_t limit,
                                  struct ts_durable_detail *ret_detail);

/* Applies the batch on the home store, under the lease, once. CONFLICT: a check of the batch has failed. */
enum ts_durable_end durable__write(struct ts_durable *durable, const struct durable__batch *batch,
                                   struct ts_durable_detail *ret_detail);
/* Like durable__write, for a batch that may be repeated. Never returns UNKNOWN. */
enum ts_durable_end durable__write_surely(struct ts_durable *durable, const struct durable__batch *batch,
                                          struct ts_durable_detail *ret_detail);
/* Applies a batch on any store, without the lease. The batch must be one that may be repeated. */
enum ts_store_result durable__apply_surely(struct ts_durable *durable, uint32_t place,
                                           const struct durable__batch *batch);
/* Returns the end for a call that a store has refused. */
enum ts_durable_end durable__refused_by(enum ts_store_result result, struct ts_durable_detail *ret_detail);

/* Returns the time limit of batches on other stores: the lease duration of the run, at most
 * TS_DURABLE_FOREIGN_MS. */
uint64_t durable__limit_ms(const struct ts_run_config *config);

static inline bool durable__must_stop(struct ts_durable_stop stop) {
    return stop.must != NULL && stop.must(stop.context);
}

/* Adds the target's new record, and a check of the version of the old one, to the pending operations. Returns
 * false when memory runs out. */
bool durable__put_target(struct ts_durable *durable, const struct ts_fleet_target *target);

/* Returns the value of a mark for this unit's own rows. */
struct ts_fleet_waste durable__waste_of(const struct ts_durable *durable);

/* Puts a waste mark of the unit's target. */
bool durable__put_mark(struct durable__batch *batch, const struct ts_durable *durable,
                       const struct ts_attempt *attempt, enum ts_waste waste,
                       const struct ts_fleet_waste *value);

/* Allocates the receipt of the unit in advance, so that a flip that is done cannot fail for lack of memory.
 * Returns NULL when memory runs out. */
struct ts_unit_receipt *durable__unit_receipt_new(void);

/* ---- receipts: their contents, for the frontier ---- */

struct durable__progress {
    struct ts_target_id target;
    uint64_t run; /* id of the run */
    struct ts_attempt attempt;
    uint32_t parts;
    uint64_t objects;
};

const struct durable__progress *durable__item_progress(const struct ts_item_receipt *item);
/* Returns `unit`. If `unit` is NULL because of a planted mistake, returns a receipt for a step that is not
 * durable. */
const struct ts_unit_receipt *durable__receipt_or_planted(struct ts_durable *durable,
                                                          const struct ts_unit_receipt *unit);
const struct durable__progress *durable__unit_progress(const struct ts_unit_receipt *unit);

#endif
