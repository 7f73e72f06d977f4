/*
 * Shows that each checker of the simulation can fail. In a world without faults, the test changes one record
 * directly in its store. The checkers must name the violated property.
 */
#include "base/bytes.h"
#include "base/endian.h"
#include "coord/core/record.h"
#include "sim/sim.h"
#include "turnstone/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_MAX = 10000, BEGIN_AT = 300, SEEDS = 40 };

struct meddler {
    /* Changes one row. Returns true if it changed something. */
    bool (*change)(struct ts_store *store, const struct ts_row *row);
    char kind; /* third byte of the keys of rows that `change` changes */
    bool done;
};

/* Applies a batch. Returns false if a key is locked: the batch cannot wait for the lock, because the world is
 * stopped. */
static bool apply(struct ts_store *store, const struct ts_op *ops, size_t count) {
    struct ts_call call = {.kind = TS_CALL_APPLY, .batch = {ops, count}};
    ts_store_start(store, &call);
    if (!ts_store_poll(&call))
        ts_store_cancel(&call);
    if (call.error.result != TS_STORE_OK && call.error.result != TS_STORE_TIMED_OUT) {
        fprintf(stderr, "the store would not: %s\n", call.error.text);
        exit(2);
    }
    return call.error.result == TS_STORE_OK;
}

static bool put(struct ts_store *store, struct ts_bytes key, struct ts_bytes value) {
    return apply(store, &(struct ts_op){.kind = TS_OP_PUT, .key = key, .value = value}, 1);
}

static bool put_record(struct ts_store *store, const struct ts_row *row,
                       const struct ts_shard_record *record) {
    static uint8_t bytes[TS_RECORD_MAX];
    size_t len = 0;
    if (ts_shard_record_encode(record, bytes, &len) != TS_RECORD_OK) {
        fprintf(stderr, "not a record\n");
        exit(2);
    }
    return put(store, row->key, ts_bytes_of(bytes, len));
}

static struct ts_shard_record record_of(const struct ts_row *row) {
    struct ts_shard_record record;
    if (ts_shard_record_decode(row->value, &record) != TS_RECORD_OK) {
        fprintf(stderr, "not a record\n");
        exit(2);
    }
    return record;
}

/* ---- changes ---- */

static bool remove_row(struct ts_store *store, const struct ts_row *row) {
    return apply(store, &(struct ts_op){.kind = TS_OP_DEL, .key = row->key}, 1);
}

static bool damage(struct ts_store *store, const struct ts_row *row) {
    uint8_t *bytes = malloc(row->value.len);
    if (bytes == NULL)
        exit(2);
    memcpy(bytes, row->value.data, row->value.len);
    bytes[row->value.len / 2] ^= 1;
    bool done = put(store, row->key, ts_bytes_of(bytes, row->value.len));
    free(bytes);
    return done;
}

static bool revive(struct ts_store *store, const struct ts_row *row) {
    struct ts_shard_record record = record_of(row);
    if (record.status != TS_SHARD_DONE && record.status != TS_SHARD_SPLIT)
        return false;
    record.status = TS_SHARD_ACTIVE;
    return put_record(store, row, &record);
}

static bool lower_fence(struct ts_store *store, const struct ts_row *row) {
    struct ts_shard_record record = record_of(row);
    if (record.fence.v < 2 || record.status != TS_SHARD_ACTIVE)
        return false;
    record.fence.v--;
    return put_record(store, row, &record);
}

/* Changes the record as a second acquire would, while the lease is valid. */
static bool steal(struct ts_store *store, const struct ts_row *row) {
    struct ts_shard_record record = record_of(row);
    struct ts_call now = {.kind = TS_CALL_NOW};
    if (ts_store_run(store, &now) != TS_STORE_OK ||
        !ts_shard_record_is_leased_at(&record, (struct ts_logical_time){now.time_ms}))
        return false;
    record.fence.v++;
    record.attempts++;
    record.holder.deadline.ms += 1;
    return put_record(store, row, &record);
}

static bool move_cursor(struct ts_store *store, const struct ts_row *row) {
    struct ts_shard_record record = record_of(row);
    if (!record.cursor.has_key || record.status != TS_SHARD_ACTIVE || record.spec.range.start.len == 0 ||
        ts_bytes_equal(record.cursor.last_key, record.spec.range.start))
        return false;
    record.cursor.last_key = record.spec.range.start;
    return put_record(store, row, &record);
}

/* Changes the record without an operation in the log. */
static bool forget_cursor_token(struct ts_store *store, const struct ts_row *row) {
    struct ts_shard_record record = record_of(row);
    if (!record.cursor.has_token || record.status != TS_SHARD_ACTIVE || !record.has_holder)
        return false;
    record.cursor.has_token = false;
    record.cursor.token = (struct ts_bytes){0};
    return put_record(store, row, &record);
}

static bool widen(struct ts_store *store, const struct ts_row *row) {
    struct ts_shard_record record = record_of(row);
    if (record.status != TS_SHARD_ACTIVE || record.spec.range.end.len == 0 || !record.has_holder)
        return false;
    record.spec.range.end = (struct ts_bytes){0};
    return put_record(store, row, &record);
}

/* Adds a copy of the shard's record under another id. */
static bool double_it(struct ts_store *store, const struct ts_row *row) {
    struct ts_shard_record record = record_of(row);
    if (record.has_parent)
        return false;
    record.key.shard.v += 1000;
    record.status = TS_SHARD_ACTIVE;
    record.has_holder = record.has_park_reason = false;
    record.fence.v = 0;
    record.attempts = 0;
    record.spawned.bytes.len = 0;
    record.op_log.head.count = 0;
    uint8_t key[19];
    memcpy(key, row->key.data, sizeof key);
    ts_be64_store(record.key.shard.v, key + 11);
    struct ts_row other = *row;
    other.key = ts_bytes_of(key, sizeof key);
    return put_record(store, &other, &record);
}

static bool count_more(struct ts_store *store, const struct ts_row *row) {
    return apply(store, &(struct ts_op){.kind = TS_OP_ADD, .key = row->key, .delta = 1, .max = INT64_MAX}, 1);
}

static bool end_guard(struct ts_store *store, const struct ts_row *row) {
    struct ts_run_guard guard;
    uint8_t bytes[TS_RUN_GUARD_ENCODED_LEN];
    if (ts_run_guard_decode(row->value, &guard) != TS_RECORD_OK || guard.status != TS_RUN_ACTIVE)
        return false;
    guard.status = TS_RUN_CANCELLED;
    if (ts_run_guard_encode(&guard, bytes) != TS_RECORD_OK)
        return false;
    return put(store, row->key, ts_bytes_of(bytes, sizeof bytes));
}

/* ---- the violations that must be noticed ---- */

static const struct {
    const char *what;
    char kind;
    bool (*change)(struct ts_store *store, const struct ts_row *row);
    const char *property;
} cases[] = {
    {"a shard that is gone", 's', remove_row, "shards"},
    {"a shard that is there once more", 's', double_it, "shards"},
    {"a damaged record", 's', damage, "record"},
    {"a shard that comes back from its end", 's', revive, "terminal"},
    {"a fence that falls", 's', lower_fence, "fence"},
    {"a shard that is taken while it is held", 's', steal, "mutual exclusion"},
    {"a cursor that goes back", 's', move_cursor, "cursor"},
    {"a change without an operation", 's', forget_cursor_token, "op-log"},
    {"a range that grows", 's', widen, "op-log"},
    {"an entry of the claim index that is gone", 'f', remove_row, "index"},
    {"a lease that is missing in the claim index", 'l', remove_row, "index"},
    {"a counter that counts too much", 'n', count_more, "counters"},
    {"a limit that counts too much", 'q', count_more, "limits"},
    {"a run that counts too much for its limits", 'm', count_more, "limits"},
    {"a guard that ends alone", 'g', end_guard, "run"},
    {"a run that is gone", 'r', remove_row, "run"},
};

static bool meddle(void *context, uint64_t step, struct ts_store *const *stores, size_t count) {
    static const uint8_t from[] = {0, 'c'}, to[] = {0, 'd'};
    struct meddler *meddler = context;
    if (meddler->done || step < BEGIN_AT)
        return false;
    for (size_t i = 0; i < count && !meddler->done; i++) {
        struct ts_rows rows = {0}, promises = {0};
        /* While a promise exists, some checks are skipped, so the test changes nothing. */
        struct ts_call prepared = {.kind = TS_CALL_PREPARED, .rows = &promises};
        struct ts_call scan = {.kind = TS_CALL_SCAN,
                               .from = ts_bytes_of(from, sizeof from),
                               .to = ts_bytes_of(to, sizeof to),
                               .limit = ROWS_MAX,
                               .rows = &rows};
        if (ts_store_run(stores[i], &prepared) != TS_STORE_OK ||
            ts_store_run(stores[i], &scan) != TS_STORE_OK)
            exit(2);
        for (size_t k = 0; k < rows.count && promises.count == 0 && !meddler->done; k++) {
            if (rows.rows[k].key.data[2] == (uint8_t)meddler->kind)
                meddler->done = meddler->change(stores[i], &rows.rows[k]);
        }
        ts_rows_release(&rows);
        ts_rows_release(&promises);
    }
    return meddler->done;
}

/* Returns whether the violation is noticed. At least one seed must have a row to change. */
static bool is_noticed(size_t index) {
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct meddler meddler = {.change = cases[index].change, .kind = cases[index].kind};
        struct ts_sim_options options = ts_sim_options_default();
        options.seed = seed;
        options.faults = TS_SIM_SUNNY;
        options.meddle = meddle;
        options.meddle_context = &meddler;
        struct ts_sim_result result;
        if (!ts_sim_run(&options, &result))
            exit(2);
        if (!meddler.done)
            continue;
        printf("# seed %llu, step %llu: %s: %s\n", (unsigned long long)seed, (unsigned long long)result.step,
               result.broken ? result.property : "nothing", result.text);
        return result.broken && strcmp(result.property, cases[index].property) == 0;
    }
    return false;
}

int main(void) {
    const size_t count = sizeof cases / sizeof cases[0];
    bool good = true;
    printf("1..%zu\n", count);
    for (size_t i = 0; i < count; i++) {
        const bool noticed = is_noticed(i);
        printf("%s %zu - %s is noticed\n", noticed ? "ok" : "not ok", i + 1, cases[i].what);
        good = good && noticed;
    }
    return good ? 0 : 1;
}
