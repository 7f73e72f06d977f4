/*
 * Schedules in the cluster: reading them, replacing them, and their lists of targets. Everything is on the
 * first store, whose time decides what is due.
 *
 * On failure every function returns false, and ret_error says why.
 */
#ifndef TS_RUNTIME_DURABLE_SCHEDULES_H
#define TS_RUNTIME_DURABLE_SCHEDULES_H

#include "coord/core/error.h"
#include "runtime/core/fleet_schedule.h"

struct ts_coord;

struct ts_schedule_ref {
    struct ts_tenant_id tenant;
    struct ts_schedule_name name;
};

/* A schedule as it was read. The struct points into its own bytes, so do not copy it. */
struct ts_schedule_seen {
    struct ts_schedule_ref ref;
    uint64_t version; /* 0: there is no such schedule */
    uint64_t now_ms;  /* the store's time */
    bool is_damaged;  /* `error` says why, and `schedule` is not valid */
    enum ts_fleet_error error;
    struct ts_fleet_schedule schedule;
    uint8_t bytes[TS_FLEET_SCHEDULE_MAX];
};

bool ts_schedule_read(struct ts_coord *coord, const struct ts_schedule_ref *ref,
                      struct ts_schedule_seen *ret_seen, struct ts_infra_error *ret_error);

/* Visits the schedules of a tenant in the order of their names. If visit returns false, reads no more
 * schedules, but still visits those that it has read. */
bool ts_schedules_list(struct ts_coord *coord, const struct ts_tenant_id *tenant,
                       bool (*visit)(void *context, const struct ts_schedule_seen *seen), void *context,
                       struct ts_infra_error *ret_error);

enum ts_schedule_write {
    TS_SCHEDULE_WRITTEN,
    TS_SCHEDULE_CHANGED, /* others have changed the schedule since it was read; nothing was written */
    TS_SCHEDULE_TOO_LONG,
    TS_SCHEDULE_NOT_WRITTEN, /* ret_error says why */
};

/* Replaces the schedule that was seen; NULL removes it. */
enum ts_schedule_write ts_schedule_write(struct ts_coord *coord, const struct ts_schedule_seen *seen,
                                         const struct ts_fleet_schedule *schedule,
                                         struct ts_infra_error *ret_error);

/* ---- lists ----
 *
 * Pages are written before the record that names them, under an id that nobody else uses. The process that
 * replaces the record also removes lists that no record names: it collects their ids before the replacement,
 * and removes the lists after it. If the process that wrote such a list has not replaced the record yet, its
 * own replacement then fails. So nobody needs a list that is removed. */

/* Sets the next unit of a list. Returns false at the end of the list. */
typedef bool ts_listing_next(void *context, struct ts_fleet_unit *ret_unit);

/* Stores a list. No record names the list yet. */
bool ts_listing_write(struct ts_coord *coord, const struct ts_schedule_ref *ref, ts_listing_next *next,
                      void *context, struct ts_schedule_list *ret_list, struct ts_infra_error *ret_error);

/* Visits the units. If visit returns false, skips the other units of the page. A unit is borrowed until visit
 * returns. */
bool ts_listing_read(struct ts_coord *coord, const struct ts_schedule_ref *ref,
                     const struct ts_schedule_list *list,
                     bool (*visit)(void *context, const struct ts_fleet_unit *unit), void *context,
                     struct ts_infra_error *ret_error);

/* The most lists that one call collects; later calls collect the other lists. */
enum { TS_LISTINGS_MAX = 64 };
struct ts_listings {
    uint64_t ids[TS_LISTINGS_MAX];
    size_t count;
};
bool ts_listings_collect(struct ts_coord *coord, const struct ts_schedule_ref *ref,
                         struct ts_listings *ret_listings, struct ts_infra_error *ret_error);

/* The ids of two lists that ts_listings_remove keeps. It removes all other collected lists. */
struct ts_listings_kept {
    uint64_t one;
    uint64_t other;
};
bool ts_listings_remove(struct ts_coord *coord, const struct ts_schedule_ref *ref,
                        const struct ts_listings *listings, struct ts_listings_kept kept,
                        struct ts_infra_error *ret_error);

#endif
