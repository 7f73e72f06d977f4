/*
 * Runs git for a mirror, and makes sure that it ends.
 *
 *     worker ──fork──> guard ──fork──> git ──> git-remote-https, ssh, index-pack, …
 *
 * The guard and everything after it are one process group. The group is killed when the caller is asked to
 * stop, when the time is over, and when the worker dies. The kernel signals the worker's death to the guard.
 * All processes of the group inherit the lock of the mirror and one end of a pipe. So nobody else touches the
 * mirror, and the call does not return, before the last process of the group has gone.
 *
 * Output and messages are kept up to a limit. Both may contain addresses, so they are never logged. Messages
 * are classified (classify.h).
 */
#ifndef TS_RUNTIME_MIRROR_GIT_RUN_H
#define TS_RUNTIME_MIRROR_GIT_RUN_H

#include "git_limits.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MIRROR__MESSAGES_MAX ((size_t)1 << 16)

struct mirror__git {
    const char *const *arguments;   /* the words after "git"; ends with NULL */
    const char *const *environment; /* NAME=VALUE, ends with NULL; git gets no other variables */
    int input_fd;                   /* git's standard input; -1: empty */
    int lock_fd;                    /* inherited by git; -1: none */
    int secret_fd;                  /* inherited by git; -1: none */
    uint64_t time_max_ms;
    /* The largest file, in bytes, that git may write; a write beyond it fails. 0: no limit. */
    uint64_t file_max;
    uint64_t memory_max; /* limit of bytes for each process; git fails if it needs more; 0: no limit */
    struct mirror__limits limits;
    size_t output_max; /* limit of bytes of git's standard output */
    const atomic_bool *stop;
};

enum mirror__git_end {
    MIRROR__GIT_EXITED,  /* `status` is git's exit status, or 128 plus the signal that ended git */
    MIRROR__GIT_STOPPED, /* the caller was asked to stop */
    MIRROR__GIT_TIMED_OUT,
    MIRROR__GIT_TOO_LARGE, /* the folder or git's output is larger than its limit */
    MIRROR__GIT_NO_PROCESS,
    MIRROR__GIT_NO_MEMORY,
    MIRROR__GIT_NO_GIT, /* the program cannot be run */
};

/* Zero-initialise it; release it. */
struct mirror__git_result {
    enum mirror__git_end end;
    int status;
    char *output; /* owned */
    size_t output_len;
    size_t output_capacity;
    size_t messages_len;
    char messages[MIRROR__MESSAGES_MAX]; /* last bytes of git's standard error */
};

/* Blocks until the whole group has ended. The result of an earlier run is overwritten. */
void mirror__git_run(const struct mirror__git *git, struct mirror__git_result *ret_result);
void mirror__git_result_release(struct mirror__git_result *result);

#endif
