#include "recall.h"

#include "masking.h"

#include "base/blake3.h"
#include "git/repo.h"
#include "os/build_id.h"
#include "os/clock.h"
#include "turnstone/version.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A page of known objects is written when it has this size, or this long after the last page. */
#define PAGE_BYTES    ((size_t)128 << 10)
#define PAGE_NS       UINT64_C(5000000000)
/* The page size when pages are merged. */
#define MERGED_BYTES  ((size_t)1 << 20)
#define HITS_PAGE_MAX ((size_t)4 << 20)
#define CONTENTS_MAX  4096
/* The number of descriptors that a scan needs for spill files, and for files and folders of the repository.
 * Each thread needs two in addition. */
#define FILES_OF_SCAN 24

/* ---- keys ---- */

static void add_digest(struct ts_blake3 *hasher, const uint8_t digest[static 32]) {
    ts_blake3_update(hasher, ts_bytes_of(digest, 32));
}

void scan__recall_rules(const struct scan_profile *profile, unsigned depth_max,
                        uint8_t ret_id[static SCAN_STATE_ID_LEN]) {
    struct ts_blake3 hasher;
    uint8_t rules[TS_RULESET_DIGEST_LEN];
    ts_detector_digest(profile->rules->detector, rules);
    ts_blake3_init_derive_key(&hasher, TS_BYTES("turnstone 2026 state of scans: rules"));
    add_digest(&hasher, rules);
    uint8_t depth = (uint8_t)depth_max;
    ts_blake3_update(&hasher, ts_bytes_of(&depth, 1));
    ts_blake3_update(&hasher, ts_build_id());
    ts_blake3_update(&hasher, ts_bytes_of_cstring(ts_version()));
    ts_blake3_output(&hasher, 0, ret_id, SCAN_STATE_ID_LEN);
}

void scan__recall_judging(const struct scan_profile *profile, const struct ts_siphash_key *print_key,
                          uint8_t ret_id[static SCAN_STATE_ID_LEN]) {
    struct ts_blake3 hasher;
    uint8_t key[TS_SIPHASH_KEY_LEN];
    ts_siphash_key_store(print_key, key);
    ts_blake3_init_derive_key(&hasher, TS_BYTES("turnstone 2026 state of scans: judging"));
    add_digest(&hasher, profile->key.key);
    add_digest(&hasher, profile->config_digest);
    ts_blake3_update(&hasher, ts_bytes_of(key, sizeof key));
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

/* ---- beginning and end ---- */

static bool open_state(struct scan_recall *recall, struct scan_pass *pass, const struct scan_target *target) {
    struct scan_state_place place = {.folder = pass->options->state_folder,
                                     .print_key = pass->print_key,
                                     .files_left = FILES_OF_SCAN + 2 * pass->jobs};
    digest_repo(target->hash, recall->path, place.use.repo);
    scan__recall_rules(target->profile, pass->inside.depth_max, place.use.rules);
    scan__recall_judging(target->profile, &pass->print_key, place.use.judging);
    recall->state = scan__state_open(&place, &pass->state_warning);
    return recall->state != NULL;
}

static const struct scan_recall_ops state_ops;

static void open_folder(struct scan_recall *recall, const struct scan_target *target) {
    struct scan_pass *pass = recall->pass;
    recall->path = realpath(ts_git_repo_common_dir(recall->repo), NULL);
    recall->workers = calloc(pass->jobs, sizeof *recall->workers);
    if (recall->workers == NULL || recall->path == NULL || !open_state(recall, pass, target))
        return;
    recall->ops = &state_ops;
    recall->has_hits = !scan__keeps_secrets(pass->options);
    recall->faults_before = target->faults_before;
    recall->lasting_before = target->lasting_before;
    recall->worker_count = pass->jobs;
    for (unsigned i = 0; i < pass->jobs; i++)
        recall->workers[i].written_ns = ts_clock_monotonic_ns();
    recall->contents_kept = recall->before.contents;
    struct ts_git_fault fault;
    recall->has_fingerprint = ts_git_repo_fingerprint(recall->repo, recall->fingerprint, &fault) == TS_GIT_OK;
}

bool scan__recall_init(struct scan_recall *recall, struct scan_pass *pass, struct scan_target *target,
                       struct ts_git_repo *repo, const struct ts_git_selection *selection) {
    const struct ts_scan_options *options = pass->options;
    *recall = (struct scan_recall){
        .pass = pass, .target = (uint32_t)(target - pass->targets), .repo = repo, .before = scan__mark(pass)};
    pthread_mutex_init(&recall->lock, NULL);
    /* `full` and `ungated` are for comparison: such scans must not reuse anything. */
    if (options->full || options->ungated)
        return true;
    if (options->parts != NULL)
        return scan__recall_parts_open(recall, target, selection);
    if (options->state_folder != NULL)
        open_folder(recall, target);
    return true;
}

static void close_state(struct scan_recall *recall) {
    scan__masks_release(&recall->masks);
    scan__state_close(recall->state);
    ts_git_evidence_free(recall->evidence);
    free(recall->past.bytes);
}

void scan__recall_release(struct scan_recall *recall) {
    if (recall->ops != NULL)
        recall->ops->close(recall);
    for (unsigned i = 0; i < recall->worker_count; i++)
        scan__buffer_release(&recall->workers[i].known);
    free(recall->workers);
    free(recall->path);
    pthread_mutex_destroy(&recall->lock);
}

static bool is_state_empty(const struct scan_recall *recall) {
    return !scan__state_has(recall->state, SCAN_SEGMENT_KNOWN);
}

bool scan__recall_has_salt(struct scan_recall *recall) {
    if (recall->state != NULL && !recall->has_begun)
        recall->has_salt = scan__state_begin(recall->state);
    recall->has_begun = true;
    return recall->has_salt;
}

void scan__recall_rewind(struct scan_recall *recall) {
    recall->contents_kept = recall->before.contents;
    for (unsigned i = 0; i < recall->worker_count; i++)
        recall->workers[i].known.len = 0;
}

static void begin(struct scan_recall *recall, const struct ts_git_set *only) {
    struct ts_git_fault fault;
    if (!scan__recall_has_salt(recall))
        return;
    ts_git_evidence_free(recall->evidence);
    recall->evidence = NULL;
    (void)ts_git_evidence_new(recall->repo, scan__state_salt(recall->state), only, &recall->evidence, &fault);
}

static uint64_t evidence_bytes(const struct scan_recall *recall) {
    return ts_git_evidence_bytes(recall->evidence);
}

/* ---- known objects ---- */

struct taking {
    struct scan_recall *recall;
    const struct scan_recall_wanted *wanted;
};

/* Returns whether the object is unchanged. Sets known->pack to its current pack, numbered as in pages of this
 * scan. */
static bool is_same(const struct scan_recall *recall, struct scan_known *known, uint32_t pack_then) {
    uint32_t pack = TS_GIT_NO_PACK;
    enum ts_git_sameness sameness =
        ts_git_evidence_compare(recall->evidence, &known->oid, known->evidence, pack_then, &pack);
    known->pack = pack == TS_GIT_NO_PACK ? 0 : pack + 1;
    return sameness != TS_GIT_OTHER;
}

static void count_known(const struct taking *taking, const struct scan_known *known) {
    struct ts_report_target *row = scan__recall_row(taking->recall);
    ts_git_set_remove(taking->wanted->set, &known->oid);
    if (known->kind == SCAN_CONTENT_BLOB) {
        row->blobs++;
        row->blobs_known++;
        row->bytes += known->size;
    } else if (known->kind == SCAN_CONTENT_COMMIT) {
        taking->wanted->commit(taking->wanted->ctx, &known->oid);
    }
}

/* Returns whether to take the hits of an object, and counts the object if so. Returns false if the object is
 * not wanted (not selected, or already taken), or has changed since its record was stored. */
static bool take_hits(void *ctx, const struct scan_known *known) {
    const struct taking *taking = ctx;
    struct scan_known now = *known;
    if (!ts_git_set_has(taking->wanted->set, &known->oid) || !is_same(taking->recall, &now, TS_GIT_NO_PACK))
        return false;
    count_known(taking, known);
    return true;
}

/* Returns an array that maps the indexes of packs in the page to current packs. The entry of a pack that no
 * longer exists is TS_GIT_NO_PACK. Returns NULL when memory runs out. */
static uint32_t *find_packs(const struct scan_recall *recall, const struct scan_known_page *page) {
    uint32_t *packs = calloc(page->pack_count + 1, sizeof *packs);
    if (packs == NULL)
        return NULL;
    packs[0] = TS_GIT_NO_PACK;
    for (size_t i = 0; i < page->pack_count; i++)
        packs[i + 1] = ts_git_evidence_find_pack(recall->evidence, page->packs + i * TS_GIT_PACK_ID_LEN);
    return packs;
}

static bool take_known_page(void *ctx, struct ts_bytes bytes) {
    const struct taking *taking = ctx;
    struct scan_recall *recall = taking->recall;
    struct scan_known_page page;
    if (!scan__known_page_decode(bytes, ts_git_repo_hash(recall->repo), &page))
        return false;
    uint32_t *packs = find_packs(recall, &page);
    for (size_t i = 0; packs != NULL && i < scan__known_page_count(&page); i++) {
        struct scan_known known = scan__known_page_at(&page, i);
        uint32_t then = packs[known.pack];
        if (!ts_git_set_has(taking->wanted->set, &known.oid) || !is_same(recall, &known, then))
            continue;
        count_known(taking, &known);
        /* Records that the object is in another pack now, so that the next scan need not read it. */
        if (known.pack != 0 && known.pack != then + 1)
            scan__known_encode(&recall->workers[0].known, page.hash, &known);
    }
    free(packs);
    return true;
}

static bool take_hits_page(void *ctx, struct ts_bytes page) {
    struct taking *taking = ctx;
    struct scan_material_sink sink = {
        .pass = taking->recall->pass, .target = taking->recall->target, .wants = take_hits, .ctx = taking};
    return scan__material_decode(page, &sink);
}

static void take_known(struct scan_recall *recall, const struct scan_recall_wanted *wanted) {
    if (recall->evidence == NULL)
        return;
    struct taking taking = {recall, wanted};
    scan__state_each(recall->state, SCAN_SEGMENT_KNOWN, take_known_page, &taking);
    if (recall->has_hits)
        scan__state_each(recall->state, SCAN_SEGMENT_HITS, take_hits_page, &taking);
    (void)scan__hits_contents(&recall->pass->hits, &recall->contents_kept);
}

/* ---- writing ---- */

/* Writes a page of known objects, with the packs of this scan. The caller holds the lock. */
static void put_known(struct scan_recall *recall, const struct scan_buffer *items) {
    struct scan_buffer page = {.data = NULL};
    struct scan_known_page known = {.hash = ts_git_repo_hash(recall->repo),
                                    .items = scan__buffer_bytes(items)};
    known.packs = ts_git_evidence_packs(recall->evidence, &known.pack_count);
    if (known.pack_count > SCAN_KNOWN_PACKS_MAX)
        known.pack_count = SCAN_KNOWN_PACKS_MAX;
    if (items->len > 0 && !items->no_memory)
        scan__known_page_encode(&known, &page);
    if (!page.no_memory)
        scan__state_add(recall->state, SCAN_SEGMENT_KNOWN, scan__buffer_bytes(&page));
    scan__buffer_release(&page);
}

/* Writes a page of contents with hits. If they do not fit into a page, splits them into halves. A content
 * that does not fit alone is not stored, so the next scan reads it again. The caller holds the lock. */
static void put_hits(struct scan_recall *recall, const uint32_t *contents, size_t count) {
    if (count == 0)
        return;
    struct scan_buffer page = {.data = NULL};
    struct scan_material material = {.pass = recall->pass,
                                     .hash = ts_git_repo_hash(recall->repo),
                                     .contents = contents,
                                     .content_count = count};
    scan__material_encode(&material, &page);
    if (page.len <= HITS_PAGE_MAX && !page.no_memory) {
        scan__state_add(recall->state, SCAN_SEGMENT_HITS, scan__buffer_bytes(&page));
    } else if (count > 1) {
        put_hits(recall, contents, count / 2);
        put_hits(recall, contents + count / 2, count - count / 2);
    }
    scan__buffer_release(&page);
}

/* ---- texts with secrets in them ---- */

static bool is_touched(struct scan_recall *recall, uint32_t text, bool is_around) {
    struct scan_recall_touch *known = &recall->touches[text % SCAN_RECALL_TOUCHES];
    struct ts_bytes bytes = scan__hits_text_at(&recall->pass->hits, text);
    if (text == SCAN_NO_TEXT)
        return false;
    recall->masks.is_late = scan__is_past_end(recall->pass);
    if (known->text != text || known->is_around != is_around)
        *known = (struct scan_recall_touch){text, is_around,
                                            is_around ? scan__around_touched(bytes, &recall->masks)
                                                      : scan__masks_touch(&recall->masks, bytes)};
    return known->is_touched;
}

/* Returns whether one of the content's texts contains a secret that was found elsewhere. */
static bool is_content_touched(struct scan_recall *recall, const struct scan_content *content) {
    bool touched = is_touched(recall, content->path, false);
    for (uint64_t i = 0; i < content->hit_count && !touched; i++)
        touched =
            is_touched(recall, scan__hits_items(&recall->pass->hits)[content->first_hit + i].around, true);
    return touched;
}

/* Writes the contents with hits from index `from` on. All of them belong to this target. The caller holds the
 * lock. */
static void put_hits_from(struct scan_recall *recall, size_t from) {
    uint32_t contents[CONTENTS_MAX];
    size_t total;
    const struct scan_content *all = scan__hits_contents(&recall->pass->hits, &total);
    while (from < total) {
        size_t count = 0;
        for (; from < total && count < CONTENTS_MAX; from++)
            if (all[from].is_whole && all[from].evidence != 0 && !is_content_touched(recall, &all[from]))
                contents[count++] = (uint32_t)from;
        put_hits(recall, contents, count);
    }
}

static uint64_t evidence_of(struct scan_recall *recall, const struct ts_git_object *object,
                            uint32_t *ret_pack) {
    uint32_t pack = TS_GIT_NO_PACK;
    uint64_t evidence = recall->evidence != NULL ? ts_git_evidence_of(recall->evidence, object, &pack) : 0;
    *ret_pack = pack == TS_GIT_NO_PACK ? 0 : pack + 1;
    return evidence;
}

static void keep_known(struct scan_recall *recall, unsigned worker, const struct scan_known *known) {
    if (recall->evidence == NULL || known->evidence == 0 || known->size > SCAN_KNOWN_SIZE_MAX)
        return;
    struct scan_recall_worker *own = &recall->workers[worker];
    scan__known_encode(&own->known, ts_git_repo_hash(recall->repo), known);
    uint64_t now_ns = ts_clock_monotonic_ns();
    if (own->known.len < PAGE_BYTES && now_ns - own->written_ns < PAGE_NS)
        return;
    own->written_ns = now_ns;
    pthread_mutex_lock(&recall->lock);
    put_known(recall, &own->known);
    own->known.len = 0;
    pthread_mutex_unlock(&recall->lock);
}

/* ---- merging pages ---- */

bool scan__recall_is_default(const struct ts_scan_options *options) {
    return options->ref_count == 0 && options->branch_count == 0 && options->commit_count == 0 &&
           options->pattern_count == 0 && options->range == NULL && !options->has_since &&
           !options->unreachable && !options->default_branch;
}

struct merging {
    struct scan_recall *recall;
    struct scan_buffer items;
    struct ts_git_set *left; /* objects whose record was not seen yet; only the latest record is kept */
};

static bool merge_page(void *ctx, struct ts_bytes bytes) {
    struct merging *merging = ctx;
    struct scan_recall *recall = merging->recall;
    struct scan_known_page page;
    if (!scan__known_page_decode(bytes, ts_git_repo_hash(recall->repo), &page))
        return false;
    uint32_t *packs = find_packs(recall, &page);
    for (size_t i = 0; packs != NULL && i < scan__known_page_count(&page); i++) {
        struct scan_known known = scan__known_page_at(&page, i);
        if (!ts_git_set_has(merging->left, &known.oid))
            continue;
        ts_git_set_remove(merging->left, &known.oid);
        known.pack = packs[known.pack] == TS_GIT_NO_PACK ? 0 : packs[known.pack] + 1;
        scan__known_encode(&merging->items, page.hash, &known);
        if (merging->items.len < MERGED_BYTES)
            continue;
        put_known(recall, &merging->items);
        merging->items.len = 0;
    }
    free(packs);
    return true;
}

/* Merges pages of known objects into larger pages, if they are in many files. The caller holds the lock. */
static void merge_known(struct scan_recall *recall) {
    struct ts_git_fault fault;
    struct merging merging = {.recall = recall};
    if (!scan__state_is_scattered(recall->state, SCAN_SEGMENT_KNOWN) ||
        ts_git_set_new(recall->repo, &merging.left, &fault) != TS_GIT_OK)
        return;
    ts_git_set_invert(merging.left);
    if (scan__state_rewrite_begin(recall->state, SCAN_SEGMENT_KNOWN)) {
        scan__state_each(recall->state, SCAN_SEGMENT_KNOWN, merge_page, &merging);
        put_known(recall, &merging.items);
        scan__state_rewrite_end(recall->state, SCAN_SEGMENT_KNOWN);
    }
    scan__buffer_release(&merging.items);
    ts_git_set_free(merging.left);
}

/* Returns whether stored texts contain a secret that was unknown when they were stored. */
static bool is_kept_touched(struct scan_recall *recall) {
    size_t total;
    const struct scan_content *all = scan__hits_contents(&recall->pass->hits, &total);
    for (size_t i = recall->before.contents; i < recall->contents_kept; i++)
        if (is_content_touched(recall, &all[i]))
            return true;
    return false;
}

/* Writes the contents with hits, when all contents of the target were scanned. If stored texts contain a
 * secret, removes all stored hits, and writes the hits of the pass again. After a scan of all refs, the pass
 * has all contents. After other selections, contents outside the selection are lost. The caller holds the
 * lock. */
static void flush_hits(struct scan_recall *recall) {
    struct scan_pass *pass = recall->pass;
    if (!recall->has_hits)
        return;
    bool is_whole = scan__recall_is_default(pass->options) && !scan__is_stopped(pass);
    if (is_kept_touched(recall)) {
        scan__state_drop_texts(recall->state);
        put_hits_from(recall, recall->before.contents);
    } else if (is_whole && scan__state_is_scattered(recall->state, SCAN_SEGMENT_HITS) &&
               scan__state_rewrite_begin(recall->state, SCAN_SEGMENT_HITS)) {
        put_hits_from(recall, recall->before.contents);
        scan__state_rewrite_end(recall->state, SCAN_SEGMENT_HITS);
    } else {
        put_hits_from(recall, recall->contents_kept);
    }
}

static void flush(struct scan_recall *recall) {
    if (recall->evidence == NULL)
        return;
    pthread_mutex_lock(&recall->lock);
    for (unsigned i = 1; i < recall->worker_count; i++)
        scan__buffer_put(&recall->workers[0].known, scan__buffer_bytes(&recall->workers[i].known));
    put_known(recall, &recall->workers[0].known);
    recall->workers[0].known.len = 0;
    merge_known(recall);
    scan__masks_release(&recall->masks); /* masks of an earlier flush lack the secrets of newer contents */
    recall->masks = (struct scan_masks){.capacity = 0};
    memset(recall->touches, 0, sizeof recall->touches);
    recall->has_masks = scan__masks_of(recall->pass, recall->before.contents, &recall->masks);
    if (recall->has_masks) {
        flush_hits(recall);
        bool is_secret = scan__masks_touch(&recall->masks, ts_bytes_of_cstring(recall->path));
        scan__state_note_path(recall->state, is_secret ? "" : recall->path);
    }
    pthread_mutex_unlock(&recall->lock);
}

/* Does nothing: the pass has the hits, and an object without a record is not known to later scans. */
static void note(struct scan_recall *recall, unsigned worker, const struct ts_git_oid *oid) {
    (void)recall;
    (void)worker;
    (void)oid;
}

static const struct scan_recall_ops state_ops = {.all = scan__snapshot_all,
                                                 .is_empty = is_state_empty,
                                                 .begin = begin,
                                                 .bytes = evidence_bytes,
                                                 .known = take_known,
                                                 .evidence = evidence_of,
                                                 .keep = keep_known,
                                                 .note = note,
                                                 .flush = flush,
                                                 .finish = scan__snapshot_finish,
                                                 .close = close_state};
