/*
 * A unit that a job is carrying out.
 */
#ifndef TS_RUNTIME_DRIVER_UNIT_H
#define TS_RUNTIME_DRIVER_UNIT_H

#include "job.h"

#include "runtime/core/unit_step.h"
#include "runtime/durable/durable.h"

struct runtime__pages {
    struct ts_bytes *items; /* the list owns the items */
    size_t count;
    size_t capacity;
};

struct runtime__unit {
    struct runtime__job *job;
    struct ts_run_id run;
    struct ts_target_id target;
    struct ts_fence_epoch fence;
    uint64_t begun_ns;
    struct ts_unit core;
    struct ts_unit_wish wish; /* the wish in progress, or the next one */
    uint64_t wished_ns;       /* when that wish began */
    struct ts_durable_unit read;
    struct ts_unit_receipt const *receipt;
    struct ts_item_receipt const *item;
    enum ts_unit_phase phase; /* phase before the last event; never permanent_failure */
    const char *reason;       /* the label of the last failure; NULL: none */
    const char *text;         /* the reason of the last failure, as a text for people */
    bool is_held_up;          /* the last failure was that the host limits requests */
    bool is_sick;
    bool is_covered;
    bool is_new; /* the last flip made a scan visible */

    /* The repository on this machine. */
    char path[TS_FLEET_UNIT_MAX + 1];
    struct ts_mirror mirror;
    bool has_mirror; /* the unit has locked the mirror */

    /* The scan. */
    struct ts_report report;
    bool has_report;
    struct ts_scan_end end; /* totals at the end of the scan */
    bool is_settled;        /* a callback ended the scan; `wish` says how to continue */
    bool is_asked;          /* the core was already asked to stop */
    uint64_t scan_ns;
    /* Pages that no part has made durable. Pages of hits wait for the flip. If the worker has to stop, a part
     * takes all pages of both kinds. */
    struct runtime__pages hits, known;
    bool has_hits;
};

/* Passes an event to the core, and keeps its next wish. */
void runtime__step(struct runtime__unit *unit, const struct ts_unit_event *event);

struct ts_unit_event runtime__failed(enum ts_durable_end end, const struct ts_durable_detail *detail);

bool runtime__is_lost(const struct runtime__unit *unit);

/* Returns the event for the reason why the stop flag is set: lease lost, or asked to stop. */
struct ts_unit_event runtime__stopped(const struct runtime__unit *unit);

/* Returns the path of the unit's repository, or of its mirror, which the wish `sync` refreshes. On failure
 * passes the event to the core, and returns NULL. */
const char *runtime__locate(struct runtime__unit *unit);
void runtime__mirror_release(struct runtime__unit *unit);

/* Carries out `sync` or `scan`, and passes all its events to the core. */
void runtime__scan(struct runtime__unit *unit);

/* Functions that carry out wishes, also in callbacks of the scanner. Each returns the event that answers the
 * wish. */
struct ts_unit_event runtime__part(struct runtime__unit *unit, const struct ts_durable_part *part);
struct ts_unit_event runtime__checkpoint(struct runtime__unit *unit);
struct ts_unit_event runtime__sleep(struct runtime__unit *unit);

/* Returns the result of the scan, for stage. It borrows from the unit. */
struct ts_durable_scan runtime__scan_result(const struct runtime__unit *unit);

/* Releases the report. */
void runtime__scan_release(struct runtime__unit *unit);
void runtime__unit_pages_release(struct runtime__unit *unit);

#endif
