/* Reading a past, and mapping it to present numbers. */
#ifndef TS_GIT_PAST_IMPL_H
#define TS_GIT_PAST_IMPL_H

#include "git/past.h"
#include "graph.h"

struct git__past_reading {
    struct ts_git_graph *graph; /* commits and tags of the past, types of all its objects, missing objects */
    struct ts_git_set *reached;
    struct ts_git_set *fresh; /* objects in files that did not exist in the past */
    struct git__list tips;
    uint32_t head; /* number of HEAD's commit */
    uint32_t commit_count;
};

/* Reads a past. Returns false if it is not valid, if its files have changed, or when memory runs out. The
 * caller always releases the reading. */
bool git__past_read(struct ts_git_repo *repo, const uint8_t key[static TS_GIT_EVIDENCE_KEY_LEN],
                    struct ts_bytes past, struct git__past_reading *reading);
void git__past_reading_release(struct git__past_reading *reading);

#endif
