/*
 * The outline of a pack: which entry is made from which, from the headers alone. It is made when a visit first needs
 * it and stays with the pack, because a scan visits a repository several times. Nodes stand in the order of offsets, so
 * each ends where the next begins.
 *
 * Objects that cannot be built (header not valid, base missing, bases that go round) have an error here; what is wrong
 * in a visit depends on what that visit wants.
 */
#ifndef TS_GIT_OUTLINE_H
#define TS_GIT_OUTLINE_H

#include "pack.h"

struct git__node {
    uint64_t offset;
    uint32_t position; /* in the pack's index */
    uint32_t parent;   /* nodes; GIT__NONE for none */
    uint32_t size;     /* of a whole object, as the header says; UINT32_MAX for all above */
    uint8_t type;      /* enum ts_git_type; 0 when it is not known */
    uint8_t error;     /* enum ts_git_error, of it or something above it */
    /* Of the plan that the outline is lent to. */
    bool is_wanted; /* visit it */
    bool is_needed; /* it, or something below it, is wanted */
    uint32_t first_child;
    uint32_t next_sibling;
};

struct git__outline {
    struct git__node *nodes;
    uint32_t count;
    uint32_t *order; /* nodes, parents before children; those that go round are not among them */
    uint32_t ordered;
    uint32_t *lost; /* positions in the index whose offset is not in the pack */
    uint32_t lost_count;
    bool is_lent; /* to a plan */
};

/* NULL when there is no memory. */
struct git__outline *git__outline_new(const struct git__pack *pack);
void git__outline_free(struct git__outline *outline);

#endif
