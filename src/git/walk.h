/*
 * History: which commits, trees and blobs are reachable from where, and which commit brought a blob to a
 * path.
 *
 * A graph is read once, by one visit over all commits, trees and tags, and then answers any number of
 * questions without reading again. A tree is kept as what it adds to and removes from its delta base, so the
 * graph is small beside the trees themselves.
 */
#ifndef TS_GIT_WALK_H
#define TS_GIT_WALK_H

#include "git/set.h"
#include "git/visit.h"

struct ts_git_graph;

struct ts_git_graph_options {
    unsigned threads;
    /* For the visit; as in struct ts_git_visit_options. What is kept of trees while they are read comes on top, an eighth as
     * much at most, and so does later what attribution keeps of them, a third as much at most. */
    uint64_t memory_bytes;
    /* What the graph itself may hold, and as much again, at most, what attribution keeps of trees; 0 is no limit. Beyond
     * it the answer is NO_MEMORY: a small hostile repository can have an enormous history. */
    uint64_t table_bytes_max;
    struct ts_git_watch watch; /* of reading, and of attribution */
    bool verify_trees;         /* compare trees with their ids, too; commits and tags always are */
    const char *spill_dir;
    /* Called for each commit and tag that is held whole, on any of the threads, while the graph is read: its message need
     * not be read again. NULL: nobody. */
    void (*message)(void *ctx, unsigned worker, const struct ts_git_object *object, struct ts_bytes message);
    void *message_ctx;
    struct ts_git_fault_sink faults; /* must stay valid as long as the graph */
};

/* The repository must outlive the graph. options may be NULL. */
enum ts_git_error ts_git_graph_new(struct ts_git_repo *repo, const struct ts_git_graph_options *options,
                                   struct ts_git_graph **ret_graph, struct ts_git_fault *ret_fault);
void ts_git_graph_free(struct ts_git_graph *graph);

/* Bytes that it holds. */
uint64_t ts_git_graph_bytes(const struct ts_git_graph *graph);

/*
 * What is asked about. The selected commits are those that `all_refs` and `from` reach, without those that
 * `exclude` reaches, and without those before `since_s`. Ids may be of commits, tags, trees or blobs.
 */
struct ts_git_selection {
    bool all_refs; /* all refs and HEAD; refs/notes and refs/stash are among them */
    const struct ts_git_oid *from;
    size_t from_count;
    const struct ts_git_oid *exclude;
    size_t exclude_count;
    bool tips_only; /* the commits themselves, not their ancestors */
    bool has_since;
    int64_t since_s; /* committer's time; ancestors of older commits are still looked at: clocks are wrong */
    bool new_only; /* without what was already in a parent that is not selected: what these commits brought */
};

struct ts_git_reach_stats {
    uint64_t commits;
    uint64_t trees;
    uint64_t blobs;
    uint64_t tags;
    uint64_t missing; /* should be there, and were not when objects were listed: each is a fault, too */
    uint64_t missing_by_design; /* left out by a partial clone */
    uint64_t cut_commits;       /* selected commits whose parents a shallow clone leaves out */
};

/* Commits, trees, blobs and tags that are reachable. What a ref names and is not there is missing. What is missing and came,
 * or moved, since the objects were listed is the fault MOVED: a repository that is opened anew has it. ret_stats may be NULL. The caller frees the set. */
enum ts_git_error ts_git_graph_reach(struct ts_git_graph *graph, const struct ts_git_selection *selection,
                                     struct ts_git_set **ret_set, struct ts_git_reach_stats *ret_stats,
                                     struct ts_git_fault *ret_fault);

/* A commit as a report shows it. Texts are any bytes of the commit, ended by a zero besides; never NULL. */
struct ts_git_commit_info {
    struct ts_git_oid oid;
    char *author_name;
    char *author_mail;
    int64_t author_time_s;
    int32_t author_zone_minutes;
    int64_t commit_time_s;
};

/* Reads what a report shows of a commit. Of one that is very large only the beginning is read. The caller releases the
 * info. BAD_OBJECT when it is no commit. */
enum ts_git_error ts_git_commit_info_read(struct ts_git_repo *repo, const struct ts_git_oid *oid,
                                          struct ts_git_commit_info *ret_info,
                                          struct ts_git_fault *ret_fault);
void ts_git_commit_info_release(struct ts_git_commit_info *info);

struct ts_git_occurrence {
    struct ts_git_oid blob;
    uint32_t commit; /* in commits */
    uint32_t mode;   /* of the entry in that commit */
    char *path;      /* any bytes, relative to the top, ended by a zero */
    size_t path_len;
};

/* A commit that cannot be read any more is a fault, and has its id and time without an author. */
struct ts_git_occurrences {
    struct ts_git_occurrence *items; /* by blob, then by time and id of the commit, then by path */
    size_t count;
    struct ts_git_commit_info *commits;
    size_t commit_count;
    bool is_cut;     /* there are more than max, or than memory is for */
    bool is_stopped; /* by the watch: there may be more */
};

/*
 * For each path that a blob of the set has in a selected commit: the first commit that brought it there. A
 * commit brings (path, blob) when its own tree has it and the tree of none of its parents does; of several,
 * the first is the one with the least (committer's time, id). max is the most to find, 0 is 10 million, and no more are
 * kept than the graph's memory_bytes are for: a hostile repository can have more paths than anyone could print.
 */
enum ts_git_error ts_git_graph_attribute(struct ts_git_graph *graph, const struct ts_git_selection *selection,
                                         const struct ts_git_set *blobs, size_t max,
                                         struct ts_git_occurrences *ret_occurrences,
                                         struct ts_git_fault *ret_fault);
void ts_git_occurrences_release(struct ts_git_occurrences *occurrences);

#endif
