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
    /* Memory for the visit; as in struct ts_git_visit_options. In addition, trees take at most an eighth of
     * it during reading, and attribution later takes at most a third. */
    uint64_t memory_bytes;
    /* Limit of the graph itself; attribution may take the same amount for trees. 0: no limit. Beyond the
     * limit the result is NO_MEMORY, because a small hostile repository can have an enormous history. */
    uint64_t table_bytes_max;
    struct ts_git_watch watch; /* can end the reading, and attribution */
    bool verify_trees;         /* also compare trees with their ids; commits and tags always are */
    const char *spill_dir;
    /* Called for each commit and tag that is small enough to hold, on any of the threads, while the graph is
     * read. So messages need not be read again. May be NULL. */
    void (*message)(void *ctx, unsigned worker, const struct ts_git_object *object, struct ts_bytes message);
    void *message_ctx;
    struct ts_git_fault_sink faults; /* must stay valid as long as the graph */
};

/* The repository must stay open as long as the graph. options may be NULL. */
enum ts_git_error ts_git_graph_new(struct ts_git_repo *repo, const struct ts_git_graph_options *options,
                                   struct ts_git_graph **ret_graph, struct ts_git_fault *ret_fault);
void ts_git_graph_free(struct ts_git_graph *graph);

/* The number of submodules, by their names in trees; at most 1000. */
uint64_t ts_git_graph_submodules(const struct ts_git_graph *graph);

/* The number of submodules in the trees of `added`, by their names. Does not count those that trees of `base` have with
 * the same commit. */
enum ts_git_error ts_git_graph_added_submodules(struct ts_git_graph *graph, const struct ts_git_set *added,
                                                const struct ts_git_set *base, uint64_t *ret_count,
                                                struct ts_git_fault *ret_fault);

/* The memory of the graph, in bytes. */
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
    bool tips_only; /* the commits themselves, not their ancestors */
    bool symmetric; /* omit commits that both ids of `from` reach: A...B */
    bool has_since;
    int64_t since_s; /* committer's time */
    bool new_only;   /* omit objects of the base; with exclude, omit only objects of exclude */
    /* For attribution: every path that a blob has in the commits, even if an earlier commit added it
     * there. */
    bool without_parents;
    /* For attribution: also every path that a blob has in this commit; NULL: none. */
    const struct ts_git_oid *head;
};

struct ts_git_reach_stats {
    uint64_t commits;
    uint64_t trees;
    uint64_t blobs;
    uint64_t tags;
    uint64_t missing;           /* missing when objects were listed; each is also a fault */
    uint64_t missing_by_design; /* omitted by a partial clone */
    uint64_t cut_commits;       /* selected commits whose parents a shallow clone omits */
    /* Excluded commits whose parents a shallow clone omits, if selected commits may be among their ancestors;
     * with has_since: all such commits before the date. */
    uint64_t cut_before;
};

/* The reachable commits, trees, blobs and tags. The missing target of a ref counts as missing. A missing
 * object that was added or moved since the objects were listed is the fault MOVED: open the repository again
 * to read it. STOPPED if the watch ended it. ret_stats may be NULL. The caller frees the set. */
enum ts_git_error ts_git_graph_reach(struct ts_git_graph *graph, const struct ts_git_selection *selection,
                                     struct ts_git_set **ret_set, struct ts_git_reach_stats *ret_stats,
                                     struct ts_git_fault *ret_fault);

/* The commits of the base; the caller frees them. A selection with these commits as `from`, and with
 * `tips_only`, has the objects of the base. */
enum ts_git_error ts_git_graph_before(struct ts_git_graph *graph, const struct ts_git_selection *selection,
                                      struct ts_git_oid **ret_oids, size_t *ret_count,
                                      struct ts_git_fault *ret_fault);

/* The time of a commit, for ordering: its committer's time or, if clocks were wrong, one second after the
 * latest of its parents. An ancestor is always earlier. 0 when there is no such commit. */
int64_t ts_git_graph_order_time(struct ts_git_graph *graph, const struct ts_git_oid *commit);

/* Groups of commits, and a callback. take is called for each group and each ref that reaches a commit of the
 * group. Within a group the order is: local branches, remote branches, tags, each sorted by name. */
struct ts_git_mark {
    struct ts_git_oid commit;
    uint32_t group;
};

struct ts_git_marks {
    const struct ts_git_mark *items;
    size_t count;
    uint32_t group_count;
    void (*take)(void *ctx, uint32_t group, const char *ref);
    void *ctx;
};

/* STOPPED if the watch ended it. */
enum ts_git_error ts_git_graph_reachers(struct ts_git_graph *graph, const struct ts_git_marks *marks,
                                        struct ts_git_fault *ret_fault);

/* A commit as a report shows it. Texts may contain any bytes of the commit and are NUL-terminated; never
 * NULL. */
struct ts_git_commit_info {
    struct ts_git_oid oid;
    char *author_name;
    char *author_mail;
    int64_t author_time_s;
    int32_t author_zone_minutes;
    int64_t commit_time_s; /* the time that attribution uses: as ts_git_graph_order_time */
};

/* Reads the fields of a commit that a report shows. Of a very large commit, only the beginning is read. The
 * caller releases the info. BAD_OBJECT if it is not a commit. */
enum ts_git_error ts_git_commit_info_read(struct ts_git_repo *repo, const struct ts_git_oid *oid,
                                          struct ts_git_commit_info *ret_info,
                                          struct ts_git_fault *ret_fault);
void ts_git_commit_info_release(struct ts_git_commit_info *info);

struct ts_git_occurrence {
    struct ts_git_oid blob;
    uint32_t commit; /* index in commits */
    uint32_t mode;   /* mode of the entry in that commit */
    bool is_head;    /* the commit is `head`, which has the blob; another commit may have added it */
    char *path;      /* any bytes, relative to the top, NUL-terminated */
    size_t path_len;
};

/* A commit that can no longer be read is a fault. It has its id and time, but no author. */
struct ts_git_occurrences {
    struct ts_git_occurrence *items; /* sorted by blob, then by time and id of the commit, then by path */
    size_t count;
    struct ts_git_commit_info *commits;
    size_t commit_count;
    bool is_cut;     /* there are more than max, or than memory allows */
    bool is_stopped; /* the watch stopped it: there may be more */
};

/*
 * For each path that a blob of the set has in a selected commit: the first commit that added it there. A
 * commit adds (path, blob) when its own tree has it and no parent's tree does. If several commits add it, the
 * one with the lowest (ts_git_graph_order_time, id) is the first. The number of results is limited to max (0:
 * 10 million) and to the graph's memory_bytes, because a hostile repository can have an enormous number of
 * paths.
 */
enum ts_git_error ts_git_graph_attribute(struct ts_git_graph *graph, const struct ts_git_selection *selection,
                                         const struct ts_git_set *blobs, size_t max,
                                         struct ts_git_occurrences *ret_occurrences,
                                         struct ts_git_fault *ret_fault);
void ts_git_occurrences_release(struct ts_git_occurrences *occurrences);

#endif
