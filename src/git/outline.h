/*
 * The outline of a pack: the delta base of each entry, from the headers alone. It is made when a visit first
 * needs it, and kept with the pack, because a scan visits a repository several times. Nodes are in the order
 * of offsets, so each entry ends where the next entry begins.
 *
 * Objects that cannot be built (invalid header, missing base, cycle of bases) have an error here. The error
 * becomes a fault only if a visit wants the object.
 */
#ifndef TS_GIT_OUTLINE_H
#define TS_GIT_OUTLINE_H

#include "pack.h"

struct git__node {
    uint64_t offset;
    uint32_t position; /* position in the pack's index */
    uint32_t parent;   /* the node of the base; GIT__NONE: none */
    uint32_t size;     /* size of a whole object, from its header; UINT32_MAX if larger */
    uint8_t type;      /* enum ts_git_type; 0 if unknown */
    uint8_t error;     /* enum ts_git_error of this entry; BASE_DAMAGED: a base has an error */
    /* The following fields belong to the plan that uses the outline. */
    bool is_wanted; /* the object is to be visited */
    bool is_needed; /* this node or a node below it is wanted */
    uint32_t first_child;
    uint32_t next_sibling;
};

struct git__outline {
    struct git__node *nodes;
    uint32_t count;
    uint32_t *order; /* nodes, parents before children; omits nodes in or below cycles */
    uint32_t ordered;
    uint32_t *lost; /* positions in the index whose offset is outside the pack */
    uint32_t lost_count;
    bool is_lent; /* a plan is using the outline */
};

/* Makes the outline of a pack. Returns NULL when memory runs out. */
struct git__outline *git__outline_new(const struct git__pack *pack);
void git__outline_free(struct git__outline *outline);

#endif
