/*
 * Scans the selected part of a repository's history.
 *
 *   graph ──reach──> wanted ──visit──> hits ──attribute──> locations
 *
 * The graph is read first, so that only reachable objects are scanned. At the end it gives the paths and
 * commits of blobs with hits. Messages are scanned while the graph is read, because their commits are in
 * memory then, and commits without findings are not visited again. A message with findings is scanned again
 * when its commit is visited, so this early scan may include commits that are not selected.
 */
#include "attempt.h"
#include "continued.h"
#include "look_impl.h"
#include "repository_impl.h"

#include "option_names.h"
#include "os/grow.h"

#include "base/assert.h"
#include "base/redact.h"
#include "git/walk.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* The graph may take 1/GRAPH_SHARE of the memory. While the graph is read, trees may take 1/TREES_SHARE. */
#define GRAPH_SHARE 3
#define TREES_SHARE 8

/* ---- the visit ---- */

/* A commit or tag without findings in its message. */
struct clean_message {
    uint64_t size; /* size of the object */
    uint32_t number;
    uint32_t len; /* length of the message */
    enum scan_content_kind kind;
};

struct clean_messages {
    struct clean_message *items;
    size_t count;
    size_t capacity;
};

/* Results that the visit keeps are of two kinds: the reusable result of a whole content or, with the lowest
 * bit set, the windows of a content. */
static void *mark_windows(struct scan_windows *windows) {
    return windows == NULL ? NULL : (char *)windows + 1;
}

static struct scan_windows *windows_of(void *result) {
    return ((uintptr_t)result & 1) != 0 ? (struct scan_windows *)(void *)((char *)result - 1) : NULL;
}

static void release_result(void *ctx, void *result) {
    (void)ctx;
    struct scan_windows *windows = windows_of(result);
    if (windows != NULL)
        scan__windows_free(windows);
    else
        scan__raw_free(result);
}

/* Makes the content of an object. *ret_pack is an argument for keep_clean. */
static struct scan_content content_of(struct scan_visit *visit, const struct ts_git_object *object,
                                      enum scan_content_kind kind, uint32_t *ret_pack) {
    *ret_pack = 0;
    return (struct scan_content){
        .oid = object->oid,
        .target = visit->target_index,
        .kind = kind,
        .size = object->size,
        .evidence = object->is_last ? scan__recall_evidence(&visit->recall, object, ret_pack) : 0};
}

static void note_outcome(struct scan_visit *visit, enum scan_look_result outcome,
                         const struct ts_git_object *object) {
    if (outcome == SCAN_LOOK_OK)
        return;
    char hex[TS_GIT_OID_HEX_SIZE];
    char name[TS_GIT_OID_HEX_SIZE + 16];
    snprintf(name, sizeof name, "object %s", ts_git_oid_format(visit->target->hash, &object->oid, hex));
    scan__pass_outcome(visit->pass, outcome, name);
}

static void count_object(struct scan_visit *visit, const struct ts_git_object *object) {
    struct ts_scan_progress *progress = visit->pass->progress;
    if (object->is_last && object->type == TS_GIT_BLOB) {
        atomic_fetch_add_explicit(&visit->blobs, 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&visit->bytes, object->size, memory_order_relaxed);
    }
    atomic_fetch_add_explicit(&progress->objects, object->is_last, memory_order_relaxed);
    atomic_fetch_add_explicit(&progress->bytes, object->content.len - object->overlap, memory_order_relaxed);
    uint_fast64_t findings = atomic_load_explicit(&visit->pass->hits.finding_count, memory_order_relaxed);
    if (findings != atomic_load_explicit(&progress->findings, memory_order_relaxed))
        atomic_store_explicit(&progress->findings, findings, memory_order_relaxed);
}

/* Keeps a content without findings, so that later scans can skip it. */
static void keep_clean(struct scan_visit *visit, unsigned worker, const struct scan_content *content,
                       uint32_t pack) {
    struct scan_known known = {.oid = content->oid,
                               .size = content->size,
                               .kind = content->kind,
                               .evidence = content->evidence,
                               .pack = pack};
    scan__recall_keep(&visit->recall, worker, &known);
}

/* Keeps a content that was scanned, with or without findings. */
static void keep(struct scan_visit *visit, unsigned worker, const struct scan_content *content,
                 uint32_t pack) {
    if (visit->looks.items[worker].is_clean)
        keep_clean(visit, worker, content, pack);
    else
        scan__recall_note(&visit->recall, worker, &content->oid);
}

static void look_at_blob(struct scan_visit *visit, unsigned worker, const struct ts_git_object *object,
                         void **result) {
    struct scan_look *look = &visit->looks.items[worker];
    uint32_t pack;
    struct scan_content content = content_of(visit, object, SCAN_CONTENT_BLOB, &pack);
    if (object->content.len == object->size) {
        struct scan_base base;
        struct scan_raw *raw = NULL;
        bool is_delta = object->base != NULL && !visit->pass->options->full;
        if (is_delta)
            base = (struct scan_base){.raw = object->base->result,
                                      .size = object->base->size,
                                      .copies = object->base->copies,
                                      .copy_count = object->base->copy_count};
        note_outcome(visit, scan__look_whole(look, &content, object->content, is_delta ? &base : NULL, &raw),
                     object);
        *result = raw;
        keep(visit, worker, &content, pack);
        return;
    }
    struct scan_window window = {
        .bytes = object->content, .at = object->content_at, .is_last = object->is_last};
    struct scan_windows *windows = windows_of(*result);
    enum scan_look_result outcome = scan__look_window(look, &content, &window, &windows);
    if (outcome != SCAN_LOOK_OK && object->is_last)
        note_outcome(visit, outcome, object);
    *result = mark_windows(windows);
    if (object->is_last) {
        keep(visit, worker, &content, pack);
        scan__windows_free(windows);
        *result = scan__raw_unknown();
    }
}

static void remember_lost(void *ctx, const struct ts_git_oid *commit) {
    struct scan_visit *visit = ctx;
    if (visit->reached == NULL || ts_git_set_has(visit->reached, commit))
        return;
    pthread_mutex_lock(&visit->lock);
    if (TS_GROW(visit->lost, visit->lost_capacity, visit->lost_count + 1))
        visit->lost[visit->lost_count++] = *commit;
    pthread_mutex_unlock(&visit->lock);
}

/* Reports a message that is too large to be held whole: it is not scanned. The objects that the commit or tag
 * names are scanned. */
static void note_large_message(struct scan_visit *visit, const struct ts_git_object *object) {
    char hex[TS_GIT_OID_HEX_SIZE];
    if (object->content_at > 0)
        return;
    scan__fault(&visit->pass->faults,
                "object %s: a message of %" PRIu64 " bytes is not scanned; raise " SCAN_OPTION_MEMORY,
                ts_git_oid_format(visit->target->hash, &object->oid, hex), object->size);
    if (object->type == TS_GIT_COMMIT)
        remember_lost(visit, &object->oid);
}

static void look_at_message(struct scan_visit *visit, unsigned worker, const struct ts_git_object *object) {
    struct scan_look *look = &visit->looks.items[worker];
    bool is_read = false;
    bool is_commit = object->type == TS_GIT_COMMIT;
    uint32_t pack;
    struct scan_content content =
        content_of(visit, object, is_commit ? SCAN_CONTENT_COMMIT : SCAN_CONTENT_TAG, &pack);
    struct ts_git_commit commit;
    struct ts_git_tag tag;
    struct ts_bytes message = {NULL, 0};
    if (object->content.len != object->size) {
        note_large_message(visit, object);
        return;
    }
    if (is_commit && ts_git_commit_parse(visit->target->hash, object->content, &commit)) {
        message = commit.message;
        is_read = true;
        remember_lost(visit, &object->oid);
    } else if (!is_commit && ts_git_tag_parse(visit->target->hash, object->content, &tag)) {
        message = tag.message;
        content.commit = tag.target;
        content.name = tag.name;
        is_read = true;
    }
    if (message.len > 0)
        note_outcome(visit, scan__look_whole(look, &content, message, NULL, NULL), object);
    if (is_read && message.len == 0)
        keep_clean(visit, worker, &content, pack);
    else if (is_read)
        keep(visit, worker, &content, pack);
    else
        scan__recall_note(&visit->recall, worker, &object->oid);
}

/* ---- messages, while the graph is read ---- */

/* Scans a message while the graph is read. Messages of loose objects are scanned by the visit: their evidence
 * needs the file, which is not available here. */
static void look_early(void *ctx, unsigned worker, const struct ts_git_object *object,
                       struct ts_bytes message) {
    struct scan_visit *visit = ctx;
    struct clean_messages *clean = &visit->clean[worker];
    struct scan_look *look = &visit->looks.items[worker];
    if (object->is_other_copy || object->loose_file.data != NULL || message.len > UINT32_MAX)
        return;
    bool is_clean = message.len == 0 || scan__look_is_clean(look, message);
    scan__worked(visit->pass, look);
    if (is_clean && TS_GROW(clean->items, clean->capacity, clean->count + 1))
        clean->items[clean->count++] = (struct clean_message){
            .size = object->size,
            .number = object->number,
            .len = (uint32_t)message.len,
            .kind = object->type == TS_GIT_COMMIT ? SCAN_CONTENT_COMMIT : SCAN_CONTENT_TAG};
}

/* Returns whether messages are scanned while the graph is read: if probably every commit is wanted, and
 * earlier scans left nothing to reuse. Scans for comparison do not do this. */
static bool is_looked_at_early(const struct scan_visit *visit, const struct ts_git_selection *selection) {
    const struct ts_scan_options *options = visit->pass->options;
    return selection->all_refs && !selection->has_since && !options->unreachable && !options->full &&
           !options->ungated && scan__recall_is_empty(&visit->recall);
}

static void keep_early(struct scan_visit *visit, const struct clean_message *message,
                       const struct ts_git_oid *oid) {
    struct ts_git_object object = {
        .oid = *oid, .number = message->number, .size = message->size, .is_last = true};
    uint32_t pack;
    struct scan_content content = content_of(visit, &object, message->kind, &pack);
    keep_clean(visit, 0, &content, pack);
    visit->target->row.bytes_looked_at += message->len;
    atomic_fetch_add(&visit->pass->progress->bytes, message->size);
}

/* Removes from wanted the commits and tags whose messages were scanned early and had no findings. */
static void take_early(struct scan_visit *visit, struct ts_git_set *wanted) {
    for (unsigned i = 0; visit->clean != NULL && i < visit->looks.count; i++) {
        struct clean_messages *clean = &visit->clean[i];
        struct ts_git_oid oid;
        for (size_t k = 0; k < clean->count; k++)
            if (ts_git_set_take(wanted, clean->items[k].number, &oid))
                keep_early(visit, &clean->items[k], &oid);
        free(clean->items);
        *clean = (struct clean_messages){.items = NULL};
    }
}

static void free_early(struct scan_visit *visit) {
    for (unsigned i = 0; visit->clean != NULL && i < visit->looks.count; i++)
        free(visit->clean[i].items);
    free(visit->clean);
}

static bool visit_object(void *ctx, unsigned worker, const struct ts_git_object *object, void **result) {
    struct scan_visit *visit = ctx;
    switch (object->type) {
    case TS_GIT_BLOB:
        look_at_blob(visit, worker, object, result);
        break;
    case TS_GIT_COMMIT:
    case TS_GIT_TAG:
        look_at_message(visit, worker, object);
        break;
    case TS_GIT_TREE:
        break;
    }
    count_object(visit, object);
    scan__worked(visit->pass, &visit->looks.items[worker]);
    return !scan__is_stopped(visit->pass);
}

static enum ts_git_error visit_all(struct scan_visit *visit, const struct ts_git_set *wanted,
                                   uint64_t memory_bytes, struct ts_git_fault *ret_fault) {
    struct scan_pass *pass = visit->pass;
    struct ts_git_visit_options options = {
        .threads = pass->jobs,
        .types = TS_GIT_TYPE_BIT(TS_GIT_BLOB) | TS_GIT_TYPE_BIT(TS_GIT_COMMIT) | TS_GIT_TYPE_BIT(TS_GIT_TAG),
        .verify = pass->options->full ? TS_GIT_TYPE_BIT(TS_GIT_BLOB) : 0,
        .wanted = wanted,
        .memory_bytes = memory_bytes,
        .overlap_bytes = scan__look_overlap(visit->target->profile),
        .spill_dir = pass->spill_dir,
        .watch = scan__watch(pass),
        .faults = scan__faults_sink(&pass->faults),
    };
    struct ts_git_visitor visitor = {.visit = visit_object, .release = release_result, .ctx = visit};
    enum ts_git_error error = ts_git_visit(visit->repo, &options, &visitor, NULL, ret_fault);
    visit->target->row.blobs += atomic_load(&visit->blobs);
    visit->target->row.bytes += atomic_load(&visit->bytes);
    scan__recall_flush(&visit->recall);
    return error == TS_GIT_STOPPED ? TS_GIT_OK : error;
}

/* ---- the whole scan ---- */

/* Computes the objects to visit. If unreachable objects are scanned, too, also computes the reachable
 * objects. */
static enum ts_git_error find_wanted(struct scan_visit *visit, struct ts_git_graph *graph,
                                     const struct ts_git_selection *selection,
                                     struct ts_git_reach_stats *ret_stats, struct ts_git_set **ret_wanted,
                                     struct ts_git_set **ret_reached, struct ts_git_fault *ret_fault) {
    struct ts_git_reach_stats stats;
    struct ts_git_set *wanted = NULL;
    struct ts_git_set *reached = NULL;
    enum ts_git_error error = ts_git_graph_reach(graph, selection, &wanted, &stats, ret_fault);
    if (error != TS_GIT_OK)
        return error;
    struct ts_report_target *row = &visit->target->row;
    visit->selected_blobs = stats.blobs;
    row->commits = stats.commits;
    row->trees = stats.trees;
    row->tags = stats.tags;
    row->missing_by_design += stats.missing_by_design;
    row->cut_commits = stats.cut_commits;
    row->submodules = ts_git_graph_submodules(graph);
    atomic_store(&visit->pass->progress->objects_total, stats.blobs + stats.commits + stats.tags);
    if (visit->pass->options->unreachable) {
        struct ts_git_selection all = {.all_refs = true};
        error = ts_git_graph_reach(graph, &all, &reached, NULL, ret_fault);
        if (error != TS_GIT_OK) {
            ts_git_set_free(wanted);
            return error;
        }
        /* Adds all unreachable objects to wanted. */
        ts_git_set_invert(wanted);
        ts_git_set_intersect(wanted, reached);
        ts_git_set_invert(wanted);
        atomic_store(&visit->pass->progress->objects_total, 0);
    }
    /* If HEAD is not selected, head.c looks at it when there are findings. */
    row->knows_head = visit->target->has_head && ts_git_set_has(wanted, &visit->target->head);
    if (visit->target->has_head && !row->knows_head)
        (void)ts_git_set_new(visit->repo, &visit->looked, NULL); /* on failure, HEAD is scanned twice */
    *ret_stats = stats;
    *ret_wanted = wanted;
    *ret_reached = reached;
    return TS_GIT_OK;
}

/* Reports a missing object that the user named by its id: the id is wrong, or this clone lacks the object. */
static enum ts_scan_outcome refuse_id(struct scan_visit *visit, const struct ts_git_oid *oid,
                                      struct ts_scan_error *ret_error) {
    char hex[TS_GIT_OID_HEX_SIZE];
    (void)ts_git_oid_format(visit->target->hash, oid, hex);
    if (!ts_git_repo_is_shallow(visit->repo))
        return scan__fail(ret_error, TS_SCAN_BAD_TARGET, "%s: unknown commit; 'git fetch' gets new ones",
                          hex);
    scan__fault(
        &visit->pass->faults,
        "%s: not in this clone, which is shallow; fetch the history with 'git fetch --unshallow', or in CI with 'fetch-depth: 0'",
        hex);
    return TS_SCAN_DONE;
}

static enum ts_scan_outcome git_failure(struct scan_visit *visit, const struct ts_git_fault *fault,
                                        struct ts_scan_error *ret_error) {
    char line[400];
    if (fault->error == TS_GIT_MISSING)
        return refuse_id(visit, &fault->oid, ret_error);
    (void)scan__fail(ret_error, TS_SCAN_FAILED, "%s", ts_git_fault_describe(fault, line, sizeof line));
    ret_error->git = fault->error;
    ret_error->os_error = fault->os_error;
    return TS_SCAN_FAILED;
}

/* Counts the known blobs of a scan with parts. Parts have ids without kinds, so every selected blob that was
 * not visited counts as known. */
static void count_recalled(struct scan_visit *visit) {
    uint64_t visited = atomic_load(&visit->blobs);
    if (visit->selected_blobs > visited) {
        visit->target->row.blobs_known = visit->selected_blobs - visited;
        visit->target->row.blobs = visit->selected_blobs;
    }
}

static void note_looked(struct scan_visit *visit, const struct ts_git_set *wanted) {
    if (visit->looked == NULL)
        return;
    ts_git_set_invert(visit->looked);
    ts_git_set_subtract(visit->looked, wanted);
    ts_git_set_invert(visit->looked);
}

enum ts_git_error scan__visit_set(struct scan_visit *visit, struct ts_git_graph *graph,
                                  struct ts_git_set *wanted, struct ts_git_fault *ret_fault) {
    struct scan_pass *pass = visit->pass;
    size_t before = ts_git_set_count(wanted);
    note_looked(visit, wanted);
    struct scan_recall_wanted recalled = {
        .set = wanted, .graph = graph, .commit = remember_lost, .ctx = visit};
    scan__recall_known(&visit->recall, &recalled);
    take_early(visit, wanted);
    atomic_fetch_add(&pass->progress->objects, before - ts_git_set_count(wanted));
    uint64_t held = ts_git_graph_bytes(graph) + scan__recall_bytes(&visit->recall);
    enum ts_git_error error = visit_all(visit, wanted, scan__pass_visit_memory(pass, held), ret_fault);
    if (pass->options->parts != NULL && error == TS_GIT_OK && !scan__was_stopped(pass))
        count_recalled(visit);
    return error;
}

struct scan_origins scan__visit_origins(struct scan_visit *visit, struct ts_git_graph *graph,
                                        const struct ts_git_selection *selection) {
    return (struct scan_origins){.pass = visit->pass,
                                 .target_index = visit->target_index,
                                 .repo = visit->repo,
                                 .graph = graph,
                                 .selection = selection,
                                 .reached = visit->reached,
                                 .lost = visit->lost,
                                 .lost_count = visit->lost_count,
                                 .head = visit->target->row.knows_head ? &visit->target->head : NULL,
                                 .content_end = SIZE_MAX};
}

static enum ts_git_error scan_graph(struct scan_visit *visit, struct ts_git_graph *graph,
                                    const struct scan_chosen *chosen, struct ts_git_fault *ret_fault) {
    struct scan_pass *pass = visit->pass;
    struct ts_git_reach_stats stats;
    struct ts_git_set *wanted = NULL;
    struct ts_git_set *reached = NULL;
    enum ts_git_error error =
        find_wanted(visit, graph, &chosen->selection, &stats, &wanted, &reached, ret_fault);
    visit->reached = reached;
    /* Skipped if the attempt will be repeated, because the next attempt finds everything again. */
    if (error == TS_GIT_OK && !scan__attempt_is_stale(pass) && !scan__change_is_cut(visit, chosen, &stats)) {
        struct ts_git_set *all = ts_git_set_copy(wanted);
        scan__recall_begin(&visit->recall, NULL);
        atomic_store(&pass->progress->stage, TS_SCAN_STAGE_CONTENT);
        if (chosen->is_change)
            error =
                scan__change_add_moved(visit, graph, &chosen->selection, wanted, &visit->moved, ret_fault);
        if (error == TS_GIT_OK)
            error = scan__visit_set(visit, graph, wanted, ret_fault);
        if (error == TS_GIT_OK && chosen->is_change) {
            error = scan__change_place(visit, graph, &chosen->selection, ret_fault);
        } else if (error == TS_GIT_OK) {
            atomic_store(&pass->progress->stage, TS_SCAN_STAGE_ORIGINS);
            error = scan__head_place_selected(visit, graph, &chosen->selection, ret_fault);
        }
        if (error == TS_GIT_OK && all != NULL)
            scan__recall_keep_past(&visit->recall, graph, all);
        ts_git_set_free(all);
    }
    ts_git_set_free(wanted);
    ts_git_set_free(reached);
    ts_git_set_free(visit->moved);
    ts_git_set_free(visit->looked);
    return error;
}

/* Scans all objects in the repository, without paths, because the history is too large for memory. */
static enum ts_git_error scan_without_graph(struct scan_visit *visit, const struct scan_chosen *chosen,
                                            struct ts_git_fault *ret_fault) {
    struct scan_pass *pass = visit->pass;
    if (chosen->is_change) {
        scan__fault(
            &pass->faults,
            "the history exceeds the memory limit: it is unknown what the commits add; raise " SCAN_OPTION_MEMORY);
        return TS_GIT_OK;
    }
    scan__fault(
        &pass->faults,
        "the history exceeds the memory limit: the whole repository is scanned instead of the selection, "
        "and paths and commits are missing; raise " SCAN_OPTION_MEMORY);
    atomic_store(&pass->progress->stage, TS_SCAN_STAGE_CONTENT);
    enum ts_git_error error = visit_all(visit, NULL, scan__pass_visit_memory(pass, 0), ret_fault);
    struct scan_origins origins = scan__visit_origins(visit, NULL, NULL);
    return error == TS_GIT_OK ? scan__origins(&origins, ret_fault) : error;
}

/* Masks the texts of the target, and keeps its result. Contents before first_content are already masked. */
static void finish(struct scan_visit *visit, size_t first_content, bool was_masked) {
    struct scan_pass *pass = visit->pass;
    struct scan_masked masked;
    const struct scan_profile *profile = visit->target->profile;
    bool has_allows = profile->has_config && profile->config.allow_count > 0;
    scan__looks_finish(&visit->looks, pass, &visit->target->row); /* adds the counts of the looks */
    if (!scan__mask_since(pass, &visit->before, first_content, &masked)) {
        pass->no_memory = true;
        return;
    }
    masked.any = masked.any || was_masked;
    if (!masked.paths || !has_allows) /* allow entries need real paths, but stored paths are masked */
        scan__recall_finish(&visit->recall, &masked);
}

/* Undoes the findings and counts of the news, because the whole history is scanned next. If there is no
 * memory for new looks, the scan of the history fails. */
static void undo_news(struct scan_visit *visit, struct scan_continued *continued) {
    struct scan_pass *pass = visit->pass;
    uint64_t limits_hit = pass->limits_hit;
    scan__looks_finish(&visit->looks, pass, &visit->target->row);
    pass->limits_hit = limits_hit;
    scan__continued_undo(continued);
    atomic_store(&visit->blobs, 0);
    atomic_store(&visit->bytes, 0);
    atomic_store(&pass->progress->objects, 0);
}

/* Scans only what was added since an earlier scan. Returns false if the whole history must be scanned. */
static bool scan_news(struct scan_visit *visit, const struct ts_git_graph_options *options) {
    struct scan_pass *pass = visit->pass;
    struct scan_continued continued;
    struct ts_git_fault fault;
    if (!scan__continued_begin(&continued, &visit->recall, options))
        return false;
    atomic_store(&pass->progress->objects_total, ts_git_set_count(continued.news.added));
    atomic_store(&pass->progress->stage, TS_SCAN_STAGE_CONTENT);
    uint64_t held = ts_git_graph_bytes(continued.news.graph) + scan__recall_bytes(&visit->recall);
    bool done =
        visit_all(visit, continued.news.added, scan__pass_visit_memory(pass, held), &fault) == TS_GIT_OK;
    atomic_store(&pass->progress->stage, TS_SCAN_STAGE_ORIGINS);
    done = done && pass->faults.object_count == 0 && /* only a whole scan finds all paths of such faults */
           scan__continued_place(&continued, atomic_load(&visit->blobs));
    if (done) {
        visit->target->row.knows_head = true;
        visit->target->head = continued.news.head;
        scan__recall_keep_past(&visit->recall, continued.news.graph, continued.news.reached);
    } else {
        undo_news(visit, &continued);
    }
    scan__continued_release(&continued);
    if (done)
        finish(visit, continued.was_masked ? continued.old_ends.contents : visit->before.contents,
               continued.was_masked);
    return done;
}

static enum ts_scan_outcome scan_whole(struct scan_visit *visit, const struct scan_chosen *chosen,
                                       struct ts_git_graph_options *options,
                                       struct ts_scan_error *ret_error) {
    struct ts_git_graph *graph = NULL;
    struct ts_git_fault fault;
    if (is_looked_at_early(visit, &chosen->selection)) {
        visit->clean = calloc(visit->looks.count, sizeof *visit->clean); /* if NULL, the scan is slower */
        options->message = visit->clean != NULL ? look_early : NULL;
        options->message_ctx = visit;
    }
    atomic_store(&visit->pass->progress->stage, TS_SCAN_STAGE_HISTORY);
    enum ts_git_error error = ts_git_graph_new(visit->repo, options, &graph, &fault);
    if (error == TS_GIT_OK)
        error = scan_graph(visit, graph, chosen, &fault);
    else if (error == TS_GIT_NO_MEMORY)
        error = scan_without_graph(visit, chosen, &fault);
    free_early(visit);
    ts_git_graph_free(graph);
    if (error == TS_GIT_MOVED) /* a commit that the user named has moved: its fault causes another attempt */
        options->faults.take(options->faults.ctx, &fault);
    else if (error != TS_GIT_OK && error != TS_GIT_STOPPED) /* STOPPED: finish() masks the findings so far */
        return git_failure(visit, &fault, ret_error);
    if (visit->pass->options->parts == NULL || !scan__is_stopped(visit->pass))
        finish(visit, visit->before.contents, false);
    return TS_SCAN_DONE;
}

static enum ts_scan_outcome scan_history(struct scan_visit *visit, const struct scan_chosen *chosen,
                                         struct ts_scan_error *ret_error) {
    struct scan_pass *pass = visit->pass;
    enum ts_scan_outcome outcome = TS_SCAN_DONE;
    atomic_store(&pass->progress->stage, TS_SCAN_STAGE_HISTORY);
    uint64_t table_bytes_max = pass->memory_bytes / GRAPH_SHARE;
    struct ts_git_graph_options options = {
        .threads = pass->jobs,
        .memory_bytes = scan__pass_visit_memory(pass, table_bytes_max + pass->memory_bytes / TREES_SHARE),
        .table_bytes_max = table_bytes_max,
        .verify_trees = pass->options->full,
        .spill_dir = pass->spill_dir,
        .watch = scan__watch(pass),
        .faults = scan__faults_sink(&pass->faults)};
    bool has_looks = scan__looks_init(&visit->looks, pass, visit->target->profile);
    if (!has_looks || !scan_news(visit, &options)) {
        has_looks = has_looks &&
                    (visit->looks.count > 0 || scan__looks_init(&visit->looks, pass, visit->target->profile));
        outcome = has_looks ? scan_whole(visit, chosen, &options, ret_error)
                            : scan__fail(ret_error, TS_SCAN_FAILED, "out of memory; lower " SCAN_OPTION_JOBS);
    }
    scan__looks_finish(&visit->looks, pass, &visit->target->row);
    return outcome;
}

/* Adds a note if git shows the history differently than it is stored. */
static void note_substitutes(struct scan_pass *pass, struct scan_target *target, struct ts_git_repo *repo) {
    struct ts_git_substitutes found;
    char shown[200];
    if (ts_git_repo_substitutes(repo, &found, NULL) != TS_GIT_OK || found.grafts + found.replaced == 0)
        return;
    (void)ts_text_escape(ts_bytes_of_cstring((const char *)target->row.name.data), shown, sizeof shown);
    scan__note(
        &pass->faults,
        "%s: replaced objects (refs/replace): %zu, commits with other parents (info/grafts): %zu; both the "
        "originals and the replacements are scanned",
        shown, found.replaced, found.grafts);
}

enum ts_scan_outcome scan__repository(struct scan_pass *pass, struct scan_target *target,
                                      struct ts_git_repo *repo, struct ts_scan_error *ret_error) {
    struct scan_chosen chosen;
    enum ts_scan_outcome outcome = scan__choose(pass, target, repo, &chosen, ret_error);
    if (outcome != TS_SCAN_DONE)
        return outcome;
    struct scan_visit visit = {.pass = pass,
                               .target = target,
                               .target_index = (uint32_t)(target - pass->targets),
                               .repo = repo,
                               .before = scan__mark(pass)};
    pthread_mutex_init(&visit.lock, NULL);
    note_substitutes(pass, target, repo);
    target->has_head = ts_git_repo_resolve(repo, "HEAD", &target->head, NULL) == TS_GIT_OK;
    if (!scan__recall_init(&visit.recall, pass, target, repo, &chosen.selection))
        outcome = scan__fail(ret_error, TS_SCAN_FAILED, "out of memory");
    else if (!scan__recall_all(&visit.recall))
        outcome = scan_history(&visit, &chosen, ret_error);
    scan__recall_release(&visit.recall);
    pthread_mutex_destroy(&visit.lock);
    free(visit.lost);
    scan__chosen_release(&chosen);
    return outcome;
}
