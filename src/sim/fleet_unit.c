#include "fleet_unit.h"

#include "base/endian.h"
#include "base/hex.h"
#include "runtime/core/plant.h"

#include <stdio.h>
#include <string.h>

enum { OID_LEN = 20 };

static struct sim__world *world_of(const struct sim__fleet_unit *unit) {
    return unit->worker->actor.world;
}

static struct sim__fleet_repo *repo_of(const struct sim__fleet_unit *unit) {
    return &world_of(unit)->fleet->repos[unit->target];
}

static struct sim__fleet_mirror *mirror_of(const struct sim__fleet_unit *unit) {
    return &world_of(unit)->fleet->workers[unit->worker->number].mirrors[unit->target];
}

static sim__fleet_objects reach_of(const struct sim__fleet_unit *unit) {
    return repo_of(unit)->states[unit->state];
}

/* ---- events ---- */

static struct ts_unit_event event(enum ts_unit_event_kind kind) {
    return (struct ts_unit_event){.kind = kind};
}

static struct ts_unit_event failed(enum ts_unit_reason reason) {
    return (struct ts_unit_event){.kind = TS_UNIT_EVENT_FAILED, .error = ts_unit_error_of(reason)};
}

/* Returns the event for a durable call with this end; `done` if the call succeeded. */
static struct ts_unit_event ended(enum ts_durable_end end, const struct ts_durable_detail *detail,
                                  enum ts_unit_event_kind done) {
    switch (end) {
    case TS_DURABLE_OK:
        return event(done);
    case TS_DURABLE_CONFLICT:
        return event(TS_UNIT_EVENT_CONFLICT);
    case TS_DURABLE_UNKNOWN:
        return event(TS_UNIT_EVENT_UNKNOWN);
    case TS_DURABLE_OWN_FAULT:
        return (struct ts_unit_event){.kind = TS_UNIT_EVENT_OWN_FAULT, .fault = detail->fault};
    case TS_DURABLE_STOPPED:
        ts_unreachable("nothing asks it to stop");
    case TS_DURABLE_FAILED:
        break;
    }
    return (struct ts_unit_event){.kind = TS_UNIT_EVENT_FAILED, .error = detail->error};
}

/* Returns the event for an operation of coordination; `done` if it succeeded. */
static struct ts_unit_event answered(enum ts_error_variant variant, const struct ts_coord_detail *detail,
                                     enum ts_unit_event_kind done) {
    if (variant == TS_VARIANT_NONE)
        return event(done);
    (void)detail;
    return failed(variant == TS_VARIANT_BACKEND_ERROR || variant == TS_VARIANT_RESOURCE_EXHAUSTED
                      ? TS_UNIT_STORE_UNAVAILABLE
                      : TS_UNIT_FENCE_STALE);
}

/* ---- the lease ---- */

/* Lets time pass, and simulates the keeper: the keeper renews the lease, and notices the lease's end. Like
 * the keeper of a paused process, the simulated keeper may be late. Returns false when the worker knows that
 * the lease is lost. */
static bool pass_time(struct sim__fleet_unit *unit, uint64_t ms) {
    struct sim__world *world = world_of(unit);
    struct ts_coord_session *session = unit->worker->session;
    sim__sleep(&unit->worker->actor, sim__below(world, ms));
    if (ts_coord_session_lease(session) == NULL)
        return false;
    const uint64_t left_ms = ts_coord_session_left_ms(session);
    const uint64_t lease_ms = world->fleet->runs[unit->run].config.lease_duration_ms;
    if (left_ms == 0)
        return !sim__chance(world, 60);
    if (left_ms > lease_ms / 2 || sim__chance(world, 10))
        return true;
    struct ts_renew_result result;
    struct ts_coord_detail detail;
    const enum ts_renew_error error = ts_coord_session_renew(session, &result, &detail);
    return error == TS_RENEW_OK || error == TS_RENEW_BACKEND_ERROR;
}

static bool is_asked_to_stop(struct sim__fleet_unit *unit) {
    struct sim__world *world = world_of(unit);
    return !world->calm && sim__chance(world, world->fleet->stop_percent);
}

/* ---- read, sync, scan ---- */

static struct ts_unit_event read_target(struct sim__fleet_unit *unit) {
    struct ts_durable_unit found;
    struct ts_durable_detail detail = {0};
    const enum ts_durable_end end = ts_durable_read(unit->durable, &found, &detail);
    if (end != TS_DURABLE_OK)
        return ended(end, &detail, TS_UNIT_EVENT_READ);
    struct ts_unit_event read = event(TS_UNIT_EVENT_READ);
    unit->receipt = ts_durable_covered(unit->durable);
    if (found.has_target) {
        read.target = (struct ts_unit_target){
            .exists = true,
            .is_complete = !found.target.has_faults,
            .has_rules_of_run = found.target.rules.rules[0] == world_of(unit)->fleet->runs[unit->run].rules,
            .run_number = found.target.run_number};
        memcpy(read.target.refs, found.target.refs, sizeof read.target.refs);
    }
    return read;
}

/* Syncs the mirror. A new clone has everything that the origin has. An old mirror may have been damaged
 * meanwhile. */
static struct ts_unit_event sync(struct sim__fleet_unit *unit, bool repair) {
    struct sim__world *world = world_of(unit);
    struct sim__fleet_repo *repo = repo_of(unit);
    struct sim__fleet_mirror *mirror = mirror_of(unit);
    if (!pass_time(unit, 300))
        return event(TS_UNIT_EVENT_LEASE_LOST);
    if (repo->is_gone)
        return failed(TS_UNIT_NOT_FOUND);
    if (!world->calm && sim__chance(world, 5))
        return failed(TS_UNIT_TIMED_OUT);
    if (repair || !mirror->exists)
        mirror->missing = repo->lost;
    else if (!world->calm && sim__chance(world, world->fleet->damage_percent))
        mirror->missing |= sim__fleet_bit((uint32_t)sim__below(world, FLEET_OBJECTS));
    mirror->exists = true;
    unit->state = repo->state_count - 1;
    sim__event(world, "syncs", unit->worker->number, unit->target, unit->state, repair);
    struct ts_unit_event synced = event(TS_UNIT_EVENT_SYNCED);
    sim__fleet_refs_digest(unit->target, unit->state, synced.refs);
    return synced;
}

/* Adds the objects of a page of known objects or of hits. A page is a list of object numbers. */
static bool add_page(void *context, enum ts_durable_recall what, struct ts_bytes bytes) {
    (void)what; /* there is only one judging */
    sim__fleet_objects *objects = context;
    for (size_t i = 0; i < bytes.len; i++)
        *objects |= sim__fleet_bit(bytes.data[i]);
    return true;
}

static bool add_tips(void *context, enum ts_durable_recall what, struct ts_bytes bytes) {
    uint64_t *state = context;
    if (what == TS_DURABLE_TIPS && bytes.len == OID_LEN)
        *state = ts_be64_load(bytes.data);
    if (what == TS_DURABLE_NO_TIPS)
        *state = UINT64_MAX;
    return true;
}

/* Reads the results of earlier scans: known objects, hits, and the objects that the tips of the last complete
 * scan reach. */
static bool recall(struct sim__fleet_unit *unit, struct ts_unit_event *ret_event) {
    struct ts_durable_detail detail = {0};
    struct sim__world *world = world_of(unit);
    uint64_t tips = UINT64_MAX;
    unit->known = unit->hits = unit->missed = unit->durable_objects = 0;
    enum ts_durable_end end =
        ts_durable_recall(unit->durable, TS_DURABLE_KNOWN, add_page, &unit->known, &detail);
    if (end == TS_DURABLE_OK)
        end = ts_durable_recall(unit->durable, TS_DURABLE_HITS, add_page, &unit->hits, &detail);
    const bool has_tips = sim__chance(world, 70); /* false: the mirror no longer has the tips */
    if (end == TS_DURABLE_OK && has_tips)
        end = ts_durable_recall(unit->durable, TS_DURABLE_TIPS, add_tips, &tips, &detail);
    if (end != TS_DURABLE_OK) {
        *ret_event = ended(end, &detail, TS_UNIT_EVENT_SCANNED);
        return false;
    }
    sim__event(world, "recalls", unit->target, unit->known, unit->hits, tips);
    if (tips < repo_of(unit)->state_count)
        unit->known |= repo_of(unit)->states[tips];
    unit->durable_objects = unit->known | unit->hits;
    return true;
}

static void look_at(struct sim__fleet_unit *unit, uint32_t object) {
    if ((mirror_of(unit)->missing & sim__fleet_bit(object)) != 0)
        unit->missed |= sim__fleet_bit(object);
    else if (sim__fleet_finds(world_of(unit)->fleet->runs[unit->run].rules, object))
        unit->hits |= sim__fleet_bit(object);
    else
        unit->known |= sim__fleet_bit(object);
}

static struct ts_unit_event scan(struct sim__fleet_unit *unit, bool continues) {
    struct sim__world *world = world_of(unit);
    struct ts_unit_event event_of_recall;
    if (!continues && !recall(unit, &event_of_recall))
        return event_of_recall;
    for (uint32_t object = 0; object < FLEET_OBJECTS; object++) {
        const sim__fleet_objects done = unit->known | unit->hits | unit->missed;
        if ((reach_of(unit) & ~done & sim__fleet_bit(object)) == 0)
            continue;
        if (sim__chance(world, 40) && !pass_time(unit, 150))
            return event(TS_UNIT_EVENT_LEASE_LOST);
        if (is_asked_to_stop(unit))
            return event(TS_UNIT_EVENT_ASKED_TO_STOP);
        look_at(unit, object);
        if (sim__chance(world, 15) && ((unit->known | unit->hits) & ~unit->durable_objects) != 0)
            return event(TS_UNIT_EVENT_PART_DUE);
    }
    struct ts_unit_event scanned = event(TS_UNIT_EVENT_SCANNED);
    scanned.has_faults = unit->missed != 0;
    return scanned;
}

/* ---- durable ---- */

struct page {
    uint8_t objects[FLEET_OBJECTS];
    struct ts_bytes bytes;
};

static struct ts_durable_pages page_of(struct page *page, sim__fleet_objects objects) {
    size_t len = 0;
    for (uint32_t i = 0; i < FLEET_OBJECTS; i++) {
        if ((objects & sim__fleet_bit(i)) != 0)
            page->objects[len++] = (uint8_t)i;
    }
    page->bytes = ts_bytes_of(page->objects, len);
    return (struct ts_durable_pages){&page->bytes, len > 0 ? 1 : 0};
}

static struct ts_unit_event part(struct sim__fleet_unit *unit) {
    struct ts_durable_detail detail = {0};
    struct page known, hits;
    const sim__fleet_objects all = unit->known | unit->hits;
    /* Only objects without hits are listed as known, so no finding is lost if only one half of a part is
     * stored. */
    const sim__fleet_objects listed = runtime__is_planted(TS_FLEET_PLANT_SPLIT) ? all : unit->known;
    const struct ts_durable_part wanted = {.known = page_of(&known, listed & ~unit->durable_objects),
                                           .hits = page_of(&hits, unit->hits & ~unit->durable_objects),
                                           .objects = (uint64_t)__builtin_popcountll(all)};
    const enum ts_durable_end end = ts_durable_part(unit->durable, &wanted, &unit->item, &detail);
    if (end == TS_DURABLE_OK)
        unit->durable_objects |= all;
    return ended(end, &detail, TS_UNIT_EVENT_PART_DURABLE);
}

static const struct ts_rule rule = {.id = "sim",
                                    .name = "Simulated",
                                    .description = "",
                                    .revoke = "",
                                    .url = "",
                                    .pattern = "",
                                    .written = "",
                                    .severity = TS_SEVERITY_HIGH,
                                    .confidence = TS_CONFIDENCE_HIGH};

/* The report of a scan, and the memory that it points to. */
struct paper {
    struct ts_report report;
    struct ts_report_target target;
    struct ts_report_finding findings[FLEET_FINDINGS];
    struct ts_report_occurrence occurrences[FLEET_OBJECTS];
    char objects[FLEET_OBJECTS][2 * OID_LEN + 1];
};

static void add_finding(struct paper *paper, uint32_t finding, sim__fleet_objects objects, size_t *at) {
    struct ts_report_finding *entry = &paper->findings[paper->report.finding_count];
    const struct ts_fleet_finding id = sim__fleet_finding_id(finding);
    *entry = (struct ts_report_finding){.rule = &rule,
                                        .confidence = TS_CONFIDENCE_HIGH,
                                        .is_new = true,
                                        .redacted = "****",
                                        .occurrences = &paper->occurrences[*at]};
    (void)ts_hex_encode(ts_bytes_of(id.bytes, sizeof id.bytes), entry->id.text);
    for (uint32_t i = 0; i < FLEET_OBJECTS; i++) {
        if ((objects & sim__fleet_bit(i)) == 0 || sim__fleet_finding_of(i) != finding)
            continue;
        uint8_t oid[OID_LEN] = {0};
        oid[OID_LEN - 1] = (uint8_t)i;
        (void)ts_hex_encode(ts_bytes_of(oid, sizeof oid), paper->objects[i]);
        paper->occurrences[(*at)++] = (struct ts_report_occurrence){.commit = TS_REPORT_NONE,
                                                                    .place = TS_PLACE_FILE,
                                                                    .object = paper->objects[i],
                                                                    .path = TS_BYTES("file"),
                                                                    .line = 1,
                                                                    .column = 1,
                                                                    .end_line = 1,
                                                                    .end_column = 2};
        entry->occurrence_count = ++entry->listed_count;
    }
    if (entry->listed_count > 0)
        paper->report.finding_count++;
}

static void write_report(struct paper *paper, sim__fleet_objects objects) {
    *paper = (struct paper){0};
    paper->target = (struct ts_report_target){.name = TS_BYTES("sim"), .outcome = TS_REPORT_TARGET_SCANNED};
    paper->report = (struct ts_report){
        .targets = &paper->target, .target_count = 1, .findings = paper->findings, .rule_count = 1};
    size_t at = 0;
    for (uint32_t finding = 0; finding < FLEET_FINDINGS; finding++)
        add_finding(paper, finding, objects, &at);
}

static struct ts_unit_event stage_and_flip(struct sim__fleet_unit *unit, const struct ts_unit_wish *wish) {
    struct ts_durable_detail detail = {0};
    unit->receipt = NULL;
    if (!wish->is_new)
        return ended(ts_durable_nothing_new(unit->durable, &unit->receipt, &detail), &detail,
                     TS_UNIT_EVENT_FLIPPED);
    struct paper paper;
    struct page hits;
    uint8_t tips[OID_LEN] = {0};
    ts_be64_store(unit->state, tips);
    write_report(&paper, unit->hits & reach_of(unit));
    struct ts_durable_scan result = {.report = &paper.report,
                                     .tips = ts_bytes_of(tips, sizeof tips),
                                     .hits = page_of(&hits, unit->hits & ~unit->durable_objects),
                                     .objects = (uint64_t)__builtin_popcountll(reach_of(unit)),
                                     .has_hits = unit->hits != 0,
                                     .with_faults = wish->with_faults,
                                     .n = wish->n};
    sim__fleet_refs_digest(unit->target, unit->state, result.refs);
    enum ts_durable_end end = ts_durable_stage(unit->durable, &result, &detail);
    if (end == TS_DURABLE_OK)
        end = ts_durable_flip(unit->durable, &unit->receipt, &detail);
    return ended(end, &detail, TS_UNIT_EVENT_FLIPPED);
}

static struct ts_unit_event look_up(struct sim__fleet_unit *unit) {
    struct ts_durable_detail detail = {0};
    struct ts_unit_event looked_up = event(TS_UNIT_EVENT_LOOKED_UP);
    const enum ts_durable_end end =
        ts_durable_look_up(unit->durable, &looked_up.found, &unit->receipt, &detail);
    return end == TS_DURABLE_OK ? looked_up : ended(end, &detail, TS_UNIT_EVENT_LOOKED_UP);
}

/* A planted mistake: a checkpoint that checks neither the lease nor the cursor of the shard. The checkpoint
 * may arrive late. */
static void move_cursor_freely(struct sim__fleet_unit *unit) {
    struct sim__world *world = world_of(unit);
    const struct sim__fleet_shard *shard = &world->fleet->shards[unit->run][unit->target];
    const struct ts_coord_target_keys keys = ts_coord_target_keys_of(repo_of(unit)->id.bytes);
    uint8_t key[19] = {0, 'c', 's'}, value[TS_RECORD_MAX];
    struct ts_shard_record record;
    struct ts_rows rows = {0};
    size_t len = 0;
    sim__sleep(&unit->worker->actor, sim__below(world, 2 * world->lease_ms));
    ts_be64_store(world->fleet->runs[unit->run].id.v, key + 3);
    ts_be64_store(shard->id, key + 11);
    const struct ts_bytes name = ts_bytes_of(key, sizeof key);
    struct ts_call read = {.kind = TS_CALL_READ, .keys = &name, .key_count = 1, .rows = &rows};
    sim__direct(world, shard->place, &read);
    if (read.error.result == TS_STORE_OK && rows.count == 1 &&
        ts_shard_record_decode(rows.rows[0].value, &record) == TS_RECORD_OK) {
        record.cursor = (struct ts_cursor){.has_key = true, .last_key = ts_coord_target_key_begun(&keys)};
        if (ts_shard_record_encode(&record, value, &len) == TS_RECORD_OK) {
            const struct ts_op op = {.kind = TS_OP_PUT, .key = name, .value = ts_bytes_of(value, len)};
            struct ts_call write = {.kind = TS_CALL_APPLY, .batch = {&op, 1}};
            sim__direct(world, shard->place, &write);
            world->kind->check(world, shard->place);
        }
    }
    ts_rows_release(&rows);
}

static struct ts_unit_event checkpoint(struct sim__fleet_unit *unit) {
    struct ts_durable_detail detail = {0};
    const struct ts_checkpoint_receipt *receipt;
    if (runtime__is_planted(TS_FLEET_PLANT_FREECURSOR)) {
        move_cursor_freely(unit);
        return event(TS_UNIT_EVENT_CHECKPOINTED);
    }
    return ended(ts_durable_checkpoint(unit->durable, unit->item, &receipt, &detail), &detail,
                 TS_UNIT_EVENT_CHECKPOINTED);
}

static struct ts_unit_event complete(struct sim__fleet_unit *unit) {
    struct ts_durable_detail detail = {0};
    const struct ts_checkpoint_receipt *receipt;
    return ended(ts_durable_complete(unit->durable, unit->receipt, &receipt, &detail), &detail,
                 TS_UNIT_EVENT_COMPLETED);
}

/* ---- the end of the lease ---- */

static struct ts_unit_event park(struct sim__fleet_unit *unit, struct ts_unit_error error) {
    struct ts_coord_session *session = unit->worker->session;
    struct ts_coord_outcome outcome;
    struct ts_coord_detail detail = {0};
    if (ts_coord_session_lease(session) == NULL)
        return event(TS_UNIT_EVENT_LEASE_LOST);
    const enum ts_park_error parked =
        ts_coord_session_park(session, unit->park_id, ts_unit_error_park_reason(error), &outcome, &detail);
    return answered(ts_park_error_variant(parked), &detail, TS_UNIT_EVENT_PARKED);
}

static struct ts_unit_event release(struct sim__fleet_unit *unit, enum ts_blame blame) {
    struct ts_coord_session *session = unit->worker->session;
    struct ts_coord_outcome outcome;
    struct ts_coord_detail detail = {0};
    if (ts_coord_session_lease(session) == NULL)
        return event(TS_UNIT_EVENT_LEASE_LOST);
    const enum ts_release_error released =
        ts_coord_session_release(session, unit->release_id, blame, &outcome, &detail);
    return answered(ts_release_error_variant(released), &detail, TS_UNIT_EVENT_RELEASED);
}

static struct ts_unit_event sleep_for(struct sim__fleet_unit *unit, uint64_t ms) {
    if (is_asked_to_stop(unit))
        return event(TS_UNIT_EVENT_ASKED_TO_STOP);
    return event(pass_time(unit, ms + 1) ? TS_UNIT_EVENT_SLEPT : TS_UNIT_EVENT_LEASE_LOST);
}

/* ---- wishes ---- */

static struct ts_unit_event carry_out(struct sim__fleet_unit *unit, const struct ts_unit_wish *wish) {
    switch (wish->kind) {
    case TS_WISH_READ:
        return read_target(unit);
    case TS_WISH_SYNC:
        return sync(unit, wish->repair);
    case TS_WISH_SCAN:
        return scan(unit, wish->continues);
    case TS_WISH_PART:
        return part(unit);
    case TS_WISH_CHECKPOINT:
        return checkpoint(unit);
    case TS_WISH_STAGE_AND_FLIP:
        return stage_and_flip(unit, wish);
    case TS_WISH_LOOK_UP:
        return look_up(unit);
    case TS_WISH_COMPLETE:
        return complete(unit);
    case TS_WISH_PARK:
        return park(unit, wish->error);
    case TS_WISH_RELEASE:
        return release(unit, wish->blame);
    case TS_WISH_SLEEP:
        return sleep_for(unit, wish->wait_ms);
    case TS_WISH_STOP:
    case TS_WISH_COUNT:
        break;
    }
    return event(TS_UNIT_EVENT_LEASE_LOST);
}

void sim__fleet_unit_run(struct sim__fleet_unit *unit) {
    struct sim__world *world = world_of(unit);
    struct ts_unit_event next = event(TS_UNIT_EVENT_CLAIMED);
    unit->park_id.v = ++world->op_ids;
    unit->release_id.v = ++world->op_ids;
    for (;;) {
        const struct ts_unit_wish wish = ts_unit_step(&unit->unit, &next);
        if (wish.kind == TS_WISH_STOP || unit->worker->actor.dead || world->over)
            return;
        world->result->counts.wishes[wish.kind]++;
        sim__event(world, "wishes", unit->worker->number, unit->target, (uint64_t)wish.kind,
                   (uint64_t)unit->unit.phase);
        next = carry_out(unit, &wish);
        world->result->counts.unit_events[next.kind]++;
    }
}
