/*
 * The plan of a pack for one visit: its outline, with the wanted objects.
 *
 *   root ─┬─ small subtree ...
 *         ├─ small subtree ...
 *         └─ the largest subtree, always last
 *
 * The largest subtree comes last. Its base is no longer needed when the visit enters it, so at most
 * log2(nodes) bases are held at once, even in a deep tree.
 *
 * Subtrees without wanted objects are not in the plan. A wanted object that cannot be built is a problem.
 */
#ifndef TS_GIT_PLAN_H
#define TS_GIT_PLAN_H

#include "git/visit.h"
#include "numbers.h"
#include "outline.h"
#include "repo_impl.h"
#include "set_impl.h"

struct git__problem {
    uint32_t number;
    enum ts_git_error error;
    uint8_t type; /* enum ts_git_type of the visited object; 0 if unknown */
};

struct git__problems {
    struct git__problem *items;
    size_t count;
    size_t capacity;
    bool no_memory; /* there was no memory to record a problem */
};

void git__problem_add(struct git__problems *problems, uint32_t number, enum ts_git_error error);
void git__problem_add_typed(struct git__problems *problems, const struct git__problem *problem);

/* The root of a delta tree, and the approximate number of bytes that are built in this tree. */
struct git__unit {
    uint64_t bytes;
    uint32_t pack;
    uint32_t node;
};

struct git__units {
    struct git__unit *items;
    size_t count;
    size_t capacity;
};

/* Moves large units to the front, the largest first. If a thread took a large unit at the end, that thread
 * would work alone. Small units keep the order of the files. Returns the number of large units. */
size_t git__units_arrange(struct git__units *units);

struct git__plan {
    const struct git__pack *pack;
    uint32_t first_number;
    struct git__node *nodes; /* nodes of the pack's outline, in use until the plan is released */
    uint32_t node_count;
};

struct git__choice {
    unsigned types;
    const struct ts_git_set *wanted;
};

/* Makes the plan of a pack, and adds its problems and units to the lists. Returns false when memory
 * runs out. */
bool git__plan_init(struct ts_git_repo *repo, uint32_t pack, const struct git__choice *choice,
                    struct git__problems *problems, struct git__units *units, struct git__plan *ret_plan);
void git__plan_release(struct git__plan *plan);

static inline struct git__extent git__plan_extent(const struct git__plan *plan, uint32_t node) {
    uint64_t to = node + 1 < plan->node_count ? plan->nodes[node + 1].offset : plan->pack->end;
    return (struct git__extent){plan->nodes[node].offset, to};
}

#endif
