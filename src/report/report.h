/*
 * The findings of a scan, as every format shows them.
 *
 * A report contains no secret unless `shows_secrets`: the scan masks every text, including paths, names and
 * faults, so that a writer cannot show a secret by mistake. Paths, names, mail addresses and excerpts are
 * bytes of a stranger's repository: a writer escapes them for its format.
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
#define TS_REPORT_MASK    "********"
#define TS_REPORT_NONE    UINT32_MAX
#define TS_SEVERITY_COUNT 4

/* The kinds of targets. */
#define TS_TARGET_KINDS(X)                                                                                   \
    X(REPOSITORY, "repository")                                                                              \
    X(DIRECTORY, "directory")                                                                                \
    X(FILE, "file")                                                                                          \
    X(INPUT, "standard input")

#define TS_TARGET_KIND_ENUM(suffix, text) TS_TARGET_KIND_##suffix,
enum ts_target_kind { TS_TARGET_KINDS(TS_TARGET_KIND_ENUM) };
#undef TS_TARGET_KIND_ENUM

/* Code hosts, by how their links are written. */
enum ts_forge { TS_FORGE_GITHUB, TS_FORGE_GITLAB, TS_FORGE_BITBUCKET, TS_FORGE_GITEA };

/* The outcome of scanning a target. */
enum ts_target_outcome {
    TS_TARGET_SCANNED, /* perhaps with faults */
    /* a wrong target: it does not exist, is not a repository, names an unknown ref, or has an invalid
     * configuration */
    TS_TARGET_REFUSED,
    TS_TARGET_FAILED, /* memory, threads or temporary files ended it */
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

const char *ts_target_kind_name(enum ts_target_kind kind);
const char *ts_place_name(enum ts_place place);

struct ts_report_commit {
    const char *oid; /* hexadecimal */
    struct ts_bytes author_name;
    struct ts_bytes author_mail;
    int64_t author_time_s;
    int32_t author_zone_minutes;
};

struct ts_report_occurrence {
    uint32_t target; /* in targets */
    uint32_t commit; /* in commits, the first one that has it here; or TS_REPORT_NONE */
    enum ts_place place;
    const char *object;   /* id of the blob, commit or tag, hexadecimal; "" when it is not an object */
    struct ts_bytes path; /* relative to the target; the name of a tag; empty for messages and input */
    uint64_t line;        /* from 1; where the secret begins */
    uint64_t column;      /* from 1, in bytes */
    uint64_t end_line;
    uint64_t end_column; /* after its last byte */
};

#define TS_REPORT_REFS 5
struct ts_report_finding {
    struct ts_finding_id id;
    const struct ts_rule *rule;
    enum ts_confidence confidence; /* the highest of its occurrences */
    bool is_new;                   /* not in the baseline; true when there is none */
    const char *redacted;          /* "ghp_…9f3a", for a line of text */
    struct ts_bytes secret;        /* empty unless the scan keeps secrets */
    struct ts_bytes excerpt; /* the line of the first occurrence, its secrets masked unless shown; cut */
    uint8_t depth;           /* encodings that its first occurrence is in, from the outside in */
    enum ts_encoding encodings[TS_ENCODING_DEPTH];
    /* Where HEAD has it, the first place by path; NULL: nowhere, or not known. */
    const struct ts_report_occurrence *head;
    uint64_t head_count; /* places in HEAD */
    /* The full names of the first branches and tags that reach it. */
    const char *refs[TS_REPORT_REFS];
    size_t ref_listed;
    uint64_t ref_count;
    uint64_t occurrence_count;                      /* exact */
    const struct ts_report_occurrence *occurrences; /* the first of them; at least one */
    size_t listed_count;
};

/* Something that could not be read: the scan is incomplete. One line, safe to print. */
struct ts_report_fault {
    uint32_t target;
    const char *text;
};

struct ts_report_target {
    struct ts_bytes name; /* as on the command line */
    enum ts_target_kind kind;
    /* unless SCANNED, one of the faults says why, and the fields below are unused */
    enum ts_target_outcome outcome;
    uint64_t commits;
    uint64_t trees;
    uint64_t tags;
    uint64_t blobs; /* of a folder: its files */
    uint64_t bytes; /* of these blobs, expanded */
    uint64_t bytes_looked_at;
    uint64_t blobs_known;        /* known from an earlier scan, not read again */
    uint64_t missing_by_design;  /* missing from a partial clone: also a fault, unless that is accepted */
    uint64_t cut_commits;        /* whose parents a shallow clone omits */
    uint64_t submodules;         /* repositories of their own, not scanned */
    uint64_t encrypted_archives; /* archives with encrypted members, which were not scanned */
    uint64_t lfs_objects;        /* scanned in place of their pointers */
    uint64_t lfs_missing;        /* LFS objects that are not there */
    uint64_t skipped;            /* neither file, folder nor link: sockets, devices */
    bool knows_head;             /* findings say whether HEAD has them */
    const char *forge; /* the page of the repository, such as https://github.com/a/b; NULL: unknown */
    enum ts_forge forge_kind;
};

/* A suppression: an entry of a configuration, or the marks in lines, and the number of suppressed
 * matches. */
struct ts_report_suppression {
    const char *source; /* "FILE:LINE", or the mark, such as "turnstone:allow" */
    const char *reason; /* "" if absent */
    uint64_t findings;
    uint64_t occurrences;
};

/* Changes of built-in rules, and added rules. */
#define TS_RULE_CHANGES(X)                                                                                   \
    X(LEFT_OUT, "left out") /* new: there is no built-in rule with this id */                                \
    X(REPLACED, "replaced")                                                                                  \
    X(ADDED, "added")

#define TS_RULE_CHANGE_ENUM(suffix, text) TS_RULE_CHANGE_##suffix,
enum ts_rule_change { TS_RULE_CHANGES(TS_RULE_CHANGE_ENUM) };
#undef TS_RULE_CHANGE_ENUM

const char *ts_rule_change_name(enum ts_rule_change change);

/* A change of rules and its source. A target that removes rules must be visible, like one that suppresses
 * findings. */
struct ts_report_rule_change {
    enum ts_rule_change change;
    uint32_t target;    /* whose file it is; TS_REPORT_NONE: the user's */
    const char *source; /* file, of a target from its top; or the option */
    const char **rules; /* ids */
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
    /* Ids of findings whose confidence is too low to be listed, so that a baseline does not call them gone. */
    const struct ts_finding_id *unlisted;
    size_t unlisted_count;
    struct ts_report_fault *faults; /* only those that are kept */
    size_t fault_count;
    uint64_t fault_total; /* above 0: incomplete */
    struct ts_report_suppression *suppressions;
    size_t suppression_count;
    struct ts_report_rule_change *rule_changes; /* those by targets first */
    size_t rule_change_count;
    const char **notes; /* notes that are not faults, one line each, safe to print */
    size_t note_count;
    /* Why the state is not used or kept, for standard error; NULL: no warning. Not part of any format. */
    const char *state_warning;
    bool shows_secrets;
    bool is_stopped;           /* by a signal: incomplete */
    bool has_public_salt;      /* ids are keyed by the public salt */
    struct ts_finding_key key; /* of the ids; of the first target's when there are several */
    bool has_several_keys;     /* targets have different salts: their ids cannot be compared */
    size_t rule_count;         /* rules that were used */
    uint64_t limits_hit;       /* patterns that hit their step limit: the result is incomplete */
    bool has_baseline;
    uint64_t baseline_known; /* findings that the baseline has: their is_new is false */
    /* The tool whose report is the baseline, and how many of its entries findings matched; NULL: the baseline
     * is turnstone's, and `gone` has the entries that were not found. */
    const char *baseline_tool;
    uint64_t baseline_matched;
    uint64_t baseline_unmatched;
    const struct ts_report_gone *gone; /* entries of the baseline that the scan did not find, sorted by id */
    size_t gone_count;
    uint64_t took_ns;
    void *memory; /* owner of all of the above */
};

/* Sums over all targets, and over the findings that are new. */
struct ts_report_totals {
    uint64_t commits;
    uint64_t blobs;
    uint64_t bytes;
    uint64_t bytes_looked_at;
    uint64_t blobs_known;
    uint64_t findings;
    uint64_t occurrences;
    uint64_t suppressed;                     /* findings */
    uint64_t by_severity[TS_SEVERITY_COUNT]; /* findings */
};

struct ts_report_totals ts_report_totals(const struct ts_report *report);

/* Returns whether anything that should have been scanned was not. */
bool ts_report_is_incomplete(const struct ts_report *report);

/* The summary in one line: "2 findings: 1 critical, 1 high; 3 occurrences (0.1 s)". Safe to print. */
#define TS_REPORT_VERDICT_SIZE 320
const char *ts_report_verdict(const struct ts_report *report, char ret_line[static TS_REPORT_VERDICT_SIZE]);

/* Returns whether a target removed rules that would have been used. */
bool ts_report_is_rule_lost(const struct ts_report_rule_change *change);

/* "1 built-in rule replaced by team.yml of the target: github-pat". One line, safe to print. */
#define TS_REPORT_LINE_SIZE 1200
const char *ts_report_rule_change_text(const struct ts_report *report,
                                       const struct ts_report_rule_change *change,
                                       char ret_line[static TS_REPORT_LINE_SIZE]);

/* Whether HEAD has a finding. */
enum ts_report_head {
    TS_REPORT_HEAD_UNKNOWN, /* not a repository, or HEAD was not scanned */
    TS_REPORT_HEAD_GONE,
    TS_REPORT_HEAD_HAS
};
enum ts_report_head ts_report_head_of(const struct ts_report *report,
                                      const struct ts_report_finding *finding);

/* The URL of an occurrence with its line, or of its commit: printable ASCII without quotes, <, > and &. Returns false if there is
 * none. */
#define TS_REPORT_LINK_SIZE 4096
bool ts_report_link(const struct ts_report *report, const struct ts_report_occurrence *occurrence,
                    char ret_link[static TS_REPORT_LINK_SIZE]);

/* Sorts findings: those of low confidence come last; then by severity, highest first, confidence, rule, first
 * occurrence and id. The occurrences of each finding are already in order. */
void ts_report_sort(struct ts_report *report);

#endif
