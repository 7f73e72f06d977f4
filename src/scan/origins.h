/*
 * Where the contents of a repository that have hits stand: paths and first commits.
 */
#ifndef TS_SCAN_ORIGINS_H
#define TS_SCAN_ORIGINS_H

#include "session.h"

#include "git/walk.h"

struct scan_origins {
    struct scan_session *session;
    uint32_t target_index;
    struct ts_git_repo *repo;
    struct ts_git_graph *graph; /* NULL: nothing is known but ids */
    const struct ts_git_selection *selection;
    const struct ts_git_set *reached; /* NULL: everything that was looked at is reached */
    const struct ts_git_oid *lost;    /* commits that are not */
    size_t lost_count;
};

enum ts_git_error scan__origins(struct scan_origins *origins, struct ts_git_fault *ret_fault);

#endif
