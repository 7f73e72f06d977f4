/*
 * Decides when a scan ends early: after a signal, when the time limit is reached, or when a target unpacks
 * to an enormous size.
 *
 *   0 ────────── scanning ─────────── 3/4 ─── placing ─── max_time
 *
 * The last quarter of the time is for paths and commits of findings: a finding without them is of little use.
 * The first signal ends the scanning, and leaves STOP_GRACE_NS for placing; another Ctrl-C ends the program.
 */
#ifndef TS_SCAN_LIMITS_H
#define TS_SCAN_LIMITS_H

#include "git/visit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct scan_pass;
struct scan_look;
struct ts_git_repo;

struct scan_limits {
    uint64_t look_until_ns; /* 0: no limit */
    uint64_t end_ns;
    uint64_t ratio_max;
    struct ts_git_repo *repo;        /* repository of the current target, or NULL */
    atomic_uint_fast64_t stopped_ns; /* CPU time when placing noticed the signal; 0: not yet */
    atomic_bool is_late;
    atomic_bool is_past_end; /* no time is left, not even for placing */
    atomic_bool is_swollen;  /* the current target exceeds the ratio */
    atomic_bool is_placing;
    atomic_uint_fast64_t work; /* work on the target: scanned bytes, plus a fraction of the rebuilt bytes */
    atomic_uint_fast64_t work_max;
    bool is_late_told;
    pthread_mutex_t lock; /* guards is_measured; no other lock is held with it */
    bool is_measured;     /* work_max is already computed from the size of the repository */
};

void scan__limits_init(struct scan_pass *pass, uint64_t begin_ns);
void scan__limits_release(struct scan_limits *limits);

/* Begins a target. Call it for each target; repo may be NULL. */
void scan__limits_begin(struct scan_pass *pass, struct ts_git_repo *repo);

/* Begins the placing of findings. */
void scan__limits_place(struct scan_pass *pass);

/* Reports why the target or the scan ended early. Reports a signal or the end of the time only once. */
void scan__limits_tell(struct scan_pass *pass);
/* Records that no time was left to mask parts of texts, so that whole texts are masked. scan__limits_tell
 * reports it. */
void scan__limits_cut(struct scan_pass *pass);

/* Returns true if nothing more of this target should be scanned. */
bool scan__is_stopped(struct scan_pass *pass);

/* Returns true if nothing more of any target should be scanned. */
bool scan__is_over(struct scan_pass *pass);

/* Returns true if no time is left, not even for placing findings. */
bool scan__is_past_end(struct scan_pass *pass);

/* Returns true if a signal or a limit has ended the scan, or the scan of the current target, early. */
bool scan__was_stopped(const struct scan_pass *pass);

/* Counts the bytes that the look has scanned since the last call. */
void scan__worked(struct scan_pass *pass, struct scan_look *look);

/* Returns a watch that counts rebuilt bytes, and ends work that takes too long. */
struct ts_git_watch scan__watch(struct scan_pass *pass);

#endif
