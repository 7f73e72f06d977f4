/*
 * A scan in progress: the state that its targets share.
 *
 * Targets are scanned one after the other. Contents are scanned (hits.h), then the places of contents with
 * hits are found and kept here as locations. When all targets are done, assemble.c makes the report. All
 * files of a target are closed before the next target begins.
 */
#ifndef TS_SCAN_PASS_H
#define TS_SCAN_PASS_H

#include "faults.h"
#include "forge.h"
#include "hits.h"
#include "inside.h"
#include "limits.h"
#include "look.h"
#include "masks.h"
#include "profile.h"
#include "state_warning.h"

#include "scan/scan.h"

/* Returns whether secrets are kept: by request, or because the report shows them. */
static inline bool scan__keeps_secrets(const struct ts_scan_options *options) {
    return options->shows_secrets || options->keeps_secrets;
}

/* A commit as a report shows it. */
struct scan_commit {
    struct ts_git_oid oid;
    int64_t time_s; /* committer's time: decides which commit is the first */
    int64_t author_time_s;
    int32_t author_zone_minutes;
    uint32_t author_name; /* position of a text, like author_mail */
    uint32_t author_mail;
};

/* The meaning of a location. */
enum scan_role {
    SCAN_FOUND,     /* the content is reported at the location */
    SCAN_BEFORE,    /* the base of a change has the content; its findings are not reported (before.h) */
    SCAN_REPEAT,    /* another commit adds the content again; not reported, but used by refs.c */
    SCAN_IN_HEAD,   /* HEAD has the content at the location */
    SCAN_REF,       /* `path` is a branch or tag that reaches the finding of `hit` */
    SCAN_REF_COUNT, /* `path` is the number of all such refs, as digits; only some refs are listed */
};

/* A place of a content. */
struct scan_location {
    uint32_t content;
    uint32_t hit;       /* for REF and REF_COUNT: index among the hits of the content */
    uint32_t commit;    /* TS_REPORT_NONE: none */
    uint32_t path;      /* position of a text, which is masked at the end of a repository */
    uint32_t real_path; /* position of the unmasked text, for allow entries; set by scan__pass_location */
    enum ts_place place;
    enum scan_role role;
};

struct scan_target {
    struct ts_report_target row;
    struct scan_profile *profile;
    enum ts_git_hash hash;
    bool has_head; /* the target is a repository, and HEAD names a commit */
    struct ts_git_oid head;
    char forge[SCAN_FORGE_SIZE]; /* the row points to this text */
    uint64_t faults_before;      /* number of faults of all targets when this target began */
    uint64_t lasting_before;     /* number of lasting faults of all targets when this target began */
};

/* The result of ts_scan_report_end, with its memory. */
struct scan_parts_end {
    struct ts_scan_end end;
    uint8_t *tips;
    uint8_t *again;
};

struct scan_pass {
    const struct ts_scan_options *options;
    unsigned jobs;
    uint64_t memory_bytes;
    const char *spill_dir;
    struct ts_scan_progress *progress; /* never NULL */
    struct ts_scan_progress own_progress;
    struct scan_hits hits;
    struct scan_faults faults;
    struct scan_limits limits;
    struct scan_inside inside;
    struct scan_pile locations;
    struct ts_siphash_key print_key;
    struct scan_masks masks; /* masks for all secrets that were found; made together with the report */
    struct scan_pile commits;
    struct scan_target *targets;
    size_t target_count; /* targets that were started */
    struct scan_profile **profiles;
    size_t profile_count;
    struct scan_profile *plain; /* profile of targets without a configuration; one of profiles, or NULL */
    struct scan_state_warning state_warning;
    struct scan_parts_end parts_end;
    uint64_t limits_hit;
    unsigned attempts_left; /* further attempts to scan this target, if this one fails */
    bool no_memory;
};

/* Ends the use of a profile by a pass. Frees the profile unless the caller keeps it. */
void scan__pass_drop_profile(struct scan_profile *profile);

/* Fills in the error, and returns the outcome. */
__attribute__((format(printf, 3, 4))) enum ts_scan_outcome
scan__fail(struct ts_scan_error *ret_error, enum ts_scan_outcome outcome, const char *format, ...);

/* Adds a commit, and returns its index; TS_REPORT_NONE when memory runs out. */
uint32_t scan__pass_commit(struct scan_pass *pass, const struct scan_commit *commit);
void scan__pass_location(struct scan_pass *pass, const struct scan_location *location);

/* Reports a content that could not be scanned completely. `name` is safe to print. */
void scan__pass_outcome(struct scan_pass *pass, enum scan_look_result outcome, const char *name);

/* The state of scanning contents (look.h), one for each thread of a target. */
struct scan_looks {
    struct scan_look *items;
    unsigned count;
};
bool scan__looks_init(struct scan_looks *looks, struct scan_pass *pass, const struct scan_profile *profile);

/* Adds the counts of the looks to the target's row, and releases the looks. */
void scan__looks_finish(struct scan_looks *looks, struct scan_pass *pass, struct ts_report_target *row);

/* Returns the maximum size of an object that is read by its id and held whole: its delta and its base are
 * held with it. */
size_t scan__pass_object_max(const struct scan_pass *pass);

/* Returns the memory for a visit, in bytes, if other data takes `taken` bytes. The result decides which
 * objects are scanned in windows, and the size of the windows. */
uint64_t scan__pass_visit_memory(const struct scan_pass *pass, uint64_t taken);

/* ---- kinds of targets; each function fills in the row of its target ---- */

struct ts_git_repo;
enum ts_scan_outcome scan__repository(struct scan_pass *pass, struct scan_target *target,
                                      struct ts_git_repo *repo, struct ts_scan_error *ret_error);
enum ts_scan_outcome scan__staged(struct scan_pass *pass, struct scan_target *target,
                                  struct ts_git_repo *repo, struct ts_scan_error *ret_error);
enum ts_scan_outcome scan__folder(struct scan_pass *pass, struct scan_target *target, const char *path,
                                  enum ts_place place, struct ts_scan_error *ret_error);
enum ts_scan_outcome scan__file(struct scan_pass *pass, struct scan_target *target, const char *path,
                                struct ts_scan_error *ret_error);
enum ts_scan_outcome scan__bytes(struct scan_pass *pass, struct scan_target *target,
                                 const struct ts_scan_target *given, struct ts_scan_error *ret_error);
enum ts_scan_outcome scan__input(struct scan_pass *pass, struct scan_target *target, int fd,
                                 struct ts_scan_error *ret_error);

/* ---- the end ---- */

/* Makes the report. Returns false when memory runs out. On success the report owns the pass's texts. */
bool scan__assemble(struct scan_pass *pass, struct ts_arena *arena, struct ts_report *ret_report);

#endif
