/*
 * Staged changes: the files of the next commit that are neither in HEAD nor in the commits that are being
 * merged.
 */
#include "staged.h"

#include "look.h"
#include "option_names.h"

#include "git/staged.h"
#include "git/visit.h"

#include <stdlib.h>
#include <string.h>

/* The entries of the index may take 1/INDEX_SHARE of the memory. */
#define INDEX_SHARE    2
#define BLOB_BYTES_MAX ((size_t)16 << 20) /* larger blobs are scanned in windows */

/* ---- blobs ---- */

static void note_outcome(struct scan_staged *s, enum scan_look_result outcome, const struct ts_git_oid *oid) {
    char hex[TS_GIT_OID_HEX_SIZE];
    if (outcome != SCAN_LOOK_OK)
        scan__pass_outcome(s->pass, outcome, ts_git_oid_format(s->target->hash, oid, hex));
}

/* The state of scanning large blobs in windows. */
struct large {
    struct scan_staged *s;
    struct scan_look *look;
    struct scan_content content; /* the id is set for each object */
};

static bool visit_window(void *ctx, unsigned worker, const struct ts_git_object *object, void **result) {
    struct large *large = ctx;
    struct scan_window window = {
        .bytes = object->content, .at = object->content_at, .is_last = object->is_last};
    struct scan_windows *windows = *result;
    (void)worker;
    large->content.oid = object->oid;
    enum scan_look_result outcome = scan__look_window(large->look, &large->content, &window, &windows);
    *result = windows;
    if (object->is_last)
        note_outcome(large->s, outcome, &object->oid);
    return !scan__is_stopped(large->s->pass);
}

static void release_windows(void *ctx, void *result) {
    (void)ctx;
    scan__windows_free(result);
}

struct ts_git_visit_options scan__staged_visit(const struct scan_staged *staged, unsigned threads,
                                               const struct ts_git_set *wanted) {
    struct scan_pass *pass = staged->pass;
    return (struct ts_git_visit_options){.threads = threads,
                                         .wanted = wanted,
                                         .memory_bytes =
                                             scan__pass_visit_memory(pass, pass->memory_bytes / 2),
                                         .overlap_bytes = scan__look_overlap(staged->target->profile),
                                         .spill_dir = pass->spill_dir,
                                         .watch = scan__watch(pass),
                                         .faults = scan__faults_sink(&pass->faults)};
}

static enum ts_git_error look_in_windows(struct large *large, const struct ts_git_set *wanted,
                                         struct ts_git_visit_stats *ret_stats,
                                         struct ts_git_fault *ret_fault) {
    struct scan_staged *s = large->s;
    struct ts_git_visitor visitor = {.visit = visit_window, .release = release_windows, .ctx = large};
    struct ts_git_visit_options options = scan__staged_visit(s, 1, wanted);
    enum ts_git_error error = ts_git_visit(s->repo, &options, &visitor, ret_stats, ret_fault);
    return error == TS_GIT_STOPPED ? TS_GIT_OK : error;
}

static enum ts_git_error look_at_large(struct scan_staged *s, const struct scan_content *content,
                                       struct ts_git_visit_stats *ret_stats, struct ts_git_fault *ret_fault) {
    struct ts_git_set *wanted = NULL;
    struct large large = {.s = s, .look = &s->looks.items[0], .content = *content};
    enum ts_git_error error = ts_git_set_new(s->repo, &wanted, ret_fault);
    if (error != TS_GIT_OK)
        return error;
    (void)ts_git_set_add(wanted, &content->oid);
    error = look_in_windows(&large, wanted, ret_stats, ret_fault);
    ts_git_set_free(wanted);
    return error;
}

static void look_at_file(struct scan_staged *s, const struct scan_side_file *file) {
    struct scan_content content = {
        .oid = file->oid, .target = s->target_index, .kind = SCAN_CONTENT_STAGED, .name = file->path};
    struct ts_git_content blob;
    struct ts_git_fault fault;
    struct ts_git_visit_stats stats = {.bytes = 0};
    enum ts_git_error error = ts_git_blob_read(s->repo, &file->oid, s->blob_max, &blob, &fault);
    if (error == TS_GIT_OK) {
        note_outcome(
            s, scan__look_whole(&s->looks.items[0], &content, ts_bytes_of(blob.bytes, blob.len), NULL, NULL),
            &file->oid);
        stats.bytes = blob.len;
        free(blob.bytes);
    } else if (error == TS_GIT_TOO_LARGE) {
        error = look_at_large(s, &content, &stats, &fault);
    }
    if (error == TS_GIT_MISSING && ts_git_repo_keeps_promises(s->repo))
        s->target->row.missing_by_design++;
    else if (error != TS_GIT_OK)
        scan__faults_sink(&s->pass->faults).take(&s->pass->faults, &fault);
    scan__worked(s->pass, &s->looks.items[0]);
    s->target->row.blobs++;
    s->target->row.bytes += stats.bytes;
    atomic_fetch_add_explicit(&s->pass->progress->objects, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&s->pass->progress->bytes, stats.bytes, memory_order_relaxed);
}

/* ---- named files ---- */

struct scan_named {
    struct ts_bytes path;
    bool is_found;
};

static int compare_named(const void *a, const void *b) {
    return ts_bytes_compare(((const struct scan_named *)a)->path, ((const struct scan_named *)b)->path);
}

static bool list_named(struct scan_staged *s) {
    const struct ts_scan_options *options = s->pass->options;
    s->named_count = options->file_count;
    s->named = calloc(s->named_count + 1, sizeof *s->named);
    if (s->named == NULL)
        return false;
    for (size_t i = 0; i < s->named_count; i++)
        s->named[i].path = ts_bytes_of_cstring(options->files[i]);
    qsort(s->named, s->named_count, sizeof *s->named, compare_named);
    return true;
}

static bool is_named(struct scan_staged *s, const struct scan_side_file *file) {
    struct scan_named key = {.path = file->path};
    struct scan_named *found = bsearch(&key, s->named, s->named_count, sizeof key, compare_named);
    if (found != NULL)
        found->is_found = true;
    return found != NULL;
}

static void report_unknown(struct scan_staged *s) {
    for (size_t i = 0; i < s->named_count; i++)
        if (!s->named[i].is_found)
            scan__fault(&s->pass->faults, "%.*s: the index has no such file; add it with 'git add'",
                        (int)s->named[i].path.len, (const char *)s->named[i].path.data);
}

/* ---- the whole scan ---- */

static void place_contents(struct scan_staged *s, size_t first) {
    size_t count;
    const struct scan_content *contents = scan__hits_contents(&s->pass->hits, &count);
    for (size_t i = first; i < count; i++) {
        struct scan_location location = {.content = (uint32_t)i,
                                         .commit = TS_REPORT_NONE,
                                         .path = contents[i].path,
                                         .place = TS_PLACE_STAGED};
        scan__pass_location(s->pass, &location);
    }
}

static enum ts_scan_outcome look_at_all(struct scan_staged *s, struct ts_scan_error *ret_error) {
    struct scan_pass *pass = s->pass;
    const struct scan_side *files = &s->sides.staged;
    unsigned jobs = pass->jobs;
    size_t first;
    size_t location_first = pass->locations.len / sizeof(struct scan_location);
    (void)scan__hits_contents(&pass->hits, &first);
    pass->jobs = 1;
    bool done = scan__looks_init(&s->looks, pass, s->target->profile);
    pass->jobs = jobs;
    done = list_named(s) && done;
    bool is_commit = true;
    for (size_t i = 0; done && i < files->count && !scan__is_stopped(pass); i++) {
        bool is_asked_for = is_named(s, &files->items[i]);
        bool is_staged = !scan__side_has(&s->sides.head, &files->items[i]) &&
                         !scan__side_has(&s->sides.merged, &files->items[i]);
        is_commit = is_commit && (is_staged || !is_asked_for);
        if (is_staged || is_asked_for)
            look_at_file(s, &files->items[i]);
    }
    if (done) {
        report_unknown(s);
        place_contents(s, first);
        done = !is_commit || scan__staged_before(s, location_first);
    }
    free(s->named);
    scan__looks_finish(&s->looks, pass, &s->target->row);
    return done ? TS_SCAN_DONE : scan__fail(ret_error, TS_SCAN_FAILED, "out of memory");
}

enum ts_scan_outcome scan__staged(struct scan_pass *pass, struct scan_target *target,
                                  struct ts_git_repo *repo, struct ts_scan_error *ret_error) {
    struct scan_staged s = {.pass = pass,
                            .target = target,
                            .target_index = (uint32_t)(target - pass->targets),
                            .repo = repo,
                            .blob_max = scan__pass_object_max(pass)};
    struct ts_git_staged staged;
    struct ts_git_fault fault;
    const char *file = pass->options->index_file;
    uint64_t memory_max = pass->memory_bytes / INDEX_SHARE;
    s.blob_max = s.blob_max < BLOB_BYTES_MAX ? s.blob_max : BLOB_BYTES_MAX;
    enum ts_git_error error = file != NULL ? ts_git_staged_read_file(repo, file, memory_max, &staged, &fault)
                                           : ts_git_staged_read(repo, memory_max, &staged, &fault);
    if (error == TS_GIT_TOO_LARGE) {
        scan__fault(&pass->faults,
                    "the index exceeds the memory limit and is not scanned; raise " SCAN_OPTION_MEMORY);
        return TS_SCAN_DONE;
    }
    if (error != TS_GIT_OK) {
        char line[400];
        return scan__fail(ret_error, TS_SCAN_BAD_TARGET, "%s",
                          ts_git_fault_describe(&fault, line, sizeof line));
    }
    atomic_store(&pass->progress->stage, TS_SCAN_STAGE_CONTENT);
    enum ts_scan_outcome outcome = scan__sides_list(&s.sides, pass, target, repo, &staged, ret_error);
    if (outcome == TS_SCAN_DONE)
        outcome = look_at_all(&s, ret_error);
    scan__sides_release(&s.sides);
    ts_git_staged_release(&staged);
    return outcome;
}
