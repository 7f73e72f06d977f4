#include "recall.h"

#include "look_impl.h"
#include "state.h"

#include "base/blake3.h"
#include "base/endian.h"
#include "git/repo.h"
#include "os/build_id.h"
#include "os/clock.h"
#include "turnstone/version.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A page of known objects is written when it has so many bytes, or so long after the last one. */
#define PAGE_BYTES     ((size_t)128 << 10)
#define PAGE_NS        UINT64_C(5000000000)
/* More pages than this are made into few large ones. */
#define PAGES_MAX      32
#define MERGED_BYTES   ((size_t)1 << 20)
#define HITS_PAGE_MAX  ((size_t)4 << 20)
#define CONTENTS_MAX   4096
#define SNAPSHOT_MAX   ((size_t)40 << 20)
#define SNAPSHOT_PART  ((size_t)4 << 20)
#define SNAPSHOT_PARTS (SNAPSHOT_MAX / SNAPSHOT_PART + 1)

/* ---- keys ---- */

static void add_digest(struct ts_blake3 *hasher, const uint8_t digest[static 32]) {
    ts_blake3_update(hasher, ts_bytes_of(digest, 32));
}

/* What decides whether anything is found in an object. */
static void digest_rules(const struct scan_profile *profile, uint8_t ret_id[static SCAN_STATE_ID_LEN]) {
    struct ts_blake3 hasher;
    uint8_t rules[TS_RULESET_DIGEST_LEN];
    ts_detector_digest(profile->detector, rules);
    ts_blake3_init_derive_key(&hasher, TS_BYTES("turnstone 2026 state of scans: rules"));
    add_digest(&hasher, rules);
    ts_blake3_update(&hasher, ts_build_id());
    ts_blake3_update(&hasher, ts_bytes_of_cstring(ts_version()));
    ts_blake3_output(&hasher, 0, ret_id, SCAN_STATE_ID_LEN);
}

/* What decides what is said of it. */
static void digest_judging(const struct scan_profile *profile, uint8_t ret_id[static SCAN_STATE_ID_LEN]) {
    struct ts_blake3 hasher;
    ts_blake3_init_derive_key(&hasher, TS_BYTES("turnstone 2026 state of scans: judging"));
    add_digest(&hasher, profile->key.key);
    add_digest(&hasher, profile->config_digest);
    ts_blake3_output(&hasher, 0, ret_id, SCAN_STATE_ID_LEN);
}

static void digest_repo(enum ts_git_hash hash, const char *path, uint8_t ret_id[static SCAN_STATE_ID_LEN]) {
    struct ts_blake3 hasher;
    uint8_t kind = (uint8_t)hash;
    ts_blake3_init_derive_key(&hasher, TS_BYTES("turnstone 2026 state of scans: repository"));
    ts_blake3_update(&hasher, ts_bytes_of(&kind, 1));
    ts_blake3_update(&hasher, ts_bytes_of_cstring(path));
    ts_blake3_output(&hasher, 0, ret_id, SCAN_STATE_ID_LEN);
}

static struct scan_state_key page_key(const struct scan_state_key *prefix, uint64_t number) {
    struct scan_state_key key = *prefix;
    ts_be64_store(number, key.bytes + key.len);
    key.len += 8;
    return key;
}

/* ---- beginning and end ---- */

void scan__recall_init(struct scan_recall *recall, struct scan_session *session, struct scan_target *target,
                       struct ts_git_repo *repo) {
    *recall = (struct scan_recall){.repo = repo};
    pthread_mutex_init(&recall->lock, NULL);
    const struct ts_scan_options *options = session->options;
    /* Scans for comparison are to look at everything. */
    if (options->state_folder == NULL || options->full || options->ungated)
        return;
    if (session->state == NULL && !session->has_tried_state)
        session->state = scan__state_open(options->state_folder, &session->faults);
    session->has_tried_state = true;
    struct scan_recall_worker *workers = calloc(session->jobs, sizeof *workers);
    recall->path = realpath(ts_git_repo_common_dir(repo), NULL);
    if (session->state == NULL || workers == NULL || recall->path == NULL) {
        free(workers);
        return;
    }
    digest_repo(target->hash, recall->path, recall->use.repo);
    digest_rules(target->profile, recall->use.rules);
    digest_judging(target->profile, recall->use.judging);
    recall->session = session;
    recall->target = (uint32_t)(target - session->targets);
    recall->known_prefix = scan__state_key(SCAN_STATE_KNOWN, &recall->use);
    recall->hits_prefix = scan__state_key(SCAN_STATE_HITS, &recall->use);
    recall->snapshot_prefix = scan__state_key(SCAN_STATE_SNAPSHOT, &recall->use);
    recall->has_hits = !options->shows_secrets;
    recall->faults_before = target->faults_before;
    recall->commits_before = session->commits.len / sizeof(struct scan_commit);
    recall->stands_before = session->stands.len / sizeof(struct scan_stand);
    recall->workers = workers;
    recall->worker_count = session->jobs;
    for (unsigned i = 0; i < session->jobs; i++)
        workers[i].written_ns = ts_clock_monotonic_ns();
    (void)scan__hits_contents(&session->hits, &recall->contents_kept);
    struct ts_git_fault fault;
    recall->has_fingerprint = ts_git_repo_fingerprint(repo, recall->fingerprint, &fault) == TS_GIT_OK;
}

void scan__recall_release(struct scan_recall *recall) {
    for (unsigned i = 0; i < recall->worker_count; i++)
        scan__buffer_release(&recall->workers[i].known);
    free(recall->workers);
    free(recall->path);
    pthread_mutex_destroy(&recall->lock);
}

/* ---- known objects ---- */

struct taking {
    struct scan_recall *recall;
    struct ts_git_set *wanted;
    scan_recall_commit *commit;
    void *ctx;
};

static struct ts_report_target *row_of(const struct scan_recall *recall) {
    return &recall->session->targets[recall->target].row;
}

/* False when it is not wanted: not selected, or taken before. */
static bool take(struct taking *taking, const struct scan_known *known) {
    struct ts_report_target *row = row_of(taking->recall);
    if (!ts_git_set_has(taking->wanted, &known->oid))
        return false;
    ts_git_set_remove(taking->wanted, &known->oid);
    if (known->kind == SCAN_CONTENT_BLOB) {
        row->blobs++;
        row->blobs_known++;
        row->bytes += known->size;
    } else if (known->kind == SCAN_CONTENT_COMMIT) {
        taking->commit(taking->ctx, &known->oid);
    }
    return true;
}

static bool take_hits(void *ctx, const struct scan_known *known) {
    return take(ctx, known);
}

static void note_page(struct scan_recall *recall, struct ts_bytes key) {
    uint64_t number = key.len >= 8 ? ts_be64_load(key.data + key.len - 8) : 0;
    if (number >= recall->next_page)
        recall->next_page = number + 1;
}

static bool take_known_page(void *ctx, struct ts_bytes key, struct ts_bytes value) {
    struct taking *taking = ctx;
    struct scan_recall *recall = taking->recall;
    enum ts_git_hash hash = ts_git_repo_hash(recall->repo);
    size_t len = scan__known_len(hash);
    struct scan_known known;
    if (value.len % len != 0)
        return false;
    for (size_t at = 0; at < value.len; at += len)
        if (!scan__known_decode(value.data + at, hash, &known))
            return false;
    for (size_t at = 0; at < value.len; at += len) {
        (void)scan__known_decode(value.data + at, hash, &known);
        (void)take(taking, &known);
    }
    note_page(recall, key);
    recall->pages++;
    return true;
}

static bool take_hits_page(void *ctx, struct ts_bytes key, struct ts_bytes value) {
    struct taking *taking = ctx;
    struct scan_material_sink sink = {.session = taking->recall->session,
                                      .target = taking->recall->target,
                                      .wants = take_hits,
                                      .ctx = taking};
    note_page(taking->recall, key);
    return scan__material_decode(value, &sink);
}

void scan__recall_known(struct scan_recall *recall, struct ts_git_set *wanted, scan_recall_commit *commit,
                        void *ctx) {
    if (recall->session == NULL)
        return;
    struct scan_session *session = recall->session;
    struct taking taking = {recall, wanted, commit, ctx};
    /* What was taken before damage was met is as sound as ever: each page has its own checksum. */
    if (scan__state_each(session->state, scan__state_key_bytes(&recall->known_prefix), take_known_page,
                         &taking) &&
        recall->has_hits)
        (void)scan__state_each(session->state, scan__state_key_bytes(&recall->hits_prefix), take_hits_page,
                               &taking);
    (void)scan__hits_contents(&session->hits, &recall->contents_kept);
}

/* ---- writing ---- */

/* With the lock. Before the first page it is noted whose it is, so that none outlives its repository for good. */
static void put_page(struct scan_recall *recall, const struct scan_state_key *prefix,
                     const struct scan_buffer *page) {
    if (page->len == 0 || page->no_memory)
        return;
    if (!recall->has_noted_use)
        scan__use_note(recall->session->state, &recall->use, recall->path);
    recall->has_noted_use = true;
    struct scan_state_key key = page_key(prefix, recall->next_page++);
    struct ts_op op = {
        .kind = TS_OP_PUT, .key = scan__state_key_bytes(&key), .value = scan__buffer_bytes(page)};
    (void)scan__state_apply(recall->session->state, &op, 1);
}

/* With the lock, and that of the hits. In halves when they do not fit into a page; what does not fit alone is read again. */
static void put_hits(struct scan_recall *recall, const uint32_t *contents, size_t count) {
    if (count == 0)
        return;
    struct scan_buffer page = {.data = NULL};
    struct scan_material material = {.session = recall->session,
                                     .hash = ts_git_repo_hash(recall->repo),
                                     .contents = contents,
                                     .content_count = count};
    scan__material_encode(&material, &page);
    if (page.len <= HITS_PAGE_MAX) {
        put_page(recall, &recall->hits_prefix, &page);
    } else if (count > 1) {
        put_hits(recall, contents, count / 2);
        put_hits(recall, contents + count / 2, count - count / 2);
    }
    scan__buffer_release(&page);
}

/* With the lock. */
static void flush_hits(struct scan_recall *recall) {
    uint32_t contents[CONTENTS_MAX];
    struct scan_hits *hits = &recall->session->hits;
    if (!recall->has_hits)
        return;
    pthread_mutex_lock(&hits->lock);
    size_t total;
    const struct scan_content *all = scan__hits_contents(hits, &total);
    while (recall->contents_kept < total) {
        size_t count = 0;
        for (; recall->contents_kept < total && count < CONTENTS_MAX; recall->contents_kept++)
            if (all[recall->contents_kept]
                    .is_whole) /* of this target: the next one comes when this is done */
                contents[count++] = (uint32_t)recall->contents_kept;
        put_hits(recall, contents, count);
    }
    pthread_mutex_unlock(&hits->lock);
}

/* With the lock. */
static void flush_known(struct scan_recall *recall, struct scan_recall_worker *worker) {
    put_page(recall, &recall->known_prefix, &worker->known);
    recall->pages += worker->known.len > 0;
    worker->known.len = 0;
}

void scan__recall_keep(struct scan_recall *recall, unsigned worker, const struct scan_known *known) {
    if (recall->session == NULL || known->size > SCAN_KNOWN_SIZE_MAX)
        return;
    struct scan_recall_worker *own = &recall->workers[worker];
    scan__known_encode(&own->known, ts_git_repo_hash(recall->repo), known);
    uint64_t now_ns = ts_clock_monotonic_ns();
    if (own->known.len < PAGE_BYTES && now_ns - own->written_ns < PAGE_NS)
        return;
    own->written_ns = now_ns;
    pthread_mutex_lock(&recall->lock);
    flush_known(recall, own);
    flush_hits(recall);
    pthread_mutex_unlock(&recall->lock);
}

/* ---- few pages out of many ---- */

struct merging {
    struct scan_recall *recall;
    struct scan_buffer page;
    uint64_t first_new; /* pages from here on are merged ones */
    struct ts_git_set *all;
};

static bool merge_page(void *ctx, struct ts_bytes key, struct ts_bytes value) {
    struct merging *merging = ctx;
    struct scan_recall *recall = merging->recall;
    size_t len = scan__known_len(ts_git_repo_hash(recall->repo));
    if (ts_be64_load(key.data + key.len - 8) >= merging->first_new)
        return true;
    for (size_t at = 0; at + len <= value.len; at += len) {
        struct ts_git_oid oid = ts_git_oid_of(ts_git_repo_hash(recall->repo), value.data + at);
        if (ts_git_set_has(merging->all, &oid))
            scan__buffer_put(&merging->page, ts_bytes_of(value.data + at, len));
    }
    struct scan_state_key added = page_key(&recall->known_prefix, recall->next_page);
    bool is_full = merging->page.len >= MERGED_BYTES;
    struct ts_op ops[] = {{.kind = TS_OP_DEL, .key = key},
                          {.kind = TS_OP_PUT,
                           .key = scan__state_key_bytes(&added),
                           .value = scan__buffer_bytes(&merging->page)}};
    /* What was taken from this page and is not written yet is known no more if the process ends here. */
    (void)scan__state_apply(recall->session->state, ops, is_full ? 2 : 1);
    if (is_full) {
        recall->next_page++;
        merging->page.len = 0;
    }
    return true;
}

static void merge_pages(struct scan_recall *recall) {
    struct ts_git_fault fault;
    struct merging merging = {.recall = recall, .first_new = recall->next_page};
    if (recall->pages <= PAGES_MAX || ts_git_set_new(recall->repo, &merging.all, &fault) != TS_GIT_OK)
        return;
    ts_git_set_invert(merging.all);
    if (scan__state_each(recall->session->state, scan__state_key_bytes(&recall->known_prefix), merge_page,
                         &merging))
        put_page(recall, &recall->known_prefix, &merging.page);
    scan__buffer_release(&merging.page);
    ts_git_set_free(merging.all);
}

void scan__recall_flush(struct scan_recall *recall) {
    if (recall->session == NULL)
        return;
    pthread_mutex_lock(&recall->lock);
    struct scan_recall_worker all = {.known = {.data = NULL}};
    for (unsigned i = 0; i < recall->worker_count; i++)
        scan__buffer_put(&all.known, scan__buffer_bytes(&recall->workers[i].known));
    flush_known(recall, &all);
    scan__buffer_release(&all.known);
    flush_hits(recall);
    merge_pages(recall);
    pthread_mutex_unlock(&recall->lock);
}

/* ---- snapshots ---- */

static void put_row(struct scan_buffer *buffer, const struct ts_report_target *row) {
    scan__buffer_put_number(buffer, row->commits);
    scan__buffer_put_number(buffer, row->trees);
    scan__buffer_put_number(buffer, row->tags);
    scan__buffer_put_number(buffer, row->blobs);
    scan__buffer_put_number(buffer, row->bytes);
    scan__buffer_put_number(buffer, row->missing_by_design);
    scan__buffer_put_number(buffer, row->cut_commits);
}

/* Only all refs: other selections are many, and asked for once. */
static bool is_default(const struct ts_scan_options *options) {
    return options->ref_count == 0 && options->branch_count == 0 && options->commit_count == 0 &&
           !options->has_since && !options->unreachable;
}

static bool is_faultless(const struct scan_recall *recall) {
    const struct scan_session *session = recall->session;
    return session->faults.total == recall->faults_before && !session->faults.no_memory &&
           !session->hits.no_memory && !session->hits.is_over && !session->no_memory &&
           session->limits_hit == 0 && !scan__is_stopped(session);
}

static void write_parts(struct scan_recall *recall, struct ts_bytes all) {
    struct scan_state_key keys[SNAPSHOT_PARTS];
    struct ts_op ops[SNAPSHOT_PARTS];
    for (size_t i = 0; i < SNAPSHOT_PARTS; i++) {
        struct ts_bytes rest = ts_bytes_skip(all, i * SNAPSHOT_PART < all.len ? i * SNAPSHOT_PART : all.len);
        keys[i] = page_key(&recall->snapshot_prefix, i);
        ops[i] = (struct ts_op){
            .kind = rest.len > 0 ? TS_OP_PUT : TS_OP_DEL,
            .key = scan__state_key_bytes(&keys[i]),
            .value = ts_bytes_first(rest, rest.len < SNAPSHOT_PART ? rest.len : SNAPSHOT_PART)};
    }
    (void)scan__state_apply(recall->session->state, ops, SNAPSHOT_PARTS);
}

void scan__recall_finish(struct scan_recall *recall) {
    struct scan_session *session = recall->session;
    uint8_t now[32];
    struct ts_git_fault fault;
    if (session == NULL || !recall->has_hits || !is_default(session->options) || !is_faultless(recall) ||
        !recall->has_fingerprint || ts_git_repo_fingerprint(recall->repo, now, &fault) != TS_GIT_OK ||
        memcmp(now, recall->fingerprint, sizeof now) != 0)
        return;
    size_t total;
    const struct scan_content *all = scan__hits_contents(&session->hits, &total);
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
        .session = session,
        .hash = ts_git_repo_hash(recall->repo),
        .contents = contents,
        .content_count = count,
        .first_commit = recall->commits_before,
        .commit_count = session->commits.len / sizeof(struct scan_commit) - recall->commits_before,
        .first_stand = recall->stands_before,
        .stand_count = session->stands.len / sizeof(struct scan_stand) - recall->stands_before};
    struct scan_buffer buffer = {.data = NULL};
    if (is_whole) {
        scan__buffer_put(&buffer, ts_bytes_of(recall->fingerprint, sizeof recall->fingerprint));
        put_row(&buffer, row_of(recall));
        scan__material_encode(&material, &buffer);
        if (!buffer.no_memory && buffer.len <= SNAPSHOT_MAX)
            write_parts(recall, scan__buffer_bytes(&buffer));
    }
    scan__buffer_release(&buffer);
    free(contents);
}

struct snapshot {
    const struct scan_recall *recall;
    struct scan_buffer all;
    bool is_other; /* of a repository that was different */
};

static bool take_part(void *ctx, struct ts_bytes key, struct ts_bytes value) {
    struct snapshot *snapshot = ctx;
    (void)key;
    if (snapshot->all.len == 0)
        snapshot->is_other = value.len < 32 || memcmp(value.data, snapshot->recall->fingerprint, 32) != 0;
    if (!snapshot->is_other)
        scan__buffer_put(&snapshot->all, value);
    return true;
}

static bool use_snapshot(struct scan_recall *recall, struct ts_bytes all) {
    struct ts_report_target row = *row_of(recall);
    uint64_t *const numbers[] = {&row.commits,           &row.trees,      &row.tags, &row.blobs, &row.bytes,
                                 &row.missing_by_design, &row.cut_commits};
    struct ts_bytes rest = ts_bytes_skip(all, sizeof recall->fingerprint);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (!scan__number_decode(&rest, numbers[i]))
            return false;
    struct scan_material_sink sink = {.session = recall->session, .target = recall->target};
    if (!scan__material_decode(rest, &sink))
        return false;
    row.blobs_known = row.blobs;
    *row_of(recall) = row;
    return true;
}

bool scan__recall_all(struct scan_recall *recall) {
    struct scan_session *session = recall->session;
    if (session == NULL || !recall->has_hits || !is_default(session->options) || !recall->has_fingerprint ||
        session->faults.total != recall->faults_before)
        return false;
    struct snapshot snapshot = {.recall = recall};
    bool is_done = scan__state_each(session->state, scan__state_key_bytes(&recall->snapshot_prefix),
                                    take_part, &snapshot) &&
                   !snapshot.is_other && snapshot.all.len > 0 && !snapshot.all.no_memory &&
                   use_snapshot(recall, scan__buffer_bytes(&snapshot.all));
    scan__buffer_release(&snapshot.all);
    return is_done;
}
