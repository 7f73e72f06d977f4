#include "evidence_impl.h"

#include "os/grow.h"
#include "outline.h"
#include "repo_impl.h"
#include "set_impl.h"

#include "base/blake3.h"
#include "base/endian.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

__extension__ typedef unsigned __int128 u128;

#define BLOCK_LEN   1024
#define BLOCK_WORDS (BLOCK_LEN / 8)

/* Kinds of stored bytes. The kind of a whole entry is its type, which is below 16. */
enum { KIND_LOOSE = 16, KIND_DELTA = 17 };
/* The fields that are hashed before the stored bytes. */
struct head {
    uint64_t kind;
    uint64_t size;
    uint64_t base;
};

struct ts_git_evidence {
    const struct ts_git_repo *repo;
    uint8_t key[TS_GIT_EVIDENCE_KEY_LEN];
    uint64_t words[BLOCK_WORDS];
    uint64_t sip_key[2];
    _Atomic uint64_t *found; /* evidence, indexed by object number; 0: unknown */
    uint32_t **node_of;      /* indexed by pack, then by position in its index: the node in the outline */
    uint8_t (*pack_ids)[TS_GIT_PACK_ID_LEN];
    const uint8_t **sorted; /* pointers into pack_ids, sorted by id */
    size_t pack_count;      /* number of packs at creation: packs that are added later have no evidence */
    uint32_t total;
    uint64_t bytes;
};

/* ---- the hash ---- */

/* NH: different messages of the same length collide for at most 2^-64 of the keys. len is at most BLOCK_LEN.
 * Zeros pad the message to a multiple of sixteen bytes; the hashed length distinguishes them from real zeros. */
static u128 hash_block(const uint64_t words[static BLOCK_WORDS], const uint8_t *bytes, size_t len) {
    u128 sum = 0;
    size_t at = 0;
    for (; at + 16 <= len; at += 16)
        sum += (u128)(ts_le64_load(bytes + at) + words[at / 8]) *
               (ts_le64_load(bytes + at + 8) + words[at / 8 + 1]);
    if (at < len) {
        uint8_t last[16] = {0};
        memcpy(last, bytes + at, len - at);
        sum += (u128)(ts_le64_load(last) + words[at / 8]) * (ts_le64_load(last + 8) + words[at / 8 + 1]);
    }
    return sum;
}

static uint64_t rotate(uint64_t value, unsigned by) {
    return value << by | value >> (64 - by);
}

/* SipHash-2-4 over words. */
struct sip {
    uint64_t v[4];
};

static void sip_round(struct sip *sip) {
    uint64_t *v = sip->v;
    v[0] += v[1];
    v[2] += v[3];
    v[1] = rotate(v[1], 13) ^ v[0];
    v[3] = rotate(v[3], 16) ^ v[2];
    v[0] = rotate(v[0], 32);
    v[2] += v[1];
    v[0] += v[3];
    v[1] = rotate(v[1], 17) ^ v[2];
    v[3] = rotate(v[3], 21) ^ v[0];
    v[2] = rotate(v[2], 32);
}

static void sip_add(struct sip *sip, uint64_t word) {
    sip->v[3] ^= word;
    sip_round(sip);
    sip_round(sip);
    sip->v[0] ^= word;
}

static uint64_t hash_stored(const struct ts_git_evidence *evidence, const struct head *head,
                            struct ts_bytes stored) {
    const uint64_t *key = evidence->sip_key;
    struct sip sip = {{key[0] ^ UINT64_C(0x736f6d6570736575), key[1] ^ UINT64_C(0x646f72616e646f6d),
                       key[0] ^ UINT64_C(0x6c7967656e657261), key[1] ^ UINT64_C(0x7465646279746573)}};
    sip_add(&sip, head->kind);
    sip_add(&sip, head->size);
    sip_add(&sip, head->base);
    sip_add(&sip, stored.len);
    for (size_t at = 0; at < stored.len; at += BLOCK_LEN) {
        size_t rest = stored.len - at;
        u128 sum = hash_block(evidence->words, stored.data + at, rest < BLOCK_LEN ? rest : BLOCK_LEN);
        sip_add(&sip, (uint64_t)sum);
        sip_add(&sip, (uint64_t)(sum >> 64));
    }
    /* The last word does not contain the length of the message, because stored.len is already hashed. */
    sip_add(&sip, 0);
    sip.v[2] ^= 0xff;
    for (int i = 0; i < 4; i++)
        sip_round(&sip);
    uint64_t made = sip.v[0] ^ sip.v[1] ^ sip.v[2] ^ sip.v[3];
    return made != 0 ? made : 1;
}

/* ---- packs ---- */

static int compare_ids(const void *a, const void *b) {
    return memcmp(*(const uint8_t *const *)a, *(const uint8_t *const *)b, TS_GIT_PACK_ID_LEN);
}

void git__pack_identify(const uint8_t key[static TS_GIT_EVIDENCE_KEY_LEN], const struct git__pack *pack,
                        uint8_t ret_id[static TS_GIT_PACK_ID_LEN]) {
    struct ts_blake3 hasher;
    ts_blake3_init_keyed(&hasher, key);
    ts_blake3_update(&hasher, ts_bytes_of(&pack->map.identity, sizeof pack->map.identity));
    ts_blake3_update(&hasher, ts_bytes_of(&pack->index_map.identity, sizeof pack->index_map.identity));
    ts_blake3_output(&hasher, 0, ret_id, TS_GIT_PACK_ID_LEN);
}

static bool find_nodes(struct ts_git_evidence *evidence, size_t number) {
    struct git__pack *pack = &evidence->repo->packs[number];
    if (pack->outline == NULL)
        pack->outline = git__outline_new(pack);
    uint32_t *node_of = malloc(((size_t)pack->index.count + 1) * sizeof *node_of);
    evidence->node_of[number] = node_of;
    if (pack->outline == NULL || node_of == NULL)
        return false;
    memset(node_of, 0xff, ((size_t)pack->index.count + 1) * sizeof *node_of);
    for (uint32_t i = 0; i < pack->outline->count; i++)
        node_of[pack->outline->nodes[i].position] = i;
    return true;
}

enum ts_git_error ts_git_evidence_new(struct ts_git_repo *repo,
                                      const uint8_t key[static TS_GIT_EVIDENCE_KEY_LEN],
                                      const struct ts_git_set *only, struct ts_git_evidence **ret_evidence,
                                      struct ts_git_fault *ret_fault) {
    enum ts_git_error error = git__numbers_fill(repo, NULL, ret_fault);
    if (error != TS_GIT_OK)
        return error;
    struct ts_git_evidence *evidence = calloc(1, sizeof *evidence);
    if (evidence == NULL)
        return git__fault(TS_GIT_NO_MEMORY, repo->common_dir, ret_fault);
    struct ts_blake3 hasher;
    uint8_t words[BLOCK_LEN + 16];
    evidence->repo = repo;
    memcpy(evidence->key, key, sizeof evidence->key);
    ts_blake3_init_keyed(&hasher, key);
    ts_blake3_update(&hasher, TS_BYTES("words of evidence"));
    ts_blake3_output(&hasher, 0, words, sizeof words);
    for (size_t i = 0; i < BLOCK_WORDS; i++)
        evidence->words[i] = ts_le64_load(words + 8 * i);
    for (size_t i = 0; i < 2; i++)
        evidence->sip_key[i] = ts_le64_load(words + BLOCK_LEN + 8 * i);
    size_t count = repo->pack_count;
    evidence->pack_count = count;
    evidence->total = repo->numbers.total;
    evidence->found = calloc((size_t)repo->numbers.total + 1, sizeof *evidence->found);
    evidence->node_of = calloc(count + 1, sizeof *evidence->node_of);
    evidence->pack_ids = calloc(count + 1, sizeof *evidence->pack_ids);
    evidence->sorted = calloc(count + 1, sizeof *evidence->sorted);
    bool done = evidence->found != NULL && evidence->node_of != NULL && evidence->pack_ids != NULL &&
                evidence->sorted != NULL;
    for (size_t i = 0; i < count && done; i++) {
        git__pack_identify(key, &repo->packs[i], evidence->pack_ids[i]);
        evidence->sorted[i] = evidence->pack_ids[i];
        if (!git__is_unwanted(repo, (uint32_t)i, only))
            done = find_nodes(evidence, i);
    }
    if (!done) {
        ts_git_evidence_free(evidence);
        return git__fault(TS_GIT_NO_MEMORY, repo->common_dir, ret_fault);
    }
    if (count > 1)
        qsort(evidence->sorted, count, sizeof *evidence->sorted, compare_ids);
    evidence->bytes = (uint64_t)repo->numbers.total * (sizeof *evidence->found + sizeof **evidence->node_of);
    *ret_evidence = evidence;
    return TS_GIT_OK;
}

void ts_git_evidence_free(struct ts_git_evidence *evidence) {
    if (evidence == NULL)
        return;
    for (size_t i = 0; evidence->node_of != NULL && i < evidence->pack_count; i++)
        free(evidence->node_of[i]);
    free(evidence->node_of);
    free(evidence->pack_ids);
    free(evidence->sorted);
    free(evidence->found);
    free(evidence);
}

uint64_t ts_git_evidence_bytes(const struct ts_git_evidence *evidence) {
    return evidence != NULL ? evidence->bytes : 0;
}

const uint8_t *ts_git_evidence_packs(const struct ts_git_evidence *evidence, size_t *ret_count) {
    *ret_count = evidence->pack_count;
    return &evidence->pack_ids[0][0];
}

uint32_t ts_git_evidence_find_pack(const struct ts_git_evidence *evidence, const uint8_t *id) {
    const uint8_t *const *found =
        bsearch(&id, evidence->sorted, evidence->pack_count, sizeof *evidence->sorted, compare_ids);
    return found == NULL ? TS_GIT_NO_PACK
                         : (uint32_t)((size_t)(*found - &evidence->pack_ids[0][0]) / TS_GIT_PACK_ID_LEN);
}

/* ---- objects in packs ---- */

/* Returns the evidence of a node, or 0 if it is unknown. `base` is the evidence of the node's base; 0:
 * none. */
static uint64_t hash_node(const struct ts_git_evidence *evidence, const struct git__pack *pack, uint32_t node,
                          uint64_t base) {
    const struct git__outline *outline = pack->outline;
    struct git__extent extent = {outline->nodes[node].offset,
                                 node + 1 < outline->count ? outline->nodes[node + 1].offset : pack->end};
    struct git__entry entry;
    if (outline->nodes[node].error != TS_GIT_OK || git__pack_entry(pack, extent, &entry) != TS_GIT_OK)
        return 0;
    bool is_whole = entry.kind == GIT__ENTRY_WHOLE;
    if (is_whole != (outline->nodes[node].parent == GIT__NONE) || (!is_whole && base == 0))
        return 0;
    struct head head = {
        .kind = is_whole ? (uint64_t)entry.type : KIND_DELTA, .size = entry.size, .base = base};
    return hash_stored(evidence, &head, entry.data);
}

/* Returns the evidence of an object in a pack. Computes the evidence of the object's bases first. Most bases
 * have their evidence from their own visit. A chain of bases may contain every entry of the pack. */
static uint64_t find_in_pack(struct ts_git_evidence *evidence, uint32_t number, struct git__spot spot) {
    const struct git__pack *pack = &evidence->repo->packs[spot.pack];
    uint32_t first = number - spot.position;
    const uint32_t *node_of = evidence->node_of[spot.pack];
    uint32_t node = node_of != NULL ? node_of[spot.position] : GIT__NONE;
    if (node == GIT__NONE || pack->outline->nodes[node].error != TS_GIT_OK)
        return 0;
    uint32_t *chain = NULL;
    size_t count = 0;
    size_t capacity = 0;
    uint64_t found = 0;
    for (; node != GIT__NONE && found == 0; node = pack->outline->nodes[node].parent) {
        found = atomic_load_explicit(&evidence->found[first + pack->outline->nodes[node].position],
                                     memory_order_relaxed);
        if (found != 0)
            break;
        if (!TS_GROW(chain, capacity, count + 1)) {
            free(chain);
            return 0;
        }
        chain[count++] = node;
    }
    bool is_known = true;
    while (count > 0 && is_known) {
        node = chain[--count];
        found = hash_node(evidence, pack, node, found);
        is_known = found != 0;
        atomic_store_explicit(&evidence->found[first + pack->outline->nodes[node].position], found,
                              memory_order_relaxed);
    }
    free(chain);
    return found;
}

/* ---- loose objects ---- */

static uint64_t hash_loose(const struct ts_git_evidence *evidence, struct ts_bytes file) {
    struct head head = {.kind = KIND_LOOSE};
    return file.len > 0 ? hash_stored(evidence, &head, file) : 0;
}

static uint64_t find_loose(const struct ts_git_evidence *evidence, uint32_t position) {
    const struct git__loose_object *loose = &evidence->repo->numbers.loose[position];
    char *path = git__loose_path(evidence->repo, loose->object_dir, &loose->oid);
    struct git__map map = {.bytes = {NULL, 0}};
    uint64_t found = 0;
    if (path != NULL && git__map_open_once(path, &map, NULL) == TS_GIT_OK)
        found = hash_loose(evidence, map.bytes);
    git__map_release(&map);
    free(path);
    return found;
}

/* ---- packed and loose objects ---- */

uint64_t ts_git_evidence_of(struct ts_git_evidence *evidence, const struct ts_git_object *object,
                            uint32_t *ret_pack) {
    struct git__spot spot = git__number_spot(evidence->repo, object->number);
    *ret_pack = spot.pack == GIT__NONE ? TS_GIT_NO_PACK : spot.pack;
    if (object->is_other_copy || evidence->total != evidence->repo->numbers.total)
        return 0;
    /* For a loose object, hashes the bytes that the visit read, because the file may have changed since. */
    return spot.pack == GIT__NONE ? hash_loose(evidence, object->loose_file)
                                  : find_in_pack(evidence, object->number, spot);
}

enum ts_git_sameness ts_git_evidence_compare(struct ts_git_evidence *evidence, const struct ts_git_oid *oid,
                                             uint64_t then, uint32_t pack, uint32_t *ret_pack) {
    uint32_t number = git__number_of(evidence->repo, oid->bytes);
    if (number == GIT__NONE || evidence->total != evidence->repo->numbers.total)
        return TS_GIT_OTHER;
    struct git__spot spot = git__number_spot(evidence->repo, number);
    *ret_pack = spot.pack == GIT__NONE ? TS_GIT_NO_PACK : spot.pack;
    if (pack != TS_GIT_NO_PACK && spot.pack == pack)
        return TS_GIT_SAME_PACK;
    uint64_t now =
        spot.pack == GIT__NONE ? find_loose(evidence, spot.position) : find_in_pack(evidence, number, spot);
    return now != 0 && now == then ? TS_GIT_SAME_BYTES : TS_GIT_OTHER;
}
