/*
 * A cycle over three stores: each of three transactions has locked its own account on one store, and wants
 * the next transaction's account on another store. No store sees the cycle. Store 0 decides, and is not part
 * of the cycle.
 *
 * At first, promises of further transactions lock a key before the second account of each transaction, so that
 * all three can begin. If each kept its locks, the three would wait for each other until their timeouts.
 */
#include "support/cmocka.h"

#include "stage.h"

#include <pthread.h>
#include <time.h>

enum { FIRST = 1, LAST = 3, COUNT = 3, BALANCE = 100 };

static struct stage stage;
static char accounts[LAST + 1][40]; /* accounts on stores 1 to 3 */
/* For each account, a key on the same store that sorts before the account. The store locks this key first. */
static char firsts[LAST + 1][40];
static char deciders[COUNT][40]; /* keys on store 0, which decides */

struct party {
    struct ts_coordinator *coordinator;
    size_t number;
    size_t own, next; /* the store of its own account, and the store of the next account */
    struct ts_txn_result result;
    pthread_t thread;
};

static struct party parties[COUNT];

static void *transfer(void *context) {
    struct party *party = context;
    struct ts_op ops[] = {
        stage_add(accounts[party->own], -2),
        stage_add(firsts[party->next], 0),
        stage_add(accounts[party->next], 1),
        stage_add(deciders[party->number], 1),
    };
    ts_txn_run(party->coordinator, ops, 4, NULL, &party->result);
    return NULL;
}

static void find_keys(void) {
    struct ts_op ops[2 * COUNT + COUNT];
    size_t count = 0;
    for (size_t place = FIRST; place <= LAST; place++) {
        stage_key(stage.cluster, place, "account", accounts[place]);
        stage_key(stage.cluster, place, "a-first", firsts[place]);
        ops[count++] = stage_add(accounts[place], BALANCE);
        ops[count++] = stage_add(firsts[place], 0);
    }
    for (size_t i = 0; i < COUNT; i++) {
        char name[20];
        snprintf(name, sizeof name, "decider%zu.", i);
        stage_key(stage.cluster, 0, name, deciders[i]);
        ops[count++] = stage_add(deciders[i], BALANCE);
    }
    struct ts_txn_result result;
    struct ts_coordinator *coordinator = NULL;
    assert_int_equal(ts_coordinator_open(stage.cluster, &stage.config, &coordinator, NULL), TS_TXN_ERROR_OK);
    ts_txn_run(coordinator, ops, count, NULL, &result);
    ts_coordinator_close(coordinator);
    assert_int_equal(result.outcome, TS_TXN_COMMITTED);
}

/* Makes the parties of the circle. Each acts as a separate process. */
static void make_circle(void) {
    for (size_t place = FIRST; place <= LAST; place++)
        stage_hold(&stage, place, firsts[place]);
    for (size_t i = 0; i < COUNT; i++) {
        parties[i] = (struct party){.number = i, .own = FIRST + i, .next = FIRST + (i + 1) % COUNT};
        assert_int_equal(ts_coordinator_open(stage.cluster, &stage.config, &parties[i].coordinator, NULL),
                         TS_TXN_ERROR_OK);
        assert_int_equal(pthread_create(&parties[i].thread, NULL, transfer, &parties[i]), 0);
    }
    nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
    for (size_t place = FIRST; place <= LAST; place++)
        stage_let_go(&stage, place);
}

static void expect_all_to_commit(void) {
    find_keys();
    make_circle();
    for (size_t i = 0; i < COUNT; i++) {
        pthread_join(parties[i].thread, NULL);
        ts_coordinator_close(parties[i].coordinator);
    }
    for (size_t i = 0; i < COUNT; i++) {
        if (parties[i].result.outcome != TS_TXN_COMMITTED)
            fail_msg("%zu: %s", i, parties[i].result.text);
        assert_int_equal(stage_number(stage.cluster, FIRST + i, accounts[FIRST + i]), BALANCE - 1);
        assert_int_equal(stage_number(stage.cluster, 0, deciders[i]), BALANCE + 1);
    }
    assert_int_equal(stage_promises(stage.cluster), 0);
    stage_release(&stage);
}

static void transactions_that_would_wait_in_a_circle_over_three_stores_commit(void **state) {
    (void)state;
    stage_init(&stage, LAST + 1);
    expect_all_to_commit();
}

static void the_same_on_rocksdb(void **state) {
    (void)state;
    stage_init_rocksdb(&stage, LAST + 1);
    stage.cluster = stage_open_rocksdb(&stage, false);
    expect_all_to_commit();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transactions_that_would_wait_in_a_circle_over_three_stores_commit),
        cmocka_unit_test(the_same_on_rocksdb),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
