/*
 * Many transactions need the same keys of the same stores at the same time. All transactions commit, in any
 * order. `turnstone bench xs --scenario contended` measures how fast.
 */
#include "support/cmocka.h"

#include "stage.h"
#include "support/pg.h"

#include "base/prng.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum { STORES = 3, THREADS = 4, KEYS = 2, TXNS = 24 };

static struct stage stage;
static struct support_pg *pg;
static char keys[STORES][KEYS][40];
static atomic_uint_fast64_t committed, attempts;
static atomic_bool failed;
static char complaint[400];

/* A thread that runs transactions. Workers with different first places may have different deciders. */
struct worker {
    pthread_t thread;
    uint32_t first, count; /* its transactions use the places first to first + count - 1 */
    uint64_t seed;
};

static void *work(void *context) {
    const struct worker *worker = context;
    struct ts_prng prng;
    ts_prng_init(&prng, worker->seed);
    for (int i = 0; i < TXNS; i++) {
        struct ts_op ops[STORES];
        for (uint32_t at = 0; at < worker->count; at++)
            ops[at] = stage_add(keys[worker->first + at][ts_prng_below(&prng, KEYS)], 1);
        struct ts_txn_result result;
        ts_txn_run(stage.coordinator, ops, worker->count, NULL, &result);
        atomic_fetch_add(&attempts, result.attempts);
        if (result.outcome == TS_TXN_COMMITTED) {
            atomic_fetch_add(&committed, 1);
        } else if (!atomic_exchange(&failed, true)) {
            snprintf(complaint, sizeof complaint, "%s, %s: %s", ts_txn_outcome_text(result.outcome),
                     result.sqlstate, result.text);
        }
    }
    return NULL;
}

static void make_keys(void) {
    struct ts_op ops[STORES * KEYS];
    for (size_t place = 0; place < STORES; place++) {
        for (size_t i = 0; i < KEYS; i++) {
            char name[20];
            snprintf(name, sizeof name, "hot%zu.", i);
            stage_key(stage.cluster, place, name, keys[place][i]);
            ops[place * KEYS + i] = stage_put(keys[place][i], "0");
        }
    }
    struct ts_txn_result result;
    ts_txn_run(stage.coordinator, ops, STORES * KEYS, NULL, &result);
    assert_int_equal(result.outcome, TS_TXN_COMMITTED);
}

/* Runs workers on all stores. With `mixed`, workers with an odd number leave out the first store. */
static void contend(bool mixed) {
    struct worker workers[THREADS];
    atomic_store(&committed, 0);
    atomic_store(&attempts, 0);
    atomic_store(&failed, false);
    for (uint32_t i = 0; i < THREADS; i++) {
        const uint32_t first = mixed ? i % 2 : 0;
        workers[i] = (struct worker){.first = first, .count = STORES - first, .seed = i};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(workers[i].thread, NULL);
    if (atomic_load(&failed))
        fail_msg("%s", complaint);
}

static void use_memory(void) {
    stage_init(&stage, STORES);
    stage_open(&stage);
    make_keys();
}

static void use_rocksdb(void) {
    stage_init_rocksdb(&stage, STORES);
    stage.cluster = stage_open_rocksdb(&stage, false);
    stage_open(&stage);
    make_keys();
}

static void use_postgres(void) {
    pg = support_pg_start(
        &(struct support_pg_options){.max_prepared_transactions = 64, .without_fsync = true});
    memset(&stage, 0, sizeof stage);
    ts_txn_config_init(&stage.config);
    for (size_t i = 0; i < STORES; i++) {
        char database[20], sql[64];
        snprintf(database, sizeof database, "store%zu", i);
        snprintf(sql, sizeof sql, "CREATE DATABASE %s OWNER turnstone", database);
        support_pg_do(pg, "postgres", sql);
        snprintf(stage.urls + strlen(stage.urls), sizeof stage.urls - strlen(stage.urls), "%s%s",
                 i > 0 ? "," : "", support_pg_url(pg, database));
    }
    struct ts_store_error error;
    if (ts_cluster_init(stage.urls, "xxh64", NULL, &stage.cluster, &error) != TS_STORE_OK)
        fail_msg("%s", error.text);
    stage_open(&stage);
    make_keys();
}

static void leave(void) {
    stage_release(&stage);
    support_pg_stop(pg);
    pg = NULL;
}

static uint64_t sum_of(size_t place) {
    uint64_t sum = 0;
    for (size_t i = 0; i < KEYS; i++)
        sum += (uint64_t)stage_number(stage.cluster, place, keys[place][i]);
    return sum;
}

static void everybody_commits(void (*use)(void)) {
    use();
    contend(false);
    assert_int_equal(atomic_load(&committed), THREADS * TXNS);
    for (size_t place = 0; place < STORES; place++)
        assert_int_equal(sum_of(place), THREADS * TXNS);
    /* Transactions on {1, 2} decide on a store where transactions on {0, 1, 2} make promises. */
    contend(true);
    assert_int_equal(atomic_load(&committed), THREADS * TXNS);
    assert_int_equal(sum_of(0), THREADS * TXNS + THREADS / 2 * TXNS);
    assert_int_equal(sum_of(2), 2 * THREADS * TXNS);
    /* Each transaction gives way only in its first attempt. */
    assert_true(atomic_load(&attempts) < 2 * THREADS * TXNS);
    assert_int_equal(stage_promises(stage.cluster), 0);
    leave();
}

static void everybody_commits_on_memory(void **state) {
    (void)state;
    everybody_commits(use_memory);
}

static void everybody_commits_on_rocksdb(void **state) {
    (void)state;
    everybody_commits(use_rocksdb);
}

static void everybody_commits_on_postgresql(void **state) {
    (void)state;
    everybody_commits(use_postgres);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everybody_commits_on_memory),
        cmocka_unit_test(everybody_commits_on_rocksdb),
        cmocka_unit_test(everybody_commits_on_postgresql),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
