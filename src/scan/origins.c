#include "origins.h"

#include "fault_paths.h"
#include "look_impl.h"
#include "option_names.h"
#include "refs.h"

#include "base/assert.h"
#include "git/repo.h"

#include <stdlib.h>
#include <string.h>

/* The blobs of this target with hits, sorted by id. */
struct refs {
    struct scan_blob *items;
    size_t count;
};

static bool is_placed(const struct scan_origins *origins, const struct scan_content *content) {
    return content->target == origins->target_index &&
           (origins->before == NULL || scan__before_matters(origins->before, content));
}

static bool find_blobs(const struct scan_origins *origins, struct refs *ret_refs) {
    size_t total;
    const struct scan_content *contents = scan__hits_contents(&origins->pass->hits, &total);
    struct scan_blob *items = calloc(total + 1, sizeof *items);
    if (items == NULL)
        return false;
    size_t count = 0;
    for (size_t i = origins->content_first; i < total && i < origins->content_end; i++)
        if (is_placed(origins, &contents[i]) && contents[i].kind == SCAN_CONTENT_BLOB)
            items[count++] = (struct scan_blob){.oid = contents[i].oid, .content = (uint32_t)i};
    scan__blobs_sort(items, count);
    *ret_refs = (struct refs){items, count};
    return true;
}

/* ---- blobs ---- */

static enum ts_git_error set_of(struct scan_origins *origins, const struct refs *refs,
                                struct ts_git_set **ret_set, struct ts_git_fault *ret_fault) {
    enum ts_git_error error = ts_git_set_new(origins->repo, ret_set, ret_fault);
    for (size_t i = 0; error == TS_GIT_OK && i < refs->count; i++)
        (void)ts_git_set_add(*ret_set, &refs->items[i].oid);
    return error;
}

/* Finds the commits that refs/notes reach: their files are notes. *ret_notes is NULL if there are no such
 * refs, or if a tip is missing. A missing tip is already a fault; notes are then reported as files. */
static enum ts_git_error find_notes(struct scan_origins *origins, struct ts_git_set **ret_notes,
                                    struct ts_git_fault *ret_fault) {
    static const char prefix[] = "refs/notes/";
    struct ts_git_refs refs;
    enum ts_git_error error = ts_git_refs_list(origins->repo, NULL, &refs, ret_fault);
    if (error != TS_GIT_OK)
        return error;
    struct ts_git_oid *tips = calloc(refs.count + 1, sizeof *tips);
    size_t count = 0;
    for (size_t i = 0; tips != NULL && i < refs.count; i++)
        if (strncmp(refs.items[i].name, prefix, sizeof prefix - 1) == 0)
            tips[count++] = refs.items[i].oid;
    struct ts_git_selection selection = {.from = tips, .from_count = count};
    error = tips == NULL ? TS_GIT_NO_MEMORY
            : count > 0  ? ts_git_graph_reach(origins->graph, &selection, ret_notes, NULL, ret_fault)
                         : TS_GIT_OK;
    free(tips);
    ts_git_refs_release(&refs);
    return error == TS_GIT_NO_MEMORY ? error : TS_GIT_OK;
}

static uint32_t keep_commit(struct scan_pass *pass, const struct ts_git_commit_info *info) {
    struct scan_commit commit = {
        .oid = info->oid,
        .time_s = info->commit_time_s,
        .author_time_s = info->author_time_s,
        .author_zone_minutes = info->author_zone_minutes,
        .author_name = scan__hits_text(&pass->hits, ts_bytes_of_cstring(info->author_name)),
        .author_mail = scan__hits_text(&pass->hits, ts_bytes_of_cstring(info->author_mail)),
    };
    return scan__pass_commit(pass, &commit);
}

struct placing {
    struct scan_origins *origins;
    struct scan_fault_paths *faults; /* empty for the base of a change and for HEAD */
    bool is_cut;                     /* places are missing */
    struct refs *refs;
    const struct ts_git_set *notes;
    enum ts_place place;
};

bool scan__origins_path(struct scan_pass *pass, struct ts_bytes outer, uint32_t inner, uint32_t *ret_path) {
    struct ts_arena arena = {.blocks = NULL};
    struct ts_bytes path;
    if (!scan__inside_path(&arena, outer, scan__hits_text_at(&pass->hits, inner), &path))
        return false;
    *ret_path = scan__hits_text(&pass->hits, path);
    ts_arena_release(&arena);
    return true;
}

/* Adds the location of a content that is at this path, or inside the archive at this path. Returns false when
 * memory runs out. */
static bool place_ref(struct scan_pass *pass, struct scan_blob *ref, struct ts_bytes outer,
                      const struct scan_location *at) {
    size_t unused;
    struct scan_location location = *at;
    uint32_t inner = scan__hits_contents(&pass->hits, &unused)[ref->content].path;
    if (!scan__origins_path(pass, outer, inner, &location.path))
        return false;
    ref->has_location = true;
    location.content = ref->content;
    scan__pass_location(pass, &location);
    return true;
}

/* Adds locations for further commits that add the contents again. Stores only the ids of these commits. */
static void place_repeats(const struct placing *placing, const struct ts_git_occurrences *found) {
    struct scan_pass *pass = placing->origins->pass;
    struct ts_git_watch watch = scan__watch(pass);
    const struct ts_git_oid *commit = NULL; /* the commit of `location` */
    struct scan_location location = {.role = SCAN_REPEAT, .place = placing->place};
    location.path = scan__hits_text(&pass->hits, ts_bytes_of_cstring(""));
    for (size_t i = 0; i < found->repeat_count && watch.go_on(watch.ctx, 0); i++) {
        const struct ts_git_repeat *repeat = &found->repeats[i];
        size_t count;
        const struct scan_blob *refs =
            scan__blobs_find(placing->refs->items, placing->refs->count, &repeat->blob, &count);
        if (count > 0 && (commit == NULL || !ts_git_oid_equal(commit, &repeat->commit))) {
            commit = &repeat->commit;
            location.commit = scan__origins_repeat(pass, commit);
        }
        for (size_t k = 0; k < count; k++) {
            location.content = refs[k].content;
            scan__pass_location(pass, &location);
        }
    }
    if (found->lacks_repeats)
        scan__note(
            &pass->faults,
            "some branches and tags of findings are not listed: they exceed the memory limit; raise " SCAN_OPTION_MEMORY);
}

/* Adds the locations of the contents at all found paths. Ends early when no time is left, because paths of
 * megabytes take long. */
static bool place_all(const struct placing *placing, const struct ts_git_occurrences *found) {
    struct scan_pass *pass = placing->origins->pass;
    struct ts_git_watch watch = scan__watch(pass);
    uint32_t *commits = calloc(found->commit_count + 1, sizeof *commits);
    bool *are_notes = calloc(found->commit_count + 1, sizeof *are_notes);
    bool done = commits != NULL && are_notes != NULL;
    for (size_t i = 0; done && i < found->commit_count; i++) {
        commits[i] = keep_commit(pass, &found->commits[i]);
        are_notes[i] = placing->notes != NULL && ts_git_set_has(placing->notes, &found->commits[i].oid);
    }
    for (size_t i = 0; done && i < found->count && watch.go_on(watch.ctx, 0); i++) {
        const struct ts_git_occurrence *item = &found->items[i];
        size_t count;
        scan__fault_paths_found(placing->faults, &item->blob, ts_bytes_of(item->path, item->path_len));
        struct scan_blob *refs =
            scan__blobs_find(placing->refs->items, placing->refs->count, &item->blob, &count);
        struct scan_location location = {
            .commit = commits[item->commit],
            .place = are_notes[item->commit] ? TS_PLACE_NOTE : placing->place,
            .role = placing->origins->is_head || item->is_head ? SCAN_IN_HEAD
                    : placing->origins->before != NULL         ? SCAN_BEFORE
                                                               : SCAN_FOUND,
        };
        for (size_t k = 0; k < count; k++)
            done = place_ref(pass, &refs[k], ts_bytes_of(item->path, item->path_len), &location) && done;
    }
    free(commits);
    free(are_notes);
    return done;
}

static enum ts_git_error attribute(struct placing *placing, const struct ts_git_selection *selection,
                                   const struct ts_git_set *blobs, struct ts_git_fault *ret_fault) {
    struct scan_origins *origins = placing->origins;
    struct ts_git_occurrences found;
    enum ts_git_error error = ts_git_graph_attribute(origins->graph, selection, blobs, 0, &found, ret_fault);
    if (error != TS_GIT_OK)
        return error;
    if (!place_all(placing, &found))
        origins->pass->no_memory = true;
    place_repeats(placing, &found);
    placing->is_cut = placing->is_cut || found.is_cut;
    if (found.is_cut)
        scan__fault(
            &origins->pass->faults,
            "finding the occurrences of secrets reached a limit after %zu of them, and the rest is not "
            "counted; raise " SCAN_OPTION_MEMORY ", or select less",
            found.count);
    ts_git_occurrences_release(&found);
    return TS_GIT_OK;
}

static enum ts_git_error trace_blobs(struct scan_origins *origins, struct refs *refs,
                                     struct ts_git_fault *ret_fault) {
    struct ts_git_set *blobs = NULL;
    struct ts_git_set *notes = NULL;
    struct scan_fault_paths faults = {.pass = NULL};
    struct placing placing = {.origins = origins, .faults = &faults, .refs = refs, .place = TS_PLACE_FILE};
    if (origins->before == NULL && !scan__fault_paths_init(&faults, origins->pass, origins->target_index)) {
        *ret_fault = (struct ts_git_fault){.error = TS_GIT_NO_MEMORY};
        return TS_GIT_NO_MEMORY;
    }
    enum ts_git_error error = set_of(origins, refs, &blobs, ret_fault);
    if (error == TS_GIT_OK)
        scan__fault_paths_want(&faults, blobs);
    if (error == TS_GIT_OK)
        error = find_notes(origins, &notes, ret_fault);
    struct ts_git_selection selection = *origins->selection;
    selection.head = origins->head;
    selection.with_repeats = origins->before == NULL;
    placing.notes = notes;
    if (error == TS_GIT_OK)
        error = attribute(&placing, &selection, blobs, ret_fault);
    if (error == TS_GIT_OK && origins->reached != NULL && origins->lost_count > 0) {
        struct ts_git_selection lost = {
            .from = origins->lost, .from_count = origins->lost_count, .tips_only = true};
        ts_git_set_subtract(blobs, origins->reached);
        placing.place = TS_PLACE_UNREACHABLE;
        error = attribute(&placing, &lost, blobs, ret_fault);
    }
    if (error == TS_GIT_OK)
        scan__fault_paths_end(&faults, !placing.is_cut && !scan__was_stopped(origins->pass));
    scan__fault_paths_release(&faults);
    ts_git_set_free(blobs);
    ts_git_set_free(notes);
    return error;
}

static enum ts_git_error place_blobs(struct scan_origins *origins, struct refs *refs,
                                     struct ts_git_fault *ret_fault) {
    enum ts_git_error error = origins->graph != NULL ? trace_blobs(origins, refs, ret_fault) : TS_GIT_OK;
    if (error == TS_GIT_NO_MEMORY) {
        scan__fault(
            &origins->pass->faults,
            "finding the paths of findings exceeds the memory limit: some are missing; raise " SCAN_OPTION_MEMORY
            ", or "
            "select less");
        error = TS_GIT_OK;
    }
    /* Adds locations for blobs that have none: targets of tags, blobs without a commit, and untraced
     * blobs. */
    for (size_t i = 0; error == TS_GIT_OK && i < refs->count; i++) {
        const struct scan_blob *ref = &refs->items[i];
        bool is_reached = origins->reached == NULL || ts_git_set_has(origins->reached, &ref->oid);
        size_t unused;
        struct scan_location location = {
            .content = ref->content,
            .commit = TS_REPORT_NONE,
            .path = scan__hits_contents(&origins->pass->hits, &unused)[ref->content].path,
            .place = is_reached ? TS_PLACE_FILE : TS_PLACE_UNREACHABLE,
            .role = origins->before != NULL ? SCAN_BEFORE : SCAN_FOUND};
        if (!ref->has_location && !origins->is_head)
            scan__pass_location(origins->pass, &location);
    }
    return error;
}

/* ---- messages ---- */

uint32_t scan__origins_commit(struct scan_pass *pass, struct ts_git_repo *repo, struct ts_git_graph *graph,
                              const struct ts_git_oid *oid) {
    struct ts_git_commit_info info;
    struct ts_git_fault fault;
    struct ts_git_fault_sink sink = scan__faults_sink(&pass->faults);
    enum ts_git_error error = ts_git_commit_info_read(repo, oid, &info, &fault);
    if (error != TS_GIT_OK && error != TS_GIT_BAD_OBJECT)
        sink.take(sink.ctx, &fault);
    if (error != TS_GIT_OK)
        return TS_REPORT_NONE;
    if (graph != NULL)
        info.commit_time_s = ts_git_graph_order_time(graph, oid);
    uint32_t index = keep_commit(pass, &info);
    ts_git_commit_info_release(&info);
    return index;
}

uint32_t scan__origins_repeat(struct scan_pass *pass, const struct ts_git_oid *oid) {
    uint32_t none = scan__hits_text(&pass->hits, ts_bytes_of_cstring(""));
    struct scan_commit commit = {.oid = *oid, .author_name = none, .author_mail = none};
    return scan__pass_commit(pass, &commit);
}

/* With --since: returns whether the tag was made before the date. */
static bool is_old_tag(const struct scan_origins *origins, const struct ts_git_oid *oid) {
    struct ts_git_content content;
    struct ts_git_tag tag;
    const struct ts_git_selection *selection = origins->selection;
    if (selection == NULL || !selection->has_since ||
        ts_git_object_read(origins->repo, oid, scan__pass_object_max(origins->pass), &content, NULL) !=
            TS_GIT_OK)
        return false;
    bool is_old =
        ts_git_tag_parse(ts_git_repo_hash(origins->repo), ts_bytes_of(content.bytes, content.len), &tag) &&
        tag.tagger.time_s < selection->since_s;
    free(content.bytes);
    return is_old;
}

/* Adds the location of a message. If no time is left, the location has no commit. */
static void place_message(struct scan_origins *origins, size_t index, const struct scan_content *content) {
    struct ts_git_watch watch = scan__watch(origins->pass);
    struct scan_location location = {
        .content = (uint32_t)index, .commit = TS_REPORT_NONE, .path = content->path};
    struct ts_git_oid peeled = content->oid;
    bool is_before =
        origins->before != NULL || (content->kind == SCAN_CONTENT_TAG && is_old_tag(origins, &content->oid));
    location.role = is_before ? SCAN_BEFORE : SCAN_FOUND;
    location.place = content->kind == SCAN_CONTENT_TAG ? TS_PLACE_TAG_MESSAGE : TS_PLACE_COMMIT_MESSAGE;
    if (watch.go_on(watch.ctx, 0) &&
        (content->kind == SCAN_CONTENT_COMMIT ||
         ts_git_object_peel(origins->repo, &content->commit, &peeled, NULL) == TS_GIT_OK))
        location.commit = scan__origins_commit(origins->pass, origins->repo, origins->graph, &peeled);
    scan__pass_location(origins->pass, &location);
}

void scan__origins_messages(struct scan_origins *origins) {
    size_t total;
    (void)scan__hits_contents(&origins->pass->hits, &total);
    for (size_t i = origins->content_first; i < total && i < origins->content_end; i++) {
        struct scan_content content = scan__hits_contents(&origins->pass->hits, &total)[i];
        if (is_placed(origins, &content) &&
            (content.kind == SCAN_CONTENT_COMMIT || content.kind == SCAN_CONTENT_TAG))
            place_message(origins, i, &content);
    }
}

/* Adds the location of the message of HEAD's commit. */
static void place_head_message(struct scan_origins *origins) {
    struct scan_pass *pass = origins->pass;
    const struct ts_git_oid *head = &pass->targets[origins->target_index].head;
    size_t total;
    (void)scan__hits_contents(&pass->hits, &total);
    for (size_t i = origins->content_first; i < total && i < origins->content_end; i++) {
        const struct scan_content *content = &scan__hits_contents(&pass->hits, &total)[i];
        if (content->kind != SCAN_CONTENT_COMMIT || !is_placed(origins, content) ||
            !ts_git_oid_equal(&content->oid, head))
            continue;
        struct scan_location location = {.content = (uint32_t)i,
                                         .path = content->path,
                                         .place = TS_PLACE_COMMIT_MESSAGE,
                                         .role = SCAN_IN_HEAD};
        location.commit = scan__origins_commit(pass, origins->repo, origins->graph, head);
        scan__pass_location(pass, &location);
        return;
    }
}

enum ts_git_error scan__origins(struct scan_origins *origins, struct ts_git_fault *ret_fault) {
    struct refs refs;
    size_t first = origins->pass->locations.len / sizeof(struct scan_location);
    scan__limits_place(origins->pass);
    if (!find_blobs(origins, &refs)) {
        origins->pass->no_memory = true;
        return TS_GIT_OK;
    }
    bool has_faults = origins->before == NULL && origins->pass->faults.object_count > 0;
    enum ts_git_error error =
        refs.count > 0 || has_faults ? place_blobs(origins, &refs, ret_fault) : TS_GIT_OK;
    free(refs.items);
    if (error == TS_GIT_OK && origins->is_head)
        place_head_message(origins);
    else if (error == TS_GIT_OK)
        scan__origins_messages(origins);
    if (error == TS_GIT_OK && origins->graph != NULL && origins->before == NULL)
        error = scan__place_refs(origins, first, ret_fault);
    return error;
}
