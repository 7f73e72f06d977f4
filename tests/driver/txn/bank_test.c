/*
 * Many threads move money between accounts that are spread over all stores. Meanwhile, depending on the test,
 * resolvers run, messages get lost, or the process is fenced. The total never changes, and no promise is left
 * at the end.
 */
#include "support/cmocka.h"

#include "stage.h"

#include "base/prng.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

enum { ACCOUNTS = 12, BALANCE = 1000, THREADS_MAX = 64 };

static struct stage stage;
static char accounts[ACCOUNTS][40];
static size_t places[ACCOUNTS];
static atomic_uint_fast64_t outcomes[5];
static atomic_bool stopping;

static void make_accounts(void) {
    struct ts_op ops[ACCOUNTS];
    for (size_t i = 0; i < ACCOUNTS; i++) {
        char name[20];
        snprintf(name, sizeof name, "account%zu.", i);
        places[i] = i % stage.count;
        stage_key(stage.cluster, places[i], name, accounts[i]);
        ops[i] = stage_put(accounts[i], "1000");
    }
    struct ts_txn_result result;
    ts_txn_run(stage.coordinator, ops, ACCOUNTS, NULL, &result);
    assert_int_equal(result.outcome, TS_TXN_COMMITTED);
    for (size_t i = 0; i < 5; i++)
        atomic_store(&outcomes[i], 0);
    atomic_store(&stopping, false);
}

struct mover {
    pthread_t thread;
    uint64_t seed;
    int transfers;
};

static void *move_money(void *context) {
    const struct mover *mover = context;
    struct ts_prng prng;
    ts_prng_init(&prng, mover->seed);
    for (int i = 0; i < mover->transfers; i++) {
        size_t from = (size_t)ts_prng_below(&prng, ACCOUNTS);
        size_t to = (from + 1 + (size_t)ts_prng_below(&prng, ACCOUNTS - 1)) % ACCOUNTS;
        int64_t amount = (int64_t)ts_prng_below(&prng, 20);
        struct ts_op ops[] = {stage_add(accounts[from], -amount), stage_add(accounts[to], amount)};
        struct ts_txn_result result;
        ts_txn_run(stage.coordinator, ops, 2, NULL, &result);
        atomic_fetch_add(&outcomes[result.outcome], 1);
    }
    return NULL;
}

static void *keep_resolving(void *context) {
    struct ts_cluster *cluster = context;
    while (!atomic_load(&stopping)) {
        struct ts_txn_settled settled;
        (void)ts_txn_resolve(cluster, 1000, &settled, NULL);
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
    return NULL;
}

static void *keep_fencing(void *context) {
    struct ts_cluster *cluster = context;
    while (!atomic_load(&stopping)) {
        struct ts_txn_settled settled;
        (void)ts_txn_recover(cluster, 1000, &settled, NULL);
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    }
    return NULL;
}

static void run_bank(size_t threads, int transfers) {
    struct mover movers[THREADS_MAX];
    for (size_t i = 0; i < threads; i++) {
        movers[i] = (struct mover){.seed = i, .transfers = transfers};
        assert_int_equal(pthread_create(&movers[i].thread, NULL, move_money, &movers[i]), 0);
    }
    for (size_t i = 0; i < threads; i++)
        pthread_join(movers[i].thread, NULL);
}

static void expect_total(struct ts_cluster *cluster) {
    int64_t total = 0;
    for (size_t i = 0; i < ACCOUNTS; i++)
        total += stage_number(cluster, places[i], accounts[i]);
    assert_int_equal(total, ACCOUNTS * BALANCE);
}

static void settle_all(struct ts_cluster *cluster) {
    struct ts_txn_settled settled;
    struct ts_txn_error_detail detail;
    if (ts_txn_recover(cluster, 5000, &settled, &detail) != TS_TXN_ERROR_OK)
        fail_msg("%s", detail.text);
    assert_int_equal(stage_promises(cluster), 0);
    expect_total(cluster);
}

static void the_total_stays_while_64_threads_move_money_and_two_resolvers_run(void **state) {
    (void)state;
    stage_init(&stage, 3);
    stage_open(&stage);
    make_accounts();
    pthread_t resolvers[2];
    struct ts_cluster *clusters[2];
    for (size_t i = 0; i < 2; i++) {
        clusters[i] = stage_other_process(&stage);
        pthread_create(&resolvers[i], NULL, keep_resolving, clusters[i]);
    }
    run_bank(64, 60);
    atomic_store(&stopping, true);
    for (size_t i = 0; i < 2; i++) {
        pthread_join(resolvers[i], NULL);
        ts_cluster_close(clusters[i]);
    }
    assert_int_equal(atomic_load(&outcomes[TS_TXN_UNKNOWN]), 0);
    assert_true(atomic_load(&outcomes[TS_TXN_COMMITTED]) > 1000);
    settle_all(stage.cluster);
    stage_release(&stage);
}

/* Moves money while replies and requests are lost. Afterwards the cluster is open, and all promises are
 * settled. */
static void lose_replies(void) {
    stage.config.timeouts.total_us = 2000000;
    stage.config.timeouts.retry_ceiling_us = 1000000;
    stage.config.timeouts.prepare_us = 200000;
    stage.config.timeouts.commit_us = 200000;
    stage.config.timeouts.lock_validate_us = 200000;
    stage.config.timeouts.shard_rpc_us = 200000;
    stage.config.breaker.failure_threshold = 1000000;
    stage_open(&stage);
    make_accounts();
    for (size_t i = 0; i < 3; i++) {
        static const enum ts_fault_kind kinds[] = {TS_FAULT_LOST_REPLY, TS_FAULT_LOST_REQUEST};
        for (size_t k = 0; k < 2; k++)
            ts_fault_add(stage.faults[i], &(struct ts_fault_rule){.kind = kinds[k], .chance = {2, 100}});
    }
    run_bank(16, 60);
    for (size_t i = 0; i < 3; i++)
        assert_true(ts_fault_count(stage.faults[i]) > 10);
    stage_no_faults(&stage);
    assert_true(atomic_load(&outcomes[TS_TXN_COMMITTED]) > 100);
    settle_all(stage.cluster);
}

static void the_total_stays_while_replies_get_lost(void **state) {
    (void)state;
    stage_init(&stage, 3);
    lose_replies();
    stage_release(&stage);
}

static void the_total_stays_while_the_process_is_fenced_again_and_again(void **state) {
    (void)state;
    stage_init(&stage, 3);
    stage_open(&stage);
    make_accounts();
    pthread_t fencer;
    struct ts_cluster *cluster = stage_other_process(&stage);
    pthread_create(&fencer, NULL, keep_fencing, cluster);
    run_bank(16, 200);
    atomic_store(&stopping, true);
    pthread_join(fencer, NULL);
    ts_cluster_close(cluster);
    assert_true(atomic_load(&outcomes[TS_TXN_COMMITTED]) > 100);
    settle_all(stage.cluster);
    stage_release(&stage);
}

static void the_total_stays_on_rocksdb(void **state) {
    (void)state;
    stage_init_rocksdb(&stage, 3);
    stage.cluster = stage_open_rocksdb(&stage, false);
    stage_open(&stage);
    make_accounts();
    run_bank(16, 60);
    assert_true(atomic_load(&outcomes[TS_TXN_COMMITTED]) > 300);
    assert_int_equal(atomic_load(&outcomes[TS_TXN_UNKNOWN]), 0);
    settle_all(stage.cluster);
    stage_close(&stage);
    ts_cluster_close(stage.cluster);
    stage.cluster = stage_open_rocksdb(&stage, false);
    assert_int_equal(stage_promises(stage.cluster), 0);
    expect_total(stage.cluster);
    stage_release(&stage);
}

static void the_total_stays_while_replies_of_rocksdb_get_lost(void **state) {
    (void)state;
    stage_init_rocksdb(&stage, 3);
    stage_open_rocksdb_with_faults(&stage);
    lose_replies();
    stage_close(&stage);
    ts_cluster_close(stage.cluster);
    stage.cluster = stage_open_rocksdb(&stage, false);
    assert_int_equal(stage_promises(stage.cluster), 0);
    expect_total(stage.cluster);
    stage_release(&stage);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_total_stays_while_64_threads_move_money_and_two_resolvers_run),
        cmocka_unit_test(the_total_stays_while_replies_get_lost),
        cmocka_unit_test(the_total_stays_while_the_process_is_fenced_again_and_again),
        cmocka_unit_test(the_total_stays_on_rocksdb),
        cmocka_unit_test(the_total_stays_while_replies_of_rocksdb_get_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
