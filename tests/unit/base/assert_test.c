#include "base/assert.h"

#include "support/cmocka.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void a_true_condition_goes_on(void **state) {
    (void)state;
    ts_assert(1 + 1 == 2);
}

static void a_false_condition_stops_the_process_and_says_where(void **state) {
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        ts_assert(1 + 1 == 3);
        _exit(0);
    }
    close(ends[1]);
    char said[200] = "";
    ssize_t length = read(ends[0], said, sizeof said - 1);
    close(ends[0]);
    assert_true(length > 0);
    assert_non_null(strstr(said, "assertion failed: 1 + 1 == 3 (tests/unit/base/assert_test.c:"));
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_true_condition_goes_on),
        cmocka_unit_test(a_false_condition_stops_the_process_and_says_where),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
