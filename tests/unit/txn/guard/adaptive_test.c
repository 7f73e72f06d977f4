#include "txn/guard/adaptive.h"

#include "support/cmocka.h"

static struct ts_txn_config config;
static struct ts_txn_adaptive adaptive;
static uint64_t now;

static int fresh(void **state) {
    (void)state;
    ts_txn_config_init(&config);
    now = 5000000;
    ts_txn_adaptive_init(&adaptive, &config, now);
    return 0;
}

static bool step(uint32_t conflict_percent_x100) {
    const struct ts_txn_conflict_view view = {.window = {.total_txns = 100},
                                              .conflict_rate_ppm = conflict_percent_x100 * 100};
    now += config.adaptive.interval_us;
    return ts_txn_adaptive_step(&adaptive, &config.adaptive, &view, now);
}

static void it_starts_at_the_hard_limit_within_its_bounds(void **state) {
    (void)state;
    assert_int_equal(adaptive.limit, 128);
    config.admission.hard_limit = 1000;
    ts_txn_adaptive_init(&adaptive, &config, 0);
    assert_int_equal(adaptive.limit, 256);
    config.admission.hard_limit = 2;
    ts_txn_adaptive_init(&adaptive, &config, 0);
    assert_int_equal(adaptive.limit, 4);
}

static void above_fifteen_percent_it_falls_by_a_step(void **state) {
    (void)state;
    assert_true(step(1501));
    assert_int_equal(adaptive.limit, 124);
}

static void below_five_percent_it_rises_by_a_step(void **state) {
    (void)state;
    assert_true(step(499));
    assert_int_equal(adaptive.limit, 132);
}

static void between_them_it_stays(void **state) {
    (void)state;
    assert_false(step(500));
    assert_false(step(1000));
    assert_false(step(1500));
    assert_int_equal(adaptive.limit, 128);
}

static void it_keeps_to_its_bounds(void **state) {
    (void)state;
    for (int i = 0; i < 100; i++)
        step(9000);
    assert_int_equal(adaptive.limit, 4);
    assert_false(step(9000));
    for (int i = 0; i < 100; i++)
        step(0);
    assert_int_equal(adaptive.limit, 256);
    assert_false(step(0));
}

static void there_is_one_step_in_an_interval(void **state) {
    (void)state;
    const struct ts_txn_conflict_view view = {.window = {.total_txns = 100}, .conflict_rate_ppm = 900000};
    assert_false(ts_txn_adaptive_step(&adaptive, &config.adaptive, &view, now + 999999));
    assert_true(ts_txn_adaptive_step(&adaptive, &config.adaptive, &view, now + 1000000));
    assert_false(ts_txn_adaptive_step(&adaptive, &config.adaptive, &view, now + 1999999));
    assert_true(ts_txn_adaptive_step(&adaptive, &config.adaptive, &view, now + 2000000));
    assert_int_equal(adaptive.limit, 120);
}

static void too_few_transactions_say_nothing(void **state) {
    (void)state;
    const struct ts_txn_conflict_view view = {.window = {.total_txns = 19}, .conflict_rate_ppm = 900000};
    assert_false(ts_txn_adaptive_step(&adaptive, &config.adaptive, &view, now + 5000000));
    assert_int_equal(adaptive.limit, 128);
}

/* Uses the conflict tracker. Many conflicts lower the limit. The limit rises again when the conflicts have
 * left the window. */
static void a_storm_lowers_it_and_quiet_raises_it_again(void **state) {
    (void)state;
    struct ts_txn_conflict_tracker tracker;
    ts_txn_conflict_init(&tracker, &config.conflict);
    for (int second = 0; second < 60; second++) {
        for (int i = 0; i < 100; i++)
            ts_txn_conflict_record(
                &tracker,
                (struct ts_txn_conflict_event){
                    second < 20 && i < 50 ? TS_TXN_CONFLICT_CONFLICT : TS_TXN_CONFLICT_COMMITTED, 0},
                now);
        now += 1000000;
        struct ts_txn_conflict_view view = ts_txn_conflict_view(&tracker, now);
        ts_txn_adaptive_step(&adaptive, &config.adaptive, &view, now);
        if (second == 19)
            assert_int_equal(adaptive.limit, 128 - 20 * 4);
    }
    assert_in_range(adaptive.limit, 128, 256);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(it_starts_at_the_hard_limit_within_its_bounds, fresh),
        cmocka_unit_test_setup(above_fifteen_percent_it_falls_by_a_step, fresh),
        cmocka_unit_test_setup(below_five_percent_it_rises_by_a_step, fresh),
        cmocka_unit_test_setup(between_them_it_stays, fresh),
        cmocka_unit_test_setup(it_keeps_to_its_bounds, fresh),
        cmocka_unit_test_setup(there_is_one_step_in_an_interval, fresh),
        cmocka_unit_test_setup(too_few_transactions_say_nothing, fresh),
        cmocka_unit_test_setup(a_storm_lowers_it_and_quiet_raises_it_again, fresh),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
