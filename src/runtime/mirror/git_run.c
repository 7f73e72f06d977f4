#include "git_run.h"

#include "os/clock.h"
#include "os/grow.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    POLL_MS = 20, /* how often the stop flag is checked */
    NO_GIT_STATUS = 127,
    ARGUMENTS_MAX = 96,
};

#define NS_PER_MS UINT64_C(1000000)

/* Indexes of the pipes in arrays of their ends. */
enum { OUTPUT, MESSAGES, LIFE, PIPES };

/* ---- in the children: only functions that are safe after a fork of a process with threads ---- */

/* Kills the group. Called when the worker has died. */
static void end_group(int number) {
    (void)number;
    (void)kill(0, SIGKILL);
}

/* Closes all descriptors of the worker that git does not need. The guard is a copy of the worker, and must
 * not hold connections, files of stores or the locks of other mirrors. */
static void close_others(const struct mirror__git *git, const int ends[PIPES]) {
    const int kept[] = {ends[OUTPUT],  ends[MESSAGES], ends[LIFE],
                        git->input_fd, git->lock_fd,   git->secret_fd};
    unsigned from = STDERR_FILENO + 1;
    for (;;) {
        int next = -1;
        for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
            if (kept[i] >= (int)from && (next < 0 || kept[i] < next))
                next = kept[i];
        if (next < 0)
            break;
        if (next > (int)from)
            (void)close_range(from, (unsigned)next - 1, 0);
        from = (unsigned)next + 1;
    }
    (void)close_range(from, ~0U, 0);
}

static void reset_signals(void) {
    sigset_t none;
    (void)sigemptyset(&none);
    (void)signal(SIGPIPE, SIG_DFL);
    (void)signal(SIGTERM, SIG_DFL);
    (void)signal(SIGINT, SIG_DFL);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static bool inherit(int fd) {
    return fd < 0 || fcntl(fd, F_SETFD, 0) == 0;
}

_Noreturn static void be_git(const struct mirror__git *git, const int ends[PIPES]) {
    const char *words[ARGUMENTS_MAX + 2] = {"git"};
    size_t count = 1;
    for (const char *const *word = git->arguments; *word != NULL && count <= ARGUMENTS_MAX; word++)
        words[count++] = *word;
    const int input = git->input_fd >= 0 ? git->input_fd : open("/dev/null", O_RDONLY | O_CLOEXEC);
    reset_signals();
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)signal(SIGXFSZ, SIG_IGN); /* so that git itself reports why it fails */
    if (git->file_max > 0)
        (void)setrlimit(RLIMIT_FSIZE, &(struct rlimit){git->file_max, git->file_max});
    /* Not RLIMIT_AS: git maps whole packs, which takes no memory. */
    if (git->memory_max > 0)
        (void)setrlimit(RLIMIT_DATA, &(struct rlimit){git->memory_max, git->memory_max});
    (void)setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    if (chdir("/") == 0 && dup2(input, STDIN_FILENO) >= 0 && dup2(ends[OUTPUT], STDOUT_FILENO) >= 0 &&
        dup2(ends[MESSAGES], STDERR_FILENO) >= 0 && inherit(ends[LIFE]) && inherit(git->lock_fd) &&
        inherit(git->secret_fd))
        (void)execvpe("git", (char *const *)(uintptr_t)words, (char *const *)(uintptr_t)git->environment);
    _exit(NO_GIT_STATUS);
}

/* Runs the guard process: waits for git, and ends with the same status or signal. If the worker dies, kills the
 * group. */
_Noreturn static void be_guard(const struct mirror__git *git, const int ends[PIPES], pid_t worker) {
    (void)setpgid(0, 0);
    close_others(git, ends);
    reset_signals();
    (void)signal(SIGTERM, end_group);
    if (prctl(PR_SET_PDEATHSIG, SIGTERM) != 0 || getppid() != worker)
        _exit(NO_GIT_STATUS);
    const pid_t child = fork();
    if (child == 0)
        be_git(git, ends);
    (void)close(ends[OUTPUT]);
    (void)close(ends[MESSAGES]);
    int status = 0;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    if (child > 0 && WIFSIGNALED(status)) {
        (void)signal(WTERMSIG(status), SIG_DFL);
        (void)raise(WTERMSIG(status));
    }
    _exit(child > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : NO_GIT_STATUS);
}

/* ---- in the worker ---- */

struct running {
    const struct mirror__git *git;
    struct mirror__git_result *result;
    pid_t guard;
    int ends[PIPES]; /* -1: closed */
    uint64_t end_ns;
};

/* Kills the group. The guard is reaped last; until then, no other process group can get its number. */
static void kill_group(const struct running *running, enum mirror__git_end end) {
    if (running->result->end == MIRROR__GIT_EXITED)
        running->result->end = end;
    (void)kill(-running->guard, SIGKILL);
}

static void keep_output(const struct running *running, const char *more, size_t count) {
    struct mirror__git_result *result = running->result;
    if (result->output_len + count > running->git->output_max)
        kill_group(running, MIRROR__GIT_TOO_LARGE);
    else if (!TS_GROW(result->output, result->output_capacity, result->output_len + count))
        kill_group(running, MIRROR__GIT_NO_MEMORY);
    else {
        memcpy(result->output + result->output_len, more, count);
        result->output_len += count;
    }
}

/* Keeps the last MIRROR__MESSAGES_MAX bytes, because the last message says what went wrong. */
static void keep_messages(struct mirror__git_result *result, const char *more, size_t count) {
    size_t len = result->messages_len;
    if (len + count > MIRROR__MESSAGES_MAX) {
        const size_t dropped = len + count - MIRROR__MESSAGES_MAX;
        memmove(result->messages, result->messages + dropped, len - dropped);
        len -= dropped;
    }
    memcpy(result->messages + len, more, count);
    result->messages_len = len + count;
}

static void drain(struct running *running, size_t which) {
    char bytes[16384];
    const ssize_t count = read(running->ends[which], bytes, sizeof bytes);
    if (count > 0 && which == OUTPUT) {
        keep_output(running, bytes, (size_t)count);
    } else if (count > 0 && which == MESSAGES) {
        keep_messages(running->result, bytes, (size_t)count);
    } else if (count == 0 || (count < 0 && errno != EINTR && errno != EAGAIN)) {
        (void)close(running->ends[which]);
        running->ends[which] = -1;
    }
}

static bool has_ended(pid_t guard) {
    siginfo_t info = {.si_pid = 0};
    return waitid(P_PID, (id_t)guard, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == guard;
}

static void enforce(const struct running *running, enum mirror__limit limit) {
    switch (limit) {
    case MIRROR__LIMITS_KEPT:
        return;
    case MIRROR__LIMIT_SIZE:
        kill_group(running, MIRROR__GIT_TOO_LARGE);
        return;
    case MIRROR__LIMIT_PACE:
        kill_group(running, MIRROR__GIT_TIMED_OUT);
        return;
    }
}

/* Reads the pipes, and checks the stop flag and the limits, until the last process of the group has closed
 * its end of the pipe LIFE. */
static void watch(struct running *running) {
    struct mirror__watch measured = {0};
    while (running->ends[LIFE] >= 0) {
        struct pollfd fds[PIPES];
        for (size_t i = 0; i < PIPES; i++)
            fds[i] = (struct pollfd){.fd = running->ends[i], .events = POLLIN};
        const int ready = poll(fds, PIPES, POLL_MS);
        for (size_t i = 0; i < PIPES; i++)
            if (ready > 0 && fds[i].revents != 0)
                drain(running, i);
        if (atomic_load(running->git->stop))
            kill_group(running, MIRROR__GIT_STOPPED);
        else if (ts_clock_monotonic_ns() >= running->end_ns)
            kill_group(running, MIRROR__GIT_TIMED_OUT);
        else if (has_ended(running->guard))
            kill_group(running, MIRROR__GIT_EXITED); /* kills processes that git left behind */
        else
            enforce(running, mirror__limits_check(&running->git->limits, &measured, running->guard));
    }
    while (running->ends[OUTPUT] >= 0)
        drain(running, OUTPUT);
    while (running->ends[MESSAGES] >= 0)
        drain(running, MESSAGES);
}

static void judge(int status, struct mirror__git_result *result) {
    if (result->end != MIRROR__GIT_EXITED)
        return;
    if (WIFEXITED(status) && WEXITSTATUS(status) == NO_GIT_STATUS)
        result->end = MIRROR__GIT_NO_GIT;
    result->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void close_all(const int *fds, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (fds[i] >= 0)
            (void)close(fds[i]);
}

void mirror__git_run(const struct mirror__git *git, struct mirror__git_result *ret_result) {
    int theirs[PIPES] = {-1, -1, -1};
    struct running running = {.git = git, .result = ret_result, .guard = -1, .ends = {-1, -1, -1}};
    ret_result->end = MIRROR__GIT_NO_PROCESS;
    ret_result->status = 0;
    ret_result->output_len = ret_result->messages_len = 0;
    bool has_pipes = true;
    for (size_t i = 0; i < PIPES && has_pipes; i++) {
        int both[2];
        has_pipes = pipe2(both, O_CLOEXEC) == 0;
        if (has_pipes) {
            running.ends[i] = both[0];
            theirs[i] = both[1];
        }
    }
    const pid_t worker = getpid();
    running.guard = has_pipes ? fork() : -1;
    if (running.guard == 0)
        be_guard(git, theirs, worker);
    close_all(theirs, PIPES);
    if (running.guard < 0) {
        close_all(running.ends, PIPES);
        return;
    }
    (void)setpgid(running.guard, running.guard); /* be_guard does this, too, but maybe after the first kill */
    running.end_ns = ts_clock_monotonic_ns() + git->time_max_ms * NS_PER_MS;
    ret_result->end = MIRROR__GIT_EXITED;
    watch(&running);
    int status = 0;
    while (waitpid(running.guard, &status, 0) < 0 && errno == EINTR)
        continue;
    judge(status, ret_result);
}

void mirror__git_result_release(struct mirror__git_result *result) {
    free(result->output);
    result->output = NULL;
    result->output_len = result->output_capacity = 0;
}
