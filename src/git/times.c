/*
 * The order of commits: by time, ancestors first.
 *
 * Clocks may be wrong, and several commits in one second are common. So a commit may seem to be as old as its
 * parent, or older. Then its time is moved to one second after the latest of its parents. The graph has the
 * moved times. The time of the committer's clock is kept separately, for the few commits that are moved.
 */
#include "graph.h"

#include "os/grow.h"

#include <stdlib.h>
#include <string.h>

struct pass {
    struct ts_git_graph *graph;
    struct ts_git_set *begun; /* commits whose parents are on the stack, or done */
    struct ts_git_set *done;
    struct git__list stack;
    size_t steps;
    bool is_stopped; /* the watch stopped the pass */
};

static bool is_commit(const struct ts_git_graph *graph, uint32_t number) {
    return number < graph->total && graph->edges[number].type == TS_GIT_COMMIT;
}

static bool push_parents(struct pass *pass, uint32_t commit) {
    const struct ts_git_graph *graph = pass->graph;
    const uint32_t *edges = git__edges_of(graph, commit);
    bool has_room = true;
    for (uint32_t i = GIT__COMMIT_HEAD; i < graph->edges[commit].added && has_room; i++)
        if (is_commit(graph, edges[i]) && !git__set_has(pass->begun, edges[i]))
            has_room = git__list_add(&pass->stack, edges[i]);
    return has_room;
}

/* Moves the time of a commit after the times of its parents, and adds the commit to the order. Ignores
 * parents that grafts turn into descendants of the commit. Returns false when memory runs out. */
static bool move_behind_parents(struct pass *pass, uint32_t commit) {
    struct ts_git_graph *graph = pass->graph;
    uint32_t *edges = graph->lists[graph->edges[commit].worker].items + graph->edges[commit].start;
    int64_t committed_s = git__commit_time(graph, commit);
    int64_t time_s = committed_s;
    for (uint32_t i = GIT__COMMIT_HEAD; i < graph->edges[commit].added; i++)
        if (is_commit(graph, edges[i]) && git__set_has(pass->done, edges[i])) {
            int64_t parent_s = git__commit_time(graph, edges[i]);
            time_s = parent_s >= time_s && parent_s < INT64_MAX ? parent_s + 1 : time_s;
        }
    (void)git__set_add(pass->done, commit);
    if (!git__list_add(&graph->order, commit))
        return false;
    if (time_s == committed_s)
        return true;
    if (!TS_GROW(graph->late, graph->late_capacity, graph->late_count + 1))
        return false;
    graph->late[graph->late_count++] = (struct git__late){commit, committed_s};
    edges[1] = (uint32_t)(uint64_t)time_s;
    edges[2] = (uint32_t)((uint64_t)time_s >> 32);
    return true;
}

/* Lists the commit and its ancestors, parents before children. */
static bool order_from(struct pass *pass, uint32_t commit) {
    bool has_room = git__list_add(&pass->stack, commit);
    while (has_room && pass->stack.count > 0 && !pass->is_stopped) {
        if (++pass->steps % GIT__STEPS_BETWEEN == 0)
            pass->is_stopped = !git__graph_goes_on(pass->graph);
        uint32_t top = pass->stack.items[pass->stack.count - 1];
        if (git__set_add(pass->begun, top)) {
            has_room = push_parents(pass, top);
            continue;
        }
        pass->stack.count--;
        if (!git__set_has(pass->done, top))
            has_room = move_behind_parents(pass, top);
    }
    return has_room;
}

static int compare_late(const void *a, const void *b) {
    uint32_t x = ((const struct git__late *)a)->number;
    uint32_t y = ((const struct git__late *)b)->number;
    return (x > y) - (x < y);
}

bool git__graph_order_times(struct ts_git_graph *graph) {
    struct pass pass = {.graph = graph};
    if (graph->has_order)
        return true;
    bool done = ts_git_set_new(graph->repo, &pass.begun, NULL) == TS_GIT_OK &&
                ts_git_set_new(graph->repo, &pass.done, NULL) == TS_GIT_OK;
    /* graph->order may already have commits: from an earlier history (past.h), or from a call that the watch
     * ended. */
    for (size_t i = 0; i < graph->order.count && done; i++) {
        (void)git__set_add(pass.begun, graph->order.items[i]);
        (void)git__set_add(pass.done, graph->order.items[i]);
    }
    bool has_begun = done;
    for (uint32_t i = 0; i < graph->total && done && !pass.is_stopped; i++)
        if (is_commit(graph, i) && !git__set_has(pass.done, i))
            done = order_from(&pass, i);
    if (graph->late_count > 0 && !pass.is_stopped) /* if stopped, the next call sorts the list */
        qsort(graph->late, graph->late_count, sizeof *graph->late, compare_late);
    /* Times that were moved stay moved, even if memory ran out before all times were moved. */
    graph->has_order = has_begun && !pass.is_stopped;
    ts_git_set_free(pass.begun);
    ts_git_set_free(pass.done);
    free(pass.stack.items);
    return done && !pass.is_stopped;
}

int64_t git__committed_s(const struct ts_git_graph *graph, uint32_t number) {
    struct git__late key = {.number = number};
    const struct git__late *late = graph->late_count == 0 ? NULL
                                                          : bsearch(&key, graph->late, graph->late_count,
                                                                    sizeof *graph->late, compare_late);
    return late != NULL ? late->committed_s : git__commit_time(graph, number);
}

int64_t ts_git_graph_order_time(struct ts_git_graph *graph, const struct ts_git_oid *commit) {
    uint32_t number = git__number_of(graph->repo, commit->bytes);
    (void)git__graph_order_times(graph); /* if memory runs out, the order follows the committers' clocks */
    return number != GIT__NONE && is_commit(graph, number) ? git__commit_time(graph, number) : 0;
}
