#include "runtime/core/fleet_keys.h"

#include "base/endian.h"
#include "base/hash64.h"

enum { HEAD = 3, PAGE = 4, RUN = 0, SHARD = 8, FENCE = 16, TRY = 24, LEASE = 24 };

enum kind {
    KIND_TARGET = 't',
    KIND_KNOWN = 'k',
    KIND_HITS = 'h',
    KIND_OCCURRENCES = 'o',
    KIND_SUMMARY = 's',
    KIND_WASTE = 'w',
    KIND_CHANGE = 'd',
    KIND_NOTICE = 'q',
    KIND_SCHEDULE = 'c',
    KIND_LISTING = 'l',
    KIND_SEEN = 'e',
    KIND_FINDING = 'i',
    KIND_TRIAGE = 'g',
};

bool ts_attempt_equal(const struct ts_attempt *a, const struct ts_attempt *b) {
    return a->run == b->run && a->shard == b->shard && a->fence == b->fence && a->n == b->n;
}

void ts_attempt_encode(const struct ts_attempt *attempt, uint8_t ret_bytes[static TS_ATTEMPT_LEN]) {
    ts_be64_store(attempt->run, ret_bytes + RUN);
    ts_be64_store(attempt->shard, ret_bytes + SHARD);
    ts_be64_store(attempt->fence, ret_bytes + FENCE);
    ts_be32_store(attempt->n, ret_bytes + TRY);
}

struct ts_attempt ts_attempt_decode(const uint8_t bytes[static TS_ATTEMPT_LEN]) {
    return (struct ts_attempt){.run = ts_be64_load(bytes + RUN),
                               .shard = ts_be64_load(bytes + SHARD),
                               .fence = ts_be64_load(bytes + FENCE),
                               .n = ts_be32_load(bytes + TRY)};
}

/* ---- building ---- */

static struct ts_fleet_key begin(enum kind kind) {
    return (struct ts_fleet_key){.bytes = {0, 'f', (uint8_t)kind}, .len = HEAD};
}

static void add(struct ts_fleet_key *key, const uint8_t *bytes, size_t len) {
    ts_assert(len <= sizeof key->bytes - key->len);
    memcpy(key->bytes + key->len, bytes, len);
    key->len = (uint8_t)(key->len + len);
}

static void add_attempt(struct ts_fleet_key *key, const struct ts_attempt *attempt) {
    uint8_t bytes[TS_ATTEMPT_LEN];
    ts_attempt_encode(attempt, bytes);
    add(key, bytes, sizeof bytes);
}

static void add_page(struct ts_fleet_key *key, uint32_t page) {
    uint8_t bytes[PAGE];
    ts_be32_store(page, bytes);
    add(key, bytes, sizeof bytes);
}

static struct ts_fleet_key of_tenant(enum kind kind, const struct ts_tenant_id *tenant) {
    struct ts_fleet_key key = begin(kind);
    add(&key, tenant->b, sizeof tenant->b);
    return key;
}

static struct ts_fleet_key of_finding(enum kind kind, const struct ts_tenant_id *tenant,
                                      const struct ts_fleet_finding *finding) {
    struct ts_fleet_key key = of_tenant(kind, tenant);
    add(&key, finding->bytes, sizeof finding->bytes);
    return key;
}

static struct ts_fleet_key of_target(enum kind kind, const struct ts_target_id *target) {
    struct ts_fleet_key key = begin(kind);
    add(&key, target->bytes, sizeof target->bytes);
    return key;
}

static struct ts_fleet_key of_attempt(enum kind kind, const struct ts_target_id *target,
                                      const struct ts_attempt *attempt) {
    struct ts_fleet_key key = of_target(kind, target);
    add_attempt(&key, attempt);
    return key;
}

static struct ts_fleet_key of_rules(enum kind kind, const struct ts_target_id *target,
                                    const struct ts_fleet_rules *rules) {
    struct ts_fleet_key key = of_target(kind, target);
    add(&key, rules->rules, sizeof rules->rules);
    return key;
}

static struct ts_fleet_key of_judging(const struct ts_target_id *target, const struct ts_fleet_rules *rules) {
    struct ts_fleet_key key = of_rules(KIND_HITS, target, rules);
    add(&key, rules->judging, sizeof rules->judging);
    return key;
}

/* Adds the name of a page of a lease: run, shard, fence and the page's number. */
static void add_lease_page(struct ts_fleet_key *key, const struct ts_attempt *attempt, uint32_t page) {
    uint8_t bytes[TS_ATTEMPT_LEN];
    ts_attempt_encode(attempt, bytes);
    add(key, bytes, LEASE);
    add_page(key, page);
}

struct ts_fleet_key ts_fleet_key_target(const struct ts_tenant_id *tenant,
                                        const struct ts_target_id *target) {
    struct ts_fleet_key key = of_tenant(KIND_TARGET, tenant);
    add(&key, target->bytes, sizeof target->bytes);
    return key;
}

struct ts_fleet_key ts_fleet_key_known(const struct ts_target_id *target, const struct ts_fleet_rules *rules,
                                       const struct ts_attempt *attempt, uint32_t page) {
    struct ts_fleet_key key = of_rules(KIND_KNOWN, target, rules);
    add_lease_page(&key, attempt, page);
    return key;
}

struct ts_fleet_key ts_fleet_key_hits(const struct ts_target_id *target, const struct ts_fleet_rules *rules,
                                      const struct ts_attempt *attempt, uint32_t page) {
    struct ts_fleet_key key = of_judging(target, rules);
    add_lease_page(&key, attempt, page);
    return key;
}

struct ts_fleet_key ts_fleet_key_occurrences(const struct ts_target_id *target,
                                             const struct ts_attempt *attempt, uint32_t page) {
    struct ts_fleet_key key = of_attempt(KIND_OCCURRENCES, target, attempt);
    add_page(&key, page);
    return key;
}

struct ts_fleet_key ts_fleet_key_summary(const struct ts_target_id *target, const struct ts_attempt *attempt,
                                         uint32_t page) {
    struct ts_fleet_key key = of_attempt(KIND_SUMMARY, target, attempt);
    add_page(&key, page);
    return key;
}

struct ts_fleet_key ts_fleet_key_waste(const struct ts_target_id *target, const struct ts_attempt *attempt,
                                       enum ts_waste waste) {
    struct ts_fleet_key key = of_attempt(KIND_WASTE, target, attempt);
    const uint8_t byte = (uint8_t)waste;
    add(&key, &byte, 1);
    return key;
}

static struct ts_fleet_key of_run(enum kind kind, const struct ts_tenant_id *tenant, uint64_t run) {
    struct ts_fleet_key key = of_tenant(kind, tenant);
    uint8_t bytes[sizeof run];
    ts_be64_store(run, bytes);
    add(&key, bytes, sizeof bytes);
    return key;
}

struct ts_fleet_key ts_fleet_key_change(const struct ts_tenant_id *tenant,
                                        const struct ts_fleet_change_key *change) {
    struct ts_fleet_key key = of_run(KIND_CHANGE, tenant, change->run);
    add(&key, change->target.bytes, sizeof change->target.bytes);
    add_page(&key, change->page);
    return key;
}

struct ts_fleet_key ts_fleet_key_notice(const struct ts_tenant_id *tenant,
                                        const struct ts_fleet_notice_key *notice) {
    struct ts_fleet_key key = of_run(KIND_NOTICE, tenant, notice->run);
    add(&key, notice->target.bytes, sizeof notice->target.bytes);
    return key;
}

static struct ts_fleet_key of_schedule(enum kind kind, const struct ts_tenant_id *tenant,
                                       const struct ts_schedule_name *name) {
    struct ts_fleet_key key = of_tenant(kind, tenant);
    add(&key, name->b, sizeof name->b);
    return key;
}

struct ts_fleet_key ts_fleet_key_schedule(const struct ts_tenant_id *tenant,
                                          const struct ts_schedule_name *name) {
    return of_schedule(KIND_SCHEDULE, tenant, name);
}

struct ts_fleet_key ts_fleet_key_listing(const struct ts_tenant_id *tenant,
                                         const struct ts_fleet_listing_key *listing) {
    struct ts_fleet_key key = of_schedule(KIND_LISTING, tenant, &listing->name);
    uint8_t bytes[sizeof listing->list];
    ts_be64_store(listing->list, bytes);
    add(&key, bytes, sizeof bytes);
    add_page(&key, listing->page);
    return key;
}

struct ts_fleet_key ts_fleet_key_seen(const struct ts_tenant_id *tenant,
                                      const struct ts_fleet_finding *finding,
                                      const struct ts_target_id *target, const struct ts_attempt *attempt) {
    struct ts_fleet_key key = of_finding(KIND_SEEN, tenant, finding);
    add(&key, target->bytes, sizeof target->bytes);
    add_attempt(&key, attempt);
    return key;
}

struct ts_fleet_key ts_fleet_key_finding(const struct ts_tenant_id *tenant,
                                         const struct ts_fleet_finding *finding) {
    return of_finding(KIND_FINDING, tenant, finding);
}

struct ts_fleet_key ts_fleet_key_triage(const struct ts_tenant_id *tenant,
                                        const struct ts_fleet_finding *finding) {
    return of_finding(KIND_TRIAGE, tenant, finding);
}

/* ---- ranges ---- */

/* Returns the first key after all keys that begin with this key. The first byte is 0, so not all bytes are
 * 0xff. */
static struct ts_fleet_key behind(struct ts_fleet_key key) {
    while (key.bytes[key.len - 1] == 0xff)
        key.len--;
    key.bytes[key.len - 1]++;
    return key;
}

static struct ts_fleet_range all_of(struct ts_fleet_key prefix) {
    return (struct ts_fleet_range){prefix, behind(prefix)};
}

struct ts_fleet_range ts_fleet_range_targets(const struct ts_tenant_id *tenant) {
    return all_of(of_tenant(KIND_TARGET, tenant));
}

struct ts_fleet_range ts_fleet_range_known(const struct ts_target_id *target,
                                           const struct ts_fleet_rules *rules) {
    return all_of(of_rules(KIND_KNOWN, target, rules));
}

struct ts_fleet_range ts_fleet_range_hits(const struct ts_target_id *target,
                                          const struct ts_fleet_rules *rules) {
    return all_of(of_judging(target, rules));
}

struct ts_fleet_range ts_fleet_range_all_known(const struct ts_target_id *target) {
    return all_of(of_target(KIND_KNOWN, target));
}

struct ts_fleet_range ts_fleet_range_all_hits(const struct ts_target_id *target,
                                              const struct ts_fleet_rules *rules) {
    return all_of(of_rules(KIND_HITS, target, rules));
}

struct ts_fleet_range ts_fleet_range_occurrences(const struct ts_target_id *target,
                                                 const struct ts_attempt *attempt) {
    return all_of(of_attempt(KIND_OCCURRENCES, target, attempt));
}

struct ts_fleet_range ts_fleet_range_summary(const struct ts_target_id *target,
                                             const struct ts_attempt *attempt) {
    return all_of(of_attempt(KIND_SUMMARY, target, attempt));
}

struct ts_fleet_range ts_fleet_range_waste(void) {
    return all_of(begin(KIND_WASTE));
}

struct ts_fleet_range ts_fleet_range_waste_of(const struct ts_target_id *target) {
    return all_of(of_target(KIND_WASTE, target));
}

struct ts_fleet_range ts_fleet_range_changes(const struct ts_tenant_id *tenant, struct ts_fleet_runs runs) {
    return (struct ts_fleet_range){of_run(KIND_CHANGE, tenant, runs.first),
                                   behind(of_run(KIND_CHANGE, tenant, runs.last))};
}

struct ts_fleet_range ts_fleet_range_seen_in(const struct ts_tenant_id *tenant) {
    return all_of(of_tenant(KIND_SEEN, tenant));
}

struct ts_fleet_range ts_fleet_range_seen(const struct ts_tenant_id *tenant,
                                          const struct ts_fleet_finding *finding) {
    return all_of(of_finding(KIND_SEEN, tenant, finding));
}

struct ts_fleet_range ts_fleet_range_notices(const struct ts_tenant_id *tenant) {
    return all_of(of_tenant(KIND_NOTICE, tenant));
}

struct ts_fleet_range ts_fleet_range_schedules(const struct ts_tenant_id *tenant) {
    return all_of(of_tenant(KIND_SCHEDULE, tenant));
}

struct ts_fleet_range ts_fleet_range_listings(const struct ts_tenant_id *tenant,
                                              const struct ts_schedule_name *name) {
    return all_of(of_schedule(KIND_LISTING, tenant, name));
}

void ts_fleet_range_skip(struct ts_fleet_range *range, const struct ts_fleet_key *key) {
    range->from = behind(*key);
}

/* ---- reading ---- */

/* Returns the bytes of the key after its prefix of HEAD bytes, or {0} if the kind or the length differs. */
static struct ts_bytes body_of(struct ts_bytes key, enum kind kind, size_t len) {
    const bool fits =
        key.len == HEAD + len && key.data[0] == 0 && key.data[1] == 'f' && key.data[2] == (uint8_t)kind;
    return fits ? ts_bytes_skip(key, HEAD) : (struct ts_bytes){0};
}

static struct ts_target_id target_at(const uint8_t *bytes) {
    struct ts_target_id target;
    memcpy(target.bytes, bytes, sizeof target.bytes);
    return target;
}

bool ts_fleet_key_of_bytes(struct ts_bytes bytes, struct ts_fleet_key *ret_key) {
    if (bytes.len < HEAD || bytes.len > sizeof ret_key->bytes)
        return false;
    ret_key->len = (uint8_t)bytes.len;
    memcpy(ret_key->bytes, bytes.data, bytes.len);
    return true;
}

bool ts_fleet_key_is_target(struct ts_bytes key, struct ts_target_id *ret_target) {
    const struct ts_bytes body = body_of(key, KIND_TARGET, TS_FLEET_TENANT_LEN + TS_TARGET_ID_LEN);
    if (body.len == 0)
        return false;
    *ret_target = target_at(body.data + TS_FLEET_TENANT_LEN);
    return true;
}

bool ts_fleet_key_is_hits(struct ts_bytes key, struct ts_fleet_hits_key *ret_hits) {
    enum { FROM = TS_TARGET_ID_LEN + 2 * TS_FLEET_RULES_LEN };
    const struct ts_bytes body = body_of(key, KIND_HITS, FROM + LEASE + PAGE);
    if (body.len == 0)
        return false;
    memcpy(ret_hits->rules.rules, body.data + TS_TARGET_ID_LEN, TS_FLEET_RULES_LEN);
    memcpy(ret_hits->rules.judging, body.data + TS_TARGET_ID_LEN + TS_FLEET_RULES_LEN, TS_FLEET_RULES_LEN);
    ret_hits->lease = ts_attempt_decode(body.data + FROM);
    ret_hits->lease.n = 0; /* these bytes of the key are the page's number */
    return true;
}

bool ts_fleet_key_is_waste(struct ts_bytes key, struct ts_fleet_waste_key *ret_waste) {
    const struct ts_bytes body = body_of(key, KIND_WASTE, TS_TARGET_ID_LEN + TS_ATTEMPT_LEN + 1);
    if (body.len == 0)
        return false;
    const uint8_t waste = body.data[TS_TARGET_ID_LEN + TS_ATTEMPT_LEN];
    if (waste != TS_WASTE_STAGED && waste != TS_WASTE_OLD && waste != TS_WASTE_KNOWN &&
        waste != TS_WASTE_HITS)
        return false;
    *ret_waste = (struct ts_fleet_waste_key){.target = target_at(body.data),
                                             .attempt = ts_attempt_decode(body.data + TS_TARGET_ID_LEN),
                                             .waste = (enum ts_waste)waste};
    return true;
}

bool ts_fleet_key_is_notice(struct ts_bytes key, struct ts_fleet_notice_key *ret_notice) {
    enum { RUN_LEN = 8 };
    const struct ts_bytes body = body_of(key, KIND_NOTICE, TS_FLEET_TENANT_LEN + RUN_LEN + TS_TARGET_ID_LEN);
    if (body.len == 0)
        return false;
    const uint8_t *at = body.data + TS_FLEET_TENANT_LEN;
    *ret_notice = (struct ts_fleet_notice_key){.run = ts_be64_load(at), .target = target_at(at + RUN_LEN)};
    return true;
}

bool ts_fleet_key_is_schedule(struct ts_bytes key, struct ts_schedule_name *ret_name) {
    const struct ts_bytes body = body_of(key, KIND_SCHEDULE, TS_FLEET_TENANT_LEN + sizeof ret_name->b);
    if (body.len == 0)
        return false;
    memcpy(ret_name->b, body.data + TS_FLEET_TENANT_LEN, sizeof ret_name->b);
    return true;
}

bool ts_fleet_key_is_listing(struct ts_bytes key, struct ts_fleet_listing_key *ret_listing) {
    enum { NAME = TS_NAME_ID_LEN, LIST = 8 };
    const struct ts_bytes body = body_of(key, KIND_LISTING, TS_FLEET_TENANT_LEN + NAME + LIST + PAGE);
    if (body.len == 0)
        return false;
    const uint8_t *at = body.data + TS_FLEET_TENANT_LEN;
    memcpy(ret_listing->name.b, at, NAME);
    ret_listing->list = ts_be64_load(at + NAME);
    ret_listing->page = ts_be32_load(at + NAME + LIST);
    return true;
}

bool ts_fleet_key_is_change(struct ts_bytes key, struct ts_fleet_change_key *ret_change) {
    enum { RUN_LEN = 8 };
    const struct ts_bytes body =
        body_of(key, KIND_CHANGE, TS_FLEET_TENANT_LEN + RUN_LEN + TS_TARGET_ID_LEN + PAGE);
    if (body.len == 0)
        return false;
    const uint8_t *at = body.data + TS_FLEET_TENANT_LEN;
    *ret_change = (struct ts_fleet_change_key){.run = ts_be64_load(at),
                                               .target = target_at(at + RUN_LEN),
                                               .page = ts_be32_load(at + RUN_LEN + TS_TARGET_ID_LEN)};
    return true;
}

bool ts_fleet_key_is_seen(struct ts_bytes key, struct ts_fleet_seen_key *ret_seen) {
    const struct ts_bytes body = body_of(
        key, KIND_SEEN, TS_FLEET_TENANT_LEN + TS_FLEET_FINDING_LEN + TS_TARGET_ID_LEN + TS_ATTEMPT_LEN);
    if (body.len == 0)
        return false;
    const uint8_t *at = body.data + TS_FLEET_TENANT_LEN;
    memcpy(ret_seen->finding.bytes, at, TS_FLEET_FINDING_LEN);
    ret_seen->target = target_at(at + TS_FLEET_FINDING_LEN);
    ret_seen->attempt = ts_attempt_decode(at + TS_FLEET_FINDING_LEN + TS_TARGET_ID_LEN);
    return true;
}

/* ---- places ---- */

uint64_t ts_fleet_route_of_finding(const struct ts_fleet_finding *finding) {
    return ts_xxh64_of_bytes(ts_bytes_of(finding->bytes, sizeof finding->bytes));
}
