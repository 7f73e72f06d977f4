/*
 * A report from the pages of many targets.
 *
 *     which targets ──> their pages, as pieces ──> their summaries ──> pieces of one finding joined ──> filter ──> report
 *
 * A piece is one finding in one page. A sweep removes the pages of an attempt before its summary. So if the
 * summary still exists after the pages were read, the pages were complete. If the summary no longer exists,
 * the target has changed meanwhile, and is read again.
 */
#include "gather.h"

#include "base/hex.h"
#include "os/grow.h"

#include <stdlib.h>

enum { TARGETS_AT_ONCE = 16, PAGES_AT_ONCE = 4, TARGETS_SCAN = 1000, ROUNDS_MAX = 5 };

/* ---- which targets ---- */

static bool add_target(struct gather *gather, const struct ts_target_id *id,
                       const struct ts_attempt *attempt) {
    if (!TS_GROW(gather->targets, gather->target_capacity, gather->target_count + 1))
        return durable__no_room(gather->error);
    gather->targets[gather->target_count++] = (struct gather_target){.id = *id, .attempt = *attempt};
    return true;
}

static bool take_targets(struct gather *gather, const struct ts_rows *rows) {
    for (size_t i = 0; i < rows->count; i++) {
        struct ts_target_id id;
        struct ts_fleet_target target;
        if (!ts_fleet_key_is_target(rows->rows[i].key, &id))
            continue;
        const enum ts_fleet_error error = ts_fleet_target_decode(rows->rows[i].value, &target);
        if (error != TS_FLEET_OK)
            return durable__say_damaged(gather->error, "the record of a target", error);
        if (!add_target(gather, &id, &target.attempt))
            return false;
    }
    return true;
}

/* Visits every row of a range on one store. */
static bool for_range(struct gather *gather, uint32_t place, struct ts_fleet_range range, size_t at_once,
                      bool (*visit)(struct gather *gather, const struct ts_rows *rows)) {
    for (;;) {
        struct ts_coord_call call = {.place = place,
                                     .call = {.kind = TS_CALL_SCAN,
                                              .from = ts_fleet_key_bytes(&range.from),
                                              .to = ts_fleet_key_bytes(&range.to),
                                              .limit = at_once,
                                              .rows = &gather->rows}};
        struct ts_fleet_key last;
        if (ts_coord_read(gather->coord, &call, 1, gather->error) != TS_STORE_OK ||
            !visit(gather, &gather->rows))
            return false;
        if (gather->rows.count == 0 || (gather->rows.count < at_once && !gather->rows.more) ||
            !ts_fleet_key_of_bytes(gather->rows.rows[gather->rows.count - 1].key, &last))
            return true;
        ts_fleet_range_skip(&range, &last);
    }
}

static bool want_seen(struct gather *gather, const struct ts_rows *rows) {
    for (size_t i = 0; i < rows->count; i++) {
        struct ts_fleet_seen_key key;
        if (ts_fleet_key_is_seen(rows->rows[i].key, &key) &&
            !durable__current_want(&gather->current, &key.target))
            return durable__no_room(gather->error);
    }
    return true;
}

/* Lists all targets, the targets that have the finding, or the target of the filter. */
static bool choose_targets(struct gather *gather) {
    const struct ts_findings_scope *scope = gather->scope;
    if (!scope->has_finding && !scope->filter.has_target) {
        for (uint32_t place = 0; place < ts_coord_place_count(gather->coord); place++) {
            if (!for_range(gather, place, ts_fleet_range_targets(&scope->tenant), TARGETS_SCAN, take_targets))
                return false;
        }
        return true;
    }
    if (scope->filter.has_target) {
        if (!durable__current_want(&gather->current, &scope->filter.target))
            return durable__no_room(gather->error);
    } else if (!for_range(gather,
                          ts_coord_place_of(gather->coord, ts_fleet_route_of_finding(&scope->finding)),
                          ts_fleet_range_seen(&scope->tenant, &scope->finding), TARGETS_SCAN, want_seen)) {
        return false;
    }
    if (!durable__current_read(&gather->current, gather->coord, &scope->tenant, gather->error))
        return false;
    for (size_t i = 0; i < gather->current.capacity; i++) {
        const struct durable__current_entry *entry = &gather->current.entries[i];
        if (entry->is_used && entry->exists && !add_target(gather, &entry->id, &entry->attempt))
            return false;
    }
    return true;
}

/* ---- pages ---- */

/* The functions below copy into the report's memory. When memory runs out, the copies are empty, and
 * no_memory is set. */
static const char *hex_of(struct gather *gather, struct ts_bytes bytes) {
    char *text = ts_arena_take(&gather->arena->arena, 2 * bytes.len + 1);
    if (text == NULL) {
        gather->no_memory = true;
        return "";
    }
    *ts_hex_encode(bytes, text) = '\0';
    return text;
}

static struct ts_bytes copy_of(struct gather *gather, struct ts_bytes bytes) {
    const char *copy = ts_arena_copy(&gather->arena->arena, bytes);
    gather->no_memory = gather->no_memory || copy == NULL;
    return copy == NULL ? TS_BYTES("") : ts_bytes_of(copy, bytes.len);
}

static bool take_commit(struct gather *gather, const struct ts_fleet_commit *commit) {
    if (!TS_GROW(gather->commits, gather->commit_capacity, gather->commit_count + 1))
        return durable__no_room(gather->error);
    gather->commits[gather->commit_count++] =
        (struct ts_report_commit){.oid = hex_of(gather, commit->oid),
                                  .author_name = copy_of(gather, commit->author_name),
                                  .author_mail = copy_of(gather, commit->author_mail),
                                  .author_time_s = commit->author_time_s,
                                  .author_zone_minutes = commit->author_zone_minutes};
    return true;
}

static struct ts_report_occurrence occurrence_of(struct gather *gather, const struct ts_fleet_place *place,
                                                 uint32_t target) {
    const bool is_kind = place->place <= TS_PLACE_INPUT;
    return (struct ts_report_occurrence){.target = target,
                                         .commit = place->commit == TS_FLEET_NO_COMMIT
                                                       ? TS_REPORT_NONE
                                                       : (uint32_t)(gather->page_commits + place->commit),
                                         .place = is_kind ? (enum ts_place)place->place : TS_PLACE_FILE,
                                         .object = hex_of(gather, place->object),
                                         .path = copy_of(gather, place->path),
                                         .line = place->line,
                                         .column = place->column,
                                         .end_line = place->end_line,
                                         .end_column = place->end_column,
                                         .is_allowed = place->is_allowed};
}

static bool take_entry(struct gather *gather, uint32_t target, const struct ts_fleet_entry *entry) {
    if (!TS_GROW(gather->pieces, gather->piece_capacity, gather->piece_count + 1))
        return durable__no_room(gather->error);
    struct gather_piece piece = {.target = target, .entry = *entry, .first = gather->place_count};
    piece.entry.rule = copy_of(gather, entry->rule);
    piece.entry.redacted = copy_of(gather, entry->redacted);
    piece.entry.excerpt = copy_of(gather, entry->excerpt);
    for (size_t i = 0; i < entry->ref_listed; i++)
        piece.entry.refs[i] = copy_of(gather, entry->refs[i]);
    if (entry->has_head)
        piece.head = occurrence_of(gather, &entry->head, target);
    gather->pieces[gather->piece_count++] = piece;
    return true;
}

static bool take_place(struct gather *gather, uint32_t target, const struct ts_fleet_place *place) {
    if (!TS_GROW(gather->places, gather->place_capacity, gather->place_count + 1))
        return durable__no_room(gather->error);
    gather->places[gather->place_count++] = occurrence_of(gather, place, target);
    gather->pieces[gather->piece_count - 1].count++;
    return true;
}

static bool is_wanted(const struct gather *gather, const struct ts_fleet_entry *entry) {
    return !gather->scope->has_finding ||
           memcmp(&entry->finding, &gather->scope->finding, sizeof entry->finding) == 0;
}

static bool take_page(struct gather *gather, uint32_t target, struct ts_bytes bytes) {
    struct ts_fleet_page_reader reader;
    struct ts_fleet_item item;
    const enum ts_fleet_error error = ts_fleet_page_open(bytes, &reader);
    if (error != TS_FLEET_OK)
        return durable__say_damaged(gather->error, "a page of occurrences", error);
    gather->page_commits = gather->commit_count;
    bool takes = false, good = true;
    while (good) {
        switch (ts_fleet_page_next(&reader, &item)) {
        case TS_FLEET_ITEM_END:
            return !gather->no_memory || durable__no_room(gather->error);
        case TS_FLEET_ITEM_BAD:
            return durable__say_damaged(gather->error, "a page of occurrences", TS_FLEET_BAD_FIELD);
        case TS_FLEET_ITEM_COMMIT:
            good = take_commit(gather, &item.commit);
            break;
        case TS_FLEET_ITEM_ENTRY:
            takes = is_wanted(gather, &item.entry);
            good = !takes || take_entry(gather, target, &item.entry);
            break;
        case TS_FLEET_ITEM_PLACE:
            good = !takes || take_place(gather, target, &item.place);
            break;
        }
    }
    return false;
}

/* Takes the pages of one target that are in the range. */
static bool take_rest(struct gather *gather, uint32_t index, struct ts_fleet_range range) {
    const struct gather_target *target = &gather->targets[index];
    const uint32_t home = ts_coord_target_home(ts_coord_router(gather->coord), target->id.bytes).v;
    for (;;) {
        struct ts_coord_call call = {.place = home,
                                     .call = {.kind = TS_CALL_SCAN,
                                              .from = ts_fleet_key_bytes(&range.from),
                                              .to = ts_fleet_key_bytes(&range.to),
                                              .limit = PAGES_AT_ONCE,
                                              .rows = &gather->rows}};
        struct ts_fleet_key last;
        if (ts_coord_read(gather->coord, &call, 1, gather->error) != TS_STORE_OK)
            return false;
        for (size_t i = 0; i < gather->rows.count; i++) {
            if (!take_page(gather, index, gather->rows.rows[i].value))
                return false;
        }
        if (gather->rows.count < PAGES_AT_ONCE ||
            !ts_fleet_key_of_bytes(gather->rows.rows[gather->rows.count - 1].key, &last))
            return true;
        ts_fleet_range_skip(&range, &last);
    }
}

/* Reads the first pages of several targets at the same time, and then the other pages, target by target. */
static bool take_pages(struct gather *gather, uint32_t from, uint32_t count) {
    struct ts_coord_call calls[TARGETS_AT_ONCE];
    struct ts_fleet_range ranges[TARGETS_AT_ONCE];
    for (uint32_t i = 0; i < count; i++) {
        const struct gather_target *target = &gather->targets[from + i];
        ranges[i] = ts_fleet_range_occurrences(&target->id, &target->attempt);
        calls[i] = (struct ts_coord_call){
            .place = ts_coord_target_home(ts_coord_router(gather->coord), target->id.bytes).v,
            .call = {.kind = TS_CALL_SCAN,
                     .from = ts_fleet_key_bytes(&ranges[i].from),
                     .to = ts_fleet_key_bytes(&ranges[i].to),
                     .limit = PAGES_AT_ONCE,
                     .rows = &gather->many[i]}};
    }
    if (ts_coord_read(gather->coord, calls, count, gather->error) != TS_STORE_OK)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        const struct ts_rows *rows = &gather->many[i];
        struct ts_fleet_key last;
        for (size_t j = 0; j < rows->count; j++) {
            if (!take_page(gather, from + i, rows->rows[j].value))
                return false;
        }
        if (rows->count < PAGES_AT_ONCE || !ts_fleet_key_of_bytes(rows->rows[rows->count - 1].key, &last))
            continue;
        ts_fleet_range_skip(&ranges[i], &last);
        if (!take_rest(gather, from + i, ranges[i]))
            return false;
    }
    return true;
}

/* ---- summaries ---- */

static bool take_summary(void *context, size_t index, const struct ts_row *row) {
    struct gather *gather = context;
    struct gather_target *target = &gather->targets[gather->summaries_from + index];
    target->summary = copy_of(gather, row->value);
    return !gather->no_memory || durable__no_room(gather->error);
}

static bool take_summaries(struct gather *gather, uint32_t from, uint32_t count) {
    struct durable__key_at keys[TARGETS_AT_ONCE];
    for (uint32_t i = 0; i < count; i++) {
        const struct gather_target *target = &gather->targets[from + i];
        keys[i] = (struct durable__key_at){
            ts_fleet_key_summary(&target->id, &target->attempt, 0),
            ts_coord_target_home(ts_coord_router(gather->coord), target->id.bytes).v};
    }
    gather->summaries_from = from;
    return durable__read_all(gather->coord, keys, count, take_summary, gather, gather->error);
}

/* Adds the targets that have changed meanwhile to the list again, with their new attempts. */
static bool again(struct gather *gather, size_t from, size_t to) {
    durable__current_release(&gather->current);
    for (size_t i = from; i < to; i++) {
        if (gather->targets[i].summary.len == 0 &&
            !durable__current_want(&gather->current, &gather->targets[i].id))
            return durable__no_room(gather->error);
    }
    if (!durable__current_read(&gather->current, gather->coord, &gather->scope->tenant, gather->error))
        return false;
    for (size_t i = 0; i < gather->current.capacity; i++) {
        const struct durable__current_entry *entry = &gather->current.entries[i];
        if (entry->is_used && entry->exists && !add_target(gather, &entry->id, &entry->attempt))
            return false;
    }
    return true;
}

static bool collect(struct gather *gather) {
    if (!choose_targets(gather))
        return false;
    size_t from = 0;
    for (int round = 0; from < gather->target_count; round++) {
        const size_t to = gather->target_count;
        if (round == ROUNDS_MAX)
            return durable__say(gather->error, TS_INFRA_RETRYABLE,
                                "targets change faster than they can be read; try again");
        for (size_t i = from; i < to; i += TARGETS_AT_ONCE) {
            const size_t left = to - i;
            const uint32_t count = left < TARGETS_AT_ONCE ? (uint32_t)left : TARGETS_AT_ONCE;
            if (!take_pages(gather, (uint32_t)i, count) || !take_summaries(gather, (uint32_t)i, count))
                return false;
        }
        if (!again(gather, from, to))
            return false;
        from = to;
    }
    return true;
}

bool ts_findings_report(struct ts_coord *coord, const struct ts_findings_scope *scope,
                        struct ts_report *ret_report, struct ts_infra_error *ret_error) {
    struct gather gather = {.coord = coord, .scope = scope, .error = ret_error};
    gather.arena = calloc(1, sizeof *gather.arena);
    gather.many = calloc(TARGETS_AT_ONCE, sizeof *gather.many);
    const bool done = gather.arena == NULL || gather.many == NULL
                          ? durable__no_room(ret_error)
                          : collect(&gather) && durable__gather_assemble(&gather, ret_report);
    for (size_t i = 0; gather.many != NULL && i < TARGETS_AT_ONCE; i++)
        ts_rows_release(&gather.many[i]);
    free(gather.many);
    ts_rows_release(&gather.rows);
    durable__current_release(&gather.current);
    free(gather.targets);
    free(gather.pieces);
    if (!done) {
        free(gather.commits);
        free(gather.places);
        durable__gather_free_memory(gather.arena);
    }
    return done;
}
