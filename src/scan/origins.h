/*
 * Finds the paths and first commits of contents with hits.
 */
#ifndef TS_SCAN_ORIGINS_H
#define TS_SCAN_ORIGINS_H

#include "before.h"
#include "pass.h"

#include "git/walk.h"

struct scan_origins {
    struct scan_pass *pass;
    uint32_t target_index;
    struct ts_git_repo *repo;
    struct ts_git_graph *graph; /* NULL: there is no graph; only ids are known */
    const struct ts_git_selection *selection;
    const struct ts_git_set *reached; /* NULL: all scanned objects are reachable */
    const struct ts_git_oid *lost;    /* unreachable commits */
    size_t lost_count;
    const struct ts_git_oid *head; /* NULL: do not search HEAD for the contents */
    size_t content_first;          /* index of the first content to trace; SIZE_MAX as content_end: no end */
    size_t content_end;
    /* NULL: the locations are reported. Otherwise they belong to the base of a change or to HEAD, and only
     * locations with a finding in `before` are added. */
    const struct scan_before *before;
    bool is_head; /* the locations are places in HEAD: in its files, and in the message of its commit */
};

enum ts_git_error scan__origins(struct scan_origins *origins, struct ts_git_fault *ret_fault);

/* ---- steps of scan__origins, for continued.h ---- */

/* Adds the locations of the messages of commits and tags. */
void scan__origins_messages(struct scan_origins *origins);

/* Makes the path of a content: the path of its blob or, for a member of an archive, the path of the archive
 * and the path inside. Returns false when memory runs out. */
bool scan__origins_path(struct scan_pass *pass, struct ts_bytes outer, uint32_t inner, uint32_t *ret_path);

/* Adds a commit as a report shows it, and returns its index. Returns TS_REPORT_NONE if the object is not a
 * commit, or, with a fault, if it cannot be read. graph may be NULL. */
uint32_t scan__origins_commit(struct scan_pass *pass, struct ts_git_repo *repo, struct ts_git_graph *graph,
                              const struct ts_git_oid *oid);

/* Adds a commit that a report does not show, and returns its index. */
uint32_t scan__origins_repeat(struct scan_pass *pass, const struct ts_git_oid *oid);

#endif
