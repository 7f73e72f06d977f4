/* Takes, reads and ends notices. */
#include "runtime/durable/notices.h"

#include "findings_impl.h"

#include "detect/rule.h"
#include "os/grow.h"
#include "runtime/core/fleet_change.h"

#include <stdlib.h>

enum { ROWS_AT_ONCE = 256 };

static uint32_t home_of(struct ts_coord *coord, const struct ts_notice_ref *ref) {
    return ts_coord_target_home(ts_coord_router(coord), ref->key.target.bytes).v;
}

/* ---- list ---- */

static bool remove_row(struct ts_coord *coord, uint32_t place, const struct ts_row *row,
                       struct ts_infra_error *ret_error) {
    const struct ts_op del = {.kind = TS_OP_DEL, .key = row->key};
    return ts_coord_apply(coord, place, (struct ts_batch){&del, 1}, ret_error) == TS_STORE_OK;
}

static bool look(struct ts_coord *coord, const struct ts_coord_call *call, const struct ts_row *row,
                 size_t limit, struct ts_notice_ref ref, struct ts_notice_refs *refs,
                 struct ts_infra_error *ret_error) {
    struct ts_fleet_notice notice;
    const uint64_t now_ms = call->call.time_ms;
    if (!ts_fleet_key_is_notice(row->key, &ref.key) ||
        ts_fleet_notice_decode(row->value, &notice) != TS_FLEET_OK ||
        now_ms > notice.at_ms + TS_NOTICE_KEPT_MS)
        return remove_row(coord, call->place, row, ret_error);
    refs->waiting++;
    if (refs->count == limit || now_ms < notice.not_before_ms)
        return true;
    if (!TS_GROW(refs->list, refs->capacity, refs->count + 1))
        return durable__no_room(ret_error);
    refs->list[refs->count++] = ref;
    return true;
}

static bool list_place(struct ts_coord *coord, const struct ts_tenant_id *tenant, uint32_t place,
                       size_t limit, struct ts_notice_refs *refs, struct ts_infra_error *ret_error) {
    struct ts_fleet_range range = ts_fleet_range_notices(tenant);
    struct ts_rows rows = {0};
    bool good = true;
    for (bool is_more = true; good && is_more && (limit == 0 || refs->count < limit);) {
        struct ts_coord_call call = {.place = place,
                                     .call = {.kind = TS_CALL_SCAN,
                                              .from = ts_fleet_key_bytes(&range.from),
                                              .to = ts_fleet_key_bytes(&range.to),
                                              .limit = ROWS_AT_ONCE,
                                              .rows = &rows}};
        struct ts_fleet_key last;
        good = ts_coord_read(coord, &call, 1, ret_error) == TS_STORE_OK;
        for (size_t i = 0; good && i < rows.count; i++)
            good = look(coord, &call, &rows.rows[i], limit, (struct ts_notice_ref){.tenant = *tenant}, refs,
                        ret_error);
        is_more = good && rows.more && rows.count > 0 &&
                  ts_fleet_key_of_bytes(rows.rows[rows.count - 1].key, &last);
        if (is_more)
            ts_fleet_range_skip(&range, &last);
    }
    ts_rows_release(&rows);
    return good;
}

bool ts_notices_list(struct ts_coord *coord, const struct ts_tenant_id *tenant, size_t limit,
                     struct ts_notice_refs *refs, struct ts_infra_error *ret_error) {
    bool good = true;
    refs->count = refs->waiting = 0;
    for (uint32_t place = 0; good && place < ts_coord_place_count(coord); place++)
        good = list_place(coord, tenant, place, limit, refs, ret_error);
    return good;
}

/* ---- one notice ---- */

/* Reads the notice. Sets taken->version to 0 if the notice no longer exists or is damaged. */
static bool read_notice(struct ts_coord *coord, const struct ts_notice_ref *ref,
                        struct ts_notice_taken *taken, uint64_t *ret_now_ms,
                        struct ts_infra_error *ret_error) {
    const struct ts_fleet_key key = ts_fleet_key_notice(&ref->tenant, &ref->key);
    const struct ts_bytes bytes = ts_fleet_key_bytes(&key);
    struct ts_rows rows = {0};
    struct ts_coord_call call = {
        .place = home_of(coord, ref),
        .call = {.kind = TS_CALL_READ, .keys = &bytes, .key_count = 1, .rows = &rows}};
    const bool done = ts_coord_read(coord, &call, 1, ret_error) == TS_STORE_OK;
    taken->ref = *ref;
    taken->version = 0;
    if (done && rows.rows[0].version != 0 && rows.rows[0].value.len <= sizeof taken->bytes) {
        const size_t len = rows.rows[0].value.len;
        memcpy(taken->bytes, rows.rows[0].value.data, len);
        if (ts_fleet_notice_decode(ts_bytes_of(taken->bytes, len), &taken->notice) == TS_FLEET_OK)
            taken->version = rows.rows[0].version;
    }
    *ret_now_ms = call.call.time_ms;
    ts_rows_release(&rows);
    return done;
}

/* Replaces the notice by `next` (NULL: removes it) if it still has the version that was read. Sets
 * ret_is_done to false if another worker has changed the notice, or if the reply was lost. */
static bool replace(struct ts_coord *coord, const struct ts_notice_taken *taken,
                    const struct ts_fleet_notice *next, bool *ret_is_done, struct ts_infra_error *ret_error) {
    const struct ts_fleet_key key = ts_fleet_key_notice(&taken->ref.tenant, &taken->ref.key);
    uint8_t bytes[TS_FLEET_NOTICE_MAX];
    const struct ts_op ops[] = {
        {.kind = TS_OP_CHECK, .key = ts_fleet_key_bytes(&key), .version = taken->version},
        {.kind = next != NULL ? TS_OP_PUT : TS_OP_DEL,
         .key = ts_fleet_key_bytes(&key),
         .value = ts_bytes_of(bytes, next != NULL ? ts_fleet_notice_encode(next, bytes) : 0)}};
    const enum ts_store_result result =
        ts_coord_apply(coord, home_of(coord, &taken->ref), (struct ts_batch){ops, 2}, ret_error);
    *ret_is_done = result == TS_STORE_OK;
    return result == TS_STORE_OK || result == TS_STORE_CHECK_FAILED || result == TS_STORE_UNKNOWN;
}

/* If the reply is lost, the notice may count as taken although no worker has it. After hold_ms it can be
 * taken again. */
bool ts_notice_take(struct ts_coord *coord, const struct ts_notice_ref *ref, uint64_t hold_ms,
                    struct ts_notice_taken *ret_taken, bool *ret_is_taken, struct ts_infra_error *ret_error) {
    uint64_t now_ms;
    bool is_done = false;
    *ret_is_taken = false;
    if (!read_notice(coord, ref, ret_taken, &now_ms, ret_error))
        return false;
    if (ret_taken->version == 0 || now_ms < ret_taken->notice.not_before_ms)
        return true;
    struct ts_fleet_notice next = ret_taken->notice;
    next.tries++;
    next.not_before_ms = now_ms + hold_ms;
    const uint64_t tries = next.tries, until_ms = next.not_before_ms;
    if (!replace(coord, ret_taken, &next, &is_done, ret_error))
        return false;
    if (!is_done)
        return true;
    if (!read_notice(coord, ref, ret_taken, &now_ms, ret_error))
        return false;
    *ret_is_taken = ret_taken->version != 0 && ret_taken->notice.tries == tries &&
                    ret_taken->notice.not_before_ms == until_ms;
    return true;
}

/* If the reply is lost, the notice may still exist. Then it is sent again. */
bool ts_notice_end(struct ts_coord *coord, const struct ts_notice_taken *taken,
                   struct ts_infra_error *ret_error) {
    bool is_done;
    return replace(coord, taken, NULL, &is_done, ret_error);
}

bool ts_notice_return(struct ts_coord *coord, const struct ts_notice_taken *taken,
                      const struct ts_fleet_notice *notice, uint64_t pause_ms,
                      struct ts_infra_error *ret_error) {
    struct ts_notice_taken *now = malloc(sizeof *now);
    uint64_t now_ms;
    bool is_done;
    if (now == NULL)
        return durable__no_room(ret_error);
    bool good = read_notice(coord, &taken->ref, now, &now_ms, ret_error);
    free(now);
    struct ts_fleet_notice next = *notice;
    next.not_before_ms = now_ms + pause_ms;
    return good && replace(coord, taken, &next, &is_done, ret_error);
}

/* ---- the findings of a notice ---- */

enum { KEYS_EACH = 3, KEY_FINDING = 0, KEY_TRIAGE, KEY_SEEN };

struct gathering {
    struct ts_fleet_finding *ids;
    size_t count;
    struct known {
        struct ts_noticed noticed;
        bool exists;
        bool is_allowed;
        enum ts_triage triage;
        char rule[80], name[256];
    } * known;
};

/* Reads the ids of the added findings, at most TS_NOTICED_MAX, in the first page of the change. */
static bool read_ids(struct ts_coord *coord, const struct ts_notice_taken *taken, struct gathering *gathering,
                     struct ts_infra_error *ret_error) {
    const struct ts_fleet_change_key of = {.run = taken->ref.key.run, .target = taken->ref.key.target};
    const struct ts_fleet_key key = ts_fleet_key_change(&taken->ref.tenant, &of);
    const struct ts_bytes bytes = ts_fleet_key_bytes(&key);
    struct ts_fleet_change change = {0};
    struct ts_rows rows = {0};
    struct ts_coord_call call = {
        .place = home_of(coord, &taken->ref),
        .call = {.kind = TS_CALL_READ, .keys = &bytes, .key_count = 1, .rows = &rows}};
    const bool done = ts_coord_read(coord, &call, 1, ret_error) == TS_STORE_OK;
    if (done && rows.rows[0].version != 0 &&
        ts_fleet_change_decode(rows.rows[0].value, &change) == TS_FLEET_OK) {
        gathering->count = change.came.len / TS_FLEET_FINDING_LEN;
        if (gathering->count > TS_NOTICED_MAX)
            gathering->count = TS_NOTICED_MAX;
        if (gathering->count > 0)
            memcpy(gathering->ids, change.came.data, gathering->count * sizeof *gathering->ids);
    }
    ts_rows_release(&rows);
    return done;
}

static struct ts_bytes copy_text(char *to, size_t size, struct ts_bytes text) {
    const size_t len = text.len < size ? text.len : size;
    if (len > 0)
        memcpy(to, text.data, len);
    return ts_bytes_of(to, len);
}

/* Takes a record of one finding. A damaged record is ignored. If the finding's own record is damaged, the
 * notice omits the finding. */
static bool take_row(void *context, size_t index, const struct ts_row *row) {
    struct gathering *gathering = context;
    struct known *known = &gathering->known[index / KEYS_EACH];
    struct ts_fleet_finding_record record;
    struct ts_fleet_triage triage;
    struct ts_fleet_seen seen;
    if (index % KEYS_EACH == KEY_FINDING && ts_fleet_finding_decode(row->value, &record) == TS_FLEET_OK) {
        known->exists = true;
        known->noticed.rule = copy_text(known->rule, sizeof known->rule, record.rule);
        known->noticed.name = copy_text(known->name, sizeof known->name, record.name);
        known->noticed.severity = record.severity;
    }
    if (index % KEYS_EACH == KEY_TRIAGE && ts_fleet_triage_decode(row->value, &triage) == TS_FLEET_OK)
        known->triage = triage.state;
    if (index % KEYS_EACH == KEY_SEEN && ts_fleet_seen_decode(row->value, &seen) == TS_FLEET_OK) {
        known->noticed.confidence = seen.confidence;
        known->noticed.occurrences = seen.count;
        known->is_allowed = seen.is_allowed;
    }
    return true;
}

static bool read_known(struct ts_coord *coord, const struct ts_notice_taken *taken,
                       struct gathering *gathering, struct ts_infra_error *ret_error) {
    struct durable__key_at *keys = calloc(KEYS_EACH * gathering->count + 1, sizeof *keys);
    if (keys == NULL)
        return durable__no_room(ret_error);
    for (size_t i = 0; i < gathering->count; i++) {
        const struct ts_fleet_finding *id = &gathering->ids[i];
        const uint32_t place = ts_coord_place_of(coord, ts_fleet_route_of_finding(id));
        struct durable__key_at *of = keys + KEYS_EACH * i;
        of[KEY_FINDING] = (struct durable__key_at){ts_fleet_key_finding(&taken->ref.tenant, id), place};
        of[KEY_TRIAGE] = (struct durable__key_at){ts_fleet_key_triage(&taken->ref.tenant, id), place};
        of[KEY_SEEN] = (struct durable__key_at){
            ts_fleet_key_seen(&taken->ref.tenant, id, &taken->ref.key.target, &taken->notice.attempt), place};
        gathering->known[i] = (struct known){.noticed = {.id = *id, .confidence = TS_CONFIDENCE_HIGH}};
    }
    const bool done =
        durable__read_all(coord, keys, KEYS_EACH * gathering->count, take_row, gathering, ret_error);
    free(keys);
    return done;
}

bool ts_notice_findings(struct ts_coord *coord, const struct ts_notice_taken *taken,
                        void (*visit)(void *context, const struct ts_noticed *noticed), void *context,
                        struct ts_infra_error *ret_error) {
    struct gathering gathering = {.ids = calloc(TS_NOTICED_MAX, sizeof *gathering.ids),
                                  .known = calloc(TS_NOTICED_MAX, sizeof *gathering.known)};
    if (gathering.ids == NULL || gathering.known == NULL) {
        free(gathering.ids);
        free(gathering.known);
        return durable__no_room(ret_error);
    }
    const bool good =
        read_ids(coord, taken, &gathering, ret_error) && read_known(coord, taken, &gathering, ret_error);
    for (size_t i = 0; good && i < gathering.count; i++) {
        struct known *known = &gathering.known[i];
        known->noticed.state = durable__state_of(known->triage, known->is_allowed);
        if (known->exists)
            visit(context, &known->noticed);
    }
    free(gathering.ids);
    free(gathering.known);
    return good;
}
