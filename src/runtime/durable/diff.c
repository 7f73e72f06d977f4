/*
 * Differences between two runs.
 *
 *     changes after the first run ──> events of each finding in each target ──> states at both ends ──> entries
 *
 * Before the first event of a finding in a target, the state is the opposite of that event. So the events
 * alone show what the target had after each of the two runs. A target without events had the finding after
 * both runs if it has the finding now, and otherwise after neither.
 */
#include "runtime/durable/diff.h"

#include "findings_impl.h"
#include "os/grow.h"
#include "runtime/core/fleet_change.h"
#include "runtime/core/fleet_summary.h"

#include <stdlib.h>

enum { CHANGES_AT_ONCE = 64, FINDINGS_AT_ONCE = 16, ROWS_AT_ONCE = 256 };

struct event {
    struct ts_fleet_finding finding;
    struct ts_target_id target;
    uint64_t run;
    bool came;
};

/* An entry, and the target that has its address and selection. */
struct pair {
    struct ts_diff_entry entry;
    size_t target; /* index in targets */
};

struct named {
    struct ts_target_id id;
    struct ts_bytes address, selection;
};

/* A finding that has entries. */
struct about {
    struct ts_fleet_finding id;
    size_t from, count;         /* the events of the finding */
    size_t first_pair, pairs;   /* the entries of the finding */
    bool had_before, has_after; /* in any target; before look_elsewhere, only in targets with events */
    struct ts_fleet_finding_record record;
};

struct diff {
    struct ts_coord *coord;
    const struct ts_diff_query *query;
    struct ts_infra_error *error;
    struct ts_diff_counts counts;
    struct ts_rows rows[FINDINGS_AT_ONCE]; /* rows of several findings */
    struct event *events;
    size_t event_count, event_capacity;
    struct about *abouts;
    size_t about_count, about_capacity;
    struct pair *pairs;
    size_t pair_count, pair_capacity;
    struct named *targets;
    size_t target_count, target_capacity;
    struct durable__current current;
    struct ts_arena arena;
};

/* ---- events ---- */

static bool add_events(struct diff *diff, const struct ts_fleet_change_key *key, struct ts_bytes ids,
                       bool came) {
    const size_t count = ids.len / TS_FLEET_FINDING_LEN;
    if (!TS_GROW(diff->events, diff->event_capacity, diff->event_count + count))
        return durable__no_room(diff->error);
    for (size_t i = 0; i < count; i++) {
        struct event *event = &diff->events[diff->event_count++];
        *event = (struct event){.target = key->target, .run = key->run, .came = came};
        memcpy(event->finding.bytes, ids.data + i * TS_FLEET_FINDING_LEN, TS_FLEET_FINDING_LEN);
    }
    return true;
}

static bool take_changes(void *context, const struct ts_rows *rows) {
    struct diff *diff = context;
    for (size_t i = 0; i < rows->count; i++) {
        struct ts_fleet_change_key key;
        struct ts_fleet_change change;
        if (!ts_fleet_key_is_change(rows->rows[i].key, &key))
            return durable__say(diff->error, TS_INFRA_DAMAGED, "a key of a change is damaged");
        const enum ts_fleet_error error = ts_fleet_change_decode(rows->rows[i].value, &change);
        if (error != TS_FLEET_OK)
            return durable__say_damaged(diff->error, "a change of a target", error);
        const bool counts = key.page == 0 && key.run <= diff->query->to;
        diff->counts.blind += counts && change.is_blind;
        diff->counts.cut += counts && change.is_cut;
        if (!add_events(diff, &key, change.came, true) || !add_events(diff, &key, change.went, false))
            return false;
    }
    return true;
}

/* Visits all changes by these runs, on all stores. */
static bool for_changes(struct ts_coord *coord, const struct ts_tenant_id *tenant, struct ts_fleet_runs runs,
                        bool (*visit)(void *context, const struct ts_rows *rows), void *context,
                        struct ts_infra_error *ret_error) {
    struct ts_rows rows = {0};
    bool good = true;
    for (uint32_t place = 0; good && place < ts_coord_place_count(coord); place++) {
        struct ts_fleet_range range = ts_fleet_range_changes(tenant, runs);
        for (bool is_end = false; good && !is_end;) {
            struct ts_coord_call call = {.place = place,
                                         .call = {.kind = TS_CALL_SCAN,
                                                  .from = ts_fleet_key_bytes(&range.from),
                                                  .to = ts_fleet_key_bytes(&range.to),
                                                  .limit = CHANGES_AT_ONCE,
                                                  .rows = &rows}};
            struct ts_fleet_key last;
            good = ts_coord_read(coord, &call, 1, ret_error) == TS_STORE_OK && visit(context, &rows);
            is_end = !good || rows.count == 0 || (rows.count < CHANGES_AT_ONCE && !rows.more) ||
                     !ts_fleet_key_of_bytes(rows.rows[rows.count - 1].key, &last);
            if (!is_end)
                ts_fleet_range_skip(&range, &last);
        }
    }
    ts_rows_release(&rows);
    return good;
}

static int compare_events(const void *a, const void *b) {
    const struct event *one = a, *other = b;
    int order = memcmp(&one->finding, &other->finding, sizeof one->finding);
    if (order == 0)
        order = memcmp(&one->target, &other->target, sizeof one->target);
    return order != 0 ? order : (one->run > other->run) - (one->run < other->run);
}

/* ---- entries ---- */

static bool same_target(const struct event *a, const struct event *b) {
    return memcmp(&a->target, &b->target, sizeof a->target) == 0;
}

static bool add_pair(struct diff *diff, const struct event *event, bool came) {
    if (!TS_GROW(diff->pairs, diff->pair_capacity, diff->pair_count + 1))
        return durable__no_room(diff->error);
    diff->pairs[diff->pair_count++] =
        (struct pair){.entry = {.id = event->finding, .target = event->target, .came = came}};
    return true;
}

/* Takes one finding: for each of its targets with events, computes whether the target had the finding after
 * each of the two runs. */
static bool take_finding(struct diff *diff, size_t from, size_t count) {
    const struct event *events = diff->events + from;
    struct about about = {
        .id = events[0].finding, .from = from, .count = count, .first_pair = diff->pair_count};
    for (size_t i = 0; i < count;) {
        const bool had = !events[i].came;
        bool has = had;
        size_t end = i;
        for (; end < count && same_target(&events[i], &events[end]); end++)
            has = events[end].run <= diff->query->to ? events[end].came : has;
        about.had_before = about.had_before || had;
        about.has_after = about.has_after || has;
        if (had != has && !add_pair(diff, &events[i], has))
            return false;
        i = end;
    }
    about.pairs = diff->pair_count - about.first_pair;
    if (about.pairs == 0)
        return true;
    if (!TS_GROW(diff->abouts, diff->about_capacity, diff->about_count + 1))
        return durable__no_room(diff->error);
    diff->abouts[diff->about_count++] = about;
    return true;
}

static bool take_findings(struct diff *diff) {
    if (diff->event_count > 0)
        qsort(diff->events, diff->event_count, sizeof *diff->events, compare_events);
    for (size_t i = 0; i < diff->event_count;) {
        size_t end = i;
        while (end < diff->event_count && memcmp(&diff->events[i].finding, &diff->events[end].finding,
                                                 sizeof diff->events[i].finding) == 0)
            end++;
        if (!take_finding(diff, i, end - i))
            return false;
        i = end;
    }
    return true;
}

/* ---- other targets ---- */

static int compare_target_of_event(const void *target, const void *event) {
    return memcmp(target, &((const struct event *)event)->target, sizeof(struct ts_target_id));
}

static bool has_events(const struct diff *diff, const struct about *about,
                       const struct ts_target_id *target) {
    return bsearch(target, diff->events + about->from, about->count, sizeof *diff->events,
                   compare_target_of_event) != NULL;
}

/* Sets had_before and has_after if these rows show that a target without events has the finding now. Returns
 * false if a read failed or memory ran out. */
static bool look_at_rows(struct diff *diff, struct about *about, const struct ts_rows *rows) {
    for (size_t i = 0; i < rows->count; i++) {
        struct ts_fleet_seen_key key;
        if (ts_fleet_key_is_seen(rows->rows[i].key, &key) &&
            !durable__current_want(&diff->current, &key.target))
            return durable__no_room(diff->error);
    }
    if (!durable__current_read(&diff->current, diff->coord, &diff->query->tenant, diff->error))
        return false;
    for (size_t i = 0; i < rows->count; i++) {
        struct ts_fleet_seen_key key;
        if (ts_fleet_key_is_seen(rows->rows[i].key, &key) &&
            durable__current_has(&diff->current, &key.target, &key.attempt) &&
            !has_events(diff, about, &key.target))
            about->had_before = about->has_after = true;
    }
    return true;
}

static struct ts_coord_call rows_of(const struct diff *diff, const struct about *about,
                                    const struct ts_fleet_range *range, struct ts_rows *rows) {
    return (struct ts_coord_call){.place =
                                      ts_coord_place_of(diff->coord, ts_fleet_route_of_finding(&about->id)),
                                  .call = {.kind = TS_CALL_SCAN,
                                           .from = ts_fleet_key_bytes(&range->from),
                                           .to = ts_fleet_key_bytes(&range->to),
                                           .limit = ROWS_AT_ONCE,
                                           .rows = rows}};
}

/* Looks at the first rows of a finding, and reads more rows until had_before and has_after are known. */
static bool look_further(struct diff *diff, struct about *about, struct ts_fleet_range *range,
                         struct ts_rows *rows) {
    for (;;) {
        struct ts_fleet_key last;
        if (!look_at_rows(diff, about, rows))
            return false;
        if ((about->had_before && about->has_after) || rows->count == 0 ||
            (rows->count < ROWS_AT_ONCE && !rows->more) ||
            !ts_fleet_key_of_bytes(rows->rows[rows->count - 1].key, &last))
            return true;
        ts_fleet_range_skip(range, &last);
        struct ts_coord_call call = rows_of(diff, about, range, rows);
        if (ts_coord_read(diff->coord, &call, 1, diff->error) != TS_STORE_OK)
            return false;
    }
}

static bool look_elsewhere(struct diff *diff) {
    for (size_t from = 0; from < diff->about_count; from += FINDINGS_AT_ONCE) {
        const size_t left = diff->about_count - from;
        const size_t count = left < FINDINGS_AT_ONCE ? left : FINDINGS_AT_ONCE;
        struct ts_fleet_range ranges[FINDINGS_AT_ONCE];
        struct ts_coord_call calls[FINDINGS_AT_ONCE];
        for (size_t i = 0; i < count; i++) {
            ranges[i] = ts_fleet_range_seen(&diff->query->tenant, &diff->abouts[from + i].id);
            calls[i] = rows_of(diff, &diff->abouts[from + i], &ranges[i], &diff->rows[i]);
        }
        if (ts_coord_read(diff->coord, calls, count, diff->error) != TS_STORE_OK)
            return false;
        for (size_t i = 0; i < count; i++) {
            if (!look_further(diff, &diff->abouts[from + i], &ranges[i], &diff->rows[i]))
                return false;
        }
    }
    return true;
}

/* ---- texts ---- */

static bool take_record(void *context, size_t index, const struct ts_row *row) {
    struct diff *diff = context;
    const char *copy = ts_arena_copy(&diff->arena, row->value);
    if (copy == NULL)
        return durable__no_room(diff->error);
    const enum ts_fleet_error error =
        ts_fleet_finding_decode(ts_bytes_of(copy, row->value.len), &diff->abouts[index].record);
    return error == TS_FLEET_OK || durable__say_damaged(diff->error, "the record of a finding", error);
}

static bool read_records(struct diff *diff) {
    struct durable__key_at *keys = calloc(diff->about_count + 1, sizeof *keys);
    if (keys == NULL)
        return durable__no_room(diff->error);
    for (size_t i = 0; i < diff->about_count; i++) {
        const struct ts_fleet_finding *id = &diff->abouts[i].id;
        keys[i] = (struct durable__key_at){ts_fleet_key_finding(&diff->query->tenant, id),
                                           ts_coord_place_of(diff->coord, ts_fleet_route_of_finding(id))};
    }
    const bool done = durable__read_all(diff->coord, keys, diff->about_count, take_record, diff, diff->error);
    free(keys);
    return done;
}

static int compare_targets(const void *a, const void *b) {
    const struct named *one = a, *other = b;
    return memcmp(&one->id, &other->id, sizeof one->id);
}

/* Collects the targets of the entries, sorted by id. */
static bool collect_targets(struct diff *diff) {
    if (!TS_GROW(diff->targets, diff->target_capacity, diff->pair_count + 1))
        return durable__no_room(diff->error);
    for (size_t i = 0; i < diff->pair_count; i++)
        diff->targets[i] = (struct named){.id = diff->pairs[i].entry.target};
    if (diff->pair_count > 0)
        qsort(diff->targets, diff->pair_count, sizeof *diff->targets, compare_targets);
    for (size_t i = 0; i < diff->pair_count; i++) {
        if (i == 0 || compare_targets(&diff->targets[diff->target_count - 1], &diff->targets[i]) != 0)
            diff->targets[diff->target_count++] = diff->targets[i];
    }
    for (size_t i = 0; i < diff->pair_count; i++) {
        const struct named wanted = {.id = diff->pairs[i].entry.target};
        const struct named *found =
            bsearch(&wanted, diff->targets, diff->target_count, sizeof wanted, compare_targets);
        diff->pairs[i].target = (size_t)(found - diff->targets);
    }
    return true;
}

static bool take_name(void *context, size_t index, const struct ts_row *row) {
    struct diff *diff = context;
    struct ts_fleet_summary_reader reader;
    struct ts_fleet_part part;
    /* If a summary is damaged, only the name is missing. */
    if (ts_fleet_summary_open(row->value, &reader) != TS_FLEET_OK ||
        ts_fleet_summary_next(&reader, &part) != TS_FLEET_PART_ORIGIN)
        return true;
    const char *address = ts_arena_copy(&diff->arena, part.u.origin.address);
    const char *selection = ts_arena_copy(&diff->arena, part.u.origin.selection);
    if (address == NULL || selection == NULL)
        return durable__no_room(diff->error);
    diff->targets[index].address = ts_bytes_of(address, part.u.origin.address.len);
    diff->targets[index].selection = ts_bytes_of(selection, part.u.origin.selection.len);
    return true;
}

static bool read_names(struct diff *diff) {
    for (size_t i = 0; i < diff->target_count; i++) {
        if (!durable__current_want(&diff->current, &diff->targets[i].id))
            return durable__no_room(diff->error);
    }
    struct durable__key_at *keys = calloc(diff->target_count + 1, sizeof *keys);
    if (keys == NULL)
        return durable__no_room(diff->error);
    bool good = durable__current_read(&diff->current, diff->coord, &diff->query->tenant, diff->error);
    for (size_t i = 0; good && i < diff->target_count; i++) {
        const struct ts_target_id *id = &diff->targets[i].id;
        const struct ts_attempt attempt = durable__current_attempt(&diff->current, id);
        keys[i] = (struct durable__key_at){ts_fleet_key_summary(id, &attempt, 0),
                                           ts_coord_target_home(ts_coord_router(diff->coord), id->bytes).v};
    }
    good = good && durable__read_all(diff->coord, keys, diff->target_count, take_name, diff, diff->error);
    free(keys);
    return good;
}

/* ---- the answer ---- */

static void fill_in(struct diff *diff) {
    for (size_t i = 0; i < diff->about_count; i++) {
        const struct about *about = &diff->abouts[i];
        diff->counts.new_count += !about->had_before;
        diff->counts.gone += !about->has_after;
        for (size_t j = about->first_pair; j < about->first_pair + about->pairs; j++) {
            struct pair *pair = &diff->pairs[j];
            pair->entry.record = about->record;
            pair->entry.is_everywhere = pair->entry.came ? !about->had_before : !about->has_after;
            pair->entry.address = diff->targets[pair->target].address;
            pair->entry.selection = diff->targets[pair->target].selection;
            diff->counts.came += pair->entry.came;
            diff->counts.went += !pair->entry.came;
        }
    }
    diff->counts.targets = diff->target_count;
}

static int compare_pairs(const void *a, const void *b) {
    const struct ts_diff_entry *one = &((const struct pair *)a)->entry,
                               *other = &((const struct pair *)b)->entry;
    if (one->came != other->came)
        return one->came ? -1 : 1;
    if (one->record.severity != other->record.severity)
        return one->record.severity > other->record.severity ? -1 : 1;
    const int order = memcmp(&one->id, &other->id, sizeof one->id);
    return order != 0 ? order : memcmp(&one->target, &other->target, sizeof one->target);
}

static bool find(struct diff *diff) {
    if (!for_changes(diff->coord, &diff->query->tenant,
                     (struct ts_fleet_runs){diff->query->from + 1, UINT64_MAX}, take_changes, diff,
                     diff->error) ||
        !take_findings(diff) || !look_elsewhere(diff) || !read_records(diff) || !collect_targets(diff) ||
        !read_names(diff))
        return false;
    fill_in(diff);
    if (diff->pair_count > 0)
        qsort(diff->pairs, diff->pair_count, sizeof *diff->pairs, compare_pairs);
    return true;
}

bool ts_diff_list(struct ts_coord *coord, const struct ts_diff_query *query,
                  void (*visit)(void *context, const struct ts_diff_entry *entry), void *context,
                  struct ts_diff_counts *ret_counts, struct ts_infra_error *ret_error) {
    struct diff diff = {.coord = coord, .query = query, .error = ret_error};
    const bool done = find(&diff);
    for (size_t i = 0; done && i < diff.pair_count; i++)
        visit(context, &diff.pairs[i].entry);
    if (done)
        *ret_counts = diff.counts;
    for (size_t i = 0; i < FINDINGS_AT_ONCE; i++)
        ts_rows_release(&diff.rows[i]);
    free(diff.events);
    free(diff.abouts);
    free(diff.pairs);
    free(diff.targets);
    durable__current_release(&diff.current);
    ts_arena_release(&diff.arena);
    return done;
}

struct summing {
    struct ts_diff_sums sums;
    struct ts_infra_error *error;
};

static bool sum_changes(void *context, const struct ts_rows *rows) {
    struct summing *summing = context;
    for (size_t i = 0; i < rows->count; i++) {
        struct ts_fleet_change_key key;
        struct ts_fleet_change change;
        if (!ts_fleet_key_is_change(rows->rows[i].key, &key) || key.page != 0)
            continue;
        const enum ts_fleet_error error = ts_fleet_change_decode(rows->rows[i].value, &change);
        if (error != TS_FLEET_OK)
            return durable__say_damaged(summing->error, "a change of a target", error);
        summing->sums.came += change.came_total;
        summing->sums.went += change.went_total;
        summing->sums.targets++;
    }
    return true;
}

bool ts_diff_sum(struct ts_coord *coord, const struct ts_tenant_id *tenant, uint64_t run_number,
                 struct ts_diff_sums *ret_sums, struct ts_infra_error *ret_error) {
    struct summing summing = {.error = ret_error};
    const struct ts_fleet_runs runs = {run_number, run_number};
    if (!for_changes(coord, tenant, runs, sum_changes, &summing, ret_error))
        return false;
    *ret_sums = summing.sums;
    return true;
}
