/*
 * Mirrors: copies of repositories on servers, kept on this machine so that they can be scanned in place.
 *
 *     ROOT/<digest of the tenant>/<T>.<slot>.git     the mirror; T is the target's id
 *                                 <T>.<slot>.lock    its lock and its size; the file's time is the time of the last use
 *                                 <T>.<slot>.new     a clone that is not complete yet
 *                                 <T>.<slot>.old     a mirror that is being removed
 *
 * The lock is exclusive for fetching, repairing and evicting, and shared for scanning. A worker that waits
 * too long for a lock takes the next slot, so that two workers of one machine never wait long for each other. A
 * repository without news needs only one request: its refs are listed and compared with those of the mirror.
 *
 *     sync: lock a slot ──> list the refs of the origin ──> same as the mirror's ─────────────────┐
 *                                     │                                                           ├──> shared lock
 *                                     ├──> no mirror, repair, other format: clone (.new), rename ─┤
 *                                     └──> others: fetch ─────────────────────────────────────────┘
 *
 * A clone that fails is removed. A fetch that fails leaves the mirror unchanged, without temporary files and
 * locks. After a worker was killed, the next worker that locks the slot cleans up. Mirrors may be removed at
 * any time: they are only copies.
 */
#ifndef TS_RUNTIME_MIRROR_MIRROR_H
#define TS_RUNTIME_MIRROR_MIRROR_H

#include "runtime/core/reason.h"
#include "runtime/core/target.h"

#include "base/bytes.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define TS_MIRROR_QUOTA_DEFAULT   (UINT64_C(50) << 30)
#define TS_MIRROR_MAX_DEFAULT     (UINT64_C(10) << 30)
#define TS_MIRROR_MEMORY_DEFAULT  (UINT64_C(4) << 30)
#define TS_MIRROR_TIMEOUT_DEFAULT UINT64_C(3600) /* seconds */
#define TS_MIRROR_STALL_DEFAULT   UINT64_C(60)   /* seconds */

struct ts_mirrors_options {
    const char *root;        /* created with the first mirror */
    const char *credentials; /* a file (access.h); NULL: none */
    const char *protocols;   /* allowed schemes, separated by colons */
    uint64_t quota_bytes;    /* limit for all mirrors in the root; mirrors in use are not evicted */
    uint64_t mirror_bytes;   /* maximum size of one mirror */
    uint64_t memory_bytes;   /* the limit for one process of git */
    uint64_t timeout_s;      /* the limit for one call of git */
    /* How long a transfer over https, http or ssh may be slower than 1,000 bytes per second. */
    uint64_t stall_s;
};

/* The mirrors below one root. Any thread may use them. */
struct ts_mirrors;

/* Returns NULL when memory runs out. The strings of the options must stay valid. */
struct ts_mirrors *ts_mirrors_new(const struct ts_mirrors_options *options);
void ts_mirrors_free(struct ts_mirrors *mirrors);

struct ts_mirror_request {
    struct ts_bytes tenant;
    struct ts_target_id target;
    struct ts_bytes address;   /* normalised (runtime/core/address.h), not a path */
    struct ts_bytes url;       /* the URL that git gets; empty: the address */
    struct ts_bytes selection; /* normalised */
    bool is_sha256;            /* object format if the repository has no refs; otherwise the refs show it */
    bool repair;               /* clone again: the mirror is damaged */
    const atomic_bool *stop;   /* ends the call within 100 ms */
};

/* A mirror with a shared lock. */
struct ts_mirror {
    int lock_fd;
    char path[PATH_MAX];
};

enum ts_mirror_end {
    TS_MIRROR_OK,
    TS_MIRROR_FAILED, /* the failure says why */
    TS_MIRROR_STOPPED,
};

/* Why a mirror is not available: because of the repository or its host, or because of this machine. */
struct ts_mirror_failure {
    bool is_own;
    struct ts_unit_error error;         /* valid if is_own is false */
    struct ts_fleet_worker_fault fault; /* valid if is_own is true */
};

/* Makes the mirror equal to its origin, and locks it for reading. Release it after OK only. */
enum ts_mirror_end ts_mirror_sync(struct ts_mirrors *mirrors, const struct ts_mirror_request *request,
                                  struct ts_mirror *ret_mirror, struct ts_mirror_failure *ret_failure);
void ts_mirror_release(struct ts_mirror *mirror);

#endif
