/*
 * Scanning for secrets: repositories, folders and bytes in memory, with a callback for each finding.
 *
 *     struct ts_scan *scan = ts_scan_new();
 *     ts_scan_add_repository(scan, "/srv/shop");
 *     ts_scan_set_limit(scan, TS_SCAN_LIMIT_TIME_MS, 60000);
 *     enum ts_scan_result result = ts_scan_run(scan, print_finding, NULL);
 *     ts_scan_free(scan);
 *
 * A finding is one secret, however often it occurs. It has the same id in every scan with the same rule and
 * salt, on every machine. The command 'turnstone scan' runs the same code, and finds the same secrets.
 *
 * Secrets. Nothing that this library returns contains a secret that it found: excerpts, paths, names and
 * error texts are masked. With TS_SCAN_SWITCH_SHOW_SECRETS, and only then, ts_scan_finding_secret returns the
 * secret itself and excerpts show it.
 *
 * Trust. Paths, author names and excerpts are bytes of what was scanned: escape them before they go to a
 * terminal, a page or a query. Such text has no fixed encoding.
 *
 * Files. A scan writes unnamed temporary files into TMPDIR (or /tmp) when its findings exceed their share of
 * memory. It writes elsewhere only into folders that the caller sets: TS_SCAN_TEXT_STATE_FOLDER and
 * TS_SCAN_TEXT_CACHE_FOLDER.
 *
 * Threads. One thread at a time uses a scan, except that any thread may call ts_scan_cancel and ts_scan_count
 * during a run. Several scans may run at the same time. A run starts its own threads and ends them before it
 * returns.
 *
 * The order of enum members may change until 1.0: use names, never numbers.
 */
#ifndef TURNSTONE_SCAN_H
#define TURNSTONE_SCAN_H

#include "turnstone/api.h"
#include "turnstone/bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How a call ended. X(SUFFIX, text). If the result is not OK, ts_scan_error_text says more. */
#define TS_SCAN_RESULTS(X)                                                                                   \
    X(OK, "ok")                                                                                              \
    /* run: something could not be read, or a limit ended the scan. ts_scan_fault says what is missing */    \
    X(INCOMPLETE, "incomplete")                                                                              \
    /* run: ts_scan_cancel or the callback ended the run. Findings until then were reported */               \
    X(CANCELLED, "cancelled")                                                                                \
    /* run: no target could be scanned: a target is missing, is not a repository, or lacks a ref */          \
    X(BAD_TARGET, "bad target")                                                                              \
    /* run: a rule file or configuration is not valid */                                                     \
    X(BAD_CONFIG, "bad configuration")                                                                       \
    /* an argument is not valid; the scan is unchanged. run: two options contradict each other */            \
    X(BAD_USAGE, "bad usage")                                                                                \
    /* setters: the scan is unchanged */                                                                     \
    X(NO_MEMORY, "out of memory")                                                                            \
    /* run: memory, threads or temporary files were not available */                                         \
    X(FAILED, "failed")

#define TS_SCAN_RESULT_ENUM(suffix, text) TS_SCAN_RESULT_##suffix,
enum ts_scan_result { TS_SCAN_RESULTS(TS_SCAN_RESULT_ENUM) };
#undef TS_SCAN_RESULT_ENUM

/* Returns the short text of a result, as in the table; NULL for a number that is not a result. */
TS_API const char *ts_scan_result_text(enum ts_scan_result result);

struct ts_scan;

/* Makes a scan without targets, with every option at its default. Returns NULL when memory runs out. */
TS_API struct ts_scan *ts_scan_new(void);

/* Frees the scan and everything that was returned from it. No run may be in progress. Accepts NULL. */
TS_API void ts_scan_free(struct ts_scan *scan);

/* ---- targets ---- */

/*
 * Adds the git repository at a path: a work tree, its .git, or a bare repository. The path is copied.
 * TS_SCAN_TEXT_REF and the other selections decide what is scanned; the default is every file of every commit
 * that a ref reaches, and messages of commits and tags. A path that is not a repository is BAD_TARGET when
 * the scan runs.
 */
TS_API enum ts_scan_result ts_scan_add_repository(struct ts_scan *scan, const char *path);

/* Adds all files below a folder. The path is copied. Symbolic links are not followed; the target path of a
 * link is scanned as its content. */
TS_API enum ts_scan_result ts_scan_add_folder(struct ts_scan *scan, const char *path);

/*
 * Adds bytes in memory. They are borrowed and must not change until the next ts_scan_clear_targets or
 * ts_scan_free. `name` is copied; it is the path of the bytes for allow entries and in occurrences. A name is
 * required.
 */
TS_API enum ts_scan_result ts_scan_add_bytes(struct ts_scan *scan, const char *name, struct ts_bytes bytes);

/* Removes all targets, and keeps options and compiled rules: the next run over other bytes starts at once. */
TS_API void ts_scan_clear_targets(struct ts_scan *scan);

/* ---- options ---- */

/* Limits. 0 means the default. */
enum ts_scan_limit {
    TS_SCAN_LIMIT_MEMORY_BYTES, /* memory besides mapped files; default: 1 GiB, at least 64 MiB */
    TS_SCAN_LIMIT_TIME_MS,      /* after this time the run ends as INCOMPLETE; default: no limit */
    TS_SCAN_LIMIT_JOBS,         /* threads, at most 256; default: the number of processors */
    /* The highest ratio of unpacked size to size on disk. The scan of a repository stops when its objects
     * exceed this ratio and 1 GiB; default: 10,000. */
    TS_SCAN_LIMIT_RATIO,
    TS_SCAN_LIMIT_OCCURRENCES,   /* occurrences listed for a finding; default: 100 */
    TS_SCAN_LIMIT_ARCHIVE_DEPTH, /* levels of nested archives to open, at most 8; default: 3 */
    TS_SCAN_LIMIT_ARCHIVE_BYTES, /* unpacked bytes of one archive; above this: INCOMPLETE; default: 1 GiB */
};

/* Sets a limit. Returns BAD_USAGE for an unknown limit, or a value out of its range. */
TS_API enum ts_scan_result ts_scan_set_limit(struct ts_scan *scan, enum ts_scan_limit limit, uint64_t value);

/* Switches. All are off by default. */
enum ts_scan_switch {
    TS_SCAN_SWITCH_SHOW_SECRETS,     /* findings contain their secret, and excerpts show the secret */
    TS_SCAN_SWITCH_NO_TARGET_CONFIG, /* ignore the .turnstone.yml of targets */
    TS_SCAN_SWITCH_NO_BUILTIN_RULES, /* use only the rules of TS_SCAN_TEXT_RULE_FILE and of configurations */
    /* repositories: report the secrets that a commit of the staged files would add to HEAD. Excludes UNREACHABLE
     * and the options that select commits: REF, BRANCH, COMMIT, RANGE, ts_scan_set_since */
    TS_SCAN_SWITCH_STAGED,
    /* repositories: scan the files of the work tree instead of the history. Excludes the options that STAGED
     * excludes */
    TS_SCAN_SWITCH_WORKING_TREE,
    TS_SCAN_SWITCH_UNREACHABLE,   /* repositories: also scan objects that no ref reaches */
    TS_SCAN_SWITCH_ALLOW_MISSING, /* repositories: objects that a partial clone omits are not faults */
    TS_SCAN_SWITCH_FULL,          /* scan every byte of every blob again; slower, with the same findings */
    TS_SCAN_SWITCH_NO_ARCHIVES,   /* do not look into archives */
    /* Submodules, encrypted archives and missing LFS objects are faults; without this switch they are only
     * counted. */
    TS_SCAN_SWITCH_STRICT,
};

/* Sets a switch. Returns BAD_USAGE for an unknown switch, or for STAGED and WORKING_TREE together. */
TS_API enum ts_scan_result ts_scan_set_switch(struct ts_scan *scan, enum ts_scan_switch which, bool on);

/* Texts. They are copied. */
enum ts_scan_text {
    TS_SCAN_TEXT_CONFIG_FILE, /* use this configuration, not those of the targets */
    /* Keep the results of scans here, so that the next run reads only what is new; created if missing.
     * Default: none. */
    TS_SCAN_TEXT_STATE_FOLDER,
    TS_SCAN_TEXT_CACHE_FOLDER, /* keep compiled rules here, also for other processes. Default: none */
    TS_SCAN_TEXT_RULE_FILE,    /* adds the rules of this file */
    TS_SCAN_TEXT_REF,    /* adds a revision, as git writes it: scan only what the added revisions reach */
    TS_SCAN_TEXT_BRANCH, /* adds a local or remote branch to the revisions of REF */
    /* Adds a commit: report only secrets that the added commits have, and that none of their parents has. Not
     * with REF, BRANCH or ts_scan_set_since. */
    TS_SCAN_TEXT_COMMIT,
    /* Adds a range of commits, like COMMIT: A..B, A...B or A^!. Not with REF, BRANCH, COMMIT or
     * ts_scan_set_since. */
    TS_SCAN_TEXT_RANGE,
    /* A file that 'turnstone baseline' has written. The known findings in this file are counted
     * (TS_SCAN_COUNT_KNOWN), and not reported. The ids of findings are made with the salt of this file. */
    TS_SCAN_TEXT_BASELINE_FILE,
};

/* A second RULE_FILE, REF, BRANCH or COMMIT adds to a list; NULL empties the list. A second text of any other
 * kind replaces the first one; NULL removes the text. BAD_USAGE for an unknown text. The first ts_scan_run
 * reads CONFIG_FILE, RULE_FILE and BASELINE_FILE; later runs reuse them until one of these texts or
 * TS_SCAN_SWITCH_NO_BUILTIN_RULES is set. */
TS_API enum ts_scan_result ts_scan_set_text(struct ts_scan *scan, enum ts_scan_text which, const char *text);

/* Repositories: report only secrets that commits since this time add, and that no earlier commit has. The
 * time is in seconds since 1970 UTC, and is compared with the committer's time. 0 removes the selection. */
TS_API void ts_scan_set_since(struct ts_scan *scan, int64_t time_s);

/* How likely a finding is a real secret, from the least to the most likely. X(SUFFIX, text) */
#define TS_SCAN_CONFIDENCES(X)                                                                               \
    X(LOW, "low")                                                                                            \
    X(MEDIUM, "medium")                                                                                      \
    X(HIGH, "high")

#define TS_SCAN_CONFIDENCE_ENUM(suffix, text) TS_SCAN_CONFIDENCE_##suffix,
enum ts_scan_confidence { TS_SCAN_CONFIDENCES(TS_SCAN_CONFIDENCE_ENUM) };
#undef TS_SCAN_CONFIDENCE_ENUM

/* Returns the text of a confidence, as in the table; NULL for a number that is not a confidence. */
TS_API const char *ts_scan_confidence_text(enum ts_scan_confidence confidence);

/* Sets the minimum confidence. Findings below it are not reported; they count as suppressed. Default: LOW,
 * which reports all findings. BAD_USAGE for a number that is not a confidence. */
TS_API enum ts_scan_result ts_scan_set_min_confidence(struct ts_scan *scan,
                                                      enum ts_scan_confidence confidence);

/* ---- a run ---- */

struct ts_scan_finding;
struct ts_scan_occurrence;

/*
 * Called once for each finding, by the thread that called ts_scan_run. The most severe finding comes first;
 * findings of low confidence come last. All calls come after the last target was scanned, because only then
 * are all occurrences, and all secrets to mask, known. Returning false ends the run as CANCELLED. The finding
 * stays valid until the scan runs again, changes or is freed; the callback must not run, change or free the
 * scan.
 */
typedef bool ts_scan_on_finding(void *context, const struct ts_scan_finding *finding);

/*
 * Scans all targets. OK means that everything was scanned, whether there are findings or not. A target that
 * cannot be scanned is a fault (INCOMPLETE), and the other targets are scanned; if no target can be scanned,
 * the result says why and there are no findings. BAD_USAGE without a target. on_finding may be NULL. A scan
 * may run any number of times.
 */
TS_API enum ts_scan_result ts_scan_run(struct ts_scan *scan, ts_scan_on_finding *on_finding, void *context);

/* Ends the current run, and every later one, as CANCELLED: soon, not at once. Any thread and a signal handler
 * may call it. */
TS_API void ts_scan_cancel(struct ts_scan *scan);

/* Lets a cancelled scan run again. No run may be in progress. */
TS_API void ts_scan_clear_cancel(struct ts_scan *scan);

/* Returns one line that says why the last call on this scan did not end as OK; "" if the call ended as OK.
 * The line names options as they are declared above. Valid until the next call. */
TS_API const char *ts_scan_error_text(const struct ts_scan *scan);

/* Returns one line about a part that the last run could not scan; NULL if the index is too large. Valid as
 * long as the findings of the run. A run keeps a limited number of lines; TS_SCAN_COUNT_FAULTS is the number
 * of faults. */
TS_API const char *ts_scan_fault(const struct ts_scan *scan, size_t index);

/* Returns one line with a note about the last run that is not a fault, such as a configuration that is not
 * used; NULL if the index is too large. Valid as long as the findings of the run. */
TS_API const char *ts_scan_note(const struct ts_scan *scan, size_t index);

/* The counters begin at 0 with each run. */
enum ts_scan_counter {
    TS_SCAN_COUNT_OBJECTS,       /* blobs, messages and files scanned so far */
    TS_SCAN_COUNT_OBJECTS_TOTAL, /* all objects to scan; 0 if unknown */
    TS_SCAN_COUNT_BYTES,         /* bytes scanned so far */
    /* Findings reported to the callback; during a run: findings so far, before allow entries and the baseline
     * apply. */
    TS_SCAN_COUNT_FINDINGS,
    TS_SCAN_COUNT_FAULTS, /* faults of the last run; 0 during a run */
    /* Findings that are suppressed by allow entries, marks or the minimum confidence; 0 during a run. */
    TS_SCAN_COUNT_SUPPRESSED,
    TS_SCAN_COUNT_KNOWN, /* findings in the baseline; 0 during a run */
};

/* Returns the value of a counter; 0 for an unknown counter. */
TS_API uint64_t ts_scan_count(const struct ts_scan *scan, enum ts_scan_counter counter);

/* ---- a finding ---- */

/* From the least severe to the most severe. X(SUFFIX, text) */
#define TS_SCAN_SEVERITIES(X)                                                                                \
    X(LOW, "low")                                                                                            \
    X(MEDIUM, "medium")                                                                                      \
    X(HIGH, "high")                                                                                          \
    X(CRITICAL, "critical")

#define TS_SCAN_SEVERITY_ENUM(suffix, text) TS_SCAN_SEVERITY_##suffix,
enum ts_scan_severity { TS_SCAN_SEVERITIES(TS_SCAN_SEVERITY_ENUM) };
#undef TS_SCAN_SEVERITY_ENUM

/* Returns the text of a severity, as in the table; NULL for a number that is not a severity. */
TS_API const char *ts_scan_severity_text(enum ts_scan_severity severity);

/* Returns the id of the finding: 32 hexadecimal digits, the same for the same rule, secret and salt. */
TS_API const char *ts_scan_finding_id(const struct ts_scan_finding *finding);

/* Return the id of the rule, such as "github-pat", and its name for people. */
TS_API const char *ts_scan_finding_rule(const struct ts_scan_finding *finding);
TS_API const char *ts_scan_finding_rule_name(const struct ts_scan_finding *finding);

/* Return the rule's help: what the secret gives access to, how to revoke it, and a page of the issuer. "" if
 * the rule does not say. */
TS_API const char *ts_scan_finding_description(const struct ts_scan_finding *finding);
TS_API const char *ts_scan_finding_revoke(const struct ts_scan_finding *finding);
TS_API const char *ts_scan_finding_url(const struct ts_scan_finding *finding);

TS_API enum ts_scan_severity ts_scan_finding_severity(const struct ts_scan_finding *finding);
TS_API enum ts_scan_confidence ts_scan_finding_confidence(const struct ts_scan_finding *finding);

/* Returns the secret shortened for people, such as "ghp_…9f3a"; UTF-8, one line, safe to print. */
TS_API const char *ts_scan_finding_redacted(const struct ts_scan_finding *finding);

/* Returns the line of the first occurrence, shortened. Every known secret in the line is masked, as "Secrets"
 * at the top describes. */
TS_API struct ts_bytes ts_scan_finding_excerpt(const struct ts_scan_finding *finding);

/* Returns the secret itself, decoded when it was encoded; empty without TS_SCAN_SWITCH_SHOW_SECRETS. */
TS_API struct ts_bytes ts_scan_finding_secret(const struct ts_scan_finding *finding);

/* Returns the key id that belongs to the secret and was found near it, such as the access key id of an AWS
 * secret; NULL if there is none. The key id is not reported as a separate finding. Lives as long as the
 * finding. */
TS_API const struct ts_scan_finding *ts_scan_finding_pair(const struct ts_scan_finding *finding);

/* Returns the exact number of occurrences, at least 1. */
TS_API uint64_t ts_scan_finding_occurrence_count(const struct ts_scan_finding *finding);

/* Returns a listed occurrence by its index from 0. Occurrences are ordered by target, then by the time of
 * their commit, then by path and line. At least one is listed. Returns NULL for an index beyond the listed
 * occurrences (TS_SCAN_LIMIT_OCCURRENCES). Lives as long as the finding. */
TS_API const struct ts_scan_occurrence *ts_scan_finding_occurrence(const struct ts_scan_finding *finding,
                                                                   size_t index);

/* Says whether HEAD contains the secret, even if only other commits were scanned. UNKNOWN: a target is not a
 * repository, has no commit in HEAD, or HEAD could not be read. */
enum ts_scan_head { TS_SCAN_HEAD_UNKNOWN, TS_SCAN_HEAD_GONE, TS_SCAN_HEAD_HAS };
TS_API enum ts_scan_head ts_scan_finding_in_head(const struct ts_scan_finding *finding);

/* Returns the place in HEAD that contains the secret, the first one by path; its commit is HEAD. NULL unless
 * ts_scan_finding_in_head returns HAS. Lives as long as the finding. */
TS_API const struct ts_scan_occurrence *ts_scan_finding_head(const struct ts_scan_finding *finding);

/* Return how many branches and tags reach a commit that added the secret, and the full names of some of these
 * refs, by index from 0: local branches, then remote branches, then tags. NULL for an index beyond the listed
 * names. */
TS_API uint64_t ts_scan_finding_ref_count(const struct ts_scan_finding *finding);
TS_API const char *ts_scan_finding_ref(const struct ts_scan_finding *finding, size_t index);

/* ---- an occurrence ---- */

/* Returns the index of the target, in the order in which targets were added. */
TS_API size_t ts_scan_occurrence_target(const struct ts_scan_occurrence *occurrence);

/* Returns the kind of place: "file", "staged", "working tree", "commit message", "tag message", "note" or
 * "unreachable object". */
TS_API const char *ts_scan_occurrence_place(const struct ts_scan_occurrence *occurrence);

/* Returns the path relative to the target. The path of a file in an archive is such as
 * "deploy.zip!/etc/app.env". Bytes and tags have their name as path; other messages have an empty path. */
TS_API struct ts_bytes ts_scan_occurrence_path(const struct ts_scan_occurrence *occurrence);

/* Return the line and column where the secret begins, the line of its last byte, and the column after that
 * byte. All count from 1, columns in bytes. */
TS_API uint64_t ts_scan_occurrence_line(const struct ts_scan_occurrence *occurrence);
TS_API uint64_t ts_scan_occurrence_column(const struct ts_scan_occurrence *occurrence);
TS_API uint64_t ts_scan_occurrence_end_line(const struct ts_scan_occurrence *occurrence);
TS_API uint64_t ts_scan_occurrence_end_column(const struct ts_scan_occurrence *occurrence);

/* Returns the id of the blob, commit or tag that contains the occurrence, as hexadecimal digits; "" when the
 * place is not a git object. */
TS_API const char *ts_scan_occurrence_object(const struct ts_scan_occurrence *occurrence);

/* Return the first commit that has the secret at this path, as hexadecimal digits; its author; and the
 * author's time in seconds since 1970 UTC. Without such a commit they are "", empty and 0. */
TS_API const char *ts_scan_occurrence_commit(const struct ts_scan_occurrence *occurrence);
TS_API struct ts_bytes ts_scan_occurrence_author_name(const struct ts_scan_occurrence *occurrence);
TS_API struct ts_bytes ts_scan_occurrence_author_mail(const struct ts_scan_occurrence *occurrence);
TS_API int64_t ts_scan_occurrence_author_time_s(const struct ts_scan_occurrence *occurrence);

/* Writes the URL of the occurrence at the code host of the remote `origin`, with a terminator. Returns the
 * length of the URL; 0 if the occurrence has no URL. If `size` is not larger than the length, ret_link is
 * unchanged. */
TS_API size_t ts_scan_occurrence_link(const struct ts_scan_occurrence *occurrence, char *ret_link,
                                      size_t size);

#ifdef __cplusplus
}
#endif

#endif
