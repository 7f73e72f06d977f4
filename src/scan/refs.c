#include "refs.h"

#include "kin.h"
#include "look_impl.h"
#include "option_names.h"

#include "os/grow.h"

#include <stdio.h>
#include <stdlib.h>

/* Marks may take 1/MARKS_SHARE of the memory. */
#define MARKS_SHARE 16

/* A finding of the repository and its kin. */
struct group {
    uint32_t content;               /* a content with the finding */
    uint32_t hit;                   /* the finding's hit in that content */
    uint32_t names[SCAN_REFS_KEPT]; /* positions of texts */
    uint64_t count;
};

struct grouping {
    struct scan_pass *pass;
    struct scan_kin kin;
    uint32_t *group_of; /* indexed by the first finding of a kin; TS_REPORT_NONE: none */
    struct group *groups;
    size_t group_count;
    size_t group_capacity;
    struct ts_git_mark *marks;
    size_t mark_count;
    size_t mark_capacity;
};

static bool add_mark(struct grouping *g, uint32_t group, const struct ts_git_oid *commit) {
    size_t max = (size_t)(g->pass->memory_bytes / MARKS_SHARE / sizeof *g->marks);
    const struct ts_git_mark *last = g->mark_count > 0 ? &g->marks[g->mark_count - 1] : NULL;
    if (last != NULL && last->group == group && ts_git_oid_equal(&last->commit, commit))
        return true;
    if (g->mark_count >= max || !TS_GROW(g->marks, g->mark_capacity, g->mark_count + 1))
        return false;
    g->marks[g->mark_count++] = (struct ts_git_mark){.commit = *commit, .group = group};
    return true;
}

static bool add_stand(struct grouping *g, const struct scan_location *location) {
    size_t unused;
    const struct scan_content *content = &scan__hits_contents(&g->pass->hits, &unused)[location->content];
    const struct scan_commit *commits = (const struct scan_commit *)(const void *)g->pass->commits.bytes;
    for (uint32_t i = 0; i < content->hit_count; i++) {
        uint32_t finding = g->kin.of[scan__hits_items(&g->pass->hits)[content->first_hit + i].finding];
        if (g->group_of[finding] == TS_REPORT_NONE) {
            if (!TS_GROW(g->groups, g->group_capacity, g->group_count + 1))
                return false;
            g->groups[g->group_count] = (struct group){.content = location->content, .hit = i};
            g->group_of[finding] = (uint32_t)g->group_count++;
        }
        if (!add_mark(g, g->group_of[finding], &commits[location->commit].oid))
            return false;
    }
    return true;
}

static bool gather(struct grouping *g, size_t first) {
    size_t findings = g->pass->hits.findings.len / sizeof(struct scan_finding);
    size_t end = g->pass->locations.len / sizeof(struct scan_location);
    g->group_of = malloc((findings + 1) * sizeof *g->group_of);
    if (g->group_of == NULL || !scan__kin_find(&g->kin, &g->pass->hits))
        return false;
    for (size_t i = 0; i < findings; i++)
        g->group_of[i] = TS_REPORT_NONE;
    for (size_t i = first; i < end; i++) {
        const struct scan_location *location =
            &((const struct scan_location *)(const void *)g->pass->locations.bytes)[i];
        bool is_added = location->role == SCAN_FOUND || location->role == SCAN_REPEAT;
        if (is_added && location->commit != TS_REPORT_NONE && !add_stand(g, location))
            return false;
    }
    return true;
}

static void take_ref(void *ctx, uint32_t number, const char *ref) {
    struct grouping *g = ctx;
    struct group *group = &g->groups[number];
    if (group->count < SCAN_REFS_KEPT)
        group->names[group->count] = scan__hits_text(&g->pass->hits, ts_bytes_of_cstring(ref));
    group->count++;
}

static void place(struct grouping *g, const struct group *group) {
    char number[24];
    struct scan_location location = {
        .content = group->content, .hit = group->hit, .commit = TS_REPORT_NONE, .role = SCAN_REF};
    for (size_t i = 0; i < group->count && i < SCAN_REFS_KEPT; i++) {
        location.path = group->names[i];
        scan__pass_location(g->pass, &location);
    }
    int len = snprintf(number, sizeof number, "%llu", (unsigned long long)group->count);
    location.role = SCAN_REF_COUNT;
    location.path = scan__hits_text(&g->pass->hits, ts_bytes_of(number, (size_t)len));
    if (group->count > SCAN_REFS_KEPT)
        scan__pass_location(g->pass, &location);
}

enum ts_git_error scan__place_refs(struct scan_origins *origins, size_t first,
                                   struct ts_git_fault *ret_fault) {
    struct grouping g = {.pass = origins->pass};
    enum ts_git_error error = gather(&g, first) ? TS_GIT_OK : TS_GIT_NO_MEMORY;
    if (error == TS_GIT_OK && g.mark_count > 0) {
        struct ts_git_marks marks = {.items = g.marks,
                                     .count = g.mark_count,
                                     .group_count = (uint32_t)g.group_count,
                                     .take = take_ref,
                                     .ctx = &g};
        error = ts_git_graph_reachers(origins->graph, &marks, ret_fault);
    }
    for (size_t i = 0; error == TS_GIT_OK && i < g.group_count; i++)
        place(&g, &g.groups[i]);
    if (error == TS_GIT_NO_MEMORY) {
        scan__note(
            &origins->pass->faults,
            "the branches and tags of findings are not listed: they exceed the memory limit; raise " SCAN_OPTION_MEMORY);
        error = TS_GIT_OK;
    }
    if (error == TS_GIT_STOPPED) /* a stopped scan still reports findings with their places, without refs */
        error = TS_GIT_OK;
    free(g.group_of);
    scan__kin_release(&g.kin);
    free(g.groups);
    free(g.marks);
    return error;
}
