/*
 * The graph in memory. Nodes are object numbers; numbers from `total` on stand for objects that are referred
 * to and are not in the repository.
 *
 *   commit   tree, time low, time high, parents...
 *   tag      target
 *   tree     added..., removed...       children against those of `base`, as multisets; no base: all added
 *
 *   children(tree) = children(base) - removed + added
 */
#ifndef TS_GIT_GRAPH_H
#define TS_GIT_GRAPH_H

#include "git/walk.h"
#include "plan.h"

#include <pthread.h>
#include <stdatomic.h>

struct git__edges {
    uint32_t base;   /* of a tree: GIT__NONE for none */
    uint16_t worker; /* whose list */
    uint16_t type;   /* enum ts_git_type; 0: not read, such as a blob */
    uint64_t start;  /* in that list */
    uint32_t added;  /* or all, of commits and tags */
    uint32_t removed;
};

struct git__list {
    uint32_t *items;
    size_t count;
    size_t capacity;
};

struct git__absent {
    pthread_mutex_t lock; /* guards all of it while the graph is read; taken alone */
    struct ts_git_oid *oids;
    size_t count;
    size_t capacity;
    uint32_t *slots;
    size_t slot_count;
};

struct ts_git_graph {
    struct ts_git_repo *repo;
    struct ts_git_graph_options options;
    uint32_t total;
    struct git__edges *edges;
    struct git__list *lists; /* one for each thread */
    unsigned list_count;
    atomic_uint_fast64_t list_bytes; /* of all of them, while it is read */
    uint32_t *trees;                 /* bases before what is made from them */
    uint32_t tree_count;
    struct git__absent absent;
    struct ts_git_set *cut; /* commits whose parents a shallow clone leaves out */
};

#define GIT__COMMIT_HEAD 3 /* tree and time, before the parents */

static inline const uint32_t *git__edges_of(const struct ts_git_graph *graph, uint32_t number) {
    const struct git__edges *edges = &graph->edges[number];
    return graph->lists[edges->worker].items + edges->start;
}

static inline int64_t git__commit_time(const struct ts_git_graph *graph, uint32_t number) {
    const uint32_t *edges = git__edges_of(graph, number);
    return (int64_t)((uint64_t)edges[1] | (uint64_t)edges[2] << 32);
}

/* The commits of a selection, tags and trees and blobs that it names beside them, and boundary commits. */
struct git__selected {
    struct git__list commits;
    struct git__list others;   /* tags, trees and blobs */
    struct git__list boundary; /* parents that are not selected */
    struct git__list missing;  /* numbers of commits and others that are not there */
};

enum ts_git_error git__select(struct ts_git_graph *graph, const struct ts_git_selection *selection,
                              struct git__selected *ret_selected, struct ts_git_fault *ret_fault);
void git__selected_release(struct git__selected *selected);

bool git__list_add(struct git__list *list, uint32_t item);

#endif
