#include "os/read.h"
#include "support/cmocka.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Returns the read end of a pipe that contains the text `times` times. Each text was written separately. */
static int pipe_with(const char *text, size_t times) {
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    for (size_t i = 0; i < times; i++)
        assert_int_equal(write(ends[1], text, strlen(text)), strlen(text));
    close(ends[1]);
    return ends[0];
}

static void a_short_result_means_the_end(void **state) {
    (void)state;
    char buffer[8];
    size_t len = 0;
    const int fd = pipe_with("abc", 4);
    assert_true(ts_read_up_to(fd, buffer, sizeof buffer, &len));
    assert_int_equal(len, 8);
    assert_memory_equal(buffer, "abcabcab", 8);
    assert_true(ts_read_up_to(fd, buffer, sizeof buffer, &len));
    assert_int_equal(len, 4);
    assert_true(ts_read_up_to(fd, buffer, sizeof buffer, &len));
    assert_int_equal(len, 0);
    close(fd);
}

static void a_whole_input_is_read(void **state) {
    (void)state;
    static const size_t sizes[] = {0, 1, 65535, 65536};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        uint8_t *bytes = NULL;
        size_t len = 7;
        const int fd = pipe_with("x", sizes[i]);
        assert_true(ts_read_all(fd, 1 << 20, &bytes, &len));
        assert_int_equal(len, sizes[i]);
        assert_true(len == 0 || (bytes[0] == 'x' && bytes[len - 1] == 'x'));
        free(bytes);
        close(fd);
    }
}

/* The writer is a child process, which writes later. */
static void a_non_blocking_input_is_waited_for(void **state) {
    (void)state;
    int ends[2];
    char buffer[8];
    size_t len = 0;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
    const pid_t writer = fork();
    if (writer == 0) {
        (void)poll(NULL, 0, 50);
        _exit(write(ends[1], "later", 5) == 5 ? 0 : 1);
    }
    assert_true(writer > 0);
    close(ends[1]);
    assert_true(ts_read_up_to(ends[0], buffer, sizeof buffer, &len));
    assert_int_equal(len, 5);
    close(ends[0]);
    assert_int_equal(waitpid(writer, NULL, 0), writer);
}

static void an_input_that_is_too_large_is_not_read_to_its_end(void **state) {
    (void)state;
    uint8_t *bytes = NULL;
    size_t len = 0;
    const int fd = open("/dev/zero", O_RDONLY);
    assert_true(ts_read_all(fd, 1000, &bytes, &len));
    assert_true(len > 1000 && len < 1000000);
    free(bytes);
    close(fd);
}

static void a_failed_read_has_an_errno(void **state) {
    (void)state;
    uint8_t *bytes = NULL;
    size_t len = 7;
    errno = 0;
    assert_false(ts_read_all(-1, 1000, &bytes, &len));
    assert_int_equal(errno, EBADF);
    assert_null(bytes);
    assert_int_equal(len, 7);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_short_result_means_the_end),
        cmocka_unit_test(a_whole_input_is_read),
        cmocka_unit_test(a_non_blocking_input_is_waited_for),
        cmocka_unit_test(an_input_that_is_too_large_is_not_read_to_its_end),
        cmocka_unit_test(a_failed_read_has_an_errno),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
