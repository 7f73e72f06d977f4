/*
 * Reads one store after a call that may have changed it: runs, shards, targets, and every row about a target.
 * A row is new if its version is higher than all earlier versions of the store.
 */
#include "fleet.h"

#include "base/endian.h"
#include "coord/core/record.h"
#include "os/grow.h"
#include "runtime/core/fleet_change.h"
#include "runtime/core/fleet_notice.h"
#include "runtime/core/plant.h"

#include <string.h>

enum { HEAD = 3 };

struct look {
    struct sim__world *world;
    struct sim__fleet *fleet;
    struct sim__fleet_place *place;
    uint64_t now_ms;
    uint64_t before; /* the highest version at the last check; rows with a higher version are new */
    bool restarted;
};

static uint32_t target_of(const struct sim__fleet *fleet, const uint8_t *id) {
    for (uint32_t i = 0; i < fleet->repo_count; i++) {
        if (memcmp(fleet->repos[i].id.bytes, id, TS_TARGET_ID_LEN) == 0)
            return i;
    }
    return FLEET_TARGETS_MAX;
}

static uint32_t run_of(const struct sim__fleet *fleet, uint64_t id) {
    for (uint32_t i = 0; i < FLEET_RUNS; i++) {
        if (fleet->runs[i].id.v == id)
            return i;
    }
    return FLEET_RUNS;
}

static bool read_rows(struct look *look, uint32_t place, uint8_t letter) {
    const uint8_t from[] = {0, letter};
    const uint8_t to[] = {0, (uint8_t)(letter + 1)};
    struct ts_call call = {.kind = TS_CALL_SCAN,
                           .from = {.data = from, .len = sizeof from},
                           .to = {.data = to, .len = sizeof to},
                           .limit = FLEET_ROWS_MAX,
                           .rows = &look->fleet->raw};
    sim__direct(look->world, place, &call);
    if (call.error.result != TS_STORE_OK)
        sim__broken(look->world, "store", "store %u cannot be read", (unsigned)place);
    return call.error.result == TS_STORE_OK;
}

/* ---- runs and shards ---- */

static void look_at_run(struct look *look, const struct ts_row *row) {
    struct ts_run_record record;
    if (ts_run_record_decode(row->value, &record) != TS_RECORD_OK) {
        sim__broken(look->world, "record", "a run's record cannot be read");
        return;
    }
    const uint32_t index = run_of(look->fleet, record.run.v);
    if (index == FLEET_RUNS)
        return;
    struct sim__fleet_run *run = &look->fleet->runs[index];
    if (run->status != record.status)
        sim__event(look->world, "run", index, (uint64_t)record.status, record.number);
    run->number = record.number;
    run->status = record.status;
}

/* Checks that the owner of a shard was allowed to change its record, and that the change fits the target. */
static void check_shard(struct look *look, uint32_t run, uint32_t target,
                        const struct sim__fleet_shard *before, const struct sim__fleet_shard *now) {
    const bool moved = now->cursor != before->cursor || now->status != before->status;
    const bool is_own = now->fence == before->fence;
    if (now->fence < before->fence)
        sim__broken(look->world, "stale owner", "the fence of target %u went back", (unsigned)target);
    if (now->cursor < before->cursor)
        sim__broken(look->world, "cursor", "the cursor of target %u went back", (unsigned)target);
    if (moved && is_own && before->version != 0 &&
        (before->deadline_ms == 0 || before->deadline_ms <= look->now_ms))
        sim__broken(look->world, "stale owner", "the shard of target %u moved after the end of its lease",
                    (unsigned)target);
    const bool is_past = now->status == TS_SHARD_DONE || now->cursor > TS_TARGET_ID_LEN;
    const struct sim__fleet_target *of = &look->fleet->targets[target];
    if (is_past && (of->version == 0 || of->record.run_number < look->fleet->runs[run].number))
        sim__broken(look->world, "frontier", "run %u moved past target %u, whose result is not durable",
                    (unsigned)run, (unsigned)target);
    if (now->status == TS_SHARD_PARKED &&
        !(look->fleet->repos[target].is_gone && now->reason == TS_PARK_NOT_FOUND))
        sim__broken(look->world, "parked", "target %u is parked without its reason", (unsigned)target);
}

static void look_at_shard(struct look *look, const struct ts_row *row, uint32_t place) {
    struct ts_shard_record record;
    if (ts_shard_record_decode(row->value, &record) != TS_RECORD_OK ||
        record.spec.range.start.len != TS_TARGET_ID_LEN) {
        sim__broken(look->world, "record", "a shard's record cannot be read");
        return;
    }
    const uint32_t run = run_of(look->fleet, record.key.run.v);
    const uint32_t target = target_of(look->fleet, record.spec.range.start.data);
    if (run == FLEET_RUNS || target == FLEET_TARGETS_MAX) {
        sim__broken(look->world, "record", "a shard that nobody made");
        return;
    }
    struct sim__fleet_shard *shard = &look->fleet->shards[run][target];
    if (shard->version == row->version)
        return;
    const struct sim__fleet_shard now = {.version = row->version,
                                         .place = place,
                                         .id = record.key.shard.v,
                                         .status = record.status,
                                         .reason = record.park_reason,
                                         .fence = record.fence.v,
                                         .deadline_ms = record.has_holder ? record.holder.deadline.ms : 0,
                                         .cursor = record.cursor.has_key ? record.cursor.last_key.len : 0};
    if (!look->restarted)
        check_shard(look, run, target, shard, &now);
    *shard = now;
}

/* ---- targets ---- */

/* Returns the shard of this target in the run with this number, or NULL if there is no such shard. */
static const struct sim__fleet_shard *shard_of(const struct look *look, uint32_t target, uint64_t number) {
    for (uint32_t run = 0; run < FLEET_RUNS; run++) {
        if (look->fleet->runs[run].number == number && number != 0)
            return &look->fleet->shards[run][target];
    }
    return NULL;
}

static bool is_held(const struct look *look, const struct sim__fleet_shard *shard) {
    return shard != NULL && shard->version != 0 && shard->status == TS_SHARD_ACTIVE &&
           shard->deadline_ms > look->now_ms;
}

/* Returns whether a planted mistake makes the attempts in keys useless for finding the writer's lease. Then
 * only the checks of visible findings can notice the mistake. */
static bool is_writer_unknown(void) {
    return runtime__is_planted(TS_FLEET_PLANT_SHAREDSTAGE) || runtime__is_planted(TS_FLEET_PLANT_APPEND);
}

static void check_flip(struct look *look, uint32_t target, const struct ts_fleet_target *before,
                       const struct ts_fleet_target *now) {
    const struct sim__fleet_shard *shard = shard_of(look, target, now->run_number);
    if (now->run_number < before->run_number)
        sim__broken(look->world, "run number", "run %llu replaced the result of run %llu of target %u",
                    (unsigned long long)now->run_number, (unsigned long long)before->run_number,
                    (unsigned)target);
    if (ts_be64_load(now->refs + 8) < ts_be64_load(before->refs + 8))
        sim__broken(look->world, "watermark", "the refs of target %u went back", (unsigned)target);
    if (!is_held(look, shard))
        sim__broken(look->world, "stale owner", "target %u was flipped without a valid lease",
                    (unsigned)target);
    else if (!is_writer_unknown() && !ts_attempt_equal(&now->attempt, &before->attempt) &&
             (now->attempt.run != now->run_number || now->attempt.shard != shard->id ||
              now->attempt.fence != shard->fence))
        sim__broken(look->world, "stale owner", "target %u was flipped to an attempt of another lease",
                    (unsigned)target);
}

static void look_at_target(struct look *look, const struct ts_row *row) {
    struct ts_target_id id;
    struct ts_fleet_target record;
    const uint32_t target =
        ts_fleet_key_is_target(row->key, &id) ? target_of(look->fleet, id.bytes) : FLEET_TARGETS_MAX;
    if (target == FLEET_TARGETS_MAX || ts_fleet_target_decode(row->value, &record) != TS_FLEET_OK) {
        sim__broken(look->world, "record", "the record of a target cannot be read");
        return;
    }
    struct sim__fleet_target *of = &look->fleet->targets[target];
    if (of->version == row->version)
        return;
    sim__event(look->world, "flipped", target, record.run_number, ts_be64_load(record.refs + 8),
               record.findings);
    check_flip(look, target, &of->record, &record);
    of->version = row->version;
    of->record = record;
}

/* ---- rows about targets ---- */

static void keep(struct look *look, const struct sim__fleet_row *row) {
    struct sim__fleet_place *place = look->place;
    if (!TS_GROW(place->rows, place->capacity, place->count + 1)) {
        sim__broken(look->world, "memory", "there is none left");
        return;
    }
    place->rows[place->count++] = *row;
}

/* Checks that a row of the home store is written under the lease that its key names. */
static void check_writer(struct look *look, const struct sim__fleet_row *row) {
    /* Marks of replaced rows name the replaced attempt, and a sweep may write into any mark. */
    const bool is_of_others =
        row->kind == 'w' && (row->waste == TS_WASTE_OLD || row->waste == TS_WASTE_HITS || row->is_swept);
    if (row->version <= look->before || row->kind == 'e' || is_of_others || look->restarted ||
        is_writer_unknown())
        return;
    const struct sim__fleet_shard *shard = shard_of(look, row->target, row->attempt.run);
    if (!is_held(look, shard) || shard->fence != row->attempt.fence)
        sim__broken(look->world, "stale owner", "a row '%c' of target %u was written without a valid lease",
                    row->kind, (unsigned)row->target);
}

static bool finding_number(const struct ts_fleet_finding *id, uint32_t *ret_finding) {
    const uint64_t number = ts_be64_load(id->bytes + 8);
    *ret_finding = (uint32_t)number;
    return number < FLEET_FINDINGS;
}

/* Keeps each finding of a page as a separate row. */
static bool keep_page(struct look *look, struct sim__fleet_row row, struct ts_bytes page) {
    struct ts_fleet_page_reader reader;
    struct ts_fleet_item item;
    if (ts_fleet_page_open(page, &reader) != TS_FLEET_OK)
        return false;
    bool has_entry = false;
    for (;;) {
        switch (ts_fleet_page_next(&reader, &item)) {
        case TS_FLEET_ITEM_ENTRY:
            if (has_entry)
                keep(look, &row);
            has_entry = true;
            row.objects = 0;
            if (!finding_number(&item.entry.finding, &row.finding))
                return false;
            break;
        case TS_FLEET_ITEM_PLACE: {
            if (item.place.object.len == 0)
                return false;
            const sim__fleet_objects object =
                sim__fleet_bit(item.place.object.data[item.place.object.len - 1]);
            if ((row.objects & object) != 0)
                sim__broken(look->world, "extra finding", "an occurrence is in a page twice");
            row.objects |= object;
            break;
        }
        case TS_FLEET_ITEM_COMMIT:
            break;
        case TS_FLEET_ITEM_BAD:
            return false;
        case TS_FLEET_ITEM_END:
            if (has_entry)
                keep(look, &row);
            return true;
        }
    }
}

/* Reads the parts of a key: a letter, the target, sometimes rules and judging, and an attempt or a lease. */
static bool key_parts(const struct ts_row *row, size_t rules_len, struct sim__fleet_row *ret_row,
                      const struct sim__fleet *fleet) {
    const size_t at = HEAD + TS_TARGET_ID_LEN + rules_len;
    if (row->key.len < at + TS_ATTEMPT_LEN)
        return false;
    ret_row->target = target_of(fleet, row->key.data + HEAD);
    ret_row->attempt = ts_attempt_decode(row->key.data + at);
    return ret_row->target != FLEET_TARGETS_MAX;
}

static bool look_at_seen(struct look *look, const struct ts_row *raw, struct sim__fleet_row *row) {
    struct ts_fleet_seen_key key;
    struct ts_fleet_seen seen;
    if (!ts_fleet_key_is_seen(raw->key, &key) || ts_fleet_seen_decode(raw->value, &seen) != TS_FLEET_OK ||
        !finding_number(&key.finding, &row->finding))
        return false;
    row->target = target_of(look->fleet, key.target.bytes);
    row->attempt = key.attempt;
    row->count = seen.count;
    return row->target != FLEET_TARGETS_MAX;
}

/* Keeps each id of a change as a separate row; count is 1 if the change adds the finding, and 0 if it removes
 * it. */
static bool keep_change(struct look *look, const struct ts_row *raw, struct sim__fleet_row row) {
    struct ts_fleet_change_key key;
    struct ts_fleet_change change;
    if (!ts_fleet_key_is_change(raw->key, &key) ||
        ts_fleet_change_decode(raw->value, &change) != TS_FLEET_OK || change.is_blind || change.is_cut)
        return false;
    row.target = target_of(look->fleet, key.target.bytes);
    if (row.target == FLEET_TARGETS_MAX)
        return false;
    const struct ts_bytes lists[] = {change.went, change.came};
    for (row.count = 0; row.count < 2; row.count++) {
        for (size_t at = 0; at < lists[row.count].len; at += TS_FLEET_FINDING_LEN) {
            struct ts_fleet_finding id;
            memcpy(id.bytes, lists[row.count].data + at, sizeof id.bytes);
            if (!finding_number(&id, &row.finding))
                return false;
            keep(look, &row);
        }
    }
    return true;
}

/* Checks that a notice belongs to a target of the world. */
static bool look_at_notice(const struct look *look, const struct ts_row *raw) {
    struct ts_fleet_notice_key key;
    struct ts_fleet_notice notice;
    return ts_fleet_key_is_notice(raw->key, &key) &&
           ts_fleet_notice_decode(raw->value, &notice) == TS_FLEET_OK && notice.came > 0 &&
           target_of(look->fleet, key.target.bytes) != FLEET_TARGETS_MAX;
}

static bool look_at_mark(const struct ts_row *raw, struct sim__fleet_row *row) {
    struct ts_fleet_waste waste;
    if (ts_fleet_waste_decode(raw->value, &waste) != TS_FLEET_OK)
        return false;
    row->waste = raw->key.data[raw->key.len - 1];
    row->is_swept = waste.time_count > 0;
    return true;
}

static bool look_at_fleet_row(struct look *look, const struct ts_row *raw) {
    struct sim__fleet_row row = {.kind = raw->key.len > HEAD ? raw->key.data[2] : 0, .version = raw->version};
    bool is_good = false;
    switch (row.kind) {
    case 't':
        return true;
    case 'i': {
        uint32_t finding = 0;
        struct ts_fleet_finding id;
        memcpy(id.bytes, raw->key.data + raw->key.len - sizeof id.bytes, sizeof id.bytes);
        is_good = finding_number(&id, &finding);
        look->place->has_finding[is_good ? finding : 0] = is_good;
        return is_good;
    }
    case 'k':
        is_good = key_parts(raw, TS_FLEET_RULES_LEN, &row, look->fleet);
        break;
    case 'h':
        is_good = key_parts(raw, (size_t)2 * TS_FLEET_RULES_LEN, &row, look->fleet);
        row.rules = is_good ? raw->key.data[HEAD + TS_TARGET_ID_LEN] : 0;
        break;
    case 'o':
        is_good = key_parts(raw, 0, &row, look->fleet) && keep_page(look, row, raw->value);
        if (is_good)
            check_writer(look, &row);
        return is_good;
    case 'w':
        is_good = key_parts(raw, 0, &row, look->fleet) && look_at_mark(raw, &row);
        break;
    case 's':
        is_good = key_parts(raw, 0, &row, look->fleet);
        break;
    case 'd':
        return keep_change(look, raw, row);
    case 'q':
        return look_at_notice(look, raw);
    case 'e':
        is_good = look_at_seen(look, raw, &row);
        break;
    default:
        return false;
    }
    if (is_good) {
        check_writer(look, &row);
        keep(look, &row);
    }
    return is_good;
}

/* ---- the whole check ---- */

static void look_at_promises(struct look *look, uint32_t place) {
    struct ts_call call = {.kind = TS_CALL_PREPARED, .rows = &look->fleet->raw};
    sim__direct(look->world, place, &call);
    look->place->promises = look->fleet->raw.count;
}

static bool is_kind(const struct ts_row *row, uint8_t kind) {
    return row->key.len > HEAD && row->key.data[2] == kind;
}

static void look_at_runs(struct look *look) {
    const struct ts_rows *raw = &look->fleet->raw;
    for (size_t i = 0; i < raw->count; i++) {
        if (is_kind(&raw->rows[i], 'r'))
            look_at_run(look, &raw->rows[i]);
    }
}

static void look_at_shards(struct look *look, uint32_t place) {
    struct sim__fleet_shard *shards = &look->fleet->shards[0][0];
    /* A restart may undo the creation of a record. So this function forgets all shards of the store before it
     * reads them again. */
    for (size_t i = 0; look->restarted && i < (size_t)FLEET_RUNS * FLEET_TARGETS_MAX; i++) {
        if (shards[i].place == place)
            shards[i] = (struct sim__fleet_shard){0};
    }
    const struct ts_rows *raw = &look->fleet->raw;
    for (size_t i = 0; i < raw->count && !sim__is_broken(look->world); i++) {
        if (is_kind(&raw->rows[i], 's'))
            look_at_shard(look, &raw->rows[i], place);
    }
}

static void look_at_fleet(struct look *look) {
    const struct ts_rows *raw = &look->fleet->raw;
    look->place->count = 0;
    look->before = look->place->version;
    for (size_t i = 0; i < raw->count && !sim__is_broken(look->world); i++) {
        if (is_kind(&raw->rows[i], 't'))
            look_at_target(look, &raw->rows[i]);
        else if (!look_at_fleet_row(look, &raw->rows[i]))
            sim__broken(look->world, "record", "a row of a fleet cannot be read");
        if (raw->rows[i].version > look->place->version)
            look->place->version = raw->rows[i].version;
    }
}

static void check(struct sim__world *world, uint32_t place, bool restarted) {
    if (sim__is_broken(world))
        return;
    struct look look = {.world = world,
                        .fleet = world->fleet,
                        .place = &world->fleet->places[place],
                        .now_ms = sim__place_now(&world->places[place]),
                        .restarted = restarted};
    world->result->counts.checks++;
    look_at_promises(&look, place);
    /* Runs come first, because their numbers name leases; shards come last, because a shard moves only after
     * the record of its target has changed. */
    if (read_rows(&look, place, 'c'))
        look_at_runs(&look);
    if (read_rows(&look, place, 'f'))
        look_at_fleet(&look);
    if (!sim__is_broken(world) && read_rows(&look, place, 'c'))
        look_at_shards(&look, place);
    if (!sim__is_broken(world))
        sim__fleet_check_visible(world);
}

void sim__fleet_check(struct sim__world *world, uint32_t place) {
    check(world, place, false);
}

void sim__fleet_check_restarted(struct sim__world *world, uint32_t place) {
    check(world, place, true);
}
