#include "bench/faults.h"

#include "store/decorators/fault.h"

static const uint32_t changes = TS_FAULT_CALL(TS_CALL_APPLY) | TS_FAULT_CALL(TS_CALL_PREPARE) |
                                TS_FAULT_CALL(TS_CALL_COMMIT) | TS_FAULT_CALL(TS_CALL_ABORT);

static uint64_t most(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

/* Shortens a setting to most_us, unless the user has configured it. */
static void shorten(uint64_t *setting_us, uint64_t default_us, uint64_t most_us) {
    if (*setting_us == default_us && most_us < default_us)
        *setting_us = most_us;
}

void bench__faults_shorten(struct ts_txn_config *config, struct bench_faults_span span) {
    const uint64_t duration_us = span.duration_ms * 1000;
    const uint64_t call_us = most(duration_us / 100, span.servers ? 250000 : 20000);
    const uint64_t total_us = most(duration_us / 40, span.servers ? 500000 : 50000);
    struct ts_txn_config defaults;
    ts_txn_config_init(&defaults);
    struct ts_txn_timeouts *timeouts = &config->timeouts;
    shorten(&timeouts->shard_rpc_us, defaults.timeouts.shard_rpc_us, call_us);
    shorten(&timeouts->prepare_us, defaults.timeouts.prepare_us, call_us);
    shorten(&timeouts->commit_us, defaults.timeouts.commit_us, call_us);
    shorten(&timeouts->lock_validate_us, defaults.timeouts.lock_validate_us, call_us);
    shorten(&timeouts->total_us, defaults.timeouts.total_us, total_us);
    shorten(&config->breaker.recovery_timeout_us, defaults.breaker.recovery_timeout_us, duration_us / 20);
}

void bench__faults_begin(struct bench_faults *faults) {
    const struct ts_fault_rule lost = {
        .kind = TS_FAULT_LOST_REPLY, .calls = changes, .chance = {.numerator = 1, .denominator = 200}};
    for (size_t i = 0; i < BENCH_FAULTY_STORES; i++)
        if (faults->stores[i] != NULL)
            ts_fault_add(faults->stores[i], &lost);
}

static struct ts_store *mortal(const struct bench_faults *faults) {
    return faults->stores[1] != NULL ? faults->stores[1] : faults->stores[0];
}

void bench__faults_kill(struct bench_faults *faults) {
    const struct ts_fault_rule death = {.kind = TS_FAULT_CRASH_AFTER, .calls = changes, .times = 1};
    if (mortal(faults) == NULL)
        return;
    /* The first matching rule decides, so the rule for lost replies must not precede this rule. */
    ts_fault_clear(mortal(faults));
    ts_fault_add(mortal(faults), &death);
}

void bench__faults_bury(struct bench_faults *faults) {
    const struct ts_fault_rule empty = {.kind = TS_FAULT_ERROR, .result = TS_STORE_UNAVAILABLE};
    struct ts_store *store = mortal(faults);
    if (store == NULL)
        return;
    faults->deaths += ts_fault_is_down(store);
    ts_fault_clear(store);
    ts_fault_add(store, &empty);
    ts_fault_revive(store); /* ends the calls that hang */
}

void bench__faults_revive(struct bench_faults *faults) {
    bench__faults_end(faults);
    bench__faults_begin(faults);
}

void bench__faults_end(struct bench_faults *faults) {
    for (size_t i = 0; i < BENCH_FAULTY_STORES; i++) {
        if (faults->stores[i] == NULL)
            continue;
        ts_fault_clear(faults->stores[i]);
        ts_fault_revive(faults->stores[i]);
    }
}

uint64_t bench__faults_struck(const struct bench_faults *faults) {
    uint64_t struck = 0;
    for (size_t i = 0; i < BENCH_FAULTY_STORES; i++)
        if (faults->stores[i] != NULL)
            struck += ts_fault_count(faults->stores[i]);
    return struck;
}
