/*
 * Reads any bytes as a pack with its index, and visits and walks the pack. Two bytes, little-endian, are the
 * length of the index. Then the index and the pack follow.
 */
#include "git/walk.h"
#include "outline.h"
#include "repo_impl.h"

#include "base/assert.h"
#include "base/endian.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool take(void *ctx, unsigned worker, const struct ts_git_object *object, void **result) {
    (void)ctx;
    (void)worker;
    (void)result;
    for (size_t i = 0; object->base != NULL && i < object->base->copy_count; i++) {
        const struct ts_git_copy *copy = &object->base->copies[i];
        ts_assert(copy->at + copy->len <= object->size && copy->from + copy->len <= object->base->size);
    }
    return true;
}

static void visit(struct ts_git_repo *repo) {
    struct ts_git_visit_options options = {
        .types = 0x1e, .memory_bytes = 4u << 20, .object_bytes_max = 1u << 20, .window_bytes = 4096};
    struct ts_git_visitor visitor = {.visit = take};
    (void)ts_git_visit(repo, &options, &visitor, NULL, NULL);
    for (uint32_t i = 0; i < repo->packs[0].index.count && i < 64; i++) {
        struct ts_git_oid oid = ts_git_oid_of(repo->hash, git__pack_index_id(&repo->packs[0].index, i));
        struct ts_git_content content;
        if (ts_git_object_read(repo, &oid, 1u << 20, &content, NULL) == TS_GIT_OK)
            free(content.bytes);
    }
}

static void walk(struct ts_git_repo *repo) {
    struct ts_git_graph *graph = NULL;
    struct ts_git_set *set = NULL;
    struct ts_git_graph_options options = {.memory_bytes = 4u << 20};
    if (ts_git_graph_new(repo, &options, &graph, NULL) != TS_GIT_OK)
        return;
    struct ts_git_oid tips[64];
    size_t count = repo->packs[0].index.count < 64 ? repo->packs[0].index.count : 64;
    for (size_t i = 0; i < count; i++)
        tips[i] = ts_git_oid_of(repo->hash, git__pack_index_id(&repo->packs[0].index, (uint32_t)i));
    struct ts_git_selection all = {.from = tips, .from_count = count};
    struct ts_git_occurrences occurrences;
    if (ts_git_graph_reach(graph, &all, &set, NULL, NULL) == TS_GIT_OK &&
        ts_git_graph_attribute(graph, &all, set, 100, &occurrences, NULL) == TS_GIT_OK)
        ts_git_occurrences_release(&occurrences);
    ts_git_set_free(set);
    ts_git_graph_free(graph);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2 || (size_t)ts_le16_load(data) + 2 > size)
        return 0;
    struct ts_bytes index = ts_bytes_of(data + 2, ts_le16_load(data));
    struct ts_bytes bytes = ts_bytes_of(data + 2 + index.len, size - 2 - index.len);
    char path[] = "fuzz.pack";
    char folder[] = "fuzz";
    struct git__pack pack = {.path = path, .map = {.bytes = bytes}, .end = bytes.len};
    struct ts_git_repo repo = {
        .hash = TS_GIT_SHA1, .git_dir = folder, .common_dir = folder, .packs = &pack, .pack_count = 1};
    if (!git__pack_index_init(TS_GIT_SHA1, index, &pack.index) || !git__inflater_init(&repo.inflater))
        return 0;
    visit(&repo);
    walk(&repo);
    git__refs_release(&repo.refs);
    git__numbers_release(&repo.numbers);
    git__inflater_release(&repo.inflater);
    free(pack.by_offset);
    git__outline_free(pack.outline);
    return 0;
}
