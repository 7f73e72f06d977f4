#include "txn/guard/admission.h"

#include "base/prng.h"
#include "support/cmocka.h"
#include "support/stops.h"

#include <string.h>

static struct ts_txn_admission admission;
static struct ts_txn_admission_waiter waiters[300];
static const uint32_t places[] = {0, 1, 2, 3, 4, 5, 6, 7};

static void begin(uint32_t soft, uint32_t hard, enum ts_txn_queue_policy policy,
                  enum ts_txn_overflow_action overflow) {
    const struct ts_txn_admission_config config = {
        .soft_limit = soft, .hard_limit = hard, .queue_policy = policy, .overflow = overflow};
    ts_txn_admission_init(&admission, &config);
    memset(waiters, 0, sizeof waiters);
}

/* The stores of a transaction: `first` to `first + count - 1`. */
struct on {
    size_t first;
    size_t count;
};

static enum ts_txn_waiter_state enter(size_t i, struct on on) {
    waiters[i] = (struct ts_txn_admission_waiter){
        .stores = places + on.first, .store_count = on.count, .deadline_us = 500};
    return ts_txn_admission_enter(&admission, &waiters[i], 0);
}

static void leave(size_t i) {
    ts_txn_admission_leave(&admission, &waiters[i], 100);
}

static void expect_settled(size_t i, enum ts_txn_waiter_state state) {
    struct ts_txn_admission_waiter *waiter = ts_txn_admission_take_settled(&admission);
    assert_ptr_equal(waiter, &waiters[i]);
    assert_int_equal(waiter->state, state);
}

static void expect_nobody_settled(void) {
    assert_null(ts_txn_admission_take_settled(&admission));
}

static const struct ts_txn_admission_gauges *gauges(void) {
    return ts_txn_admission_gauges(&admission);
}

static void below_the_soft_limit_all_are_admitted_at_once(void **state) {
    (void)state;
    begin(96, 128, TS_TXN_QUEUE_FIFO, TS_TXN_OVERFLOW_REJECT);
    for (size_t i = 0; i < 96; i++)
        assert_int_equal(enter(i, (struct on){0, 1}), TS_TXN_WAITER_ADMITTED);
    assert_int_equal(gauges()->in_flight, 96);
    assert_int_equal(gauges()->total_admitted, 96);
    assert_int_equal(gauges()->total_queued, 0);
}

static void between_the_limits_they_wait_and_above_they_are_rejected(void **state) {
    (void)state;
    begin(96, 128, TS_TXN_QUEUE_FIFO, TS_TXN_OVERFLOW_REJECT);
    for (size_t i = 0; i < 128; i++)
        assert_int_equal(enter(i, (struct on){0, 1}),
                         i < 96 ? TS_TXN_WAITER_ADMITTED : TS_TXN_WAITER_WAITING);
    assert_int_equal(enter(128, (struct on){0, 1}), TS_TXN_WAITER_REJECTED);
    assert_int_equal(gauges()->in_flight, 96);
    assert_int_equal(gauges()->waiting, 32);
    assert_int_equal(gauges()->total_queued, 32);
    assert_int_equal(gauges()->total_rejected, 1);
}

static void leaving_admits_the_next_in_line(void **state) {
    (void)state;
    begin(1, 3, TS_TXN_QUEUE_FIFO, TS_TXN_OVERFLOW_REJECT);
    for (size_t i = 0; i < 3; i++)
        enter(i, (struct on){0, 1});
    leave(0);
    expect_settled(1, TS_TXN_WAITER_ADMITTED);
    expect_nobody_settled();
    assert_int_equal(waiters[1].waited_us, 100);
    assert_int_equal(waiters[2].state, TS_TXN_WAITER_WAITING);
    assert_int_equal(gauges()->in_flight, 1);
}

static void fifo_serves_in_order_of_arrival(void **state) {
    (void)state;
    begin(1, 4, TS_TXN_QUEUE_FIFO, TS_TXN_OVERFLOW_REJECT);
    enter(0, (struct on){0, 1});
    enter(1, (struct on){0, 4});
    enter(2, (struct on){0, 1});
    enter(3, (struct on){0, 2});
    leave(0);
    expect_settled(1, TS_TXN_WAITER_ADMITTED);
    leave(1);
    expect_settled(2, TS_TXN_WAITER_ADMITTED);
    leave(2);
    expect_settled(3, TS_TXN_WAITER_ADMITTED);
}

static void short_txn_priority_serves_fewer_stores_first_then_arrival(void **state) {
    (void)state;
    begin(1, 5, TS_TXN_QUEUE_SHORT_TXN_PRIORITY, TS_TXN_OVERFLOW_REJECT);
    enter(0, (struct on){0, 1});
    enter(1, (struct on){0, 4});
    enter(2, (struct on){0, 2});
    enter(3, (struct on){0, 1});
    enter(4, (struct on){2, 2});
    static const size_t served[] = {3, 2, 4, 1};
    size_t running = 0;
    for (size_t i = 0; i < 4; i++) {
        leave(running);
        expect_settled(served[i], TS_TXN_WAITER_ADMITTED);
        running = served[i];
    }
}

static void waiting_ends_at_the_deadline(void **state) {
    (void)state;
    begin(1, 3, TS_TXN_QUEUE_FIFO, TS_TXN_OVERFLOW_REJECT);
    enter(0, (struct on){0, 1});
    enter(1, (struct on){0, 1});
    ts_txn_admission_tick(&admission, 499);
    expect_nobody_settled();
    ts_txn_admission_tick(&admission, 500);
    expect_settled(1, TS_TXN_WAITER_TIMED_OUT);
    assert_int_equal(waiters[1].waited_us, 500);
    assert_int_equal(gauges()->total_rejected, 1);
    assert_int_equal(gauges()->total_timed_out, 1);
    /* The waiter holds no place, so leaving changes nothing. */
    leave(1);
    assert_int_equal(gauges()->in_flight, 1);
}

static void nobody_is_admitted_after_the_deadline(void **state) {
    (void)state;
    begin(1, 3, TS_TXN_QUEUE_FIFO, TS_TXN_OVERFLOW_REJECT);
    enter(0, (struct on){0, 1});
    enter(1, (struct on){0, 1});
    ts_txn_admission_leave(&admission, &waiters[0], 501);
    expect_settled(1, TS_TXN_WAITER_TIMED_OUT);
    assert_int_equal(gauges()->in_flight, 0);
}

static void reject_keeps_those_that_wait(void **state) {
    (void)state;
    begin(1, 2, TS_TXN_QUEUE_FIFO, TS_TXN_OVERFLOW_REJECT);
    enter(0, (struct on){0, 1});
    enter(1, (struct on){0, 4});
    assert_int_equal(enter(2, (struct on){0, 1}), TS_TXN_WAITER_REJECTED);
    assert_int_equal(waiters[1].state, TS_TXN_WAITER_WAITING);
}

static void shed_load_drops_the_waiting_one_with_most_stores(void **state) {
    (void)state;
    begin(1, 4, TS_TXN_QUEUE_FIFO, TS_TXN_OVERFLOW_SHED_LOAD);
    enter(0, (struct on){0, 1});
    enter(1, (struct on){0, 4});
    enter(2, (struct on){0, 4});
    enter(3, (struct on){0, 1});
    assert_int_equal(enter(4, (struct on){0, 2}), TS_TXN_WAITER_WAITING);
    expect_settled(2, TS_TXN_WAITER_SHED);
    expect_nobody_settled();
    assert_int_equal(gauges()->total_shed, 1);
    assert_int_equal(gauges()->total_rejected, 1);
    assert_int_equal(gauges()->waiting, 3);
}

static void shed_load_drops_the_newcomer_when_it_is_the_largest(void **state) {
    (void)state;
    begin(1, 2, TS_TXN_QUEUE_FIFO, TS_TXN_OVERFLOW_SHED_LOAD);
    enter(0, (struct on){0, 1});
    enter(1, (struct on){0, 2});
    assert_int_equal(enter(2, (struct on){0, 2}), TS_TXN_WAITER_SHED);
    assert_int_equal(waiters[1].state, TS_TXN_WAITER_WAITING);
    expect_nobody_settled();
}

static void degrade_lets_the_first_in_line_go_ahead_with_a_flag(void **state) {
    (void)state;
    begin(2, 4, TS_TXN_QUEUE_FIFO, TS_TXN_OVERFLOW_DEGRADE);
    for (size_t i = 0; i < 4; i++)
        enter(i, (struct on){0, 1});
    assert_int_equal(enter(4, (struct on){0, 1}), TS_TXN_WAITER_WAITING);
    expect_settled(2, TS_TXN_WAITER_ADMITTED);
    assert_true(waiters[2].degraded);
    assert_false(waiters[0].degraded);
    assert_int_equal(gauges()->in_flight, 3);
    assert_int_equal(gauges()->total_degraded, 1);
    assert_int_equal(gauges()->total_rejected, 0);
}

static void degrade_keeps_the_hard_limit(void **state) {
    (void)state;
    begin(2, 4, TS_TXN_QUEUE_FIFO, TS_TXN_OVERFLOW_DEGRADE);
    for (size_t i = 0; i < 6; i++)
        enter(i, (struct on){0, 1});
    assert_int_equal(gauges()->in_flight, 4);
    assert_int_equal(enter(6, (struct on){0, 1}), TS_TXN_WAITER_REJECTED);
    assert_int_equal(gauges()->in_flight, 4);
}

static void the_least_limit_of_its_stores_holds_a_transaction_back(void **state) {
    (void)state;
    begin(96, 128, TS_TXN_QUEUE_FIFO, TS_TXN_OVERFLOW_REJECT);
    ts_txn_admission_set_store_limit(&admission, (struct ts_txn_store_limit){.store = 1, .limit = 2}, 0);
    assert_int_equal(enter(0, (struct on){0, 2}), TS_TXN_WAITER_ADMITTED);
    assert_int_equal(enter(1, (struct on){1, 2}), TS_TXN_WAITER_ADMITTED);
    assert_int_equal(enter(2, (struct on){0, 2}), TS_TXN_WAITER_WAITING);
    assert_int_equal(ts_txn_admission_store_in_flight(&admission, 1), 2);
    leave(1);
    expect_settled(2, TS_TXN_WAITER_ADMITTED);
}

static void a_hot_store_does_not_hold_back_the_others(void **state) {
    (void)state;
    begin(96, 128, TS_TXN_QUEUE_FIFO, TS_TXN_OVERFLOW_REJECT);
    ts_txn_admission_set_store_limit(&admission, (struct ts_txn_store_limit){.store = 1, .limit = 1}, 0);
    enter(0, (struct on){1, 1});
    assert_int_equal(enter(1, (struct on){1, 2}), TS_TXN_WAITER_WAITING);
    assert_int_equal(enter(2, (struct on){3, 1}), TS_TXN_WAITER_ADMITTED);
}

static void nobody_overtakes_on_a_store_that_one_before_it_waits_for(void **state) {
    (void)state;
    begin(96, 128, TS_TXN_QUEUE_FIFO, TS_TXN_OVERFLOW_REJECT);
    ts_txn_admission_set_store_limit(&admission, (struct ts_txn_store_limit){.store = 1, .limit = 1}, 0);
    enter(0, (struct on){1, 1});
    enter(1, (struct on){1, 2}); /* waits for store 1, and queues at store 2 */
    assert_int_equal(enter(2, (struct on){2, 1}), TS_TXN_WAITER_WAITING);
    leave(0);
    expect_settled(1, TS_TXN_WAITER_ADMITTED);
    expect_settled(2, TS_TXN_WAITER_ADMITTED);
}

static void a_free_place_is_kept_for_the_earlier_waiter(void **state) {
    (void)state;
    begin(96, 128, TS_TXN_QUEUE_FIFO, TS_TXN_OVERFLOW_REJECT);
    ts_txn_admission_set_store_limit(&admission, (struct ts_txn_store_limit){.store = 1, .limit = 1}, 0);
    ts_txn_admission_set_store_limit(&admission, (struct ts_txn_store_limit){.store = 2, .limit = 1}, 0);
    enter(0, (struct on){1, 1});
    enter(1, (struct on){2, 1});
    enter(2, (struct on){1, 2});
    enter(3, (struct on){2, 1});
    leave(1); /* store 2 is free, and waiter 2 comes before waiter 3 there */
    expect_nobody_settled();
    leave(0);
    expect_settled(2, TS_TXN_WAITER_ADMITTED);
    expect_nobody_settled();
}

static void a_short_newcomer_passes_long_ones_that_wait_for_its_store(void **state) {
    (void)state;
    for (int policy = 0; policy < 2; policy++) {
        begin(96, 128, (enum ts_txn_queue_policy)policy, TS_TXN_OVERFLOW_REJECT);
        ts_txn_admission_set_store_limit(&admission, (struct ts_txn_store_limit){.store = 1, .limit = 1}, 0);
        enter(0, (struct on){1, 1});
        enter(1, (struct on){1, 2}); /* waits for store 1 */
        assert_int_equal(enter(2, (struct on){2, 1}), policy == TS_TXN_QUEUE_SHORT_TXN_PRIORITY
                                                          ? TS_TXN_WAITER_ADMITTED
                                                          : TS_TXN_WAITER_WAITING);
    }
}

static void raising_a_store_limit_lets_waiters_in(void **state) {
    (void)state;
    begin(96, 128, TS_TXN_QUEUE_FIFO, TS_TXN_OVERFLOW_REJECT);
    ts_txn_admission_set_store_limit(&admission, (struct ts_txn_store_limit){.store = 0, .limit = 1}, 0);
    enter(0, (struct on){0, 1});
    enter(1, (struct on){0, 1});
    enter(2, (struct on){0, 1});
    ts_txn_admission_set_store_limit(&admission, (struct ts_txn_store_limit){.store = 0, .limit = 2}, 50);
    expect_settled(1, TS_TXN_WAITER_ADMITTED);
    expect_nobody_settled();
}

static void a_waiter_can_give_up_and_later_ones_pass(void **state) {
    (void)state;
    begin(96, 128, TS_TXN_QUEUE_FIFO, TS_TXN_OVERFLOW_REJECT);
    ts_txn_admission_set_store_limit(&admission, (struct ts_txn_store_limit){.store = 1, .limit = 1}, 0);
    enter(0, (struct on){1, 1});
    enter(1, (struct on){1, 2});
    enter(2, (struct on){2, 1});
    leave(1);
    assert_int_equal(waiters[1].state, TS_TXN_WAITER_IDLE);
    expect_settled(2, TS_TXN_WAITER_ADMITTED);
}

static void one_that_leaves_before_it_was_woken_is_not_woken(void **state) {
    (void)state;
    begin(1, 3, TS_TXN_QUEUE_FIFO, TS_TXN_OVERFLOW_REJECT);
    enter(0, (struct on){0, 1});
    enter(1, (struct on){0, 1});
    leave(0);
    leave(1);
    expect_nobody_settled();
    assert_int_equal(gauges()->in_flight, 0);
}

static void entering_twice_is_our_own_mistake(void **state) {
    (void)state;
    begin(1, 3, TS_TXN_QUEUE_FIFO, TS_TXN_OVERFLOW_REJECT);
    enter(0, (struct on){0, 1});
    assert_stops("TS_TXN_WAITER_ADMITTED", ts_txn_admission_enter(&admission, &waiters[0], 0));
}

/* Checks invariants that always hold, and compares the gauges with counts from the waiters themselves. */
static void check_invariants(size_t count) {
    uint32_t in_flight = 0, waiting = 0, on_store[8] = {0};
    for (size_t i = 0; i < count; i++) {
        in_flight += waiters[i].state == TS_TXN_WAITER_ADMITTED;
        waiting += waiters[i].state == TS_TXN_WAITER_WAITING;
        for (size_t s = 0; waiters[i].state == TS_TXN_WAITER_ADMITTED && s < waiters[i].store_count; s++)
            on_store[waiters[i].stores[s]]++;
    }
    assert_int_equal(gauges()->in_flight, in_flight);
    assert_int_equal(gauges()->waiting, waiting);
    assert_true(in_flight <= admission.config.hard_limit);
    assert_true(waiting <= admission.config.hard_limit - admission.config.soft_limit);
    for (uint32_t s = 0; s < 8; s++)
        assert_int_equal(ts_txn_admission_store_in_flight(&admission, s), on_store[s]);
    if (in_flight == 0)
        assert_int_equal(waiting, 0);
}

static void random_use_keeps_counts_and_limits_and_nobody_is_left_waiting(void **state) {
    (void)state;
    struct ts_prng prng;
    ts_prng_init(&prng, 42);
    enum { MANY = 40 };
    for (unsigned round = 0; round < 60; round++) {
        begin(8, 16, round % 2 == 0 ? TS_TXN_QUEUE_FIFO : TS_TXN_QUEUE_SHORT_TXN_PRIORITY,
              (enum ts_txn_overflow_action)(round % 3));
        for (uint64_t now = 0; now < 400; now++) {
            struct ts_txn_admission_waiter *w = &waiters[ts_prng_below(&prng, MANY)];
            if (w->state == TS_TXN_WAITER_ADMITTED || w->state == TS_TXN_WAITER_WAITING) {
                if (ts_prng_chance(&prng, (struct ts_ratio){2, 3}))
                    ts_txn_admission_leave(&admission, w, now);
            } else {
                ts_txn_admission_leave(&admission, w, now);
                size_t first = ts_prng_below(&prng, 8);
                w->stores = places + first;
                w->store_count = 1 + ts_prng_below(&prng, 8 - first);
                w->deadline_us = now + 1 + ts_prng_below(&prng, 60);
                ts_txn_admission_enter(&admission, w, now);
            }
            ts_txn_admission_set_store_limit(
                &admission,
                (struct ts_txn_store_limit){.store = (uint32_t)ts_prng_below(&prng, 8),
                                            .limit = 1 + (uint32_t)ts_prng_below(&prng, 9)},
                now);
            check_invariants(MANY);
            while (ts_txn_admission_take_settled(&admission) != NULL) {
            }
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(below_the_soft_limit_all_are_admitted_at_once),
        cmocka_unit_test(between_the_limits_they_wait_and_above_they_are_rejected),
        cmocka_unit_test(leaving_admits_the_next_in_line),
        cmocka_unit_test(fifo_serves_in_order_of_arrival),
        cmocka_unit_test(short_txn_priority_serves_fewer_stores_first_then_arrival),
        cmocka_unit_test(waiting_ends_at_the_deadline),
        cmocka_unit_test(nobody_is_admitted_after_the_deadline),
        cmocka_unit_test(reject_keeps_those_that_wait),
        cmocka_unit_test(shed_load_drops_the_waiting_one_with_most_stores),
        cmocka_unit_test(shed_load_drops_the_newcomer_when_it_is_the_largest),
        cmocka_unit_test(degrade_lets_the_first_in_line_go_ahead_with_a_flag),
        cmocka_unit_test(degrade_keeps_the_hard_limit),
        cmocka_unit_test(the_least_limit_of_its_stores_holds_a_transaction_back),
        cmocka_unit_test(a_hot_store_does_not_hold_back_the_others),
        cmocka_unit_test(nobody_overtakes_on_a_store_that_one_before_it_waits_for),
        cmocka_unit_test(a_free_place_is_kept_for_the_earlier_waiter),
        cmocka_unit_test(a_short_newcomer_passes_long_ones_that_wait_for_its_store),
        cmocka_unit_test(raising_a_store_limit_lets_waiters_in),
        cmocka_unit_test(a_waiter_can_give_up_and_later_ones_pass),
        cmocka_unit_test(one_that_leaves_before_it_was_woken_is_not_woken),
        cmocka_unit_test(entering_twice_is_our_own_mistake),
        cmocka_unit_test(random_use_keeps_counts_and_limits_and_nobody_is_left_waiting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
