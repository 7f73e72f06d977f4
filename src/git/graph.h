/*
 * The graph in memory. Nodes are object numbers. Numbers from `total` on are missing objects: something
 * refers to them, but they are not in the repository.
 *
 *   commit   tree, time low, time high, parents...
 *   tag      target
 *   tree     added..., removed...       children, compared with those of `base`, as multisets; no base: all added
 *            names of added..., of removed...
 *
 *   entries(tree) = entries(base) - removed + added
 */
#ifndef TS_GIT_GRAPH_H
#define TS_GIT_GRAPH_H

#include "git/walk.h"
#include "names.h"
#include "plan.h"

#include <pthread.h>
#include <stdatomic.h>

struct git__edges {
    uint32_t base;           /* trees: the base, or GIT__NONE */
    uint16_t worker;         /* the thread whose list has this row */
    uint8_t type;            /* enum ts_git_type; 0: could not be read */
    bool has_folders : 1;    /* trees: some added or removed entries are trees */
    bool has_submodules : 1; /* trees: some added entries are submodules */
    uint64_t start;          /* position of the row in the list of `worker` */
    uint32_t added;          /* number of added entries; for commits and tags: number of all entries */
    uint32_t removed;
};

struct git__list {
    uint32_t *items;
    size_t count;
    size_t capacity;
};

struct git__absent {
    pthread_mutex_t lock; /* guards everything during reading; no other lock is held with it */
    struct ts_git_oid *oids;
    size_t count;
    size_t capacity;
    uint32_t *slots;
    size_t slot_count;
};

/* The names of submodules in trees. */
#define GIT__SUBMODULES_MAX 1000
struct git__submodules {
    pthread_mutex_t lock;                /* guards everything during reading; no other lock is held with it */
    uint64_t names[GIT__SUBMODULES_MAX]; /* hashes of the names */
    size_t count;
};

/* A replacement: git shows the object `by` instead of the object `number`. */
struct git__replaced {
    uint32_t number;
    uint32_t by;
};

/* A commit whose clock time is not later than the time of some parent. */
struct git__late {
    uint32_t number;
    int64_t committed_s; /* the clock time of the commit */
};

struct ts_git_graph {
    struct ts_git_repo *repo;
    struct ts_git_graph_options options;
    uint32_t total;
    struct git__edges *edges;
    struct git__list *lists; /* one list for each thread */
    unsigned list_count;
    atomic_uint_fast64_t list_bytes; /* total size of the lists, during reading */
    struct git__list *tree_lists;    /* the trees that each thread read, until they are sorted */
    uint32_t *trees;                 /* all trees, bases before their deltas; see git__graph_order */
    uint32_t tree_count;
    pthread_t ordering; /* the thread that sorts trees and ranks names, while is_ordering */
    bool is_ordering;
    bool is_ordered;
    struct git__absent absent;
    struct git__submodules submodules;
    struct git__names names;
    atomic_uint_fast64_t tree_bytes; /* memory of trees whose entries are held, during reading */
    uint64_t tree_bytes_max;
    atomic_uchar *expected; /* indexed by object: bits of the types that references expect, during reading */
    struct git__replaced *replaced; /* sorted by number */
    size_t replaced_count;
    size_t replaced_capacity;
    struct ts_git_set *cut; /* commits whose parents a shallow clone omits */
    struct git__late *late; /* sorted by number: commits whose time was moved; valid if has_order */
    size_t late_count;
    size_t late_capacity;
    struct git__list order; /* commits, parents before children; valid if has_order */
    bool has_order;         /* git__graph_order_times was called */
};

#define GIT__REPLACED_MAX 5 /* replacements in a row; git refuses to read an object with this many */

/* Returns a graph of the listed objects, without edges; NULL when memory runs out. */
struct ts_git_graph *git__graph_empty(struct ts_git_repo *repo, const struct ts_git_graph_options *options);

/* Reads the refs under refs/replace. Call it after all objects were read. Loops, and replacements whose type
 * differs from that of the replaced object, are faults. */
enum ts_git_error git__replaced_find(struct ts_git_graph *graph, struct ts_git_fault *ret_fault);

/* Returns the replacement of an object, or GIT__NONE. */
uint32_t git__replacement_of(const struct ts_git_graph *graph, uint32_t number);

#define GIT__GRAPH_MEMORY_DEFAULT (UINT64_C(1) << 30)

static inline uint64_t git__graph_memory(const struct ts_git_graph *graph) {
    return graph->options.memory_bytes != 0 ? graph->options.memory_bytes : GIT__GRAPH_MEMORY_DEFAULT;
}

#define GIT__STEPS_BETWEEN 4096 /* steps of a loop between two calls of the watch */
#define GIT__COMMIT_HEAD   3    /* tree and time, before the parents */

static inline const uint32_t *git__edges_of(const struct ts_git_graph *graph, uint32_t number) {
    const struct git__edges *edges = &graph->edges[number];
    return graph->lists[edges->worker].items + edges->start;
}

/* Returns the names of the entries that a tree adds, followed by the names of those that it removes. */
static inline const uint32_t *git__edge_names_of(const struct ts_git_graph *graph, uint32_t number) {
    const struct git__edges *edges = &graph->edges[number];
    return git__edges_of(graph, number) + edges->added + edges->removed;
}

/* Returns whether the object may be a blob. An unreadable object may be one, because another copy of it may
 * be readable. */
static inline bool git__may_be_blob(const struct ts_git_graph *graph, uint32_t number) {
    return graph->edges[number].type == TS_GIT_BLOB || graph->edges[number].type == 0;
}

static inline int64_t git__commit_time(const struct ts_git_graph *graph, uint32_t number) {
    const uint32_t *edges = git__edges_of(graph, number);
    return (int64_t)((uint64_t)edges[1] | (uint64_t)edges[2] << 32);
}

/* Asks the watch whether to continue. Loops over a whole history ask it after each GIT__STEPS_BETWEEN steps, which take
 * about a millisecond. */
static inline bool git__graph_goes_on(const struct ts_git_graph *graph) {
    const struct ts_git_watch *watch = &graph->options.watch;
    return watch->go_on == NULL || watch->go_on(watch->ctx, 0);
}

/* Returns why work on the graph ended early: STOPPED if the watch ended it, otherwise NO_MEMORY. */
enum ts_git_error git__graph_ended(const struct ts_git_graph *graph, struct ts_git_fault *ret_fault);

/* Makes the time of each commit later than the times of its parents. From then on, git__commit_time returns
 * the time for ordering. Returns false when memory runs out; the next call may leave the times as they are.
 * Also returns false when the watch ends the work; the next call continues. */
bool git__graph_order_times(struct ts_git_graph *graph);

/* Returns the commit time by the committer's clock, before git__graph_order_times moved it. */
int64_t git__committed_s(const struct ts_git_graph *graph, uint32_t number);

/* The objects that a selection names: its commits; the tags, trees and blobs that it names directly; and its
 * base. */
struct git__selected {
    struct git__list commits;
    struct git__list others;  /* tags, trees and blobs */
    struct git__list before;  /* as in struct ts_git_selection; may contain a commit several times */
    struct git__list missing; /* numbers of missing objects */
    uint64_t cut_before;      /* as in struct ts_git_reach_stats */
};

enum ts_git_error git__select(struct ts_git_graph *graph, const struct ts_git_selection *selection,
                              struct git__selected *ret_selected, struct ts_git_fault *ret_fault);
void git__selected_release(struct git__selected *selected);

/* Sets is_added for each missing object that one of the commits adds: the commit's own tree has the object at some
 * path, and no parent's tree has it there. is_added is indexed by number of a missing object. *ret_is_whole is false
 * if a limit was reached or the watch stopped the search. */
enum ts_git_error git__find_added(struct ts_git_graph *graph, const struct git__list *commits, bool *is_added,
                                  bool *ret_is_whole, struct ts_git_fault *ret_fault);

/* Returns the number of an object, also of a missing object; GIT__NONE when memory runs out. */
uint32_t git__graph_number(struct ts_git_graph *graph, const struct ts_git_oid *oid);

/* Makes sure that trees are sorted and that names have ranks. Only attribution needs this, so a separate
 * thread does it while contents are scanned. Returns false when memory runs out. */
bool git__graph_order(struct ts_git_graph *graph);

/* Returns the number of a name with a mode; GIT__NONE when memory runs out. */
uint32_t git__graph_name(struct ts_git_graph *graph, struct git__name_cache *cache, struct ts_bytes name,
                         uint32_t mode);

/* Records that a reference expects this type of the object. The types are compared after everything was read. */
void git__expect(struct ts_git_graph *graph, uint32_t number, enum ts_git_type type);

/* Records a submodule with this name in a tree. Any thread may call it. */
void git__graph_submodule(struct ts_git_graph *graph, struct ts_bytes name);

bool git__list_add(struct git__list *list, uint32_t item);

#endif
