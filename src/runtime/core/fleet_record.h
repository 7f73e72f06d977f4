/*
 * The small records of a fleet. docs/formats/fleet.md has the layouts; fleet_page.h and fleet_summary.h have the large ones.
 *
 * encode writes into the caller's memory and returns the length; texts that are too long are cut where the
 * field allows that. decode borrows from the bytes. A record has exactly one encoding. No part of an invalid
 * record is used.
 */
#ifndef TS_RUNTIME_CORE_FLEET_RECORD_H
#define TS_RUNTIME_CORE_FLEET_RECORD_H

#include "base/bytes.h"
#include "runtime/core/fleet_keys.h"

#define TS_FLEET_ERRORS(X)                                                                                   \
    X(OK, "the record is correct")                                                                           \
    X(TOO_LARGE, "the record is larger than its kind allows")                                                \
    X(TRUNCATED, "the record is cut off")                                                                    \
    X(BAD_MAGIC, "the record is of another kind")                                                            \
    X(UNKNOWN_VERSION, "the record is from another version of turnstone; use that version")                  \
    X(BAD_CHECKSUM, "the record is damaged: its checksum does not match")                                    \
    X(BAD_FIELD, "the record is damaged: a field is not valid")

enum ts_fleet_error {
#define X(suffix, text) TS_FLEET_##suffix,
    TS_FLEET_ERRORS(X)
#undef X
};

const char *ts_fleet_error_text(enum ts_fleet_error error);

/* Maximum sizes of whole records in bytes, and other limits. */
enum {
    TS_FLEET_UNIT_MAX = 2048,
    TS_FLEET_TARGET_MAX = 512,
    TS_FLEET_SEEN_MAX = 400,
    TS_FLEET_FINDING_MAX = 512,
    TS_FLEET_TRIAGE_MAX = 2048,
    TS_FLEET_WASTE_MAX = 4096,
    TS_FLEET_WASTE_TIMES_MAX = 256,
    TS_FLEET_OID_MAX = 32, /* bytes of an object's id */
};

/* The work of a shard. */
struct ts_fleet_unit {
    struct ts_bytes address;   /* the normalised address without credentials, or a real path */
    struct ts_bytes url;       /* the URL that git gets */
    struct ts_bytes selection; /* normalised */
    bool is_sha256;            /* the object format is sha256; otherwise it is sha1 */
};

/* Returns 0 if the texts together are too long. The user must then submit a shorter address or selection. */
size_t ts_fleet_unit_encode(const struct ts_fleet_unit *unit, uint8_t ret_bytes[static TS_FLEET_UNIT_MAX]);
enum ts_fleet_error ts_fleet_unit_decode(struct ts_bytes bytes, struct ts_fleet_unit *ret_unit);

/* The state of a target after its last complete scan. A target without a complete scan has no record. */
struct ts_fleet_target {
    uint64_t run_number; /* number of the last run that scanned the target or found it up to date */
    uint64_t run;        /* the id of that run */
    uint8_t refs[32];    /* digest of the refs that were scanned */
    struct ts_fleet_rules rules;
    struct ts_attempt attempt; /* the attempt whose rows are valid */
    uint64_t attempt_run;      /* the id of the attempt's run */
    uint64_t findings;
    uint64_t occurrences;
    uint64_t objects;
    uint64_t bytes;
    bool has_faults; /* something could not be read: the next run scans the target again, without tips */
    bool has_hits;   /* there are hits pages */
    bool is_unsure;  /* an unanswered write of rows to another store may still arrive */
    uint64_t scanned_at_ms;
    uint64_t checked_at_ms; /* time of the last run, even if nothing was new */
};

size_t ts_fleet_target_encode(const struct ts_fleet_target *target,
                              uint8_t ret_bytes[static TS_FLEET_TARGET_MAX]);
enum ts_fleet_error ts_fleet_target_decode(struct ts_bytes bytes, struct ts_fleet_target *ret_target);

/* A finding in a target. */
struct ts_fleet_seen {
    uint64_t count;     /* number of occurrences */
    uint8_t confidence; /* the highest confidence; enum ts_confidence */
    uint8_t severity;   /* enum ts_severity */
    bool knows_head;
    bool is_in_head;
    bool is_allowed; /* marks in the source allow every occurrence */
    /* The first occurrence. */
    uint8_t place; /* enum ts_place */
    uint64_t line;
    uint64_t column;
    uint8_t commit[TS_FLEET_OID_MAX];
    uint8_t commit_len; /* 20 or 32; 0: none */
    struct ts_bytes path;
    bool path_is_cut;
};

/* Encodes the record. Cuts the path if it is too long. */
size_t ts_fleet_seen_encode(const struct ts_fleet_seen *seen, uint8_t ret_bytes[static TS_FLEET_SEEN_MAX]);
enum ts_fleet_error ts_fleet_seen_decode(struct ts_bytes bytes, struct ts_fleet_seen *ret_seen);

/* Facts about a finding that are the same in every target. */
struct ts_fleet_finding_record {
    struct ts_bytes rule; /* id of the rule */
    struct ts_bytes name; /* name of the rule */
    uint8_t severity;
    struct ts_bytes redacted;
};

/* Encodes the record. Cuts texts that are too long. */
size_t ts_fleet_finding_encode(const struct ts_fleet_finding_record *finding,
                               uint8_t ret_bytes[static TS_FLEET_FINDING_MAX]);
enum ts_fleet_error ts_fleet_finding_decode(struct ts_bytes bytes,
                                            struct ts_fleet_finding_record *ret_finding);

/* The decisions of people about a finding. X(SUFFIX, number, name) */
#define TS_TRIAGES(X)                                                                                        \
    X(OPEN, 0, "open")                                                                                       \
    X(FALSE_POSITIVE, 1, "false-positive")                                                                   \
    X(REVOKED, 2, "revoked")                                                                                 \
    X(ACCEPTED, 3, "accepted")

enum ts_triage {
#define X(suffix, number, name) TS_TRIAGE_##suffix = (number),
    TS_TRIAGES(X)
#undef X
        TS_TRIAGE_COUNT,
};

const char *ts_triage_name(enum ts_triage triage);
bool ts_triage_parse(struct ts_bytes name, enum ts_triage *ret_triage);

enum { TS_TRIAGE_WHO_MAX = 128, TS_TRIAGE_WHY_MAX = 1024 };

struct ts_fleet_triage {
    enum ts_triage state;
    uint64_t at_ms;
    struct ts_bytes who; /* at most TS_TRIAGE_WHO_MAX bytes */
    struct ts_bytes why; /* at most TS_TRIAGE_WHY_MAX bytes */
};

size_t ts_fleet_triage_encode(const struct ts_fleet_triage *triage,
                              uint8_t ret_bytes[static TS_FLEET_TRIAGE_MAX]);
enum ts_fleet_error ts_fleet_triage_decode(struct ts_bytes bytes, struct ts_fleet_triage *ret_triage);

/* The record of a waste mark: what a sweep needs in addition to the key. */
struct ts_fleet_waste {
    struct ts_tenant_id tenant;
    uint64_t run;                /* the id of the run */
    struct ts_fleet_rules rules; /* TS_WASTE_KNOWN, TS_WASTE_HITS: the rules of the pages */
    /* For each store: the time after which the rows of the attempt may be removed. The first sweep that finds
     * the lease ended sets these times. */
    uint64_t times_ms[TS_FLEET_WASTE_TIMES_MAX];
    size_t time_count; /* 0: no sweep has set the times */
    bool is_sure;      /* every write of the attempt was answered: its rows may be removed at once */
};

size_t ts_fleet_waste_encode(const struct ts_fleet_waste *waste,
                             uint8_t ret_bytes[static TS_FLEET_WASTE_MAX]);
enum ts_fleet_error ts_fleet_waste_decode(struct ts_bytes bytes, struct ts_fleet_waste *ret_waste);

#endif
