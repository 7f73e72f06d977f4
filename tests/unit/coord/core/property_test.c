/*
 * Random operations on a small family of shards by workers that pause, repeat operations and keep old leases,
 * with a clock that sometimes jumps. After every step the test checks that the record keeps its invariants,
 * that the fence rises only with acquire and unpark and never falls, that the cursor never moves back, that a
 * shard that is done or split never changes, that a parked shard changes only by unpark, that leases exclude
 * each other, and that every key of the run is in exactly one shard that is not split. Planted mistakes show
 * that the checker can fail.
 */
#include "base/prng.h"
#include "world.h"

enum { SHARDS_MAX = 64, WORKERS = 4, STEPS = 400, SEEDS = 150, STORED_MAX = 2048 };

struct kept {
    struct ts_shard_record record; /* its keys point into `bytes` */
    uint8_t bytes[STORED_MAX];
    size_t len;
};

struct holding {
    bool is_held;
    size_t shard;
    struct ts_lease lease;
};

static struct ts_prng prng;
static struct kept shards[SHARDS_MAX];
static size_t shard_count;
static struct holding held[WORKERS];
static struct ts_run_guard guard;
static struct ts_logical_time now;
static struct ts_shard_step step;
static struct ts_coord_detail detail;
static uint64_t next_op;
static size_t executed, replayed, refused;

static void keep(struct kept *to, const struct ts_shard_record *record) {
    static uint8_t encoded[TS_RECORD_MAX];
    assert_int_equal(ts_shard_record_encode(record, encoded, &to->len), TS_RECORD_OK);
    assert_true(to->len <= STORED_MAX);
    memcpy(to->bytes, encoded, to->len);
    assert_int_equal(ts_shard_record_decode(ts_bytes_of(to->bytes, to->len), &to->record), TS_RECORD_OK);
}

/* Checks a record against its successor. Returns NULL, or the violated property. */
static const char *broken_between(const struct ts_shard_record *before, const struct ts_shard_record *after,
                                  enum ts_event_kind kind) {
    if (after->fence.v < before->fence.v)
        return "a fence fell";
    if ((kind == TS_EVENT_ACQUIRED || kind == TS_EVENT_UNPARKED) != (after->fence.v == before->fence.v + 1))
        return "a fence rises with acquire and unpark, and with nothing else";
    if (before->cursor.has_key &&
        (!after->cursor.has_key || ts_bytes_compare(after->cursor.last_key, before->cursor.last_key) < 0))
        return "a cursor went back";
    if (ts_shard_status_is_terminal(before->status) &&
        !(kind == TS_EVENT_UNPARKED && before->status == TS_SHARD_PARKED))
        return "a finished shard moved";
    if (kind == TS_EVENT_ACQUIRED && ts_shard_record_is_leased_at(before, now))
        return "two workers hold a shard";
    if (ts_spawned_count(after->spawned) < ts_spawned_count(before->spawned))
        return "a shard forgot what it spawned";
    return NULL;
}

static const char *broken_coverage(void) {
    for (int first = 'a'; first <= 'z'; first++) {
        for (int second = 'a' - 1; second <= 'z'; second += 5) {
            const uint8_t key[2] = {(uint8_t)first, (uint8_t)second};
            size_t holders = 0;
            for (size_t i = 0; i < shard_count; i++)
                holders += shards[i].record.status != TS_SHARD_SPLIT &&
                           ts_key_range_contains(shards[i].record.spec.range, ts_bytes_of(key, 2));
            if (holders != 1)
                return "a key is in no shard, or in two";
        }
    }
    return NULL;
}

static void take(size_t shard) {
    if (!step.write)
        return;
    const char *broken = broken_between(&shards[shard].record, &step.record, step.event.kind);
    if (broken != NULL)
        fail_msg("%s: %s", ts_event_name(step.event.kind), broken);
    const struct ts_shard_record next = step.record;
    keep(&shards[shard], &next);
}

static void take_answer(size_t shard, bool ok) {
    if (!ok) {
        refused++;
        return;
    }
    if (step.outcome == TS_OUTCOME_REPLAYED) {
        replayed++;
        return;
    }
    executed++;
    take(shard);
}

/* The requests of the latest op ids. If an op id is used again, its request is repeated. */
static struct request {
    uint64_t op_id;
    uint64_t kind;
    uint8_t key[2];
} requests[64];

/* Returns the request of the op id. A new request usually has a key a little ahead of the cursor. */
static const struct request *request_of(uint64_t op_id, const struct ts_cursor *cursor) {
    struct request *request = &requests[op_id % 64];
    if (request->op_id == op_id)
        return request;
    uint64_t from = cursor->has_key ? cursor->last_key.data[0] : 'a';
    if (ts_prng_below(&prng, 5) == 0)
        from = 'a';
    const uint64_t first = from + ts_prng_below(&prng, 4);
    *request = (struct request){
        op_id,
        ts_prng_below(&prng, 40),
        {(uint8_t)(first < 'z' ? first : 'z'), (uint8_t)ts_prng_in(&prng, (struct ts_prng_range){'a', 'z'})}};
    return request;
}

static void add_child(const struct ts_shard_record *child) {
    assert_true(shard_count < SHARDS_MAX);
    keep(&shards[shard_count++], child);
}

static void random_replace(size_t shard, const struct ts_lease_op *by, const struct ts_split_env *env,
                           struct ts_bytes at) {
    static struct ts_split_memory memory;
    static struct ts_split_replace_result result;
    const struct ts_shard_record before = shards[shard].record;
    const struct ts_new_shard children[] = {{.spec = {.range = {before.spec.range.start, at}}},
                                            {.spec = {.range = {at, before.spec.range.end}}}};
    const struct ts_split_replace_op op = {*by, {children, 2}};
    bool ok = ts_split_replace_step(&before, env, &op, &memory, &step, &result, &detail) == TS_SPLIT_OK;
    if (ok && step.outcome == TS_OUTCOME_EXECUTED) {
        for (size_t i = 0; i < 2; i++) {
            struct ts_shard_record child;
            ts_split_replace_child(&before, &op, &result, i, &child);
            add_child(&child);
        }
    }
    take_answer(shard, ok);
}

static void random_residual(size_t shard, const struct ts_lease_op *by, const struct ts_split_env *env,
                            struct ts_bytes at) {
    static struct ts_split_memory memory;
    static struct ts_split_residual_result result;
    const struct ts_shard_record before = shards[shard].record;
    const struct ts_split_residual_op op = {*by, {.spec = {.range = {at, {0}}}}};
    bool ok = ts_split_residual_step(&before, env, &op, &memory, &step, &result, &detail) == TS_SPLIT_OK;
    if (ok && step.outcome == TS_OUTCOME_EXECUTED) {
        struct ts_shard_record child;
        ts_split_residual_child(&before, &op, &result, &child);
        add_child(&child);
    }
    take_answer(shard, ok);
}

static void random_acquire(struct holding *worker, const struct ts_worker_id *name) {
    const size_t shard = ts_prng_below(&prng, shard_count);
    const struct ts_step_env env = ts_step_env_of(&guard, now);
    const struct ts_acquire_op op = {guard.tenant, shards[shard].record.key, *name};
    struct ts_lease lease;
    bool ok = ts_acquire_step(&shards[shard].record, &env, &op, &step, &lease, &detail) == TS_ACQUIRE_OK;
    if (ok)
        *worker = (struct holding){true, shard, lease};
    else
        refused++;
    take(shard);
}

/* Uses the lease that the worker believes it has, with a new or recently used op id. */
static void random_work(struct holding *worker) {
    const size_t shard = worker->shard;
    const struct ts_shard_record *record = &shards[shard].record;
    const struct ts_step_env env = ts_step_env_of(&guard, now);
    const struct ts_split_env split_env = {.step = env, .limits = {{shard_count, SHARDS_MAX}, {0, 1000}}};
    const uint64_t op_id = ts_prng_below(&prng, 4) == 0 ? next_op - ts_prng_below(&prng, 12) : ++next_op;
    const struct ts_lease_op by = {guard.tenant, worker->lease, {op_id}};
    const struct request *request = request_of(op_id, &record->cursor);
    const struct ts_bytes key = ts_bytes_of(request->key, 2);
    const struct ts_cursor_op cursor = {by, {.has_key = true, .last_key = key}};
    const struct ts_park_op park = {by, TS_PARK_OTHER};
    const struct ts_release_op release = {by, request->key[1] % 2 == 0 ? TS_BLAME_NOBODY : TS_BLAME_SHARD};
    const struct ts_renew_op renew = {guard.tenant, worker->lease};
    switch (request->kind) {
    case 0:
        if (ts_prng_below(&prng, 4) != 0)
            return; /* shards that complete early test little */
        take_answer(shard, ts_complete_step(record, &env, &cursor, &step, &detail) == TS_COMPLETE_OK);
        return;
    case 1:
        take_answer(shard, ts_park_step(record, &env, &park, &step, &detail) == TS_PARK_OK);
        return;
    case 2:
        random_replace(shard, &by, &split_env, key);
        return;
    case 3:
        random_residual(shard, &by, &split_env, key);
        return;
    case 5:
        take_answer(shard,
                    ts_renew_step(record, &env, &renew, &step, &worker->lease, &detail) == TS_RENEW_OK);
        return;
    case 6:
        take_answer(shard, ts_release_step(record, &env, &release, &step, &detail) == TS_RELEASE_OK);
        return;
    default:
        take_answer(shard, ts_checkpoint_step(record, &env, &cursor, &step, &detail) == TS_CHECKPOINT_OK);
        return;
    }
}

static void random_unpark(void) {
    const size_t shard = ts_prng_below(&prng, shard_count);
    const struct ts_step_env env = ts_step_env_of(&guard, now);
    const struct ts_unpark_op op = {guard.tenant, shards[shard].record.key, {++next_op}};
    take_answer(shard, ts_unpark_step(&shards[shard].record, &env, &op, &step, &detail) == TS_UNPARK_OK);
}

static void start(uint64_t seed) {
    ts_prng_init(&prng, seed);
    guard = (struct ts_run_guard){.tenant = tenant_named("acme"),
                                  .run = {7},
                                  .status = TS_RUN_ACTIVE,
                                  .config = ts_run_config_default(),
                                  .number = 1};
    guard.config.lease_duration_ms = 1000;
    now.ms = 1000;
    next_op = 100;
    memset(held, 0, sizeof held);
    memset(requests, 0, sizeof requests);
    shard_count = 0;
    const struct ts_shard_record whole = {.tenant = guard.tenant, .key = the_shard};
    add_child(&whole);
}

static void random_step(void) {
    struct holding *worker = &held[ts_prng_below(&prng, WORKERS)];
    const struct ts_worker_id name = worker_named((const char *[]){"w1", "w2", "w3", "w4"}[worker - held]);
    const uint64_t what = ts_prng_below(&prng, 20);
    if (what < 2)
        random_unpark();
    else if (!worker->is_held || what < 4)
        random_acquire(worker, &name);
    else if (ts_shard_record_is_leased_at(&shards[worker->shard].record, now) || what < 8)
        random_work(worker);
    else
        worker->is_held = false;
    now.ms += ts_prng_below(&prng, 50);
    if (ts_prng_below(&prng, 100) == 0)
        now.ms += 2000;
    if (ts_prng_below(&prng, 100) == 0)
        now.ms -= 40; /* another process, whose clock is behind */
}

static void random_operations_keep_the_invariants(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        start(seed);
        for (int i = 0; i < STEPS && shard_count < SHARDS_MAX - 2; i++) {
            random_step();
            const char *broken = broken_coverage();
            if (broken != NULL)
                fail_msg("seed %llu, step %d: %s", (unsigned long long)seed, i, broken);
        }
    }
    assert_true(executed > 3000 && replayed > 300 && refused > 3000);
}

static void the_checkers_can_fail(void **state) {
    (void)state;
    start(1);
    const struct ts_shard_record before = {.key = the_shard,
                                           .fence = {4},
                                           .has_holder = true,
                                           .holder = {.deadline = {5000}},
                                           .cursor = {.has_key = true, .last_key = TS_BYTES_INIT("m")}};
    struct ts_shard_record after = before;
    assert_null(broken_between(&before, &after, TS_EVENT_CHECKPOINTED));
    after.fence.v = 3;
    assert_non_null(broken_between(&before, &after, TS_EVENT_CHECKPOINTED));
    after = before;
    assert_non_null(broken_between(&before, &after, TS_EVENT_ACQUIRED));
    after.fence.v = 5;
    assert_string_equal(broken_between(&before, &after, TS_EVENT_ACQUIRED), "two workers hold a shard");
    after = before;
    after.cursor.last_key = TS_BYTES("l");
    assert_non_null(broken_between(&before, &after, TS_EVENT_CHECKPOINTED));
    struct ts_shard_record done = before;
    done.status = TS_SHARD_DONE;
    assert_non_null(broken_between(&done, &before, TS_EVENT_CHECKPOINTED));
    assert_null(broken_coverage());
    shards[0].record.spec.range.end = TS_BYTES("q");
    assert_non_null(broken_coverage());
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_operations_keep_the_invariants),
        cmocka_unit_test(the_checkers_can_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
