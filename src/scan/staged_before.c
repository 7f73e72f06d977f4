/*
 * Compares the staged files with the base of the next commit: the files and messages of HEAD and of the
 * commits that are being merged.
 */
#include "staged.h"

#include "before.h"
#include "look_impl.h"

#include "git/visit.h"
#include "os/grow.h"

#include <stdlib.h>
#include <string.h>

struct looking {
    struct scan_staged *s;
    struct scan_looks looks;
    struct ts_git_set *seen;    /* blobs that were scanned, or will be */
    struct ts_git_oid *missing; /* blobs of the base that the repository lacks; may occur several times */
    size_t missing_count;
    size_t missing_capacity;
};

/* ---- files ---- */

static bool visit_one(void *ctx, unsigned worker, const struct ts_git_object *object, void **result) {
    struct looking *l = ctx;
    struct scan_content content = {
        .oid = object->oid, .target = l->s->target_index, .kind = SCAN_CONTENT_STAGED};
    struct scan_look *look = &l->looks.items[worker];
    enum scan_look_result outcome = SCAN_LOOK_OK;
    if (object->content.len == object->size) {
        outcome = scan__look_whole(look, &content, object->content, NULL, NULL);
    } else {
        struct scan_window window = {
            .bytes = object->content, .at = object->content_at, .is_last = object->is_last};
        struct scan_windows *windows = *result;
        outcome = scan__look_window(look, &content, &window, &windows);
        *result = windows;
    }
    char hex[TS_GIT_OID_HEX_SIZE];
    if (outcome != SCAN_LOOK_OK && object->is_last)
        scan__pass_outcome(l->s->pass, outcome, ts_git_oid_format(l->s->target->hash, &object->oid, hex));
    scan__worked(l->s->pass, look);
    return !scan__is_stopped(l->s->pass);
}

static void release_windows(void *ctx, void *result) {
    (void)ctx;
    scan__windows_free(result);
}

static void keep_missing(struct looking *l, const struct ts_git_oid *oid) {
    if (TS_GROW(l->missing, l->missing_capacity, l->missing_count + 1))
        l->missing[l->missing_count++] = *oid;
    else
        l->s->pass->no_memory = true;
}

static int compare_ids(const void *a, const void *b) {
    return ts_git_oid_compare(a, b);
}

/* Reports the missing blobs: without these blobs it is unknown whether the base has the findings. */
static void tell_missing(struct looking *l) {
    struct scan_staged *s = l->s;
    struct ts_git_fault fault;
    if (l->missing_count == 0)
        return;
    bool is_by_design = ts_git_repo_keeps_promises(s->repo);
    qsort(l->missing, l->missing_count, sizeof *l->missing, compare_ids);
    for (size_t i = 0; i < l->missing_count; i++) {
        struct ts_git_content content = {.bytes = NULL};
        if (i > 0 && ts_git_oid_equal(&l->missing[i - 1], &l->missing[i]))
            continue;
        if (is_by_design)
            s->target->row.missing_by_design++;
        else if (ts_git_blob_read(s->repo, &l->missing[i], 0, &content, &fault) != TS_GIT_OK)
            scan__faults_sink(&s->pass->faults).take(&s->pass->faults, &fault);
        free(content.bytes);
    }
}

/* Scans files of a side. If are_staged is true, scans only files that are staged unchanged; otherwise, scans
 * only the other files of the side. */
static void look_at_side(struct looking *l, const struct scan_side *side, bool are_staged) {
    struct scan_staged *s = l->s;
    struct ts_git_set *wanted = NULL;
    struct ts_git_fault fault;
    if (ts_git_set_new(s->repo, &wanted, NULL) != TS_GIT_OK) {
        s->pass->no_memory = true;
        return;
    }
    for (size_t i = 0; i < side->count; i++) {
        const struct ts_git_oid *oid = &side->items[i].oid;
        if (scan__side_has(&s->sides.staged, &side->items[i]) != are_staged || ts_git_set_has(l->seen, oid))
            continue;
        if (ts_git_set_add(l->seen, oid))
            (void)ts_git_set_add(wanted, oid);
        else
            keep_missing(l, oid);
    }
    struct ts_git_visitor visitor = {.visit = visit_one, .release = release_windows, .ctx = l};
    struct ts_git_visit_options options = scan__staged_visit(s, s->pass->jobs, wanted);
    enum ts_git_error error = ts_git_visit(s->repo, &options, &visitor, NULL, &fault);
    if (error != TS_GIT_OK && error != TS_GIT_STOPPED)
        options.faults.take(options.faults.ctx, &fault);
    ts_git_set_free(wanted);
}

static void look_at_message(struct looking *l, const struct ts_git_oid *oid) {
    struct scan_staged *s = l->s;
    struct ts_git_content content;
    struct ts_git_commit commit;
    struct scan_content looked = {.oid = *oid, .target = s->target_index, .kind = SCAN_CONTENT_COMMIT};
    if (ts_git_object_read(s->repo, oid, s->blob_max, &content, NULL) != TS_GIT_OK)
        return;
    if (content.type == TS_GIT_COMMIT &&
        ts_git_commit_parse(s->target->hash, ts_bytes_of(content.bytes, content.len), &commit))
        (void)scan__look_whole(&l->looks.items[0], &looked, commit.message, NULL, NULL);
    free(content.bytes);
}

/* ---- locations of the files ---- */

struct placed {
    struct ts_git_oid oid;
    uint32_t content;
};

static int compare_placed(const void *a, const void *b) {
    return ts_git_oid_compare(&((const struct placed *)a)->oid, &((const struct placed *)b)->oid);
}

static void place_side(struct scan_staged *s, const struct scan_side *side, const struct placed *items,
                       size_t count) {
    for (size_t i = 0; i < side->count && count > 0; i++) {
        struct placed key = {.oid = side->items[i].oid};
        const struct placed *found = bsearch(&key, items, count, sizeof *items, compare_placed);
        if (found == NULL)
            continue;
        struct scan_location location = {.content = found->content,
                                         .commit = TS_REPORT_NONE,
                                         .path = scan__hits_text(&s->pass->hits, side->items[i].path),
                                         .place = TS_PLACE_STAGED,
                                         .role = SCAN_BEFORE};
        scan__pass_location(s->pass, &location);
    }
}

/* Adds the locations of the contents of the base, from index `first` on. Returns false when memory runs
 * out. */
static bool place_from(struct scan_staged *s, struct scan_before *before, size_t first) {
    size_t total;
    const struct scan_content *contents = scan__hits_contents(&s->pass->hits, &total);
    struct placed *items = calloc(total - first + 1, sizeof *items);
    size_t count = 0;
    if (items == NULL || !scan__before_update(before)) {
        free(items);
        s->pass->no_memory = true;
        return false;
    }
    for (size_t i = first; i < total; i++) {
        struct scan_location message = {.content = (uint32_t)i,
                                        .commit = TS_REPORT_NONE,
                                        .place = TS_PLACE_COMMIT_MESSAGE,
                                        .role = SCAN_BEFORE};
        if (!scan__before_matters(before, &contents[i]))
            continue;
        if (contents[i].kind == SCAN_CONTENT_COMMIT)
            scan__pass_location(s->pass, &message);
        else
            items[count++] = (struct placed){contents[i].oid, (uint32_t)i};
    }
    if (count > 0)
        qsort(items, count, sizeof *items, compare_placed);
    place_side(s, &s->sides.head, items, count);
    place_side(s, &s->sides.merged, items, count);
    free(items);
    return true;
}

/* ---- the whole comparison ---- */

static size_t content_count(const struct scan_staged *s) {
    size_t count;
    (void)scan__hits_contents(&s->pass->hits, &count);
    return count;
}

/* Scans the sides one after the other, until every finding of the change was found in the base. Returns false
 * when memory runs out. */
static bool look_at_all(struct looking *l, struct scan_before *before) {
    struct scan_sides *sides = &l->s->sides;
    for (size_t i = 0; i < sides->parent_count; i++)
        look_at_message(l, &sides->parents[i]);
    look_at_side(l, &sides->head, false);
    look_at_side(l, &sides->merged, false);
    size_t placed = content_count(l->s);
    if (!place_from(l->s, before, before->mark) || !scan__before_is_open(before))
        return !l->s->pass->no_memory;
    look_at_side(l, &sides->head, true);
    look_at_side(l, &sides->merged, true);
    if (!place_from(l->s, before, placed) || sides->same.count == 0 || !scan__before_is_open(before))
        return !l->s->pass->no_memory;
    if (!scan__sides_unfold(sides, l->s->pass, l->s->target, l->s->repo))
        l->s->pass->no_memory = true;
    look_at_side(l, &sides->merged, false);
    return place_from(l->s, before, before->mark);
}

bool scan__staged_before(struct scan_staged *staged, size_t location_first) {
    struct scan_before before;
    struct looking l = {.s = staged};
    struct ts_report_target row = staged->target->row;
    bool done = scan__before_begin(&before, staged->pass, staged->target_index, location_first);
    if (done && scan__before_is_open(&before)) {
        done = ts_git_set_new(staged->repo, &l.seen, NULL) == TS_GIT_OK &&
               scan__looks_init(&l.looks, staged->pass, staged->target->profile);
        done = done && look_at_all(&l, &before);
        tell_missing(&l);
        /* A separate row, because the report counts only staged files. */
        scan__looks_finish(&l.looks, staged->pass, &row);
    }
    free(l.missing);
    ts_git_set_free(l.seen);
    scan__before_release(&before);
    return done;
}
