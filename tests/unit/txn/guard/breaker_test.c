#include "txn/guard/breaker.h"

#include "base/prng.h"
#include "support/cmocka.h"

static struct ts_txn_breaker breaker;

enum { RECOVERY = 10000000, PROBE = 30000000 };

static int closed(void **state) {
    (void)state;
    struct ts_txn_config config;
    ts_txn_config_init(&config);
    ts_txn_breaker_init(&breaker, &config.breaker);
    return 0;
}

static bool pass(uint64_t now_us, enum ts_txn_breaker_report report) {
    struct ts_txn_breaker_permit permit;
    if (!ts_txn_breaker_ask(&breaker, now_us, &permit))
        return false;
    ts_txn_breaker_report(&breaker, &permit, report, now_us);
    return true;
}

static void trip_at(uint64_t now_us) {
    for (int i = 0; i < 5; i++)
        assert_true(pass(now_us, TS_TXN_BREAKER_FAILURE));
}

static void expect_state(enum ts_txn_breaker_state state) {
    assert_int_equal(breaker.state, state);
}

static void it_trips_at_the_threshold_and_turns_everybody_away(void **state) {
    (void)state;
    for (int i = 0; i < 4; i++)
        pass(0, TS_TXN_BREAKER_FAILURE);
    expect_state(TS_TXN_BREAKER_CLOSED);
    pass(0, TS_TXN_BREAKER_FAILURE);
    expect_state(TS_TXN_BREAKER_OPEN);
    assert_int_equal(breaker.trips, 1);
    assert_false(pass(1, TS_TXN_BREAKER_SUCCESS));
    assert_false(pass(RECOVERY - 1, TS_TXN_BREAKER_SUCCESS));
    assert_int_equal(breaker.turned_away, 2);
}

static void a_store_that_is_down_trips_it_at_once(void **state) {
    (void)state;
    assert_true(pass(0, TS_TXN_BREAKER_DOWN));
    expect_state(TS_TXN_BREAKER_OPEN);
    assert_false(pass(1, TS_TXN_BREAKER_SUCCESS));
    /* The probe finds the store still down. */
    assert_true(pass(RECOVERY, TS_TXN_BREAKER_DOWN));
    expect_state(TS_TXN_BREAKER_OPEN);
    assert_true(pass(2 * RECOVERY, TS_TXN_BREAKER_SUCCESS));
    expect_state(TS_TXN_BREAKER_CLOSED);
}

static void a_success_sets_the_count_back(void **state) {
    (void)state;
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < 4; i++)
            pass(0, TS_TXN_BREAKER_FAILURE);
        pass(0, TS_TXN_BREAKER_SUCCESS);
    }
    expect_state(TS_TXN_BREAKER_CLOSED);
}

static void only_failures_of_the_infrastructure_count(void **state) {
    (void)state;
    for (int i = 0; i < 100; i++) {
        pass(0, TS_TXN_BREAKER_ANSWERED);
        pass(0, TS_TXN_BREAKER_TURNED_AWAY);
    }
    expect_state(TS_TXN_BREAKER_CLOSED);
    /* Only a success resets the count of failures. Results that are neither a failure nor a success leave the
     * count unchanged. */
    for (int i = 0; i < 5; i++) {
        pass(0, TS_TXN_BREAKER_FAILURE);
        pass(0, TS_TXN_BREAKER_ANSWERED);
    }
    expect_state(TS_TXN_BREAKER_OPEN);
}

static void exactly_one_probe_goes_out(void **state) {
    (void)state;
    trip_at(0);
    struct ts_txn_breaker_permit probe, other;
    assert_int_equal(ts_txn_breaker_state_at(&breaker, RECOVERY - 1), TS_TXN_BREAKER_OPEN);
    assert_int_equal(ts_txn_breaker_state_at(&breaker, RECOVERY), TS_TXN_BREAKER_HALF_OPEN);
    assert_true(ts_txn_breaker_ask(&breaker, RECOVERY, &probe));
    for (uint64_t i = 0; i < 100; i++)
        assert_false(ts_txn_breaker_ask(&breaker, RECOVERY + i, &other));
    ts_txn_breaker_report(&breaker, &probe, TS_TXN_BREAKER_SUCCESS, RECOVERY + 100);
    expect_state(TS_TXN_BREAKER_CLOSED);
    assert_true(ts_txn_breaker_ask(&breaker, RECOVERY + 100, &other));
}

static void a_probe_that_fails_opens_it_for_another_recovery(void **state) {
    (void)state;
    trip_at(0);
    assert_true(pass(RECOVERY, TS_TXN_BREAKER_FAILURE));
    expect_state(TS_TXN_BREAKER_OPEN);
    assert_int_equal(breaker.trips, 2);
    assert_false(pass(2 * RECOVERY - 1, TS_TXN_BREAKER_SUCCESS));
    assert_true(pass(2 * RECOVERY, TS_TXN_BREAKER_SUCCESS));
    expect_state(TS_TXN_BREAKER_CLOSED);
}

static void a_probe_that_is_answered_closes_it(void **state) {
    (void)state;
    trip_at(0);
    assert_true(pass(RECOVERY, TS_TXN_BREAKER_ANSWERED));
    expect_state(TS_TXN_BREAKER_CLOSED);
}

static void a_refused_probe_returns_its_place(void **state) {
    (void)state;
    trip_at(0);
    for (uint64_t i = 0; i < 50; i++) {
        assert_true(pass(RECOVERY + i, TS_TXN_BREAKER_TURNED_AWAY));
        expect_state(TS_TXN_BREAKER_HALF_OPEN);
    }
    assert_true(pass(RECOVERY + 50, TS_TXN_BREAKER_SUCCESS));
    expect_state(TS_TXN_BREAKER_CLOSED);
}

static void a_lost_probe_is_replaced_and_its_late_report_ignored(void **state) {
    (void)state;
    trip_at(0);
    struct ts_txn_breaker_permit lost, second, third;
    assert_true(ts_txn_breaker_ask(&breaker, RECOVERY, &lost));
    assert_false(ts_txn_breaker_ask(&breaker, RECOVERY + PROBE - 1, &second));
    assert_true(ts_txn_breaker_ask(&breaker, RECOVERY + PROBE, &second));
    ts_txn_breaker_report(&breaker, &lost, TS_TXN_BREAKER_FAILURE, RECOVERY + PROBE + 1);
    expect_state(TS_TXN_BREAKER_HALF_OPEN);
    assert_false(ts_txn_breaker_ask(&breaker, RECOVERY + PROBE + 2, &third));
    ts_txn_breaker_report(&breaker, &second, TS_TXN_BREAKER_SUCCESS, RECOVERY + PROBE + 3);
    expect_state(TS_TXN_BREAKER_CLOSED);
}

static void calls_that_were_admitted_before_the_trip_do_not_count_afterwards(void **state) {
    (void)state;
    struct ts_txn_breaker_permit early[3], probe;
    for (size_t i = 0; i < 3; i++)
        assert_true(ts_txn_breaker_ask(&breaker, 0, &early[i]));
    trip_at(1);
    ts_txn_breaker_report(&breaker, &early[0], TS_TXN_BREAKER_SUCCESS, 2);
    expect_state(TS_TXN_BREAKER_OPEN);
    assert_true(ts_txn_breaker_ask(&breaker, RECOVERY + 1, &probe));
    ts_txn_breaker_report(&breaker, &early[1], TS_TXN_BREAKER_SUCCESS, RECOVERY + 2);
    expect_state(TS_TXN_BREAKER_HALF_OPEN);
    ts_txn_breaker_report(&breaker, &early[2], TS_TXN_BREAKER_FAILURE, RECOVERY + 2);
    expect_state(TS_TXN_BREAKER_HALF_OPEN);
}

static void a_permit_counts_once(void **state) {
    (void)state;
    struct ts_txn_breaker_permit permit;
    assert_true(ts_txn_breaker_ask(&breaker, 0, &permit));
    for (int i = 0; i < 20; i++)
        ts_txn_breaker_report(&breaker, &permit, TS_TXN_BREAKER_FAILURE, 0);
    assert_int_equal(breaker.failures, 1);
}

/* After any sequence of reports, the breaker allows a call as soon as the longer of its two timeouts is over.
 * If the call succeeds, the breaker is closed. */
static void it_cannot_wedge(void **state) {
    struct ts_prng prng;
    ts_prng_init(&prng, 11);
    for (int round = 0; round < 500; round++) {
        closed(state);
        struct ts_txn_breaker_permit permits[8] = {0};
        uint64_t now = 0;
        for (int step = 0; step < 60; step++) {
            struct ts_txn_breaker_permit *permit = &permits[ts_prng_below(&prng, 8)];
            if (ts_prng_chance(&prng, (struct ts_ratio){1, 2}))
                ts_txn_breaker_ask(&breaker, now, permit); /* the earlier permit is lost */
            else
                ts_txn_breaker_report(&breaker, permit, (enum ts_txn_breaker_report)ts_prng_below(&prng, 4),
                                      now);
            now += ts_prng_below(&prng, RECOVERY / 2);
        }
        now += RECOVERY > PROBE ? RECOVERY : PROBE;
        assert_true(pass(now, TS_TXN_BREAKER_SUCCESS));
        expect_state(TS_TXN_BREAKER_CLOSED);
    }
}

static struct ts_txn_cause store_cause(enum ts_store_result result) {
    return (struct ts_txn_cause){.kind = TS_TXN_CAUSE_STORE, .result = result, .call = TS_CALL_PREPARE};
}

static void causes_report_what_they_say_about_the_stores(void **state) {
    (void)state;
    struct ts_txn_cause cause = {.kind = TS_TXN_CAUSE_NONE};
    assert_int_equal(ts_txn_breaker_report_of(&cause), TS_TXN_BREAKER_SUCCESS);
    cause = store_cause(TS_STORE_UNAVAILABLE);
    assert_int_equal(ts_txn_breaker_report_of(&cause), TS_TXN_BREAKER_FAILURE);
    cause.down = true;
    assert_int_equal(ts_txn_breaker_report_of(&cause), TS_TXN_BREAKER_DOWN);
    cause = store_cause(TS_STORE_UNKNOWN);
    assert_int_equal(ts_txn_breaker_report_of(&cause), TS_TXN_BREAKER_FAILURE);
    cause = store_cause(TS_STORE_CHECK_FAILED);
    assert_int_equal(ts_txn_breaker_report_of(&cause), TS_TXN_BREAKER_ANSWERED);
    cause = store_cause(TS_STORE_BUSY);
    assert_int_equal(ts_txn_breaker_report_of(&cause), TS_TXN_BREAKER_TURNED_AWAY);
    cause = (struct ts_txn_cause){.kind = TS_TXN_CAUSE_ADMISSION};
    assert_int_equal(ts_txn_breaker_report_of(&cause), TS_TXN_BREAKER_TURNED_AWAY);
    cause = ts_txn_cause_of_timeout(TS_TXN_TIMEOUT_COMMIT);
    assert_int_equal(ts_txn_breaker_report_of(&cause), TS_TXN_BREAKER_FAILURE);
    cause = ts_txn_cause_of_timeout(TS_TXN_TIMEOUT_LOCK_VALIDATE);
    assert_int_equal(ts_txn_breaker_report_of(&cause), TS_TXN_BREAKER_TURNED_AWAY);
    /* A store that waits for a lock reports the wait. So a store that does not answer has failed. */
    cause.unanswered = true;
    assert_int_equal(ts_txn_breaker_report_of(&cause), TS_TXN_BREAKER_FAILURE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(it_trips_at_the_threshold_and_turns_everybody_away, closed),
        cmocka_unit_test_setup(a_store_that_is_down_trips_it_at_once, closed),
        cmocka_unit_test_setup(a_success_sets_the_count_back, closed),
        cmocka_unit_test_setup(only_failures_of_the_infrastructure_count, closed),
        cmocka_unit_test_setup(exactly_one_probe_goes_out, closed),
        cmocka_unit_test_setup(a_probe_that_fails_opens_it_for_another_recovery, closed),
        cmocka_unit_test_setup(a_probe_that_is_answered_closes_it, closed),
        cmocka_unit_test_setup(a_refused_probe_returns_its_place, closed),
        cmocka_unit_test_setup(a_lost_probe_is_replaced_and_its_late_report_ignored, closed),
        cmocka_unit_test_setup(calls_that_were_admitted_before_the_trip_do_not_count_afterwards, closed),
        cmocka_unit_test_setup(a_permit_counts_once, closed),
        cmocka_unit_test_setup(it_cannot_wedge, closed),
        cmocka_unit_test_setup(causes_report_what_they_say_about_the_stores, closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
