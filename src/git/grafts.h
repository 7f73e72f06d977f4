/*
 * Changes of the history that git shows instead of the stored objects: info/grafts gives commits other
 * parents, and refs/replace/ID names an object that replaces ID. Both are followed in addition to the objects
 * themselves, so that neither hides anything.
 *
 *   info/grafts    a line for each commit: its id, then those of its parents, with a blank between; # begins a comment
 */
#ifndef TS_GIT_GRAFTS_H
#define TS_GIT_GRAFTS_H

#include "git/repo.h"

/* One parent of a commit. */
struct git__graft {
    struct ts_git_oid commit;
    struct ts_git_oid parent;
};

struct git__grafts {
    struct git__graft *items; /* sorted by commit */
    size_t count;
    size_t capacity;
    struct ts_git_oid *commits; /* the commits of all lines, also of lines without parents */
    size_t commit_count;
    size_t commit_capacity;
};

/* Reads the grafts of a repository. If there are invalid lines, sends one fault to the sink, and reads the
 * other lines. */
enum ts_git_error git__grafts_read(struct ts_git_repo *repo, const struct ts_git_fault_sink *faults,
                                   struct ts_git_fault *ret_fault);

void git__grafts_release(struct git__grafts *grafts);

/* find returns the first parent that a graft gives to the commit; next returns the next parent of the same
 * commit. Both return NULL if there is no further parent. */
const struct git__graft *git__grafts_find(const struct git__grafts *grafts, const struct ts_git_oid *commit);
const struct git__graft *git__grafts_next(const struct git__grafts *grafts, const struct git__graft *graft);

/* Reads the id in the name of a ref refs/replace/ID. Returns false for other refs. If the name has no valid
 * id, reports a fault and returns false. */
bool git__replaced_by(const struct ts_git_repo *repo, const struct ts_git_ref *ref,
                      const struct ts_git_fault_sink *faults, struct ts_git_oid *ret_oid);

#endif
