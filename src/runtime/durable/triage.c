/* The states of findings, and people's decisions about them. */
#include "findings_impl.h"

#include <stdio.h>

static const char *const state_names[] = {
#define X(suffix, name) name,
    TS_FLEET_FINDING_STATES(X)
#undef X
};

const char *ts_fleet_finding_state_name(enum ts_fleet_finding_state state) {
    return state_names[state];
}

bool ts_fleet_finding_state_parse(struct ts_bytes name, enum ts_fleet_finding_state *ret_state) {
    for (size_t i = 0; i < TS_FLEET_FINDING_STATE_COUNT; i++) {
        if (ts_bytes_equal(name, ts_bytes_of_cstring(state_names[i]))) {
            *ret_state = (enum ts_fleet_finding_state)i;
            return true;
        }
    }
    return false;
}

enum ts_fleet_finding_state durable__state_of(enum ts_triage triage, bool is_allowed) {
    switch (triage) {
    case TS_TRIAGE_FALSE_POSITIVE:
        return TS_FLEET_FINDING_FALSE_POSITIVE;
    case TS_TRIAGE_REVOKED:
        return TS_FLEET_FINDING_REVOKED;
    case TS_TRIAGE_ACCEPTED:
        return TS_FLEET_FINDING_ACCEPTED;
    case TS_TRIAGE_OPEN:
    case TS_TRIAGE_COUNT:
        break;
    }
    return is_allowed ? TS_FLEET_FINDING_ALLOWED : TS_FLEET_FINDING_OPEN;
}

bool durable__say(struct ts_infra_error *ret_error, enum ts_infra_kind kind, const char *text) {
    ret_error->kind = kind;
    snprintf(ret_error->text, sizeof ret_error->text, "%s", text);
    return false;
}

bool durable__say_damaged(struct ts_infra_error *ret_error, const char *what, enum ts_fleet_error error) {
    ret_error->kind = TS_INFRA_DAMAGED;
    snprintf(ret_error->text, sizeof ret_error->text, "%s: %s", what, ts_fleet_error_text(error));
    return false;
}

bool durable__no_room(struct ts_infra_error *ret_error) {
    return durable__say(ret_error, TS_INFRA_RETRYABLE, "out of memory");
}

/* Reads the finding's record and its triage. */
static bool read_both(struct ts_coord *coord, const struct ts_triage_query *query, struct ts_rows *rows,
                      uint64_t *ret_now_ms, struct ts_infra_error *ret_error) {
    const struct ts_fleet_key record = ts_fleet_key_finding(&query->tenant, &query->finding);
    const struct ts_fleet_key triage = ts_fleet_key_triage(&query->tenant, &query->finding);
    const struct ts_bytes keys[2] = {ts_fleet_key_bytes(&record), ts_fleet_key_bytes(&triage)};
    struct ts_coord_call call = {.place =
                                     ts_coord_place_of(coord, ts_fleet_route_of_finding(&query->finding)),
                                 .call = {.kind = TS_CALL_READ, .keys = keys, .key_count = 2, .rows = rows}};
    if (ts_coord_read(coord, &call, 1, ret_error) != TS_STORE_OK)
        return false;
    *ret_now_ms = call.call.time_ms;
    return true;
}

bool ts_triage_get(struct ts_coord *coord, const struct ts_triage_query *query, struct ts_triage_room *room,
                   bool *ret_exists, struct ts_fleet_triage *ret_triage, struct ts_infra_error *ret_error) {
    struct ts_rows rows = {0};
    uint64_t now_ms;
    bool done = read_both(coord, query, &rows, &now_ms, ret_error);
    if (done) {
        const struct ts_bytes stored = rows.rows[1].value;
        *ret_exists = rows.rows[0].version != 0;
        *ret_triage = (struct ts_fleet_triage){.state = TS_TRIAGE_OPEN};
        if (rows.rows[1].version != 0 && stored.len <= sizeof room->bytes) {
            memcpy(room->bytes, stored.data, stored.len);
            const enum ts_fleet_error error =
                ts_fleet_triage_decode(ts_bytes_of(room->bytes, stored.len), ret_triage);
            done = error == TS_FLEET_OK || durable__say_damaged(ret_error, "the triage of a finding", error);
        }
    }
    ts_rows_release(&rows);
    return done;
}

bool ts_triage_set(struct ts_coord *coord, const struct ts_triage_query *query,
                   const struct ts_fleet_triage *triage, uint64_t *ret_at_ms,
                   struct ts_infra_error *ret_error) {
    struct ts_rows rows = {0};
    struct ts_fleet_triage stored = *triage;
    const bool read = read_both(coord, query, &rows, &stored.at_ms, ret_error);
    ts_rows_release(&rows);
    if (!read)
        return false;
    uint8_t bytes[TS_FLEET_TRIAGE_MAX];
    const struct ts_fleet_key key = ts_fleet_key_triage(&query->tenant, &query->finding);
    const struct ts_op put = {.kind = TS_OP_PUT,
                              .key = ts_fleet_key_bytes(&key),
                              .value = ts_bytes_of(bytes, ts_fleet_triage_encode(&stored, bytes))};
    /* Storing the same decision twice is harmless. */
    enum ts_store_result result = TS_STORE_UNKNOWN;
    for (int tries = 0; tries < DURABLE__TRIES && result == TS_STORE_UNKNOWN; tries++)
        result = ts_coord_apply(coord, ts_coord_place_of(coord, ts_fleet_route_of_finding(&query->finding)),
                                (struct ts_batch){&put, 1}, ret_error);
    *ret_at_ms = stored.at_ms;
    return result == TS_STORE_OK;
}
