#include "coord/core/progress.h"

#include "base/assert.h"

uint64_t *ts_shard_counts_of(struct ts_shard_counts *counts, enum ts_shard_status status) {
    switch (status) {
    case TS_SHARD_ACTIVE:
        return &counts->active;
    case TS_SHARD_DONE:
        return &counts->done;
    case TS_SHARD_SPLIT:
        return &counts->split;
    case TS_SHARD_PARKED:
        return &counts->parked;
    }
    ts_unreachable("every status is counted");
}

void ts_shard_counts_move(struct ts_shard_counts *counts, const enum ts_shard_status *from,
                          enum ts_shard_status to) {
    if (from != NULL) {
        ts_assert(*ts_shard_counts_of(counts, *from) > 0);
        --*ts_shard_counts_of(counts, *from);
    }
    ++*ts_shard_counts_of(counts, to);
}

void ts_run_progress_clear(struct ts_run_progress *progress) {
    /* The watermark's bytes are not cleared: they count only if has_watermark is set. */
    progress->counts = (struct ts_shard_counts){0};
    progress->leased = progress->expired = progress->struggling = 0;
    progress->has_oldest_lease = progress->has_watermark = false;
    ts_fixed_buf_reset(&progress->watermark);
}

static bool is_struggling(const struct ts_shard_record *record) {
    return record->status == TS_SHARD_ACTIVE && record->attempts > 1;
}

static void add_lease(struct ts_run_progress *progress, const struct ts_shard_record *record,
                      struct ts_logical_time now) {
    if (!record->has_holder)
        return;
    if (!ts_shard_record_is_leased_at(record, now)) {
        progress->expired++;
        return;
    }
    progress->leased++;
    if (!progress->has_oldest_lease || record->holder.deadline.ms < progress->oldest_lease.ms) {
        progress->has_oldest_lease = true;
        progress->oldest_lease = record->holder.deadline;
    }
}

void ts_run_progress_add(struct ts_run_progress *progress, const struct ts_shard_record *record,
                         struct ts_logical_time now) {
    ts_shard_counts_move(&progress->counts, NULL, record->status);
    if (record->status != TS_SHARD_ACTIVE)
        return;
    progress->struggling += is_struggling(record);
    add_lease(progress, record, now);
    if (!record->cursor.has_key)
        return;
    if (!progress->has_watermark ||
        ts_bytes_compare(record->cursor.last_key, ts_fixed_buf_read(&progress->watermark)) < 0) {
        progress->has_watermark = true;
        ts_fixed_buf_write(&progress->watermark, record->cursor.last_key,
                           "a key of a record fits the watermark");
    }
}

bool ts_shard_filter_matches(const struct ts_shard_filter *filter, const struct ts_shard_record *record,
                             struct ts_logical_time now) {
    return (!filter->by_status || record->status == filter->status) &&
           (!filter->only_leased || ts_shard_record_is_leased_at(record, now)) &&
           (!filter->only_struggling || is_struggling(record));
}

bool ts_run_filter_matches(const struct ts_run_filter *filter, const struct ts_run_record *run) {
    return ts_tenant_id_equal(&run->tenant, &filter->tenant) &&
           (!filter->by_status || run->status == filter->status);
}
