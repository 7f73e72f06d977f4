#include "faults.h"
#include "support/cmocka.h"

#include <string.h>

static void faults_are_sorted_and_said_once(void **state) {
    (void)state;
    struct scan_faults faults;
    scan__faults_init(&faults);
    faults.target = 1;
    scan__fault(&faults, "b %d", 1);
    scan__fault(&faults, "a");
    scan__fault(&faults, "b %d", 1);
    faults.target = 0;
    scan__fault(&faults, "z");
    scan__faults_sort(&faults);
    assert_int_equal(faults.total, 3);
    assert_int_equal(faults.count, 3);
    assert_string_equal(faults.items[0].text, "z");
    assert_string_equal(faults.items[1].text, "a");
    assert_int_equal(faults.items[2].target, 1);
    scan__faults_release(&faults);
}

static void more_are_counted_than_kept(void **state) {
    (void)state;
    struct scan_faults faults;
    struct ts_git_fault fault = {.error = TS_GIT_BAD_DELTA, .thing = "a pack"};
    scan__faults_init(&faults);
    struct ts_git_fault_sink sink = scan__faults_sink(&faults);
    for (int i = 0; i < SCAN_FAULTS_MAX + 5; i++)
        scan__fault(&faults, "%d", i);
    sink.take(sink.ctx, &fault);
    assert_int_equal(faults.count, SCAN_FAULTS_MAX);
    scan__faults_sort(&faults);
    assert_int_equal(faults.total, SCAN_FAULTS_MAX + 6);
    scan__note(&faults, "a note of %s", "something");
    assert_string_equal(faults.notes[0], "a note of something");
    scan__faults_release(&faults);
}

static void a_fault_of_git_is_described(void **state) {
    (void)state;
    struct scan_faults faults;
    struct ts_git_fault fault = {.error = TS_GIT_BAD_DELTA, .thing = "a pack"};
    scan__faults_init(&faults);
    struct ts_git_fault_sink sink = scan__faults_sink(&faults);
    sink.take(sink.ctx, &fault);
    assert_non_null(strstr(faults.items[0].text, "a pack: damaged: its delta is not valid"));
    scan__faults_release(&faults);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faults_are_sorted_and_said_once),
        cmocka_unit_test(more_are_counted_than_kept),
        cmocka_unit_test(a_fault_of_git_is_described),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
