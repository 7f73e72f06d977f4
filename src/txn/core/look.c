#include "txn/core/look.h"

enum { COORDINATOR, HEARTBEAT, MARK, DECISION, OUTCOME };

void txn__look_keys_init(struct txn__look_keys *keys, const struct txn__gid *gid) {
    txn__key_coordinator(&gid->coordinator, &keys->keys[COORDINATOR]);
    txn__key_heartbeat(&gid->coordinator, &keys->keys[HEARTBEAT]);
    txn__key_mark(&gid->coordinator, &keys->keys[MARK]);
    txn__key_decision(&gid->coordinator, gid->sequence, &keys->keys[DECISION]);
    txn__key_outcome(&gid->coordinator, gid->sequence, &keys->keys[OUTCOME]);
    for (size_t i = 0; i < TXN__LOOK_KEYS; i++)
        keys->bytes[i] = txn__key_bytes(&keys->keys[i]);
}

/* Decodes the rows. Returns false when a row is damaged. The fields of an absent row stay zero. */
static bool understand(const struct ts_row *rows, struct txn__look *look) {
    if (rows[COORDINATOR].version != 0 &&
        !txn__registration_decode(rows[COORDINATOR].value, &look->registration))
        return false;
    look->registration_version = rows[COORDINATOR].version;
    if (rows[HEARTBEAT].version != 0 && !txn__heartbeat_decode(rows[HEARTBEAT].value, &look->heartbeat_ms))
        return false;
    if (rows[MARK].version != 0 && !txn__mark_decode(rows[MARK].value, &look->mark))
        return false;
    look->mark_version = rows[MARK].version;
    if (rows[DECISION].version != 0 &&
        !txn__decision_decode(rows[DECISION].value, &look->decision, &look->participants))
        return false;
    return rows[OUTCOME].version == 0 || txn__outcome_decode(rows[OUTCOME].value, &look->outcome);
}

void txn__look_decode(const struct ts_rows *rows, uint64_t now_ms, struct txn__look *ret_look) {
    ts_assert(rows->count == TXN__LOOK_KEYS);
    struct txn__look look = {.now_ms = now_ms};
    if (!understand(rows->rows, &look))
        look = (struct txn__look){.damaged = true, .now_ms = now_ms};
    *ret_look = look;
}
