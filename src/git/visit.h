/*
 * Visits every wanted object once, on several threads. The visit starts at the roots of delta trees, so that
 * each object is inflated only once.
 *
 * The visitor is called for each wanted object: with its whole content, or, if it is too large to hold, in
 * windows from front to back. For a delta whose base was visited, too, the visitor gets the base, the list of
 * ranges that were copied from the base, and its own result for the base. So it can scan only changed bytes.
 * The visited objects, with base, content and copies, depend only on the repository and the options other
 * than `threads`. The order of calls also depends on the threads, so sort the results by number.
 *
 * Damage never stops a visit. If no copy of an object can be read, that is a fault that names the object, and
 * everything else is visited. Objects in a pack are checked by the CRCs of their entries and of the entries
 * of their bases, which detects accidents; only `verify` detects a forged id.
 */
#ifndef TS_GIT_VISIT_H
#define TS_GIT_VISIT_H

#include "git/copy.h"
#include "git/object.h"
#include "git/set.h"

struct ts_git_base {
    uint32_t number;
    uint64_t size;
    struct ts_bytes content; /* the whole content */
    void *result;            /* the visitor's result for the base */
    const struct ts_git_copy *copies;
    size_t copy_count;
};

struct ts_git_object {
    struct ts_git_oid oid;
    uint32_t number; /* number of the object: the same in every visit while the repository does not change */
    enum ts_git_type type;
    uint64_t size;
    struct ts_bytes content; /* borrowed for the call */
    uint64_t content_at;     /* position of content in the object; 0 if it is whole */
    size_t overlap;          /* bytes at the start of content that repeat the end of the previous window */
    bool is_last;            /* the last window of the object, or the whole object */
    const struct ts_git_base *base; /* NULL: scan everything */
    struct ts_bytes loose_file;     /* loose objects: the whole file */
    bool is_base;                   /* the object has deltas, which receive *result */
    bool is_other_copy; /* the copy with this number is damaged: the content comes from another copy */
};

/*
 * visit is called on any of the threads; `worker` is the number of the thread, below options.threads. *result
 * is NULL at the first call for an object, and is kept between its windows; visit may replace it. Deltas of
 * this object receive the result as base->result, on several threads at the same time, so it must not change
 * later. release is called on any thread: when the last of these deltas is done, at once if the object has no
 * deltas, or if the object turns out to be damaged after its first window. If visit returns false, the whole
 * visit stops.
 */
struct ts_git_visitor {
    bool (*visit)(void *ctx, unsigned worker, const struct ts_git_object *object, void **result);
    void (*release)(void *ctx, void *result); /* NULL if results need no release */
    void *ctx;
};

#define TS_GIT_TYPE_BIT(type) (1u << (type))

/*
 * A callback that can end long work. go_on is called on any thread, with the number of bytes that this thread
 * has built since its last call, including objects that are not wanted. If go_on returns false, the work ends
 * with STOPPED. go_on may be NULL.
 */
struct ts_git_watch {
    bool (*go_on)(void *ctx, uint64_t bytes);
    void *ctx;
};

struct ts_git_visit_options {
    unsigned threads; /* 0 means 1; at most 256 */
    unsigned types;   /* bits of TS_GIT_TYPE_BIT; 0 means blobs */
    /* Types (TS_GIT_TYPE_BIT) of the objects whose contents are compared with their ids. Loose objects, and objects in packs
     * whose index has no CRCs, are always compared. */
    unsigned verify;
    const struct ts_git_set *wanted; /* objects to visit; NULL: all */
    uint64_t memory_bytes;           /* memory, not counting mapped files; at least 4 MiB, 0 means 1 GiB */
    uint64_t object_bytes_max;       /* larger objects are faults; 0 means 32 GiB */
    size_t window_bytes;             /* at most a sixteenth of memory_bytes; 0 means 8 MiB */
    size_t overlap_bytes;            /* at most half a window; 0 means none */
    const char *spill_dir;           /* for bases that are too large to hold; NULL: TMPDIR, or /tmp */
    struct ts_git_watch watch;
    /* Called on the caller's thread. Faults of objects come at the end, in order of numbers. */
    struct ts_git_fault_sink faults;
};

struct ts_git_visit_stats {
    uint64_t objects; /* visited objects */
    uint64_t bytes;   /* total size of the visited objects */
    uint64_t deltas;  /* objects visited with a base */
    uint64_t faults;
    uint64_t spilled_bytes;
    uint64_t rebuilt;        /* bases that were dropped for lack of memory and built again */
    uint64_t held_bytes_max; /* the maximum of held memory, tables included */
};

/* Returns OK, STOPPED, or an error from before the visit began. ret_stats may be NULL. It is filled in for OK
 * and STOPPED. */
enum ts_git_error ts_git_visit(struct ts_git_repo *repo, const struct ts_git_visit_options *options,
                               const struct ts_git_visitor *visitor, struct ts_git_visit_stats *ret_stats,
                               struct ts_git_fault *ret_fault);

#endif
