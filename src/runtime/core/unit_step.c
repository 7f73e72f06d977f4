/*
 * The phases of a unit while its shard is Active. Only the worker knows them; no store has them.
 *
 *     Claimed --start--> MirrorSync --mirror ready--> Executing --flipped--> InnerDurable --completed--> OuterCheckpointed
 *        |                 |    ^                      |    |                     ^
 *        |                 |    +-- conflict, repair --+    |                     |
 *        +-----------------+------ covered by this run or a later one ------------+
 *
 *     phase               event            next phase           wish
 *     Claimed             claimed          Claimed              read
 *     Claimed,            read             MirrorSync           sync
 *     MirrorSync                           InnerDurable         complete: this run or a later one has flipped the target
 *     MirrorSync          synced           Executing            scan
 *                                          Executing            stage_and_flip: nothing is new
 *     Executing           part due         Executing            part
 *                         part durable     Executing            checkpoint
 *                                          Executing            release, nobody to blame: the worker was asked to stop
 *                         checkpointed     Executing            scan (continues)
 *                         scanned          Executing            stage_and_flip
 *                                          MirrorSync           sync (repair): objects cannot be read, and the last sync was no repair
 *                         flipped          InnerDurable         complete
 *                         conflict         MirrorSync           read; n + 1
 *                         unknown          Executing            look_up
 *                         looked up        InnerDurable         complete: own, covered
 *                                          Executing            sleep, then stage_and_flip: same
 *                                          Executing            release: same, and the tries are used up
 *                                          MirrorSync           read; n + 1: other
 *                         asked to stop    Executing            part: in a scan, or before its flip
 *     MirrorSync,         failed           MirrorSync           sync (repair): the mirror is damaged, and the last sync was no repair
 *     Executing
 *     InnerDurable        completed        OuterCheckpointed    stop
 *     PermanentFailure    parked           PermanentFailure     stop
 *                         failed           PermanentFailure     release: permanent
 *
 *     Claimed, MirrorSync, Executing, InnerDurable:
 *                         failed           PermanentFailure     park: permanent
 *
 *     Claimed, MirrorSync, Executing, InnerDurable, PermanentFailure:
 *                         failed           the same             sleep, then the failed wish: retryable
 *                                          the same             release: retryable, and the tries are used up
 *                                          LeaseLost            stop: stale owner, or the wish was release
 *                         own fault        the same             release, nobody to blame
 *                                          LeaseLost            stop: the wish was release
 *                         lease lost       LeaseLost            stop
 *                         asked to stop    the same             release, nobody to blame
 *                         released         LeaseLost            stop
 *                         slept            the same             the wish that waited
 *
 * What holds:
 * - A wish that writes (part, checkpoint, stage_and_flip, complete, park) never follows a lost lease.
 * - Complete follows only a flip that is durable, or a target that this run or a later one has flipped.
 * - A flip follows only a scan of what the last sync fetched. A sync follows only a read of the target's
 *   record. So the version that the flip checks is older than the refs that the flip makes visible.
 * - A unit with faults is complete only after a scan of a repaired mirror: objects that this scan cannot read
 *   are missing at the origin.
 * - Only the wish stop follows OuterCheckpointed and LeaseLost.
 */
#include "runtime/core/unit_step.h"

#include "base/assert.h"
#include "runtime/core/plant.h"

#include <string.h>

#define EVENT(suffix) (UINT32_C(1) << TS_UNIT_EVENT_##suffix)
#define ANY           (EVENT(FAILED) | EVENT(OWN_FAULT) | EVENT(LEASE_LOST))
#define LONG          (ANY | EVENT(ASKED_TO_STOP))

/* For each wish, the events that may answer it. */
static const uint32_t answers[TS_WISH_COUNT] = {
    [TS_WISH_READ] = LONG | EVENT(READ),
    [TS_WISH_SYNC] = LONG | EVENT(SYNCED),
    [TS_WISH_SCAN] = LONG | EVENT(SCANNED) | EVENT(PART_DUE),
    [TS_WISH_PART] = ANY | EVENT(PART_DURABLE),
    [TS_WISH_CHECKPOINT] = ANY | EVENT(CHECKPOINTED),
    [TS_WISH_STAGE_AND_FLIP] = LONG | EVENT(FLIPPED) | EVENT(CONFLICT) | EVENT(UNKNOWN),
    [TS_WISH_LOOK_UP] = ANY | EVENT(LOOKED_UP),
    [TS_WISH_COMPLETE] = ANY | EVENT(COMPLETED),
    [TS_WISH_PARK] = ANY | EVENT(PARKED),
    [TS_WISH_RELEASE] = ANY | EVENT(RELEASED),
    [TS_WISH_SLEEP] = EVENT(SLEPT) | EVENT(LEASE_LOST) | EVENT(ASKED_TO_STOP),
    [TS_WISH_STOP] = 0,
};

struct ts_unit_limits ts_unit_limits_default(void) {
    return (struct ts_unit_limits){
        .tries_max = 5, .slow_ms = 5000, .first_wait_ms = 500, .longest_wait_ms = 30000};
}

void ts_unit_init(struct ts_unit *unit, uint64_t run_number, struct ts_unit_limits limits) {
    *unit = (struct ts_unit){.phase = TS_PHASE_CLAIMED, .limits = limits, .run_number = run_number};
}

/* ---- wishes ---- */

static struct ts_unit_wish wish(enum ts_wish_kind kind) {
    return (struct ts_unit_wish){.kind = kind};
}

static struct ts_unit_wish stop(struct ts_unit *unit, enum ts_unit_phase phase, enum ts_unit_end end) {
    unit->phase = phase;
    return (struct ts_unit_wish){.kind = TS_WISH_STOP, .end = end};
}

static struct ts_unit_wish sync(struct ts_unit *unit, bool repair) {
    unit->phase = TS_PHASE_MIRROR_SYNC;
    unit->is_repaired = repair;
    return (struct ts_unit_wish){.kind = TS_WISH_SYNC, .repair = repair};
}

/* The results that a flip makes visible. */
struct news {
    bool is_new;
    bool with_faults;
};

static struct ts_unit_wish stage_and_flip(struct ts_unit *unit, struct news news) {
    unit->flip = (struct ts_unit_wish){
        .kind = TS_WISH_STAGE_AND_FLIP, .is_new = news.is_new, .with_faults = news.with_faults, .n = unit->n};
    return unit->flip;
}

static struct ts_unit_wish complete(struct ts_unit *unit) {
    unit->phase = TS_PHASE_INNER_DURABLE;
    return wish(TS_WISH_COMPLETE);
}

static struct ts_unit_wish release(enum ts_blame blame) {
    return (struct ts_unit_wish){.kind = TS_WISH_RELEASE, .blame = blame};
}

static uint64_t wait_of(const struct ts_unit *unit, uint64_t wished_ms) {
    if (wished_ms > 0)
        return wished_ms;
    uint64_t wait_ms = unit->limits.first_wait_ms;
    for (uint64_t i = 1; i < unit->tries && wait_ms < unit->limits.longest_wait_ms; i++)
        wait_ms *= 2;
    return wait_ms < unit->limits.longest_wait_ms ? wait_ms : unit->limits.longest_wait_ms;
}

/* Repeats a wish after a failure, or ends the tries. */
static struct ts_unit_wish again(struct ts_unit *unit, struct ts_unit_wish failed,
                                 struct ts_unit_error error) {
    unit->tries++;
    const uint64_t wait_ms = wait_of(unit, error.retry_after_ms);
    if (unit->tries > unit->limits.tries_max || wait_ms > unit->limits.longest_wait_ms)
        return release(ts_unit_error_blame(error));
    unit->later = failed;
    return (struct ts_unit_wish){.kind = TS_WISH_SLEEP, .wait_ms = wait_ms};
}

/* ---- events of the work ---- */

static struct ts_unit_wish on_read(struct ts_unit *unit, const struct ts_unit_target *target) {
    unit->target = *target;
    const bool is_covered = runtime__is_planted(TS_FLEET_PLANT_OLDRUN)
                                ? target->run_number == unit->run_number
                                : target->run_number >= unit->run_number;
    if (target->exists && is_covered)
        return complete(unit);
    if (unit->n > 0 && runtime__is_planted(TS_FLEET_PLANT_NORESYNC)) {
        unit->phase = TS_PHASE_EXECUTING;
        return stage_and_flip(unit, (struct news){.is_new = true, .with_faults = unit->flip.with_faults});
    }
    return sync(unit, false);
}

static struct ts_unit_wish on_synced(struct ts_unit *unit, const uint8_t *refs) {
    const struct ts_unit_target *target = &unit->target;
    unit->phase = TS_PHASE_EXECUTING;
    if (target->exists && target->is_complete && target->has_rules_of_run &&
        memcmp(target->refs, refs, TS_UNIT_REFS_LEN) == 0)
        return stage_and_flip(unit, (struct news){0});
    return wish(TS_WISH_SCAN);
}

static struct ts_unit_wish on_scanned(struct ts_unit *unit, bool has_faults) {
    if (runtime__is_planted(TS_FLEET_PLANT_EARLY))
        return complete(unit);
    if (has_faults && runtime__is_planted(TS_FLEET_PLANT_FAULTY))
        return stage_and_flip(unit, (struct news){.is_new = true});
    if (has_faults && !unit->is_repaired)
        return sync(unit, true);
    return stage_and_flip(unit, (struct news){.is_new = true, .with_faults = has_faults});
}

static struct ts_unit_wish on_part_due(struct ts_unit *unit) {
    if (runtime__is_planted(TS_FLEET_PLANT_PARTMARK))
        return stage_and_flip(unit, (struct news){.is_new = true});
    return wish(TS_WISH_PART);
}

static struct ts_unit_wish on_part_durable(const struct ts_unit *unit) {
    return unit->is_stopping ? release(TS_BLAME_NOBODY) : wish(TS_WISH_CHECKPOINT);
}

/* Begins the next attempt. Each conflict means that another worker has made progress with the target, so the
 * number of conflicts has no limit. */
static struct ts_unit_wish on_conflict(struct ts_unit *unit) {
    unit->n++;
    unit->phase = TS_PHASE_MIRROR_SYNC;
    return wish(TS_WISH_READ);
}

static struct ts_unit_wish on_looked_up(struct ts_unit *unit, enum ts_unit_found found) {
    switch (found) {
    case TS_UNIT_FOUND_OWN:
    case TS_UNIT_FOUND_COVERED:
        return complete(unit);
    case TS_UNIT_FOUND_SAME:
        return again(unit, unit->flip, ts_unit_error_of(TS_UNIT_STORE_UNAVAILABLE));
    case TS_UNIT_FOUND_OTHER:
        return on_conflict(unit);
    }
    ts_unreachable("every result is handled");
}

/* ---- events that can come in every phase ---- */

static struct ts_unit_wish on_permanent(struct ts_unit *unit, struct ts_unit_error error) {
    if (unit->phase == TS_PHASE_PERMANENT_FAILURE)
        return release(TS_BLAME_SHARD);
    unit->phase = TS_PHASE_PERMANENT_FAILURE;
    return (struct ts_unit_wish){.kind = TS_WISH_PARK, .error = error};
}

static struct ts_unit_wish on_retryable(struct ts_unit *unit, struct ts_unit_error error) {
    const bool uses_mirror = unit->wish.kind == TS_WISH_SYNC || unit->wish.kind == TS_WISH_SCAN;
    if (error.reason == TS_UNIT_MIRROR_DAMAGED && uses_mirror && !unit->is_repaired)
        return sync(unit, true);
    return again(unit, unit->wish, error);
}

static struct ts_unit_wish lose(struct ts_unit *unit) {
    return stop(unit, TS_PHASE_LEASE_LOST, TS_UNIT_END_LOST);
}

/* A failed sync that took long counts as several tries, so it is repeated less often. Otherwise a host that
 * hangs would occupy the jobs, and the repositories of other hosts would wait. */
static struct ts_unit_wish on_failed(struct ts_unit *unit, const struct ts_unit_event *event) {
    const struct ts_unit_error error = event->error;
    if (unit->wish.kind == TS_WISH_RELEASE)
        return lose(unit); /* the lease expires without a release */
    if (unit->wish.kind == TS_WISH_SYNC)
        unit->tries += event->took_ms / unit->limits.slow_ms;
    return TS_UNIT_ERROR_MATCH(error, on_retryable(unit, error), on_permanent(unit, error), lose(unit));
}

static struct ts_unit_wish on_own_fault(struct ts_unit *unit) {
    return unit->wish.kind == TS_WISH_RELEASE ? lose(unit) : release(TS_BLAME_NOBODY);
}

static struct ts_unit_wish on_asked_to_stop(struct ts_unit *unit) {
    const bool has_results =
        unit->wish.kind == TS_WISH_SCAN || (unit->wish.kind == TS_WISH_STAGE_AND_FLIP && unit->wish.is_new);
    if (!has_results)
        return release(TS_BLAME_NOBODY);
    unit->is_stopping = true;
    return wish(TS_WISH_PART);
}

static struct ts_unit_wish on_unknown(struct ts_unit *unit) {
    return runtime__is_planted(TS_FLEET_PLANT_UNKNOWNOK) ? complete(unit) : wish(TS_WISH_LOOK_UP);
}

/* Returns whether the event ends a series of failed tries. LOOKED_UP does not end the series, because it may
 * show that the flip was not done. */
static bool is_progress(enum ts_unit_event_kind kind) {
    return (EVENT(READ) | EVENT(SYNCED) | EVENT(SCANNED) | EVENT(PART_DURABLE) | EVENT(CHECKPOINTED) |
            EVENT(FLIPPED) | EVENT(CONFLICT)) &
           (UINT32_C(1) << kind);
}

static struct ts_unit_wish next(struct ts_unit *unit, const struct ts_unit_event *event) {
    switch (event->kind) {
    case TS_UNIT_EVENT_CLAIMED:
        return wish(TS_WISH_READ);
    case TS_UNIT_EVENT_READ:
        return on_read(unit, &event->target);
    case TS_UNIT_EVENT_SYNCED:
        return on_synced(unit, event->refs);
    case TS_UNIT_EVENT_SCANNED:
        return on_scanned(unit, event->has_faults);
    case TS_UNIT_EVENT_PART_DUE:
        return on_part_due(unit);
    case TS_UNIT_EVENT_PART_DURABLE:
        return on_part_durable(unit);
    case TS_UNIT_EVENT_CHECKPOINTED:
        return (struct ts_unit_wish){.kind = TS_WISH_SCAN, .continues = true};
    case TS_UNIT_EVENT_FLIPPED:
        return complete(unit);
    case TS_UNIT_EVENT_CONFLICT:
        return on_conflict(unit);
    case TS_UNIT_EVENT_UNKNOWN:
        return on_unknown(unit);
    case TS_UNIT_EVENT_LOOKED_UP:
        return on_looked_up(unit, event->found);
    case TS_UNIT_EVENT_COMPLETED:
        return stop(unit, TS_PHASE_OUTER_CHECKPOINTED, TS_UNIT_END_DONE);
    case TS_UNIT_EVENT_PARKED:
        return stop(unit, TS_PHASE_PERMANENT_FAILURE, TS_UNIT_END_PARKED);
    case TS_UNIT_EVENT_RELEASED:
        return stop(unit, TS_PHASE_LEASE_LOST, TS_UNIT_END_RELEASED);
    case TS_UNIT_EVENT_SLEPT:
        return unit->later;
    case TS_UNIT_EVENT_FAILED:
        return on_failed(unit, event);
    case TS_UNIT_EVENT_OWN_FAULT:
        return on_own_fault(unit);
    case TS_UNIT_EVENT_LEASE_LOST:
        return lose(unit);
    case TS_UNIT_EVENT_ASKED_TO_STOP:
        return on_asked_to_stop(unit);
    case TS_UNIT_EVENT_COUNT:
        break;
    }
    ts_unreachable("every event is handled");
}

struct ts_unit_wish ts_unit_step(struct ts_unit *unit, const struct ts_unit_event *event) {
    const uint32_t kind = UINT32_C(1) << event->kind;
    ts_assert(unit->is_begun ? (answers[unit->wish.kind] & kind) != 0 : kind == EVENT(CLAIMED));
    unit->is_begun = true;
    if (is_progress(event->kind))
        unit->tries = 0;
    unit->wish = next(unit, event);
    return unit->wish;
}

const char *ts_unit_phase_name(enum ts_unit_phase phase) {
#define NAME(suffix, name) name,
    static const char *const names[] = {TS_UNIT_PHASES(NAME)};
#undef NAME
    return names[phase];
}
