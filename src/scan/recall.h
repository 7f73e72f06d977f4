/*
 * Reuses results of earlier scans of a repository.
 *
 *   nothing changed ──> snapshot: the whole result                          only refs are read
 *   something did   ──> known objects are not visited,
 *                       their hits are reused                               only new ones are read
 *
 * Known objects depend on the rules and this program; hits also on the configuration, the salt and the key of
 * prints. So after a change of the allow-list or the salt, only the objects with hits are read again. The
 * same holds for a scan that shows secrets, which are not kept anywhere.
 *
 * Contents with hits are stored at the end, when all secrets are known. A content is not stored, and is read
 * again, if one of its texts contains a secret that was found elsewhere. So the state contains no secret, and
 * its records do not depend on each other.
 *
 * An object is stored only after it was scanned completely: a scan that ends early stores less, but nothing
 * wrong. Known objects belong to the path of their repository and to the scanned bytes: ids are not verified
 * when objects are read, so in a repository that replaced the first one, the same id may have another
 * content. An object is known if it is in the same unchanged pack as before, or if its stored bytes are the
 * same (git/evidence.h).
 */
#ifndef TS_SCAN_RECALL_H
#define TS_SCAN_RECALL_H

#include "masking.h"
#include "state.h"

#include "git/fingerprint.h"
#include "git/past.h"
#include "git/set.h"

/* Objects that one thread has scanned and that are not written yet. */
struct scan_recall_worker {
    struct scan_buffer known;
    uint64_t written_ns; /* time of its last write */
};

/* Remembers whether a text contains a secret: lines and paths repeat. */
#define SCAN_RECALL_TOUCHES 1024
struct scan_recall_touch {
    uint32_t text; /* SCAN_NO_TEXT: free */
    bool is_around;
    bool is_touched;
};

struct scan_recall {
    struct scan_pass *pass; /* NULL: nothing is reused or kept */
    uint32_t target;
    struct ts_git_repo *repo;
    char *path; /* of the repository */
    struct scan_state *state;
    struct ts_git_evidence *evidence; /* NULL: nothing is known or kept */
    bool has_begun;                   /* the state is locked, or cannot be */
    bool has_salt;
    struct ts_git_past past; /* for the snapshot of this scan */
    bool has_hits;           /* hits may be used and kept: secrets are not shown */
    uint8_t fingerprint[32];
    bool has_fingerprint;
    uint64_t faults_before;
    uint64_t lasting_before;
    struct scan_mark before; /* at the start of this target */
    struct scan_recall_worker *workers;
    unsigned worker_count;
    /* Guards the following fields, and the state while threads scan. Taken before the lock of hits. */
    pthread_mutex_t lock;
    size_t contents_kept; /* earlier contents of the pass are written, or belong to another target */
    /* Made when all contents are scanned: a secret from one may be in a text of another. */
    struct scan_masks masks;
    bool has_masks;
    struct scan_recall_touch touches[SCAN_RECALL_TOUCHES]; /* by the lowest bits of their positions */
};

/* The recall is usable even on failure. Other processes may change the repository meanwhile. */
void scan__recall_init(struct scan_recall *recall, struct scan_pass *pass, struct scan_target *target,
                       struct ts_git_repo *repo);
void scan__recall_release(struct scan_recall *recall);

/* Returns true if the repository is unchanged since a scan of all refs; then the target is done: hits, locations
 * and row. */
bool scan__recall_all(struct scan_recall *recall);

/* Returns whether nothing from earlier scans can be used. */
bool scan__recall_is_empty(const struct scan_recall *recall);

/* Locks the state, unless that was done before. Returns false if nothing is known and nothing can be kept. */
bool scan__recall_has_salt(struct scan_recall *recall);

/* Call it before the following functions, when the repository is listed. Only objects in packs that have an object of `only` are
 * kept; NULL: all. */
void scan__recall_begin(struct scan_recall *recall, const struct ts_git_set *only);

/* Forgets what was learnt and is not written. */
void scan__recall_rewind(struct scan_recall *recall);

/* The memory that the recall takes during the scan, in bytes. */
uint64_t scan__recall_bytes(const struct scan_recall *recall);

/* Removes known objects from wanted, adds their hits to the pass's, and counts them in the target's row.
 * Calls lost for each commit that it removes from wanted. */
typedef void scan_recall_commit(void *ctx, const struct ts_git_oid *commit);
void scan__recall_known(struct scan_recall *recall, struct ts_git_set *wanted, scan_recall_commit *commit,
                        void *ctx);

/* The evidence of the object: 0 if it will not be kept. From any thread. */
uint64_t scan__recall_evidence(struct scan_recall *recall, const struct ts_git_object *object,
                               uint32_t *ret_pack);

/* Keeps an object in which nothing was found; known->pack comes from scan__recall_evidence. From any thread,
 * each with its own worker number. */
void scan__recall_keep(struct scan_recall *recall, unsigned worker, const struct scan_known *known);

/* After the visit: writes the remaining objects. */
void scan__recall_flush(struct scan_recall *recall);

/* ---- snapshots (snapshot.c) ---- */

static inline struct ts_report_target *scan__recall_row(const struct scan_recall *recall) {
    return &recall->pass->targets[recall->target].row;
}

/* Snapshots are only for all refs: other selections are many, and rarely repeated. */
bool scan__recall_is_default(const struct ts_scan_options *options);

/* When the row is complete and texts are masked: stores the result as a snapshot, if every scan of the same objects would have the
 * same faults. */
void scan__recall_finish(struct scan_recall *recall, const struct scan_masked *masked);

/* Keeps the history for scans of what continues it (continued.h). `reached` are the objects that all refs reach. */
void scan__recall_keep_past(struct scan_recall *recall, struct ts_git_graph *graph,
                            const struct ts_git_set *reached);

/* The latest snapshot, of a repository that has changed since. */
struct scan_recall_snapshot {
    struct scan_segment segment;
    struct scan_buffer page;
    struct ts_bytes past;
    struct ts_bytes rest; /* of the page: faults and material */
    struct ts_report_target row;
    struct scan_masked masked;
};

/* Returns false if there is none; then there is nothing to release. */
bool scan__recall_earlier(struct scan_recall *recall, struct scan_recall_snapshot *ret_snapshot);
void scan__recall_snapshot_release(struct scan_recall_snapshot *snapshot);

/* Adds its contents, places and faults to the pass, and sets the row. On failure nothing is changed, except that the pass may lack
 * memory. */
bool scan__recall_use(struct scan_recall *recall, const struct scan_recall_snapshot *snapshot);

#endif
