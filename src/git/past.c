/*
 * A past as bytes. A *number* has seven bits in each byte, the lowest first.
 *
 *   32 bytes                   a keyed hash of the folders of objects, and of refs/notes
 *   packs                      count; for each pack: its id of 16 bytes (evidence.h), and its count of objects
 *   loose objects              count; for each object: its id, and a hash of 8 bytes that identifies its file
 *   submodules                 count; for each submodule: a hash of 8 bytes of its name
 *   missing objects            count; for each its id
 *   tips                       count; for each its number
 *   HEAD                       number of its commit
 *   reached, trees             a bit for each object, in the order of numbers (numbers.h)
 *   tags                       count; for each its number, and the number of its target plus 1 (0: no target)
 *   commits                    count; parents come before their children. For each commit: its number; its ordering time minus that
 *                              of the previous commit (zigzag); the count of parents; for each parent, its distance back in this list
 */
#include "past_impl.h"

#include "evidence_impl.h"
#include "os/grow.h"

#include "base/blake3.h"
#include "base/endian.h"
#include "base/hash64.h"

#include <stdlib.h>
#include <string.h>

#define DIGEST_LEN 32
#define LOOSE_MAX  ((size_t)64 << 20)

/* ---- bytes ---- */

struct out {
    uint8_t *bytes;
    size_t len;
    size_t capacity;
    bool no_memory;
};

static void put(struct out *out, const void *bytes, size_t len) {
    if (out->no_memory || !TS_GROW(out->bytes, out->capacity, out->len + len)) {
        out->no_memory = true;
        return;
    }
    if (len > 0)
        memcpy(out->bytes + out->len, bytes, len);
    out->len += len;
}

static void put_number(struct out *out, uint64_t number) {
    uint8_t bytes[10];
    size_t len = 0;
    for (; number >= 0x80; number >>= 7)
        bytes[len++] = (uint8_t)(number | 0x80);
    bytes[len++] = (uint8_t)number;
    put(out, bytes, len);
}

static void put_u64(struct out *out, uint64_t value) {
    uint8_t bytes[8];
    ts_le64_store(value, bytes);
    put(out, bytes, sizeof bytes);
}

struct in {
    struct ts_bytes rest;
    bool is_bad;
};

static const uint8_t *get(struct in *in, uint64_t len) {
    if (in->is_bad || len > in->rest.len) {
        in->is_bad = true;
        return NULL;
    }
    const uint8_t *at = in->rest.data;
    in->rest = ts_bytes_skip(in->rest, (size_t)len);
    return at;
}

/* Reads a number. Returns 0 if it is not valid. */
static uint64_t get_number(struct in *in) {
    uint64_t number = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        const uint8_t *byte = get(in, 1);
        if (byte == NULL)
            return 0;
        number |= (uint64_t)(*byte & 0x7f) << shift;
        if ((*byte & 0x80) == 0)
            return number;
    }
    in->is_bad = true;
    return 0;
}

/* Reads a count of items that take at least `least` bytes each. */
static uint64_t get_count(struct in *in, size_t least) {
    uint64_t count = get_number(in);
    if (count > in->rest.len / least)
        in->is_bad = true;
    return in->is_bad ? 0 : count;
}

/* ---- folders and loose files ---- */

static void add_text(struct ts_blake3 *hasher, const char *text) {
    ts_blake3_update(hasher, ts_bytes_of(text, strlen(text) + 1));
}

/* Hashes the folders of objects and the refs under refs/notes. Returns false if the repository has something
 * that a continued scan does not support. */
static bool digest_place(struct ts_git_repo *repo, const uint8_t key[static TS_GIT_EVIDENCE_KEY_LEN],
                         const struct ts_git_refs *refs, uint8_t ret_digest[static DIGEST_LEN]) {
    struct ts_blake3 hasher;
    if (repo->shallow_count > 0 || repo->is_partial || repo->grafts.count > 0 || repo->half_pack != NULL ||
        repo->refs.fault_count > 0 || repo->numbers.fault_count > 0)
        return false;
    ts_blake3_init_keyed(&hasher, key);
    for (size_t i = 0; i < repo->object_dir_count; i++)
        add_text(&hasher, repo->object_dirs[i]);
    for (size_t i = 0; i < refs->count; i++) {
        const struct ts_git_ref *ref = &refs->items[i];
        if (strncmp(ref->name, "refs/replace/", 13) == 0)
            return false;
        if (strncmp(ref->name, "refs/notes/", 11) != 0)
            continue;
        add_text(&hasher, ref->name);
        ts_blake3_update(&hasher, ts_bytes_of(ref->oid.bytes, sizeof ref->oid.bytes));
    }
    ts_blake3_output(&hasher, 0, ret_digest, DIGEST_LEN);
    return true;
}

/* Returns a hash that identifies the file of a loose object; 0 if the file cannot be read. */
static uint64_t loose_mark(const struct ts_git_repo *repo, uint32_t position) {
    const struct git__loose_object *loose = &repo->numbers.loose[position];
    char *path = git__loose_path(repo, loose->object_dir, &loose->oid);
    struct git__file_identity identity;
    bool is_there = path != NULL && git__file_identify(path, &identity);
    free(path);
    return is_there ? ts_xxh64_of_bytes(ts_bytes_of(&identity, sizeof identity)) | 1 : 0;
}

/* ---- writing ---- */

static void put_files(struct out *out, const struct ts_git_repo *repo,
                      const uint8_t key[static TS_GIT_EVIDENCE_KEY_LEN]) {
    put_number(out, repo->pack_count);
    for (size_t i = 0; i < repo->pack_count; i++) {
        uint8_t id[TS_GIT_PACK_ID_LEN];
        git__pack_identify(key, &repo->packs[i], id);
        put(out, id, sizeof id);
        put_number(out, repo->packs[i].index.count);
    }
    put_number(out, repo->numbers.loose_count);
    for (uint32_t i = 0; i < repo->numbers.loose_count; i++) {
        put(out, repo->numbers.loose[i].oid.bytes, ts_git_hash_len(repo->hash));
        put_u64(out, loose_mark(repo, i));
    }
}

static bool put_tips(struct out *out, const struct ts_git_repo *repo, const struct ts_git_refs *refs) {
    uint32_t head = GIT__NONE;
    put_number(out, refs->count);
    for (size_t i = 0; i < refs->count; i++) {
        uint32_t number = git__number_of(repo, refs->items[i].oid.bytes);
        if (number == GIT__NONE)
            return false;
        if (strcmp(refs->items[i].name, "HEAD") == 0)
            head = number;
        put_number(out, number);
    }
    put_number(out, head);
    return head != GIT__NONE;
}

static void put_bits(struct out *out, const struct ts_git_graph *graph, const struct ts_git_set *reached) {
    size_t len = ((size_t)graph->total + 7) / 8;
    uint8_t *trees = calloc(len + 1, 1);
    uint8_t *bits = calloc(len + 1, 1);
    if (trees == NULL || bits == NULL)
        out->no_memory = true;
    for (uint32_t i = 0; i < graph->total && !out->no_memory; i++) {
        if (!git__set_has(reached, i))
            continue;
        bits[i / 8] |= (uint8_t)(1u << i % 8);
        if (graph->edges[i].type == TS_GIT_TREE)
            trees[i / 8] |= (uint8_t)(1u << i % 8);
    }
    put(out, bits, len);
    put(out, trees, len);
    free(trees);
    free(bits);
}

static void put_tags(struct out *out, const struct ts_git_graph *graph, const struct ts_git_set *reached) {
    uint64_t count = 0;
    for (uint32_t i = 0; i < graph->total; i++)
        count += git__set_has(reached, i) && graph->edges[i].type == TS_GIT_TAG;
    put_number(out, count);
    for (uint32_t i = 0; i < graph->total; i++) {
        if (!git__set_has(reached, i) || graph->edges[i].type != TS_GIT_TAG)
            continue;
        uint32_t target = git__edges_of(graph, i)[0];
        put_number(out, i);
        put_number(out, target < graph->total ? (uint64_t)target + 1 : 0);
    }
}

/* Writes the commits. Omits missing parents, as all walks over commits do. */
static bool put_commits(struct out *out, const struct ts_git_graph *graph, const struct ts_git_set *reached) {
    uint32_t *places = malloc(((size_t)graph->total + 1) * sizeof *places);
    uint32_t count = 0;
    uint64_t last = 0;
    bool done = places != NULL;
    for (size_t i = 0; i < graph->order.count && done; i++)
        if (git__set_has(reached, graph->order.items[i]))
            places[graph->order.items[i]] = count++;
    put_number(out, count);
    for (size_t i = 0; i < graph->order.count && done; i++) {
        uint32_t commit = graph->order.items[i];
        const uint32_t *edges = git__edges_of(graph, commit);
        uint64_t time = (uint64_t)edges[1] | (uint64_t)edges[2] << 32;
        uint64_t step = time - last;
        uint32_t parents = 0;
        if (!git__set_has(reached, commit))
            continue;
        for (uint32_t k = GIT__COMMIT_HEAD; k < graph->edges[commit].added; k++)
            parents += edges[k] < graph->total && graph->edges[edges[k]].type == TS_GIT_COMMIT;
        last = time;
        put_number(out, commit);
        put_number(out, step << 1 ^ (0 - (step >> 63)));
        put_number(out, parents);
        for (uint32_t k = GIT__COMMIT_HEAD; k < graph->edges[commit].added && done; k++)
            if (edges[k] < graph->total && graph->edges[edges[k]].type == TS_GIT_COMMIT) {
                done = git__set_has(reached, edges[k]) && places[edges[k]] < places[commit];
                put_number(out, done ? places[commit] - places[edges[k]] : 0);
            }
    }
    free(places);
    return done;
}

enum ts_git_error ts_git_past_new(struct ts_git_graph *graph, const struct ts_git_set *reached,
                                  const uint8_t key[static TS_GIT_EVIDENCE_KEY_LEN],
                                  struct ts_git_past *ret_past, struct ts_git_fault *ret_fault) {
    struct ts_git_repo *repo = graph->repo;
    struct ts_git_refs refs;
    struct out out = {.bytes = NULL};
    uint8_t digest[DIGEST_LEN];
    enum ts_git_error error = ts_git_refs_list(repo, NULL, &refs, ret_fault);
    if (error != TS_GIT_OK)
        return error;
    bool is_usual =
        graph->replaced_count == 0 && digest_place(repo, key, &refs, digest) && git__graph_order_times(graph);
    if (is_usual) {
        put(&out, digest, sizeof digest);
        put_files(&out, repo, key);
        put_number(&out, graph->submodules.count);
        for (size_t i = 0; i < graph->submodules.count; i++)
            put_u64(&out, graph->submodules.names[i]);
        put_number(&out, graph->absent.count);
        for (size_t i = 0; i < graph->absent.count; i++)
            put(&out, graph->absent.oids[i].bytes, ts_git_hash_len(repo->hash));
        is_usual = put_tips(&out, repo, &refs);
        put_bits(&out, graph, reached);
        put_tags(&out, graph, reached);
        is_usual = is_usual && put_commits(&out, graph, reached);
    }
    ts_git_refs_release(&refs);
    if (out.no_memory || !is_usual) {
        free(out.bytes);
        out.bytes = NULL;
        out.len = 0;
    }
    *ret_past = (struct ts_git_past){.bytes = out.bytes, .len = out.len};
    return TS_GIT_OK;
}

/* ---- earlier and present numbers ---- */

struct place {
    uint32_t first; /* first number of the pack in the past */
    uint32_t now;   /* first number of the pack now */
    uint32_t count;
};

struct reading {
    struct in in;
    struct ts_git_repo *repo;
    struct git__past_reading *result;
    struct place *packs;
    size_t pack_count;
    uint32_t *loose; /* present numbers of the loose objects */
    uint32_t loose_first;
    uint32_t total; /* number of objects in the past */
};

/* Returns the present number of the object that had the number `then` in the past; GIT__NONE if `then` is not
 * valid. */
static uint32_t renumber(struct reading *r, uint64_t then) {
    size_t low = 0;
    size_t high = r->pack_count;
    if (then >= r->total) {
        r->in.is_bad = true;
        return GIT__NONE;
    }
    if (then >= r->loose_first)
        return r->loose[then - r->loose_first];
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (r->packs[middle].first <= then)
            low = middle;
        else
            high = middle;
    }
    return r->packs[low].now + (uint32_t)(then - r->packs[low].first);
}

/* Returns true if an object of the pack has a copy in a new file, and a visit would read the new copy. */
static bool is_hidden(const struct reading *r, const struct place *pack) {
    const struct ts_git_repo *repo = r->repo;
    for (uint32_t i = 0; i < pack->count; i++)
        if (git__number_is_copy(repo, pack->now + i) &&
            git__set_has(r->result->fresh, git__number_of(repo, git__number_id(repo, pack->now + i))))
            return true;
    return false;
}

static bool read_packs(struct reading *r, const uint8_t key[static TS_GIT_EVIDENCE_KEY_LEN]) {
    struct ts_git_repo *repo = r->repo;
    uint64_t count = get_count(&r->in, TS_GIT_PACK_ID_LEN + 1);
    uint8_t(*ids)[TS_GIT_PACK_ID_LEN] = calloc(repo->pack_count + 1, sizeof *ids);
    r->packs = calloc((size_t)count + 1, sizeof *r->packs);
    bool done = ids != NULL && r->packs != NULL;
    for (size_t i = 0; i < repo->pack_count && done; i++)
        git__pack_identify(key, &repo->packs[i], ids[i]);
    for (uint64_t i = 0; i < count && done; i++) {
        const uint8_t *id = get(&r->in, TS_GIT_PACK_ID_LEN);
        uint64_t objects = get_number(&r->in);
        size_t at = 0;
        while (id != NULL && at < repo->pack_count && memcmp(ids[at], id, TS_GIT_PACK_ID_LEN) != 0)
            at++;
        done = id != NULL && at < repo->pack_count && objects == repo->packs[at].index.count;
        if (!done)
            break;
        r->packs[r->pack_count++] = (struct place){r->total, repo->numbers.pack_first[at], (uint32_t)objects};
        r->total += (uint32_t)objects;
    }
    for (size_t i = 0; i < r->pack_count && done; i++)
        for (uint32_t k = 0; k < r->packs[i].count; k++)
            git__set_remove(r->result->fresh, r->packs[i].now + k);
    for (size_t i = 0; i < r->pack_count && done; i++)
        done = !is_hidden(r, &r->packs[i]);
    free(ids);
    return done && !r->in.is_bad;
}

/* Returns whether the loose object is unchanged. If git writes an object again, it updates the time of the
 * file. Then the object is read and compared with its id. */
static bool is_same_loose(struct ts_git_repo *repo, uint32_t position, uint64_t mark) {
    struct git__work work = {.steps_left = UINT64_MAX};
    struct ts_git_content content;
    if (mark != 0 && loose_mark(repo, position) == mark)
        return true;
    if (git__object_read(repo, &repo->numbers.loose[position].oid, LOOSE_MAX, NULL, &work, &content) !=
        TS_GIT_OK)
        return false;
    free(content.bytes);
    return true;
}

static bool read_loose(struct reading *r) {
    struct ts_git_repo *repo = r->repo;
    size_t len = ts_git_hash_len(repo->hash);
    uint64_t count = get_count(&r->in, len + 8);
    r->loose_first = r->total;
    r->total += (uint32_t)count;
    r->loose = calloc((size_t)count + 1, sizeof *r->loose);
    for (uint64_t i = 0; i < count && r->loose != NULL; i++) {
        const uint8_t *id = get(&r->in, len);
        const uint8_t *mark = get(&r->in, 8);
        uint32_t number = id != NULL ? git__number_of(repo, id) : GIT__NONE;
        if (mark == NULL || number == GIT__NONE)
            return false;
        struct git__spot spot = git__number_spot(repo, number);
        /* If a loose object has a copy in a pack, the pack is checked instead. */
        if (spot.pack == GIT__NONE ? !is_same_loose(repo, spot.position, ts_le64_load(mark))
                                   : git__set_has(r->result->fresh, number))
            return false;
        git__set_remove(r->result->fresh, number);
        r->loose[i] = number;
    }
    return r->loose != NULL && !r->in.is_bad;
}

/* ---- reading ---- */

/* Reads the submodules and the missing objects. If a missing object is present now, the past is not valid,
 * because it includes neither this object nor the objects that this object leads to. */
static void read_absent(struct reading *r) {
    struct ts_git_graph *graph = r->result->graph;
    size_t len = ts_git_hash_len(r->repo->hash);
    uint64_t count = get_count(&r->in, 8);
    for (uint64_t i = 0; i < count && !r->in.is_bad; i++) {
        const uint8_t *name = get(&r->in, 8);
        if (i >= GIT__SUBMODULES_MAX || name == NULL)
            r->in.is_bad = true;
        else
            graph->submodules.names[graph->submodules.count++] = ts_le64_load(name);
    }
    count = get_count(&r->in, len);
    for (uint64_t i = 0; i < count && !r->in.is_bad; i++) {
        const uint8_t *id = get(&r->in, len);
        struct ts_git_oid oid = id != NULL ? ts_git_oid_of(r->repo->hash, id) : (struct ts_git_oid){{0}};
        r->in.is_bad = id == NULL || git__graph_number(graph, &oid) < graph->total;
    }
}

static void read_tips(struct reading *r) {
    uint64_t count = get_count(&r->in, 1);
    for (uint64_t i = 0; i < count && !r->in.is_bad; i++) {
        uint32_t number = renumber(r, get_number(&r->in));
        r->in.is_bad = r->in.is_bad || !git__list_add(&r->result->tips, number);
    }
    r->result->head = renumber(r, get_number(&r->in));
}

static void read_bits(struct reading *r) {
    struct ts_git_graph *graph = r->result->graph;
    size_t len = ((size_t)r->total + 7) / 8;
    const uint8_t *reached = get(&r->in, len);
    const uint8_t *trees = get(&r->in, len);
    for (uint32_t i = 0; i < r->total && trees != NULL; i++) {
        if ((reached[i / 8] >> i % 8 & 1) == 0)
            continue;
        uint32_t number = renumber(r, i);
        (void)git__set_add(r->result->reached, number);
        graph->edges[number].type = (trees[i / 8] >> i % 8 & 1) != 0 ? TS_GIT_TREE : TS_GIT_BLOB;
    }
}

static bool add_row(struct ts_git_graph *graph, uint32_t number, enum ts_git_type type, const uint32_t *items,
                    size_t count) {
    struct git__list *list = &graph->lists[0];
    uint64_t start = list->count;
    for (size_t i = 0; i < count; i++)
        if (!git__list_add(list, items[i]))
            return false;
    graph->edges[number] = (struct git__edges){
        .base = GIT__NONE, .type = (uint8_t)type, .start = start, .added = (uint32_t)count};
    return true;
}

static void read_tags(struct reading *r) {
    struct ts_git_graph *graph = r->result->graph;
    uint64_t count = get_count(&r->in, 2);
    for (uint64_t i = 0; i < count && !r->in.is_bad; i++) {
        uint32_t number = renumber(r, get_number(&r->in));
        uint64_t target = get_number(&r->in);
        uint32_t now = target > 0 ? renumber(r, target - 1) : GIT__NONE;
        if (!r->in.is_bad)
            r->in.is_bad = !add_row(graph, number, TS_GIT_TAG, &now, 1);
    }
}

static bool read_commit(struct reading *r, uint32_t place, uint64_t *time) {
    struct ts_git_graph *graph = r->result->graph;
    struct git__list *list = &graph->lists[0];
    uint32_t number = renumber(r, get_number(&r->in));
    uint64_t step = get_number(&r->in);
    uint64_t parents = get_count(&r->in, 1);
    *time += step >> 1 ^ (0 - (step & 1));
    const uint32_t head[GIT__COMMIT_HEAD] = {GIT__NONE, (uint32_t)*time, (uint32_t)(*time >> 32)};
    if (r->in.is_bad || !add_row(graph, number, TS_GIT_COMMIT, head, GIT__COMMIT_HEAD))
        return false;
    for (uint64_t k = 0; k < parents; k++) {
        uint64_t back = get_number(&r->in);
        if (r->in.is_bad || back == 0 || back > place ||
            !git__list_add(list, graph->order.items[place - back]))
            return false;
    }
    graph->edges[number].added += (uint32_t)parents;
    return git__list_add(&graph->order, number);
}

static void read_commits(struct reading *r) {
    uint64_t count = get_count(&r->in, 3);
    uint64_t time = 0;
    for (uint32_t i = 0; i < count && !r->in.is_bad; i++)
        r->in.is_bad = !read_commit(r, i, &time) || r->in.is_bad;
    r->result->commit_count = (uint32_t)count;
}

static bool read_place(struct reading *r, const uint8_t key[static TS_GIT_EVIDENCE_KEY_LEN]) {
    struct ts_git_refs refs;
    uint8_t now[DIGEST_LEN];
    if (ts_git_refs_list(r->repo, NULL, &refs, NULL) != TS_GIT_OK)
        return false;
    bool is_usual = digest_place(r->repo, key, &refs, now);
    ts_git_refs_release(&refs);
    const uint8_t *then = get(&r->in, DIGEST_LEN);
    return is_usual && then != NULL && memcmp(then, now, DIGEST_LEN) == 0;
}

bool git__past_read(struct ts_git_repo *repo, const uint8_t key[static TS_GIT_EVIDENCE_KEY_LEN],
                    struct ts_bytes past, struct git__past_reading *reading) {
    struct reading r = {.in = {.rest = past}, .repo = repo, .result = reading};
    bool done = ts_git_set_new(repo, &reading->reached, NULL) == TS_GIT_OK &&
                ts_git_set_new(repo, &reading->fresh, NULL) == TS_GIT_OK;
    if (done)
        ts_git_set_invert(reading->fresh);
    done = done && read_place(&r, key) && read_packs(&r, key) && read_loose(&r);
    if (done) {
        read_absent(&r);
        read_tips(&r);
        read_bits(&r);
        read_tags(&r);
        read_commits(&r);
        done = !r.in.is_bad && r.in.rest.len == 0;
    }
    free(r.packs);
    free(r.loose);
    return done;
}

void git__past_reading_release(struct git__past_reading *reading) {
    ts_git_graph_free(reading->graph);
    ts_git_set_free(reading->reached);
    ts_git_set_free(reading->fresh);
    free(reading->tips.items);
}
