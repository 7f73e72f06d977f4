/*
 * Staged changes: the files of the next commit that are not in HEAD.
 */
#include "look.h"
#include "session.h"
#include "sides.h"

#include "git/staged.h"
#include "git/visit.h"

#include <stdlib.h>
#include <string.h>

/* The share of memory for the entries of the index. */
#define INDEX_SHARE    2
#define BLOB_BYTES_MAX ((size_t)16 << 20) /* larger ones come in windows */

struct staged {
    struct scan_session *session;
    struct scan_target *target;
    uint32_t target_index;
    struct ts_git_repo *repo;
    struct scan_looks looks;
    struct scan_sides sides;
    size_t blob_max; /* larger ones come in windows */
};

/* ---- blobs ---- */

static void note_outcome(struct staged *s, enum scan_look_result outcome, const struct ts_git_oid *oid) {
    char hex[TS_GIT_OID_HEX_SIZE];
    if (outcome != SCAN_LOOK_OK)
        scan__session_outcome(s->session, outcome, ts_git_oid_format(s->target->hash, oid, hex));
}

/* Contents in windows. */
struct large {
    struct staged *s;
    struct scan_look *look;
    struct scan_content content; /* its id is that of the visited object */
    bool is_old;                 /* errors are ignored */
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
    if (object->is_last && !large->is_old)
        note_outcome(large->s, outcome, &object->oid);
    return !scan__is_stopped(large->s->session);
}

static void release_windows(void *ctx, void *result) {
    (void)ctx;
    scan__windows_free(result);
}

static enum ts_git_error look_in_windows(struct large *large, const struct ts_git_set *wanted,
                                         struct ts_git_visit_stats *ret_stats,
                                         struct ts_git_fault *ret_fault) {
    struct staged *s = large->s;
    struct ts_git_visitor visitor = {.visit = visit_window, .release = release_windows, .ctx = large};
    struct ts_git_visit_options options = {
        .threads = 1,
        .wanted = wanted,
        .memory_bytes = scan__session_visit_memory(s->session, s->session->memory_bytes / 2),
        .overlap_bytes = scan__look_overlap(s->target->profile),
        .spill_dir = s->session->spill_dir,
        .watch = scan__watch(s->session)};
    if (!large->is_old)
        options.faults = scan__faults_sink(&s->session->faults);
    enum ts_git_error error = ts_git_visit(s->repo, &options, &visitor, ret_stats, ret_fault);
    return error == TS_GIT_STOPPED ? TS_GIT_OK : error;
}

static enum ts_git_error look_at_large(struct staged *s, const struct scan_content *content,
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

static void look_at_file(struct staged *s, const struct scan_side_file *file) {
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
        scan__faults_sink(&s->session->faults).take(&s->session->faults, &fault);
    scan__worked(s->session, &s->looks.items[0]);
    s->target->row.blobs++;
    s->target->row.bytes += stats.bytes;
    atomic_fetch_add_explicit(&s->session->progress->objects, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&s->session->progress->bytes, stats.bytes, memory_order_relaxed);
}

/* ---- earlier findings ---- */

static int compare_ids(const void *a, const void *b) {
    const struct scan_old_finding *x = a;
    const struct scan_old_finding *y = b;
    return memcmp(&x->id, &y->id, sizeof x->id);
}

static bool keep_old(struct staged *s, const struct scan_hits *old) {
    size_t count = old->finding_table.count;
    s->session->old = calloc(count + 1, sizeof *s->session->old);
    if (s->session->old == NULL)
        return false;
    for (size_t i = 0; i < count; i++) {
        const struct scan_finding *finding = &scan__hits_findings(old)[i];
        s->session->old[i] = (struct scan_old_finding){.id = finding->id, .print = finding->print};
    }
    if (count > 0)
        qsort(s->session->old, count, sizeof *s->session->old, compare_ids);
    s->session->old_count = count;
    return true;
}

/* Collects contents that are too large to hold in *large, which is NULL as long as there are none. */
static void look_at_old(struct staged *s, struct scan_look *look, const struct ts_git_oid *oid,
                        struct ts_git_set **large) {
    struct scan_content content = {.oid = *oid, .kind = SCAN_CONTENT_STAGED};
    struct ts_git_content blob;
    enum ts_git_error error = ts_git_blob_read(s->repo, oid, s->blob_max, &blob, NULL);
    if (error == TS_GIT_OK) {
        (void)scan__look_whole(look, &content, ts_bytes_of(blob.bytes, blob.len), NULL, NULL);
        free(blob.bytes);
    } else if (error == TS_GIT_TOO_LARGE &&
               (*large != NULL || ts_git_set_new(s->repo, large, NULL) == TS_GIT_OK)) {
        (void)ts_git_set_add(*large, oid);
    }
}

static int compare_oids(const void *a, const void *b) {
    return ts_git_oid_compare(a, b);
}

/* Unreadable contents have no findings. Each content is scanned once, at however many paths it was. */
static bool look_at_all_old(struct staged *s, struct scan_look *look) {
    const struct scan_side *head = &s->sides.head;
    struct ts_git_set *wanted = NULL;
    struct ts_git_oid *oids = calloc(head->count + 1, sizeof *oids);
    size_t count = 0;
    if (oids == NULL)
        return false;
    for (size_t i = 0; i < head->count; i++)
        if (!scan__side_has(&s->sides.staged, &head->items[i]))
            oids[count++] = head->items[i].oid;
    if (count > 0)
        qsort(oids, count, sizeof *oids, compare_oids);
    for (size_t i = 0; i < count && !scan__is_stopped(s->session); i++)
        if (i == 0 || !ts_git_oid_equal(&oids[i - 1], &oids[i]))
            look_at_old(s, look, &oids[i], &wanted);
    free(oids);
    if (wanted == NULL)
        return true;
    struct large large = {.s = s, .look = look, .content = {.kind = SCAN_CONTENT_STAGED}, .is_old = true};
    (void)look_in_windows(&large, wanted, NULL, NULL);
    ts_git_set_free(wanted);
    return true;
}

/* Findings of changed or deleted files, as in HEAD: a commit does not bring what it moves or keeps. */
static bool find_old(struct staged *s) {
    struct scan_hits old;
    struct scan_look look;
    struct scan_hits_options hits = {.held_max = (size_t)(s->session->memory_bytes / 16),
                                     .findings_max = s->session->hits.findings_max,
                                     .spill_dir = s->session->spill_dir};
    struct scan_look_options options = {.profile = s->target->profile,
                                        .hits = &old,
                                        .print_key = s->session->print_key,
                                        .inside = &s->session->inside,
                                        .is_quiet = true};
    if (!scan__hits_init(&old, &hits))
        return false;
    bool done = scan__look_init(&look, &options);
    if (done) {
        done = look_at_all_old(s, &look);
        scan__look_release(&look);
        done = done && keep_old(s, &old);
    }
    scan__hits_release(&old);
    return done;
}

/* ---- all of it ---- */

static void place_contents(struct staged *s) {
    size_t count;
    const struct scan_content *contents = scan__hits_contents(&s->session->hits, &count);
    for (size_t i = 0; i < count; i++) {
        struct scan_location location = {.content = (uint32_t)i,
                                         .commit = TS_REPORT_NONE,
                                         .path = contents[i].path,
                                         .place = TS_PLACE_STAGED};
        if (contents[i].target == s->target_index)
            scan__session_location(s->session, &location);
    }
}

static enum ts_scan_outcome look_at_all(struct staged *s, struct ts_scan_error *ret_error) {
    struct scan_session *session = s->session;
    const struct scan_side *files = &s->sides.staged;
    unsigned jobs = session->jobs;
    session->jobs = 1;
    bool done = scan__looks_init(&s->looks, session, s->target->profile);
    session->jobs = jobs;
    for (size_t i = 0; done && i < files->count && !scan__is_stopped(session); i++)
        if (!scan__side_has(&s->sides.head, &files->items[i]))
            look_at_file(s, &files->items[i]);
    if (done && session->options->only_changes && session->hits.contents.len > 0)
        done = find_old(s);
    if (done)
        place_contents(s);
    scan__looks_finish(&s->looks, session, &s->target->row);
    return done ? TS_SCAN_DONE : scan__fail(ret_error, TS_SCAN_FAILED, "out of memory");
}

enum ts_scan_outcome scan__staged(struct scan_session *session, struct scan_target *target,
                                  struct ts_git_repo *repo, struct ts_scan_error *ret_error) {
    struct staged s = {.session = session,
                       .target = target,
                       .target_index = (uint32_t)(target - session->targets),
                       .repo = repo,
                       .blob_max = scan__session_object_max(session)};
    struct ts_git_staged staged;
    struct ts_git_fault fault;
    const char *file = session->options->index_file;
    uint64_t memory_max = session->memory_bytes / INDEX_SHARE;
    s.blob_max = s.blob_max < BLOB_BYTES_MAX ? s.blob_max : BLOB_BYTES_MAX;
    enum ts_git_error error = file != NULL ? ts_git_staged_read_file(repo, file, memory_max, &staged, &fault)
                                           : ts_git_staged_read(repo, memory_max, &staged, &fault);
    if (error == TS_GIT_TOO_LARGE) {
        scan__fault(&session->faults,
                    "the index exceeds the memory limit and is not scanned; raise --memory");
        return TS_SCAN_DONE;
    }
    if (error != TS_GIT_OK) {
        char line[400];
        return scan__fail(ret_error, TS_SCAN_BAD_TARGET, "%s",
                          ts_git_fault_describe(&fault, line, sizeof line));
    }
    atomic_store(&session->progress->stage, TS_SCAN_STAGE_CONTENT);
    enum ts_scan_outcome outcome = scan__sides_list(&s.sides, session, target, repo, &staged, ret_error);
    if (outcome == TS_SCAN_DONE)
        outcome = look_at_all(&s, ret_error);
    scan__sides_release(&s.sides);
    ts_git_staged_release(&staged);
    return outcome;
}
