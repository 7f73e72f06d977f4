#include "git_run.h"

#include "os/clock.h"
#include "support/cmocka.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The result of the last run_shell(). A git alias that begins with "!" runs a shell, so git behaves as the
 * test wants. */
static struct mirror__git_result result;
static atomic_bool stop;
static char folder[] = "/tmp/turnstone-git-run-XXXXXX";

static const char *const environment[] = {"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/dev/null", "LC_ALL=C",
                                          NULL};

static struct mirror__git git_of(const char *const *arguments) {
    return (struct mirror__git){.arguments = arguments,
                                .environment = environment,
                                .input_fd = -1,
                                .lock_fd = -1,
                                .secret_fd = -1,
                                .time_max_ms = 60000,
                                .output_max = 1 << 20,
                                .stop = &stop};
}

static void run_shell(const char *script, struct mirror__git git) {
    char alias[2000];
    (void)snprintf(alias, sizeof alias, "alias.x=!%s", script);
    const char *const words[] = {"-c", alias, "x", NULL};
    git.arguments = words;
    mirror__git_run(&git, &result);
}

static bool output_has(const char *text) {
    return memmem(result.output, result.output_len, text, strlen(text)) != NULL;
}

static void output_messages_and_status_are_kept(void **state) {
    (void)state;
    run_shell("echo out; echo err >&2; exit 3 #", git_of(NULL));
    assert_int_equal(result.end, MIRROR__GIT_EXITED);
    assert_int_equal(result.status, 3);
    assert_true(output_has("out\n"));
    assert_non_null(memmem(result.messages, result.messages_len, "err\n", 4));
}

static void of_many_messages_the_last_are_kept(void **state) {
    (void)state;
    run_shell("seq 100000 >&2; echo last >&2 #", git_of(NULL));
    assert_int_equal(result.messages_len, MIRROR__MESSAGES_MAX);
    assert_memory_equal(result.messages + result.messages_len - 5, "last\n", 5);
}

static void git_gets_no_other_variable_and_no_other_descriptor(void **state) {
    (void)state;
    const int other = open("/dev/null", O_RDONLY); /* without O_CLOEXEC, as by a careless library */
    const int lock = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_true(other >= 0 && lock >= 0);
    setenv("TURNSTONE_TEST_VARIABLE", "1", 1);
    struct mirror__git git = git_of(NULL);
    git.lock_fd = lock;
    char script[200];
    (void)snprintf(
        script, sizeof script,
        "env; test -e /proc/self/fd/%d || echo other is closed; test -e /proc/self/fd/%d && echo lock is open #",
        other, lock);
    run_shell(script, git);
    assert_int_equal(result.status, 0);
    assert_false(output_has("TURNSTONE_TEST_VARIABLE"));
    assert_true(output_has("other is closed"));
    assert_true(output_has("lock is open"));
    close(other);
    close(lock);
}

static void *set_stop(void *ctx) {
    (void)ctx;
    (void)nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
    atomic_store(&stop, true);
    return NULL;
}

/* The file contains the number of a process that git has started. Expects that this process ends soon,
 * although it would run for a minute. */
static void assert_gone(const char *path) {
    char text[32] = "";
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(fgets(text, sizeof text, file));
    fclose(file);
    const pid_t pid = (pid_t)strtol(text, NULL, 10);
    assert_true(pid > 1);
    for (unsigned i = 0; i < 500 && kill(pid, 0) == 0; i++) /* a zombie exists until init has noticed it */
        (void)nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    assert_int_equal(kill(pid, 0), -1);
    assert_int_equal(errno, ESRCH);
}

static void sleeper(char *ret_script, size_t size, const char *end) {
    (void)snprintf(ret_script, size, "sleep 60 & echo $! > %s/pid; %s #", folder, end);
}

static const char *pid_file(void) {
    static char path[100];
    (void)snprintf(path, sizeof path, "%s/pid", folder);
    return path;
}

static void a_stop_kills_the_whole_group(void **state) {
    (void)state;
    char script[200];
    pthread_t thread;
    sleeper(script, sizeof script, "wait");
    assert_int_equal(pthread_create(&thread, NULL, set_stop, NULL), 0);
    run_shell(script, git_of(NULL));
    pthread_join(thread, NULL);
    atomic_store(&stop, false);
    assert_int_equal(result.end, MIRROR__GIT_STOPPED);
    assert_gone(pid_file());
}

static void the_end_of_the_time_kills_the_whole_group(void **state) {
    (void)state;
    char script[200];
    struct mirror__git git = git_of(NULL);
    git.time_max_ms = 500;
    sleeper(script, sizeof script, "wait");
    run_shell(script, git);
    assert_int_equal(result.end, MIRROR__GIT_TIMED_OUT);
    assert_gone(pid_file());
}

static void a_process_that_git_leaves_behind_is_killed(void **state) {
    (void)state;
    char script[200];
    sleeper(script, sizeof script, "exit 0");
    run_shell(script, git_of(NULL));
    assert_int_equal(result.end, MIRROR__GIT_EXITED);
    assert_int_equal(result.status, 0);
    assert_gone(pid_file());
}

/* When a worker is killed, its git process ends, too, and the lock becomes free. */
static void git_dies_with_its_worker(void **state) {
    (void)state;
    char script[200];
    char lock_path[100];
    (void)snprintf(lock_path, sizeof lock_path, "%s/lock", folder);
    (void)unlink(pid_file());
    sleeper(script, sizeof script, "wait");
    const pid_t worker = fork();
    if (worker == 0) {
        struct mirror__git git = git_of(NULL);
        git.lock_fd = open(lock_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (flock(git.lock_fd, LOCK_EX) == 0)
            run_shell(script, git);
        _exit(1);
    }
    struct stat status = {.st_size = 0};
    for (unsigned i = 0; i < 3000 && (stat(pid_file(), &status) != 0 || status.st_size == 0); i++)
        (void)nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    const int lock = open(lock_path, O_RDWR | O_CLOEXEC);
    assert_int_equal(flock(lock, LOCK_EX | LOCK_NB), -1);
    assert_int_equal(kill(worker, SIGKILL), 0);
    assert_int_equal(waitpid(worker, NULL, 0), worker);
    assert_gone(pid_file());
    assert_int_equal(flock(lock, LOCK_EX), 0);
    close(lock);
}

static void a_file_that_grows_beyond_the_limit_ends_git(void **state) {
    (void)state;
    char script[200];
    struct mirror__git git = git_of(NULL);
    git.file_max = 4096;
    (void)snprintf(script, sizeof script, "exec head -c 100000 /dev/zero > %s/large #", folder);
    run_shell(script, git);
    assert_int_equal(result.end, MIRROR__GIT_EXITED);
    assert_non_null(memmem(result.messages, result.messages_len, "File too large", 14));
    struct stat status;
    char path[100];
    (void)snprintf(path, sizeof path, "%s/large", folder);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_size, 4096);
    (void)unlink(path);
}

static void output_beyond_the_limit_ends_git(void **state) {
    (void)state;
    struct mirror__git git = git_of(NULL);
    git.output_max = 1000;
    run_shell("yes #", git);
    assert_int_equal(result.end, MIRROR__GIT_TOO_LARGE);
}

static void a_machine_without_git_is_recognized(void **state) {
    (void)state;
    static const char *const words[] = {"version", NULL};
    const char *const path = getenv("PATH");
    char *kept = strdup(path != NULL ? path : "");
    struct mirror__git git = git_of(words);
    setenv("PATH", "/nowhere", 1);
    mirror__git_run(&git, &result);
    setenv("PATH", kept, 1);
    free(kept);
    assert_int_equal(result.end, MIRROR__GIT_NO_GIT);
}

static int make_folder(void **state) {
    (void)state;
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state) {
    char path[100];
    (void)state;
    mirror__git_result_release(&result);
    (void)unlink(pid_file());
    (void)snprintf(path, sizeof path, "%s/lock", folder);
    (void)unlink(path);
    return rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(output_messages_and_status_are_kept),
        cmocka_unit_test(of_many_messages_the_last_are_kept),
        cmocka_unit_test(git_gets_no_other_variable_and_no_other_descriptor),
        cmocka_unit_test(a_stop_kills_the_whole_group),
        cmocka_unit_test(the_end_of_the_time_kills_the_whole_group),
        cmocka_unit_test(a_process_that_git_leaves_behind_is_killed),
        cmocka_unit_test(git_dies_with_its_worker),
        cmocka_unit_test(a_file_that_grows_beyond_the_limit_ends_git),
        cmocka_unit_test(output_beyond_the_limit_ends_git),
        cmocka_unit_test(a_machine_without_git_is_recognized),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
