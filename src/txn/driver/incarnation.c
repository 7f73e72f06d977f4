/*
 * The uuids of this process: registers them on stores, and switches to a new uuid after the process was
 * fenced.
 */
#include "driver.h"
#include "os/failpoint.h"

#include "os/entropy.h"

#include <stdlib.h>

static struct txn__incarnation *incarnation_new(uint32_t place_count) {
    struct txn__incarnation *incarnation = calloc(1, sizeof *incarnation);
    if (incarnation == NULL)
        return NULL;
    incarnation->deciders = calloc(place_count, sizeof *incarnation->deciders);
    incarnation->seats = calloc(place_count, sizeof *incarnation->seats);
    if (incarnation->deciders == NULL || incarnation->seats == NULL ||
        !ts_entropy_fill(incarnation->uuid.bytes, TXN__UUID_LEN)) {
        txn__incarnation_free(incarnation);
        return NULL;
    }
    txn__marks_init(&incarnation->marks, incarnation->deciders, place_count);
    return incarnation;
}

void txn__incarnation_free(struct txn__incarnation *incarnation) {
    if (incarnation == NULL)
        return;
    free(incarnation->deciders);
    free(incarnation->seats);
    free(incarnation);
}

void txn__incarnation_retire(struct ts_coordinator *coordinator, struct txn__incarnation *incarnation) {
    if (incarnation->retired)
        return;
    incarnation->retired = true;
    if (coordinator->current == incarnation)
        coordinator->current = NULL;
}

struct txn__incarnation *txn__incarnation_current(struct ts_coordinator *coordinator) {
    if (coordinator->current == NULL) {
        coordinator->current = incarnation_new(coordinator->place_count);
        if (coordinator->current == NULL)
            return NULL;
        coordinator->current->next = coordinator->incarnations;
        coordinator->incarnations = coordinator->current;
    }
    return coordinator->current;
}

struct txn__entry *txn__entry_take(struct ts_coordinator *coordinator) {
    struct txn__entry *entry = coordinator->free_entries;
    if (entry == NULL)
        return calloc(1, sizeof *entry);
    coordinator->free_entries = entry->next;
    entry->next = NULL;
    return entry;
}

void txn__entry_give(struct ts_coordinator *coordinator, struct txn__entry *entry) {
    entry->next = coordinator->free_entries;
    coordinator->free_entries = entry;
}

/* Reads the coordinator's registration on a store. */
static enum ts_store_result read_seat(struct ts_coordinator *coordinator, const struct txn__uuid *uuid,
                                      uint32_t place, struct txn__look *ret_look,
                                      struct ts_store_error *ret_error) {
    struct txn__gid gid = {.coordinator = *uuid, .sequence = 1, .decider = place};
    struct txn__look_keys keys;
    txn__look_keys_init(&keys, &gid);
    struct ts_rows rows = {0};
    struct ts_call call = {.kind = TS_CALL_READ,
                           .keys = keys.bytes,
                           .key_count = TXN__LOOK_KEYS,
                           .rows = &rows,
                           .deadline_ns = txn__deadline_ns(coordinator->config.timeouts.shard_rpc_us)};
    enum ts_store_result result = ts_store_run(ts_cluster_store(coordinator->cluster, place), &call);
    if (result == TS_STORE_OK)
        txn__look_decode(&rows, call.time_ms, ret_look);
    *ret_error = call.error;
    ts_rows_release(&rows);
    return result;
}

/* Registers on a store. If the reply is lost, reads what the store has. Only this process uses the uuid, so
 * an existing value is its own registration or a fence. */
static enum ts_store_result register_seat(struct ts_coordinator *coordinator, const struct txn__uuid *uuid,
                                          uint32_t place, struct txn__look *ret_look,
                                          struct ts_store_error *ret_error) {
    enum ts_store_result result = read_seat(coordinator, uuid, place, ret_look, ret_error);
    if (result != TS_STORE_OK || ret_look->registration_version != 0)
        return result;
    struct txn__own own;
    uint64_t total_ms = (coordinator->config.timeouts.total_us + 999) / 1000;
    txn__own_register(&(struct txn__register){uuid, total_ms, ret_look->now_ms}, &own);
    struct ts_call call = {.kind = TS_CALL_APPLY,
                           .batch = txn__own_batch(&own),
                           .deadline_ns = txn__deadline_ns(coordinator->config.timeouts.shard_rpc_us)};
    result = ts_store_run(ts_cluster_store(coordinator->cluster, place), &call);
    (void)ts_failpoint(TS_FAILPOINT_AFTER_REGISTER);
    if (result != TS_STORE_OK && result != TS_STORE_UNKNOWN && result != TS_STORE_CHECK_FAILED) {
        *ret_error = call.error;
        return result;
    }
    result = read_seat(coordinator, uuid, place, ret_look, ret_error);
    if (result == TS_STORE_OK && ret_look->registration_version == 0) {
        *ret_error = call.error; /* the reply was lost, and the store may still receive the batch */
        return call.error.result;
    }
    return result;
}

bool txn__seat_take(struct ts_coordinator *coordinator, struct txn__incarnation *incarnation, uint32_t place,
                    struct ts_store_error *ret_error) {
    struct txn__seat *seat = &incarnation->seats[place];
    bool good = true;
    pthread_mutex_lock(&coordinator->registering);
    if (!seat->registered) {
        struct txn__look look;
        enum ts_store_result result = register_seat(coordinator, &incarnation->uuid, place, &look, ret_error);
        pthread_mutex_lock(&coordinator->lock);
        good = result == TS_STORE_OK && !look.damaged && look.registration.state == TXN__REGISTERED;
        if (good) {
            seat->registration = look.registration_version;
            seat->registered = true;
        } else if (result == TS_STORE_OK) {
            seat->fenced = true;
            txn__incarnation_retire(coordinator, incarnation);
        }
        pthread_mutex_unlock(&coordinator->lock);
    }
    pthread_mutex_unlock(&coordinator->registering);
    return good;
}
