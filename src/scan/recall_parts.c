/*
 * Reuses and keeps results as parts of a caller (parts.h).
 *
 * Each thread collects ids, and adds them to the shared list every OWN_BYTES or OWN_NS. If the shared list is
 * then due, the thread passes it to the caller, together with new contents that have hits. The other threads
 * continue until the shared list reaches HELD_BYTES; then they wait.
 *
 * Tags with hits have a name, which may contain a secret that another content reveals. Such tags are passed
 * to the caller at the end, when all secrets are known.
 */
#include "recall.h"

#include "base/assert.h"
#include "base/blake3.h"
#include "git/repo.h"
#include "git/walk.h"
#include "os/clock.h"
#include "os/grow.h"

#include <stdlib.h>
#include <string.h>

#define OWN_BYTES    ((size_t)8 << 10)
#define OWN_NS       UINT64_C(50000000)
#define HELD_BYTES   ((size_t)4 << 20) /* sorting this many bytes of ids takes 50 ms */
#define MS           UINT64_C(1000000)
/* Limits on the contents and hits of a page before its size is known. Most such pages fit into a part. */
#define CONTENTS_MAX 2048
#define HITS_MAX     16384

struct oids {
    struct ts_git_oid *items;
    size_t count;
    size_t capacity;
};

struct scan_recall_parts {
    const struct ts_scan_parts *given;
    enum ts_git_hash hash;
    bool can_skip;          /* tips always reach the same objects: no shallow clone, graft or replacement */
    atomic_bool is_refused; /* the caller has lost its right to continue, and is not called again */
    /* Held while the caller takes a part. Locked before all other locks. */
    pthread_mutex_t handing;
    bool is_rest; /* guarded by `handing`: no further contents follow */
    atomic_uint_fast64_t handed_ns;
    size_t next;      /* the first content that was not passed to the caller */
    size_t first;     /* the first content of this scan */
    struct oids kept; /* contents whose hits were passed to the caller */
    /* Guarded by the lock of the recall. */
    struct scan_buffer known; /* ids that the threads have shared */
    struct oids noted;        /* visited objects that are not known: they have hits, or must be read again */
    bool no_memory;           /* an object could not be recorded */
};

/* ---- ids ---- */

static int compare_oids(const void *a, const void *b) {
    return ts_git_oid_compare(a, b);
}

static int compare_ids20(const void *a, const void *b) {
    return memcmp(a, b, 20);
}

static int compare_ids32(const void *a, const void *b) {
    return memcmp(a, b, 32);
}

static void sort_ids(struct scan_buffer *ids, enum ts_git_hash hash) {
    size_t len = ts_git_hash_len(hash);
    if (ids->len > 0)
        qsort(ids->data, ids->len / len, len, len == 20 ? compare_ids20 : compare_ids32);
}

static bool add_oid(struct oids *oids, const struct ts_git_oid *oid) {
    if (!TS_GROW(oids->items, oids->capacity, oids->count + 1))
        return false;
    oids->items[oids->count++] = *oid;
    return true;
}

static void sort_oids(struct oids *oids) {
    if (oids->count > 0)
        qsort(oids->items, oids->count, sizeof *oids->items, compare_oids);
}

static bool has_oid(const struct oids *oids, const struct ts_git_oid *oid) {
    return oids->count > 0 &&
           bsearch(oid, oids->items, oids->count, sizeof *oids->items, compare_oids) != NULL;
}

/* Returns the ids, sorted and without duplicates, from malloc; NULL when memory runs out. */
static uint8_t *ids_of(struct oids *oids, enum ts_git_hash hash, size_t *ret_len) {
    size_t len = ts_git_hash_len(hash);
    uint8_t *bytes = malloc(oids->count * len + 1);
    size_t at = 0;
    sort_oids(oids);
    for (size_t i = 0; bytes != NULL && i < oids->count; i++) {
        if (i > 0 && ts_git_oid_equal(&oids->items[i], &oids->items[i - 1]))
            continue;
        memcpy(bytes + at, oids->items[i].bytes, len);
        at += len;
    }
    *ret_len = bytes != NULL ? at : 0;
    return bytes;
}

/* ---- the moment ---- */

static void digest_ref(struct ts_blake3 *hasher, const struct ts_git_ref *ref, size_t id_len) {
    ts_blake3_update(hasher, ts_bytes_of(ref->name, strlen(ref->name) + 1));
    ts_blake3_update(hasher, ts_bytes_of(ref->oid.bytes, id_len));
}

/* Computes the tips and the digest of the refs. The digest includes names, because a blob of refs/notes is a
 * note. It includes HEAD, because findings say whether they are in HEAD. Returns false when memory runs out,
 * or refs cannot be read. */
static bool find_tips(struct scan_recall *recall, const struct ts_git_selection *selection) {
    struct scan_recall_parts *parts = recall->parts;
    struct scan_parts_end *end = &recall->pass->parts_end;
    struct ts_scan_moment *moment = &end->end.moment;
    struct ts_git_refs refs = {.count = 0};
    struct ts_git_fault fault;
    struct oids tips = {.count = 0};
    bool done = ts_git_refs_list(recall->repo, NULL, &refs, &fault) == TS_GIT_OK;
    for (size_t i = 0; done && selection->all_refs && i < refs.count; i++)
        done = add_oid(&tips, &refs.items[i].oid);
    for (size_t i = 0; done && i < selection->from_count; i++)
        done = add_oid(&tips, &selection->from[i]);
    free(end->tips);
    end->tips = ids_of(&tips, parts->hash, &moment->tips.len);
    moment->tips.data = end->tips;
    moment->id_len = ts_git_hash_len(parts->hash);
    struct ts_blake3 hasher;
    ts_blake3_init_derive_key(&hasher, TS_BYTES("turnstone 2026 parts of scans: refs"));
    for (size_t i = 0; i < refs.count; i++)
        if (strcmp(refs.items[i].name, "HEAD") == 0 || has_oid(&tips, &refs.items[i].oid))
            digest_ref(&hasher, &refs.items[i], moment->id_len);
    ts_blake3_update(&hasher, TS_BYTES("\n"));
    ts_blake3_update(&hasher, moment->tips);
    ts_blake3_output(&hasher, 0, moment->refs, sizeof moment->refs);
    ts_git_refs_release(&refs);
    free(tips.items);
    return done && end->tips != NULL;
}

/* Returns whether later scans may skip what the tips reach. Parents that a shallow clone omits, or that
 * grafts and replacements change, may become visible later. Then the tips would reach objects that were never
 * scanned. */
static bool can_skip(struct ts_git_repo *repo) {
    struct ts_git_substitutes found;
    return !ts_git_repo_is_shallow(repo) && ts_git_repo_substitutes(repo, &found, NULL) == TS_GIT_OK &&
           found.grafts + found.replaced == 0;
}

static void refuse(struct scan_recall *recall) {
    atomic_store(&recall->parts->is_refused, true);
    atomic_store(&recall->pass->progress->stop, true);
}

static bool is_same(struct scan_recall *recall) {
    const struct ts_scan_parts *given = recall->parts->given;
    struct ts_scan_end *end = &recall->pass->parts_end.end;
    switch (given->ops->begin(given->ctx, &end->moment)) {
    case TS_SCAN_PARTS_GO_ON:
        return false;
    case TS_SCAN_PARTS_SAME:
        end->is_same = true;
        return true;
    case TS_SCAN_PARTS_STOP:
        refuse(recall);
        return true;
    }
    ts_unreachable("every answer is one of these");
}

static bool is_empty(const struct scan_recall *recall) {
    return recall->parts->given->is_empty;
}

static void begin(struct scan_recall *recall, const struct ts_git_set *only) {
    (void)only;
    recall->parts->can_skip = can_skip(recall->repo);
}

static uint64_t held_bytes(const struct scan_recall *recall) {
    (void)recall;
    return 2 * HELD_BYTES;
}

/* ---- earlier scans ---- */

struct ts_scan_earlier {
    struct scan_recall *recall;
    const struct scan_recall_wanted *wanted;
    struct oids tips;
    struct oids again; /* objects to read even if tips reach them */
    bool has_tips;
    bool is_bad; /* the tips cannot be used */
};

static void take_ids(struct oids *oids, enum ts_git_hash hash, struct ts_bytes ids, bool *is_bad) {
    size_t len = ts_git_hash_len(hash);
    for (size_t i = 0; i + len <= ids.len; i += len) {
        struct ts_git_oid oid = ts_git_oid_of(hash, ids.data + i);
        *is_bad = !add_oid(oids, &oid) || *is_bad;
    }
}

void ts_scan_earlier_known(struct ts_scan_earlier *earlier, struct ts_bytes ids) {
    enum ts_git_hash hash = earlier->recall->parts->hash;
    size_t len = ts_git_hash_len(hash);
    for (size_t i = 0; i + len <= ids.len; i += len) {
        struct ts_git_oid oid = ts_git_oid_of(hash, ids.data + i);
        ts_git_set_remove(earlier->wanted->set, &oid);
    }
}

static bool wants_hits(void *ctx, const struct scan_known *known) {
    const struct ts_scan_earlier *earlier = ctx;
    if (!ts_git_set_has(earlier->wanted->set, &known->oid))
        return false;
    ts_git_set_remove(earlier->wanted->set, &known->oid);
    return true;
}

static bool wants_again(void *ctx, const struct scan_known *known) {
    struct ts_scan_earlier *earlier = ctx;
    earlier->is_bad = !add_oid(&earlier->again, &known->oid) || earlier->is_bad;
    return false;
}

static bool take_page(struct ts_scan_earlier *earlier, struct ts_bytes page,
                      bool (*wants)(void *ctx, const struct scan_known *known)) {
    struct scan_material_sink sink = {
        .pass = earlier->recall->pass, .target = earlier->recall->target, .wants = wants, .ctx = earlier};
    bool is_valid = scan__material_decode(page, &sink);
    earlier->is_bad = earlier->is_bad || !is_valid;
    return is_valid;
}

bool ts_scan_earlier_hits(struct ts_scan_earlier *earlier, struct ts_bytes page) {
    return take_page(earlier, page, wants_hits);
}

bool ts_scan_earlier_other_hits(struct ts_scan_earlier *earlier, struct ts_bytes page) {
    return take_page(earlier, page, wants_again);
}

void ts_scan_earlier_tips(struct ts_scan_earlier *earlier, struct ts_bytes tips, struct ts_bytes again) {
    enum ts_git_hash hash = earlier->recall->parts->hash;
    earlier->has_tips = true;
    take_ids(&earlier->tips, hash, tips, &earlier->is_bad);
    take_ids(&earlier->again, hash, again, &earlier->is_bad);
}

/* Returns whether the repository has all of the tips. */
static bool has_all_tips(const struct ts_scan_earlier *earlier, struct ts_git_repo *repo) {
    struct ts_git_set *set = NULL;
    struct ts_git_fault fault;
    bool has_all = ts_git_set_new(repo, &set, &fault) == TS_GIT_OK;
    for (size_t i = 0; has_all && i < earlier->tips.count; i++)
        has_all = ts_git_set_add(set, &earlier->tips.items[i]);
    ts_git_set_free(set);
    return has_all;
}

/* Removes from wanted the objects that the tips reach. A missing object among these is not a fault, because
 * the current refs may not need it. */
static void skip_past(const struct ts_scan_earlier *earlier) {
    struct scan_faults *faults = &earlier->recall->pass->faults;
    struct scan_faults_mark mark = scan__faults_mark(faults);
    uint64_t moved = faults->moved;
    struct ts_git_selection selection = {.from = earlier->tips.items, .from_count = earlier->tips.count};
    struct ts_git_fault fault;
    struct ts_git_set *past = NULL;
    if (ts_git_graph_reach(earlier->wanted->graph, &selection, &past, NULL, &fault) == TS_GIT_OK) {
        for (size_t i = 0; i < earlier->again.count; i++)
            ts_git_set_remove(past, &earlier->again.items[i]);
        ts_git_set_subtract(earlier->wanted->set, past);
    }
    ts_git_set_free(past);
    scan__faults_cut(faults, &mark);
    faults->moved = moved;
}

static void take_earlier(struct scan_recall *recall, const struct scan_recall_wanted *wanted) {
    struct scan_recall_parts *parts = recall->parts;
    struct ts_scan_earlier earlier = {.recall = recall, .wanted = wanted};
    if (atomic_load(&parts->is_refused))
        return;
    if (!parts->given->ops->load(parts->given->ctx, &earlier))
        refuse(recall);
    else if (earlier.has_tips && !earlier.is_bad && parts->can_skip && has_all_tips(&earlier, recall->repo))
        skip_past(&earlier);
    free(earlier.tips.items);
    free(earlier.again.items);
    (void)scan__hits_contents(&recall->pass->hits, &parts->first);
    parts->next = parts->first;
    atomic_store(&parts->handed_ns, ts_clock_monotonic_ns());
}

/* ---- parts ---- */

static bool hand_over(struct scan_recall *recall, const struct ts_scan_part *part) {
    struct scan_recall_parts *parts = recall->parts;
    if (atomic_load(&parts->is_refused))
        return false;
    struct ts_scan_part given = *part;
    given.is_rest = parts->is_rest;
    bool done = parts->given->ops->keep(parts->given->ctx, &given);
    if (!done)
        refuse(recall);
    return done;
}

/* Passes a page to the caller, with as many ids as fit into a part. Without a page, passes only ids. */
static bool hand_over_ids(struct scan_recall *recall, struct ts_bytes *ids, struct ts_bytes hits) {
    size_t len = ts_git_hash_len(recall->parts->hash);
    size_t most = TS_SCAN_PART_MAX / len * len;
    struct ts_scan_part part = {.known = ts_bytes_first(*ids, ids->len < most ? ids->len : most),
                                .hits = hits};
    *ids = ts_bytes_skip(*ids, part.known.len);
    return hand_over(recall, &part);
}

/* Passes a page of contents to the caller. If they do not fit into a page, splits them into halves. A content
 * that does not fit alone is read again by the next scan. */
static bool hand_over_hits(struct scan_recall *recall, const uint32_t *contents, size_t count,
                           struct ts_bytes *ids) {
    struct scan_recall_parts *parts = recall->parts;
    struct scan_hits *hits = &recall->pass->hits;
    struct scan_buffer page = {.data = NULL};
    struct scan_material material = {
        .pass = recall->pass, .hash = parts->hash, .contents = contents, .content_count = count};
    pthread_mutex_lock(&hits->lock);
    scan__material_encode(&material, &page);
    bool fits = page.len <= TS_SCAN_PART_MAX && !page.no_memory;
    size_t unused;
    for (size_t i = 0; fits && i < count; i++)
        if (!add_oid(&parts->kept, &scan__hits_contents(hits, &unused)[contents[i]].oid))
            break; /* the next scan reads the content again */
    pthread_mutex_unlock(&hits->lock);
    bool done = !fits || hand_over_ids(recall, ids, scan__buffer_bytes(&page));
    scan__buffer_release(&page);
    if (!fits && count > 1)
        done = hand_over_hits(recall, contents, count / 2, ids) &&
               hand_over_hits(recall, contents + count / 2, count - count / 2, ids);
    return done;
}

struct picked {
    uint32_t contents[CONTENTS_MAX];
    size_t count;
};

/* Chooses the next contents for a page. With masks, chooses only contents with a name that contains no
 * secret. Without masks, chooses only contents without a name. */
static void pick(struct scan_recall *recall, struct scan_masks *masks, size_t *next, struct picked *picked) {
    struct scan_hits *hits = &recall->pass->hits;
    uint64_t hit_count = 0;
    size_t total;
    picked->count = 0;
    pthread_mutex_lock(&hits->lock);
    const struct scan_content *all = scan__hits_contents(hits, &total);
    for (; *next < total && picked->count < CONTENTS_MAX && hit_count < HITS_MAX; (*next)++) {
        const struct scan_content *content = &all[*next];
        bool is_named = content->path != SCAN_NO_TEXT;
        if (!content->is_whole || content->evidence == 0 || is_named != (masks != NULL) ||
            (is_named && scan__masks_touch(masks, scan__hits_text_at(hits, content->path))))
            continue;
        picked->contents[picked->count++] = (uint32_t)*next;
        hit_count += content->hit_count;
    }
    pthread_mutex_unlock(&hits->lock);
}

/* Passes all shared ids, and all new contents with hits and without a name, to the caller of the scan. The
 * caller of this function holds `handing`. */
static bool hand_over_all(struct scan_recall *recall) {
    struct scan_recall_parts *parts = recall->parts;
    pthread_mutex_lock(&recall->lock);
    struct scan_buffer known = parts->known;
    parts->known = (struct scan_buffer){.data = NULL};
    pthread_mutex_unlock(&recall->lock);
    sort_ids(&known, parts->hash);
    struct ts_bytes ids = scan__buffer_bytes(&known);
    struct picked *picked = calloc(1, sizeof *picked);
    bool done = true;
    do {
        if (picked != NULL)
            pick(recall, NULL, &parts->next, picked);
        if (picked != NULL && picked->count > 0)
            done = hand_over_hits(recall, picked->contents, picked->count, &ids);
    } while (done && picked != NULL && picked->count > 0);
    while (done && ids.len > 0)
        done = hand_over_ids(recall, &ids, (struct ts_bytes){NULL, 0});
    atomic_store(&parts->handed_ns, ts_clock_monotonic_ns());
    scan__buffer_release(&known);
    free(picked);
    return done;
}

static bool is_due(const struct scan_recall_parts *parts, size_t held, uint64_t now_ns) {
    const struct ts_scan_parts *given = parts->given;
    return (given->part_bytes != 0 && held >= given->part_bytes) || held >= HELD_BYTES ||
           (given->part_ms != 0 && now_ns - atomic_load(&parts->handed_ns) >= given->part_ms * MS);
}

/* Locks `handing`. Unless `waits`, returns false if another thread is passing a part to the caller. */
static bool begin_handing_and_lock(struct scan_recall_parts *parts, bool waits) {
    if (!waits)
        return pthread_mutex_trylock(&parts->handing) == 0;
    pthread_mutex_lock(&parts->handing);
    return true;
}

/* Adds the ids of a thread to the shared list, and passes the list to the caller if it is due. */
static void share(struct scan_recall *recall, struct scan_recall_worker *own, uint64_t now_ns) {
    struct scan_recall_parts *parts = recall->parts;
    pthread_mutex_lock(&recall->lock);
    scan__buffer_put(&parts->known, scan__buffer_bytes(&own->known));
    size_t held = parts->known.len;
    pthread_mutex_unlock(&recall->lock);
    own->known.len = 0;
    own->written_ns = now_ns;
    if (atomic_load(&parts->is_refused) || !is_due(parts, held, now_ns))
        return;
    if (!begin_handing_and_lock(parts, held >= HELD_BYTES))
        return;
    (void)hand_over_all(recall);
    pthread_mutex_unlock(&parts->handing);
}

static void share_if_due(struct scan_recall *recall, struct scan_recall_worker *own) {
    uint64_t now_ns = ts_clock_monotonic_ns();
    size_t part = recall->parts->given->part_bytes;
    if (own->known.len >= (part != 0 && part < OWN_BYTES ? part : OWN_BYTES) ||
        now_ns - own->written_ns >= OWN_NS)
        share(recall, own, now_ns);
}

static uint64_t evidence_of(struct scan_recall *recall, const struct ts_git_object *object,
                            uint32_t *ret_pack) {
    (void)recall;
    (void)object;
    *ret_pack = 0;
    return 1; /* with parts, the id of the object is enough evidence */
}

static void keep_known(struct scan_recall *recall, unsigned worker, const struct scan_known *known) {
    struct scan_recall_worker *own = &recall->workers[worker];
    if (known->evidence == 0)
        return;
    scan__buffer_put(&own->known, ts_bytes_of(known->oid.bytes, ts_git_hash_len(recall->parts->hash)));
    share_if_due(recall, own);
}

static void note(struct scan_recall *recall, unsigned worker, const struct ts_git_oid *oid) {
    struct scan_recall_parts *parts = recall->parts;
    pthread_mutex_lock(&recall->lock);
    parts->no_memory = !add_oid(&parts->noted, oid) || parts->no_memory;
    pthread_mutex_unlock(&recall->lock);
    share_if_due(recall, &recall->workers[worker]);
}

/* ---- the end ---- */

static bool hand_over_named(struct scan_recall *recall) {
    struct ts_bytes none = {NULL, 0};
    struct scan_masks masks = {.capacity = 0};
    struct picked *picked = calloc(1, sizeof *picked);
    size_t next = recall->parts->first;
    bool done = true;
    if (picked != NULL && scan__masks_of(recall->pass, recall->before.contents, &masks)) {
        masks.is_late = scan__is_past_end(recall->pass);
        do {
            pick(recall, &masks, &next, picked);
            if (picked->count > 0)
                done = hand_over_hits(recall, picked->contents, picked->count, &none);
        } while (done && picked->count > 0);
    }
    scan__masks_release(&masks);
    free(picked);
    return done;
}

static void flush(struct scan_recall *recall) {
    struct scan_recall_parts *parts = recall->parts;
    for (unsigned i = 0; i < recall->worker_count; i++) {
        scan__buffer_put(&parts->known, scan__buffer_bytes(&recall->workers[i].known));
        recall->workers[i].known.len = 0;
    }
    pthread_mutex_lock(&parts->handing);
    parts->is_rest = true;
    (void)(hand_over_all(recall) && hand_over_named(recall));
    pthread_mutex_unlock(&parts->handing);
}

/* Describes the end of the scan. Recorded objects whose hits were not passed to the caller must be read
 * again. */
static void finish(struct scan_recall *recall, const struct scan_masked *masked) {
    (void)masked;
    struct scan_recall_parts *parts = recall->parts;
    struct scan_parts_end *end = &recall->pass->parts_end;
    struct oids again = {.count = 0};
    bool done = !parts->no_memory && !atomic_load(&parts->is_refused);
    sort_oids(&parts->kept);
    for (size_t i = 0; done && i < parts->noted.count; i++)
        if (!has_oid(&parts->kept, &parts->noted.items[i]))
            done = add_oid(&again, &parts->noted.items[i]);
    free(end->again);
    end->again = ids_of(&again, parts->hash, &end->end.again.len);
    end->end.again.data = end->again;
    const struct ts_report_target *row = scan__recall_row(recall);
    end->end.is_whole =
        done && end->again != NULL && parts->can_skip && row->missing_by_design == 0 && row->cut_commits == 0;
    free(again.items);
}

/* ---- opening and closing ---- */

static void close_parts(struct scan_recall *recall) {
    struct scan_recall_parts *parts = recall->parts;
    scan__buffer_release(&parts->known);
    free(parts->noted.items);
    free(parts->kept.items);
    pthread_mutex_destroy(&parts->handing);
    free(parts);
}

static const struct scan_recall_ops parts_ops = {.all = is_same,
                                                 .is_empty = is_empty,
                                                 .begin = begin,
                                                 .bytes = held_bytes,
                                                 .known = take_earlier,
                                                 .evidence = evidence_of,
                                                 .keep = keep_known,
                                                 .note = note,
                                                 .flush = flush,
                                                 .finish = finish,
                                                 .close = close_parts};

bool scan__recall_parts_open(struct scan_recall *recall, struct scan_target *target,
                             const struct ts_git_selection *selection) {
    struct scan_pass *pass = recall->pass;
    struct ts_scan_end *end = &pass->parts_end.end;
    recall->workers = calloc(pass->jobs, sizeof *recall->workers);
    recall->parts = calloc(1, sizeof *recall->parts);
    if (recall->workers == NULL || recall->parts == NULL) {
        free(recall->parts);
        return false;
    }
    recall->worker_count = pass->jobs;
    recall->parts->given = pass->options->parts;
    recall->parts->hash = target->hash;
    pthread_mutex_init(&recall->parts->handing, NULL);
    recall->ops = &parts_ops;
    scan__recall_rules(target->profile, pass->inside.depth_max, end->moment.rules);
    scan__recall_judging(target->profile, &pass->print_key, end->moment.judging);
    end->is_same = end->is_whole = false;
    for (unsigned i = 0; i < pass->jobs; i++)
        recall->workers[i].written_ns = ts_clock_monotonic_ns();
    return find_tips(recall, selection);
}
