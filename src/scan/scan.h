/*
 * A scan takes targets and options, and makes a report.
 *
 * In a repository, every selected blob and message is scanned once. If a blob is stored as a delta, only its
 * changed bytes are scanned. Paths and commits are computed afterwards, for contents with findings. Reports
 * of the same target are equal for any number of threads, with and without `full`.
 */
#ifndef TS_SCAN_SCAN_H
#define TS_SCAN_SCAN_H

#include "base/bytes.h"
#include "git/error.h"
#include "report/report.h"
#include "scan/parts.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TS_SCAN_MEMORY_MIN          (UINT64_C(64) << 20)
#define TS_SCAN_MEMORY_DEFAULT      (UINT64_C(1) << 30)
#define TS_SCAN_OCCURRENCES_ALL     SIZE_MAX
#define TS_SCAN_RATIO_DEFAULT       UINT64_C(10000)
#define TS_SCAN_THREADS_MAX         256
#define TS_SCAN_ARCHIVES_DEFAULT    3
#define TS_SCAN_ARCHIVES_MAX        8
#define TS_SCAN_ARCHIVE_MAX_DEFAULT (UINT64_C(1) << 30)

enum ts_scan_target_kind {
    TS_SCAN_TARGET_ANY, /* a repository; if the path is not a repository, a file */
    TS_SCAN_TARGET_REPOSITORY,
    TS_SCAN_TARGET_FOLDER, /* the files of a folder, even if it is a repository */
    TS_SCAN_TARGET_INPUT,  /* standard input */
    TS_SCAN_TARGET_BYTES,  /* bytes in memory */
};

struct ts_scan_target {
    const char *path;      /* BYTES: the path in the report */
    struct ts_bytes bytes; /* BYTES: borrowed until the report is released */
    /* The git directory of the work tree at the path, if it is elsewhere; NULL: find it at the path. */
    const char *git_dir;
    enum ts_scan_target_kind kind;
};

/* The part of a repository to scan. */
enum ts_scan_extent {
    TS_SCAN_HISTORY,      /* everything that refs reach */
    TS_SCAN_STAGED,       /* staged files that differ from HEAD; scanned as a change (before.h) */
    TS_SCAN_WORKING_TREE, /* the files of the work tree as they are */
};

/* The progress of a scan. Any thread reads and writes it while the scan runs. Starts as {0}. */
struct ts_scan_progress {
    atomic_uint_fast64_t objects;       /* scanned blobs, messages and files */
    atomic_uint_fast64_t objects_total; /* 0 if unknown */
    atomic_uint_fast64_t bytes;
    atomic_uint_fast64_t findings;
    atomic_uint stage; /* enum ts_scan_stage */
    atomic_bool stop;  /* set it to end the scan early, also from a signal handler */
};

enum ts_scan_stage {
    TS_SCAN_STAGE_START,
    TS_SCAN_STAGE_HISTORY,
    TS_SCAN_STAGE_CONTENT,
    TS_SCAN_STAGE_ORIGINS
};

/* Compiled rules for targets without their own configuration. */
struct scan_profile;
void ts_scan_profile_free(struct scan_profile *profile); /* accepts NULL */

struct ts_scan_options;
struct ts_scan_error;

/* Makes a profile for the option `profile` below. Several scans in different threads may use the profile at
 * the same time. It depends only on the rules, configuration, salt and cache of the options. Returns NULL
 * with one line of text. */
struct scan_profile *ts_scan_profile_new(const struct ts_scan_options *options,
                                         struct ts_scan_error *ret_error);

/* Computes the rules id and the judging id of scans with this profile, these options and parts. The ids do
 * not apply to a target with its own rules (parts.h). */
void ts_scan_profile_ids(const struct scan_profile *profile, const struct ts_scan_options *options,
                         uint8_t ret_rules[static TS_SCAN_KEY_LEN],
                         uint8_t ret_judging[static TS_SCAN_KEY_LEN]);

struct ts_scan_options {
    const struct ts_scan_target *targets;
    size_t target_count;

    const char *const *refs; /* refs as users write them; none: all refs */
    size_t ref_count;
    const char *const *branches; /* names below refs/heads or refs/remotes */
    size_t branch_count;
    /* Full names of refs, in which * stands for any characters; a name without refs/ is a branch. A ref
     * without * must exist. */
    const char *const *patterns;
    size_t pattern_count;
    /* The following options select a change: only findings that the change adds are reported (before.h). */
    const char *const *commits; /* only these commits */
    size_t commit_count;
    const char *range; /* A..B, A...B or A^!; NULL: none */
    int64_t since_s;   /* with has_since: commits of this time or later */

    const char *ceilings;   /* as in struct ts_git_open_options */
    const char *index_file; /* with STAGED: the index to read; NULL: that of the repository */
    /* With STAGED: paths in the index. These files are scanned even if they have no staged change. If one of
     * these files has no staged change, the scan reports all findings, even those in HEAD. A file that the
     * index does not have is a fault. */
    const char *const *files;
    size_t file_count;

    const char *config_file;       /* replaces the target's own configuration */
    const char *const *rule_files; /* added to the built-in rules */
    size_t rule_file_count;
    const char *cache_folder; /* folder for compiled rules; as in struct ts_detector_options */
    /* For callers that scan several times with the same rules and configuration: the first scan finds NULL
     * here and stores its profile; later scans use it. For parallel scans, make the profile first
     * (ts_scan_profile_new). The caller frees it after the last report. NULL: each scan makes its own. */
    struct scan_profile **profile;
    struct ts_bytes salt;     /* salt of a baseline; overrides the salt of a configuration */
    struct ts_bytes new_salt; /* salt for a new baseline; used instead of the public salt */

    uint64_t memory_bytes; /* at least TS_SCAN_MEMORY_MIN; 0 means TS_SCAN_MEMORY_DEFAULT */
    uint64_t max_time_ms;  /* after this time, the scan ends with its findings so far; 0: no limit */
    /* The scan of a repository stops when the scanned bytes exceed both this many times its size on disk and
     * 1 GiB; 0 means TS_SCAN_RATIO_DEFAULT. In addition to scanned bytes, a sixteenth of the rebuilt bytes
     * counts. */
    uint64_t ratio_max;
    uint64_t archive_max;   /* bytes that an archive may unpack to; 0 is TS_SCAN_ARCHIVE_MAX_DEFAULT */
    unsigned archive_depth; /* depth of nested archives; 0 is TS_SCAN_ARCHIVES_DEFAULT */
    bool no_archives;       /* archives are not opened */
    const char *spill_dir;  /* NULL: TMPDIR, or /tmp */
    /* The folder of the state of earlier scans, which this scan uses and adds to; created if it does not
     * exist. NULL: no state. Scans with full or ungated do not use it. */
    const char *state_folder;
    /* Parts, which are used instead of the state folder, and need a salt (parts.h). NULL: none. */
    const struct ts_scan_parts *parts;
    size_t occurrences_max;            /* listed occurrences of each finding; 0 means 100 */
    enum ts_confidence min_confidence; /* findings below this confidence are counted, but not listed */
    struct ts_scan_progress *progress; /* NULL: no progress, and the scan cannot be stopped */

    enum ts_scan_extent extent;
    unsigned jobs;       /* threads; 0: one for each processor */
    bool default_branch; /* scan only the branch of HEAD; an error if only other refs exist */
    bool lists_allowed;  /* also list occurrences that marks in the source allow */
    bool has_since;
    bool allow_missing; /* objects that a partial clone omits are not faults */
    bool strict;        /* submodules, encrypted archives and missing LFS objects are faults */
    bool unreachable;   /* also scan objects that no ref reaches */
    bool search_upward; /* a folder in a work tree means its repository; ceilings limit the search */
    bool full;          /* scan every byte of every blob */
    bool ungated;       /* try every rule at every offset: slow, for comparison */
    bool no_repo_config;
    bool no_builtin_rules;
    bool shows_secrets;
    bool for_library;   /* messages name the options of turnstone/scan.h instead of the command's */
    bool keeps_secrets; /* keep secrets in findings, for the caller; texts are masked nevertheless */
};

enum ts_scan_outcome {
    TS_SCAN_DONE,        /* there is a report; it may be incomplete, or name targets that were not scanned */
    TS_SCAN_BAD_TARGET,  /* missing, not a repository, or an unknown ref */
    TS_SCAN_BAD_CONFIG,  /* the rules or the configuration are wrong */
    TS_SCAN_BAD_OPTIONS, /* two options contradict each other */
    TS_SCAN_FAILED,      /* a lack of memory, threads or temporary files */
};

struct ts_scan_error {
    char text[600]; /* one line: what happened, why, and the fix; safe to print */
    /* With FAILED: the error of the repository, for callers that must not print names. TS_GIT_OK means that
     * memory or threads were missing. */
    enum ts_git_error git;
    int os_error; /* errno with TS_GIT_IO; ENOMEM if memory for the rules was missing */
};

/* Scans the targets. With DONE the caller releases the report with ts_scan_report_release. If a target cannot
 * be scanned, that is a fault of the report, and the other targets are scanned. The outcome is an error only
 * if no target can be scanned, or if there is no memory for a report. */
enum ts_scan_outcome ts_scan_report_make(const struct ts_scan_options *options, struct ts_report *ret_report,
                                         struct ts_scan_error *ret_error);
void ts_scan_report_release(struct ts_report *report);

/* Masks a text that is written next to the report, in the same way as the texts in the report. The report
 * owns the result. */
const char *ts_scan_report_mask(const struct ts_report *report, const char *text);

#endif
