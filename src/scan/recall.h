/*
 * Reuses results of earlier scans of a repository.
 *
 *   no change       ──> snapshot: the whole result                          only refs are read
 *   a change        ──> known objects are not visited,
 *                       their hits are reused                               only new ones are read
 *
 * Known objects depend on the rules and this program; hits also on the configuration, the salt and the key of
 * prints. So after a change of the allow-list or the salt, only the objects with hits are read again. A scan
 * that shows secrets also reads the objects with hits again, because secrets are not stored.
 *
 * Contents with hits are stored at the end, when all secrets are known. A content is not stored, and is read
 * again, if one of its texts contains a secret that was found elsewhere. So the state contains no secret, and
 * its records do not depend on each other.
 *
 * An object is stored only after it was scanned completely: a scan that ends early stores less, but nothing
 * wrong. Known objects belong to the path of their repository and to the scanned bytes. Ids are not verified
 * when objects are read, so in another repository at the same path, the same id may have another content. An
 * object is known if it is in the same unchanged pack as before, or if its stored bytes are the same
 * (git/evidence.h).
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
    uint64_t written_ns; /* time when this thread last wrote */
};

/* Remembers whether a text contains a secret, because lines and paths repeat. */
#define SCAN_RECALL_TOUCHES 1024
struct scan_recall_touch {
    uint32_t text; /* SCAN_NO_TEXT: free */
    bool is_around;
    bool is_touched;
};

/* Called for a commit that need not be visited. */
typedef void scan_recall_commit(void *ctx, const struct ts_git_oid *commit);

/* The objects to visit. Known objects are removed from the set. */
struct scan_recall_wanted {
    struct ts_git_set *set;
    struct ts_git_graph *graph;
    scan_recall_commit *commit; /* called for each commit that is removed */
    void *ctx;
};

struct scan_recall;

/*
 * The operations of a place that keeps results: the state folder (recall.c) or the caller's parts
 * (recall_parts.c). The scan__recall_… functions below call the operations with the same names.
 */
struct scan_recall_ops {
    bool (*all)(struct scan_recall *recall);
    bool (*is_empty)(const struct scan_recall *recall);
    void (*begin)(struct scan_recall *recall, const struct ts_git_set *only);
    uint64_t (*bytes)(const struct scan_recall *recall);
    void (*known)(struct scan_recall *recall, const struct scan_recall_wanted *wanted);
    uint64_t (*evidence)(struct scan_recall *recall, const struct ts_git_object *object, uint32_t *ret_pack);
    void (*keep)(struct scan_recall *recall, unsigned worker, const struct scan_known *known);
    void (*note)(struct scan_recall *recall, unsigned worker, const struct ts_git_oid *oid);
    void (*flush)(struct scan_recall *recall);
    void (*finish)(struct scan_recall *recall, const struct scan_masked *masked);
    void (*close)(struct scan_recall *recall);
};

struct scan_recall {
    const struct scan_recall_ops *ops; /* NULL: nothing is reused or kept */
    struct scan_pass *pass;
    uint32_t target;
    struct ts_git_repo *repo;
    struct scan_recall_parts *parts; /* NULL: the state folder is used */
    char *path;                      /* path of the repository */
    struct scan_state *state;
    struct ts_git_evidence *evidence; /* NULL: nothing is known or kept */
    bool has_begun;                   /* locking the state was tried, with or without success */
    bool has_salt;
    struct ts_git_past past; /* history for the snapshot of this scan */
    bool has_hits;           /* hits may be used and kept: secrets are not shown */
    uint8_t fingerprint[32];
    bool has_fingerprint;
    uint64_t faults_before;
    uint64_t lasting_before;
    struct scan_mark before; /* the lengths of the pass's lists at the start of this target */
    struct scan_recall_worker *workers;
    unsigned worker_count;
    /* Guards the following fields, and the state while threads scan. Locked before the lock of hits. */
    pthread_mutex_t lock;
    size_t contents_kept; /* contents before this index are written, or belong to another target */
    /* Made when all contents were scanned, because a secret of one content may be in a text of another. */
    struct scan_masks masks;
    bool has_masks;
    struct scan_recall_touch touches[SCAN_RECALL_TOUCHES]; /* indexed by the text's number modulo the size */
};

/* Begins the reuse for a target. Also works without state. Returns false only with parts: if memory runs out,
 * or if the refs cannot be read. Other processes may change the repository meanwhile. Always release the
 * recall. */
bool scan__recall_init(struct scan_recall *recall, struct scan_pass *pass, struct scan_target *target,
                       struct ts_git_repo *repo, const struct ts_git_selection *selection);
void scan__recall_release(struct scan_recall *recall);

/* Returns true if nothing has changed since a scan of the same refs. Then the scan of the target is complete.
 * With the state folder, adds the hits and locations of that scan, and sets the row. */
static inline bool scan__recall_all(struct scan_recall *recall) {
    return recall->ops != NULL && recall->ops->all(recall);
}

/* Returns whether nothing from earlier scans can be used. */
static inline bool scan__recall_is_empty(const struct scan_recall *recall) {
    return recall->ops == NULL || recall->ops->is_empty(recall);
}

/* Prepares the recall. Call it when the repository is listed, before the following functions. If `only` is
 * not NULL, keeps only objects in packs that contain an object of `only`. */
static inline void scan__recall_begin(struct scan_recall *recall, const struct ts_git_set *only) {
    if (recall->ops != NULL)
        recall->ops->begin(recall, only);
}

/* Returns the memory that the recall takes during the scan, in bytes. */
static inline uint64_t scan__recall_bytes(const struct scan_recall *recall) {
    return recall->ops != NULL ? recall->ops->bytes(recall) : 0;
}

/* Removes known objects from wanted, adds their hits to the pass, and counts them in the target's row. */
static inline void scan__recall_known(struct scan_recall *recall, const struct scan_recall_wanted *wanted) {
    if (recall->ops != NULL)
        recall->ops->known(recall, wanted);
}

/* Returns the evidence of the object; 0 if the object will not be kept. Any thread may call it. */
static inline uint64_t scan__recall_evidence(struct scan_recall *recall, const struct ts_git_object *object,
                                             uint32_t *ret_pack) {
    *ret_pack = 0;
    return recall->ops != NULL ? recall->ops->evidence(recall, object, ret_pack) : 0;
}

/* Keeps an object in which nothing was found. known->pack comes from scan__recall_evidence. Any thread may
 * call it, with its worker number. */
static inline void scan__recall_keep(struct scan_recall *recall, unsigned worker,
                                     const struct scan_known *known) {
    if (recall->ops != NULL)
        recall->ops->keep(recall, worker, known);
}

/* Notes a visited object that has hits or must be read again. */
static inline void scan__recall_note(struct scan_recall *recall, unsigned worker,
                                     const struct ts_git_oid *oid) {
    if (recall->ops != NULL)
        recall->ops->note(recall, worker, oid);
}

/* Writes the remaining objects. Call it after the visit. */
static inline void scan__recall_flush(struct scan_recall *recall) {
    if (recall->ops != NULL)
        recall->ops->flush(recall);
}

/* Keeps the result of the target. Call it when the row is complete and the texts are masked. */
static inline void scan__recall_finish(struct scan_recall *recall, const struct scan_masked *masked) {
    if (recall->ops != NULL)
        recall->ops->finish(recall, masked);
}

/* ---- shared by state folder and parts ---- */

/* These functions make digests: of everything that decides whether an object has findings (rules), and of
 * everything that decides what is reported about findings (judging). The judging digest includes the key of
 * prints, because prints of another key match nothing. */
void scan__recall_rules(const struct scan_profile *profile, unsigned depth_max,
                        uint8_t ret_id[static SCAN_STATE_ID_LEN]);
void scan__recall_judging(const struct scan_profile *profile, const struct ts_siphash_key *print_key,
                          uint8_t ret_id[static SCAN_STATE_ID_LEN]);

/* Makes the recall use the parts of the options. Returns false when memory runs out, or refs cannot be
 * read. */
bool scan__recall_parts_open(struct scan_recall *recall, struct scan_target *target,
                             const struct ts_git_selection *selection);

/* ---- only for the state folder ---- */

/* Locks the state, unless it is locked already. Returns false if nothing is known and nothing can be kept. */
bool scan__recall_has_salt(struct scan_recall *recall);

/* Drops everything that was not written yet. */
void scan__recall_rewind(struct scan_recall *recall);

/* ---- snapshots (snapshot.c) ---- */

static inline struct ts_report_target *scan__recall_row(const struct scan_recall *recall) {
    return &recall->pass->targets[recall->target].row;
}

/* Returns whether the scan has snapshots. Only scans of all refs have snapshots, because other selections are
 * rarely repeated. */
bool scan__recall_is_default(const struct ts_scan_options *options);

bool scan__snapshot_all(struct scan_recall *recall);

/* Stores the result as a snapshot, provided that every scan of the same objects would have the same faults. */
void scan__snapshot_finish(struct scan_recall *recall, const struct scan_masked *masked);

/* Keeps the history for later scans that continue it (continued.h). `reached` contains the objects that the
 * refs reach. */
void scan__recall_keep_past(struct scan_recall *recall, struct ts_git_graph *graph,
                            const struct ts_git_set *reached);

/* The latest snapshot of a repository that has changed since. */
struct scan_recall_snapshot {
    struct scan_segment segment;
    struct scan_buffer page;
    struct ts_bytes past;
    struct ts_bytes rest; /* rest of the page: faults and material */
    struct ts_report_target row;
    bool was_masked; /* masking has changed a text, but no path */
};

/* Reads the latest snapshot of this repository. Returns false if there is no snapshot; then there is nothing
 * to release. */
bool scan__recall_earlier(struct scan_recall *recall, struct scan_recall_snapshot *ret_snapshot);
void scan__recall_snapshot_release(struct scan_recall_snapshot *snapshot);

/* Adds the contents, places and faults of a snapshot to the pass, and sets the row. On failure changes
 * nothing, except that the pass may record a lack of memory. */
bool scan__recall_use(struct scan_recall *recall, const struct scan_recall_snapshot *snapshot);

#endif
