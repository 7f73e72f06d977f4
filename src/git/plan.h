/*
 * The plan of a pack: which entry is made from which, from the headers alone. Nodes stand in the order of
 * offsets, so each ends where the next begins.
 *
 *   root ─┬─ small subtree ...
 *         ├─ small subtree ...
 *         └─ the largest subtree, always last
 *
 * Visiting the largest subtree last means that a base is no longer needed when it is entered, so at most
 * log2(nodes) bases are held at once, however deep the tree is.
 *
 * Subtrees without anything wanted are not in the plan. Objects that cannot be planned (header not valid,
 * base missing, bases that go round) are problems.
 */
#ifndef TS_GIT_PLAN_H
#define TS_GIT_PLAN_H

#include "git/visit.h"
#include "numbers.h"
#include "repo_impl.h"
#include "set_impl.h"

struct git__node {
    uint64_t offset;
    uint32_t position; /* in the pack's index */
    uint32_t parent;   /* nodes; GIT__NONE for none */
    uint32_t first_child;
    uint32_t next_sibling;
    uint8_t type;   /* enum ts_git_type; 0 when it is not known */
    bool is_wanted; /* visit it */
    bool is_needed; /* it, or something below it, is wanted */
    bool is_broken; /* it, or something above it */
};

struct git__problem {
    uint32_t number;
    enum ts_git_error error;
};

struct git__problems {
    struct git__problem *items;
    size_t count;
    size_t capacity;
    bool no_memory; /* for one of them */
};

void git__problem_add(struct git__problems *problems, uint32_t number, enum ts_git_error error);

struct git__plan {
    const struct git__pack *pack;
    uint32_t first_number;
    struct git__node *nodes;
    uint32_t node_count;
    uint32_t *roots;
    uint32_t root_count;
};

struct git__choice {
    unsigned types;
    const struct ts_git_set *wanted;
};

/* False when there is no memory. */
bool git__plan_init(const struct ts_git_repo *repo, uint32_t pack, const struct git__choice *choice,
                    struct git__problems *problems, struct git__plan *ret_plan);
void git__plan_release(struct git__plan *plan);

static inline struct git__extent git__plan_extent(const struct git__plan *plan, uint32_t node) {
    uint64_t to = node + 1 < plan->node_count ? plan->nodes[node + 1].offset : plan->pack->end;
    return (struct git__extent){plan->nodes[node].offset, to};
}

#endif
