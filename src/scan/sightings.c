/*
 * Finds sightings: hits at locations where they are reported. A hit is not reported at a location if it does
 * not count there, is allowed, or is also in the base of a change.
 */
#include "assemble_impl.h"
#include "option_names.h"
#include "placed.h"
#include "refs.h"

#include "base/number.h"

#include <stdlib.h>
#include <string.h>

static int order_of(uint64_t a, uint64_t b) {
    return (a > b) - (a < b);
}

/* Compares locations by target, then by commit (the earliest is first, no commit is last), place, path and
 * object. */
static int compare_locations(const void *x, const void *y, void *ctx) {
    const struct scan_assembly *a = ctx;
    const struct scan_location *s = x;
    const struct scan_location *t = y;
    const struct scan_content *c = &a->contents[s->content];
    const struct scan_content *d = &a->contents[t->content];
    int order = order_of(c->target, d->target);
    if (order == 0)
        order = order_of(s->commit == TS_REPORT_NONE, t->commit == TS_REPORT_NONE);
    if (order == 0 && s->commit != t->commit) {
        const struct scan_commit *m = &a->commits[s->commit];
        const struct scan_commit *n = &a->commits[t->commit];
        order = (m->time_s > n->time_s) - (m->time_s < n->time_s);
        order = order != 0 ? order : ts_git_oid_compare(&m->oid, &n->oid);
    }
    if (order == 0)
        order = order_of((uint64_t)s->place, (uint64_t)t->place);
    if (order == 0 && s->path != t->path)
        order = ts_bytes_compare(scan__assembly_text(a, s->path), scan__assembly_text(a, t->path));
    if (order == 0)
        order = ts_git_oid_compare(&c->oid, &d->oid);
    if (order == 0)
        order = order_of((uint64_t)s->role, (uint64_t)t->role);
    return order != 0 ? order : order_of(s->hit, t->hit);
}

/* Returns whether a hit of the content counts at the path: its rule applies there, and no other hit outranks
 * it. */
static bool counts_at(struct scan_assembly *a, const struct scan_content *content, uint32_t index,
                      uint32_t path) {
    uint32_t finding = scan__hits_items(&a->pass->hits)[content->first_hit + index].finding;
    return scan__applies(&a->applies, scan__hits_findings(&a->pass->hits)[finding].rule, path) &&
           !scan__is_outranked(&a->pass->hits, content, index,
                               (const char *)scan__assembly_text(a, path).data);
}

/* Returns the level of a hit at a location: 1 + its confidence. */
static uint8_t level_at(const struct scan_assembly *a, const struct scan_hit *hit,
                        const struct scan_location *location) {
    const char *path = (const char *)scan__assembly_text(a, location->real_path).data;
    return (uint8_t)(1 + scan__confidence_at(&a->pass->hits, hit, path));
}

/* Called for a location in the base of a change: records the highest level of each finding there. Returns false
 * when memory runs out. */
static bool note_before(struct scan_assembly *a, const struct scan_location *location) {
    const struct scan_content *content = &a->contents[location->content];
    const struct scan_target *target = &a->pass->targets[content->target];
    if (a->before == NULL)
        a->before = calloc(a->kin.count + 1, sizeof *a->before);
    for (uint32_t i = 0; i < content->hit_count && a->before != NULL; i++) {
        const struct scan_hit *hit = &scan__hits_items(&a->pass->hits)[content->first_hit + i];
        if (!counts_at(a, content, i, location->real_path) ||
            scan__suppressed_would(&a->suppressed, target->profile, hit, location->real_path))
            continue;
        uint8_t *before = &a->before[a->kin.of[hit->finding]];
        uint8_t level = level_at(a, hit, location);
        *before = level > *before ? level : *before;
    }
    return a->before != NULL;
}

/* Returns whether the base of the change has the finding with the same or a higher confidence. */
static bool was_before(const struct scan_assembly *a, const struct scan_hit *hit,
                       const struct scan_location *location) {
    uint8_t before = a->before != NULL ? a->before[a->kin.of[hit->finding]] : 0;
    return before > 0 && before >= level_at(a, hit, location);
}

static bool see(struct scan_assembly *a, uint32_t location_index) {
    const struct scan_location *location = &a->locations[location_index];
    const struct scan_content *content = &a->contents[location->content];
    const struct scan_target *target = &a->pass->targets[content->target];
    scan__pairs_begin(&a->pairs);
    for (uint32_t i = 0; i < content->hit_count; i++) {
        uint64_t hit = content->first_hit + i;
        const struct scan_hit *item = &scan__hits_items(&a->pass->hits)[hit];
        if (was_before(a, item, location) || !counts_at(a, content, i, location->real_path) ||
            scan__suppressed_take(&a->suppressed, target->profile, item, location->real_path))
            continue;
        size_t at = a->sightings.len;
        if (at >= a->pass->memory_bytes) {
            a->is_cut = true;
            return true;
        }
        if (!scan__pile_grow(&a->sightings, sizeof(struct scan_sighting)))
            return false;
        struct scan_sighting sighting = {.finding = item->finding, .location = location_index, .hit = hit};
        memcpy(a->sightings.bytes + at, &sighting, sizeof sighting);
        scan__pairs_see(&a->pairs, item);
    }
    return !a->suppressed.no_memory;
}

/* Groups sightings by finding. Within a finding, they keep their order by location, then by hit. Sightings
 * may fill the memory limit, so they are copied to a second pile, which may be a file: qsort might allocate
 * memory for all of them. */
static bool sort_by_finding(struct scan_assembly *a) {
    size_t count;
    const struct scan_sighting *items = scan__assembly_sightings(a, &count);
    size_t findings = a->pass->hits.finding_table.count;
    size_t *next = calloc(findings + 1, sizeof *next);
    struct scan_pile sorted;
    scan__pile_init(&sorted, a->sightings.held_max, a->pass->spill_dir);
    if (next == NULL || !scan__pile_grow(&sorted, a->sightings.len)) {
        free(next);
        scan__pile_release(&sorted);
        return false;
    }
    for (size_t i = 0; i < count; i++)
        next[items[i].finding + 1]++;
    for (size_t i = 1; i <= findings; i++)
        next[i] += next[i - 1];
    for (size_t i = 0; i < count; i++)
        memcpy(sorted.bytes + next[items[i].finding]++ * sizeof *items, &items[i], sizeof *items);
    free(next);
    scan__pile_release(&a->sightings);
    a->sightings = sorted;
    return true;
}

static struct scan_whereabouts *whereabouts_of(struct scan_assembly *a, uint64_t hit) {
    return &a->whereabouts[a->kin.of[scan__hits_items(&a->pass->hits)[hit].finding]];
}

/* Returns whether the location is the message of the commit that HEAD names. */
static bool is_head_message(const struct scan_assembly *a, const struct scan_location *location) {
    const struct scan_target *target = &a->pass->targets[a->contents[location->content].target];
    return location->role == SCAN_FOUND && location->place == TS_PLACE_COMMIT_MESSAGE &&
           location->commit != TS_REPORT_NONE && target->row.knows_head &&
           ts_git_oid_equal(&a->commits[location->commit].oid, &target->head);
}

static void note_head(struct scan_assembly *a, uint32_t location, const struct scan_content *content) {
    uint32_t path = a->locations[location].real_path;
    for (uint32_t i = 0; i < content->hit_count; i++) {
        uint64_t hit = content->first_hit + i;
        struct scan_whereabouts *of = whereabouts_of(a, hit);
        if ((of->head_count > 0 && of->head_path == path) || !counts_at(a, content, i, path))
            continue;
        if (of->head_count++ == 0) {
            of->head = location;
            of->head_hit = hit;
        }
        of->head_path = path;
    }
}

/* Records where findings are now, from a location in HEAD, a ref, or a number of refs. Ignores repeats.
 * Returns false when memory runs out. */
static bool note_whereabouts(struct scan_assembly *a, uint32_t location_index) {
    const struct scan_location *location = &a->locations[location_index];
    const struct scan_content *content = &a->contents[location->content];
    uint64_t count;
    if (a->whereabouts == NULL)
        a->whereabouts = calloc(a->pass->hits.finding_table.count + 1, sizeof *a->whereabouts);
    if (a->whereabouts == NULL)
        return false;
    if (location->role == SCAN_IN_HEAD || location->role == SCAN_FOUND) {
        note_head(a, location_index, content);
        return true;
    }
    if (location->role == SCAN_REPEAT || location->hit >= content->hit_count)
        return true;
    struct scan_whereabouts *of = whereabouts_of(a, content->first_hit + location->hit);
    if (location->role == SCAN_REF_COUNT) {
        if (ts_u64_parse(scan__assembly_text(a, location->path), &count) == TS_NUMBER_OK)
            of->ref_count += count - SCAN_REFS_KEPT;
        return true;
    }
    of->ref_count++;
    if (of->ref_listed < TS_REPORT_REFS)
        of->refs[of->ref_listed++] = location->path;
    return true;
}

static uint32_t target_of(const struct scan_assembly *a, size_t location) {
    return a->contents[a->locations[location].content].target;
}

/* Applies all fingerprints of .gitleaksignore before sightings are made: a fingerprint that matches one
 * version of a file also applies to the other versions. */
static void ignore_all(struct scan_assembly *a, size_t from, size_t end) {
    scan__suppressed_clear(&a->suppressed);
    if (from == end || a->pass->targets[target_of(a, from)].profile->ignored.count == 0)
        return;
    for (size_t i = from; i < end; i++) {
        const struct scan_location *location = &a->locations[i];
        struct scan_suppressed_place place = {
            .profile = a->pass->targets[target_of(a, i)].profile,
            .content = &a->contents[location->content],
            .commit = location->commit == TS_REPORT_NONE ? NULL : &a->commits[location->commit].oid,
            .path = location->real_path,
            .is_before = location->role == SCAN_BEFORE};
        if (location->role == SCAN_FOUND || location->role == SCAN_BEFORE)
            scan__suppressed_ignore(&a->suppressed, &place);
    }
    scan__suppressed_sort(&a->suppressed);
}

bool scan__assembly_see(struct scan_assembly *a) {
    a->suppressed.keeps_marked = a->pass->options->lists_allowed;
    if (a->location_count > 0)
        qsort_r(a->locations, a->location_count, sizeof *a->locations, compare_locations, a);
    size_t end;
    for (size_t from = 0; from < a->location_count; from = end) {
        end = from;
        while (end < a->location_count && target_of(a, end) == target_of(a, from))
            end++;
        ignore_all(a, from, end);
        for (size_t i = from; i < end; i++)
            if (a->locations[i].role == SCAN_BEFORE
                    ? !note_before(a, &a->locations[i])
                    : (a->locations[i].role != SCAN_FOUND || is_head_message(a, &a->locations[i])) &&
                          !note_whereabouts(a, (uint32_t)i))
                return false;
        for (size_t i = from; i < end && !a->is_cut; i++)
            if (a->locations[i].role == SCAN_FOUND && !see(a, (uint32_t)i))
                return false;
        free(a->before);
        a->before = NULL;
    }
    if (a->is_cut)
        scan__fault(
            &a->pass->faults,
            "findings have more than %zu occurrences: the rest is not counted; raise " SCAN_OPTION_MEMORY,
            a->sightings.len / sizeof(struct scan_sighting));
    return a->sightings.len == 0 || sort_by_finding(a);
}
