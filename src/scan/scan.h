/*
 * A scan: targets and options in, a report out.
 *
 * Of a repository, every blob and message that is selected is looked at once, changed bytes only where it is kept as a
 * delta; paths and commits are worked out afterwards for what has findings. Reports of the same target are equal
 * whatever the number of threads is, with and without `full`.
 */
#ifndef TS_SCAN_SCAN_H
#define TS_SCAN_SCAN_H

#include "base/bytes.h"
#include "report/report.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TS_SCAN_MEMORY_MIN      (UINT64_C(64) << 20)
#define TS_SCAN_MEMORY_DEFAULT  (UINT64_C(1) << 30)
#define TS_SCAN_OCCURRENCES_ALL SIZE_MAX
#define TS_SCAN_RATIO_DEFAULT   UINT64_C(10000)
#define TS_SCAN_THREADS_MAX     256

enum ts_scan_target_kind {
    TS_SCAN_TARGET_ANY, /* a repository, or a file */
    TS_SCAN_TARGET_REPOSITORY,
    TS_SCAN_TARGET_FOLDER, /* the files of a folder, whatever else it may be */
    TS_SCAN_TARGET_INPUT,  /* standard input */
    TS_SCAN_TARGET_BYTES,  /* bytes in memory */
};

struct ts_scan_target {
    const char *path;      /* BYTES: the path that they are reported at */
    struct ts_bytes bytes; /* BYTES: borrowed until the report is released */
    /* The git directory of the work tree at the path, if git was given another one; NULL: find it at the path. */
    const char *git_dir;
    enum ts_scan_target_kind kind;
};

/* What of a repository is scanned. */
enum ts_scan_extent {
    TS_SCAN_HISTORY,      /* what refs reach */
    TS_SCAN_STAGED,       /* what is staged and not in HEAD */
    TS_SCAN_WORKING_TREE, /* the files of the work tree as they are */
};

/* Read and written by any thread while the scan runs. {0} at its start. */
struct ts_scan_progress {
    atomic_uint_fast64_t objects;       /* looked at: blobs, messages, files */
    atomic_uint_fast64_t objects_total; /* 0 while it is not known */
    atomic_uint_fast64_t bytes;
    atomic_uint_fast64_t findings;
    atomic_uint stage; /* enum ts_scan_stage */
    atomic_bool stop;  /* set it to end the scan early, from a signal handler, too */
};

enum ts_scan_stage {
    TS_SCAN_STAGE_START,
    TS_SCAN_STAGE_HISTORY,
    TS_SCAN_STAGE_CONTENT,
    TS_SCAN_STAGE_ORIGINS
};

/* Compiled rules for targets without a configuration of their own. */
struct scan_profile;
void ts_scan_profile_free(struct scan_profile *profile); /* takes NULL */

struct ts_scan_options {
    const struct ts_scan_target *targets;
    size_t target_count;

    const char *const *refs; /* as users write them; none: all refs */
    size_t ref_count;
    const char *const *branches; /* names below refs/heads or refs/remotes */
    size_t branch_count;
    const char *const *commits; /* these commits alone: what they brought */
    size_t commit_count;
    int64_t since_s; /* with has_since: what commits of this time or later brought */

    const char *index_file; /* of what is staged: instead of the repository's own; NULL: that */

    const char *config_file;       /* instead of the target's own */
    const char *const *rule_files; /* added to the built-in rules */
    size_t rule_file_count;
    const char *cache_folder; /* of compiled rules; as in struct ts_detector_options */
    /* For a caller who scans several times with the same rules and configuration: the first scan finds NULL here and puts
     * its profile here, and later ones use it. The caller frees it after the last report. NULL: each scan makes its own. */
    struct scan_profile **profile;
    struct ts_bytes salt;     /* a baseline's: comes before that of a configuration */
    struct ts_bytes new_salt; /* comes before the public one: for a baseline that is being made */

    uint64_t memory_bytes; /* 0 is TS_SCAN_MEMORY_DEFAULT; at least TS_SCAN_MEMORY_MIN */
    uint64_t max_time_ms;  /* beyond it the scan ends, with what was found; 0: however long it takes */
    /* A repository is left when what is looked at is so many times as large as it is on disk, and above 1 GiB; 0 is
     * TS_SCAN_RATIO_DEFAULT. Bytes that are only put together count a sixteenth. */
    uint64_t ratio_max;
    const char *spill_dir; /* NULL: TMPDIR, or /tmp */
    /* What earlier scans of a repository learnt is taken from here, and what this one learns goes here; made when it is not
     * there. NULL: none. Scans with full or ungated do without. */
    const char *state_folder;
    size_t occurrences_max;            /* listed for each finding; 0 is 100 */
    struct ts_scan_progress *progress; /* NULL: none, and no way to stop */

    enum ts_scan_extent extent;
    unsigned jobs; /* threads; 0: as many as there are processors */
    bool has_since;
    bool allow_missing; /* what a partial clone has left out is no fault */
    bool unreachable;   /* what no ref reaches, too */
    bool only_changes;  /* of what is staged, without findings that the files it changes had before */
    bool search_upward; /* a folder in a work tree stands for the repository */
    bool full;          /* every byte of every blob */
    bool ungated;       /* every rule everywhere: slow, for comparison */
    bool no_repo_config;
    bool no_builtin_rules;
    bool shows_secrets;
    bool keeps_secrets; /* in findings, for the caller; every text is masked as without it */
};

enum ts_scan_outcome {
    TS_SCAN_DONE, /* there is a report; it may be incomplete, and say of targets that they were not scanned */
    TS_SCAN_BAD_TARGET, /* not there, no repository, or a ref that it has not */
    TS_SCAN_BAD_CONFIG, /* rules or configuration */
    TS_SCAN_FAILED,     /* memory, threads, temporary files */
};

struct ts_scan_error {
    char text[600]; /* one line that says what, why and what helps; safe to print */
};

/* With DONE the caller releases the report with ts_scan_report_release. A target that cannot be scanned is a fault of the report and
 * the others are scanned; only when that is so of all of them, or there is no memory for a report, it is the outcome. */
enum ts_scan_outcome ts_scan_report_make(const struct ts_scan_options *options, struct ts_report *ret_report,
                                         struct ts_scan_error *ret_error);
void ts_scan_report_release(struct ts_report *report);

/* A text that is to be written beside the report, which owns what is returned: masked as those in the report are. */
const char *ts_scan_report_mask(const struct ts_report *report, const char *text);

#endif
