#include "runtime/core/reason.h"

#include "support/cmocka.h"

#include <string.h>

#define COUNT(suffix, class, follows, label, text) +1
#define FAULT_COUNT(suffix, label, text)           +1

enum { REASONS = TS_UNIT_REASONS(COUNT), FAULTS = TS_FLEET_WORKER_FAULTS(FAULT_COUNT) };

static const char *answer_to(enum ts_unit_reason reason) {
    return TS_UNIT_ERROR_MATCH(ts_unit_error_of(reason), "again", "park", "stop");
}

static void each_class_has_its_own_answer(void **state) {
    (void)state;
    assert_string_equal(answer_to(TS_UNIT_TIMED_OUT), "again");
    assert_string_equal(answer_to(TS_UNIT_NOT_FOUND), "park");
    assert_string_equal(answer_to(TS_UNIT_FENCE_STALE), "stop");
}

static void only_the_answer_of_the_class_is_evaluated(void **state) {
    (void)state;
    int retryable = 0, permanent = 0, stale = 0;
    TS_UNIT_ERROR_MATCH(ts_unit_error_of(TS_UNIT_MOVED), (void)retryable++, (void)permanent++, (void)stale++);
    assert_int_equal(retryable, 0);
    assert_int_equal(permanent, 1);
    assert_int_equal(stale, 0);
}

static void a_lost_lease_is_neither_retried_nor_parked(void **state) {
    (void)state;
    static const enum ts_unit_reason lost[] = {TS_UNIT_LEASE_ENDED, TS_UNIT_LEASE_EXPIRED,
                                               TS_UNIT_FENCE_STALE, TS_UNIT_SHARD_ENDED, TS_UNIT_RUN_ENDED};
    for (size_t i = 0; i < sizeof lost / sizeof lost[0]; i++)
        assert_string_equal(answer_to(lost[i]), "stop");
}

static void a_permanent_error_parks_for_the_reason_of_its_row(void **state) {
    (void)state;
    static const struct {
        enum ts_unit_reason reason;
        enum ts_park_reason park;
    } cases[] = {
        {TS_UNIT_NOT_FOUND, TS_PARK_NOT_FOUND},
        {TS_UNIT_MOVED, TS_PARK_NOT_FOUND},
        {TS_UNIT_PERMISSION_DENIED, TS_PARK_PERMISSION_DENIED},
        {TS_UNIT_AUTHENTICATION_FAILED, TS_PARK_PERMISSION_DENIED},
        {TS_UNIT_TOO_LARGE, TS_PARK_OTHER},
        {TS_UNIT_UNSUPPORTED_SELECTION, TS_PARK_OTHER},
        {TS_UNIT_DAMAGED_ORIGIN, TS_PARK_POISONED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(ts_unit_error_park_reason(ts_unit_error_of(cases[i].reason)), cases[i].park);
}

static void a_failure_outside_the_shard_is_released_without_blame(void **state) {
    (void)state;
    assert_int_equal(ts_unit_error_blame(ts_unit_error_of(TS_UNIT_STORE_UNAVAILABLE)), TS_BLAME_NOBODY);
    assert_int_equal(ts_unit_error_blame(ts_unit_error_of(TS_UNIT_RATE_LIMITED)), TS_BLAME_NOBODY);
    assert_int_equal(ts_unit_error_blame(ts_unit_error_of(TS_UNIT_UNREACHABLE)), TS_BLAME_SHARD);
}

/* Checks that a label has only small letters and underscores, and differs from the others. */
static void check_label(const char *label, const char *const *others, size_t count) {
    assert_true(strlen(label) > 0 && strspn(label, "abcdefghijklmnopqrstuvwxyz_") == strlen(label));
    for (size_t i = 0; i < count; i++)
        assert_string_not_equal(label, others[i]);
}

static void every_reason_has_a_label_of_its_own_and_a_text(void **state) {
    (void)state;
    const char *seen[REASONS + FAULTS];
    for (size_t i = 0; i < REASONS; i++) {
        seen[i] = ts_unit_reason_label((enum ts_unit_reason)i);
        check_label(seen[i], seen, i);
        assert_true(strlen(ts_unit_reason_text((enum ts_unit_reason)i)) > 0);
    }
    for (size_t i = 0; i < FAULTS; i++) {
        const struct ts_fleet_worker_fault fault = {(enum ts_fleet_worker_fault_kind)i};
        seen[REASONS + i] = ts_fleet_worker_fault_label(fault);
        check_label(seen[REASONS + i], seen, REASONS + i);
        assert_true(strlen(ts_fleet_worker_fault_text(fault)) > 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_class_has_its_own_answer),
        cmocka_unit_test(only_the_answer_of_the_class_is_evaluated),
        cmocka_unit_test(a_lost_lease_is_neither_retried_nor_parked),
        cmocka_unit_test(a_permanent_error_parks_for_the_reason_of_its_row),
        cmocka_unit_test(a_failure_outside_the_shard_is_released_without_blame),
        cmocka_unit_test(every_reason_has_a_label_of_its_own_and_a_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
