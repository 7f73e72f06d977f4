/*
 * Visits objects that are too large to hold, in windows, while they are inflated. If such an object is a
 * base, it is also written to an unlinked file, and its deltas read that file through a mapping.
 */
#include "hash.h"
#include "visit_run.h"

#include "base/checked.h"
#include "os/unnamed_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The source of bytes: either `inflate` or `delta` is set. */
struct source {
    struct git__inflate_stream *inflate;
    struct git__delta_stream *delta;
    const struct git__entry *entry; /* the entry that is inflated; NULL if it has no CRC of its own */
};

static enum ts_git_error source_read(const struct source *source, uint8_t *bytes, size_t len) {
    if (source->delta != NULL)
        return git__delta_stream_read(source->delta, bytes, len) ? TS_GIT_OK : TS_GIT_BAD_DELTA;
    size_t got = 0;
    enum ts_git_error error = git__inflate_stream_read(source->inflate, bytes, len, &got);
    return error == TS_GIT_OK && got < len ? TS_GIT_BAD_DEFLATE : error;
}

static enum ts_git_error source_finish(const struct source *source, const struct git__job *job) {
    if (source->delta != NULL)
        return git__delta_stream_is_done(source->delta) ? TS_GIT_OK : TS_GIT_BAD_DELTA;
    enum ts_git_error error = git__inflate_stream_finish(source->inflate);
    if (error == TS_GIT_OK && source->entry != NULL)
        error = git__check_crc(job, source->entry, source->inflate->z.total_in);
    return error;
}

static bool spill_write(int fd, const uint8_t *bytes, size_t len) {
    while (len > 0) {
        ssize_t put = write(fd, bytes, len);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return false;
        bytes += put;
        len -= (size_t)put;
    }
    return true;
}

static bool spill_map(int fd, uint64_t size, struct ts_bytes *ret_mapped) {
    size_t len;
    if (!ts_narrow_u64_size(size, &len))
        return false;
    void *at = mmap(NULL, len, PROT_READ, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED)
        return false;
    *ret_mapped = ts_bytes_of(at, len);
    return true;
}

/* Reads and visits the object window by window. Each window begins with the end of the previous window. */
static enum ts_git_error go_through(struct git__worker *worker, const struct git__job *job, uint64_t size,
                                    const struct source *source, int spill, void **result) {
    struct git__run *run = worker->run;
    struct git__buffer buffer;
    if (!git__pool_take(&worker->pool, run->window, &buffer))
        return TS_GIT_NO_MEMORY;
    enum ts_git_error error = TS_GIT_OK;
    struct git__hasher hasher;
    bool is_verified = git__is_verified(worker, job);
    if (is_verified)
        git__hasher_init(&hasher, run->repo->hash, job->type, size);
    size_t overlap = 0;
    for (uint64_t at = 0; at < size && error == TS_GIT_OK;) {
        size_t room = run->window - overlap;
        size_t len = size - at < room ? (size_t)(size - at) : room;
        error = source_read(source, buffer.bytes + overlap, len);
        bool is_last = at + len == size;
        if (error == TS_GIT_OK && is_last)
            error = source_finish(source, job);
        if (error == TS_GIT_OK && is_verified)
            git__hasher_add(&hasher, ts_bytes_of(buffer.bytes + overlap, len));
        if (error == TS_GIT_OK && is_verified && is_last &&
            !git__hasher_is(&hasher, git__number_id(run->repo, job->number)))
            error = TS_GIT_BAD_ID;
        if (error == TS_GIT_OK && spill >= 0 && !spill_write(spill, buffer.bytes + overlap, len))
            error = TS_GIT_IO;
        if (error == TS_GIT_OK && !git__goes_on(worker, len))
            error = TS_GIT_STOPPED;
        if (error != TS_GIT_OK)
            break;
        if (job->is_wanted) {
            struct ts_git_object object = {.size = size,
                                           .content = ts_bytes_of(buffer.bytes, overlap + len),
                                           .content_at = at - overlap,
                                           .overlap = overlap,
                                           .is_last = is_last};
            if (!git__visit_object(worker, job, &object, result))
                error = TS_GIT_STOPPED;
        }
        size_t keep = overlap + len < run->overlap ? overlap + len : run->overlap;
        memmove(buffer.bytes, buffer.bytes + overlap + len - keep, keep);
        overlap = keep;
        at += len;
    }
    git__pool_give(&worker->pool, buffer);
    return error;
}

static enum ts_git_error large(struct git__worker *worker, const struct git__job *job, uint64_t size,
                               const struct source *source, struct git__held **ret_held) {
    const struct ts_git_visitor *visitor = &worker->run->visitor;
    struct git__held *held = NULL;
    void *result = NULL;
    int spill = -1;
    enum ts_git_error error = TS_GIT_OK;
    if (job->is_base) {
        held = git__held_new(job, size);
        spill = ts_unnamed_file_open(worker->run->spill_dir);
        error = held == NULL ? TS_GIT_NO_MEMORY : spill < 0 ? TS_GIT_IO : TS_GIT_OK;
    }
    if (error == TS_GIT_OK)
        error = go_through(worker, job, size, source, spill, &result);
    if (error == TS_GIT_OK && held != NULL) {
        worker->stats.spilled_bytes += size;
        if (!spill_map(spill, size, &held->mapped))
            error = TS_GIT_IO;
    }
    if (spill >= 0)
        close(spill);
    if (error == TS_GIT_OK && held != NULL) {
        held->is_visited = job->is_wanted;
        held->result = result;
        *ret_held = held;
        return TS_GIT_OK;
    }
    free(held);
    if (result != NULL && visitor->release != NULL)
        visitor->release(visitor->ctx, result);
    return error;
}

enum ts_git_error git__large_whole(struct git__worker *worker, const struct git__job *job,
                                   const struct git__entry *entry, uint64_t size,
                                   struct git__inflate_stream *stream, struct git__held **ret_held) {
    struct source source = {.inflate = stream, .entry = entry};
    return large(worker, job, size, &source, ret_held);
}

enum ts_git_error git__large_delta(struct git__worker *worker, const struct git__job *job,
                                   const struct git__delta_head *head, struct git__held **ret_held) {
    struct git__delta_stream stream;
    struct source source = {.delta = &stream};
    /* Makes the list first, so that errors in the delta are found before anything is visited. */
    if (!git__delta_copies(job->base->size, head, &worker->copies))
        return TS_GIT_BAD_DELTA;
    git__delta_stream_init(&stream, git__held_content(job->base), head);
    return large(worker, job, head->result_size, &source, ret_held);
}

enum ts_git_error git__spill_stream(struct git__worker *worker, struct git__inflate_stream *stream,
                                    uint64_t size, struct ts_bytes *ret_mapped) {
    struct source source = {.inflate = stream};
    struct git__job silent = {.is_wanted = false};
    int spill = ts_unnamed_file_open(worker->run->spill_dir);
    if (spill < 0)
        return TS_GIT_IO;
    void *none = NULL;
    enum ts_git_error error = go_through(worker, &silent, size, &source, spill, &none);
    if (error == TS_GIT_OK && !spill_map(spill, size, ret_mapped))
        error = TS_GIT_IO;
    if (error == TS_GIT_OK)
        worker->stats.spilled_bytes += size;
    close(spill);
    return error;
}
