/*
 * Operations that need no coordinator: a resolver's pass, recovery, raising the epoch, and the status of a
 * transaction.
 */
#include "os/failpoint.h"
#include "settle.h"
#include "txn/core/epoch.h"
#include "txn/core/gid.h"
#include "txn/core/look.h"

#include "driver.h"

#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

enum { PASSES_MAX = 50, PAUSE_MS = 20 };

static enum ts_txn_error ended(const struct txn__settle *settle, struct ts_txn_settled *ret_settled,
                               struct ts_txn_error_detail *ret_detail) {
    if (ret_settled != NULL)
        *ret_settled = settle->counts;
    if (settle->trouble.error != TS_TXN_ERROR_OK && ret_detail != NULL)
        *ret_detail = settle->trouble;
    return settle->trouble.error;
}

enum ts_txn_error ts_txn_resolve(struct ts_cluster *cluster, uint64_t timeout_ms,
                                 struct ts_txn_settled *ret_settled, struct ts_txn_error_detail *ret_detail) {
    struct txn__settle settle;
    txn__settle_init(&settle, cluster, timeout_ms * 1000, false);
    txn__settle_promises(&settle);
    txn__settle_coordinators(&settle);
    return ended(&settle, ret_settled, ret_detail);
}

/*
 * Fences all coordinators first, so that they decide nothing more. Then settles the promises. Tries this more
 * than once, because another resolver may be working on a promise.
 */
static enum ts_txn_error recover(struct ts_cluster *cluster, uint64_t timeout_us,
                                 struct ts_txn_settled *counts, struct ts_txn_error_detail *ret_detail) {
    struct txn__settle settle;
    for (int pass = 0; pass < PASSES_MAX; pass++) {
        txn__settle_init(&settle, cluster, timeout_us, true);
        txn__settle_coordinators(&settle);
        txn__settle_promises(&settle);
        /* Once the promises are gone, their decisions may be removed too. */
        txn__settle_coordinators(&settle);
        counts->seen += settle.counts.seen;
        counts->committed += settle.counts.committed;
        counts->aborted += settle.counts.aborted;
        counts->fenced += settle.counts.fenced;
        counts->removed += settle.counts.removed;
        counts->left = settle.counts.left;
        counts->stuck = settle.counts.stuck;
        counts->foreign = settle.counts.foreign;
        if (settle.trouble.error != TS_TXN_ERROR_OK) {
            settle.trouble.error = TS_TXN_ERROR_UNSETTLED;
            if (ret_detail != NULL)
                *ret_detail = settle.trouble;
            return TS_TXN_ERROR_UNSETTLED;
        }
        if (settle.counts.left == 0 && settle.counts.stuck == 0)
            return TS_TXN_ERROR_OK;
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_MS * 1000000L}, NULL);
    }
    txn__fail(ret_detail, TS_TXN_ERROR_UNSETTLED, UINT32_MAX, NULL);
    if (ret_detail != NULL)
        snprintf(ret_detail->text, sizeof ret_detail->text,
                 "%" PRIu64 " promises or coordinators are still in use by others; repeat the command",
                 counts->left + counts->stuck);
    return TS_TXN_ERROR_UNSETTLED;
}

enum ts_txn_error ts_txn_recover(struct ts_cluster *cluster, uint64_t timeout_ms,
                                 struct ts_txn_settled *ret_settled, struct ts_txn_error_detail *ret_detail) {
    struct ts_txn_settled counts = {0};
    enum ts_txn_error error = recover(cluster, timeout_ms * 1000, &counts, ret_detail);
    if (ret_settled != NULL)
        *ret_settled = counts;
    return error;
}

/* Reads the epoch and the state of a store. From then on, this process expects this epoch and this state. */
static enum ts_store_result read_meta(struct ts_cluster *cluster, uint32_t place, uint64_t timeout_us,
                                      struct ts_meta *ret_meta, struct ts_store_error *ret_error) {
    struct ts_store *store = ts_cluster_store(cluster, place);
    enum ts_store_result result =
        store->engine->meta_read(store, txn__deadline_ns(timeout_us), ret_meta, ret_error);
    if (result == TS_STORE_OK)
        ts_cluster_expect(cluster, place, ret_meta);
    return result;
}

static enum ts_store_result write_meta(struct ts_cluster *cluster, uint32_t place, uint64_t timeout_us,
                                       const struct txn__epoch_step *step, struct ts_store_error *ret_error) {
    struct ts_store *store = ts_cluster_store(cluster, place);
    struct ts_meta meta;
    enum ts_store_result result = read_meta(cluster, place, timeout_us, &meta, ret_error);
    if (result != TS_STORE_OK)
        return result;
    meta.state = step->kind == TXN__EPOCH_CLOSE ? TS_META_CLOSING : TS_META_OPEN;
    if (step->kind == TXN__EPOCH_OPEN)
        meta.epoch = step->epoch;
    result = store->engine->meta_write(store, txn__deadline_ns(timeout_us), &meta, ret_error);
    /* Another process has raised the epoch first. The stored state decides the next step. */
    if (result == TS_STORE_CHECK_FAILED)
        result = TS_STORE_OK;
    return result;
}

static enum ts_txn_error read_epochs(struct ts_cluster *cluster, uint64_t timeout_us,
                                     struct txn__epoch_store *ret_stores,
                                     struct ts_txn_error_detail *ret_detail) {
    for (uint32_t place = 0; place < ts_cluster_count(cluster); place++) {
        struct ts_meta meta;
        struct ts_store_error error;
        if (read_meta(cluster, place, timeout_us, &meta, &error) != TS_STORE_OK)
            return txn__fail(ret_detail, TS_TXN_ERROR_STORE, place, &error);
        ret_stores[place] = (struct txn__epoch_store){meta.epoch, meta.state == TS_META_CLOSING};
    }
    return TS_TXN_ERROR_OK;
}

static enum ts_txn_error take_step(struct ts_cluster *cluster, uint64_t timeout_us,
                                   const struct txn__epoch_step *step, struct ts_txn_settled *counts,
                                   struct ts_txn_error_detail *ret_detail) {
    struct ts_store_error error;
    switch (step->kind) {
    case TXN__EPOCH_CLOSE:
    case TXN__EPOCH_OPEN:
        if (write_meta(cluster, step->place, timeout_us, step, &error) != TS_STORE_OK)
            return txn__fail(ret_detail, TS_TXN_ERROR_STORE, step->place, &error);
        (void)ts_failpoint(step->kind == TXN__EPOCH_CLOSE ? TS_FAILPOINT_FENCE_AFTER_CLOSE
                                                          : TS_FAILPOINT_FENCE_AFTER_OPEN);
        return TS_TXN_ERROR_OK;
    case TXN__EPOCH_SETTLE: {
        enum ts_txn_error settled = recover(cluster, timeout_us, counts, ret_detail);
        (void)ts_failpoint(TS_FAILPOINT_FENCE_AFTER_SETTLE);
        return settled;
    }
    case TXN__EPOCH_DONE:
    case TXN__EPOCH_MIXED:
        break;
    }
    txn__fail(ret_detail, TS_TXN_ERROR_EPOCH, UINT32_MAX, NULL);
    if (ret_detail != NULL)
        snprintf(ret_detail->text, sizeof ret_detail->text,
                 "the epochs of the stores do not match; see 'store status'");
    return TS_TXN_ERROR_EPOCH;
}

enum ts_txn_error ts_txn_fence(struct ts_cluster *cluster, uint64_t timeout_ms, uint64_t *ret_epoch,
                               struct ts_txn_settled *ret_settled, struct ts_txn_error_detail *ret_detail) {
    size_t count = ts_cluster_count(cluster);
    struct txn__epoch_store *stores = calloc(count, sizeof *stores);
    if (stores == NULL)
        return txn__fail(ret_detail, TS_TXN_ERROR_NO_MEMORY, UINT32_MAX, NULL);
    struct txn__epoch_raise raise = {0};
    struct ts_txn_settled counts = {0};
    struct txn__epoch_step step = {0};
    enum ts_txn_error error;
    for (;;) {
        error = read_epochs(cluster, timeout_ms * 1000, stores, ret_detail);
        if (error != TS_TXN_ERROR_OK)
            break;
        step = txn__epoch_next(&raise, stores, count);
        if (step.kind == TXN__EPOCH_DONE)
            break;
        error = take_step(cluster, timeout_ms * 1000, &step, &counts, ret_detail);
        if (error != TS_TXN_ERROR_OK)
            break;
        raise.settled = raise.settled || step.kind == TXN__EPOCH_SETTLE;
    }
    free(stores);
    if (ret_settled != NULL)
        *ret_settled = counts;
    if (error == TS_TXN_ERROR_OK)
        *ret_epoch = step.epoch;
    return error;
}

/* Closes all stores at the highest epoch. Stores that were restored from different times may have epochs that
 * raising the epoch never produces. */
static enum ts_txn_error level_epochs(struct ts_cluster *cluster, uint64_t timeout_us,
                                      struct ts_txn_error_detail *ret_detail) {
    uint32_t count = (uint32_t)ts_cluster_count(cluster);
    uint64_t highest = 0;
    for (uint32_t place = 0; place < count; place++) {
        const struct ts_meta *meta = ts_cluster_meta(cluster, place);
        highest = meta->epoch > highest ? meta->epoch : highest;
    }
    for (uint32_t place = 0; place < count; place++) {
        struct ts_store *store = ts_cluster_store(cluster, place);
        struct ts_meta meta;
        struct ts_store_error error;
        enum ts_store_result result = read_meta(cluster, place, timeout_us, &meta, &error);
        if (result == TS_STORE_OK && (meta.epoch < highest || meta.state != TS_META_CLOSING)) {
            meta.epoch = highest;
            meta.state = TS_META_CLOSING;
            result = store->engine->meta_write(store, txn__deadline_ns(timeout_us), &meta, &error);
        }
        if (result != TS_STORE_OK)
            return txn__fail(ret_detail, TS_TXN_ERROR_STORE, place, &error);
    }
    return TS_TXN_ERROR_OK;
}

enum ts_txn_error ts_txn_accept_copy(struct ts_cluster *cluster, uint64_t timeout_ms, uint64_t *ret_epoch,
                                     struct ts_txn_settled *ret_settled,
                                     struct ts_txn_error_detail *ret_detail) {
    enum ts_txn_error error = level_epochs(cluster, timeout_ms * 1000, ret_detail);
    if (error == TS_TXN_ERROR_OK)
        error = ts_txn_fence(cluster, timeout_ms, ret_epoch, ret_settled, ret_detail);
    if (error != TS_TXN_ERROR_OK)
        return error;
    struct ts_store_error store_error;
    if (ts_cluster_meet_anew(cluster, &store_error) != TS_STORE_OK)
        return txn__fail(ret_detail, TS_TXN_ERROR_STORE, UINT32_MAX, &store_error);
    return TS_TXN_ERROR_OK;
}
