/*
 * What earlier scans of a repository leave for this one.
 *
 *   nothing changed ──> snapshot: the whole result                          nothing is read but refs
 *   something did   ──> known objects leave the set that is to be visited,
 *                       with the hits that they had                         only what is new is read
 *
 * What is known depends on the rules and this program; hits besides on the configuration and the salt. So a changed
 * allow-list or salt reads the objects with hits again, and no others; so does a scan that shows secrets, which are kept
 * nowhere.
 *
 * An object is written down after it was looked at in full, and never otherwise: a scan that is ended at any time leaves
 * less than it knew, and nothing that is wrong. Knowledge belongs to the repository it was got from, by its path: objects
 * are not hashed when they are read, so a repository that lies about an id can deceive nobody but itself.
 */
#ifndef TS_SCAN_RECALL_H
#define TS_SCAN_RECALL_H

#include "state_codec.h"
#include "usage.h"

#include "git/fingerprint.h"
#include "git/set.h"

/* Objects that one thread has looked at and that are not written yet. */
struct scan_recall_worker {
    struct scan_buffer known;
    uint64_t written_ns; /* when it last wrote */
};

struct scan_recall {
    struct scan_session *session; /* NULL: nothing is recalled or kept */
    uint32_t target;
    struct ts_git_repo *repo;
    struct scan_use use;
    char *path; /* of the repository */
    bool has_noted_use;
    struct scan_state_key known_prefix;
    struct scan_state_key hits_prefix;
    struct scan_state_key snapshot_prefix;
    bool has_hits; /* hits may be used and kept: no secrets are shown */
    uint8_t fingerprint[32];
    bool has_fingerprint;
    uint64_t faults_before;
    size_t commits_before; /* of the session, when this target began */
    size_t stands_before;
    struct scan_recall_worker *workers;
    unsigned worker_count;
    pthread_mutex_t
        lock;           /* guards the following and the state while threads look; taken before that of hits */
    uint64_t next_page; /* the number of the next page of either kind */
    size_t pages;       /* of known objects, that there are */
    size_t contents_kept; /* contents of the session before this one are written, or are not this target's */
};

/* recall is usable in any case. repo may be changed on disk by others meanwhile. */
void scan__recall_init(struct scan_recall *recall, struct scan_session *session, struct scan_target *target,
                       struct ts_git_repo *repo);
void scan__recall_release(struct scan_recall *recall);

/* True when the repository is as it was at the end of a scan of all refs, and the target is done: hits, stands and row. */
bool scan__recall_all(struct scan_recall *recall);

/* Takes out of wanted what is known, adds its hits to the session's, and counts it in the target's row. lost is called for
 * each commit that leaves wanted. */
typedef void scan_recall_commit(void *ctx, const struct ts_git_oid *commit);
void scan__recall_known(struct scan_recall *recall, struct ts_git_set *wanted, scan_recall_commit *commit,
                        void *ctx);

/* An object in which nothing was found. From any thread, each with its own worker's number. */
void scan__recall_keep(struct scan_recall *recall, unsigned worker, const struct scan_known *known);

/* When the visit is over: writes what is not written yet. */
void scan__recall_flush(struct scan_recall *recall);

/* When the row is complete: the result as a snapshot, when there is nothing wrong with it. */
void scan__recall_finish(struct scan_recall *recall);

#endif
