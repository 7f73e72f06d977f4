/* Stores the result of a whole scan of all refs in the state, and restores it. */
#include "recall.h"

#include "git/repo.h"

#include <stdlib.h>
#include <string.h>

#define SNAPSHOT_MAX ((size_t)40 << 20)
#define FAULT_SIZE   1024 /* size of the line of a fault */

static void put_row(struct scan_buffer *buffer, const struct ts_report_target *row,
                    const struct scan_masked *masked) {
    scan__buffer_put_number(buffer, row->commits);
    scan__buffer_put_number(buffer, row->trees);
    scan__buffer_put_number(buffer, row->tags);
    scan__buffer_put_number(buffer, row->blobs);
    scan__buffer_put_number(buffer, row->bytes);
    scan__buffer_put_number(buffer, row->missing_by_design);
    scan__buffer_put_number(buffer, row->cut_commits);
    scan__buffer_put_number(buffer, row->knows_head);
    scan__buffer_put_number(buffer, row->encrypted_archives);
    scan__buffer_put_number(buffer, row->submodules);
    scan__buffer_put_number(buffer, masked->any);
}

/* Writes the faults. Returns false if the line of a fault is not kept, or may contain a secret. */
static bool put_faults(struct scan_recall *recall, struct scan_buffer *buffer) {
    const struct scan_faults *faults = &recall->pass->faults;
    uint64_t count = faults->lasting - recall->lasting_before;
    uint64_t found = 0;
    scan__buffer_put_number(buffer, count);
    for (size_t i = 0; i < faults->count; i++) {
        struct ts_bytes line = ts_bytes_of_cstring(faults->items[i].text);
        if (faults->items[i].target != recall->target)
            continue;
        if (!recall->has_masks || scan__masks_touch(&recall->masks, line))
            return false;
        scan__buffer_put_number(buffer, line.len);
        scan__buffer_put(buffer, line);
        found++;
    }
    return found == count;
}

static bool take_faults(struct scan_recall *recall, struct ts_bytes *rest) {
    uint64_t count;
    uint64_t len;
    if (!scan__number_decode(rest, &count) || count > SCAN_FAULTS_MAX)
        return false;
    struct ts_bytes at = *rest;
    for (uint64_t i = 0; i < count; i++) {
        if (!scan__number_decode(&at, &len) || len >= FAULT_SIZE || len > at.len)
            return false;
        at = ts_bytes_skip(at, (size_t)len);
    }
    for (uint64_t i = 0; i < count; i++) {
        char line[FAULT_SIZE] = {0};
        (void)scan__number_decode(rest, &len);
        memcpy(line, rest->data, (size_t)len);
        *rest = ts_bytes_skip(*rest, (size_t)len);
        scan__fault_lasting(&recall->pass->faults, line);
    }
    return true;
}

/* Returns whether the result depends on LFS objects, which may appear and disappear without changing the
 * fingerprint. */
static bool has_pointers(const struct scan_recall *recall) {
    return scan__recall_row(recall)->lfs_objects + scan__recall_row(recall)->lfs_missing > 0;
}

/* Returns whether every scan of these objects would have exactly the same faults. */
static bool is_lasting(const struct scan_recall *recall) {
    const struct scan_pass *pass = recall->pass;
    return pass->faults.total - recall->faults_before == pass->faults.lasting - recall->lasting_before &&
           pass->faults.accepted == 0 && !pass->faults.no_memory && !pass->hits.no_memory &&
           !pass->hits.is_over && !pass->no_memory && pass->limits_hit == 0 && !scan__was_stopped(pass);
}

void scan__snapshot_finish(struct scan_recall *recall, const struct scan_masked *masked) {
    struct scan_pass *pass = recall->pass;
    uint8_t now[32];
    struct ts_git_fault fault;
    /* If paths are masked, there is no snapshot: rules, allow entries and .gitleaksignore name real paths. */
    if (masked->paths || recall->evidence == NULL || !recall->has_hits ||
        !scan__recall_is_default(pass->options) || !is_lasting(recall) || has_pointers(recall) ||
        !recall->has_fingerprint || ts_git_repo_fingerprint(recall->repo, now, &fault) != TS_GIT_OK ||
        memcmp(now, recall->fingerprint, sizeof now) != 0)
        return;
    size_t total;
    const struct scan_content *all = scan__hits_contents(&pass->hits, &total);
    uint32_t *contents = calloc(total + 1, sizeof *contents);
    size_t count = 0;
    bool is_whole = contents != NULL;
    for (size_t i = 0; i < total && is_whole; i++) {
        if (all[i].target != recall->target)
            continue;
        is_whole = all[i].is_whole;
        contents[count++] = (uint32_t)i;
    }
    struct scan_material material = {
        .pass = pass,
        .hash = ts_git_repo_hash(recall->repo),
        .contents = contents,
        .content_count = count,
        .first_commit = recall->before.commits,
        .commit_count = pass->commits.len / sizeof(struct scan_commit) - recall->before.commits,
        .first_location = recall->before.locations,
        .location_count = pass->locations.len / sizeof(struct scan_location) - recall->before.locations};
    struct scan_buffer buffer = {.data = NULL};
    if (is_whole) {
        put_row(&buffer, scan__recall_row(recall), masked);
        is_whole = put_faults(recall, &buffer);
        scan__material_encode(&material, &buffer);
        if (is_whole && !buffer.no_memory && buffer.len <= SNAPSHOT_MAX)
            scan__state_put_snapshot(recall->state, recall->fingerprint, scan__buffer_bytes(&buffer),
                                     ts_bytes_of(recall->past.bytes, recall->past.len));
    }
    scan__buffer_release(&buffer);
    free(contents);
}

/* ---- reading ---- */

bool scan__recall_use(struct scan_recall *recall, const struct scan_recall_snapshot *snapshot) {
    struct ts_bytes rest = snapshot->rest;
    struct scan_material_sink sink = {.pass = recall->pass, .target = recall->target};
    struct scan_faults_mark mark = scan__faults_mark(&recall->pass->faults);
    if (!take_faults(recall, &rest))
        return false;
    if (!scan__material_decode(rest, &sink)) {
        scan__faults_cut(&recall->pass->faults, &mark);
        return false;
    }
    *scan__recall_row(recall) = snapshot->row;
    return true;
}

/* Reads the numbers of the row, which are before the faults. */
static bool decode_row(struct scan_recall *recall, struct ts_bytes page,
                       struct scan_recall_snapshot *snapshot) {
    struct ts_report_target *row = &snapshot->row;
    *row = *scan__recall_row(recall);
    uint64_t knows_head = 0;
    uint64_t masked = 0;
    uint64_t *const numbers[] = {&row->commits,     &row->trees, &row->tags,
                                 &row->blobs,       &row->bytes, &row->missing_by_design,
                                 &row->cut_commits, &knows_head, &row->encrypted_archives,
                                 &row->submodules,  &masked};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (!scan__number_decode(&page, numbers[i]))
            return false;
    row->blobs_known = row->blobs;
    row->knows_head = knows_head != 0;
    snapshot->was_masked = masked == 1;
    snapshot->rest = page;
    return masked <= 1;
}

static bool is_usable(const struct scan_recall *recall) {
    return recall->state != NULL && recall->has_hits && scan__recall_is_default(recall->pass->options) &&
           recall->has_fingerprint && recall->pass->faults.total == recall->faults_before;
}

bool scan__snapshot_all(struct scan_recall *recall) {
    struct scan_recall_snapshot snapshot = {.page = {.data = NULL}};
    struct scan_segment segment;
    struct ts_bytes page;
    if (!is_usable(recall) || !scan__state_snapshot(recall->state, recall->fingerprint, &segment, &page))
        return false;
    bool is_done = decode_row(recall, page, &snapshot) && scan__recall_use(recall, &snapshot);
    scan__segment_close(&segment);
    return is_done;
}

bool scan__recall_earlier(struct scan_recall *recall, struct scan_recall_snapshot *ret_snapshot) {
    struct scan_recall_snapshot snapshot = {.page = {.data = NULL}};
    struct ts_bytes page;
    if (!is_usable(recall) || !scan__recall_has_salt(recall) ||
        !scan__state_snapshot(recall->state, NULL, &snapshot.segment, &page))
        return false;
    scan__buffer_put(&snapshot.page, page); /* copied, because the next page overwrites it */
    *ret_snapshot = snapshot;
    if (!snapshot.page.no_memory && scan__segment_next(&ret_snapshot->segment, &ret_snapshot->past) &&
        decode_row(recall, scan__buffer_bytes(&ret_snapshot->page), ret_snapshot))
        return true;
    scan__recall_snapshot_release(ret_snapshot);
    return false;
}

void scan__recall_snapshot_release(struct scan_recall_snapshot *snapshot) {
    scan__segment_close(&snapshot->segment);
    scan__buffer_release(&snapshot->page);
}

void scan__recall_keep_past(struct scan_recall *recall, struct ts_git_graph *graph,
                            const struct ts_git_set *reached) {
    struct ts_git_fault fault;
    if (recall->evidence == NULL || !recall->has_hits || !scan__recall_is_default(recall->pass->options))
        return;
    free(recall->past.bytes);
    recall->past = (struct ts_git_past){.bytes = NULL};
    (void)ts_git_past_new(graph, reached, scan__state_salt(recall->state), &recall->past, &fault);
}
