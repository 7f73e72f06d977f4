#include "os/in.h"

#include "base/prng.h"
#include "support/cmocka.h"
#include "support/stops.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static struct ts_in in;

/* Returns a descriptor from which the given bytes can be read. */
static int open_input(struct ts_bytes bytes) {
    char name[] = "/tmp/turnstone-in-XXXXXX";
    int fd = mkstemp(name);
    assert_true(fd >= 0);
    unlink(name);
    assert_int_equal(write(fd, bytes.data, bytes.len), bytes.len);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    return fd;
}

static void start(struct ts_bytes input, size_t token_max) {
    ts_in_init(&in, open_input(input), token_max);
}

static void stop(void) {
    close(in.fd);
}

static void expect(enum ts_in_result result, struct ts_bytes bytes, uint64_t line) {
    struct ts_in_token token;
    assert_int_equal(ts_in_next(&in, &token), result);
    assert_int_equal(token.bytes.len, bytes.len);
    assert_memory_equal(token.bytes.data, bytes.data, bytes.len);
    assert_int_equal(token.line, line);
}

/* Expects the end of the input twice, because the end is final. */
static void expect_end(void) {
    for (int i = 0; i < 2; i++) {
        struct ts_in_token token = {.line = 77};
        assert_int_equal(ts_in_next(&in, &token), TS_IN_END);
        assert_int_equal(token.line, 77);
    }
    assert_int_equal(ts_in_error(&in), 0);
}

static void tokens_are_separated_by_blanks_and_have_a_line_number(void **state) {
    (void)state;
    start(TS_BYTES("a bc\td\r\n\n  ef\n\rg"), 10);
    expect(TS_IN_TOKEN, TS_BYTES("a"), 1);
    expect(TS_IN_TOKEN, TS_BYTES("bc"), 1);
    expect(TS_IN_TOKEN, TS_BYTES("d"), 1);
    expect(TS_IN_TOKEN, TS_BYTES("ef"), 3);
    expect(TS_IN_TOKEN, TS_BYTES("g"), 4);
    expect_end();
    stop();
}

static void input_without_tokens_ends_at_once(void **state) {
    (void)state;
    start(TS_BYTES(""), 10);
    expect_end();
    stop();
    start(TS_BYTES(" \t\r\n \n"), 10);
    expect_end();
    stop();
}

static void any_other_byte_belongs_to_a_token(void **state) {
    (void)state;
    start(TS_BYTES("a\0b\v\f\xff\x1b -1\n"), 10);
    expect(TS_IN_TOKEN, TS_BYTES("a\0b\v\f\xff\x1b"), 1);
    expect(TS_IN_TOKEN, TS_BYTES("-1"), 1);
    expect_end();
    stop();
}

static void a_token_of_the_maximum_is_whole_and_one_byte_more_is_too_long(void **state) {
    (void)state;
    start(TS_BYTES("abcd abcde\nabcdefghijkl x abcd"), 4);
    expect(TS_IN_TOKEN, TS_BYTES("abcd"), 1);
    expect(TS_IN_TOO_LONG, TS_BYTES("abcd"), 1);
    expect(TS_IN_TOO_LONG, TS_BYTES("abcd"), 2);
    expect(TS_IN_TOKEN, TS_BYTES("x"), 2);
    expect(TS_IN_TOKEN, TS_BYTES("abcd"), 2);
    expect_end();
    stop();
    start(TS_BYTES("abcde"), 4);
    expect(TS_IN_TOO_LONG, TS_BYTES("abcd"), 1);
    expect_end();
    stop();
}

static void a_token_longer_than_the_buffer_is_too_long_once(void **state) {
    (void)state;
    static uint8_t input[3 * TS_IN_BUFFER_SIZE];
    memset(input, 'a', sizeof input);
    memcpy(input + sizeof input - 5, "\nlast", 5);
    static const size_t maxima[] = {1, 100, TS_IN_BUFFER_SIZE - 1};
    for (size_t i = 0; i < 3; i++) {
        start(ts_bytes_of(input, sizeof input), maxima[i]);
        expect(TS_IN_TOO_LONG, ts_bytes_of(input, maxima[i]), 1);
        if (maxima[i] > 1)
            expect(TS_IN_TOKEN, TS_BYTES("last"), 2);
        else
            expect(TS_IN_TOO_LONG, TS_BYTES("l"), 2);
        expect_end();
        stop();
    }
}

static void the_largest_possible_token_is_whole(void **state) {
    (void)state;
    static uint8_t input[TS_IN_BUFFER_SIZE + 1];
    memset(input, 'a', sizeof input);
    input[0] = ' ';
    input[TS_IN_BUFFER_SIZE] = '\n';
    start(ts_bytes_of(input, sizeof input), TS_IN_BUFFER_SIZE - 1);
    expect(TS_IN_TOKEN, ts_bytes_of(input + 1, TS_IN_BUFFER_SIZE - 1), 1);
    expect_end();
    stop();
    assert_stops("token_max", ts_in_init(&in, 0, TS_IN_BUFFER_SIZE));
    assert_stops("token_max", ts_in_init(&in, 0, 0));
}

/* Compares the tokens of random input with those of a plain loop. The input is several buffers long. */
static void random_input_agrees_with_the_definition(void **state) {
    (void)state;
    enum { SIZE = 5 * TS_IN_BUFFER_SIZE, TOKEN_MAX = 12 };
    static uint8_t input[SIZE];
    static const char letters[] = "abcdefghijklmnopqrs \t\r\n";
    struct ts_prng prng;
    ts_prng_init(&prng, 21);
    for (size_t i = 0; i < SIZE; i++)
        input[i] = (uint8_t)letters[ts_prng_below(&prng, sizeof letters - 1)];
    start(ts_bytes_of(input, SIZE), TOKEN_MAX);
    uint64_t line = 1;
    for (size_t at = 0; at < SIZE;) {
        if (strchr(" \t\r\n", input[at]) != NULL) {
            line += input[at++] == '\n';
            continue;
        }
        size_t len = 0;
        while (at + len < SIZE && strchr(" \t\r\n", input[at + len]) == NULL)
            len++;
        if (len > TOKEN_MAX)
            expect(TS_IN_TOO_LONG, ts_bytes_of(input + at, TOKEN_MAX), line);
        else
            expect(TS_IN_TOKEN, ts_bytes_of(input + at, len), line);
        at += len;
    }
    expect_end();
    stop();
}

static void a_failed_read_is_a_value_and_final(void **state) {
    (void)state;
    int fd = open("/", O_RDONLY | O_DIRECTORY);
    assert_true(fd >= 0);
    ts_in_init(&in, fd, 10);
    for (int i = 0; i < 2; i++) {
        struct ts_in_token token = {.line = 77};
        assert_int_equal(ts_in_next(&in, &token), TS_IN_READ_ERROR);
        assert_int_equal(token.line, 77);
        assert_int_equal(ts_in_error(&in), EISDIR);
    }
    close(fd);
}

/* Tokens that were complete before the failure are returned. A token that the failure cut is not returned. */
static void a_token_cut_by_a_failed_read_is_not_a_token(void **state) {
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "one tw", 6), 6);
    ts_in_init(&in, ends[0], 10);
    expect(TS_IN_TOKEN, TS_BYTES("one"), 1);
    int directory = open("/", O_RDONLY | O_DIRECTORY);
    assert_int_equal(dup2(directory, ends[0]), ends[0]);
    close(directory);
    for (int i = 0; i < 2; i++) {
        struct ts_in_token token = {.line = 77};
        assert_int_equal(ts_in_next(&in, &token), TS_IN_READ_ERROR);
        assert_int_equal(token.line, 77);
    }
    assert_int_equal(ts_in_error(&in), EISDIR);
    close(ends[0]);
    close(ends[1]);
}

/* The other end of the pipe stays open, so waiting for more input would never end. */
static void a_finished_line_is_answered_before_more_input_comes(void **state) {
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    ts_in_init(&in, ends[0], 10);
    assert_int_equal(write(ends[1], "one two\n", 8), 8);
    expect(TS_IN_TOKEN, TS_BYTES("one"), 1);
    expect(TS_IN_TOKEN, TS_BYTES("two"), 1);
    assert_int_equal(write(ends[1], "three\n", 6), 6);
    expect(TS_IN_TOKEN, TS_BYTES("three"), 2);
    close(ends[1]);
    expect_end();
    close(ends[0]);
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

static pid_t start_slow_writer(const int ends[2]) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child != 0)
        return child;
    for (int i = 0; i < 30; i++) {
        usleep(1000);
        if (write(ends[1], "to", 2) != 2)
            _exit(1);
        usleep(1000);
        if (write(ends[1], "ken\n", 4) != 4)
            _exit(1);
    }
    _exit(0);
}

static void interrupted_reads_and_single_bytes_lose_nothing(void **state) {
    (void)state;
    struct sigaction action = {.sa_handler = on_alarm}, before;
    assert_int_equal(sigaction(SIGALRM, &action, &before), 0);
    for (int blocking = 0; blocking < 2; blocking++) {
        int ends[2];
        assert_int_equal(pipe(ends), 0);
        if (!blocking)
            assert_int_equal(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
        pid_t writer = start_slow_writer(ends);
        close(ends[1]);
        alarms = 0;
        set_alarm(1000);
        ts_in_init(&in, ends[0], 10);
        for (uint64_t line = 1; line <= 30; line++)
            expect(TS_IN_TOKEN, TS_BYTES("token"), line);
        expect_end();
        set_alarm(0);
        assert_true(alarms > 0);
        close(ends[0]);
        int status;
        assert_int_equal(waitpid(writer, &status, 0), writer);
        assert_int_equal(status, 0);
    }
    sigaction(SIGALRM, &before, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_are_separated_by_blanks_and_have_a_line_number),
        cmocka_unit_test(input_without_tokens_ends_at_once),
        cmocka_unit_test(any_other_byte_belongs_to_a_token),
        cmocka_unit_test(a_token_of_the_maximum_is_whole_and_one_byte_more_is_too_long),
        cmocka_unit_test(a_token_longer_than_the_buffer_is_too_long_once),
        cmocka_unit_test(the_largest_possible_token_is_whole),
        cmocka_unit_test(random_input_agrees_with_the_definition),
        cmocka_unit_test(a_failed_read_is_a_value_and_final),
        cmocka_unit_test(a_token_cut_by_a_failed_read_is_not_a_token),
        cmocka_unit_test(a_finished_line_is_answered_before_more_input_comes),
        cmocka_unit_test(interrupted_reads_and_single_bytes_lose_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
