/*
 * The summary of a target's scan: everything in its report that is not about a single finding. Like a page of
 * occurrences (fleet_page.h), it is a list of items, written and read one by one:
 *
 *     origin        first, and once: the repository and the selection
 *     row           once: counts
 *     rule          each rule that found something, so that reports do not depend on the rules of the reader
 *     fault, suppression, note, rule change
 */
#ifndef TS_RUNTIME_CORE_FLEET_SUMMARY_H
#define TS_RUNTIME_CORE_FLEET_SUMMARY_H

#include "runtime/core/fleet_page.h"

struct ts_fleet_origin {
    struct ts_bytes address;
    struct ts_bytes selection;
    bool is_sha256;
    struct ts_bytes forge; /* the page of the repository; empty: unknown */
    uint8_t forge_kind;    /* enum ts_forge */
};

struct ts_fleet_row {
    uint64_t commits;
    uint64_t trees;
    uint64_t tags;
    uint64_t blobs;
    uint64_t bytes;
    uint64_t bytes_looked_at;
    uint64_t blobs_known;
    uint64_t missing_by_design;
    uint64_t cut_commits;
    uint64_t submodules;
    uint64_t encrypted_archives;
    uint64_t lfs_objects;
    uint64_t lfs_missing;
    uint64_t skipped;
    uint64_t fault_total;
    uint64_t limits_hit;
    uint64_t rule_count; /* rules that were used */
    bool knows_head;
};

struct ts_fleet_rule {
    struct ts_bytes id;
    struct ts_bytes name;
    struct ts_bytes description;
    struct ts_bytes revoke;
    struct ts_bytes url;
    struct ts_bytes pattern;
    uint8_t severity;   /* enum ts_severity */
    uint8_t confidence; /* enum ts_confidence */
    uint8_t origin;     /* enum ts_rule_origin */
};

struct ts_fleet_suppression {
    struct ts_bytes source;
    struct ts_bytes reason;
    uint64_t findings;
    uint64_t occurrences;
};

/* A change of one rule, and its source. */
struct ts_fleet_rule_change {
    uint8_t change; /* enum ts_report_rule_change_kind */
    bool is_of_target;
    struct ts_bytes source;
    struct ts_bytes rule;
};

enum ts_fleet_part_kind {
    TS_FLEET_PART_END,
    TS_FLEET_PART_BAD,
    TS_FLEET_PART_ORIGIN,
    TS_FLEET_PART_ROW,
    TS_FLEET_PART_RULE,
    TS_FLEET_PART_FAULT,
    TS_FLEET_PART_NOTE,
    TS_FLEET_PART_SUPPRESSION,
    TS_FLEET_PART_RULE_CHANGE,
};

struct ts_fleet_part {
    enum ts_fleet_part_kind kind;
    union {
        struct ts_fleet_origin origin;
        struct ts_fleet_row row;
        struct ts_fleet_rule rule;
        struct ts_bytes text; /* for FAULT, NOTE */
        struct ts_fleet_suppression suppression;
        struct ts_fleet_rule_change rule_change;
    } u;
};

struct ts_fleet_summary {
    uint8_t *bytes;
    size_t len;
};

/* Begins a summary in the memory, which has TS_FLEET_PAGE_MAX bytes. */
void ts_fleet_summary_begin(struct ts_fleet_summary *summary, uint8_t *memory);
/* Returns false if the summary has no room for the part; the summary is then unchanged. */
bool ts_fleet_summary_add(struct ts_fleet_summary *summary, const struct ts_fleet_part *part);
size_t ts_fleet_summary_seal(struct ts_fleet_summary *summary);

struct ts_fleet_summary_reader {
    struct ts_bytes rest;
    bool is_after_origin;
};

enum ts_fleet_error ts_fleet_summary_open(struct ts_bytes bytes, struct ts_fleet_summary_reader *ret_reader);
/* Fills in ret_part, which borrows from the summary. Returns the kind of the part. After BAD, do not use the
 * summary. */
enum ts_fleet_part_kind ts_fleet_summary_next(struct ts_fleet_summary_reader *reader,
                                              struct ts_fleet_part *ret_part);

#endif
