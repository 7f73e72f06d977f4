/*
 * What earlier scans of a repository leave for this one.
 *
 *   nothing changed ──> snapshot: the whole result                          nothing is read but refs
 *   something did   ──> known objects leave the set that is to be visited,
 *                       with the hits that they had                         only what is new is read
 *
 * What is known depends on the rules and this program; hits besides on the configuration, the salt and the key of prints. So a changed
 * allow-list or salt reads the objects with hits again, and no others; so does a scan that shows secrets, which are kept
 * nowhere.
 *
 * Contents with hits are written down at the end, when all secrets are known: what has one of them in a text, where it was not
 * found, is not kept and read again. So no secret is in the state, and what is in it does not depend on what else there was.
 *
 * An object is written down after it was looked at in full, and never otherwise: a scan that is ended at any time leaves
 * less than it knew, and nothing that is wrong. Knowledge belongs to the repository it was got from, by its path, and to the
 * bytes that were looked at: objects are not hashed when they are read, so the same id may be another content in a
 * repository that was put in the place of the first. An object is known when it stands in the same unchanged pack as then, or
 * when the stored bytes that it is made from are the same (git/evidence.h).
 */
#ifndef TS_SCAN_RECALL_H
#define TS_SCAN_RECALL_H

#include "masking.h"
#include "state.h"

#include "git/fingerprint.h"
#include "git/set.h"

/* Objects that one thread has looked at and that are not written yet. */
struct scan_recall_worker {
    struct scan_buffer known;
    uint64_t written_ns; /* when it last wrote */
};

/* Whether a text has a secret in it, remembered: lines and paths come again and again. */
#define SCAN_RECALL_TOUCHES 1024
struct scan_recall_touch {
    uint32_t text; /* SCAN_NO_TEXT: none */
    bool is_around;
    bool is_touched;
};

struct scan_recall {
    struct scan_session *session; /* NULL: nothing is recalled or kept */
    uint32_t target;
    struct ts_git_repo *repo;
    char *path; /* of the repository */
    struct scan_state *state;
    struct ts_git_evidence *evidence; /* NULL: nothing is known, and nothing is kept */
    bool has_hits;                    /* hits may be used and kept: no secrets are shown */
    uint8_t fingerprint[32];
    bool has_fingerprint;
    uint64_t faults_before;
    struct scan_mark before; /* when this target began */
    struct scan_recall_worker *workers;
    unsigned worker_count;
    /* Guards the following fields, and the state while threads scan. Taken before the lock of hits. */
    pthread_mutex_t lock;
    size_t contents_kept; /* contents of the session before this one are written, or are not this target's */
    /* When all contents are looked at: a secret that was found in one may stand in a text of another. */
    struct scan_masks masks;
    bool has_masks;
    struct scan_recall_touch touches[SCAN_RECALL_TOUCHES]; /* by the lowest bits of their places */
};

/* recall is usable in any case. repo may be changed on disk by others meanwhile. */
void scan__recall_init(struct scan_recall *recall, struct scan_session *session, struct scan_target *target,
                       struct ts_git_repo *repo);
void scan__recall_release(struct scan_recall *recall);

/* True when the repository is as it was at the end of a scan of all refs, and the target is done: hits, stands and row. */
bool scan__recall_all(struct scan_recall *recall);

/* No earlier scan left anything, or nothing of it is used. */
bool scan__recall_is_empty(const struct scan_recall *recall);

/* Before anything of the following, when the repository was listed. */
void scan__recall_begin(struct scan_recall *recall);

/* Bytes of memory that it takes while objects are looked at. */
uint64_t scan__recall_bytes(const struct scan_recall *recall);

/* Takes out of wanted what is known, adds its hits to the session's, and counts it in the target's row. lost is called for
 * each commit that leaves wanted. */
typedef void scan_recall_commit(void *ctx, const struct ts_git_oid *commit);
void scan__recall_known(struct scan_recall *recall, struct ts_git_set *wanted, scan_recall_commit *commit,
                        void *ctx);

/* What the object was made from: 0 when it will not be kept. From any thread. */
uint64_t scan__recall_evidence(struct scan_recall *recall, const struct ts_git_object *object,
                               uint32_t *ret_pack);

/* An object in which nothing was found; known->pack is that of scan__recall_evidence. From any thread, each with its own
 * worker's number. */
void scan__recall_keep(struct scan_recall *recall, unsigned worker, const struct scan_known *known);

/* When the visit is over: writes what is not written yet. */
void scan__recall_flush(struct scan_recall *recall);

/* When the row is complete and texts are masked: the result as a snapshot, when there is nothing wrong with it. */
void scan__recall_finish(struct scan_recall *recall);

#endif
