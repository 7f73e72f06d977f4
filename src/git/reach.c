/*
 * Finds the objects that a selection reaches.
 *
 * Trees are stored as differences from their delta bases. If the base of a reachable tree is reachable, too,
 * only the additions of the tree are marked: marking the base covers the rest. Otherwise the chain of bases
 * is followed to a reachable base, or to its root, and additions and removals are counted from there.
 */
#include "graph.h"
#include "lacks.h"

#include "base/assert.h"

#include <stdlib.h>
#include <string.h>

#define TIP_BYTES_MAX ((size_t)64 << 20) /* a larger blob that a ref names is not read */

static enum ts_git_error no_memory(const struct ts_git_graph *graph, struct ts_git_fault *ret_fault) {
    return git__fault(TS_GIT_NO_MEMORY, graph->repo->common_dir, ret_fault);
}

/* ---- commits ---- */

struct walk {
    struct ts_git_graph *graph;
    struct ts_git_set *seen; /* commits and tags */
    struct git__list queue;
    struct git__list commits;
    struct git__list others;
    struct git__list missing; /* numbers of missing objects */
    size_t steps;
    bool is_over; /* memory ran out, or the watch ended the walk */
};

static void keep(struct walk *walk, struct git__list *list, uint32_t number) {
    if (!git__list_add(list, number))
        walk->is_over = true;
}

/* Adds the object and its replacements to the queue. */
static void enqueue(struct walk *walk, uint32_t number) {
    for (unsigned i = 0; number != GIT__NONE && i <= GIT__REPLACED_MAX; i++) {
        if (number >= walk->graph->total)
            keep(walk, &walk->missing, number);
        else if (git__set_add(walk->seen, number))
            keep(walk, &walk->queue, number);
        else
            return;
        number = git__replacement_of(walk->graph, number);
    }
}

/* Follows all objects in the queue: tags to their targets and, if with_parents is true, commits to their
 * parents. */
static void walk_all(struct walk *walk, bool with_parents) {
    const struct ts_git_graph *graph = walk->graph;
    while (walk->queue.count > 0 && !walk->is_over) {
        if (++walk->steps % GIT__STEPS_BETWEEN == 0 && !git__graph_goes_on(graph))
            walk->is_over = true;
        uint32_t number = walk->queue.items[--walk->queue.count];
        const struct git__edges *edges = &graph->edges[number];
        if (edges->type == TS_GIT_COMMIT) {
            keep(walk, &walk->commits, number);
            for (uint32_t i = GIT__COMMIT_HEAD; with_parents && i < edges->added; i++)
                enqueue(walk, git__edges_of(graph, number)[i]);
            continue;
        }
        keep(walk, &walk->others, number);
        if (edges->type == TS_GIT_TAG)
            enqueue(walk, git__edges_of(graph, number)[0]);
    }
}

static enum ts_git_error walk_init(struct walk *walk, struct ts_git_graph *graph,
                                   struct ts_git_fault *ret_fault) {
    *walk = (struct walk){.graph = graph};
    return ts_git_set_new(graph->repo, &walk->seen, ret_fault);
}

static void walk_release(struct walk *walk) {
    ts_git_set_free(walk->seen);
    free(walk->queue.items);
    free(walk->commits.items);
    free(walk->others.items);
    free(walk->missing.items);
}

static enum ts_git_error add_tip(struct walk *walk, const struct ts_git_oid *oid,
                                 struct ts_git_fault *ret_fault) {
    struct ts_git_repo *repo = walk->graph->repo;
    uint32_t number = git__number_of(repo, oid->bytes);
    if (number == GIT__NONE) {
        bool is_there;
        git__are_there_now(repo, oid, 1, &is_there);
        is_there = is_there || git__refs_have_changed(repo);
        return git__fault_object(is_there ? TS_GIT_MOVED : TS_GIT_MISSING, repo->hash, oid, NULL, ret_fault);
    }
    enqueue(walk, number);
    return TS_GIT_OK;
}

static bool is_branch(const char *name) {
    size_t len = strlen(name);
    return strncmp(name, "refs/heads/", 11) == 0 || strcmp(name, "HEAD") == 0 ||
           (len > 5 && strncmp(name, "refs/", 5) != 0 && strcmp(name + len - 5, "/HEAD") == 0);
}

/* Checks the type of the object that a ref names. A branch must name a commit. Any other ref may name an
 * object of any type. So if the header of the entry says blob, the object is read, because damage can make a
 * commit look like a blob. */
static void check_tip(struct walk *walk, const struct ts_git_ref *ref) {
    struct ts_git_graph *graph = walk->graph;
    uint32_t number = git__number_of(graph->repo, ref->oid.bytes);
    if (number == GIT__NONE || git__set_has(walk->seen, number))
        return;
    unsigned type = graph->edges[number].type;
    enum ts_git_error error = TS_GIT_OK;
    if (is_branch(ref->name) && type != TS_GIT_COMMIT && type != 0) {
        error = TS_GIT_WRONG_TYPE;
    } else if (type == TS_GIT_BLOB) {
        struct ts_git_content content = {.bytes = NULL};
        error = ts_git_blob_read(graph->repo, &ref->oid, TIP_BYTES_MAX, &content, NULL);
        free(content.bytes);
    }
    if (error == TS_GIT_OK || error == TS_GIT_TOO_LARGE)
        return;
    struct ts_git_fault fault;
    (void)git__fault_object(error, graph->repo->hash, &ref->oid, NULL, &fault);
    git__fault_send(&graph->options.faults, &fault);
}

/* Adds the targets of all refs to the queue. A missing target counts as a missing object, and the other refs
 * are followed nevertheless. */
static enum ts_git_error add_refs(struct walk *walk, struct ts_git_fault *ret_fault) {
    struct ts_git_refs refs;
    struct ts_git_graph *graph = walk->graph;
    enum ts_git_error error = ts_git_refs_list(graph->repo, &graph->options.faults, &refs, ret_fault);
    if (error != TS_GIT_OK)
        return error;
    for (size_t i = 0; i < refs.count; i++) {
        check_tip(walk, &refs.items[i]);
        uint32_t number = git__graph_number(graph, &refs.items[i].oid);
        if (number != GIT__NONE)
            enqueue(walk, number);
        walk->is_over = walk->is_over || number == GIT__NONE;
    }
    ts_git_refs_release(&refs);
    return TS_GIT_OK;
}

static enum ts_git_error add_tips(struct walk *walk, const struct ts_git_oid *oids, size_t count,
                                  struct ts_git_fault *ret_fault) {
    enum ts_git_error error = TS_GIT_OK;
    for (size_t i = 0; i < count && error == TS_GIT_OK; i++)
        error = add_tip(walk, &oids[i], ret_fault);
    return error;
}

static bool is_chosen(const struct walk *in, const struct walk *out, const struct ts_git_selection *selection,
                      uint32_t commit) {
    return !git__set_has(out->seen, commit) &&
           (!selection->has_since || git__committed_s(in->graph, commit) >= selection->since_s);
}

/* Excludes commits before the date, and all their ancestors, even if the clocks of the ancestors say
 * otherwise. */
static void exclude_older(const struct walk *in, struct walk *out, int64_t since_s) {
    for (size_t i = 0; i < in->commits.count; i++)
        if (git__committed_s(in->graph, in->commits.items[i]) < since_s)
            enqueue(out, in->commits.items[i]);
    walk_all(out, true);
}

/* For A...B: excludes the commits that both sides reach. */
static enum ts_git_error exclude_common(struct walk *out, const struct ts_git_oid *two,
                                        struct ts_git_fault *ret_fault) {
    struct walk walks[2];
    enum ts_git_error error = walk_init(&walks[0], out->graph, ret_fault);
    if (error != TS_GIT_OK)
        return error;
    error = walk_init(&walks[1], out->graph, ret_fault);
    for (size_t i = 0; i < 2 && error == TS_GIT_OK; i++) {
        error = add_tip(&walks[i], &two[i], ret_fault);
        walk_all(&walks[i], true);
        out->is_over = out->is_over || walks[i].is_over;
    }
    for (size_t i = 0; i < walks[0].commits.count && error == TS_GIT_OK; i++)
        if (git__set_has(walks[1].seen, walks[0].commits.items[i]))
            enqueue(out, walks[0].commits.items[i]);
    walk_release(&walks[0]);
    walk_release(&walks[1]);
    return error;
}

static void choose(struct walk *in, const struct walk *out, const struct ts_git_selection *selection,
                   struct git__selected *selected, struct ts_git_set *chosen) {
    struct ts_git_graph *graph = in->graph;
    for (size_t i = 0; i < in->commits.count; i++) {
        uint32_t commit = in->commits.items[i];
        if (!is_chosen(in, out, selection, commit))
            continue;
        (void)git__set_add(chosen, commit);
        keep(in, &selected->commits, commit);
    }
    for (size_t i = 0; i < in->missing.count; i++)
        keep(in, &selected->missing, in->missing.items[i]);
    for (size_t i = 0; i < in->others.count; i++)
        keep(in, &selected->others, in->others.items[i]);
    for (size_t i = 0; i < selected->commits.count; i++) {
        uint32_t commit = selected->commits.items[i];
        for (uint32_t k = GIT__COMMIT_HEAD; k < graph->edges[commit].added; k++) {
            uint32_t parent = git__edges_of(graph, commit)[k];
            if (parent < graph->total && graph->edges[parent].type == TS_GIT_COMMIT &&
                !git__set_has(chosen, parent) && !selection->has_since)
                keep(in, &selected->before, parent);
        }
    }
    for (size_t i = 0; selection->has_since && i < out->commits.count; i++)
        keep(in, &selected->before, out->commits.items[i]);
}

/* Counts excluded commits whose parents a shallow clone omits, if a selected commit may be among the omitted
 * ancestors. That is possible if the selection does not reach the excluded commit, and if the earliest
 * selected commit is not newer than the excluded commit. With has_since, such a commit always counts. */
static uint64_t count_cut_before(const struct walk *in, const struct walk *out,
                                 const struct ts_git_selection *selection,
                                 const struct git__selected *selected) {
    const struct ts_git_graph *graph = in->graph;
    int64_t earliest_s = INT64_MAX;
    uint64_t cut = 0;
    for (size_t i = 0; out->commits.count > 0 && i < selected->commits.count; i++) {
        int64_t at_s = git__committed_s(graph, selected->commits.items[i]);
        earliest_s = at_s < earliest_s ? at_s : earliest_s;
    }
    for (size_t i = 0; selected->commits.count > 0 && i < out->commits.count; i++) {
        uint32_t commit = out->commits.items[i];
        bool may_hide = selection->has_since ||
                        (!git__set_has(in->seen, commit) && git__committed_s(graph, commit) >= earliest_s);
        cut += may_hide && git__set_has(graph->cut, commit);
    }
    return cut;
}

enum ts_git_error git__select(struct ts_git_graph *graph, const struct ts_git_selection *selection,
                              struct git__selected *ret_selected, struct ts_git_fault *ret_fault) {
    struct walk in;
    struct walk out = {.graph = NULL};
    struct ts_git_set *chosen = NULL;
    struct git__selected selected = {.commits = {NULL, 0, 0}};
    enum ts_git_error error = walk_init(&in, graph, ret_fault);
    if (error == TS_GIT_OK)
        error = walk_init(&out, graph, ret_fault);
    if (error == TS_GIT_OK)
        error = ts_git_set_new(graph->repo, &chosen, ret_fault);
    if (error == TS_GIT_OK && selection->all_refs)
        error = add_refs(&in, ret_fault);
    if (error == TS_GIT_OK)
        error = add_tips(&in, selection->from, selection->from_count, ret_fault);
    if (error == TS_GIT_OK)
        error = add_tips(&out, selection->exclude, selection->exclude_count, ret_fault);
    if (error == TS_GIT_OK && selection->symmetric)
        error = exclude_common(&out, selection->from, ret_fault);
    if (error == TS_GIT_OK) {
        walk_all(&in, !selection->tips_only);
        walk_all(&out, true);
        if (selection->has_since)
            exclude_older(&in, &out, selection->since_s);
        choose(&in, &out, selection, &selected, chosen);
        selected.cut_before = count_cut_before(&in, &out, selection, &selected);
        if (in.is_over || out.is_over)
            error = git__graph_ended(graph, ret_fault);
    }
    walk_release(&in);
    walk_release(&out);
    ts_git_set_free(chosen);
    if (error != TS_GIT_OK)
        git__selected_release(&selected);
    else
        *ret_selected = selected;
    return error;
}

void git__selected_release(struct git__selected *selected) {
    free(selected->commits.items);
    free(selected->others.items);
    free(selected->before.items);
    free(selected->missing.items);
}

/* ---- trees and blobs ---- */

#define CHAIN_MAX 4096 /* the longest delta chain that git makes */

struct spread {
    struct ts_git_graph *graph;
    struct ts_git_set *set;
    struct ts_git_set *swept; /* trees, even unreachable ones, whose additions are all marked */
    struct git__list queue;   /* trees whose additions must be marked */
    struct git__list waiting; /* trees with a base */
    struct git__list chain;
    struct git__list touched;
    int32_t *counts; /* indexed by object number, including missing objects; 0 unless in touched */
    struct git__list missing;
    uint8_t *is_missed;
    size_t steps;
    bool is_over; /* memory ran out, or the watch ended the walk */
};

static void spread_keep(struct spread *s, struct git__list *list, uint32_t number) {
    if (!git__list_add(list, number))
        s->is_over = true;
}

static void mark_one(struct spread *s, uint32_t number) {
    const struct ts_git_graph *graph = s->graph;
    if (number >= graph->total) {
        if (!s->is_missed[number - graph->total]) {
            s->is_missed[number - graph->total] = 1;
            spread_keep(s, &s->missing, number);
        }
        return;
    }
    if (!git__set_add(s->set, number) || graph->edges[number].type != TS_GIT_TREE)
        return;
    spread_keep(s, &s->queue, number);
    if (graph->edges[number].base != GIT__NONE)
        spread_keep(s, &s->waiting, number);
}

/* Marks the object, its replacement, the replacement of that replacement, and so on. */
static void mark(struct spread *s, uint32_t number) {
    mark_one(s, number);
    for (unsigned i = 0; s->graph->replaced_count > 0 && i < GIT__REPLACED_MAX; i++) {
        number = git__replacement_of(s->graph, number);
        if (number == GIT__NONE)
            break;
        mark_one(s, number);
    }
}

#define MARK_AHEAD 8 /* entries to prefetch, so that memory accesses overlap */

static void drain(struct spread *s) {
    while (s->queue.count > 0 && !s->is_over) {
        if (++s->steps % GIT__STEPS_BETWEEN == 0 && !git__graph_goes_on(s->graph))
            s->is_over = true;
        uint32_t tree = s->queue.items[--s->queue.count];
        const uint32_t *edges = git__edges_of(s->graph, tree);
        uint32_t added = s->graph->edges[tree].added;
        for (uint32_t i = 0; i < added; i++) {
            if (i + MARK_AHEAD < added && edges[i + MARK_AHEAD] < s->graph->total)
                __builtin_prefetch(&s->graph->edges[edges[i + MARK_AHEAD]]);
            mark(s, edges[i]);
        }
    }
}

static void count(struct spread *s, uint32_t number, int32_t by) {
    if (s->counts[number] == 0 && by < 0) /* the chain's reachable base has the entry: it stays marked */
        return;
    if (s->counts[number] == 0)
        spread_keep(s, &s->touched, number);
    s->counts[number] += by;
}

/* Handles a chain that is longer than git makes: follows it only once, and marks as reachable everything that
 * its trees add. */
static void sweep_chain(struct spread *s) {
    const struct ts_git_graph *graph = s->graph;
    for (size_t i = 0; i < s->chain.count; i++) {
        const uint32_t *list = git__edges_of(graph, s->chain.items[i]);
        (void)git__set_add(s->swept, s->chain.items[i]);
        for (uint32_t k = 0; k < graph->edges[s->chain.items[i]].added; k++)
            mark(s, list[k]);
    }
}

/* Counts additions minus removals, from the far end of the chain to the tree itself. */
static void count_chain(struct spread *s) {
    const struct ts_git_graph *graph = s->graph;
    s->touched.count = 0;
    while (s->chain.count > 0) {
        uint32_t at = s->chain.items[--s->chain.count];
        const struct git__edges *edges = &graph->edges[at];
        const uint32_t *list = git__edges_of(graph, at);
        for (uint32_t i = 0; i < edges->removed; i++)
            count(s, list[edges->added + i], -1);
        for (uint32_t i = 0; i < edges->added; i++)
            count(s, list[i], 1);
    }
    for (size_t i = 0; i < s->touched.count; i++) {
        uint32_t number = s->touched.items[i];
        if (s->counts[number] > 0)
            mark(s, number);
        s->counts[number] = 0;
    }
}

/* Marks the entries that a reachable tree inherits from unreachable bases. */
static void mark_inherited(struct spread *s, uint32_t tree) {
    s->chain.count = 0;
    for (uint32_t at = tree; at != GIT__NONE; at = s->graph->edges[at].base) {
        if (at != tree && (git__set_has(s->set, at) || git__set_has(s->swept, at)))
            break;
        spread_keep(s, &s->chain, at);
    }
    if (s->chain.count > CHAIN_MAX)
        sweep_chain(s);
    else
        count_chain(s);
}

/* Marks until nothing changes: each marking may make more trees reachable, among them bases of waiting
 * trees. */
static void settle(struct spread *s) {
    drain(s);
    while (s->waiting.count > 0 && !s->is_over) {
        if (++s->steps % GIT__STEPS_BETWEEN == 0 && !git__graph_goes_on(s->graph))
            s->is_over = true;
        uint32_t tree = s->waiting.items[--s->waiting.count];
        if (!git__set_has(s->set, s->graph->edges[tree].base))
            mark_inherited(s, tree);
        drain(s);
    }
}

static enum ts_git_error spread_init(struct spread *s, struct ts_git_graph *graph,
                                     struct ts_git_fault *ret_fault) {
    *s = (struct spread){.graph = graph};
    enum ts_git_error error = ts_git_set_new(graph->repo, &s->set, ret_fault);
    if (error == TS_GIT_OK)
        error = ts_git_set_new(graph->repo, &s->swept, ret_fault);
    if (error != TS_GIT_OK)
        return error;
    s->counts = calloc((size_t)graph->total + graph->absent.count + 1, sizeof *s->counts);
    s->is_missed = calloc(graph->absent.count + 1, sizeof *s->is_missed);
    return s->counts != NULL && s->is_missed != NULL ? TS_GIT_OK : no_memory(graph, ret_fault);
}

static void spread_release(struct spread *s) {
    ts_git_set_free(s->set);
    ts_git_set_free(s->swept);
    free(s->queue.items);
    free(s->waiting.items);
    free(s->chain.items);
    free(s->touched.items);
    free(s->missing.items);
    free(s->counts);
    free(s->is_missed);
}

static void mark_trees_of(struct spread *s, const struct git__list *commits) {
    for (size_t i = 0; i < commits->count; i++)
        mark(s, git__edges_of(s->graph, commits->items[i])[0]);
}

static void count_reached(const struct ts_git_graph *graph, const struct ts_git_set *set,
                          struct ts_git_reach_stats *stats) {
    for (uint32_t i = 0; i < graph->total; i++) {
        if (!git__set_has(set, i))
            continue;
        stats->commits += graph->edges[i].type == TS_GIT_COMMIT;
        stats->trees += graph->edges[i].type == TS_GIT_TREE;
        stats->tags += graph->edges[i].type == TS_GIT_TAG;
        stats->blobs += git__may_be_blob(graph, i);
        stats->cut_commits += git__set_has(graph->cut, i);
    }
}

/* Marks the trees to omit. With new_only, these are only the trees of the base commits, because a later
 * commit may add again an object that the base no longer has. Otherwise all trees that the excluded commits
 * reach are omitted. */
static enum ts_git_error reach_excluded(struct ts_git_graph *graph, const struct ts_git_selection *selection,
                                        const struct git__selected *selected, struct spread *out,
                                        struct ts_git_fault *ret_fault) {
    enum ts_git_error error = spread_init(out, graph, ret_fault);
    if (error != TS_GIT_OK)
        return error;
    if (selection->new_only)
        mark_trees_of(out, &selected->before);
    else if (selection->exclude_count > 0) {
        struct walk walk;
        error = walk_init(&walk, graph, ret_fault);
        if (error == TS_GIT_OK)
            error = add_tips(&walk, selection->exclude, selection->exclude_count, ret_fault);
        if (error == TS_GIT_OK) {
            walk_all(&walk, true);
            mark_trees_of(out, &walk.commits);
            for (size_t i = 0; i < walk.others.count; i++)
                mark(out, walk.others.items[i]);
            out->is_over = out->is_over || walk.is_over;
        }
        walk_release(&walk);
    }
    settle(out);
    return error;
}

/* Finds the missing objects that the selected commits add at some path, also by a move. The others are objects
 * of the base at their old paths: nobody needs them to know what the commits add. *ret_added is NULL if all
 * missing objects count. The caller frees it. */
static enum ts_git_error find_added(struct ts_git_graph *graph, const struct ts_git_selection *selection,
                                    const struct git__selected *selected, const struct spread *in,
                                    bool **ret_added, struct ts_git_fault *ret_fault) {
    *ret_added = NULL;
    if (!selection->new_only || !graph->repo->is_partial || in->missing.count == 0 || in->is_over ||
        graph->replaced_count > 0 || selected->others.count > 0)
        return TS_GIT_OK;
    bool is_whole = false;
    bool *is_added = calloc(graph->absent.count + 1, sizeof *is_added);
    if (is_added == NULL)
        return no_memory(graph, ret_fault);
    enum ts_git_error error = git__find_added(graph, &selected->commits, is_added, &is_whole, ret_fault);
    if (is_whole)
        *ret_added = is_added;
    else
        free(is_added);
    return error == TS_GIT_STOPPED || error == TS_GIT_NO_MEMORY ? TS_GIT_OK : error;
}

enum ts_git_error ts_git_graph_reach(struct ts_git_graph *graph, const struct ts_git_selection *selection,
                                     struct ts_git_set **ret_set, struct ts_git_reach_stats *ret_stats,
                                     struct ts_git_fault *ret_fault) {
    struct git__selected selected;
    enum ts_git_error error = git__select(graph, selection, &selected, ret_fault);
    if (error != TS_GIT_OK)
        return error;
    struct spread in;
    struct spread out = {.graph = NULL};
    error = spread_init(&in, graph, ret_fault);
    if (error == TS_GIT_OK)
        error = reach_excluded(graph, selection, &selected, &out, ret_fault);
    if (error == TS_GIT_OK) {
        mark_trees_of(&in, &selected.commits);
        for (size_t i = 0; i < selected.others.count; i++)
            mark(&in, selected.others.items[i]);
        for (size_t i = 0; i < selected.missing.count; i++)
            mark(&in, selected.missing.items[i]);
        settle(&in);
        for (size_t i = 0; i < selected.commits.count; i++)
            (void)git__set_add(in.set, selected.commits.items[i]);
        ts_git_set_subtract(in.set, out.set);
        if (in.is_over || out.is_over)
            error = git__graph_ended(graph, ret_fault);
    }
    struct ts_git_reach_stats stats = {.cut_before = selected.cut_before};
    bool *is_added = NULL;
    if (error == TS_GIT_OK)
        error = find_added(graph, selection, &selected, &in, &is_added, ret_fault);
    if (error == TS_GIT_OK)
        error = git__lacks_send(graph, &in.missing, &selected.missing, is_added, &stats, ret_fault);
    free(is_added);
    if (error == TS_GIT_OK) {
        count_reached(graph, in.set, &stats);
        if (ret_stats != NULL)
            *ret_stats = stats;
        *ret_set = in.set;
        in.set = NULL;
    }
    spread_release(&in);
    spread_release(&out);
    git__selected_release(&selected);
    return error;
}

enum ts_git_error ts_git_graph_before(struct ts_git_graph *graph, const struct ts_git_selection *selection,
                                      struct ts_git_oid **ret_oids, size_t *ret_count,
                                      struct ts_git_fault *ret_fault) {
    struct git__selected selected;
    struct ts_git_set *seen = NULL;
    enum ts_git_error error = git__select(graph, selection, &selected, ret_fault);
    if (error != TS_GIT_OK)
        return error;
    struct ts_git_oid *oids = calloc(selected.before.count + 1, sizeof *oids);
    size_t count = 0;
    error = oids != NULL ? ts_git_set_new(graph->repo, &seen, ret_fault) : no_memory(graph, ret_fault);
    for (size_t i = 0; error == TS_GIT_OK && i < selected.before.count; i++)
        if (git__set_add(seen, selected.before.items[i]))
            oids[count++] =
                ts_git_oid_of(graph->repo->hash, git__number_id(graph->repo, selected.before.items[i]));
    ts_git_set_free(seen);
    git__selected_release(&selected);
    if (error != TS_GIT_OK) {
        free(oids);
        return error;
    }
    *ret_oids = oids;
    *ret_count = count;
    return TS_GIT_OK;
}
