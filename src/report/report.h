/*
 * The findings of a scan, in the form that all formats share.
 *
 * A report contains no secret unless `shows_secrets`: the scan masks every text, including paths, names and
 * faults, so that a writer cannot show a secret by mistake. Paths, names, mail addresses and excerpts are
 * untrusted bytes: a writer escapes them for its format.
 *
 * Everything is in its final order (ts_report_sort): two scans of the same target give equal reports, apart
 * from `took_ns`, with any number of threads.
 */
#ifndef TS_REPORT_REPORT_H
#define TS_REPORT_REPORT_H

#include "detect/finding_id.h"
#include "detect/matches.h"
#include "detect/rule.h"

#include "base/bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Replaces a secret in an excerpt. */
#define TS_REPORT_MASK           "********"
#define TS_REPORT_NONE           UINT32_MAX
#define TS_REPORT_SEVERITY_COUNT 4

/* The kinds of targets. */
#define TS_REPORT_TARGET_KINDS(X)                                                                            \
    X(REPOSITORY, "repository")                                                                              \
    X(DIRECTORY, "directory")                                                                                \
    X(FILE, "file")                                                                                          \
    X(INPUT, "standard input")

#define TS_REPORT_TARGET_KIND_ENUM(suffix, text) TS_REPORT_TARGET_KIND_##suffix,
enum ts_report_target_kind { TS_REPORT_TARGET_KINDS(TS_REPORT_TARGET_KIND_ENUM) };
#undef TS_REPORT_TARGET_KIND_ENUM

/* Code hosts, distinguished by the form of their links. */
enum ts_forge { TS_FORGE_GITHUB, TS_FORGE_GITLAB, TS_FORGE_BITBUCKET, TS_FORGE_GITEA, TS_FORGE_AZURE };

/* The outcome of scanning a target. */
enum ts_report_target_outcome {
    TS_REPORT_TARGET_SCANNED, /* the target was scanned, perhaps with faults */
    /* a wrong target: the target does not exist, is not a repository, names an unknown ref, or has an invalid
     * configuration */
    TS_REPORT_TARGET_REFUSED,
    TS_REPORT_TARGET_FAILED, /* memory, threads or temporary files ran out */
};

/* The kind of place of an occurrence. */
#define TS_PLACES(X)                                                                                         \
    X(FILE, "file") /* of a commit, or of a folder */                                                        \
    X(STAGED, "staged")                                                                                      \
    X(WORKING_TREE, "working tree")                                                                          \
    X(COMMIT_MESSAGE, "commit message")                                                                      \
    X(TAG_MESSAGE, "tag message")                                                                            \
    X(NOTE, "note")                                                                                          \
    X(UNREACHABLE, "unreachable object")                                                                     \
    X(INPUT, "standard input")

#define TS_PLACE_ENUM(suffix, text) TS_PLACE_##suffix,
enum ts_place { TS_PLACES(TS_PLACE_ENUM) };
#undef TS_PLACE_ENUM

const char *ts_report_target_kind_name(enum ts_report_target_kind kind);
const char *ts_place_name(enum ts_place place);

struct ts_report_commit {
    const char *oid; /* object id, hexadecimal */
    struct ts_bytes author_name;
    struct ts_bytes author_mail;
    int64_t author_time_s;
    int32_t author_zone_minutes;
};

struct ts_report_occurrence {
    uint32_t target; /* index in targets */
    uint32_t commit; /* index in `commits`: first commit with the occurrence; or TS_REPORT_NONE */
    enum ts_place place;
    const char *object;   /* id of the blob, commit or tag, hexadecimal; "" if there is no object */
    struct ts_bytes path; /* relative to the target; the name of a tag; empty for messages and input */
    uint64_t line;        /* from 1; where the secret begins */
    uint64_t column;      /* from 1, in bytes; where the secret begins */
    uint64_t end_line;
    uint64_t end_column; /* column after the last byte of the secret */
    bool is_allowed;     /* marks in the source allow it; such occurrences are listed only on request */
};

#define TS_REPORT_REFS 5
struct ts_report_finding {
    struct ts_finding_id id;
    const struct ts_rule *rule;
    enum ts_confidence confidence; /* the highest confidence of its occurrences */
    bool is_new;                   /* not in the baseline; always true without a baseline */
    const char *redacted;          /* "ghp_…9f3a", for a line of text */
    struct ts_bytes secret;        /* empty unless the scan keeps secrets */
    struct ts_bytes excerpt; /* line of the first occurrence, shortened; secrets are masked unless shown */
    uint8_t depth;           /* number of encodings of the first occurrence */
    enum ts_encoding encodings[TS_ENCODING_DEPTH];
    /* The place in HEAD, the first one by path; NULL: the finding is not in HEAD, or this is not known. */
    const struct ts_report_occurrence *head;
    uint64_t head_count; /* places in HEAD */
    /* The full names of some branches and tags that reach a commit that added the secret. */
    const char *refs[TS_REPORT_REFS];
    size_t ref_listed;
    uint64_t ref_count;
    const struct ts_report_finding *pair; /* the key id that belongs to this secret; NULL: none was found */
    uint64_t occurrence_count;            /* exact number of occurrences */
    const struct ts_report_occurrence *occurrences; /* the first occurrences; at least one */
    size_t listed_count;
};

/* Something that could not be read: the scan is incomplete. One line, safe to print. */
struct ts_report_fault {
    uint32_t target;
    const char *text;
};

struct ts_report_target {
    struct ts_bytes name; /* as on the command line */
    enum ts_report_target_kind kind;
    /* if the outcome is not SCANNED, one of the faults says why, and the fields below are unused */
    enum ts_report_target_outcome outcome;
    uint64_t commits;
    uint64_t trees;
    uint64_t tags;
    uint64_t blobs; /* blobs; for a folder: its files */
    uint64_t bytes; /* size of these blobs, expanded */
    uint64_t bytes_looked_at;
    uint64_t blobs_known; /* blobs known from an earlier scan, not read again */
    /* Objects that a partial clone omits; also a fault, unless --allow-missing accepts them. */
    uint64_t missing_by_design;
    uint64_t cut_commits;        /* commits whose parents a shallow clone omits */
    uint64_t submodules;         /* submodules, which are separate repositories and not scanned */
    uint64_t encrypted_archives; /* archives with encrypted members, which were not scanned */
    uint64_t lfs_objects;        /* LFS objects scanned in place of their pointers */
    uint64_t lfs_missing;        /* LFS objects that are missing */
    uint64_t skipped;            /* paths that are neither file, folder nor link, such as sockets */
    bool knows_head;             /* findings say whether they are in HEAD */
    const char *forge; /* the page of the repository, such as https://github.com/a/b; NULL: unknown */
    enum ts_forge forge_kind;
};

/* A source of suppressions (an entry of a configuration, or a mark in lines), and how much it suppresses. */
struct ts_report_suppression {
    const char *source; /* "FILE:LINE", or the mark, such as "turnstone:allow" */
    const char *reason; /* "" if the entry has no reason */
    uint64_t findings;
    uint64_t occurrences;
};

/* Changes of built-in rules, and added rules. */
#define TS_REPORT_RULE_CHANGES(X)                                                                            \
    X(LEFT_OUT, "left out") /* a built-in rule that is not used */                                           \
    X(REPLACED, "replaced")                                                                                  \
    X(ADDED, "added")

#define TS_REPORT_RULE_CHANGE_ENUM(suffix, text) TS_REPORT_RULE_CHANGE_##suffix,
enum ts_report_rule_change_kind { TS_REPORT_RULE_CHANGES(TS_REPORT_RULE_CHANGE_ENUM) };
#undef TS_REPORT_RULE_CHANGE_ENUM

const char *ts_report_rule_change_name(enum ts_report_rule_change_kind change);

/* A change of rules and its source. A target that removes rules must be visible, like a target that
 * suppresses findings. */
struct ts_report_rule_change {
    enum ts_report_rule_change_kind change;
    uint32_t target;    /* target whose file makes the change; TS_REPORT_NONE: the user's file */
    const char *source; /* path of the file (a target's file: from the target's top), or the option */
    const char **rules; /* ids of the rules */
    size_t count;
};

/* An entry of the baseline that was not found. */
struct ts_report_gone {
    struct ts_finding_id id;
    const char *rule;
};

struct ts_report {
    struct ts_report_target *targets;
    size_t target_count;
    struct ts_report_commit *commits;
    size_t commit_count;
    struct ts_report_finding *findings;
    size_t finding_count;
    /* Ids of findings that are not listed, because their confidence is too low or because they are the key id
     * of another finding. A baseline does not report such findings as gone. */
    const struct ts_finding_id *unlisted;
    size_t unlisted_count;
    struct ts_report_fault *faults; /* the first faults; fault_total counts all */
    size_t fault_count;
    uint64_t fault_total; /* number of all faults; above 0: the scan is incomplete */
    struct ts_report_suppression *suppressions;
    size_t suppression_count;
    struct ts_report_rule_change *rule_changes; /* changes by targets come first */
    size_t rule_change_count;
    const char **notes; /* notes that are not faults, one line each, safe to print */
    size_t note_count;
    /* Why the state is not used or kept, for standard error; NULL: no warning. Not part of any format. */
    const char *state_warning;
    bool shows_secrets;
    bool is_stopped;      /* a signal stopped the scan, which is therefore incomplete */
    bool has_public_salt; /* ids are keyed by the public salt */
    /* Key of the ids; if the targets have several keys: the key of the first target. */
    struct ts_finding_key key;
    bool has_several_keys; /* targets have different salts: their ids cannot be compared */
    size_t rule_count;     /* rules that were used */
    uint64_t limits_hit;   /* how often a limit for pattern steps was hit; above 0: the scan is incomplete */
    bool has_baseline;
    uint64_t baseline_known; /* findings in the baseline, whose is_new is false */
    /* The tool whose report is the baseline, and how many entries of that report match a finding. NULL: the
     * baseline is turnstone's own, and `gone` has the entries that were not found. */
    const char *baseline_tool;
    uint64_t baseline_matched;
    uint64_t baseline_unmatched;
    const struct ts_report_gone *gone; /* entries of the baseline that the scan did not find, sorted by id */
    size_t gone_count;
    uint64_t took_ns;
    void *memory; /* memory of everything in the report */
};

/* Totals over all targets, and over the new findings. */
struct ts_report_totals {
    uint64_t commits;
    uint64_t blobs;
    uint64_t bytes;
    uint64_t bytes_looked_at;
    uint64_t blobs_known;
    uint64_t findings;
    uint64_t occurrences;
    uint64_t suppressed;                            /* suppressed findings */
    uint64_t by_severity[TS_REPORT_SEVERITY_COUNT]; /* number of findings of each severity */
};

struct ts_report_totals ts_report_totals(const struct ts_report *report);

/* Returns whether something that should have been scanned was not scanned. */
bool ts_report_is_incomplete(const struct ts_report *report);

/* Room for any verdict, with its terminator. */
#define TS_REPORT_VERDICT_SIZE 320
/* Writes the summary in one line: "2 findings: 1 critical, 1 high; 3 occurrences (0.1 s)". Safe to print. */
const char *ts_report_verdict(const struct ts_report *report, char ret_line[static TS_REPORT_VERDICT_SIZE]);

/* Returns whether a file of the target removed or replaced built-in rules. */
bool ts_report_is_rule_lost(const struct ts_report_rule_change *change);

/* Room for the text of any change of rules, with its terminator. */
#define TS_REPORT_LINE_SIZE 1200
/* Writes one line about a change of rules: "1 built-in rule replaced by team.yml of the target: github-pat".
 * Safe to print. */
const char *ts_report_rule_change_text(const struct ts_report *report,
                                       const struct ts_report_rule_change *change,
                                       char ret_line[static TS_REPORT_LINE_SIZE]);

/* The presence of a finding in HEAD. */
enum ts_report_head {
    TS_REPORT_HEAD_UNKNOWN, /* not a repository, no commit in HEAD, or HEAD could not be read */
    TS_REPORT_HEAD_GONE,
    TS_REPORT_HEAD_HAS
};
enum ts_report_head ts_report_head_of(const struct ts_report *report,
                                      const struct ts_report_finding *finding);

/* Room for any link, with its terminator. */
#define TS_REPORT_LINK_SIZE 4096
/* Writes the URL of an occurrence with its line, or of its commit: printable ASCII without quotes, <, > and
 * &. Returns false if there is no URL. */
bool ts_report_link(const struct ts_report *report, const struct ts_report_occurrence *occurrence,
                    char ret_link[static TS_REPORT_LINK_SIZE]);

/* Sorts findings: low confidence last; then by severity (highest first), confidence, rule, first occurrence
 * and id. The occurrences of each finding are already in order. */
void ts_report_sort(struct ts_report *report);

#endif
