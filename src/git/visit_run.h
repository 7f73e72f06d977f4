/*
 * A visit in progress: the state that its threads share, the state of each thread, and the objects that are
 * held as bases.
 *
 * The life of an object in a delta tree:
 *
 *   built ──visited──> held, while deltas of it follow ──last one built──> released
 *                        │  ▲
 *              dropped when memory is short, built again when needed (only by a thread that is its only holder)
 *
 * Lock order: run.lock and ledger.lock are never taken together.
 */
#ifndef TS_GIT_VISIT_RUN_H
#define TS_GIT_VISIT_RUN_H

#include "delta.h"
#include "inflate.h"
#include "ledger.h"
#include "plan.h"
#include "resident.h"

#include <pthread.h>
#include <stdatomic.h>

/* A base, shared by the threads that build its deltas. */
struct git__held {
    atomic_uint refs;
    const struct git__plan *plan;
    uint32_t node;
    uint64_t size;
    struct git__buffer buffer; /* dropped if its bytes are NULL */
    struct ts_bytes mapped;    /* the mapping of a spilled base, used instead of a buffer */
    bool is_visited;
    void *result;
};

/* A subtree that one thread passes to another. */
struct git__task {
    const struct git__plan *plan;
    uint32_t node;
    struct git__held *base;
};

struct git__run {
    struct ts_git_repo *repo;
    struct ts_git_visitor visitor;
    struct ts_git_watch watch;
    unsigned threads;
    unsigned types;
    unsigned verify; /* types whose contents are compared with their ids; contents without a CRC always are */
    uint64_t object_max;
    size_t whole_max; /* larger objects are visited in windows */
    size_t window;
    size_t overlap;
    const char *spill_dir;

    struct git__plan *plans; /* one plan for each pack */
    struct git__units units; /* roots of delta trees */
    size_t large_count;      /* number of large units, which come first; threads take them one at a time */
    uint32_t *loose;         /* positions of the loose objects to read */
    uint32_t loose_count;

    struct git__ledger ledger;
    struct git__resident resident;
    atomic_bool is_stopped;

    pthread_mutex_t lock; /* guards the fields below */
    pthread_cond_t more;
    uint64_t next_unit;
    struct git__task *tasks;
    size_t task_capacity;
    atomic_size_t task_count;
    atomic_uint idle;
};

struct git__frame {
    struct git__held *held;
    uint32_t next_child;
};

struct git__worker {
    struct git__run *run;
    unsigned index;
    pthread_t thread;
    bool has_thread;
    struct git__inflater inflater;
    struct git__pool pool;
    struct git__copies copies;
    struct git__frame *frames; /* bases of the current object, the nearest last */
    size_t frame_count;
    size_t frame_capacity;
    uint32_t ahead;    /* the next node to prefetch */
    unsigned ahead_by; /* how many objects the prefetch is ahead of the visit */
    struct git__problems problems;
    struct ts_git_visit_stats stats;
};

/* The object to build, its base, and what to do with the object. */
struct git__job {
    enum ts_git_type type;
    uint32_t number;
    const struct git__plan *plan; /* NULL for loose objects */
    uint32_t node;
    struct git__held *base; /* the base with its bytes; NULL for a whole object */
    bool is_wanted;         /* visit the object */
    bool is_base;           /* keep the content for deltas */
    struct ts_bytes loose_file;
};

/* Returns the content of a held object that is not dropped. */
static inline struct ts_bytes git__held_content(const struct git__held *held) {
    if (held->mapped.data != NULL)
        return held->mapped;
    return ts_bytes_of(held->buffer.bytes, (size_t)held->size);
}

void git__held_unref(struct git__worker *worker, struct git__held *held);

/* Builds an object and visits it. If job->is_base, returns the object as a base; NULL then means a failure,
 * which was recorded, or the end of the visit. Otherwise returns NULL. */
struct git__held *git__build(struct git__worker *worker, const struct git__job *job);
void git__build_loose(struct git__worker *worker, uint32_t position);

/* Records the type of a loose object that is not visited. One thread reads each object, so this needs no
 * lock. */
void git__note_loose_type(struct ts_git_repo *repo, uint32_t number, enum ts_git_type type);

/* Restores the bytes of a base that was dropped. Returns false on failure. */
bool git__held_restore(struct git__worker *worker, struct git__held *held);

/* Drops the farthest base that no other thread uses; the pool calls it. Returns false if there is no such
 * base. */
bool git__spare_frame(void *worker);

/* Functions that visit_build.c and visit_large.c share. */
struct git__held *git__held_new(const struct git__job *job, uint64_t size);
bool git__visit_object(struct git__worker *worker, const struct git__job *job,
                       const struct ts_git_object *content, void **result);

/* Asks the watch whether to continue. Returns false if the visit must end. */
bool git__goes_on(struct git__worker *worker, uint64_t bytes);
enum ts_git_error git__check_crc(const struct git__job *job, const struct git__entry *entry, size_t used);

/* Returns whether the content must be compared with the id: by request, or because no CRC would show
 * damage. */
bool git__is_verified(const struct git__worker *worker, const struct git__job *job);

/* These functions of visit_large.c build and visit objects that are too large to hold: whole objects, and
 * results of deltas. `entry` is NULL for loose objects. */
enum ts_git_error git__large_whole(struct git__worker *worker, const struct git__job *job,
                                   const struct git__entry *entry, uint64_t size,
                                   struct git__inflate_stream *stream, struct git__held **ret_held);
enum ts_git_error git__large_delta(struct git__worker *worker, const struct git__job *job,
                                   const struct git__delta_head *head, struct git__held **ret_held);

/* Inflates the stream into an unlinked file and maps the file. The caller unmaps it. */
enum ts_git_error git__spill_stream(struct git__worker *worker, struct git__inflate_stream *stream,
                                    uint64_t size, struct ts_bytes *ret_mapped);

#endif
