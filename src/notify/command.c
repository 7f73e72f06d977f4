#include "command.h"

#include "os/clock.h"
#include "os/unnamed_file.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { POLL_NS = 20000000, ENVIRONMENT_MAX = 4096, ID_SIZE = 100 };
#define NS_PER_S UINT64_C(1000000000)

static bool start(const struct ts_notify_sink *sink, const char *id, int input, pid_t *ret_pid) {
    char variable[ID_SIZE];
    char shell[] = "sh", flag[] = "-c";
    char *command = strdup(sink->command);
    char *const words[] = {shell, flag, command, NULL};
    char *variables[ENVIRONMENT_MAX + 2];
    size_t count = 0;
    for (; count < ENVIRONMENT_MAX && environ[count] != NULL; count++)
        variables[count] = environ[count];
    (void)snprintf(variable, sizeof variable, "TURNSTONE_NOTIFICATION_ID=%.64s", id);
    variables[count++] = variable;
    variables[count] = NULL;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, ours;
    (void)sigemptyset(&none);
    (void)sigemptyset(&ours);
    (void)sigaddset(&ours, SIGPIPE);
    (void)sigaddset(&ours, SIGINT);
    (void)sigaddset(&ours, SIGTERM);
    bool good = command != NULL && posix_spawn_file_actions_init(&actions) == 0 &&
                posix_spawnattr_init(&attributes) == 0;
    good = good && posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO) == 0 &&
           posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO) == 0 &&
           posix_spawnattr_setpgroup(&attributes, 0) == 0 &&
           posix_spawnattr_setsigmask(&attributes, &none) == 0 &&
           posix_spawnattr_setsigdefault(&attributes, &ours) == 0 &&
           posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                                     POSIX_SPAWN_SETSIGDEF) == 0 &&
           posix_spawn(ret_pid, "/bin/sh", &actions, &attributes, words, variables) == 0;
    if (command != NULL) {
        (void)posix_spawn_file_actions_destroy(&actions);
        (void)posix_spawnattr_destroy(&attributes);
    }
    free(command);
    return good;
}

/* Waits for the command, and then kills its process group. The process is not reaped before the kill, so its
 * number cannot belong to another group. */
static struct ts_notify_answer wait_for(const struct ts_notify_sink *sink, const atomic_bool *stop,
                                        pid_t pid) {
    struct ts_notify_answer answer = {.label = NULL};
    const uint64_t end_ns = ts_clock_monotonic_ns() + sink->timeout_s * NS_PER_S;
    for (;;) {
        siginfo_t info = {.si_pid = 0};
        if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == pid)
            break;
        if (stop != NULL && atomic_load(stop)) {
            answer.label = "stopped";
            break;
        }
        if (ts_clock_monotonic_ns() >= end_ns) {
            answer.label = "timed_out";
            (void)snprintf(answer.text, sizeof answer.text, "the command did not end in %u s",
                           sink->timeout_s);
            break;
        }
        nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
    }
    (void)kill(-pid, SIGKILL);
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    answer.is_sent = answer.label == NULL && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (answer.label == NULL && !answer.is_sent) {
        answer.label = "command_failed";
        (void)snprintf(answer.text, sizeof answer.text, "the command ended with status %d",
                       WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    }
    return answer;
}

struct ts_notify_answer notify__command_run(const struct ts_notify_sink *sink, const atomic_bool *stop,
                                            const struct ts_notify_message *message) {
    struct ts_notify_answer answer = {.label = "no_process", .text = "the command cannot be started"};
    /* The message is in a file, not in a pipe, so a command that does not read the message delays nobody. */
    const int input = ts_unnamed_memory_of(ts_bytes_of_cstring(message->body));
    pid_t pid;
    if (input >= 0 && start(sink, message->id, input, &pid))
        answer = wait_for(sink, stop, pid);
    if (input >= 0)
        (void)close(input);
    return answer;
}
