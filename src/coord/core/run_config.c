#include "coord/core/run_config.h"

bool ts_pin_is_set(const struct ts_pin *pin) {
    static const struct ts_pin none = {{0}};
    return !ts_pin_equal(pin, &none);
}

struct ts_run_config ts_run_config_default(void) {
    return (struct ts_run_config){
        .lease_duration_ms = TS_LEASE_DURATION_DEFAULT_MS,
        .cooldown_ms = 0,
        .shard_max = TS_TENANT_SHARD_MAX,
        .attempts = TS_ATTEMPTS_DEFAULT,
        .semantics = TS_CURSOR_COMPLETED,
    };
}

enum ts_run_config_error ts_run_config_check(const struct ts_run_config *config,
                                             struct ts_run_config_detail *ret_detail) {
    const struct ts_run_config_detail fields[] = {
        {TS_RUN_CONFIG_FAULT_LEASE_DURATION, config->lease_duration_ms, TS_LEASE_DURATION_MIN_MS,
         TS_LEASE_DURATION_MAX_MS},
        {TS_RUN_CONFIG_FAULT_ATTEMPTS, config->attempts, 0, TS_ATTEMPTS_MAX},
        {TS_RUN_CONFIG_FAULT_COOLDOWN, config->cooldown_ms, 0, config->lease_duration_ms},
        {TS_RUN_CONFIG_FAULT_CURSOR_SEMANTICS, (uint64_t)config->semantics, TS_CURSOR_COMPLETED,
         TS_CURSOR_DISPATCHED},
        {TS_RUN_CONFIG_FAULT_SHARD_MAX, config->shard_max, 1, TS_GLOBAL_SHARD_MAX},
    };
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        if (fields[i].value < fields[i].min || fields[i].value > fields[i].max) {
            *ret_detail = fields[i];
            return fields[i].error;
        }
    }
    return TS_RUN_CONFIG_FAULT_OK;
}

bool ts_run_config_equal(const struct ts_run_config *a, const struct ts_run_config *b) {
    return a->lease_duration_ms == b->lease_duration_ms && a->cooldown_ms == b->cooldown_ms &&
           a->shard_max == b->shard_max && a->attempts == b->attempts && a->semantics == b->semantics &&
           ts_pin_equal(&a->pin, &b->pin);
}
