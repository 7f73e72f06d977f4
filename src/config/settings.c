#include "settings.h"

#include "base/assert.h"
#include "base/distance.h"

#include <stdio.h>
#include <string.h>

#define NAME(suffix, name) name,
static const char *const timeout_policies[] = {TS_TXN_TIMEOUT_POLICIES(NAME) NULL};
static const char *const queue_policies[] = {TS_TXN_QUEUE_POLICIES(NAME) NULL};
static const char *const overflow_actions[] = {TS_TXN_OVERFLOW_ACTIONS(NAME) NULL};
#undef NAME

#define US         UINT64_C(1)
#define MS         (1000 * US)
#define SECOND     (1000 * MS)
#define DAY        (86400 * SECOND)

#define AT(member) offsetof(struct ts_txn_config, member)
#define DURATION(name, member, least, meaning)                                                               \
    { name, CONFIG_DURATION, AT(member), least, DAY, NULL, meaning, 0 }
#define COUNT(name, member, least, most, meaning)                                                            \
    { name, CONFIG_COUNT, AT(member), least, most, NULL, meaning, 0 }
/* If the user has set such a duration explicitly, it also ends waits for locks and retries after conflicts. */
#define GIVEN_DURATION(name, member, given, least, meaning)                                                  \
    { name, CONFIG_DURATION, AT(member), least, DAY, NULL, meaning, AT(given) }
#define RATIO(name, member, least, most, meaning)                                                            \
    { name, CONFIG_RATIO, AT(member), least, most, NULL, meaning, 0 }
#define CHOICE(name, member, choices, meaning)                                                               \
    { name, CONFIG_CHOICE, AT(member), 0, 0, choices, meaning, 0 }

const struct config_setting config__settings[] = {
    DURATION("timeouts.coord_queue", timeouts.coord_queue_us, US,
             "how long a transaction waits for admission"),
    DURATION("timeouts.shard_rpc", timeouts.shard_rpc_us, US,
             "timeout of one call that takes no locks: connect, read, scan, now"),
    GIVEN_DURATION("timeouts.prepare", timeouts.prepare_us, timeouts.prepare_given, US,
                   "timeout of a prepare, on each store"),
    DURATION("timeouts.commit", timeouts.commit_us, US,
             "timeout of a commit, on each store; when it passes, the outcome is 'committed, pending'"),
    GIVEN_DURATION("timeouts.lock_validate", timeouts.lock_validate_us, timeouts.lock_validate_given, US,
                   "timeout of the locks and checks of an apply: a local transaction, or the commit point"),
    DURATION("timeouts.total", timeouts.total_us, US,
             "timeout of the whole transaction with its retries; applies under both policies"),
    GIVEN_DURATION(
        "timeouts.retry_ceiling", timeouts.retry_ceiling_us, timeouts.retry_ceiling_given, US,
        "timeout of all attempts together, including the first: no retry begins after it, and FailFast "
        "ends an attempt there"),
    CHOICE("timeouts.policy", timeouts.policy, timeout_policies,
           "FailFast ends at the first timeout of a phase, BestEffort only at the total"),
    COUNT("admission.hard_limit", admission.hard_limit, 1, 1000000,
          "maximum number of transactions in flight and waiting together; with Degrade: in flight"),
    COUNT("admission.soft_limit", admission.soft_limit, 1, 1000000,
          "number of transactions in flight above which new ones wait; at most the hard limit"),
    CHOICE("admission.queue_policy", admission.queue_policy, queue_policies,
           "which transaction is served first: the oldest, or the one with the fewest stores"),
    CHOICE("admission.overflow", admission.overflow, overflow_actions,
           "when the queue is full: refuse the new transaction, refuse the one with the most stores, or run "
           "the oldest and answer it at its commit point"),
    {"retry.max_retries", CONFIG_COUNT, AT(retry.max_retries), 0, 1000, NULL,
     "attempts after the first; 0: none", AT(retry.max_retries_given)},
    DURATION("retry.initial_backoff", retry.initial_backoff_us, 0,
             "wait before the first retry; at most max_backoff"),
    DURATION("retry.max_backoff", retry.max_backoff_us, 0, "longest wait before a retry, without jitter"),
    RATIO("retry.multiplier", retry.multiplier_ppm, TS_TXN_PPM, UINT64_C(100) * TS_TXN_PPM,
          "factor by which each wait is longer than the previous one"),
    RATIO("retry.jitter_ratio", retry.jitter_ppm, 0, TS_TXN_PPM,
          "jitter: a random part of each wait is added to it, up to this share"),
    GIVEN_DURATION("retry.retry_budget", retry.retry_budget_us, retry.retry_budget_given, 0,
                   "total time spent waiting before retries"),
    COUNT("breaker.failure_threshold", breaker.failure_threshold, 1, 1000000,
          "infrastructure failures in a row that open the circuit breaker"),
    DURATION("breaker.recovery_timeout", breaker.recovery_timeout_us, US,
             "how long the circuit breaker stays open before it allows a probe"),
    DURATION("breaker.probe_timeout", breaker.probe_timeout_us, US,
             "time after which a probe without an answer is replaced; not below timeouts.total"),
    DURATION("conflict.window", conflict.window_us, 10 * MS,
             "time window of the conflict and abort rates of a store"),
    RATIO("adaptive.high_conflict_rate", adaptive.high_conflict_ppm, 0, TS_TXN_PPM,
          "conflict rate above which a store's concurrency falls"),
    RATIO("adaptive.low_conflict_rate", adaptive.low_conflict_ppm, 0, TS_TXN_PPM,
          "conflict rate below which a store's concurrency rises; at most the high rate"),
    COUNT("adaptive.step_size", adaptive.step_size, 1, 1000000,
          "step by which a store's concurrency "
          "falls or rises"),
    COUNT("adaptive.min_concurrency", adaptive.min_concurrency, 1, 1000000,
          "lower limit of a store's concurrency; at most max_concurrency"),
    COUNT("adaptive.max_concurrency", adaptive.max_concurrency, 1, 1000000,
          "upper limit of a store's concurrency"),
    DURATION("adaptive.interval", adaptive.interval_us, MS,
             "minimum time between two changes of a store's concurrency"),
    COUNT("adaptive.min_txns", adaptive.min_txns, 1, 1000000,
          "number of transactions in the window below which the concurrency does not change"),
    DURATION("deadlock.timeout", deadlock.timeout_us, MS,
             "waiting time after which a transaction counts as deadlocked and is aborted"),
    {"replication.max_replication_lag_ms", CONFIG_MILLIS, AT(replication.max_replication_lag_ms), 0, DAY / MS,
     NULL, "lag in milliseconds of a PostgreSQL standby above which transactions are refused; 0: off", 0},
    COUNT("shards.tenant_max", shards.tenant_max, 1, 1000000000,
          "maximum number of shards in the unfinished runs of one tenant"),
    COUNT("shards.global_max", shards.global_max, 1, 1000000000,
          "maximum number of shards in the unfinished runs of all tenants"),
};
const size_t config__setting_count = sizeof config__settings / sizeof config__settings[0];

const struct config_setting *config__setting_find(struct ts_bytes name) {
    for (size_t i = 0; i < config__setting_count; i++)
        if (ts_bytes_equal(name, ts_bytes_of_cstring(config__settings[i].name)))
            return &config__settings[i];
    return NULL;
}

_Static_assert(sizeof(enum ts_txn_timeout_policy) == sizeof(uint32_t) &&
                   sizeof(enum ts_txn_queue_policy) == sizeof(uint32_t) &&
                   sizeof(enum ts_txn_overflow_action) == sizeof(uint32_t),
               "choices are read and written as 32-bit numbers");

static bool is_wide(enum config_kind kind) {
    switch (kind) {
    case CONFIG_DURATION:
    case CONFIG_MILLIS:
        return true;
    case CONFIG_COUNT:
    case CONFIG_RATIO:
    case CONFIG_CHOICE:
        return false;
    }
    ts_unreachable("no such kind");
}

uint64_t config__setting_get(const struct config_setting *setting, const struct ts_txn_config *config) {
    const char *at = (const char *)config + setting->offset;
    uint64_t wide;
    uint32_t narrow;
    if (is_wide(setting->kind)) {
        memcpy(&wide, at, sizeof wide);
        return wide;
    }
    memcpy(&narrow, at, sizeof narrow);
    return narrow;
}

void config__setting_put(const struct config_setting *setting, struct ts_txn_config *config, uint64_t value) {
    char *at = (char *)config + setting->offset;
    uint32_t narrow = (uint32_t)value;
    if (is_wide(setting->kind))
        memcpy(at, &value, sizeof value);
    else
        memcpy(at, &narrow, sizeof narrow);
    if (setting->given_offset != 0)
        *((bool *)((char *)config + setting->given_offset)) = true;
}

enum { SETTINGS_MAX = 64 };
_Static_assert(sizeof config__settings / sizeof config__settings[0] <= SETTINGS_MAX, "room for all names");

static struct ts_bytes section_of(struct ts_bytes name) {
    const uint8_t *dot = name.len > 0 ? memchr(name.data, '.', name.len) : NULL;
    return dot == NULL ? name : ts_bytes_first(name, (size_t)(dot - name.data));
}

static bool has_section(const struct config_setting *setting, struct ts_bytes section) {
    return ts_bytes_equal(section_of(ts_bytes_of_cstring(setting->name)), section);
}

static void append(char *text, size_t size, const char *part) {
    size_t used = strlen(text);
    snprintf(text + used, size - used, "%s", part);
}

/* Lists the names in the section, or all sections if there is no such section. */
static void list_what_there_is(struct ts_bytes section, char *ret_text, size_t size) {
    snprintf(ret_text, size, "there are");
    const char *before = " ";
    for (size_t i = 0; i < config__setting_count; i++)
        if (has_section(&config__settings[i], section)) {
            append(ret_text, size, before);
            append(ret_text, size, config__settings[i].name + section.len + 1);
            before = ", ";
        }
    if (strcmp(before, ", ") == 0)
        return;
    snprintf(ret_text, size, "the sections are");
    for (size_t i = 0; i < config__setting_count; i++) {
        struct ts_bytes own = section_of(ts_bytes_of_cstring(config__settings[i].name));
        if (i > 0 && has_section(&config__settings[i - 1], own))
            continue;
        char name[TS_CONFIG_VALUE_SIZE];
        snprintf(name, sizeof name, "%s%.*s", before, (int)own.len, (const char *)own.data);
        append(ret_text, size, name);
        before = ", ";
    }
}

void config__explain_unknown(struct ts_bytes name, char *ret_text, size_t size) {
    const char *names[SETTINGS_MAX];
    size_t nearest;
    for (size_t i = 0; i < config__setting_count; i++)
        names[i] = config__settings[i].name;
    if (ts_distance_nearest(name, names, config__setting_count, &nearest)) {
        snprintf(ret_text, size, "unknown setting; did you mean %s?", names[nearest]);
        return;
    }
    char known[300];
    list_what_there_is(section_of(name), known, sizeof known);
    snprintf(ret_text, size, "unknown setting; %s", known);
}
