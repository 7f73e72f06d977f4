/*
 * A scan of what is staged.
 */
#ifndef TS_SCAN_STAGED_H
#define TS_SCAN_STAGED_H

#include "session.h"
#include "sides.h"

struct scan_staged {
    struct scan_session *session;
    struct scan_target *target;
    uint32_t target_index;
    struct ts_git_repo *repo;
    struct scan_looks looks;
    struct scan_sides sides;
    size_t blob_max; /* larger ones come in windows */
};

/* Looks at what the commit would build on, HEAD and what is being merged, as far as that is needed to tell which findings it
 * would bring: contents from `first` on are those of the staged files. False when there is no memory. */
bool scan__staged_before(struct scan_staged *staged, size_t first);

#endif
