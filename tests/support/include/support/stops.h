/*
 * Shows that an assertion stops a statement. The statement runs in a child process:
 *
 *     assert_stops("age < head->count", ts_ring_from_oldest(&ring, 0));
 *
 * The test passes if SIGABRT ends the child, and the child's message contains the given text.
 */
#ifndef TS_TESTS_SUPPORT_STOPS_H
#define TS_TESTS_SUPPORT_STOPS_H

#include "support/cmocka.h"

#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

struct support_stop {
    pid_t child;
    int said;
};

#define assert_stops(text, ...)                                                                              \
    do {                                                                                                     \
        struct support_stop stop_;                                                                           \
        if (support_stop_is_child(&stop_)) {                                                                 \
            (void)(__VA_ARGS__);                                                                             \
            _exit(0);                                                                                        \
        }                                                                                                    \
        support_stop_check(&stop_, (text));                                                                  \
    } while (0)

static inline bool support_stop_is_child(struct support_stop *stop) {
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    stop->child = fork();
    assert_true(stop->child >= 0);
    if (stop->child == 0) {
        struct rlimit no_core = {0, 0};
        setrlimit(RLIMIT_CORE, &no_core);
        dup2(ends[1], STDERR_FILENO);
        return true;
    }
    close(ends[1]);
    stop->said = ends[0];
    return false;
}

static inline void support_stop_check(const struct support_stop *stop, const char *text) {
    char said[4096];
    size_t length = 0;
    ssize_t got;
    while (length < sizeof said - 1 && (got = read(stop->said, said + length, sizeof said - 1 - length)) > 0)
        length += (size_t)got;
    said[length] = '\0';
    close(stop->said);
    int status;
    assert_int_equal(waitpid(stop->child, &status, 0), stop->child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
    if (strstr(said, text) == NULL)
        fail_msg("expected \"%s\" in: %s", text, said);
}

#endif
