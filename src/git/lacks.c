#include "lacks.h"

#include "hash.h"

#include <stdlib.h>

/* A missing object. */
struct lack {
    struct ts_git_oid oid;
    bool is_history; /* the target of a ref or tag, or a parent of a commit */
    bool is_added;   /* counted even if it is promised */
    bool has_moved;
    bool is_promised;
};

/* Properties of missing objects. The arrays are indexed by the number of the missing object, minus
 * `total`. */
struct flags {
    bool *is_history;
    bool *is_promised;
    const bool *is_added;    /* NULL: all are added */
    struct ts_git_set *seen; /* objects whose references are already marked */
};

static int compare_lacks(const void *a, const void *b) {
    return ts_git_oid_compare(&((const struct lack *)a)->oid, &((const struct lack *)b)->oid);
}

/* ---- promises ---- */

static void add_promise(const struct ts_git_graph *graph, uint32_t number, struct flags *flags) {
    if (number >= graph->total && number != GIT__NONE)
        flags->is_promised[number - graph->total] = true;
}

/* Sets is_promised for each missing object that this object refers to. A tree that is stored as a difference
 * also refers to the entries of its base. */
static void add_promises_of(const struct ts_git_graph *graph, uint32_t number, struct flags *flags) {
    for (uint32_t at = number; at != GIT__NONE && git__set_add(flags->seen, at);) {
        const struct git__edges *edges = &graph->edges[at];
        bool is_commit = edges->type == TS_GIT_COMMIT;
        if (!is_commit && edges->type != TS_GIT_TREE && edges->type != TS_GIT_TAG)
            return;
        const uint32_t *list = git__edges_of(graph, at);
        for (uint32_t i = 0; i < edges->added; i++)
            if (!is_commit || i == 0 || i >= GIT__COMMIT_HEAD)
                add_promise(graph, list[i], flags);
        at = edges->type == TS_GIT_TREE ? edges->base : GIT__NONE;
    }
}

static void find_promises(const struct ts_git_graph *graph, struct flags *flags) {
    const struct ts_git_repo *repo = graph->repo;
    for (size_t pack = 0; pack < repo->pack_count; pack++) {
        if (!repo->packs[pack].is_promised)
            continue;
        uint32_t end = repo->numbers.pack_first[pack] + repo->packs[pack].index.count;
        for (uint32_t number = repo->numbers.pack_first[pack]; number < end; number++) {
            bool is_copy = git__number_is_copy(repo, number);
            add_promises_of(graph, is_copy ? git__number_of(repo, git__number_id(repo, number)) : number,
                            flags);
        }
    }
}

/* ---- missing objects ---- */

static void find_tips(const struct ts_git_repo *repo, struct lack *lacks, size_t count) {
    for (size_t i = 0; i < repo->refs.all.count; i++) {
        struct lack wanted = {.oid = repo->refs.all.items[i].oid};
        struct lack *lack = bsearch(&wanted, lacks, count, sizeof *lacks, compare_lacks);
        if (lack != NULL)
            lack->is_promised = true;
    }
}

/* Sets has_moved for objects that exist now and, if the refs have changed, for objects that may have belonged
 * to earlier refs. Returns false when memory runs out. */
static bool find_moved(struct ts_git_graph *graph, struct lack *lacks, size_t count) {
    struct ts_git_oid *oids = calloc(count, sizeof *oids);
    bool *are_there = calloc(count, sizeof *are_there);
    bool done = oids != NULL && are_there != NULL;
    for (size_t i = 0; done && i < count; i++)
        oids[i] = lacks[i].oid;
    if (done)
        git__are_there_now(graph->repo, oids, count, are_there);
    bool is_other = git__refs_have_changed(graph->repo);
    for (size_t i = 0; done && i < count; i++)
        lacks[i].has_moved = are_there[i] || (is_other && (lacks[i].is_history || !graph->repo->is_partial));
    free(oids);
    free(are_there);
    return done;
}

/* Fills in `lacks`, sorted by id. Returns false when memory runs out. */
static bool find_lacks(struct ts_git_graph *graph, const struct git__list *missing,
                       const struct git__list *history, struct flags *flags, struct lack *lacks) {
    for (size_t i = 0; i < history->count; i++)
        flags->is_history[history->items[i] - graph->total] = true;
    if (graph->repo->is_partial)
        find_promises(graph, flags);
    for (size_t i = 0; i < missing->count; i++) {
        uint32_t absent = missing->items[i] - graph->total;
        lacks[i] = (struct lack){.oid = graph->absent.oids[absent],
                                 .is_history = flags->is_history[absent],
                                 .is_added = flags->is_added == NULL || flags->is_added[absent],
                                 .is_promised = flags->is_promised[absent]};
    }
    qsort(lacks, missing->count, sizeof *lacks, compare_lacks);
    if (graph->repo->is_partial)
        find_tips(graph->repo, lacks, missing->count);
    return find_moved(graph, lacks, missing->count);
}

/* ---- when nothing counts as promised ---- */

/* Returns the path of a pack without its index, or of an index without its pack. Returns NULL if there was
 * none when the repository was opened, or if there is none now. */
static const char *half_pack(const struct ts_git_repo *repo) {
    const struct ts_git_repo *last = repo->again != NULL ? repo->again : repo;
    return repo->half_pack != NULL ? last->half_pack : NULL;
}

/* Returns a pack whose index has a wrong checksum; NULL: none. A damaged id in an index makes an object look
 * missing, and therefore promised. */
static const struct git__pack *damaged_index(struct ts_git_repo *repo) {
    for (size_t i = 0; i < repo->pack_count && !repo->are_indexes_checked; i++)
        if (repo->damaged_index == NULL && !git__has_checksum(repo->hash, repo->packs[i].index_map.bytes))
            repo->damaged_index = &repo->packs[i];
    repo->are_indexes_checked = true;
    return repo->damaged_index;
}

bool ts_git_repo_keeps_promises(struct ts_git_repo *repo) {
    return repo->is_partial && half_pack(repo) == NULL && damaged_index(repo) == NULL;
}

/* ---- reporting ---- */

static void send_one(const struct ts_git_graph *graph, enum ts_git_error error, const char *path) {
    struct ts_git_fault fault;
    (void)git__fault(error, path, &fault);
    git__fault_send(&graph->options.faults, &fault);
}

/* Reports why no object counts as promised. */
static void send_packs(const struct ts_git_graph *graph) {
    const char *half = half_pack(graph->repo);
    const struct git__pack *damaged = graph->repo->is_partial ? damaged_index(graph->repo) : NULL;
    char *index = damaged != NULL ? git__with_suffix(damaged->path, ".idx") : NULL;
    if (half != NULL)
        send_one(graph, TS_GIT_HALF_PACK, half);
    if (index != NULL)
        send_one(graph, TS_GIT_BAD_CHECKSUM, index);
    free(index);
}

static void send_all(const struct ts_git_graph *graph, const struct lack *lacks, size_t count,
                     struct ts_git_reach_stats *stats) {
    bool keeps_promises = ts_git_repo_keeps_promises(graph->repo);
    for (size_t i = 0; i < count; i++) {
        struct ts_git_fault fault;
        bool is_by_design = keeps_promises && lacks[i].is_promised && !lacks[i].has_moved;
        stats->missing_by_design += is_by_design && (lacks[i].is_added || lacks[i].is_history);
        stats->missing += !is_by_design;
        if (is_by_design)
            continue;
        (void)git__fault_object(lacks[i].has_moved ? TS_GIT_MOVED : TS_GIT_MISSING, graph->repo->hash,
                                &lacks[i].oid, NULL, &fault);
        git__fault_send(&graph->options.faults, &fault);
    }
    if (stats->missing > 0)
        send_packs(graph);
}

enum ts_git_error git__lacks_send(struct ts_git_graph *graph, const struct git__list *missing,
                                  const struct git__list *history, const bool *is_added,
                                  struct ts_git_reach_stats *stats, struct ts_git_fault *ret_fault) {
    if (missing->count == 0)
        return TS_GIT_OK;
    struct lack *lacks = calloc(missing->count, sizeof *lacks);
    struct flags flags = {.is_history = calloc(graph->absent.count, sizeof *flags.is_history),
                          .is_promised = calloc(graph->absent.count, sizeof *flags.is_promised),
                          .is_added = is_added};
    enum ts_git_error error = ts_git_set_new(graph->repo, &flags.seen, ret_fault);
    if (error == TS_GIT_OK && (lacks == NULL || flags.is_history == NULL || flags.is_promised == NULL ||
                               !find_lacks(graph, missing, history, &flags, lacks)))
        error = git__fault(TS_GIT_NO_MEMORY, graph->repo->common_dir, ret_fault);
    if (error == TS_GIT_OK)
        send_all(graph, lacks, missing->count, stats);
    ts_git_set_free(flags.seen);
    free(flags.is_promised);
    free(flags.is_history);
    free(lacks);
    return error;
}
