/* Reads and replaces schedules and their lists. */
#include "runtime/durable/schedules.h"

#include "findings_impl.h"

#include "os/entropy.h"

#include <stdio.h>
#include <stdlib.h>

enum { FIRST_PLACE = 0, AT_ONCE = 64 };

/* ---- records ---- */

static void take(struct ts_schedule_seen *seen, const struct ts_row *row, uint64_t now_ms) {
    seen->version = row->version;
    seen->now_ms = now_ms;
    seen->is_damaged = false;
    seen->schedule = (struct ts_fleet_schedule){0};
    if (row->version == 0)
        return;
    seen->error = TS_FLEET_TOO_LARGE;
    if (row->value.len <= sizeof seen->bytes) {
        memcpy(seen->bytes, row->value.data, row->value.len);
        seen->error = ts_fleet_schedule_decode(ts_bytes_of(seen->bytes, row->value.len), &seen->schedule);
    }
    seen->is_damaged = seen->error != TS_FLEET_OK;
}

bool ts_schedule_read(struct ts_coord *coord, const struct ts_schedule_ref *ref,
                      struct ts_schedule_seen *ret_seen, struct ts_infra_error *ret_error) {
    const struct ts_fleet_key key = ts_fleet_key_schedule(&ref->tenant, &ref->name);
    const struct ts_bytes bytes = ts_fleet_key_bytes(&key);
    struct ts_rows rows = {0};
    struct ts_coord_call call = {
        .place = FIRST_PLACE, .call = {.kind = TS_CALL_READ, .keys = &bytes, .key_count = 1, .rows = &rows}};
    const bool done = ts_coord_read(coord, &call, 1, ret_error) == TS_STORE_OK;
    if (done) {
        ret_seen->ref = *ref;
        take(ret_seen, &rows.rows[0], call.call.time_ms);
    }
    ts_rows_release(&rows);
    return done;
}

static bool scan(struct ts_coord *coord, const struct ts_fleet_range *range, size_t limit,
                 struct ts_rows *rows, uint64_t *ret_now_ms, struct ts_infra_error *ret_error) {
    struct ts_coord_call call = {.place = FIRST_PLACE,
                                 .call = {.kind = TS_CALL_SCAN,
                                          .from = ts_fleet_key_bytes(&range->from),
                                          .to = ts_fleet_key_bytes(&range->to),
                                          .limit = limit,
                                          .rows = rows}};
    const bool done = ts_coord_read(coord, &call, 1, ret_error) == TS_STORE_OK;
    *ret_now_ms = call.call.time_ms;
    return done;
}

bool ts_schedules_list(struct ts_coord *coord, const struct ts_tenant_id *tenant,
                       bool (*visit)(void *context, const struct ts_schedule_seen *seen), void *context,
                       struct ts_infra_error *ret_error) {
    struct ts_fleet_range range = ts_fleet_range_schedules(tenant);
    struct ts_schedule_seen *seen = calloc(1, sizeof *seen);
    struct ts_rows rows = {0};
    bool good = true;
    if (seen == NULL)
        return durable__no_room(ret_error);
    for (bool is_more = true; is_more;) {
        uint64_t now_ms;
        good = scan(coord, &range, AT_ONCE, &rows, &now_ms, ret_error);
        is_more = good && rows.more && rows.count > 0;
        for (size_t i = 0; good && i < rows.count; i++) {
            struct ts_fleet_key last;
            if (!ts_fleet_key_is_schedule(rows.rows[i].key, &seen->ref.name))
                continue;
            seen->ref.tenant = *tenant;
            take(seen, &rows.rows[i], now_ms);
            is_more = visit(context, seen) && is_more;
            if (ts_fleet_key_of_bytes(rows.rows[i].key, &last))
                ts_fleet_range_skip(&range, &last);
        }
    }
    ts_rows_release(&rows);
    free(seen);
    return good;
}

/* Called after a lost reply. Returns whether the write has reached the store. */
static bool is_there(struct ts_coord *coord, const struct ts_fleet_key *key, struct ts_bytes value,
                     bool is_removal, struct ts_infra_error *ret_error) {
    const struct ts_bytes bytes = ts_fleet_key_bytes(key);
    struct ts_rows rows = {0};
    struct ts_coord_call call = {
        .place = FIRST_PLACE, .call = {.kind = TS_CALL_READ, .keys = &bytes, .key_count = 1, .rows = &rows}};
    bool same = ts_coord_read(coord, &call, 1, ret_error) == TS_STORE_OK;
    if (same)
        same = is_removal ? rows.rows[0].version == 0
                          : rows.rows[0].version != 0 && ts_bytes_equal(rows.rows[0].value, value);
    ts_rows_release(&rows);
    return same;
}

enum ts_schedule_write ts_schedule_write(struct ts_coord *coord, const struct ts_schedule_seen *seen,
                                         const struct ts_fleet_schedule *schedule,
                                         struct ts_infra_error *ret_error) {
    const struct ts_fleet_key key = ts_fleet_key_schedule(&seen->ref.tenant, &seen->ref.name);
    uint8_t bytes[TS_FLEET_SCHEDULE_MAX];
    const size_t len = schedule != NULL ? ts_fleet_schedule_encode(schedule, bytes) : 0;
    const struct ts_bytes value = ts_bytes_of(bytes, len);
    if (schedule != NULL && len == 0)
        return TS_SCHEDULE_TOO_LONG;
    const struct ts_op ops[] = {
        {.kind = TS_OP_CHECK, .key = ts_fleet_key_bytes(&key), .version = seen->version},
        {.kind = schedule != NULL ? TS_OP_PUT : TS_OP_DEL, .key = ts_fleet_key_bytes(&key), .value = value}};
    enum ts_store_result result = TS_STORE_UNKNOWN;
    for (int tries = 0; tries < DURABLE__TRIES && result == TS_STORE_UNKNOWN; tries++) {
        const bool was_lost = tries > 0;
        result = ts_coord_apply(coord, FIRST_PLACE, (struct ts_batch){ops, 2}, ret_error);
        if (result == TS_STORE_CHECK_FAILED && was_lost &&
            is_there(coord, &key, value, schedule == NULL, ret_error))
            result = TS_STORE_OK;
    }
    if (result == TS_STORE_OK)
        return TS_SCHEDULE_WRITTEN;
    return result == TS_STORE_CHECK_FAILED ? TS_SCHEDULE_CHANGED : TS_SCHEDULE_NOT_WRITTEN;
}

/* ---- lists ---- */

static struct ts_fleet_key page_key(const struct ts_schedule_ref *ref, uint64_t list, uint32_t page) {
    const struct ts_fleet_listing_key key = {.name = ref->name, .list = list, .page = page};
    return ts_fleet_key_listing(&ref->tenant, &key);
}

/* Writes a page of a list. Nobody else writes this page, so a repetition is harmless. */
static bool put_page(struct ts_coord *coord, const struct ts_fleet_key *key, struct ts_bytes value,
                     struct ts_infra_error *ret_error) {
    const struct ts_op put = {.kind = TS_OP_PUT, .key = ts_fleet_key_bytes(key), .value = value};
    enum ts_store_result result = TS_STORE_UNKNOWN;
    for (int tries = 0; tries < DURABLE__TRIES && result == TS_STORE_UNKNOWN; tries++)
        result = ts_coord_apply(coord, FIRST_PLACE, (struct ts_batch){&put, 1}, ret_error);
    return result == TS_STORE_OK;
}

static bool write_pages(struct ts_coord *coord, const struct ts_schedule_ref *ref, ts_listing_next *next,
                        void *context, uint8_t *memory, struct ts_schedule_list *list,
                        struct ts_infra_error *ret_error) {
    struct ts_fleet_unit unit;
    bool is_more = next(context, &unit);
    while (is_more) {
        struct ts_fleet_listing page;
        ts_fleet_listing_begin(&page, memory);
        while (is_more && ts_fleet_listing_add(&page, &unit)) {
            list->targets++;
            is_more = next(context, &unit);
        }
        if (list->pages == TS_SCHEDULE_PAGES_MAX)
            return durable__say(ret_error, TS_INFRA_PERMANENT,
                                "the list is longer than 64 MiB; use several schedules");
        const struct ts_fleet_key key = page_key(ref, list->id, list->pages++);
        if (!put_page(coord, &key, ts_bytes_of(memory, ts_fleet_listing_seal(&page)), ret_error))
            return false;
    }
    return true;
}

bool ts_listing_write(struct ts_coord *coord, const struct ts_schedule_ref *ref, ts_listing_next *next,
                      void *context, struct ts_schedule_list *ret_list, struct ts_infra_error *ret_error) {
    struct ts_schedule_list list = {0};
    uint8_t *memory = malloc(TS_FLEET_PAGE_MAX);
    if (memory == NULL)
        return durable__no_room(ret_error);
    bool done = ts_entropy_fill(&list.id, sizeof list.id) ||
                durable__say(ret_error, TS_INFRA_PERMANENT, "the system gives no random bytes");
    list.id |= 1; /* 0 means no list */
    done = done && write_pages(coord, ref, next, context, memory, &list, ret_error);
    free(memory);
    if (done)
        *ret_list = list;
    return done;
}

bool ts_listing_read(struct ts_coord *coord, const struct ts_schedule_ref *ref,
                     const struct ts_schedule_list *list,
                     bool (*visit)(void *context, const struct ts_fleet_unit *unit), void *context,
                     struct ts_infra_error *ret_error) {
    struct ts_rows rows = {0};
    bool good = true;
    for (uint32_t page = 0; good && page < list->pages; page++) {
        const struct ts_fleet_key key = page_key(ref, list->id, page);
        const struct ts_bytes bytes = ts_fleet_key_bytes(&key);
        struct ts_coord_call call = {
            .place = FIRST_PLACE,
            .call = {.kind = TS_CALL_READ, .keys = &bytes, .key_count = 1, .rows = &rows}};
        good = ts_coord_read(coord, &call, 1, ret_error) == TS_STORE_OK;
        if (good && rows.rows[0].version == 0) {
            good = durable__say(ret_error, TS_INFRA_DAMAGED,
                                "a page of the list is missing; 'schedule add --replace' stores it again");
        } else if (good) {
            const enum ts_fleet_error error = ts_fleet_listing_read(rows.rows[0].value, visit, context);
            good = error == TS_FLEET_OK || durable__say_damaged(ret_error, "a page of the list", error);
        }
    }
    ts_rows_release(&rows);
    return good;
}

/* Collects the ids of the lists. Reads only one page of each list. */
bool ts_listings_collect(struct ts_coord *coord, const struct ts_schedule_ref *ref,
                         struct ts_listings *ret_listings, struct ts_infra_error *ret_error) {
    struct ts_fleet_range range = ts_fleet_range_listings(&ref->tenant, &ref->name);
    struct ts_rows rows = {0};
    bool good = true;
    ret_listings->count = 0;
    for (bool is_more = true; is_more && ret_listings->count < TS_LISTINGS_MAX;) {
        struct ts_fleet_listing_key key;
        uint64_t now_ms;
        good = scan(coord, &range, 1, &rows, &now_ms, ret_error);
        is_more = good && rows.count == 1 && ts_fleet_key_is_listing(rows.rows[0].key, &key);
        if (is_more) {
            const struct ts_fleet_key last = page_key(ref, key.list, UINT32_MAX);
            ret_listings->ids[ret_listings->count++] = key.list;
            ts_fleet_range_skip(&range, &last);
        }
    }
    ts_rows_release(&rows);
    return good;
}

static bool remove_list(struct ts_coord *coord, const struct ts_schedule_ref *ref, uint64_t list,
                        struct ts_infra_error *ret_error) {
    struct ts_fleet_key keys[TS_SCHEDULE_PAGES_MAX];
    struct ts_op ops[TS_SCHEDULE_PAGES_MAX];
    for (uint32_t page = 0; page < TS_SCHEDULE_PAGES_MAX; page++) {
        keys[page] = page_key(ref, list, page);
        ops[page] = (struct ts_op){.kind = TS_OP_DEL, .key = ts_fleet_key_bytes(&keys[page])};
    }
    enum ts_store_result result = TS_STORE_UNKNOWN;
    for (int tries = 0; tries < DURABLE__TRIES && result == TS_STORE_UNKNOWN; tries++)
        result = ts_coord_apply(coord, FIRST_PLACE, (struct ts_batch){ops, TS_SCHEDULE_PAGES_MAX}, ret_error);
    return result == TS_STORE_OK;
}

bool ts_listings_remove(struct ts_coord *coord, const struct ts_schedule_ref *ref,
                        const struct ts_listings *listings, struct ts_listings_kept kept,
                        struct ts_infra_error *ret_error) {
    bool done = true;
    for (size_t i = 0; i < listings->count && done; i++)
        if (listings->ids[i] != kept.one && listings->ids[i] != kept.other)
            done = remove_list(coord, ref, listings->ids[i], ret_error);
    return done;
}
