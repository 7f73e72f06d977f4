/*
 * Shared by repository.c, change.c and head.c: the scan of a repository.
 */
#ifndef TS_SCAN_REPOSITORY_IMPL_H
#define TS_SCAN_REPOSITORY_IMPL_H

#include "choose.h"
#include "masking.h"
#include "origins.h"
#include "recall.h"

#include "git/walk.h"

#include <pthread.h>
#include <stdatomic.h>

struct scan_visit {
    struct scan_pass *pass;
    struct scan_target *target;
    uint32_t target_index;
    struct ts_git_repo *repo;
    struct scan_looks looks;
    struct scan_recall recall;
    struct clean_messages *clean; /* one for each thread; NULL: messages are scanned by the visit */
    /* Objects that refs reach, if unreachable objects are scanned, too; otherwise NULL. */
    const struct ts_git_set *reached;
    struct scan_mark before;   /* mark of the pass before this target */
    struct ts_git_set *moved;  /* blobs that a change only moves or copies; NULL without a change */
    struct ts_git_set *looked; /* objects that were scanned or known; NULL: not recorded */
    pthread_mutex_t lock;      /* guards lost; no other lock is held with it */
    struct ts_git_oid *lost;   /* unreachable commits */
    size_t lost_count;
    size_t lost_capacity;
    uint64_t selected_blobs;
    atomic_uint_fast64_t blobs;
    atomic_uint_fast64_t bytes;
};

/* Visits the wanted objects, except known ones. Changes the set. */
enum ts_git_error scan__visit_set(struct scan_visit *visit, struct ts_git_graph *graph,
                                  struct ts_git_set *wanted, struct ts_git_fault *ret_fault);

/* Fills in the fields that the search for paths and commits needs. */
struct scan_origins scan__visit_origins(struct scan_visit *visit, struct ts_git_graph *graph,
                                        const struct ts_git_selection *selection);

/* ---- change.c ---- */

/* If a shallow clone lacks commits that are needed to find out what the selected commits add, reports a fault
 * and returns true. */
bool scan__change_is_cut(struct scan_visit *visit, const struct scan_chosen *chosen,
                         const struct ts_git_reach_stats *stats);

/*
 * Adds to `wanted` the blobs of a change that its base has at other paths. The path decides whether a finding
 * is reported, so moving or copying a file out of an allowed folder adds its findings. *ret_moved contains
 * these blobs; the caller frees it.
 */
enum ts_git_error scan__change_add_moved(struct scan_visit *visit, struct ts_git_graph *graph,
                                         const struct ts_git_selection *selection, struct ts_git_set *wanted,
                                         struct ts_git_set **ret_moved, struct ts_git_fault *ret_fault);

/* Finds the paths and commits of the findings of a change, and finds out which of these findings its base
 * has. */
enum ts_git_error scan__change_place(struct scan_visit *visit, struct ts_git_graph *graph,
                                     const struct ts_git_selection *selection,
                                     struct ts_git_fault *ret_fault);

/* ---- head.c ---- */

/* For a selection that is not a change, finds the paths and commits of its findings, and the places of these
 * findings in HEAD. */
enum ts_git_error scan__head_place_selected(struct scan_visit *visit, struct ts_git_graph *graph,
                                            const struct ts_git_selection *selection,
                                            struct ts_git_fault *ret_fault);

/* If HEAD is not selected, scans all files of HEAD that were not scanned so far, and finds the places in HEAD
 * that have the findings in `before`. */
enum ts_git_error scan__head_place(struct scan_visit *visit, struct ts_git_graph *graph,
                                   struct scan_before *before, struct ts_git_fault *ret_fault);

#endif
