#include "faults.h"
#include "option_names.h"
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
    fault.error = TS_GIT_NO_ROOM;
    sink.take(sink.ctx, &fault);
    assert_non_null(strstr(faults.items[1].text, "; raise the memory limit (--memory)"));
    scan__faults_release(&faults);
}

static void an_option_has_the_name_that_the_user_knows(void **state) {
    (void)state;
    struct scan_faults faults;
    scan__faults_init(&faults);
    scan__fault(&faults, "%s: too large; raise " SCAN_OPTION_MEMORY, "\\x01k");
    faults.for_library = true;
    scan__fault(&faults, "b: too large; raise " SCAN_OPTION_MEMORY);
    scan__note(&faults, "see " SCAN_OPTION_WORKING_TREE " and a mark alone: " SCAN_OPTION_MARK);
    assert_string_equal(faults.items[0].text, "\\x01k: too large; raise --memory");
    assert_string_equal(faults.items[1].text, "b: too large; raise TS_SCAN_LIMIT_MEMORY_BYTES");
    assert_string_equal(faults.notes[0],
                        "see TS_SCAN_SWITCH_WORKING_TREE and a mark alone: " SCAN_OPTION_MARK);
    scan__faults_release(&faults);
}

static void a_text_with_names_is_cut_to_its_size(void **state) {
    (void)state;
    char text[12];
    assert_string_equal(scan__name_options("raise " SCAN_OPTION_JOBS "!", false, text, sizeof text),
                        "raise --job");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faults_are_sorted_and_said_once),
        cmocka_unit_test(more_are_counted_than_kept),
        cmocka_unit_test(a_fault_of_git_is_described),
        cmocka_unit_test(an_option_has_the_name_that_the_user_knows),
        cmocka_unit_test(a_text_with_names_is_cut_to_its_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
