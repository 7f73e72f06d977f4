/*
 * The list of findings, in the order of their ids over all stores.
 *
 *     seen-in rows of each store, sorted ──merge──> groups of one finding ──> current attempts ──> filter ──> visit
 *
 * All rows of a finding are on one store, one after the other. All groups of a window are collected before
 * the records of their targets, findings and triages are read. So a window costs only a few calls.
 */
#include "findings_impl.h"

#include "os/grow.h"
#include "runtime/core/fleet_summary.h"

#include <stdlib.h>

enum { ROWS_FIRST = 256, ROWS_LATER = 2048, WINDOW_ROWS = 8192, WINDOW_LEAST = 128 };

struct stream {
    struct ts_fleet_range range; /* the part that is not read yet */
    struct ts_rows rows;
    size_t at;
    bool is_ended;
    bool has_begun;
};

struct group {
    struct ts_found found;
    size_t from, count; /* the range of the finding's rows */
    bool is_allowed;
    bool has_target; /* the finding is in the target of the filter */
    bool has_record;
};

struct row {
    struct ts_fleet_seen_key key;
    struct ts_fleet_seen seen; /* the path is in the arena */
};

struct list {
    struct ts_coord *coord;
    const struct ts_findings_query *query;
    struct ts_infra_error *error;
    struct stream *streams; /* indexed by place */
    struct ts_coord_call *calls;
    uint32_t places;
    struct durable__current current;
    struct ts_rows again;  /* rows of a finding that is read again */
    struct ts_arena arena; /* memory of the window */
    struct row *rows;
    size_t row_count, row_capacity;
    struct group *groups;
    size_t group_count, group_capacity;
    uint32_t *of_group; /* for each group, the place of its store */
    size_t of_capacity;
};

/* ---- streams ---- */

/* Reads more rows for the streams that have none left. */
static bool refill(struct list *list) {
    size_t count = 0;
    for (uint32_t place = 0; place < list->places; place++) {
        struct stream *stream = &list->streams[place];
        if (stream->is_ended || stream->at < stream->rows.count)
            continue;
        list->calls[count++] =
            (struct ts_coord_call){.place = place,
                                   .call = {.kind = TS_CALL_SCAN,
                                            .from = ts_fleet_key_bytes(&stream->range.from),
                                            .to = ts_fleet_key_bytes(&stream->range.to),
                                            .limit = stream->has_begun ? ROWS_LATER : ROWS_FIRST,
                                            .rows = &stream->rows}};
    }
    if (count == 0)
        return true;
    if (ts_coord_read(list->coord, list->calls, count, list->error) != TS_STORE_OK)
        return false;
    for (size_t i = 0; i < count; i++) {
        struct stream *stream = &list->streams[list->calls[i].place];
        struct ts_fleet_key last;
        stream->at = 0;
        stream->is_ended = stream->rows.count < list->calls[i].call.limit && !stream->rows.more;
        stream->has_begun = true;
        if (stream->rows.count > 0 &&
            ts_fleet_key_of_bytes(stream->rows.rows[stream->rows.count - 1].key, &last))
            ts_fleet_range_skip(&stream->range, &last);
    }
    return true;
}

static const struct ts_row *head_of(const struct stream *stream) {
    return stream->at < stream->rows.count ? &stream->rows.rows[stream->at] : NULL;
}

/* Returns the stream with the next finding; NULL: all streams have ended. */
static struct stream *next_stream(struct list *list) {
    struct stream *next = NULL;
    for (uint32_t place = 0; place < list->places; place++) {
        const struct ts_row *row = head_of(&list->streams[place]);
        if (row != NULL && (next == NULL || ts_bytes_compare(row->key, head_of(next)->key) < 0))
            next = &list->streams[place];
    }
    return next;
}

/* ---- windows ---- */

static bool take_row(struct list *list, const struct ts_row *row, const struct ts_fleet_seen_key *key) {
    struct ts_fleet_seen seen;
    const enum ts_fleet_error error = ts_fleet_seen_decode(row->value, &seen);
    if (error != TS_FLEET_OK)
        return durable__say_damaged(list->error, "a row of a finding", error);
    const char *path = ts_arena_copy(&list->arena, seen.path);
    if (path == NULL || !TS_GROW(list->rows, list->row_capacity, list->row_count + 1) ||
        !durable__current_want(&list->current, &key->target))
        return durable__no_room(list->error);
    seen.path = ts_bytes_of(path, seen.path.len);
    list->rows[list->row_count++] = (struct row){*key, seen};
    return true;
}

/* Takes all rows of the stream's next finding. */
static bool take_group(struct list *list, struct stream *stream) {
    struct ts_fleet_seen_key first, key;
    if (!ts_fleet_key_is_seen(head_of(stream)->key, &first))
        return durable__say(list->error, TS_INFRA_DAMAGED, "a key of a finding is damaged");
    if (!TS_GROW(list->groups, list->group_capacity, list->group_count + 1) ||
        !TS_GROW(list->of_group, list->of_capacity, list->group_count + 1))
        return durable__no_room(list->error);
    struct group *group = &list->groups[list->group_count];
    *group = (struct group){.found = {.id = first.finding}, .from = list->row_count, .is_allowed = true};
    list->of_group[list->group_count++] = (uint32_t)(stream - list->streams);
    for (;;) {
        const struct ts_row *row = head_of(stream);
        if (row == NULL) {
            if (stream->is_ended)
                return true;
            if (!refill(list))
                return false;
            continue;
        }
        if (!ts_fleet_key_is_seen(row->key, &key) ||
            memcmp(&key.finding, &first.finding, sizeof key.finding) != 0)
            return true;
        if (!take_row(list, row, &key))
            return false;
        stream->at++;
        list->groups[list->group_count - 1].count++;
    }
}

/* Fills the window. Sets ret_is_end if no finding follows the window. */
static bool take_window(struct list *list, size_t wanted, bool *ret_is_end) {
    list->row_count = list->group_count = 0;
    ts_arena_clear(&list->arena);
    while (list->group_count < wanted && list->row_count < WINDOW_ROWS) {
        if (!refill(list))
            return false;
        struct stream *stream = next_stream(list);
        *ret_is_end = stream == NULL;
        if (stream == NULL)
            return true;
        if (!take_group(list, stream))
            return false;
    }
    return true;
}

/* ---- findings ---- */

/* Sums up the rows of current attempts. */
static void sum_up(const struct list *list, struct group *group) {
    struct ts_found *found = &group->found;
    for (size_t i = group->from; i < group->from + group->count; i++) {
        const struct row *row = &list->rows[i];
        if (!durable__current_has(&list->current, &row->key.target, &row->key.attempt))
            continue;
        if (found->targets++ == 0) {
            found->first = row->seen;
            found->first_target = row->key.target;
        }
        found->occurrences += row->seen.count;
        if (found->severity < (enum ts_severity)row->seen.severity)
            found->severity = (enum ts_severity)row->seen.severity;
        if (found->confidence < (enum ts_confidence)row->seen.confidence)
            found->confidence = (enum ts_confidence)row->seen.confidence;
        found->knows_head = found->knows_head || row->seen.knows_head;
        found->is_in_head = found->is_in_head || row->seen.is_in_head;
        group->is_allowed = group->is_allowed && row->seen.is_allowed;
        group->has_target = group->has_target || memcmp(&row->key.target, &list->query->filter.target,
                                                        sizeof row->key.target) == 0;
    }
}

static bool has_other_attempts(const struct list *list, const struct group *group) {
    for (size_t i = group->from; i < group->from + group->count; i++) {
        if (!durable__current_has(&list->current, &list->rows[i].key.target, &list->rows[i].key.attempt))
            return true;
    }
    return false;
}

/* Reads the rows of the finding again, and marks their targets to be read again. */
static bool take_again(struct list *list, struct group *group, uint32_t place) {
    struct ts_fleet_range range = ts_fleet_range_seen(&list->query->tenant, &group->found.id);
    group->from = list->row_count;
    group->count = 0;
    for (bool is_end = false; !is_end;) {
        struct ts_coord_call call = {.place = place,
                                     .call = {.kind = TS_CALL_SCAN,
                                              .from = ts_fleet_key_bytes(&range.from),
                                              .to = ts_fleet_key_bytes(&range.to),
                                              .limit = ROWS_LATER,
                                              .rows = &list->again}};
        if (ts_coord_read(list->coord, &call, 1, list->error) != TS_STORE_OK)
            return false;
        is_end = list->again.count < ROWS_LATER && !list->again.more;
        for (size_t i = 0; i < list->again.count; i++) {
            struct ts_fleet_seen_key key;
            struct ts_fleet_key last;
            if (!ts_fleet_key_is_seen(list->again.rows[i].key, &key) ||
                !ts_fleet_key_of_bytes(list->again.rows[i].key, &last))
                continue;
            if (!take_row(list, &list->again.rows[i], &key))
                return false;
            durable__current_forget(&list->current, &key.target);
            ts_fleet_range_skip(&range, &last);
            group->count++;
        }
    }
    return true;
}

/* If a target changed after its rows were read and before its record was read, its findings would be missing:
 * its old rows no longer count, and its new rows were not read. So findings with rows of attempts that are
 * not current are read again. */
static bool settle(struct list *list) {
    if (!durable__current_read(&list->current, list->coord, &list->query->tenant, list->error))
        return false;
    bool is_again = false;
    for (size_t i = 0; i < list->group_count; i++) {
        if (!has_other_attempts(list, &list->groups[i]))
            continue;
        is_again = true;
        if (!take_again(list, &list->groups[i], list->of_group[i]))
            return false;
    }
    return !is_again || durable__current_read(&list->current, list->coord, &list->query->tenant, list->error);
}

/* Takes a row for a group: even indexes are records of findings, odd indexes are triages. */
static bool take_texts(void *context, size_t index, const struct ts_row *row) {
    struct list *list = context;
    struct group *group = &list->groups[index / 2];
    const char *copy = ts_arena_copy(&list->arena, row->value);
    if (copy == NULL)
        return durable__no_room(list->error);
    const struct ts_bytes bytes = ts_bytes_of(copy, row->value.len);
    enum ts_fleet_error error;
    if (index % 2 == 0) {
        error = ts_fleet_finding_decode(bytes, &group->found.record);
        group->has_record = error == TS_FLEET_OK;
    } else {
        error = ts_fleet_triage_decode(bytes, &group->found.triage);
        group->found.has_triage = error == TS_FLEET_OK;
    }
    return error == TS_FLEET_OK || durable__say_damaged(list->error, "the record of a finding", error);
}

static bool read_texts(struct list *list) {
    struct durable__key_at *keys = calloc(2 * list->group_count + 1, sizeof *keys);
    if (keys == NULL)
        return durable__no_room(list->error);
    for (size_t i = 0; i < list->group_count; i++) {
        const struct ts_fleet_finding *id = &list->groups[i].found.id;
        keys[2 * i] =
            (struct durable__key_at){ts_fleet_key_finding(&list->query->tenant, id), list->of_group[i]};
        keys[2 * i + 1] =
            (struct durable__key_at){ts_fleet_key_triage(&list->query->tenant, id), list->of_group[i]};
    }
    const bool done =
        durable__read_all(list->coord, keys, 2 * list->group_count, take_texts, list, list->error);
    free(keys);
    return done;
}

/* Sums up each group, and keeps only the groups that have current rows. */
static void drop_hidden(struct list *list) {
    size_t kept = 0;
    for (size_t i = 0; i < list->group_count; i++) {
        sum_up(list, &list->groups[i]);
        if (list->groups[i].found.targets == 0)
            continue;
        list->of_group[kept] = list->of_group[i];
        list->groups[kept++] = list->groups[i];
    }
    list->group_count = kept;
}

static bool matches(const struct list *list, struct group *group) {
    const struct ts_findings_filter *filter = &list->query->filter;
    struct ts_found *found = &group->found;
    found->state =
        durable__state_of(found->has_triage ? found->triage.state : TS_TRIAGE_OPEN, group->is_allowed);
    return found->severity >= filter->severity && found->confidence >= filter->confidence &&
           (!filter->has_state || found->state == filter->state) &&
           (filter->rule.len == 0 || ts_bytes_equal(filter->rule, found->record.rule)) &&
           (!filter->has_target || group->has_target);
}

/* Keeps the groups that match the filter, at most `limit`. Returns whether more groups match. */
static bool drop_others(struct list *list, size_t limit) {
    size_t kept = 0;
    for (size_t i = 0; i < list->group_count; i++) {
        if (!matches(list, &list->groups[i]))
            continue;
        if (kept == limit) {
            list->group_count = kept;
            return true;
        }
        list->groups[kept++] = list->groups[i];
    }
    list->group_count = kept;
    return false;
}

/* ---- addresses ---- */

/* The groups in the order of their first targets. A key is read once for all groups with the same target. */
struct addresses {
    struct list *list;
    struct group **groups;
    size_t *from; /* for each key: the index of its first group */
    struct durable__key_at *keys;
    size_t count; /* number of keys */
};

static int by_target(const void *a, const void *b) {
    const struct group *const *one = a, *const *other = b;
    return memcmp(&(*one)->found.first_target, &(*other)->found.first_target, sizeof(struct ts_target_id));
}

static bool take_address(void *context, size_t index, const struct ts_row *row) {
    const struct addresses *mine = context;
    struct ts_fleet_summary_reader reader;
    struct ts_fleet_part part;
    if (ts_fleet_summary_open(row->value, &reader) != TS_FLEET_OK ||
        ts_fleet_summary_next(&reader, &part) != TS_FLEET_PART_ORIGIN)
        return true;
    const struct ts_bytes address = part.u.origin.address;
    const char *copy = ts_arena_copy(&mine->list->arena, address);
    if (copy == NULL)
        return durable__no_room(mine->list->error);
    for (size_t i = mine->from[index]; i < mine->from[index + 1]; i++)
        mine->groups[i]->found.first_address = ts_bytes_of(copy, address.len);
    return true;
}

/* Makes one key for each first target: the key of its current summary, which has the address. */
static void put_keys(struct addresses *mine) {
    struct list *list = mine->list;
    for (size_t i = 0; i < list->group_count; i++)
        mine->groups[i] = &list->groups[i];
    qsort(mine->groups, list->group_count, sizeof(struct group *), by_target);
    for (size_t i = 0; i < list->group_count; i++) {
        const struct ts_target_id *target = &mine->groups[i]->found.first_target;
        if (i > 0 && by_target(&mine->groups[i - 1], &mine->groups[i]) == 0)
            continue;
        const struct ts_attempt attempt = durable__current_attempt(&list->current, target);
        mine->keys[mine->count] =
            (struct durable__key_at){ts_fleet_key_summary(target, &attempt, 0),
                                     ts_coord_target_home(ts_coord_router(list->coord), target->bytes).v};
        mine->from[mine->count++] = i;
    }
    mine->from[mine->count] = list->group_count;
}

static bool read_addresses(struct list *list) {
    const size_t count = list->group_count + 1;
    struct addresses mine = {.list = list,
                             .groups = calloc(count, sizeof(struct group *)),
                             .from = calloc(count, sizeof *mine.from),
                             .keys = calloc(count, sizeof *mine.keys)};
    bool done = mine.groups != NULL && mine.from != NULL && mine.keys != NULL;
    if (!done)
        (void)durable__no_room(list->error);
    if (done) {
        put_keys(&mine);
        done = durable__read_all(list->coord, mine.keys, mine.count, take_address, &mine, list->error);
    }
    free(mine.groups);
    free(mine.from);
    free(mine.keys);
    return done;
}

static bool walk(struct list *list, void (*visit)(void *context, const struct ts_found *found), void *context,
                 bool *ret_more) {
    size_t left = list->query->limit;
    *ret_more = false;
    for (bool is_end = false; !is_end && !*ret_more;) {
        const size_t wanted = left + 1 > WINDOW_LEAST ? left + 1 : WINDOW_LEAST;
        if (!take_window(list, wanted, &is_end) || !settle(list))
            return false;
        drop_hidden(list);
        if (!read_texts(list))
            return false;
        *ret_more = drop_others(list, left);
        if (list->query->wants_address && !read_addresses(list))
            return false;
        for (size_t i = 0; i < list->group_count; i++)
            visit(context, &list->groups[i].found);
        left -= list->group_count;
    }
    return true;
}

static void begin(struct list *list) {
    for (uint32_t place = 0; place < list->places; place++) {
        const struct ts_findings_query *query = list->query;
        struct stream *stream = &list->streams[place];
        stream->range = query->has_only ? ts_fleet_range_seen(&query->tenant, &query->only)
                                        : ts_fleet_range_seen_in(&query->tenant);
        stream->is_ended = query->has_only &&
                           place != ts_coord_place_of(list->coord, ts_fleet_route_of_finding(&query->only));
        if (query->has_after)
            stream->range.from = ts_fleet_range_seen(&query->tenant, &query->after).to;
    }
}

bool ts_findings_list(struct ts_coord *coord, const struct ts_findings_query *query,
                      void (*visit)(void *context, const struct ts_found *found), void *context,
                      bool *ret_more, struct ts_infra_error *ret_error) {
    struct list list = {
        .coord = coord, .query = query, .error = ret_error, .places = ts_coord_place_count(coord)};
    list.streams = calloc(list.places, sizeof *list.streams);
    list.calls = calloc(list.places, sizeof *list.calls);
    bool done = false;
    if (list.streams == NULL || list.calls == NULL) {
        (void)durable__no_room(ret_error);
    } else {
        begin(&list);
        done = walk(&list, visit, context, ret_more);
    }
    for (uint32_t place = 0; list.streams != NULL && place < list.places; place++)
        ts_rows_release(&list.streams[place].rows);
    free(list.streams);
    free(list.calls);
    free(list.rows);
    free(list.groups);
    free(list.of_group);
    ts_rows_release(&list.again);
    durable__current_release(&list.current);
    ts_arena_release(&list.arena);
    return done;
}
