/*
 * Carries out one unit. Each wish of the core (runtime/core/unit_step.h) becomes calls to the scanner, the
 * stores and coordination, and the answers to these calls become the next event.
 *
 *     core ──wish──> perform ──event──> core
 *
 * The scanner reads refs and contents in one call, so `sync` and `scan` are one call here (runtime__scan,
 * unit_scan.c). The call answers `sync` when it has read the refs, and delivers parts while it runs.
 */
#include "unit.h"

#include "base/assert.h"
#include "base/blake3.h"
#include "base/endian.h"
#include "os/clock.h"
#include "os/failpoint.h"

#include <string.h>

#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_US UINT64_C(1000)

/* A sleeping job checks at this interval whether it must stop. */
enum { SLEEP_MS = 20 };

struct ts_unit_event runtime__failed(enum ts_durable_end end, const struct ts_durable_detail *detail) {
    if (end == TS_DURABLE_OWN_FAULT)
        return (struct ts_unit_event){.kind = TS_UNIT_EVENT_OWN_FAULT, .fault = detail->fault};
    return (struct ts_unit_event){.kind = TS_UNIT_EVENT_FAILED, .error = detail->error};
}

static struct ts_unit_event event_of(enum ts_unit_event_kind kind) {
    return (struct ts_unit_event){.kind = kind};
}

/* Also stores the reason of a failure, for the report about the end of the unit. */
void runtime__step(struct runtime__unit *unit, const struct ts_unit_event *event) {
    if (event->kind == TS_UNIT_EVENT_FAILED) {
        unit->reason = ts_unit_reason_label(event->error.reason);
        unit->text = ts_unit_reason_text(event->error.reason);
    }
    if (event->kind == TS_UNIT_EVENT_OWN_FAULT) {
        unit->reason = ts_fleet_worker_fault_label(event->fault);
        unit->text = ts_fleet_worker_fault_text(event->fault);
        unit->job->fault = event->fault;
        unit->is_sick = true;
    }
    if (event->kind == TS_UNIT_EVENT_LEASE_LOST) {
        const enum ts_unit_reason reason = (enum ts_unit_reason)atomic_load(&unit->job->loss);
        unit->reason = ts_unit_reason_label(reason);
        unit->text = ts_unit_reason_text(reason);
    }
    /* An earlier failure, which was tried again, is not why the unit ends. */
    if (event->kind == TS_UNIT_EVENT_ASKED_TO_STOP)
        unit->reason = unit->text = NULL;
    unit->is_held_up = event->kind == TS_UNIT_EVENT_FAILED
                           ? event->error.reason == TS_UNIT_RATE_LIMITED
                           : unit->is_held_up && event->kind == TS_UNIT_EVENT_SLEPT;
    if (unit->core.phase != TS_PHASE_PERMANENT_FAILURE)
        unit->phase = unit->core.phase;
    struct ts_unit_event timed = *event;
    const uint64_t now_ns = ts_clock_monotonic_ns();
    timed.took_ms = (now_ns - unit->wished_ns) / NS_PER_MS;
    unit->wish = ts_unit_step(&unit->core, &timed);
    unit->wished_ns = now_ns;
}

bool runtime__is_lost(const struct runtime__unit *unit) {
    return ts_coord_keeper_is_lost(unit->job->keeper);
}

struct ts_unit_event runtime__stopped(const struct runtime__unit *unit) {
    return event_of(runtime__is_lost(unit) ? TS_UNIT_EVENT_LEASE_LOST : TS_UNIT_EVENT_ASKED_TO_STOP);
}

/* If the keeper lost the lease, adds to the event LOST the stage of the scan at that moment, and how long
 * stopping took. */
static void add_stop(const struct runtime__job *job, struct ts_crew_event *event) {
    const uint64_t lost_ns = atomic_load(&job->lost_ns);
    if (event->kind != TS_CREW_EVENT_LOST || lost_ns == 0)
        return;
    event->stage = (enum ts_scan_stage)atomic_load(&job->lost_stage);
    event->stop_us = (ts_clock_monotonic_ns() - lost_ns) / NS_PER_US + 1;
    event->stop_cpu_us = (ts_clock_processor_ns() - atomic_load(&job->lost_cpu_ns)) / NS_PER_US;
}

static void report_unit(const struct runtime__unit *unit, enum ts_crew_event_kind kind) {
    const bool has_scan = unit->has_report && kind == TS_CREW_EVENT_DONE;
    const bool has_reason =
        kind == TS_CREW_EVENT_PARKED || kind == TS_CREW_EVENT_RELEASED || kind == TS_CREW_EVENT_LOST;
    struct ts_crew_event event = {.kind = kind,
                                  .job = unit->job->number,
                                  .run = unit->run,
                                  .has_target = true,
                                  .target = unit->target,
                                  .fence = unit->fence,
                                  .phase = has_reason ? ts_unit_phase_name(unit->phase) : NULL,
                                  .reason = has_reason ? unit->reason : NULL,
                                  .text = has_reason ? unit->text : NULL,
                                  .elapsed_ms = (ts_clock_monotonic_ns() - unit->begun_ns) / NS_PER_MS,
                                  .scan_ms = unit->scan_ns / NS_PER_MS,
                                  .objects = atomic_load(&unit->job->progress.objects),
                                  .bytes_read = atomic_load(&unit->job->progress.bytes),
                                  .bytes_looked_at = has_scan ? unit->report.targets[0].bytes_looked_at : 0,
                                  .findings = has_scan ? unit->report.finding_count : 0,
                                  .faults = has_scan ? unit->report.fault_total : 0};
    add_stop(unit->job, &event);
    runtime__report(unit->job->crew, &event);
}

/* ---- wishes ---- */

static struct ts_unit_event perform_read(struct runtime__unit *unit) {
    struct ts_durable_detail detail;
    const enum ts_durable_end end = ts_durable_read(unit->job->durable, &unit->read, &detail);
    if (end != TS_DURABLE_OK)
        return runtime__failed(end, &detail);
    unit->receipt = ts_durable_covered(unit->job->durable);
    unit->is_covered = unit->receipt != NULL;
    const struct ts_fleet_target *target = &unit->read.target;
    struct ts_unit_event event = {.kind = TS_UNIT_EVENT_READ, .target = {.exists = unit->read.has_target}};
    if (unit->read.has_target) {
        event.target.is_complete = !target->has_faults;
        event.target.has_rules_of_run =
            memcmp(&target->rules, &unit->job->crew->rules.rules, sizeof target->rules) == 0;
        event.target.run_number = target->run_number;
        memcpy(event.target.refs, target->refs, sizeof event.target.refs);
    }
    return event;
}

struct ts_unit_event runtime__checkpoint(struct runtime__unit *unit) {
    const struct ts_checkpoint_receipt *receipt;
    struct ts_durable_detail detail;
    const enum ts_durable_end end = ts_durable_checkpoint(unit->job->durable, unit->item, &receipt, &detail);
    (void)ts_failpoint(TS_FAILPOINT_UNIT_CHECKPOINTED);
    return end == TS_DURABLE_OK ? event_of(TS_UNIT_EVENT_CHECKPOINTED) : runtime__failed(end, &detail);
}

static struct ts_unit_event flip_event(const struct runtime__unit *unit, enum ts_durable_end end,
                                       const struct ts_durable_detail *detail) {
    switch (end) {
    case TS_DURABLE_STOPPED:
        return runtime__stopped(unit);
    case TS_DURABLE_OK:
        return event_of(TS_UNIT_EVENT_FLIPPED);
    case TS_DURABLE_CONFLICT:
        return event_of(TS_UNIT_EVENT_CONFLICT);
    case TS_DURABLE_UNKNOWN:
        return event_of(TS_UNIT_EVENT_UNKNOWN);
    case TS_DURABLE_FAILED:
    case TS_DURABLE_OWN_FAULT:
        break;
    }
    return runtime__failed(end, detail);
}

static struct ts_unit_event perform_flip(struct runtime__unit *unit) {
    struct ts_durable *durable = unit->job->durable;
    struct ts_durable_detail detail;
    enum ts_durable_end end = TS_DURABLE_OK;
    unit->is_new = unit->wish.is_new;
    if (unit->wish.is_new) {
        const struct ts_durable_scan scan = runtime__scan_result(unit);
        end = ts_durable_stage(durable, &scan, &detail);
        (void)ts_failpoint(TS_FAILPOINT_UNIT_AFTER_STAGE);
    }
    (void)ts_failpoint(TS_FAILPOINT_UNIT_FLIP_SENT);
    if (end == TS_DURABLE_OK)
        end = unit->wish.is_new ? ts_durable_flip(durable, &unit->receipt, &detail)
                                : ts_durable_nothing_new(durable, &unit->receipt, &detail);
    (void)ts_failpoint(TS_FAILPOINT_UNIT_FLIP_APPLIED);
    return flip_event(unit, end, &detail);
}

static struct ts_unit_event perform_look_up(struct runtime__unit *unit) {
    struct ts_durable_detail detail;
    struct ts_unit_event event = event_of(TS_UNIT_EVENT_LOOKED_UP);
    const enum ts_durable_end end =
        ts_durable_look_up(unit->job->durable, &event.found, &unit->receipt, &detail);
    return end == TS_DURABLE_OK ? event : runtime__failed(end, &detail);
}

static struct ts_unit_event perform_complete(struct runtime__unit *unit) {
    const struct ts_checkpoint_receipt *receipt;
    struct ts_durable_detail detail;
    ts_coord_keeper_pause(unit->job->keeper);
    const enum ts_durable_end end = ts_durable_complete(unit->job->durable, unit->receipt, &receipt, &detail);
    if (end == TS_DURABLE_OK)
        return event_of(TS_UNIT_EVENT_COMPLETED);
    ts_coord_keeper_resume(unit->job->keeper);
    return runtime__failed(end, &detail);
}

/* Returns the op id of an operation that ends the lease. A repeated operation has the same op id. */
static struct ts_op_id op_id_of(const struct runtime__job *job, const char *what) {
    const struct ts_lease *lease = ts_coord_session_lease(job->session);
    uint8_t numbers[24];
    uint8_t hash[TS_BLAKE3_OUT_LEN];
    struct ts_blake3 hasher;
    const struct ts_shard_key shard = ts_lease_shard(lease);
    ts_le64_store(shard.run.v, numbers);
    ts_le64_store(shard.shard.v, numbers + 8);
    ts_le64_store(ts_lease_fence(lease).v, numbers + 16);
    ts_blake3_init_derive_key(&hasher, TS_BYTES("turnstone 2026-11 end of a lease"));
    ts_blake3_update(&hasher, ts_bytes_of(numbers, sizeof numbers));
    ts_blake3_update(&hasher, ts_bytes_of_cstring(what));
    ts_blake3_output(&hasher, 0, hash, sizeof hash);
    return (struct ts_op_id){ts_le64_load(hash)};
}

/* Returns the event for an error of a park or release. If a store does not answer, the core repeats a park,
 * but not a release. Every other error means that the lease is lost. */
static struct ts_unit_event refused(enum ts_error_variant error) {
    return (struct ts_unit_event){.kind = TS_UNIT_EVENT_FAILED,
                                  .error = ts_unit_error_of(error == TS_VARIANT_BACKEND_ERROR
                                                                ? TS_UNIT_STORE_UNAVAILABLE
                                                                : ts_durable_reason_of_loss(error))};
}

/* Stores the reason, for people. The next operation does not depend on this note, so a failure is ignored. */
static void note(struct runtime__unit *unit, bool is_parked) {
    const struct ts_durable_decision decision = {
        .is_parked = is_parked, .once = unit->is_held_up, .reason = unit->reason};
    struct ts_durable_detail detail;
    if (unit->reason != NULL)
        (void)ts_durable_note(unit->job->durable, &decision, &detail);
}

static struct ts_unit_event perform_park(struct runtime__unit *unit) {
    struct ts_coord_session *session = unit->job->session;
    struct ts_coord_outcome outcome;
    struct ts_coord_detail detail = {0};
    note(unit, true);
    if (ts_coord_session_lease(session) == NULL)
        return refused(TS_VARIANT_STALE_FENCE);
    ts_coord_keeper_pause(unit->job->keeper);
    const enum ts_park_error error = ts_coord_session_park(
        session, op_id_of(unit->job, "park"), ts_unit_error_park_reason(unit->wish.error), &outcome, &detail);
    if (error == TS_PARK_OK)
        return event_of(TS_UNIT_EVENT_PARKED);
    ts_coord_keeper_resume(unit->job->keeper);
    return refused(ts_park_error_variant(error));
}

static struct ts_unit_event perform_release(struct runtime__unit *unit) {
    struct ts_coord_session *session = unit->job->session;
    struct ts_coord_outcome outcome;
    struct ts_coord_detail detail = {0};
    /* If nobody is to blame, the cause is not the target: a store did not answer, or the worker must stop.
     * Then no reason is stored, with one exception: a host that limits requests may hold up its targets for
     * hours, and people want to see these targets. Workers release such a target again and again; note()
     * stores this as one decision. */
    if (unit->wish.blame == TS_BLAME_SHARD || unit->is_held_up)
        note(unit, false);
    if (ts_coord_session_lease(session) == NULL)
        return refused(TS_VARIANT_STALE_FENCE);
    ts_coord_keeper_pause(unit->job->keeper);
    const enum ts_release_error error = ts_coord_session_release(session, op_id_of(unit->job, "release"),
                                                                 unit->wish.blame, &outcome, &detail);
    if (error == TS_RELEASE_OK)
        return event_of(TS_UNIT_EVENT_RELEASED);
    ts_coord_keeper_resume(unit->job->keeper);
    return refused(ts_release_error_variant(error));
}

struct ts_unit_event runtime__sleep(struct runtime__unit *unit) {
    const uint64_t end_ns = ts_clock_monotonic_ns() + unit->wish.wait_ms * NS_PER_MS;
    while (ts_clock_monotonic_ns() < end_ns && !atomic_load(&unit->job->progress.stop))
        runtime__wait_ms(unit->job->crew, SLEEP_MS);
    if (runtime__is_lost(unit))
        return event_of(TS_UNIT_EVENT_LEASE_LOST);
    return event_of(atomic_load(&unit->job->progress.stop) ? TS_UNIT_EVENT_ASKED_TO_STOP
                                                           : TS_UNIT_EVENT_SLEPT);
}

struct ts_unit_event runtime__part(struct runtime__unit *unit, const struct ts_durable_part *part) {
    struct ts_durable_detail detail;
    const enum ts_durable_end end = ts_durable_part(unit->job->durable, part, &unit->item, &detail);
    if (end != TS_DURABLE_OK)
        return runtime__failed(end, &detail);
    (void)ts_failpoint(TS_FAILPOINT_UNIT_AFTER_PART);
    report_unit(unit, TS_CREW_EVENT_PART);
    return event_of(TS_UNIT_EVENT_PART_DURABLE);
}

/* Makes durable all pages that the scan has delivered and that wait for the flip. Used when the worker has to
 * stop. */
static struct ts_unit_event perform_part(struct runtime__unit *unit) {
    const struct ts_durable_part part = {.known = {unit->known.items, unit->known.count},
                                         .hits = {unit->hits.items, unit->hits.count},
                                         .objects = atomic_load(&unit->job->progress.objects)};
    return unit->known.count + unit->hits.count > 0 ? runtime__part(unit, &part)
                                                    : event_of(TS_UNIT_EVENT_PART_DURABLE);
}

static void perform(struct runtime__unit *unit) {
    struct ts_unit_event event;
    switch (unit->wish.kind) {
    case TS_WISH_SYNC:
    case TS_WISH_SCAN:
        runtime__scan(unit);
        return;
    case TS_WISH_READ:
        event = perform_read(unit);
        break;
    case TS_WISH_PART:
        event = perform_part(unit);
        break;
    case TS_WISH_CHECKPOINT:
        event = runtime__checkpoint(unit);
        break;
    case TS_WISH_STAGE_AND_FLIP:
        event = perform_flip(unit);
        break;
    case TS_WISH_LOOK_UP:
        event = perform_look_up(unit);
        break;
    case TS_WISH_COMPLETE:
        event = perform_complete(unit);
        break;
    case TS_WISH_PARK:
        event = perform_park(unit);
        break;
    case TS_WISH_RELEASE:
        event = perform_release(unit);
        break;
    case TS_WISH_SLEEP:
        event = runtime__sleep(unit);
        break;
    case TS_WISH_STOP:
    case TS_WISH_COUNT:
        ts_unreachable("the unit has ended");
    }
    if (event.kind != TS_UNIT_EVENT_COMPLETED && event.kind != TS_UNIT_EVENT_PARKED &&
        event.kind != TS_UNIT_EVENT_RELEASED && runtime__is_lost(unit))
        event = event_of(TS_UNIT_EVENT_LEASE_LOST);
    runtime__step(unit, &event);
}

/* ---- the unit ---- */

static enum ts_crew_event_kind kind_of(const struct runtime__unit *unit) {
    switch (unit->wish.end) {
    case TS_UNIT_END_DONE:
        return unit->is_covered ? TS_CREW_EVENT_COVERED
               : unit->is_new   ? TS_CREW_EVENT_DONE
                                : TS_CREW_EVENT_NOTHING_NEW;
    case TS_UNIT_END_PARKED:
        return TS_CREW_EVENT_PARKED;
    case TS_UNIT_END_RELEASED:
        return TS_CREW_EVENT_RELEASED;
    case TS_UNIT_END_LOST:
        break;
    }
    return TS_CREW_EVENT_LOST;
}

static void count(struct runtime__unit *unit) {
    struct ts_crew_progress *progress = unit->job->crew->options->progress;
    atomic_uint_fast64_t *const counters[] = {[TS_UNIT_END_DONE] = &progress->done,
                                              [TS_UNIT_END_PARKED] = &progress->parked,
                                              [TS_UNIT_END_RELEASED] = &progress->released,
                                              [TS_UNIT_END_LOST] = &progress->lost};
    atomic_fetch_add(counters[unit->wish.end], 1);
    if (unit->wish.end == TS_UNIT_END_DONE && unit->is_new)
        atomic_fetch_add(&progress->findings, unit->report.finding_count);
    report_unit(unit, kind_of(unit));
}

static void unit_init(struct runtime__unit *unit, struct runtime__job *job,
                      const struct ts_acquire_result_view *claimed) {
    const struct ts_run_guard *guard = ts_coord_session_guard(job->session);
    const struct ts_shard_key shard = ts_lease_shard(&claimed->lease);
    *unit = (struct runtime__unit){.job = job,
                                   .run = shard.run,
                                   .fence = ts_lease_fence(&claimed->lease),
                                   .begun_ns = ts_clock_monotonic_ns()};
    (void)ts_coord_target_of_range(claimed->snapshot.spec.range, unit->target.bytes);
    ts_unit_init(&unit->core, guard->number, ts_unit_limits_default());
    ts_durable_begin(job->durable,
                     &(struct ts_durable_run){.number = guard->number, .rules = job->crew->rules.rules});
}

/* Clears the progress field by field, because other threads use it at the same time. If the worker is asked
 * to stop, the worker's own thread sets the stop flag again. */
static void progress_clear(struct ts_scan_progress *progress) {
    atomic_store(&progress->objects, 0);
    atomic_store(&progress->objects_total, 0);
    atomic_store(&progress->bytes, 0);
    atomic_store(&progress->findings, 0);
    atomic_store(&progress->stage, TS_SCAN_STAGE_START);
    atomic_store(&progress->stop, false);
}

enum runtime__unit_result runtime__unit_run(struct runtime__job *job,
                                            const struct ts_acquire_result_view *claimed) {
    struct runtime__unit unit;
    progress_clear(&job->progress);
    atomic_store(&job->lost_ns, 0);
    ts_coord_keeper_watch(job->keeper, job->session);
    unit_init(&unit, job, claimed);
    report_unit(&unit, TS_CREW_EVENT_CLAIMED);
    (void)ts_failpoint(TS_FAILPOINT_UNIT_CLAIMED);
    const struct ts_unit_event begin = event_of(TS_UNIT_EVENT_CLAIMED);
    runtime__step(&unit, &begin);
    while (unit.wish.kind != TS_WISH_STOP)
        perform(&unit);
    runtime__mirror_release(&unit);
    ts_coord_keeper_rest(job->keeper);
    count(&unit);
    if (ts_coord_session_lease(job->session) != NULL)
        ts_coord_session_drop(job->session);
    struct ts_durable_swept swept;
    struct ts_infra_error error;
    const bool is_tidied = unit.wish.end == TS_UNIT_END_DONE && ts_durable_tidy(job->durable, &swept, &error);
    if (!is_tidied || swept.kept > 0)
        runtime__sweep_later(job->crew, is_tidied ? swept.wait_ms : TS_DURABLE_FOREIGN_MS);
    runtime__scan_release(&unit);
    runtime__unit_pages_release(&unit);
    return unit.is_sick                            ? RUNTIME__UNIT_SICK
           : unit.wish.end == TS_UNIT_END_RELEASED ? RUNTIME__UNIT_RELEASED
                                                   : RUNTIME__UNIT_ENDED;
}
