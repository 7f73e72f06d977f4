#include "os/out.h"

#include "support/cmocka.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static struct ts_out out;

/* Opens a file that has no name. */
static int open_scratch(void) {
    char name[] = "/tmp/turnstone-out-XXXXXX";
    int fd = mkstemp(name);
    assert_true(fd >= 0);
    unlink(name);
    return fd;
}

static void expect_content(int fd, const void *expected, size_t len) {
    uint8_t *got = malloc(len + 1);
    assert_non_null(got);
    assert_int_equal(pread(fd, got, len + 1, 0), len);
    if (len > 0)
        assert_memory_equal(got, expected, len);
    free(got);
}

static void output_appears_in_order_when_flushed(void **state) {
    (void)state;
    int fd = open_scratch();
    ts_out_init(&out, fd);
    ts_out_put(&out, TS_BYTES("a\0b"));
    ts_out_put_char(&out, ' ');
    ts_out_put_cstring(&out, "text ");
    ts_out_put_u64(&out, UINT64_MAX);
    ts_out_put_char(&out, ' ');
    ts_out_put_i64(&out, INT64_MIN);
    ts_out_put_char(&out, '\n');
    expect_content(fd, "", 0);
    assert_true(ts_out_flush(&out));
    static const char expected[] = "a\0b text 18446744073709551615 -9223372036854775808\n";
    expect_content(fd, expected, sizeof expected - 1);
    assert_true(ts_out_flush(&out));
    expect_content(fd, expected, sizeof expected - 1);
    close(fd);
}

static void nothing_is_nothing(void **state) {
    (void)state;
    int fd = open_scratch();
    ts_out_init(&out, fd);
    struct ts_bytes none = {NULL, 0};
    ts_out_put(&out, none);
    ts_out_put_cstring(&out, "");
    assert_true(ts_out_flush(&out));
    expect_content(fd, "", 0);
    close(fd);
}

/* Tests every kind of put, at every distance from the end of the buffer. */
static void the_end_of_the_buffer_cuts_nothing(void **state) {
    (void)state;
    static char expected[TS_OUT_BUFFER_SIZE + 100];
    for (size_t room = 0; room < 25; room++) {
        for (int kind = 0; kind < 5; kind++) {
            int fd = open_scratch();
            ts_out_init(&out, fd);
            size_t before = TS_OUT_BUFFER_SIZE - room;
            memset(expected, 'x', before);
            ts_out_put(&out, ts_bytes_of(expected, before));
            const char *added = "";
            switch (kind) {
            case 0:
                added = "0123456789";
                ts_out_put_cstring(&out, added);
                break;
            case 1:
                added = "18446744073709551615";
                ts_out_put_u64(&out, UINT64_MAX);
                break;
            case 2:
                added = "-9223372036854775808";
                ts_out_put_i64(&out, INT64_MIN);
                break;
            case 3:
                added = "c";
                ts_out_put_char(&out, 'c');
                break;
            case 4:
                added = "00ff7f3031";
                ts_out_put_hex(&out, TS_BYTES("\x00\xff\x7f\x30\x31"));
                break;
            }
            memcpy(expected + before, added, strlen(added));
            assert_true(ts_out_flush(&out));
            expect_content(fd, expected, before + strlen(added));
            close(fd);
        }
    }
}

static void output_larger_than_the_buffer_is_written(void **state) {
    (void)state;
    static uint8_t large[3 * TS_OUT_BUFFER_SIZE + 7];
    for (size_t i = 0; i < sizeof large; i++)
        large[i] = (uint8_t)(i % 253);
    static const size_t sizes[] = {TS_OUT_BUFFER_SIZE - 1, TS_OUT_BUFFER_SIZE, TS_OUT_BUFFER_SIZE + 1,
                                   sizeof large};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        int fd = open_scratch();
        ts_out_init(&out, fd);
        ts_out_put(&out, ts_bytes_of(large, 1));
        ts_out_put(&out, ts_bytes_of(large + 1, sizes[i] - 1));
        assert_true(ts_out_flush(&out));
        expect_content(fd, large, sizes[i]);
        close(fd);
    }
}

static void the_first_error_sticks_and_the_rest_is_dropped(void **state) {
    (void)state;
    int fd = open("/dev/full", O_WRONLY);
    assert_true(fd >= 0);
    ts_out_init(&out, fd);
    ts_out_put_char(&out, 'x');
    assert_int_equal(ts_out_error(&out), 0);
    assert_false(ts_out_flush(&out));
    assert_int_equal(ts_out_error(&out), ENOSPC);
    close(fd);
    /* The descriptor is now closed, but ENOSPC stays the error. */
    for (int i = 0; i < 200000; i++) {
        ts_out_put_char(&out, 'x');
        ts_out_put_u64(&out, 7);
        ts_out_put_cstring(&out, "text");
    }
    assert_false(ts_out_flush(&out));
    assert_int_equal(ts_out_error(&out), ENOSPC);
}

static void a_closed_pipe_is_an_error(void **state) {
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    close(ends[0]);
    void (*before)(int) = signal(SIGPIPE, SIG_IGN);
    ts_out_init(&out, ends[1]);
    ts_out_put_char(&out, 'x');
    assert_false(ts_out_flush(&out));
    assert_int_equal(ts_out_error(&out), EPIPE);
    signal(SIGPIPE, before);
    close(ends[1]);
}

static volatile sig_atomic_t alarms;

static void on_alarm(int number) {
    (void)number;
    alarms++;
}

static void set_alarm(suseconds_t every_us) {
    const struct itimerval timer = {.it_interval = {0, every_us}, .it_value = {0, every_us}};
    assert_int_equal(setitimer(ITIMER_REAL, &timer, NULL), 0);
}

/* Starts a child process that reads slowly. The child exits with 0 if it has received everything. */
static pid_t start_slow_reader(const int ends[2], size_t total) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child != 0)
        return child;
    close(ends[1]);
    size_t got = 0;
    bool good = true;
    uint8_t part[2000];
    ssize_t len;
    while ((len = read(ends[0], part, sizeof part)) > 0) {
        for (size_t i = 0; i < (size_t)len; i++)
            good = good && part[i] == (got + i) % 253;
        got += (size_t)len;
        usleep(300);
    }
    _exit(good && got == total ? 0 : 1);
}

/* A signal every millisecond interrupts writes before and after their first byte. On a non-blocking
 * descriptor, some writes also write nothing. */
static void interrupted_and_partial_writes_lose_nothing(void **state) {
    (void)state;
    struct sigaction action = {.sa_handler = on_alarm}, before;
    assert_int_equal(sigaction(SIGALRM, &action, &before), 0);
    for (int blocking = 0; blocking < 2; blocking++) {
        int ends[2];
        assert_int_equal(pipe(ends), 0);
        assert_true(fcntl(ends[1], F_SETPIPE_SZ, 4096) > 0);
        if (!blocking)
            assert_int_equal(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
        const size_t total = 4 * TS_OUT_BUFFER_SIZE + 5;
        pid_t reader = start_slow_reader(ends, total);
        close(ends[0]);

        alarms = 0;
        set_alarm(1000);
        ts_out_init(&out, ends[1]);
        for (size_t i = 0; i < total; i++)
            ts_out_put_char(&out, (char)(uint8_t)(i % 253));
        assert_true(ts_out_flush(&out));
        set_alarm(0);
        assert_true(alarms > 0);
        close(ends[1]);
        int status;
        assert_int_equal(waitpid(reader, &status, 0), reader);
        assert_int_equal(status, 0);
    }
    sigaction(SIGALRM, &before, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(output_appears_in_order_when_flushed),
        cmocka_unit_test(nothing_is_nothing),
        cmocka_unit_test(the_end_of_the_buffer_cuts_nothing),
        cmocka_unit_test(output_larger_than_the_buffer_is_written),
        cmocka_unit_test(the_first_error_sticks_and_the_rest_is_dropped),
        cmocka_unit_test(a_closed_pipe_is_an_error),
        cmocka_unit_test(interrupted_and_partial_writes_lose_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
