/*
 * The findings that commits add, compared with those of their base (before.h).
 */
#include "before.h"
#include "repository_impl.h"

#include "os/grow.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The commits that the change is compared with. The caller frees the ids. */
struct base {
    struct ts_git_oid *oids;
    struct ts_git_selection selection;
};

/* Finds the base of the selection. For A..B, the base also contains A itself, because B may contain a commit
 * that was picked from A. */
static enum ts_git_error find_base(struct ts_git_graph *graph, const struct ts_git_selection *selection,
                                   struct base *ret_base, struct ts_git_fault *ret_fault) {
    struct ts_git_selection base = {.tips_only = true, .without_parents = !selection->has_since};
    struct ts_git_oid *oids = NULL;
    size_t count = 0;
    enum ts_git_error error = ts_git_graph_before(graph, selection, &oids, &count, ret_fault);
    size_t capacity = count;
    if (error == TS_GIT_OK && selection->exclude_count > 0) {
        if (!TS_GROW(oids, capacity, count + selection->exclude_count)) {
            free(oids);
            *ret_fault = (struct ts_git_fault){.error = TS_GIT_NO_MEMORY};
            return TS_GIT_NO_MEMORY;
        }
        memcpy(oids + count, selection->exclude, selection->exclude_count * sizeof *oids);
        count += selection->exclude_count;
    }
    base.from = oids;
    base.from_count = count;
    *ret_base = (struct base){oids, base};
    return error;
}

enum ts_git_error scan__change_add_moved(struct scan_visit *visit, struct ts_git_graph *graph,
                                         const struct ts_git_selection *selection, struct ts_git_set *wanted,
                                         struct ts_git_set **ret_moved, struct ts_git_fault *ret_fault) {
    struct ts_git_occurrences moves = {.count = 0};
    struct ts_git_set *had = NULL;
    struct base base = {.oids = NULL};
    enum ts_git_error error = find_base(graph, selection, &base, ret_fault);
    if (error == TS_GIT_OK)
        error = ts_git_graph_reach(graph, &base.selection, &had, NULL, ret_fault);
    if (error == TS_GIT_OK)
        error = ts_git_graph_added_submodules(graph, wanted, had, &visit->target->row.submodules, ret_fault);
    if (error == TS_GIT_OK)
        error = ts_git_graph_attribute(graph, selection, had, 0, &moves, ret_fault);
    if (error == TS_GIT_OK)
        error = ts_git_set_new(visit->repo, ret_moved, ret_fault);
    for (size_t i = 0; error == TS_GIT_OK && i < moves.count; i++) {
        (void)ts_git_set_add(*ret_moved, &moves.items[i].blob);
        (void)ts_git_set_add(wanted, &moves.items[i].blob);
    }
    if (error == TS_GIT_OK)
        atomic_fetch_add(&visit->pass->progress->objects_total, ts_git_set_count(*ret_moved));
    ts_git_occurrences_release(&moves);
    ts_git_set_free(had);
    free(base.oids);
    return error;
}

/* ---- the base ---- */

struct comparison {
    struct scan_visit *visit;
    struct ts_git_graph *graph;
    struct base base;
    struct scan_before before;
};

/* Scans objects of the base, and adds the locations of those that have findings of the change. */
static enum ts_git_error look_at_base(struct comparison *c, struct ts_git_set *set,
                                      struct ts_git_fault *ret_fault) {
    struct scan_pass *pass = c->visit->pass;
    struct scan_origins origins = scan__visit_origins(c->visit, c->graph, &c->base.selection);
    (void)scan__hits_contents(&pass->hits, &origins.content_first);
    origins.before = &c->before;
    origins.head = NULL; /* head.c searches HEAD, which may have the findings at other places */
    atomic_store(&pass->progress->stage, TS_SCAN_STAGE_CONTENT);
    atomic_fetch_add(&pass->progress->objects_total, ts_git_set_count(set));
    enum ts_git_error error = scan__visit_set(c->visit, c->graph, set, ret_fault);
    if (error == TS_GIT_OK && !scan__before_update(&c->before)) {
        pass->no_memory = true;
        error = TS_GIT_STOPPED;
    }
    atomic_store(&pass->progress->stage, TS_SCAN_STAGE_ORIGINS);
    return error == TS_GIT_OK ? scan__origins(&origins, ret_fault) : error;
}

/* Scans the base until every finding of the change was found there. Files that the change modifies, removes
 * or moves come first: most findings that the base also has are in these files. */
static enum ts_git_error look_before(struct comparison *c, const struct ts_git_selection *selection,
                                     struct ts_git_fault *ret_fault) {
    struct ts_report_target *row = &c->visit->target->row;
    struct ts_report_target counted = *row;
    struct ts_git_selection change = *selection;
    struct ts_git_reach_stats stats = {.commits = 0};
    struct ts_git_set *after = NULL;
    struct ts_git_set *gone = NULL;
    struct ts_git_set *rest = NULL;
    change.new_only = false;
    enum ts_git_error error = ts_git_graph_reach(c->graph, &change, &after, NULL, ret_fault);
    if (error == TS_GIT_OK)
        error = ts_git_graph_reach(c->graph, &c->base.selection, &gone, &stats, ret_fault);
    if (error == TS_GIT_OK)
        error = ts_git_graph_reach(c->graph, &c->base.selection, &rest, NULL, ret_fault);
    if (error == TS_GIT_OK) {
        ts_git_set_subtract(after, c->visit->moved);
        ts_git_set_subtract(gone, after);
        ts_git_set_intersect(rest, after);
        error = look_at_base(c, gone, ret_fault);
    }
    if (error == TS_GIT_OK && scan__before_is_open(&c->before))
        error = look_at_base(c, rest, ret_fault);
    *row = counted; /* the row counts only the change */
    /* Findings that the base seems to lack may be in objects that a partial clone omits. */
    if (scan__before_is_open(&c->before))
        row->missing_by_design += stats.missing_by_design;
    ts_git_set_free(after);
    ts_git_set_free(gone);
    ts_git_set_free(rest);
    return error;
}

enum ts_git_error scan__change_place(struct scan_visit *visit, struct ts_git_graph *graph,
                                     const struct ts_git_selection *selection,
                                     struct ts_git_fault *ret_fault) {
    struct comparison c = {.visit = visit, .graph = graph};
    struct scan_origins changes = scan__visit_origins(visit, graph, selection);
    size_t first = visit->pass->locations.len / sizeof(struct scan_location);
    changes.content_first = visit->before.contents;
    atomic_store(&visit->pass->progress->stage, TS_SCAN_STAGE_ORIGINS);
    enum ts_git_error error = scan__origins(&changes, ret_fault);
    if (error == TS_GIT_OK)
        error = find_base(graph, selection, &c.base, ret_fault);
    if (error == TS_GIT_OK && !scan__before_begin(&c.before, visit->pass, visit->target_index, first)) {
        visit->pass->no_memory = true;
        error = TS_GIT_STOPPED;
    }
    if (error == TS_GIT_OK && scan__before_is_open(&c.before))
        error = look_before(&c, selection, ret_fault);
    if (error == TS_GIT_OK && scan__before_is_open(&c.before))
        error = scan__head_place(visit, graph, &c.before, ret_fault);
    scan__before_release(&c.before);
    free(c.base.oids);
    return error;
}

/* ---- shallow clones ---- */

bool scan__change_is_cut(struct scan_visit *visit, const struct scan_chosen *chosen,
                         const struct ts_git_reach_stats *stats) {
    static const char fix[] =
        "fetch the history with 'git fetch --unshallow', or in CI with 'fetch-depth: 0'";
    if (!chosen->is_change)
        return false;
    if (stats->cut_commits > 0)
        scan__fault(&visit->pass->faults,
                    "the clone is shallow and lacks the parents of %" PRIu64
                    " of the selected commits, so it is unknown what they add; %s",
                    stats->cut_commits, fix);
    else if (stats->cut_before > 0)
        scan__fault(&visit->pass->faults,
                    "the clone is shallow and lacks the history before %" PRIu64
                    " of the base's commits, so it is unknown what the selected commits add; %s",
                    stats->cut_before, fix);
    return stats->cut_commits + stats->cut_before > 0;
}
