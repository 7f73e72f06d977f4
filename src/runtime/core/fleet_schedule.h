/*
 * Schedules: which targets to scan, and how often. A schedule has due times at equal intervals. Each due time
 * has at most one run; workers skip a due time if a later one has come.
 *
 *     due ──begin──> begun (the list of targets and the rules are fixed) ──submit──> started (last_due_ms has moved)
 *
 * Each step replaces the record, with a check of its version. The id of the run depends on tenant, name and
 * due time only, so any number of workers may repeat the second step. All times are by the clock of the store
 * that has the record.
 */
#ifndef TS_RUNTIME_CORE_FLEET_SCHEDULE_H
#define TS_RUNTIME_CORE_FLEET_SCHEDULE_H

#include "coord/core/run_config.h"
#include "runtime/core/fleet_page.h"
#include "runtime/core/fleet_record.h"

#define TS_SCHEDULE_EVERY_MIN_MS UINT64_C(1000)
#define TS_SCHEDULE_EVERY_MAX_MS (UINT64_C(366) * 24 * 3600 * 1000)
#define TS_SCHEDULE_DAY_MS       (UINT64_C(24) * 3600 * 1000)

enum {
    TS_FLEET_SCHEDULE_MAX = 12288,
    TS_SCHEDULE_REQUESTS = 16, /* requests to forges */
    TS_SCHEDULE_REQUEST_MAX = 512,
    TS_SCHEDULE_SELECTION_MAX = 1500,
    TS_SCHEDULE_WHY_MAX = 240,
    TS_SCHEDULE_RUNS = 100, /* limit of the due times in `runs` */
    TS_SCHEDULE_KEEP = 30,  /* default of `keep` */
    TS_SCHEDULE_KEEP_MAX = 90,
    TS_SCHEDULE_PAGES_MAX = 64,
};

/* A stored list of targets; {0}: none. */
struct ts_schedule_list {
    uint64_t id; /* a random number, which is part of the keys of the list's pages */
    uint32_t pages;
    uint64_t targets;
};

struct ts_fleet_schedule {
    bool is_paused;
    bool is_daily; /* shown to people as "daily": `first_ms` has the wanted time of day */
    uint64_t made_at_ms;
    uint64_t first_ms;    /* the first due time */
    uint64_t every_ms;    /* interval between due times */
    uint64_t last_due_ms; /* due times up to last_due_ms are started or skipped; 0: none */

    /* The targets: a list, and requests that are sent to forges again for every run. */
    struct ts_schedule_list list;
    struct ts_bytes requests[TS_SCHEDULE_REQUESTS];
    size_t request_count;
    bool no_archived, no_forks, ssh; /* options of the requests: see discover/discover.h */
    struct ts_bytes selection;
    bool is_sha256;

    /* The runs. */
    uint64_t lease_ms;
    uint32_t attempts;
    uint32_t keep;                   /* how many runs to keep; older ones are deleted; 0: keep all */
    uint64_t runs[TS_SCHEDULE_RUNS]; /* due times of the last runs, the newest first */
    size_t run_count;

    /* A run whose submission has begun. */
    bool has_begun;
    uint64_t begun_due_ms;
    struct ts_schedule_list begun;
    struct ts_pin pin;

    /* Why the last try to start a run failed. The next try that succeeds clears these fields. */
    uint64_t failures; /* number of tries that failed in a row */
    uint64_t failed_at_ms;
    uint64_t again_at_ms; /* the start is not tried again before this time */
    struct ts_bytes why;
};

/* Returns 0 if the texts are too long. */
size_t ts_fleet_schedule_encode(const struct ts_fleet_schedule *schedule,
                                uint8_t ret_bytes[static TS_FLEET_SCHEDULE_MAX]);
enum ts_fleet_error ts_fleet_schedule_decode(struct ts_bytes bytes, struct ts_fleet_schedule *ret_schedule);

/* Makes a name from 1 to 32 printable ASCII characters without blanks and '/'. Returns false for any other
 * text. */
bool ts_schedule_name_from_text(struct ts_bytes text, struct ts_schedule_name *ret_name);
struct ts_bytes ts_schedule_name_text(const struct ts_schedule_name *name);

/* Returns the latest due time up to now. Earlier due times that no worker has started are skipped. Returns 0
 * if no due time has come, if the latest one is already started or skipped, or if the schedule is paused. */
uint64_t ts_schedule_due(const struct ts_fleet_schedule *schedule, uint64_t now_ms);

/* Returns the first due time after now. */
uint64_t ts_schedule_next(const struct ts_fleet_schedule *schedule, uint64_t now_ms);

/* Returns the latest due time up to now; 0: none. */
uint64_t ts_schedule_latest(const struct ts_fleet_schedule *schedule, uint64_t now_ms);

/* Returns the first time at or after now that is this many milliseconds after midnight (UTC). */
uint64_t ts_schedule_first_daily(uint64_t now_ms, uint64_t of_day_ms);

/* Returns the id of the run for a due time. */
struct ts_run_id ts_schedule_run(const struct ts_tenant_id *tenant, const struct ts_schedule_name *name,
                                 uint64_t due_ms);

/* Records that the run of the begun due time was created. */
void ts_schedule_started(struct ts_fleet_schedule *schedule);

/* Records a failed try. The pause before the next try doubles with each failure, from 5 seconds to 30
 * minutes. If `why` is too long, it is cut. */
void ts_schedule_failed(struct ts_fleet_schedule *schedule, uint64_t now_ms, struct ts_bytes why);

/* ---- pages of a list ---- */

struct ts_fleet_listing {
    uint8_t *bytes;
    size_t len;
};

/* Begins a page in the memory, which has TS_FLEET_PAGE_MAX bytes. */
void ts_fleet_listing_begin(struct ts_fleet_listing *page, uint8_t *memory);
/* Returns false if the page has no room; the page is then unchanged. An empty page has room for every unit
 * that can be encoded. */
bool ts_fleet_listing_add(struct ts_fleet_listing *page, const struct ts_fleet_unit *unit);
size_t ts_fleet_listing_seal(struct ts_fleet_listing *page); /* returns the length */

/* Visits the units of a page, which borrow from its bytes, until visit returns false. */
enum ts_fleet_error ts_fleet_listing_read(struct ts_bytes bytes,
                                          bool (*visit)(void *context, const struct ts_fleet_unit *unit),
                                          void *context);

#endif
