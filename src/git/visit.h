/*
 * Visiting every object once, fast: delta trees are gone through from their roots, so that each object is
 * inflated once, on several threads.
 *
 * The visitor is called for each object that is asked for: with its content whole, or, when it is larger than
 * what may be held, in windows from front to back. For a delta whose base was visited too, it gets the base
 * and which bytes were copied from it, and the result that it left for the base; so it can look at the
 * changed bytes only. What is visited, with which base, content and copies, follows from the repository and
 * the options other than `threads` alone. The order of calls does not: sort by number.
 *
 * Damage never stops a visit. An object that cannot be read is a fault that names it, after another copy of
 * it was tried; everything else is visited. What is in a pack is checked by the CRC of its entry and of those that it is
 * made from, which finds every accident; an id that somebody forged is found by `verify` only.
 */
#ifndef TS_GIT_VISIT_H
#define TS_GIT_VISIT_H

#include "git/copy.h"
#include "git/object.h"
#include "git/set.h"

struct ts_git_base {
    struct ts_git_oid oid;
    uint32_t number;
    uint64_t size;
    struct ts_bytes content; /* whole */
    void *result;            /* what the visitor left for it */
    const struct ts_git_copy *copies;
    size_t copy_count;
};

struct ts_git_object {
    struct ts_git_oid oid;
    uint32_t number; /* of the object: the same in every visit while the repository does not change */
    enum ts_git_type type;
    uint64_t size;
    struct ts_bytes content;        /* borrowed for the call */
    uint64_t content_at;            /* where content begins in the object; 0 when it is whole */
    size_t overlap;                 /* bytes at the start of content that the window before ended with */
    bool is_last;                   /* of its windows; true when it is whole */
    const struct ts_git_base *base; /* NULL: look at everything */
    struct ts_bytes loose_file;     /* of a loose object: its file, whole */
    bool is_base;                   /* deltas of it come later: *result reaches them */
    bool is_other_copy; /* the copy that has this number is damaged: the content is that of another one */
};

/*
 * Called on any of the threads, `worker` tells which: below options.threads. *result is NULL at the first
 * call for an object and is kept between its windows; it may be replaced. It reaches deltas of this object as
 * base->result, at the same time on several threads, so it must not be changed later; release is called, on any thread,
 * when the last of them is done, or at once when there are none, or when the object turned out to be damaged
 * behind its first window. False stops the whole visit.
 */
struct ts_git_visitor {
    bool (*visit)(void *ctx, unsigned worker, const struct ts_git_object *object, void **result);
    void (*release)(void *ctx, void *result); /* NULL when results need none */
    void *ctx;
};

#define TS_GIT_TYPE_BIT(type) (1u << (type))

/*
 * Whoever may end what takes long. go_on is called on any thread, with the bytes that were put together since it was
 * last called there, wanted or not; false ends the work, with STOPPED. NULL: nobody.
 */
struct ts_git_watch {
    bool (*go_on)(void *ctx, uint64_t bytes);
    void *ctx;
};

struct ts_git_visit_options {
    unsigned threads; /* 0 is 1; at most 256 */
    unsigned types;   /* TS_GIT_TYPE_BITs; 0 is blobs */
    /* TS_GIT_TYPE_BITs of the objects whose contents are compared with their ids. Loose objects, and objects in packs
     * whose index has no CRCs, are always compared. */
    unsigned verify;
    const struct ts_git_set *wanted; /* NULL: all */
    uint64_t memory_bytes;     /* 0 is 1 GiB: what is held at once beside mapped files; at least 4 MiB */
    uint64_t object_bytes_max; /* 0 is 32 GiB: larger objects are faults */
    size_t window_bytes;       /* 0 is 8 MiB; at most a sixteenth of memory_bytes */
    size_t overlap_bytes;      /* 0 is none; at most half a window */
    const char *spill_dir;     /* NULL: TMPDIR, or /tmp. For bases that are too large to hold */
    struct ts_git_watch watch;
    struct ts_git_fault_sink faults; /* called on the caller's thread, in order of numbers, at the end */
};

struct ts_git_visit_stats {
    uint64_t objects; /* visited */
    uint64_t bytes;   /* their sizes */
    uint64_t deltas;  /* visited with a base */
    uint64_t faults;
    uint64_t spilled_bytes;
    uint64_t rebuilt;        /* bases that were dropped for lack of memory and made again */
    uint64_t held_bytes_max; /* most that was held at once, tables included */
};

/* OK, STOPPED, or a failure that let nothing begin. ret_stats may be NULL; it is filled with OK and STOPPED.
 */
enum ts_git_error ts_git_visit(struct ts_git_repo *repo, const struct ts_git_visit_options *options,
                               const struct ts_git_visitor *visitor, struct ts_git_visit_stats *ret_stats,
                               struct ts_git_fault *ret_fault);

#endif
