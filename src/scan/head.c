/*
 * Finds out where HEAD has the findings of a selection that does not include HEAD. If there are findings, all
 * files and the message of HEAD are scanned.
 */
#include "before.h"
#include "repository_impl.h"

/* Scans the objects, and adds the locations of those that have the findings. Returns STOPPED when memory runs
 * out. */
static enum ts_git_error look_at_head(struct scan_visit *visit, struct ts_git_graph *graph,
                                      struct scan_before *before, const struct ts_git_selection *head,
                                      struct ts_git_set *set, struct ts_git_fault *ret_fault) {
    struct scan_pass *pass = visit->pass;
    struct ts_report_target row = visit->target->row;
    struct scan_origins origins = scan__visit_origins(visit, graph, head);
    origins.content_first = visit->before.contents;
    origins.before = before;
    origins.is_head = true;
    atomic_store(&pass->progress->stage, TS_SCAN_STAGE_CONTENT);
    atomic_fetch_add(&pass->progress->objects_total, ts_git_set_count(set));
    enum ts_git_error error = scan__visit_set(visit, graph, set, ret_fault);
    visit->target->row = row; /* restored, because the row counts only the selection */
    if (error == TS_GIT_OK && !scan__before_update(before)) {
        pass->no_memory = true;
        error = TS_GIT_STOPPED;
    }
    atomic_store(&pass->progress->stage, TS_SCAN_STAGE_ORIGINS);
    if (error == TS_GIT_OK)
        error = scan__origins(&origins, ret_fault);
    visit->target->row.knows_head = error == TS_GIT_OK && !scan__was_stopped(pass);
    return error;
}

/* If HEAD lacks objects, returns OK, and it remains unknown whether HEAD has the findings. */
enum ts_git_error scan__head_place(struct scan_visit *visit, struct ts_git_graph *graph,
                                   struct scan_before *before, struct ts_git_fault *ret_fault) {
    struct ts_git_selection head = {
        .from = &visit->target->head, .from_count = 1, .tips_only = true, .without_parents = true};
    struct ts_git_reach_stats stats;
    struct ts_git_set *set = NULL;
    if (visit->target->row.knows_head || !visit->target->has_head)
        return TS_GIT_OK;
    enum ts_git_error error = ts_git_graph_reach(graph, &head, &set, &stats, ret_fault);
    if (error != TS_GIT_OK)
        return error == TS_GIT_MISSING ? TS_GIT_OK : error;
    if (visit->looked != NULL)
        ts_git_set_subtract(set, visit->looked);
    if (stats.missing + stats.missing_by_design == 0)
        error = look_at_head(visit, graph, before, &head, set, ret_fault);
    ts_git_set_free(set);
    return error;
}

enum ts_git_error scan__head_place_selected(struct scan_visit *visit, struct ts_git_graph *graph,
                                            const struct ts_git_selection *selection,
                                            struct ts_git_fault *ret_fault) {
    struct scan_origins origins = scan__visit_origins(visit, graph, selection);
    struct scan_before before = {.pass = NULL};
    size_t first = visit->pass->locations.len / sizeof(struct scan_location);
    enum ts_git_error error = scan__origins(&origins, ret_fault);
    if (error != TS_GIT_OK || visit->target->row.knows_head || !visit->target->has_head)
        return error;
    if (!scan__before_begin(&before, visit->pass, visit->target_index, first)) {
        visit->pass->no_memory = true;
        error = TS_GIT_STOPPED;
    }
    if (error == TS_GIT_OK && scan__before_is_open(&before))
        error = scan__head_place(visit, graph, &before, ret_fault);
    scan__before_release(&before);
    return error;
}
