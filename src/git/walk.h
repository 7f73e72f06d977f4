/*
 * History: which commits, trees and blobs are reachable, and which commit first had a blob at a path.
 *
 * One visit over all commits, trees and tags reads the graph, which then answers any number of questions
 * without reading again. A tree is stored as its differences from its delta base, so the graph is small
 * compared with the trees.
 */
#ifndef TS_GIT_WALK_H
#define TS_GIT_WALK_H

#include "git/set.h"
#include "git/visit.h"

struct ts_git_graph;

struct ts_git_graph_options {
    unsigned threads;
    /* Memory for the visit, as in struct ts_git_visit_options. During reading, trees may take an eighth of
     * this in addition. Later, attribution may take a third for trees, and a half for results. */
    uint64_t memory_bytes;
    /* Maximum size of the graph; 0: no limit. Beyond it the result is NO_MEMORY, because a small hostile
     * repository can have an enormous history. Attribution may take at most this amount for trees. */
    uint64_t table_bytes_max;
    struct ts_git_watch watch; /* can end the reading, and attribution */
    bool verify_trees;         /* also compare trees with their ids; commits and tags are always compared */
    const char *spill_dir;
    /* Called for each commit and tag that is small enough to hold, on any of the threads, while the graph is
     * read, so that messages need not be read again. May be NULL. */
    void (*message)(void *ctx, unsigned worker, const struct ts_git_object *object, struct ts_bytes message);
    void *message_ctx;
    struct ts_git_fault_sink faults; /* must stay valid as long as the graph exists */
};

/* Reads the graph. The repository must stay open as long as the graph exists. options may be NULL. */
enum ts_git_error ts_git_graph_new(struct ts_git_repo *repo, const struct ts_git_graph_options *options,
                                   struct ts_git_graph **ret_graph, struct ts_git_fault *ret_fault);
void ts_git_graph_free(struct ts_git_graph *graph);

/* Returns the number of submodules, counted by their names in trees; at most 1000. */
uint64_t ts_git_graph_submodules(const struct ts_git_graph *graph);

/* Counts the submodules in the trees of `added`, by their names. Ignores submodules that trees of `base` have
 * with the same commit. */
enum ts_git_error ts_git_graph_added_submodules(struct ts_git_graph *graph, const struct ts_git_set *added,
                                                const struct ts_git_set *base, uint64_t *ret_count,
                                                struct ts_git_fault *ret_fault);

/* Returns the size of the graph in memory, in bytes. */
uint64_t ts_git_graph_bytes(const struct ts_git_graph *graph);

/*
 * A selection of objects. Commits that `all_refs` and `from` reach are selected, except those that `exclude`
 * reaches, and those that commits before `since_s` reach. Ids may name commits, tags, trees or blobs.
 *
 * The *base* of a selection: the unselected parents of selected commits; with `has_since`, all commits that
 * commits before `since_s` reach.
 */
struct ts_git_selection {
    bool all_refs; /* all refs and HEAD, including refs/notes and refs/stash */
    const struct ts_git_oid *from;
    size_t from_count;
    const struct ts_git_oid *exclude;
    size_t exclude_count;
    bool tips_only; /* only the named commits, without their ancestors */
    bool symmetric; /* omit commits that both ids of `from` reach: A...B */
    bool has_since;
    int64_t since_s; /* committer's time */
    bool new_only;   /* omit only objects of the base; false: omit all objects that `exclude` reaches */
    /* For attribution: report every path that a blob has in the commits, even if an earlier commit added the
     * blob there. */
    bool without_parents;
    /* For attribution: also report the further commits that add a blob again. */
    bool with_repeats;
    /* For attribution: also report every path that a blob has in this commit; NULL: none. */
    const struct ts_git_oid *head;
};

struct ts_git_reach_stats {
    uint64_t commits;
    uint64_t trees;
    uint64_t blobs;
    uint64_t tags;
    uint64_t missing;           /* objects that were missing when objects were listed; each is also a fault */
    uint64_t missing_by_design; /* objects that a partial clone omits */
    uint64_t cut_commits;       /* selected commits whose parents a shallow clone omits */
    /* Excluded commits whose parents a shallow clone omits, if selected commits may be among their ancestors;
     * with has_since: all such commits before the date. */
    uint64_t cut_before;
};

/* Finds the commits, trees, blobs and tags that the selection reaches. The missing target of a ref counts as
 * missing. A missing object that was added or moved since the objects were listed is reported as MOVED: to
 * read it, open the repository again. Returns STOPPED if the watch ended the work. ret_stats may be NULL. The
 * caller frees the set. */
enum ts_git_error ts_git_graph_reach(struct ts_git_graph *graph, const struct ts_git_selection *selection,
                                     struct ts_git_set **ret_set, struct ts_git_reach_stats *ret_stats,
                                     struct ts_git_fault *ret_fault);

/* Finds the commits of the base. The caller frees the ids. A selection with these commits as `from`, and with
 * `tips_only`, has the objects of the base. */
enum ts_git_error ts_git_graph_before(struct ts_git_graph *graph, const struct ts_git_selection *selection,
                                      struct ts_git_oid **ret_oids, size_t *ret_count,
                                      struct ts_git_fault *ret_fault);

/* Returns the time of a commit for ordering: the committer's time or, if clocks were wrong, one second after
 * the latest of the parents. An ancestor is always earlier. Returns 0 if there is no such commit. */
int64_t ts_git_graph_order_time(struct ts_git_graph *graph, const struct ts_git_oid *commit);

/* A commit, and the group that it belongs to. */
struct ts_git_mark {
    struct ts_git_oid commit;
    uint32_t group;
};

/* Groups of commits, and a callback. take is called for each group and each ref that reaches a commit of the
 * group. Within a group the order is: local branches, remote branches, tags, each sorted by name. */
struct ts_git_marks {
    const struct ts_git_mark *items;
    size_t count;
    uint32_t group_count;
    void (*take)(void *ctx, uint32_t group, const char *ref);
    void *ctx;
};

/* Finds the refs that reach the groups, and calls marks->take. Returns STOPPED if the watch ended the
 * work. */
enum ts_git_error ts_git_graph_reachers(struct ts_git_graph *graph, const struct ts_git_marks *marks,
                                        struct ts_git_fault *ret_fault);

/* A commit as a report shows it. Texts may contain any bytes of the commit. They are NUL-terminated and never
 * NULL. */
struct ts_git_commit_info {
    struct ts_git_oid oid;
    char *author_name;
    char *author_mail;
    int64_t author_time_s;
    int32_t author_zone_minutes;
    int64_t commit_time_s; /* the committer's time; in results of attribution: ts_git_graph_order_time */
};

/* Reads the fields of a commit that a report shows. Reads only the beginning of a very large commit. The
 * caller releases the info. Returns BAD_OBJECT if the object is not a commit. */
enum ts_git_error ts_git_commit_info_read(struct ts_git_repo *repo, const struct ts_git_oid *oid,
                                          struct ts_git_commit_info *ret_info,
                                          struct ts_git_fault *ret_fault);
void ts_git_commit_info_release(struct ts_git_commit_info *info);

struct ts_git_occurrence {
    struct ts_git_oid blob;
    uint32_t commit; /* index in commits */
    uint32_t mode;   /* mode of the entry in that commit */
    bool is_head;    /* the commit is `head` and has the blob; another commit may have added it */
    char *path;      /* any bytes, relative to the top, NUL-terminated */
    size_t path_len;
};

/* A commit that adds a blob at a path where another commit added the blob first: a commit that was picked or
 * rebased, or that adds the blob again after it was removed. */
struct ts_git_repeat {
    struct ts_git_oid blob;
    struct ts_git_oid commit;
};

/* The results of attribution. A commit that can no longer be read is a fault. Its info has id and time, but
 * no author. */
struct ts_git_occurrences {
    struct ts_git_occurrence *items; /* sorted by blob, then by time and id of the commit, then by path */
    size_t count;
    struct ts_git_commit_info *commits;
    size_t commit_count;
    struct ts_git_repeat *repeats; /* with `with_repeats`; repeats of one commit follow one another */
    size_t repeat_count;
    bool lacks_repeats; /* there are more repeats than memory allows */
    bool is_cut;        /* there are more results than max, or than memory allows */
    bool is_stopped;    /* the watch stopped the attribution: there may be more results */
};

/*
 * Finds, for each path that a blob of the set has in a selected commit, the first commit that added the blob
 * there. A commit adds (path, blob) when its own tree has the pair and no parent's tree does. If several
 * commits add the pair, the commit with the lowest (ts_git_graph_order_time, id) is the first. The others are
 * repeats. A ref reaches the pair if it reaches the first commit or a repeat. The number of
 * results is limited to max (0: 10 million) and to the graph's memory_bytes, because a hostile repository can
 * have an enormous number of paths.
 */
enum ts_git_error ts_git_graph_attribute(struct ts_git_graph *graph, const struct ts_git_selection *selection,
                                         const struct ts_git_set *blobs, size_t max,
                                         struct ts_git_occurrences *ret_occurrences,
                                         struct ts_git_fault *ret_fault);
void ts_git_occurrences_release(struct ts_git_occurrences *occurrences);

#endif
