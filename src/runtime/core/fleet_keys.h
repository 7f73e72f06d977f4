/*
 * The keys of a fleet's records: targets, pages, findings, triage. All begin with the bytes 00 'f', which
 * users' batches cannot write; numbers in keys are big-endian, so that they sort. docs/formats/fleet.md has
 * the table.
 *
 * All records of a target are on its home, the store that the hash of its id routes to. Records about one
 * finding are on the store that the hash of the finding routes to.
 */
#ifndef TS_RUNTIME_CORE_FLEET_KEYS_H
#define TS_RUNTIME_CORE_FLEET_KEYS_H

#include "base/bytes.h"
#include "coord/core/ids.h"
#include "runtime/core/target.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    TS_FLEET_TENANT_LEN = TS_NAME_ID_LEN,
    TS_FLEET_FINDING_LEN = 16,
    TS_FLEET_RULES_LEN = 16,
    TS_ATTEMPT_LEN = 28,
    TS_FLEET_KEY_MAX = 3 + TS_FLEET_TENANT_LEN + TS_FLEET_FINDING_LEN + TS_TARGET_ID_LEN + TS_ATTEMPT_LEN,
};

/* The binary form of a finding's id. */
struct ts_fleet_finding {
    uint8_t bytes[TS_FLEET_FINDING_LEN];
};

/* `rules` is a digest of the rules and the program, which decide what a scan finds. `judging` is a digest of
 * the configuration and the tenant's key, which decide what is reported about a hit. */
struct ts_fleet_rules {
    uint8_t rules[TS_FLEET_RULES_LEN];
    uint8_t judging[TS_FLEET_RULES_LEN];
};

/*
 * One attempt to finish a target. No two attempts have the same values: `run` is the number of the run, which
 * is never reused (the id of a run can be reused). `n` counts the attempts under one lease.
 */
struct ts_attempt {
    uint64_t run;
    uint64_t shard;
    uint64_t fence;
    uint32_t n;
};

bool ts_attempt_equal(const struct ts_attempt *a, const struct ts_attempt *b);
void ts_attempt_encode(const struct ts_attempt *attempt, uint8_t ret_bytes[static TS_ATTEMPT_LEN]);
struct ts_attempt ts_attempt_decode(const uint8_t bytes[static TS_ATTEMPT_LEN]);

/* The name of a schedule, padded with zeros. */
struct ts_schedule_name {
    uint8_t b[TS_NAME_ID_LEN];
};

/* The kinds of rows that a waste mark refers to. */
enum ts_waste {
    TS_WASTE_STAGED = 's', /* rows that no flip has made visible yet */
    TS_WASTE_OLD = 'o',    /* rows that a later attempt has replaced */
    TS_WASTE_KNOWN = 'k',  /* known pages */
    TS_WASTE_HITS = 'h',   /* hits pages of earlier rules */
};

struct ts_fleet_key {
    uint8_t bytes[TS_FLEET_KEY_MAX];
    uint8_t len;
};

static inline struct ts_bytes ts_fleet_key_bytes(const struct ts_fleet_key *key) {
    return ts_bytes_of(key->bytes, key->len);
}

/* ---- on the home of the target ---- */

struct ts_fleet_key ts_fleet_key_target(const struct ts_tenant_id *tenant, const struct ts_target_id *target);
/* Keys of pages of known objects and of hits. The pages of a lease are numbered by `page`; the n of the
 * attempt is ignored. */
struct ts_fleet_key ts_fleet_key_known(const struct ts_target_id *target, const struct ts_fleet_rules *rules,
                                       const struct ts_attempt *attempt, uint32_t page);
struct ts_fleet_key ts_fleet_key_hits(const struct ts_target_id *target, const struct ts_fleet_rules *rules,
                                      const struct ts_attempt *attempt, uint32_t page);
struct ts_fleet_key ts_fleet_key_occurrences(const struct ts_target_id *target,
                                             const struct ts_attempt *attempt, uint32_t page);
/* Page 0 is the summary; the pages after it are the tips. */
struct ts_fleet_key ts_fleet_key_summary(const struct ts_target_id *target, const struct ts_attempt *attempt,
                                         uint32_t page);
struct ts_fleet_key ts_fleet_key_waste(const struct ts_target_id *target, const struct ts_attempt *attempt,
                                       enum ts_waste waste);

/* Names a page of the changes of a target by a run. `run` is the run's number. */
struct ts_fleet_change_key {
    uint64_t run;
    struct ts_target_id target;
    uint32_t page;
};
struct ts_fleet_key ts_fleet_key_change(const struct ts_tenant_id *tenant,
                                        const struct ts_fleet_change_key *change);

/* Names the notice about the changes that a run has made in a target. */
struct ts_fleet_notice_key {
    uint64_t run; /* the run's number */
    struct ts_target_id target;
};
struct ts_fleet_key ts_fleet_key_notice(const struct ts_tenant_id *tenant,
                                        const struct ts_fleet_notice_key *notice);

/* ---- on the first store ---- */

struct ts_fleet_key ts_fleet_key_schedule(const struct ts_tenant_id *tenant,
                                          const struct ts_schedule_name *name);
/* Names a page of a schedule's list of targets. */
struct ts_fleet_listing_key {
    struct ts_schedule_name name;
    uint64_t list; /* id of the list */
    uint32_t page;
};
struct ts_fleet_key ts_fleet_key_listing(const struct ts_tenant_id *tenant,
                                         const struct ts_fleet_listing_key *listing);

/* ---- on the store of the finding ---- */

struct ts_fleet_key ts_fleet_key_seen(const struct ts_tenant_id *tenant,
                                      const struct ts_fleet_finding *finding,
                                      const struct ts_target_id *target, const struct ts_attempt *attempt);
struct ts_fleet_key ts_fleet_key_finding(const struct ts_tenant_id *tenant,
                                         const struct ts_fleet_finding *finding);
struct ts_fleet_key ts_fleet_key_triage(const struct ts_tenant_id *tenant,
                                        const struct ts_fleet_finding *finding);

/* ---- ranges: the keys from `from` (included) to `to` (excluded) ---- */

struct ts_fleet_range {
    struct ts_fleet_key from;
    struct ts_fleet_key to;
};

struct ts_fleet_range ts_fleet_range_targets(const struct ts_tenant_id *tenant);
/* These ranges contain the pages of all attempts. */
struct ts_fleet_range ts_fleet_range_known(const struct ts_target_id *target,
                                           const struct ts_fleet_rules *rules);
struct ts_fleet_range ts_fleet_range_hits(const struct ts_target_id *target,
                                          const struct ts_fleet_rules *rules);
/* all_known: known pages of all rules. all_hits: pages of hits for these rules, with any judging. */
struct ts_fleet_range ts_fleet_range_all_known(const struct ts_target_id *target);
struct ts_fleet_range ts_fleet_range_all_hits(const struct ts_target_id *target,
                                              const struct ts_fleet_rules *rules);
struct ts_fleet_range ts_fleet_range_occurrences(const struct ts_target_id *target,
                                                 const struct ts_attempt *attempt);
struct ts_fleet_range ts_fleet_range_summary(const struct ts_target_id *target,
                                             const struct ts_attempt *attempt);
struct ts_fleet_range ts_fleet_range_waste(void); /* waste of all targets */
struct ts_fleet_range ts_fleet_range_waste_of(const struct ts_target_id *target);
/* Numbers of runs, both included. A range of changes contains the changes that these runs made in the tenant's
 * targets on one store. */
struct ts_fleet_runs {
    uint64_t first;
    uint64_t last;
};
struct ts_fleet_range ts_fleet_range_changes(const struct ts_tenant_id *tenant, struct ts_fleet_runs runs);
struct ts_fleet_range ts_fleet_range_seen_in(const struct ts_tenant_id *tenant); /* rows of all findings */
struct ts_fleet_range ts_fleet_range_seen(const struct ts_tenant_id *tenant,
                                          const struct ts_fleet_finding *finding);

struct ts_fleet_range ts_fleet_range_notices(const struct ts_tenant_id *tenant);
struct ts_fleet_range ts_fleet_range_schedules(const struct ts_tenant_id *tenant);
/* This range contains the pages of all lists of a schedule. */
struct ts_fleet_range ts_fleet_range_listings(const struct ts_tenant_id *tenant,
                                              const struct ts_schedule_name *name);

/* Moves the beginning of a range to the first key that is after this key and does not begin with it. */
void ts_fleet_range_skip(struct ts_fleet_range *range, const struct ts_fleet_key *key);

/* ---- parsing keys from a store; the is_ functions return false if the key is of another kind ---- */

bool ts_fleet_key_of_bytes(struct ts_bytes bytes, struct ts_fleet_key *ret_key);
bool ts_fleet_key_is_target(struct ts_bytes key, struct ts_target_id *ret_target);
struct ts_fleet_hits_key {
    struct ts_fleet_rules rules;
    struct ts_attempt lease; /* n is 0 */
};
bool ts_fleet_key_is_hits(struct ts_bytes key, struct ts_fleet_hits_key *ret_hits);

struct ts_fleet_waste_key {
    struct ts_target_id target;
    struct ts_attempt attempt;
    enum ts_waste waste;
};
bool ts_fleet_key_is_waste(struct ts_bytes key, struct ts_fleet_waste_key *ret_waste);

bool ts_fleet_key_is_notice(struct ts_bytes key, struct ts_fleet_notice_key *ret_notice);
bool ts_fleet_key_is_schedule(struct ts_bytes key, struct ts_schedule_name *ret_name);
bool ts_fleet_key_is_listing(struct ts_bytes key, struct ts_fleet_listing_key *ret_listing);

bool ts_fleet_key_is_change(struct ts_bytes key, struct ts_fleet_change_key *ret_change);

struct ts_fleet_seen_key {
    struct ts_fleet_finding finding;
    struct ts_target_id target;
    struct ts_attempt attempt;
};
bool ts_fleet_key_is_seen(struct ts_bytes key, struct ts_fleet_seen_key *ret_seen);

/* ---- places ---- */

/* Returns the number that the router maps to a store. For targets, see ts_coord_target_home
 * (target_shard.h). */
uint64_t ts_fleet_route_of_finding(const struct ts_fleet_finding *finding);

#endif
