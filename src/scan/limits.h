/*
 * When a scan ends before its end: a signal, the time, or a target that grows beyond measure when it is unpacked.
 *
 *   0 ────────── looking ──────────── 3/4 ─── placing ─── max_time
 *
 * The last quarter of the time is for paths and commits of what was found: a finding that nobody can look up is worth
 * little. A signal ends the looking only; the next signal ends the program.
 */
#ifndef TS_SCAN_LIMITS_H
#define TS_SCAN_LIMITS_H

#include "git/visit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct scan_session;
struct scan_look;
struct ts_git_repo;

struct scan_limits {
    uint64_t look_until_ns; /* 0: however long it takes */
    uint64_t end_ns;
    uint64_t ratio_max;
    struct ts_git_repo *repo; /* of the target under way; NULL: it is no repository */
    atomic_bool is_late;
    atomic_bool is_swollen; /* the target under way */
    atomic_bool is_placing;
    atomic_uint_fast64_t work; /* on the target: bytes looked at, and a part of those put together */
    atomic_uint_fast64_t work_max;
    bool is_late_told;
    pthread_mutex_t lock; /* guards is_measured; taken alone */
    bool is_measured;     /* work_max comes from the size of the repository */
};

void scan__limits_init(struct scan_session *session, uint64_t begin_ns);
void scan__limits_release(struct scan_limits *limits);

/* For each target; repo may be NULL. */
void scan__limits_begin(struct scan_session *session, struct ts_git_repo *repo);

/* What was found is to be placed now. */
void scan__limits_place(struct scan_session *session);

/* Says what ended the target, or the scan; that the time is over, once. */
void scan__limits_tell(struct scan_session *session);
/* No time was left for texts of findings: they are masked whole. To be told by scan__limits_tell. */
void scan__limits_cut(struct scan_session *session);

/* Nothing more is to be looked at. */
bool scan__is_stopped(struct scan_session *session);

/* Nothing more of the scan is to be looked at, whatever the target. */
bool scan__is_over(struct scan_session *session);

/* No time is left, not even for what was found. */
bool scan__is_past_end(const struct scan_session *session);

/* Whether one of the first two has been the answer. */
bool scan__was_stopped(const struct scan_session *session);

/* Counts what the look has gone through since it was last asked. */
void scan__worked(struct scan_session *session, struct scan_look *look);

/* Counts bytes that were put together, and ends what takes too long. */
struct ts_git_watch scan__watch(struct scan_session *session);

#endif
