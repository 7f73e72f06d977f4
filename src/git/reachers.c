/*
 * Finds the branches and tags that reach given groups of commits.
 *
 * Each group has a bit. Bits spread from commits to their children, parents first (times.c), so that at the
 * end the tip of a ref has the bits of all groups that it reaches. One pass handles as many groups as fit into
 * memory.
 */
#include "graph.h"

#include <stdlib.h>
#include <string.h>

#define WORDS_MAX  8
#define BITS_SHARE 16 /* the bits may take 1/BITS_SHARE of the graph's memory */

struct passing {
    struct ts_git_graph *graph;
    const struct ts_git_marks *marks;
    struct ts_git_refs refs;
    uint32_t *places; /* indexed by number of a commit: its index in the order and in `bits` */
    uint64_t *bits;
    size_t words; /* words of bits for each commit */
};

/* Returns the position of the kind of ref in the order that people expect: local branches, remote branches,
 * tags; -1 for other refs. */
static int rank_of(const char *name) {
    static const char *const kinds[] = {"refs/heads/", "refs/remotes/", "refs/tags/"};
    for (int i = 0; i < 3; i++)
        if (strncmp(name, kinds[i], strlen(kinds[i])) == 0)
            return i;
    return -1;
}

/* Returns the commit that a ref leads to, through tags; GIT__NONE if the ref leads to no commit. */
static uint32_t tip_of(const struct ts_git_graph *graph, const struct ts_git_ref *ref) {
    uint32_t number = git__number_of(graph->repo, ref->oid.bytes);
    for (unsigned i = 0; number < graph->total && graph->edges[number].type == TS_GIT_TAG && i < 16; i++)
        number = git__edges_of(graph, number)[0];
    return number < graph->total && graph->edges[number].type == TS_GIT_COMMIT ? number : GIT__NONE;
}

static void set_marks(struct passing *p, uint32_t first_group) {
    const struct ts_git_graph *graph = p->graph;
    uint32_t end = first_group + (uint32_t)(p->words * 64);
    for (size_t i = 0; i < p->marks->count; i++) {
        const struct ts_git_mark *mark = &p->marks->items[i];
        uint32_t number = git__number_of(graph->repo, mark->commit.bytes);
        if (mark->group < first_group || mark->group >= end || number >= graph->total ||
            graph->edges[number].type != TS_GIT_COMMIT)
            continue;
        uint32_t bit = mark->group - first_group;
        p->bits[p->places[number] * p->words + bit / 64] |= UINT64_C(1) << bit % 64;
    }
}

/* Passes the bits from parents to children. Returns false when the watch ended the pass. */
static bool pass_on(struct passing *p) {
    const struct ts_git_graph *graph = p->graph;
    for (size_t i = 0; i < graph->order.count; i++) {
        uint32_t commit = graph->order.items[i];
        const uint32_t *edges = git__edges_of(graph, commit);
        uint64_t *own = &p->bits[i * p->words];
        for (uint32_t k = GIT__COMMIT_HEAD; k < graph->edges[commit].added; k++) {
            if (edges[k] >= graph->total || graph->edges[edges[k]].type != TS_GIT_COMMIT)
                continue;
            const uint64_t *parent = &p->bits[p->places[edges[k]] * p->words];
            for (size_t w = 0; w < p->words; w++)
                own[w] |= parent[w];
        }
        if (i % GIT__STEPS_BETWEEN == 0 && !git__graph_goes_on(graph))
            return false;
    }
    return true;
}

static void tell(struct passing *p, uint32_t first_group) {
    const struct ts_git_marks *marks = p->marks;
    for (int rank = 0; rank < 3; rank++)
        for (size_t i = 0; i < p->refs.count; i++) {
            uint32_t tip =
                rank_of(p->refs.items[i].name) == rank ? tip_of(p->graph, &p->refs.items[i]) : GIT__NONE;
            if (tip == GIT__NONE)
                continue;
            for (size_t w = 0; w < p->words; w++)
                for (uint64_t left = p->bits[p->places[tip] * p->words + w]; left != 0; left &= left - 1)
                    marks->take(marks->ctx,
                                first_group + (uint32_t)(w * 64) + (uint32_t)__builtin_ctzll(left),
                                p->refs.items[i].name);
        }
}

static bool prepare(struct passing *p) {
    const struct ts_git_graph *graph = p->graph;
    size_t commits = graph->order.count + 1;
    uint64_t room = git__graph_memory(graph) / BITS_SHARE / (commits * sizeof *p->bits);
    p->words = ((size_t)p->marks->group_count + 63) / 64;
    p->words = p->words > WORDS_MAX ? WORDS_MAX : p->words;
    p->words = p->words > room ? (size_t)room : p->words;
    p->words = p->words == 0 ? 1 : p->words;
    p->places = malloc(((size_t)graph->total + 1) * sizeof *p->places);
    p->bits = malloc(commits * p->words * sizeof *p->bits);
    if (p->places == NULL || p->bits == NULL)
        return false;
    for (size_t i = 0; i < graph->order.count; i++)
        p->places[graph->order.items[i]] = (uint32_t)i;
    return true;
}

enum ts_git_error ts_git_graph_reachers(struct ts_git_graph *graph, const struct ts_git_marks *marks,
                                        struct ts_git_fault *ret_fault) {
    struct passing p = {.graph = graph, .marks = marks};
    enum ts_git_error error = ts_git_refs_list(graph->repo, NULL, &p.refs, ret_fault);
    if (error != TS_GIT_OK)
        return error;
    if (!git__graph_order_times(graph) || !prepare(&p))
        error = git__graph_ended(graph, ret_fault);
    for (uint64_t group = 0; error == TS_GIT_OK && group < marks->group_count; group += p.words * 64) {
        memset(p.bits, 0, (graph->order.count + 1) * p.words * sizeof *p.bits);
        set_marks(&p, (uint32_t)group);
        if (pass_on(&p))
            tell(&p, (uint32_t)group);
        else
            error = git__fault(TS_GIT_STOPPED, graph->repo->common_dir, ret_fault);
    }
    free(p.places);
    free(p.bits);
    ts_git_refs_release(&p.refs);
    return error;
}
