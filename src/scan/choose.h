/*
 * Selects a part of a history: converts options, as users write them, to a selection of commits.
 */
#ifndef TS_SCAN_CHOOSE_H
#define TS_SCAN_CHOOSE_H

#include "pass.h"

#include "git/walk.h"

struct scan_chosen {
    struct ts_git_oid *oids;
    size_t count;
    size_t capacity;
    struct ts_git_oid *exclude;
    struct ts_git_selection selection; /* points to the other fields */
    bool is_change;                    /* report only findings that the selected commits add */
};

/* Selects what the options name. An existing ref that cannot be read is a fault, and so is a parent that a
 * shallow clone omits; the rest is selected. On success the caller releases the result. */
enum ts_scan_outcome scan__choose(struct scan_pass *pass, struct scan_target *target,
                                  struct ts_git_repo *repo, struct scan_chosen *ret_chosen,
                                  struct ts_scan_error *ret_error);
void scan__chosen_release(struct scan_chosen *chosen);

#endif
