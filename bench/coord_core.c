/*
 * Measures how fast the pure core of coordination is on one processor, and counts its allocations.
 *
 *     bench_coord_core [SECONDS]
 *
 * Each operation is measured through the whole path that a store sees: decode the stored bytes (checksum,
 * invariants), step, encode (invariants, checksum). The shard has a full op-log, keys of 24 bytes, a token of
 * 32 bytes and metadata of 64 bytes.
 */
#include "base/assert.h"
#include "base/blake3.h"
#include "base/number.h"
#include "coord/core/scratch.h"
#include "coord/core/shard_step.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint64_t allocations;

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

void *__wrap_malloc(size_t size) {
    allocations++;
    return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size) {
    allocations++;
    return __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size) {
    allocations++;
    return __real_realloc(memory, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size) {
    allocations++;
    return __real_aligned_alloc(alignment, size);
}

enum { KEY_LEN = 24, BATCH = 1000 };

static uint8_t stored[2][TS_RECORD_MAX];
static size_t stored_len;
static int current;

static struct ts_run_guard guard = {.run = {7}, .status = TS_RUN_ACTIVE};
static struct ts_logical_time now = {1000};
static const struct ts_shard_key shard = {{7}, {3}};
static struct ts_lease lease;
static struct ts_acquire_scratch scratch;
static struct ts_shard_step step;
static struct ts_coord_detail detail;
static struct ts_worker_id worker;
static uint64_t counter;

static struct ts_shard_record record;

static void load(void) {
    enum ts_record_error error = ts_shard_record_decode(ts_bytes_of(stored[current], stored_len), &record);
    ts_assert(error == TS_RECORD_OK);
}

/* Encodes the new record into the buffer that is not current, because the record borrows from the bytes of
 * the old one. */
static void save(const struct ts_shard_record *next) {
    enum ts_record_error error = ts_shard_record_encode(next, stored[!current], &stored_len);
    ts_assert(error == TS_RECORD_OK);
    current = !current;
}

static void acquire(void) {
    now.ms += guard.config.lease_duration_ms;
    load();
    struct ts_step_env env = ts_step_env_of(&guard, now);
    struct ts_acquire_op op = {.shard = shard, .worker = worker};
    enum ts_acquire_error error = ts_acquire_step(&record, &env, &op, &step, &lease, &detail);
    ts_assert(error == TS_ACQUIRE_OK);
    save(&step.record);
    struct ts_acquire_result_view view;
    ts_acquire_result(&scratch, &step.record, &lease, (struct ts_capacity_hint){0}, &view);
    ts_assert(ts_shard_snapshot_view_is_current(&view.snapshot));
}

static void renew(void) {
    now.ms++;
    load();
    struct ts_step_env env = ts_step_env_of(&guard, now);
    struct ts_renew_op op = {.lease = lease};
    enum ts_renew_error error = ts_renew_step(&record, &env, &op, &step, &lease, &detail);
    ts_assert(error == TS_RENEW_OK);
    save(&step.record);
}

static void checkpoint(void) {
    uint8_t key[KEY_LEN];
    memset(key, 'k', sizeof key);
    counter++;
    for (size_t i = 0; i < 8; i++)
        key[KEY_LEN - 1 - i] = (uint8_t)(counter >> (8 * i));
    load();
    struct ts_step_env env = ts_step_env_of(&guard, now);
    struct ts_cursor_op op = {.by = {.lease = lease, .op_id = {counter}},
                              .cursor = {.has_key = true,
                                         .has_token = true,
                                         .last_key = {key, sizeof key},
                                         .token = TS_BYTES("0123456789abcdef0123456789abcdef")}};
    enum ts_checkpoint_error error = ts_checkpoint_step(&record, &env, &op, &step, &detail);
    ts_assert(error == TS_CHECKPOINT_OK);
    ts_assert(step.outcome == TS_OUTCOME_EXECUTED);
    save(&step.record);
}

struct measured {
    double per_second;
    uint64_t allocations;
};

/* Returns the CPU time of this process: other processes do not count. */
static uint64_t cpu_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static struct measured measure(void (*operation)(void), uint64_t for_ns) {
    for (int i = 0; i < 2 * TS_OP_LOG_MAX; i++)
        operation();
    const uint64_t allocated = allocations;
    const uint64_t start = cpu_ns();
    uint64_t done = 0, elapsed;
    do {
        for (int i = 0; i < BATCH; i++)
            operation();
        done += BATCH;
        elapsed = cpu_ns() - start;
    } while (elapsed < for_ns);
    return (struct measured){(double)done * 1e9 / (double)elapsed, allocations - allocated};
}

int main(int argc, char **argv) {
    uint32_t seconds = 1;
    if (argc > 2 || (argc == 2 && ts_u32_parse(ts_bytes_of_cstring(argv[1]), &seconds) != TS_NUMBER_OK)) {
        fprintf(stderr, "usage: bench_coord_core [SECONDS]\n");
        return 2;
    }
    void *volatile counted = malloc(1);
    free(counted);
    const bool counts = allocations == 1;

    guard.config = ts_run_config_default();
    guard.config.attempts = 0;
    const struct ts_shard_record fresh = {
        .key = shard,
        .spec = {.range = {TS_BYTES("a"), TS_BYTES("z")},
                 .metadata = TS_BYTES("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef")}};
    save(&fresh);
    ts_acquire_scratch_init(&scratch);
    acquire();

    const uint64_t for_ns = (uint64_t)seconds * 1000000000 / 3;
    struct measured checkpoints = measure(checkpoint, for_ns);
    struct measured renews = measure(renew, for_ns);
    struct measured acquires = measure(acquire, for_ns);
    printf("{\"bench\":\"coord_core\",\"blake3\":\"%s\",\"record_bytes\":%zu,"
           "\"checkpoints_per_second\":%.0f,\"renews_per_second\":%.0f,\"acquires_per_second\":%.0f,"
           "\"allocations_are_counted\":%s,"
           "\"allocations\":{\"checkpoint\":%" PRIu64 ",\"renew\":%" PRIu64 ",\"acquire\":%" PRIu64 "}}\n",
           ts_blake3_backend(), stored_len, checkpoints.per_second, renews.per_second, acquires.per_second,
           counts ? "true" : "false", checkpoints.allocations, renews.allocations, acquires.allocations);
    return 0;
}
