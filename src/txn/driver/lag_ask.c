/*
 * Asks the stores for the lag of their standbys: once when a coordinator opens, so that the limit holds for
 * its first transaction too, and then every second in the thread of the heartbeat. Without a limit no store
 * is asked.
 */
#include "driver.h"

#include <stdlib.h>

enum ts_txn_error txn__lag_ask(struct ts_coordinator *coordinator, uint64_t timeout_us, uint32_t *ret_place,
                               struct ts_store_error *ret_error) {
    uint32_t places = coordinator->place_count;
    struct ts_call *calls = calloc(places, sizeof *calls);
    struct ts_call **waiting = calloc(places, sizeof(struct ts_call *));
    enum ts_txn_error error = calls != NULL && waiting != NULL ? TS_TXN_ERROR_OK : TS_TXN_ERROR_NO_MEMORY;
    for (uint32_t place = 0; error == TS_TXN_ERROR_OK && place < places; place++) {
        waiting[place] = &calls[place];
        calls[place] = (struct ts_call){.kind = TS_CALL_LAG, .deadline_ns = txn__deadline_ns(timeout_us)};
        ts_store_start(ts_cluster_store(coordinator->cluster, place), &calls[place]);
    }
    if (error == TS_TXN_ERROR_OK)
        txn__calls_run((struct ts_call *const *)waiting, places);
    pthread_mutex_lock(&coordinator->lock);
    for (uint32_t place = 0; calls != NULL && waiting != NULL && place < places; place++) {
        if (calls[place].error.result == TS_STORE_OK) {
            coordinator->lag_ms[place] = calls[place].lag_ms;
        } else if (calls[place].error.result == TS_STORE_BAD_CONFIGURATION && error == TS_TXN_ERROR_OK) {
            *ret_place = place;
            *ret_error = calls[place].error;
            error = TS_TXN_ERROR_BAD_CONFIG;
        }
    }
    pthread_mutex_unlock(&coordinator->lock);
    free(calls);
    free(waiting); /* NOLINT(bugprone-multi-level-implicit-pointer-conversion) */
    return error;
}
