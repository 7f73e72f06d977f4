/* The progress of a run, summed over its shards, and the filters of lists. */
#ifndef TS_COORD_CORE_PROGRESS_H
#define TS_COORD_CORE_PROGRESS_H

#include "base/fixed_buf.h"
#include "coord/core/record.h"

/* The number of shards with each status. The stored counters of a run hold these numbers, too. */
struct ts_shard_counts {
    uint64_t active;
    uint64_t done;
    uint64_t split;
    uint64_t parked;
};

/* Returns a pointer to the count of the shards with this status. */
uint64_t *ts_shard_counts_of(struct ts_shard_counts *counts, enum ts_shard_status status);

/* Counts one shard under another status; `from` is NULL for a new shard. */
void ts_shard_counts_move(struct ts_shard_counts *counts, const enum ts_shard_status *from,
                          enum ts_shard_status to);

struct ts_run_progress {
    struct ts_shard_counts counts;
    uint64_t leased;     /* active shards with a valid lease */
    uint64_t expired;    /* active shards with an expired lease */
    uint64_t struggling; /* active shards that were acquired more than once since their last checkpoint */
    bool has_oldest_lease;
    struct ts_logical_time oldest_lease; /* the earliest deadline of the valid leases */
    bool has_watermark;                  /* `watermark` is valid: the lowest last_key of the active shards */
    TS_FIXED_BUF(TS_KEY_MAX) watermark;  /* shown only to the tenant itself */
};

/* Clears a progress before its first shard is added. A progress that is {0} needs no call. */
void ts_run_progress_clear(struct ts_run_progress *progress);
void ts_run_progress_add(struct ts_run_progress *progress, const struct ts_shard_record *record,
                         struct ts_logical_time now);

/* The filter of a list of shards; {0} selects all shards. */
struct ts_shard_filter {
    bool by_status;
    enum ts_shard_status status;
    bool only_leased;     /* only shards with a valid lease */
    bool only_struggling; /* only shards that ts_run_progress counts as struggling */
};

bool ts_shard_filter_matches(const struct ts_shard_filter *filter, const struct ts_shard_record *record,
                             struct ts_logical_time now);

/* The filter of a list of runs: one tenant, and optionally one status. */
struct ts_run_filter {
    struct ts_tenant_id tenant;
    bool by_status;
    enum ts_run_status status;
};

bool ts_run_filter_matches(const struct ts_run_filter *filter, const struct ts_run_record *run);

#endif
