#include "runtime/driver/start.h"

#include "runtime/driver/submit.h"
#include "runtime/durable/schedules.h"

#include "os/grow.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A try to start one schedule. */
struct start {
    const struct ts_starter *starter;
    struct ts_schedule_seen seen;
    struct ts_target_list targets;
    size_t next; /* the next target to store */
    char why[600];
    struct ts_infra_error error; /* the error of a store */
    bool is_store_failure;
};

static bool store_failed(struct start *start) {
    start->is_store_failure = true;
    return false;
}

__attribute__((format(printf, 2, 3))) static bool fail(struct start *start, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(start->why, sizeof start->why, format, arguments);
    va_end(arguments);
    return false;
}

/* Replaces the record. Returns false if another process has changed the record, if the new record is too long,
 * or if the store failed. */
static bool replace(struct start *start, const struct ts_fleet_schedule *schedule) {
    switch (ts_schedule_write(start->starter->coord, &start->seen, schedule, &start->error)) {
    case TS_SCHEDULE_WRITTEN:
        return true;
    case TS_SCHEDULE_CHANGED:
    case TS_SCHEDULE_TOO_LONG:
        break;
    case TS_SCHEDULE_NOT_WRITTEN:
        return store_failed(start);
    }
    return false;
}

static bool read_again(struct start *start) {
    const struct ts_schedule_ref ref = start->seen.ref;
    return ts_schedule_read(start->starter->coord, &ref, &start->seen, &start->error) || store_failed(start);
}

/* ---- targets ---- */

/* Adds a target from a stored list. Its address and selection are already normalised. */
static bool add_unit(void *context, const struct ts_fleet_unit *unit) {
    struct start *start = context;
    struct ts_target_list *list = &start->targets;
    const char *format = unit->is_sha256 ? "sha256" : "sha1";
    const struct ts_target_parts parts = {.tenant = ts_tenant_id_text(&start->starter->tenant),
                                          .address = unit->address,
                                          .selection = unit->selection,
                                          .format = ts_bytes_of_cstring(format)};
    struct ts_target target = {.id = ts_target_id_of(&parts),
                               .address = ts_arena_copy(&list->arena, unit->address),
                               .selection = ts_arena_copy(&list->arena, unit->selection),
                               .format = format};
    target.url = unit->url.len > 0 ? ts_arena_copy(&list->arena, unit->url) : target.address;
    if (target.address == NULL || target.selection == NULL || target.url == NULL ||
        !TS_GROW(list->items, list->capacity, list->count + 1))
        return fail(start, "out of memory");
    list->items[list->count++] = target;
    return true;
}

static bool load(struct start *start, const struct ts_schedule_list *list) {
    const bool done =
        ts_listing_read(start->starter->coord, &start->seen.ref, list, add_unit, start, &start->error);
    if (!done && start->error.kind == TS_INFRA_DAMAGED)
        return fail(start, "%s", start->error.text);
    return done ? start->why[0] == '\0' : store_failed(start);
}

static bool ask_forges(struct start *start) {
    const struct ts_fleet_schedule *schedule = &start->seen.schedule;
    const struct ts_target_defaults defaults = {.tenant = ts_tenant_id_text(&start->starter->tenant),
                                                .selection = schedule->selection,
                                                .format = schedule->is_sha256 ? "sha256" : "sha1"};
    struct ts_discover_options forge = start->starter->forge;
    forge.no_archived = schedule->no_archived;
    forge.no_forks = schedule->no_forks;
    forge.ssh = schedule->ssh;
    for (size_t i = 0; i < schedule->request_count; i++) {
        char request[TS_SCHEDULE_REQUEST_MAX + 1];
        struct ts_target_error error;
        (void)snprintf(request, sizeof request, "%.*s", (int)schedule->requests[i].len,
                       (const char *)schedule->requests[i].data);
        if (ts_target_list_add_forge(&start->targets, &defaults, &forge, request, &error) != TS_TARGET_OK)
            return fail(start, "request %zu to a forge: %s", i + 1, error.text);
    }
    ts_target_list_settle(&start->targets);
    return start->targets.count > 0 ||
           fail(start, "the forge lists no repository; check what the token may read");
}

static bool next_unit(void *context, struct ts_fleet_unit *ret_unit) {
    struct start *start = context;
    if (start->next == start->targets.count)
        return false;
    const struct ts_target *target = &start->targets.items[start->next++];
    const bool is_other_url = strcmp(target->url, target->address) != 0;
    *ret_unit = (struct ts_fleet_unit){.address = ts_bytes_of_cstring(target->address),
                                       .url = ts_bytes_of_cstring(is_other_url ? target->url : ""),
                                       .selection = ts_bytes_of_cstring(target->selection),
                                       .is_sha256 = strcmp(target->format, "sha256") == 0};
    return true;
}

/* ---- begin ---- */

/* Sets ret_list to the list of this run. If the schedule has no requests, that is the schedule's list.
 * Otherwise stores a new list: the schedule's targets, and the repositories that the forges list now. */
static bool settle_list(struct start *start, struct ts_schedule_list *ret_list) {
    const struct ts_fleet_schedule *schedule = &start->seen.schedule;
    *ret_list = schedule->list;
    if (schedule->request_count == 0)
        return true;
    return load(start, &schedule->list) && ask_forges(start) &&
           (ts_listing_write(start->starter->coord, &start->seen.ref, next_unit, start, ret_list,
                             &start->error) ||
            store_failed(start));
}

/* Stores the due time, the list of targets and the rules of the next run, which do not change after that. If
 * another worker has begun or changed the schedule meanwhile, the list that was stored here is not used, and
 * is removed later, like the lists of killed workers. */
static bool begin(struct start *start, uint64_t due_ms) {
    struct ts_fleet_schedule next = start->seen.schedule;
    if (!settle_list(start, &next.begun))
        return false;
    next.has_begun = true;
    next.begun_due_ms = due_ms;
    next.pin = start->starter->pin;
    return replace(start, &next) && read_again(start) && start->seen.version != 0 &&
           !start->seen.is_damaged && start->seen.schedule.has_begun;
}

/* ---- submit ---- */

/* Whether the run has ended. Somebody may have cancelled the run before all its shards were registered. Such a
 * run counts as submitted. */
static bool has_ended(const struct start *start, struct ts_run_id run) {
    const struct ts_coord_run_query query = {.tenant = start->starter->tenant, .run = run};
    struct ts_run_record record;
    struct ts_coord_detail detail = {0};
    return ts_coord_get_run(start->starter->coord, &query, &record, &detail) == TS_GET_RUN_OK &&
           ts_run_status_is_terminal(record.status);
}

static bool submit(struct start *start, struct ts_run_id run) {
    const struct ts_fleet_schedule *schedule = &start->seen.schedule;
    const struct ts_fleet_key key = ts_fleet_key_schedule(&start->seen.ref.tenant, &start->seen.ref.name);
    struct ts_submission submission = {.tenant = start->starter->tenant,
                                       .run = run,
                                       .config = ts_run_config_default(),
                                       .targets = &start->targets,
                                       .condition_key = ts_fleet_key_bytes(&key),
                                       .condition_version = start->seen.version};
    submission.config.lease_duration_ms = schedule->lease_ms;
    submission.config.attempts = schedule->attempts;
    submission.config.semantics = TS_CURSOR_COMPLETED;
    submission.config.pin = schedule->pin;
    if (start->targets.count == 0)
        return fail(start, "the list is empty");
    struct ts_submitted submitted;
    struct ts_submit_error error;
    if (ts_submit(start->starter->coord, &submission, &submitted, &error) || has_ended(start, run))
        return true;
    char why[400];
    (void)ts_error_display(error.variant, &error.detail, why, sizeof why);
    return fail(start, "the run cannot be created: %s", why);
}

/* Deletes the runs of the schedule, from the oldest, until `keep` are left. Stops at a run that cannot be
 * deleted, for example because it has not ended; a later call continues. */
static void delete_old(struct start *start) {
    struct ts_fleet_schedule next = start->seen.schedule;
    while (next.keep > 0 && next.run_count > next.keep) {
        const uint64_t due_ms = next.runs[next.run_count - 1];
        const struct ts_coord_run_query query = {
            .tenant = start->starter->tenant,
            .run = ts_schedule_run(&start->starter->tenant, &start->seen.ref.name, due_ms)};
        struct ts_coord_deleted deleted = {0};
        struct ts_coord_detail detail = {0};
        if (ts_coord_delete_run(start->starter->coord, &query, &deleted, &detail) != TS_DELETE_RUN_OK)
            break;
        next.run_count--;
    }
    if (next.run_count < start->seen.schedule.run_count)
        (void)replace(start, &next);
}

static bool finish(struct start *start, struct ts_run_id run) {
    struct ts_fleet_schedule next = start->seen.schedule;
    struct ts_listings listings;
    ts_target_list_release(&start->targets);
    if (!load(start, &next.begun))
        return false;
    ts_target_list_settle(&start->targets);
    if (!submit(start, run))
        return false;
    if (!ts_listings_collect(start->starter->coord, &start->seen.ref, &listings, &start->error))
        return store_failed(start);
    ts_schedule_started(&next);
    if (!replace(start, &next))
        return false;
    start->starter->started(start->starter->context, run, start->targets.count);
    const struct ts_listings_kept kept = {next.list.id, next.list.id};
    if (!ts_listings_remove(start->starter->coord, &start->seen.ref, &listings, kept, &start->error))
        return store_failed(start);
    if (read_again(start) && start->seen.version != 0 && !start->seen.is_damaged)
        delete_old(start);
    return true;
}

/* ---- all schedules ---- */

/* Returns whether a run of the schedule must be started or continued, and sets its due time. */
static bool is_due(const struct ts_schedule_seen *seen, uint64_t *ret_due_ms) {
    if (seen->version == 0 || seen->is_damaged || seen->now_ms < seen->schedule.again_at_ms)
        return false;
    *ret_due_ms = seen->schedule.has_begun ? seen->schedule.begun_due_ms
                                           : ts_schedule_due(&seen->schedule, seen->now_ms);
    return *ret_due_ms != 0;
}

static bool is_stopped(const struct ts_starter *starter) {
    return starter->forge.stop != NULL && atomic_load(starter->forge.stop);
}

static void note_failure(struct start *start, struct ts_run_id run) {
    struct ts_fleet_schedule next = start->seen.schedule;
    ts_schedule_failed(&next, start->seen.now_ms, ts_bytes_of_cstring(start->why));
    if (replace(start, &next))
        start->starter->failed(start->starter->context, run, start->why);
}

static bool start_one(const struct ts_starter *starter, const struct ts_schedule_ref *ref,
                      struct ts_infra_error *ret_error) {
    struct start *start = calloc(1, sizeof *start);
    uint64_t due_ms;
    if (start == NULL) {
        *ret_error = (struct ts_infra_error){.kind = TS_INFRA_RETRYABLE, .text = "out of memory"};
        return false;
    }
    start->starter = starter;
    start->seen.ref = *ref;
    if (read_again(start) && is_due(&start->seen, &due_ms)) {
        const struct ts_run_id run = ts_schedule_run(&ref->tenant, &ref->name, due_ms);
        if (start->seen.schedule.has_begun || begin(start, due_ms))
            (void)finish(start, run);
        /* If the worker has to stop, that is not a failure of the schedule. */
        if (start->why[0] != '\0' && !is_stopped(starter))
            note_failure(start, run);
    }
    const bool done = !start->is_store_failure;
    if (!done)
        *ret_error = start->error;
    ts_target_list_release(&start->targets);
    free(start);
    return done;
}

struct due {
    struct ts_schedule_ref *list;
    size_t count, capacity;
    bool no_memory;
};

static bool note_due(void *context, const struct ts_schedule_seen *seen) {
    struct due *due = context;
    uint64_t due_ms;
    if (!is_due(seen, &due_ms))
        return true;
    due->no_memory = !TS_GROW(due->list, due->capacity, due->count + 1);
    if (!due->no_memory)
        due->list[due->count++] = seen->ref;
    return !due->no_memory;
}

bool ts_start_due(const struct ts_starter *starter, struct ts_infra_error *ret_error) {
    struct due due = {0};
    bool done = ts_schedules_list(starter->coord, &starter->tenant, note_due, &due, ret_error);
    for (size_t i = 0; done && i < due.count && !is_stopped(starter); i++)
        done = start_one(starter, &due.list[i], ret_error);
    free(due.list);
    return done;
}
