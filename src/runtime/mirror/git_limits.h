/*
 * Limits that git itself does not enforce: the maximum size of a folder, and the minimum speed of ssh. The
 * kernel limits the size of one file and the memory of one process (git_run.c). curl limits the pace of http
 * (command.c).
 *
 * A server that has no packs sends one file for each object, so a limit for one file is no limit for a mirror.
 */
#ifndef TS_RUNTIME_MIRROR_GIT_LIMITS_H
#define TS_RUNTIME_MIRROR_GIT_LIMITS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The lowest allowed rate of a transfer, in bytes per second. http has the same limit. */
#define MIRROR__PACE_MIN 1000

struct mirror__limits {
    const char *folder; /* NULL: no limit */
    uint64_t folder_max;
    uint64_t ssh_stall_ms; /* how long ssh may be slower than MIRROR__PACE_MIN; 0: no limit */
};

/* Zero-initialise it. */
struct mirror__watch {
    uint64_t folder_next_ns; /* time of the next measurement of the folder */
    uint64_t ssh_next_ns;    /* time of the next measurement of ssh */
    uint64_t ssh_since_ns;   /* start of the measured period; 0: no ssh is running */
    uint64_t ssh_bytes;      /* bytes that ssh had read at that start */
};

enum mirror__limit { MIRROR__LIMITS_KEPT, MIRROR__LIMIT_SIZE, MIRROR__LIMIT_PACE };

/* Checks the limits. Call it often while the process group runs. The function measures about once a second,
 * and less often if measuring takes long. */
enum mirror__limit mirror__limits_check(const struct mirror__limits *limits, struct mirror__watch *watch,
                                        pid_t group);

#endif
