/* The settings of a run. They are in the run's record, and in the guard on every store. */
#ifndef TS_COORD_CORE_RUN_CONFIG_H
#define TS_COORD_CORE_RUN_CONFIG_H

#include "coord/core/error.h"
#include "coord/core/ids.h"

#include <string.h>

#define TS_LEASE_DURATION_MIN_MS     UINT64_C(1000)
#define TS_LEASE_DURATION_MAX_MS     (UINT64_C(24) * 60 * 60 * 1000)
#define TS_LEASE_DURATION_DEFAULT_MS UINT64_C(30000)
#define TS_ATTEMPTS_MAX              1000
#define TS_ATTEMPTS_DEFAULT          5

bool ts_pin_is_set(const struct ts_pin *pin);
static inline bool ts_pin_equal(const struct ts_pin *a, const struct ts_pin *b) {
    return memcmp(a->b, b->b, sizeof a->b) == 0;
}

struct ts_run_config {
    uint64_t lease_duration_ms; /* 1 s to 24 h */
    uint64_t cooldown_ms; /* time between successful claims of one worker: 0 (off) to the lease duration */
    uint64_t shard_max;   /* 1 to TS_GLOBAL_SHARD_MAX; shards from splits do not count here */
    uint32_t attempts;    /* maximum acquires of a shard without progress, up to 1,000; 0: no limit */
    enum ts_cursor_semantics semantics;
    struct ts_pin pin; /* zeros: no pin; otherwise claims must present the same pin */
};

/*
 * The announcement of a list of shards that is registered in several steps. The run becomes Active when the
 * whole list is registered; until then no other list can be registered. ts_announced_of() (hash.h) computes
 * the digest. Without an announcement, count and digest are 0.
 */
struct ts_announced {
    uint64_t count;
    uint8_t digest[32];
};

static inline bool ts_announced_equal(const struct ts_announced *a, const struct ts_announced *b) {
    return a->count == b->count && memcmp(a->digest, b->digest, sizeof a->digest) == 0;
}

struct ts_run_config ts_run_config_default(void);

/* Order of checks: LeaseDurationOutOfRange, AttemptsOutOfRange, CooldownOutOfRange, CursorSemanticsOutOfRange,
 * ShardMaxOutOfRange. On failure ret_detail holds the value and its limits. */
enum ts_run_config_error ts_run_config_check(const struct ts_run_config *config,
                                             struct ts_run_config_detail *ret_detail);

bool ts_run_config_equal(const struct ts_run_config *a, const struct ts_run_config *b);

#endif
