/* Replaced objects: the refs under refs/replace. */
#include "graph.h"

#include "os/grow.h"

#include <stdlib.h>

static int compare_replaced(const void *a, const void *b) {
    const struct git__replaced *x = a;
    const struct git__replaced *y = b;
    return (x->number > y->number) - (x->number < y->number);
}

uint32_t git__replacement_of(const struct ts_git_graph *graph, uint32_t number) {
    struct git__replaced key = {.number = number};
    const struct git__replaced *found =
        graph->replaced_count == 0
            ? NULL
            : bsearch(&key, graph->replaced, graph->replaced_count, sizeof key, compare_replaced);
    return found != NULL ? found->by : GIT__NONE;
}

/* Reports a replacement whose type differs from that of the replaced object, because git ignores such a
 * replacement. A missing or unreadable object has no type. */
static void check_replaced(struct ts_git_graph *graph, const struct git__replaced *pair,
                           const struct ts_git_oid *oid) {
    struct ts_git_fault fault;
    unsigned type = pair->number < graph->total ? graph->edges[pair->number].type : 0;
    unsigned by = pair->by < graph->total ? graph->edges[pair->by].type : 0;
    if (type == 0 || by == 0 || type == by)
        return;
    (void)git__fault_object(TS_GIT_WRONG_TYPE, graph->repo->hash, oid, NULL, &fault);
    git__fault_send(&graph->options.faults, &fault);
}

/* Reports an object with too many replacements in a row: git refuses to read it. */
static void check_depth(struct ts_git_graph *graph, uint32_t number) {
    struct ts_git_fault fault;
    uint32_t at = number;
    for (unsigned i = 0; i < GIT__REPLACED_MAX; i++) {
        at = git__replacement_of(graph, at);
        if (at == GIT__NONE)
            return;
    }
    struct ts_git_oid oid = number < graph->total
                                ? ts_git_oid_of(graph->repo->hash, git__number_id(graph->repo, number))
                                : graph->absent.oids[number - graph->total];
    (void)git__fault_object(TS_GIT_REPLACED, graph->repo->hash, &oid, NULL, &fault);
    git__fault_send(&graph->options.faults, &fault);
}

/* Does not report unreadable refs, because the walk over refs reports them. */
enum ts_git_error git__replaced_find(struct ts_git_graph *graph, struct ts_git_fault *ret_fault) {
    struct ts_git_refs refs;
    enum ts_git_error error = ts_git_refs_list(graph->repo, NULL, &refs, ret_fault);
    if (error != TS_GIT_OK)
        return error;
    for (size_t i = 0; i < refs.count && error == TS_GIT_OK; i++) {
        struct ts_git_oid oid;
        if (!git__replaced_by(graph->repo, &refs.items[i], &graph->options.faults, &oid))
            continue;
        struct git__replaced pair = {git__graph_number(graph, &oid),
                                     git__graph_number(graph, &refs.items[i].oid)};
        if (pair.number == GIT__NONE || pair.by == GIT__NONE ||
            !TS_GROW(graph->replaced, graph->replaced_capacity, graph->replaced_count + 1))
            error = git__fault(TS_GIT_NO_MEMORY, graph->repo->common_dir, ret_fault);
        else
            graph->replaced[graph->replaced_count++] = pair;
        if (error == TS_GIT_OK)
            check_replaced(graph, &pair, &oid);
    }
    if (graph->replaced_count > 0)
        qsort(graph->replaced, graph->replaced_count, sizeof *graph->replaced, compare_replaced);
    for (size_t i = 0; i < graph->replaced_count; i++)
        check_depth(graph, graph->replaced[i].number);
    ts_git_refs_release(&refs);
    return error;
}
