/* Builds one object that is small enough to hold. */
#include "hash.h"
#include "loose.h"
#include "os/grow.h"
#include "visit_run.h"

#include "base/assert.h"
#include "base/endian.h"

#include <libdeflate.h>
#include <stdlib.h>
#include <sys/mman.h>

struct git__held *git__held_new(const struct git__job *job, uint64_t size) {
    struct git__held *held = calloc(1, sizeof *held);
    if (held == NULL)
        return NULL;
    atomic_init(&held->refs, 1);
    held->plan = job->plan;
    held->node = job->node;
    held->size = size;
    return held;
}

void git__held_unref(struct git__worker *worker, struct git__held *held) {
    if (held == NULL || atomic_fetch_sub(&held->refs, 1) != 1)
        return;
    const struct ts_git_visitor *visitor = &worker->run->visitor;
    if (held->result != NULL && visitor->release != NULL)
        visitor->release(visitor->ctx, held->result);
    git__pool_give(&worker->pool, held->buffer);
    if (held->mapped.data != NULL)
        munmap((void *)(uintptr_t)held->mapped.data, held->mapped.len);
    free(held);
}

/* Drops the bytes of one base. The nearest frame is never dropped, because it is the base in use. */
bool git__spare_frame(void *owner) {
    struct git__worker *worker = owner;
    for (size_t i = 0; i + 1 < worker->frame_count; i++) {
        struct git__held *held = worker->frames[i].held;
        if (held->buffer.bytes == NULL || atomic_load(&held->refs) != 1)
            continue;
        git__pool_drop(&worker->pool, held->buffer);
        held->buffer = (struct git__buffer){NULL, 0};
        return true;
    }
    return false;
}

enum ts_git_error git__check_crc(const struct git__job *job, const struct git__entry *entry, size_t used) {
    const struct git__pack *pack = job->plan->pack;
    if (pack->index.crcs == NULL)
        return TS_GIT_OK;
    const struct git__node *node = &job->plan->nodes[job->node];
    const uint8_t *from = pack->map.bytes.data + node->offset;
    size_t len = (size_t)(entry->data.data - from) + used;
    uint32_t expected = ts_be32_load(pack->index.crcs + (size_t)node->position * 4);
    return libdeflate_crc32(0, from, len) == expected ? TS_GIT_OK : TS_GIT_BAD_CHECKSUM;
}

static void stop(struct git__run *run) {
    atomic_store(&run->is_stopped, true);
    pthread_mutex_lock(&run->lock);
    pthread_cond_broadcast(&run->more);
    pthread_mutex_unlock(&run->lock);
}

bool git__goes_on(struct git__worker *worker, uint64_t bytes) {
    const struct ts_git_watch *watch = &worker->run->watch;
    if (watch->go_on == NULL || watch->go_on(watch->ctx, bytes))
        return true;
    stop(worker->run);
    return false;
}

bool git__is_verified(const struct git__worker *worker, const struct git__job *job) {
    return job->is_wanted && ((worker->run->verify & TS_GIT_TYPE_BIT(job->type)) != 0 || job->plan == NULL ||
                              job->plan->pack->index.crcs == NULL);
}

/* Calls the visitor with the caller's content, and fills in the rest of the object. */
bool git__visit_object(struct git__worker *worker, const struct git__job *job,
                       const struct ts_git_object *content, void **result) {
    struct git__run *run = worker->run;
    enum ts_git_hash hash = run->repo->hash;
    struct ts_git_object object = *content;
    struct ts_git_base base;
    object.oid = ts_git_oid_of(hash, git__number_id(run->repo, job->number));
    object.number = job->number;
    object.type = job->type;
    object.loose_file = job->loose_file;
    object.is_base = job->is_base;
    if (job->base != NULL && job->base->is_visited && !worker->copies.too_many) {
        const struct git__plan *plan = job->base->plan;
        uint32_t position = plan->nodes[job->base->node].position;
        base = (struct ts_git_base){
            .number = plan->first_number + position,
            .size = job->base->size,
            .content = git__held_content(job->base),
            .result = job->base->result,
            .copies = worker->copies.items,
            .copy_count = worker->copies.count,
        };
        object.base = &base;
    }
    if (object.is_last) {
        worker->stats.objects++;
        worker->stats.bytes += object.size;
        worker->stats.deltas += object.base != NULL;
    }
    if (run->visitor.visit(run->visitor.ctx, worker->index, &object, result))
        return true;
    stop(run);
    return false;
}

/* Visits a whole object, and makes a base of it or frees it. Takes over the buffer. Nothing may fail after
 * the visit, because a visited object must not be built again. */
static enum ts_git_error finish(struct git__worker *worker, const struct git__job *job,
                                struct git__buffer buffer, size_t size, struct git__held **ret_held) {
    void *result = NULL;
    const struct ts_git_visitor *visitor = &worker->run->visitor;
    const struct ts_git_repo *repo = worker->run->repo;
    struct git__held *held = NULL;
    enum ts_git_error error = git__goes_on(worker, size) ? TS_GIT_OK : TS_GIT_STOPPED;
    if (error == TS_GIT_OK && git__is_verified(worker, job) &&
        !git__is_content_of(repo->hash, job->type, ts_bytes_of(buffer.bytes, size),
                            git__number_id(repo, job->number)))
        error = TS_GIT_BAD_ID;
    if (error == TS_GIT_OK && job->is_base && (held = git__held_new(job, size)) == NULL)
        error = TS_GIT_NO_MEMORY;
    if (error == TS_GIT_OK && job->is_wanted) {
        struct ts_git_object object = {
            .size = size, .content = ts_bytes_of(buffer.bytes, size), .is_last = true};
        (void)git__visit_object(worker, job, &object, &result);
    }
    if (held != NULL) {
        held->buffer = buffer;
        held->is_visited = job->is_wanted;
        held->result = result;
        *ret_held = held;
        return error;
    }
    if (result != NULL && visitor->release != NULL)
        visitor->release(visitor->ctx, result);
    git__pool_give(&worker->pool, buffer);
    return error;
}

static enum ts_git_error build_whole(struct git__worker *worker, const struct git__job *job,
                                     const struct git__entry *entry, struct git__held **ret_held) {
    if (entry->size > worker->run->object_max)
        return TS_GIT_TOO_LARGE;
    if (entry->size > worker->run->whole_max) {
        struct git__inflate_stream stream;
        enum ts_git_error error = git__inflate_stream_init(&stream, entry->data);
        if (error == TS_GIT_OK)
            error = git__large_whole(worker, job, entry, entry->size, &stream, ret_held);
        git__inflate_stream_release(&stream);
        return error;
    }
    struct git__buffer buffer;
    size_t size = (size_t)entry->size;
    if (!git__pool_take(&worker->pool, size, &buffer))
        return TS_GIT_NO_MEMORY;
    size_t used;
    enum ts_git_error error = git__inflate(&worker->inflater, entry->data, buffer.bytes, size, &used);
    if (error == TS_GIT_OK)
        error = git__check_crc(job, entry, used);
    if (error == TS_GIT_OK)
        return finish(worker, job, buffer, size, ret_held);
    git__pool_give(&worker->pool, buffer);
    return error;
}

/* Builds an object from a delta whose bytes are already inflated. */
static enum ts_git_error apply(struct git__worker *worker, const struct git__job *job, struct ts_bytes delta,
                               struct git__held **ret_held) {
    struct git__run *run = worker->run;
    struct git__delta_head head;
    if (!git__delta_head_parse(delta, &head) || head.base_size != job->base->size)
        return TS_GIT_BAD_DELTA;
    if (head.result_size > run->object_max)
        return TS_GIT_TOO_LARGE;
    if (head.result_size > run->whole_max)
        return git__large_delta(worker, job, &head, ret_held);
    struct git__buffer buffer;
    if (!git__pool_take(&worker->pool, (size_t)head.result_size, &buffer))
        return TS_GIT_NO_MEMORY;
    bool with_copies = job->is_wanted && job->base->is_visited;
    if (git__delta_apply(git__held_content(job->base), &head, buffer.bytes,
                         with_copies ? &worker->copies : NULL))
        return finish(worker, job, buffer, (size_t)head.result_size, ret_held);
    git__pool_give(&worker->pool, buffer);
    return TS_GIT_BAD_DELTA;
}

static enum ts_git_error build_from_spilled_delta(struct git__worker *worker, const struct git__job *job,
                                                  const struct git__entry *entry,
                                                  struct git__held **ret_held) {
    if (entry->size > worker->run->object_max)
        return TS_GIT_TOO_LARGE;
    struct git__inflate_stream stream;
    struct ts_bytes delta;
    enum ts_git_error error = git__inflate_stream_init(&stream, entry->data);
    if (error == TS_GIT_OK)
        error = git__spill_stream(worker, &stream, entry->size, &delta);
    size_t used = stream.z.total_in;
    git__inflate_stream_release(&stream);
    if (error != TS_GIT_OK)
        return error;
    error = git__check_crc(job, entry, used);
    if (error == TS_GIT_OK)
        error = apply(worker, job, delta, ret_held);
    munmap((void *)(uintptr_t)delta.data, delta.len);
    return error;
}

static enum ts_git_error build_delta(struct git__worker *worker, const struct git__job *job,
                                     const struct git__entry *entry, struct git__held **ret_held) {
    if (entry->size > worker->run->whole_max)
        return build_from_spilled_delta(worker, job, entry, ret_held);
    struct git__buffer delta;
    size_t size = (size_t)entry->size;
    if (!git__pool_take(&worker->pool, size, &delta))
        return TS_GIT_NO_MEMORY;
    size_t used;
    enum ts_git_error error = git__inflate(&worker->inflater, entry->data, delta.bytes, size, &used);
    if (error == TS_GIT_OK)
        error = git__check_crc(job, entry, used);
    if (error == TS_GIT_OK)
        error = apply(worker, job, ts_bytes_of(delta.bytes, size), ret_held);
    git__pool_give(&worker->pool, delta);
    return error;
}

/* Records problems for all nodes below `top`: if an object cannot be built, all its deltas are damaged, too.
 * Trees may be deep, so there is no recursion. */
static void note_subtree(struct git__worker *worker, const struct git__plan *plan, uint32_t top) {
    uint32_t at = plan->nodes[top].first_child;
    while (at != GIT__NONE && at != top) {
        const struct git__node *node = &plan->nodes[at];
        if (node->is_wanted)
            git__problem_add_typed(&worker->problems,
                                   &(struct git__problem){.number = plan->first_number + node->position,
                                                          .error = TS_GIT_BASE_DAMAGED,
                                                          .type = node->type});
        if (node->first_child != GIT__NONE) {
            at = node->first_child;
            continue;
        }
        while (at != top && plan->nodes[at].next_sibling == GIT__NONE)
            at = plan->nodes[at].parent;
        if (at != top)
            at = plan->nodes[at].next_sibling;
    }
}

/* Prefetches the id and the CRC of an object, which are used after the object is inflated. */
static void expect_id(const struct git__job *job) {
    const struct git__pack_index *index = &job->plan->pack->index;
    uint32_t position = job->plan->nodes[job->node].position;
    const uint8_t *id = git__pack_index_id(index, position);
    __builtin_prefetch(id);
    __builtin_prefetch(id + index->id_step - 1);
    if (index->crcs != NULL)
        __builtin_prefetch(index->crcs + (size_t)position * 4);
}

static enum ts_git_error build(struct git__worker *worker, const struct git__job *job,
                               struct git__held **ret_held) {
    struct git__entry entry;
    struct git__extent extent = git__plan_extent(job->plan, job->node);
    expect_id(job);
    enum ts_git_error error = git__pack_entry(job->plan->pack, extent, &entry);
    if (error != TS_GIT_OK)
        return error;
    git__resident_note(&worker->run->resident, job->plan->pack, extent);
    if (entry.kind == GIT__ENTRY_WHOLE)
        return build_whole(worker, job, &entry, ret_held);
    ts_assert(job->base != NULL);
    return build_delta(worker, job, &entry, ret_held);
}

struct git__held *git__build(struct git__worker *worker, const struct git__job *job) {
    struct git__held *held = NULL;
    enum ts_git_error error = TS_GIT_OK;
    if (job->base != NULL && !git__held_restore(worker, job->base))
        error = TS_GIT_BASE_DAMAGED;
    if (error == TS_GIT_OK)
        error = build(worker, job, &held);
    if (error == TS_GIT_OK || error == TS_GIT_STOPPED)
        return held;
    if (job->is_wanted)
        git__problem_add_typed(
            &worker->problems,
            &(struct git__problem){.number = job->number, .error = error, .type = (uint8_t)job->type});
    if (job->is_base)
        note_subtree(worker, job->plan, job->node);
    return NULL;
}

/* Builds a dropped base again, without visiting it. Starts at the nearest base in its chain that is still
 * held. */
bool git__held_restore(struct git__worker *worker, struct git__held *held) {
    if (held->buffer.bytes != NULL || held->mapped.data != NULL)
        return true;
    worker->stats.rebuilt++;
    uint32_t *chain = NULL;
    size_t count = 0;
    size_t capacity = 0;
    struct git__held *base = NULL;
    for (uint32_t node = held->node; node != GIT__NONE; node = held->plan->nodes[node].parent) {
        for (size_t i = 0; i < worker->frame_count && base == NULL; i++) {
            struct git__held *known = worker->frames[i].held;
            if (known->node == node && known->plan == held->plan &&
                (known->buffer.bytes != NULL || known->mapped.data != NULL))
                base = known;
        }
        if (base != NULL)
            break;
        if (!TS_GROW(chain, capacity, count + 1)) {
            free(chain);
            return false;
        }
        chain[count++] = node;
    }
    if (base != NULL)
        atomic_fetch_add(&base->refs, 1);
    bool done = true;
    while (count > 0 && done) {
        struct git__job job = {.plan = held->plan, .node = chain[--count], .base = base, .is_base = true};
        struct git__held *next = NULL;
        done = build(worker, &job, &next) == TS_GIT_OK && next != NULL;
        git__held_unref(worker, base);
        base = next;
    }
    free(chain);
    if (done && base != NULL) {
        held->buffer = base->buffer;
        held->mapped = base->mapped;
        base->buffer = (struct git__buffer){NULL, 0};
        base->mapped = (struct ts_bytes){NULL, 0};
    }
    git__held_unref(worker, base);
    return done;
}

void git__note_loose_type(struct ts_git_repo *repo, uint32_t number, enum ts_git_type type) {
    repo->numbers.loose[number - repo->numbers.pack_first[repo->pack_count]].type = (uint8_t)type;
}

static enum ts_git_error build_loose(struct git__worker *worker, struct git__job *job, struct ts_bytes file) {
    struct git__run *run = worker->run;
    struct git__loose_head head;
    struct git__held *none = NULL;
    enum ts_git_error error = git__loose_head(file, &head);
    if (error != TS_GIT_OK)
        return error;
    if ((run->types & TS_GIT_TYPE_BIT(head.type)) == 0) {
        git__note_loose_type(run->repo, job->number, head.type);
        return TS_GIT_OK;
    }
    job->type = head.type;
    if (head.size > run->object_max)
        return TS_GIT_TOO_LARGE;
    if (head.size > run->whole_max) {
        struct git__inflate_stream stream;
        error = git__loose_stream(file, &head, &stream);
        if (error == TS_GIT_OK) {
            error = git__large_whole(worker, job, NULL, head.size, &stream, &none);
            if (error == TS_GIT_OK && !git__inflate_stream_used_all(&stream))
                error = TS_GIT_BAD_DEFLATE;
            git__inflate_stream_release(&stream);
        }
        return error;
    }
    struct git__buffer buffer;
    if (!git__pool_take(&worker->pool, (size_t)head.size, &buffer))
        return TS_GIT_NO_MEMORY;
    error = git__loose_content(&worker->inflater, file, &head, buffer.bytes);
    if (error == TS_GIT_OK)
        return finish(worker, job, buffer, (size_t)head.size, &none);
    git__pool_give(&worker->pool, buffer);
    return error;
}

void git__build_loose(struct git__worker *worker, uint32_t position) {
    const struct ts_git_repo *repo = worker->run->repo;
    const struct git__loose_object *loose = &repo->numbers.loose[position];
    struct git__job job = {.number = repo->numbers.pack_first[repo->pack_count] + position,
                           .is_wanted = true};
    char *path = git__loose_path(repo, loose->object_dir, &loose->oid);
    struct git__map map = {.bytes = {NULL, 0}};
    enum ts_git_error error = path == NULL ? TS_GIT_NO_MEMORY : git__map_open_once(path, &map, NULL);
    job.loose_file = map.bytes;
    if (error == TS_GIT_OK)
        error = build_loose(worker, &job, map.bytes);
    if (error != TS_GIT_OK && error != TS_GIT_STOPPED)
        git__problem_add_typed(
            &worker->problems,
            &(struct git__problem){.number = job.number, .error = error, .type = (uint8_t)job.type});
    git__map_release(&map);
    free(path);
}
