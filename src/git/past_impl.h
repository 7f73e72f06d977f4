/* A past that was read, with present numbers. */
#ifndef TS_GIT_PAST_IMPL_H
#define TS_GIT_PAST_IMPL_H

#include "git/past.h"
#include "graph.h"

struct git__past_reading {
    struct ts_git_graph *graph; /* has the past's commits and tags, types of its objects, and missing ones */
    struct ts_git_set *reached;
    struct ts_git_set *fresh; /* objects in files that were not there in the past */
    struct git__list tips;
    uint32_t head; /* number of HEAD's commit */
    uint32_t commit_count;
};

/* Returns false if the past is not valid, or if its files have changed. The caller releases the reading in
 * any case. */
bool git__past_read(struct ts_git_repo *repo, const uint8_t key[static TS_GIT_EVIDENCE_KEY_LEN],
                    struct ts_bytes past, struct git__past_reading *reading);
void git__past_reading_release(struct git__past_reading *reading);

#endif
