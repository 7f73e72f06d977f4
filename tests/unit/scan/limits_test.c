#include "limits.h"

#include "os/clock.h"
#include "pass.h"
#include "support/cmocka.h"

#include <stdlib.h>

#define LONG_NS UINT64_C(200000000)

static struct ts_scan_progress progress;
static struct ts_scan_options options;
static struct scan_pass *pass;

static int begin(void **state) {
    (void)state;
    pass = calloc(1, sizeof *pass);
    if (pass == NULL)
        return -1;
    atomic_store(&progress.stop, false);
    pass->options = &options;
    pass->progress = &progress;
    scan__limits_init(pass, ts_clock_monotonic_ns());
    scan__limits_begin(pass, NULL);
    return 0;
}

static int end(void **state) {
    (void)state;
    scan__limits_release(&pass->limits);
    free(pass);
    return 0;
}

static void work_for(uint64_t ns) {
    uint64_t begin_ns = ts_clock_processor_ns();
    while (ts_clock_processor_ns() - begin_ns < ns)
        continue;
}

static void a_signal_ends_the_scanning_at_once(void **state) {
    (void)state;
    struct ts_git_watch watch = scan__watch(pass);
    assert_true(watch.go_on(watch.ctx, 1));
    assert_false(scan__is_over(pass));
    atomic_store(&progress.stop, true);
    assert_false(watch.go_on(watch.ctx, 1));
    assert_true(scan__is_over(pass));
    assert_true(scan__is_stopped(pass));
}

static void a_signal_leaves_a_moment_for_placing_findings(void **state) {
    (void)state;
    struct ts_git_watch watch = scan__watch(pass);
    scan__limits_place(pass);
    work_for(LONG_NS);
    assert_true(watch.go_on(watch.ctx, 0));
    assert_false(scan__is_past_end(pass));
    atomic_store(&progress.stop, true);
    assert_true(watch.go_on(watch.ctx, 0));
    work_for(LONG_NS);
    assert_true(scan__is_past_end(pass));
    assert_false(watch.go_on(watch.ctx, 0));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_signal_ends_the_scanning_at_once, begin, end),
        cmocka_unit_test_setup_teardown(a_signal_leaves_a_moment_for_placing_findings, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
