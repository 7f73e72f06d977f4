/*
 * How the results of a unit become durable, exactly once.
 *
 *     read ─> (recall) ─> part, part, … ─> stage ─> flip ─> complete
 *                          │  │                      │
 *                          │  └ checkpoint           └ unknown: look_up
 *                          └ item receipt            └ unit receipt
 *
 * A part makes facts about contents durable: objects in which nothing was found, and contents with hits.
 * Stage writes the findings of the target under a new attempt, which is not visible yet. Flip makes this
 * attempt the target's current one, in one small batch that checks the lease and the version of the target's
 * record. All findings of a target change at this moment. A row counts only while its attempt is the current
 * one.
 *
 * Receipts prove that a step is durable. Only the file that performs a step can make its receipt. Only
 * receipts move the shard's cursor (frontier.h).
 *
 * All calls block. They use only the coordination of the options: its session, its stores and its pauses. One
 * thread at a time may use a struct ts_durable. Repeating a call after a failure is safe.
 */
#ifndef TS_RUNTIME_DURABLE_DURABLE_H
#define TS_RUNTIME_DURABLE_DURABLE_H

#include "coord/driver/session.h"
#include "report/report.h"
#include "runtime/core/fleet_page.h"
#include "runtime/core/fleet_record.h"
#include "runtime/core/reason.h"
#include "runtime/core/unit_step.h"

/* Every batch is below both limits. */
enum { TS_DURABLE_OPS_MAX = 1000 };
#define TS_DURABLE_BYTES_MAX  ((size_t)4 << 20)

/* A batch on a store other than the target's home must arrive within this time after that store's clock was
 * read. A later batch is not applied. If leases are shorter than this time, their duration is the limit. */
#define TS_DURABLE_FOREIGN_MS UINT64_C(30000)

struct ts_durable;
struct ts_item_receipt;       /* a part is durable */
struct ts_unit_receipt;       /* the unit is done: flipped, or covered by this run or a later one */
struct ts_checkpoint_receipt; /* the shard's cursor has moved */

/* An operation calls `must` between two calls to stores. If `must` returns true, the operation ends. If
 * `must` is NULL, nothing ends the operation. */
struct ts_durable_stop {
    bool (*must)(void *context);
    void *context;
};

struct ts_durable_options {
    struct ts_coord *coord;
    struct ts_coord_session *session;
    struct ts_tenant_id tenant;
    /* Used by recall, stage and tidy. The other functions need only a few calls. */
    struct ts_durable_stop stop;
};

/* Returns NULL when memory runs out. Coordination and session must stay valid as long as the result. */
struct ts_durable *ts_durable_new(const struct ts_durable_options *options);
void ts_durable_free(struct ts_durable *durable); /* accepts NULL */

/* How a call ended. */
enum ts_durable_end {
    TS_DURABLE_OK,
    TS_DURABLE_CONFLICT,  /* flip: the target has changed since it was last read */
    TS_DURABLE_UNKNOWN,   /* flip: the flip may have been done; call look_up */
    TS_DURABLE_FAILED,    /* the error says why */
    TS_DURABLE_OWN_FAULT, /* the fault says why */
    TS_DURABLE_STOPPED,   /* recall, stage: the call had to stop */
};

struct ts_durable_detail {
    struct ts_unit_error error;
    struct ts_fleet_worker_fault fault;
};

/* Returns the reason, of class StaleOwner, for an error that refused an operation under a lease. */
enum ts_unit_reason ts_durable_reason_of_loss(enum ts_error_variant error);

/* The run: its number and the rules that it is pinned to. */
struct ts_durable_run {
    uint64_t number; /* number of the run, not its id */
    struct ts_fleet_rules rules;
};

/* Begins the unit of the shard that the session has just claimed. Forgets the previous unit. */
void ts_durable_begin(struct ts_durable *durable, const struct ts_durable_run *run);

/* ---- reading ---- */

struct ts_durable_unit {
    struct ts_target_id id;
    struct ts_fleet_unit unit; /* borrowed until the next begin */
    bool has_target;           /* an earlier scan of the target was complete */
    struct ts_fleet_target target;
};

/* Reads the unit and its target, in one call to the home store. A later flip checks that the target has not
 * changed since this read. */
enum ts_durable_end ts_durable_read(struct ts_durable *durable, struct ts_durable_unit *ret_unit,
                                    struct ts_durable_detail *ret_detail);

/* The results of earlier scans. A recall of KNOWN visits KNOWN; a recall of HITS also visits OTHER_HITS; a
 * recall of TIPS also visits AGAIN and NO_TIPS. */
enum ts_durable_recall {
    TS_DURABLE_KNOWN, /* pages of this run's rules; a missing page costs only time */
    /* Pages of this run's rules and judging that a flip may rely on: the pages of the target's record, if it
     * has the same rules and judging, and the pages that leases of this run have written. If pages that the
     * record may need were left out, a later recall of TIPS visits NO_TIPS. */
    TS_DURABLE_HITS,
    TS_DURABLE_OTHER_HITS, /* pages of the target's record, if it has the same rules but another judging */
    TS_DURABLE_TIPS,       /* the watermark in the target's record: ids of git objects */
    TS_DURABLE_AGAIN,      /* ids that must be read again */
    TS_DURABLE_NO_TIPS,    /* ignore all tips, and read everything again: a page is damaged or was left out */
};

/* Visits pages until visit returns false. Call it after read. The bytes are borrowed until visit returns. */
enum ts_durable_end ts_durable_recall(struct ts_durable *durable, enum ts_durable_recall what,
                                      bool (*visit)(void *context, enum ts_durable_recall what,
                                                    struct ts_bytes bytes),
                                      void *context, struct ts_durable_detail *ret_detail);

/* ---- parts ---- */

/* Pages in the scanner's encoding, each of at most TS_FLEET_PAGE_MAX bytes. */
struct ts_durable_pages {
    const struct ts_bytes *pages;
    size_t count;
};

struct ts_durable_part {
    struct ts_durable_pages known;
    struct ts_durable_pages hits;
    uint64_t objects; /* objects scanned so far, for the progress of the shard */
};

/* Makes the part durable. The receipt is borrowed until the next begin. */
enum ts_durable_end ts_durable_part(struct ts_durable *durable, const struct ts_durable_part *part,
                                    const struct ts_item_receipt **ret_receipt,
                                    struct ts_durable_detail *ret_detail);

/* ---- completion ---- */

/* The result of a complete scan. */
struct ts_durable_scan {
    /* The report of one target, with all occurrences. Objects and commits are ids of the repository's format,
     * or "". */
    const struct ts_report *report;
    uint8_t refs[32];             /* digest of the refs that were scanned */
    struct ts_bytes tips;         /* binary ids of the tips of these refs, one after the other */
    struct ts_bytes again;        /* binary ids that the next scan must read again, one after the other */
    struct ts_durable_pages hits; /* pages that no part has made durable */
    uint64_t objects;
    bool has_hits;    /* there are hits: in `hits`, in parts or in recalled pages */
    bool with_faults; /* some objects could not be read: the next run scans again, without tips */
    uint32_t n;       /* number of the attempt */
};

/*
 * Writes the rows of the attempt. Small results are not written until the flip, so that a small unit needs
 * only one batch. A repetition with the same n must have the same scan. After OK the unit may be flipped.
 */
enum ts_durable_end ts_durable_stage(struct ts_durable *durable, const struct ts_durable_scan *scan,
                                     struct ts_durable_detail *ret_detail);

/* Makes the staged attempt the current one. If the flip ends with UNKNOWN, and look_up finds the target
 * unchanged, the flip may be repeated. */
enum ts_durable_end ts_durable_flip(struct ts_durable *durable, const struct ts_unit_receipt **ret_receipt,
                                    struct ts_durable_detail *ret_detail);

/* Flips without a scan. Refs, rules and judging must equal those of the target's record, because the flip
 * changes only the run and the time of the last check. */
enum ts_durable_end ts_durable_nothing_new(struct ts_durable *durable,
                                           const struct ts_unit_receipt **ret_receipt,
                                           struct ts_durable_detail *ret_detail);

/* Call it after read. Returns a receipt if this run or a later one has finished the target, otherwise NULL. */
const struct ts_unit_receipt *ts_durable_covered(struct ts_durable *durable);

/* Call it after UNKNOWN. Sets ret_receipt to a receipt if the target has this unit's attempt, or is covered;
 * otherwise to NULL. */
enum ts_durable_end ts_durable_look_up(struct ts_durable *durable, enum ts_unit_found *ret_found,
                                       const struct ts_unit_receipt **ret_receipt,
                                       struct ts_durable_detail *ret_detail);

/* ---- the shard ---- */

/* Moves the shard's cursor to the frontier of the receipts. The session keeps the lease. */
enum ts_durable_end ts_durable_checkpoint(struct ts_durable *durable, const struct ts_item_receipt *item,
                                          const struct ts_checkpoint_receipt **ret_receipt,
                                          struct ts_durable_detail *ret_detail);

/* Makes the last checkpoint and ends the shard. Afterwards the session is IDLE. */
enum ts_durable_end ts_durable_complete(struct ts_durable *durable, const struct ts_unit_receipt *unit,
                                        const struct ts_checkpoint_receipt **ret_receipt,
                                        struct ts_durable_detail *ret_detail);

/* Why the unit is about to be parked or handed back. */
struct ts_durable_decision {
    bool is_parked;
    bool once;          /* not stored if the newest stored decision has the same reason */
    const char *reason; /* a label of reason.h */
};

/* Stores the decision for people (notes.h), under the lease. A failure has no other effect. */
enum ts_durable_end ts_durable_note(struct ts_durable *durable, const struct ts_durable_decision *decision,
                                    struct ts_durable_detail *ret_detail);

/* ---- waste ---- */

struct ts_durable_swept {
    uint64_t marks; /* marks that were removed */
    uint64_t rows;  /* rows that were removed, including the marks */
    uint64_t kept;  /* marks of attempts that may still be used, or whose rows may still arrive */
    /* If marks were kept: the time to wait until a further sweep is expected to remove more. */
    uint64_t wait_ms;
};

/* Removes rows of the unit's target that are no longer needed. Call it after complete. If it fails, a later
 * sweep removes the rest. */
bool ts_durable_tidy(struct ts_durable *durable, struct ts_durable_swept *ret_swept,
                     struct ts_infra_error *ret_error);

/* Removes rows of the tenant that are no longer needed. Safe at any time, even while workers run. */
bool ts_durable_sweep(struct ts_coord *coord, const struct ts_tenant_id *tenant, struct ts_durable_stop stop,
                      struct ts_durable_swept *ret_swept, struct ts_infra_error *ret_error);

#endif
