/*
 * Opens and closes this process's coordinator, and writes its metrics.
 */
#include "driver.h"

#include "os/entropy.h"
#include "settle.h"

#include <stdlib.h>

_Static_assert(TS_TXN_PLACES_MAX == TS_CLUSTER_STORES_MAX,
               "a transaction may touch every store of a cluster");

static void init_locks(struct ts_coordinator *coordinator) {
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&coordinator->care_wake, &monotonic);
    pthread_cond_init(&coordinator->heart_wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_init(&coordinator->registering, NULL);
    pthread_mutex_init(&coordinator->lock, NULL);
    pthread_mutex_init(&coordinator->metrics_lock, NULL);
}

static void free_coordinator(struct ts_coordinator *coordinator) {
    while (coordinator->active != NULL) {
        struct txn__active *active = coordinator->active;
        coordinator->active = active->next_of_all;
        txn__active_free(active);
    }
    while (coordinator->incarnations != NULL) {
        struct txn__incarnation *incarnation = coordinator->incarnations;
        coordinator->incarnations = incarnation->next;
        for (uint32_t place = 0; place < coordinator->place_count; place++) {
            while (incarnation->deciders[place].first != NULL) {
                struct txn__entry *entry = incarnation->deciders[place].first;
                txn__marks_end(&incarnation->marks, entry);
                free(entry);
            }
        }
        txn__incarnation_free(incarnation);
    }
    while (coordinator->free_entries != NULL) {
        struct txn__entry *entry = coordinator->free_entries;
        coordinator->free_entries = entry->next;
        free(entry);
    }
    pthread_cond_destroy(&coordinator->care_wake);
    pthread_cond_destroy(&coordinator->heart_wake);
    pthread_mutex_destroy(&coordinator->registering);
    pthread_mutex_destroy(&coordinator->lock);
    pthread_mutex_destroy(&coordinator->metrics_lock);
    free(coordinator->conflicts);
    free(coordinator->adaptive);
    free(coordinator->breakers);
    free(coordinator->lag_ms);
    free(coordinator->in_order_until_us);
    free(coordinator->metrics);
    free(coordinator->store_metrics);
    free(coordinator);
}

/* Makes everything in the coordinator except the threads. Returns false when that fails. */
static bool fill(struct ts_coordinator *coordinator) {
    uint32_t places = coordinator->place_count;
    uint64_t now_us = txn__now_us();
    uint64_t seed;
    coordinator->conflicts = calloc(places, sizeof *coordinator->conflicts);
    coordinator->adaptive = calloc(places, sizeof *coordinator->adaptive);
    coordinator->breakers = calloc(places, sizeof *coordinator->breakers);
    coordinator->lag_ms = calloc(places, sizeof *coordinator->lag_ms);
    coordinator->in_order_until_us = calloc(places, sizeof *coordinator->in_order_until_us);
    coordinator->metrics = calloc(1, sizeof *coordinator->metrics);
    coordinator->store_metrics = calloc(places, sizeof *coordinator->store_metrics);
    if (coordinator->conflicts == NULL || coordinator->breakers == NULL || coordinator->adaptive == NULL ||
        coordinator->lag_ms == NULL || coordinator->in_order_until_us == NULL ||
        coordinator->metrics == NULL || coordinator->store_metrics == NULL ||
        !ts_entropy_fill(&seed, sizeof seed) || txn__incarnation_current(coordinator) == NULL)
        return false;
    ts_prng_init(&coordinator->prng, seed);
    ts_txn_admission_init(&coordinator->admission, &coordinator->config.admission);
    ts_txn_deadlock_init(&coordinator->detector, &coordinator->config.deadlock);
    ts_txn_metrics_init(coordinator->metrics, coordinator->store_metrics, places);
    for (uint32_t place = 0; place < places; place++) {
        ts_txn_breaker_init(&coordinator->breakers[place], &coordinator->config.breaker);
        ts_txn_conflict_init(&coordinator->conflicts[place], &coordinator->config.conflict);
        ts_txn_adaptive_init(&coordinator->adaptive[place], &coordinator->config, now_us);
        ts_txn_admission_set_store_limit(
            &coordinator->admission, (struct ts_txn_store_limit){place, coordinator->adaptive[place].limit},
            now_us);
    }
    return true;
}

const struct ts_txn_config *ts_coordinator_config(const struct ts_coordinator *coordinator) {
    return &coordinator->config;
}

static void stop(struct ts_coordinator *coordinator) {
    pthread_mutex_lock(&coordinator->lock);
    coordinator->stopping = true;
    pthread_cond_signal(&coordinator->care_wake);
    pthread_cond_signal(&coordinator->heart_wake);
    pthread_mutex_unlock(&coordinator->lock);
}

static bool start_threads(struct ts_coordinator *coordinator) {
    if (pthread_create(&coordinator->heart_thread, NULL, txn__heart, coordinator) != 0)
        return false;
    if (pthread_create(&coordinator->care_thread, NULL, txn__care, coordinator) != 0) {
        stop(coordinator);
        pthread_join(coordinator->heart_thread, NULL);
        return false;
    }
    return true;
}

static enum ts_txn_error fail(struct ts_txn_error_detail *ret_detail, enum ts_txn_error error,
                              const char *text) {
    txn__fail(ret_detail, error, UINT32_MAX, NULL);
    if (ret_detail != NULL)
        snprintf(ret_detail->text, sizeof ret_detail->text, "%s", text);
    return error;
}

/* Asks the stores for their lag once, before the first transaction. The coordinator opens even if a store
 * does not answer. */
static enum ts_txn_error ask_for_lag(struct ts_coordinator *coordinator,
                                     struct ts_txn_error_detail *ret_detail) {
    if (!ts_txn_lag_is_limited(&coordinator->config.replication))
        return TS_TXN_ERROR_OK;
    uint32_t place;
    struct ts_store_error store_error;
    enum ts_txn_error error =
        txn__lag_ask(coordinator, coordinator->config.timeouts.shard_rpc_us, &place, &store_error);
    if (error == TS_TXN_ERROR_BAD_CONFIG)
        txn__fail(ret_detail, error, place, &store_error);
    else if (error != TS_TXN_ERROR_OK)
        fail(ret_detail, error, "out of memory");
    return error;
}

enum ts_txn_error ts_coordinator_open(struct ts_cluster *cluster, const struct ts_txn_config *config,
                                      struct ts_coordinator **ret_coordinator,
                                      struct ts_txn_error_detail *ret_detail) {
    if (ts_cluster_count(cluster) > TS_TXN_PLACES_MAX)
        return fail(ret_detail, TS_TXN_ERROR_BAD_CONFIG, "a cluster has at most 256 stores; use fewer");
    struct ts_txn_config used;
    if (config != NULL)
        used = *config;
    else
        ts_txn_config_init(&used);
    const char *conflict = ts_txn_config_conflict(&used);
    if (conflict != NULL)
        return fail(ret_detail, TS_TXN_ERROR_BAD_CONFIG, conflict);
    struct ts_coordinator *coordinator = calloc(1, sizeof *coordinator);
    if (coordinator == NULL)
        return fail(ret_detail, TS_TXN_ERROR_NO_MEMORY, "out of memory");
    coordinator->cluster = cluster;
    coordinator->place_count = (uint32_t)ts_cluster_count(cluster);
    coordinator->config = used;
    memcpy(coordinator->cluster_id, txn__cluster_id(cluster), sizeof coordinator->cluster_id);
    init_locks(coordinator);
    if (!fill(coordinator)) {
        free_coordinator(coordinator);
        return fail(ret_detail, TS_TXN_ERROR_NO_MEMORY, "out of memory, or no random bytes from the system");
    }
    txn__settle_inheritance(cluster, used.timeouts.shard_rpc_us);
    enum ts_txn_error error = ask_for_lag(coordinator, ret_detail);
    if (error != TS_TXN_ERROR_OK) {
        free_coordinator(coordinator);
        return error;
    }
    if (!start_threads(coordinator)) {
        free_coordinator(coordinator);
        return fail(ret_detail, TS_TXN_ERROR_SYSTEM,
                    "cannot start a thread; raise the limit on processes "
                    "(ulimit -u)");
    }
    *ret_coordinator = coordinator;
    return TS_TXN_ERROR_OK;
}

void ts_coordinator_close(struct ts_coordinator *coordinator) {
    if (coordinator == NULL)
        return;
    stop(coordinator);
    pthread_join(coordinator->care_thread, NULL);
    pthread_join(coordinator->heart_thread, NULL);
    txn__care_once(coordinator);
    for (struct txn__incarnation *one = coordinator->incarnations; one != NULL; one = one->next)
        txn__take_back(coordinator, one);
    free_coordinator(coordinator);
}

/* Adds the breaker of one store to the view. The view has the worst state of all breakers and the sum of
 * their trips. */
static void view_breaker(struct ts_txn_view *view, const struct ts_txn_breaker *breaker, uint64_t now_us) {
    enum ts_txn_breaker_state state = ts_txn_breaker_state_at(breaker, now_us);
    if (state == TS_TXN_BREAKER_OPEN || view->breaker_state == TS_TXN_BREAKER_CLOSED)
        view->breaker_state = state;
    view->breaker_trips += breaker->trips;
}

bool ts_coordinator_metrics(struct ts_coordinator *coordinator,
                            bool (*write)(void *context, struct ts_bytes text), void *context) {
    size_t places = coordinator->place_count;
    struct ts_txn_store_view *views = calloc(places, sizeof *views);
    struct ts_txn_metrics *metrics = malloc(sizeof *metrics);
    struct ts_txn_store_metrics *stores = malloc(places * sizeof *stores);
    bool good = views != NULL && metrics != NULL && stores != NULL;
    if (good) {
        struct ts_txn_view view = {.stores = views};
        uint64_t now_us = txn__now_us();
        pthread_mutex_lock(&coordinator->lock);
        view.admission = *ts_txn_admission_gauges(&coordinator->admission);
        view.deadlocks_detected = coordinator->detector.detected;
        view.stalled_txns = coordinator->detector.stalled;
        for (uint32_t place = 0; place < places; place++) {
            view_breaker(&view, &coordinator->breakers[place], now_us);
            views[place] = (struct ts_txn_store_view){
                .conflicts = ts_txn_conflict_view(&coordinator->conflicts[place], now_us),
                .limit = coordinator->adaptive[place].limit,
                .in_flight = ts_txn_admission_store_in_flight(&coordinator->admission, place),
            };
        }
        pthread_mutex_unlock(&coordinator->lock);
        ts_txn_metrics_init(metrics, stores, places);
        pthread_mutex_lock(&coordinator->metrics_lock);
        ts_txn_metrics_merge(metrics, coordinator->metrics);
        pthread_mutex_unlock(&coordinator->metrics_lock);
        good = ts_txn_metrics_render(metrics, &view, (struct ts_txn_text_writer){write, context});
    }
    free(views);
    free(metrics);
    free(stores);
    return good;
}
