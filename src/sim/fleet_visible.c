/* Compares the visible rows of targets with the findings of their refs under their rules, and checks at the
 * end that no garbage is left. */
#include "fleet.h"

#include "base/endian.h"

#include <string.h>

/* The visible findings of a target: for each finding, the objects that have it. */
struct shown {
    sim__fleet_objects objects[FLEET_FINDINGS];
    uint64_t seen[FLEET_FINDINGS]; /* counts in the rows of the findings' stores */
    bool is_seen[FLEET_FINDINGS];
    int64_t changes[FLEET_FINDINGS]; /* additions of the finding in changes, minus removals */
};

static void due(const struct sim__fleet_repo *repo, const struct ts_fleet_target *record,
                struct shown *ret_due) {
    *ret_due = (struct shown){0};
    const uint64_t state = ts_be64_load(record->refs + 8);
    const sim__fleet_objects reach = repo->states[state];
    for (uint32_t object = 0; object < FLEET_OBJECTS; object++) {
        const bool is_there = (reach & sim__fleet_bit(object)) != 0 &&
                              !(record->has_faults && (repo->lost & sim__fleet_bit(object)) != 0);
        if (is_there && sim__fleet_finds(record->rules.rules[0], object))
            ret_due->objects[sim__fleet_finding_of(object)] |= sim__fleet_bit(object);
    }
    for (uint32_t i = 0; i < FLEET_FINDINGS; i++) {
        ret_due->is_seen[i] = ret_due->objects[i] != 0;
        ret_due->seen[i] = (uint64_t)__builtin_popcountll(ret_due->objects[i]);
    }
}

static void gather(struct sim__world *world, uint32_t target, struct shown *ret_shown) {
    const struct ts_attempt *attempt = &world->fleet->targets[target].record.attempt;
    *ret_shown = (struct shown){0};
    for (uint32_t p = 0; p < world->place_count; p++) {
        const struct sim__fleet_place *place = &world->fleet->places[p];
        for (size_t i = 0; i < place->count; i++) {
            const struct sim__fleet_row *row = &place->rows[i];
            if (row->target == target && row->kind == 'd')
                ret_shown->changes[row->finding] += row->count == 1 ? 1 : -1;
            if (row->target != target || (row->kind != 'o' && row->kind != 'e') ||
                !ts_attempt_equal(&row->attempt, attempt))
                continue;
            if (row->kind == 'o' && (ret_shown->objects[row->finding] & row->objects) != 0)
                sim__broken(world, "extra finding", "target %u shows an occurrence twice", (unsigned)target);
            ret_shown->objects[row->finding] |= row->objects;
            if (row->kind == 'e') {
                ret_shown->is_seen[row->finding] = true;
                ret_shown->seen[row->finding] = row->count;
            }
        }
    }
}

static bool is_recorded(const struct sim__world *world, uint32_t finding) {
    for (uint32_t p = 0; p < world->place_count; p++) {
        if (world->fleet->places[p].has_finding[finding])
            return true;
    }
    return false;
}

static void compare(struct sim__world *world, uint32_t target, const struct shown *wanted,
                    const struct shown *shown) {
    const struct ts_fleet_target *record = &world->fleet->targets[target].record;
    uint64_t findings = 0, occurrences = 0;
    for (uint32_t i = 0; i < FLEET_FINDINGS; i++) {
        const sim__fleet_objects lost = wanted->objects[i] & ~shown->objects[i];
        const sim__fleet_objects extra = shown->objects[i] & ~wanted->objects[i];
        if (lost != 0 || (wanted->is_seen[i] && (!shown->is_seen[i] || !is_recorded(world, i))))
            sim__broken(world, "lost finding", "finding %u of target %u is not visible: objects %llx",
                        (unsigned)i, (unsigned)target, (unsigned long long)lost);
        if (extra != 0 || (shown->is_seen[i] && !wanted->is_seen[i]))
            sim__broken(world, "extra finding",
                        "finding %u of target %u is visible, but no longer exists: "
                        "objects %llx",
                        (unsigned)i, (unsigned)target, (unsigned long long)extra);
        if (shown->seen[i] != wanted->seen[i])
            sim__broken(world, "counts", "finding %u has %llu occurrences in target %u, not %llu",
                        (unsigned)i, (unsigned long long)wanted->seen[i], (unsigned)target,
                        (unsigned long long)shown->seen[i]);
        if (shown->changes[i] != (wanted->is_seen[i] ? 1 : 0))
            sim__broken(world, "changes", "finding %u came to target %u %lld times more than it went",
                        (unsigned)i, (unsigned)target, (long long)shown->changes[i]);
        findings += wanted->is_seen[i];
        occurrences += wanted->seen[i];
    }
    if (record->findings != findings || record->occurrences != occurrences)
        sim__broken(
            world, "counts", "target %u counts %llu findings and %llu occurrences; there are %llu and %llu",
            (unsigned)target, (unsigned long long)record->findings, (unsigned long long)record->occurrences,
            (unsigned long long)findings, (unsigned long long)occurrences);
}

void sim__fleet_check_visible(struct sim__world *world) {
    const struct sim__fleet *fleet = world->fleet;
    for (uint32_t i = 0; i < fleet->repo_count && !sim__is_broken(world); i++) {
        const struct ts_fleet_target *record = &fleet->targets[i].record;
        if (fleet->targets[i].version == 0)
            continue;
        const uint64_t state = ts_be64_load(record->refs + 8);
        if (state >= fleet->repos[i].state_count) {
            sim__broken(world, "watermark", "target %u has refs that never existed", (unsigned)i);
            return;
        }
        if (record->has_faults != ((fleet->repos[i].states[state] & fleet->repos[i].lost) != 0))
            sim__broken(world, "faults", "target %u is complete %s faults", (unsigned)i,
                        record->has_faults ? "with" : "without");
        struct shown wanted, shown;
        due(&fleet->repos[i], record, &wanted);
        gather(world, i, &shown);
        compare(world, i, &wanted, &shown);
    }
}

bool sim__fleet_is_clean(const struct sim__world *world) {
    for (uint32_t p = 0; p < world->place_count; p++) {
        const struct sim__fleet_place *place = &world->fleet->places[p];
        for (size_t i = 0; i < place->count; i++) {
            if (place->rows[i].kind == 'w')
                return false;
        }
        if (place->promises > 0)
            return false;
    }
    return true;
}

/* Returns whether a row is no longer needed. */
static bool is_garbage(const struct sim__fleet *fleet, const struct sim__fleet_row *row) {
    const struct sim__fleet_target *target = &fleet->targets[row->target];
    switch (row->kind) {
    case 'd':
        return false;
    case 'k':
    case 'w':
        return true;
    case 'h':
        return target->version == 0 || row->rules != target->record.rules.rules[0];
    default:
        return target->version == 0 || !ts_attempt_equal(&row->attempt, &target->record.attempt);
    }
}

void sim__fleet_check_end(struct sim__world *world) {
    const struct sim__fleet *fleet = world->fleet;
    for (uint32_t p = 0; p < world->place_count; p++) {
        const struct sim__fleet_place *place = &fleet->places[p];
        if (place->promises > 0)
            sim__broken(world, "promise", "store %u has a promise", (unsigned)p);
        for (size_t i = 0; i < place->count; i++) {
            if (is_garbage(fleet, &place->rows[i]))
                sim__broken(
                    world, "garbage", "a row '%c' of target %u, run %llu, fence %llu, n %u is left over",
                    place->rows[i].kind, (unsigned)place->rows[i].target,
                    (unsigned long long)place->rows[i].attempt.run,
                    (unsigned long long)place->rows[i].attempt.fence, (unsigned)place->rows[i].attempt.n);
        }
    }
    for (uint32_t run = 0; run < FLEET_RUNS; run++) {
        for (uint32_t i = 0; i < fleet->repo_count; i++) {
            const enum ts_shard_status status = fleet->shards[run][i].status;
            /* A run may have finished the target before the repository has disappeared. */
            if (status != TS_SHARD_DONE && (status != TS_SHARD_PARKED || !fleet->repos[i].is_gone))
                sim__broken(world, "liveness", "the shard of target %u in run %u is not at its end",
                            (unsigned)i, (unsigned)run);
        }
    }
}
