#include "bench/coord.h"

#include "coord/driver/session.h"
#include "os/clock.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_LEN = 16, LEASE_MS = 60000, RENEW_BELOW_MS = 20000 };

static const char tenant_name[] = "turnstone-bench";

/* State that all workers share. */
struct stage {
    const struct bench_coord_options *options;
    struct ts_tenant_id tenant;
    atomic_uint_least64_t claims_left;
    atomic_bool stopped;   /* a worker failed, or a thread could not be started */
    pthread_mutex_t mutex; /* guards the fields below */
    pthread_cond_t opened;
    uint32_t expected; /* number of workers that the barrier waits for */
    uint32_t arrived;
    uint32_t turn; /* how often all workers have met at the barrier */
    struct bench_coord_error error;
};

struct worker {
    struct stage *stage;
    uint32_t number;
    pthread_t thread;
    uint64_t checkpointed_ns;
    uint64_t renewals;
    struct ts_hist claims_ns;
    struct ts_hist checkpoints_ns;
};

/* Returns a key of a shard: eight digits for the shard, then eight digits for the step. */
static struct ts_bytes key_of(uint64_t shard, uint64_t step, char text[static KEY_LEN + 1]) {
    snprintf(text, KEY_LEN + 1, "%08llx%08llx", (unsigned long long)(shard & UINT32_MAX),
             (unsigned long long)(step & UINT32_MAX));
    return ts_bytes_of(text, KEY_LEN);
}

static void fail(struct stage *stage, const char *what, enum ts_error_variant variant,
                 const struct ts_coord_detail *detail) {
    char text[400];
    ts_error_display(variant, detail, text, sizeof text);
    pthread_mutex_lock(&stage->mutex);
    if (stage->error.text[0] == '\0')
        snprintf(stage->error.text, sizeof stage->error.text, "%s: %s: %s", what,
                 ts_error_variant_name(variant), text);
    pthread_mutex_unlock(&stage->mutex);
    atomic_store(&stage->stopped, true);
}

/* Opens the barrier when all workers have reached it. The caller holds the mutex. */
static void open_when_all_are_there(struct stage *stage) {
    if (stage->arrived < stage->expected)
        return;
    stage->arrived = 0;
    stage->turn++;
    pthread_cond_broadcast(&stage->opened);
}

/* Waits until all workers have reached the barrier. */
static void meet(struct stage *stage) {
    pthread_mutex_lock(&stage->mutex);
    uint32_t turn = stage->turn;
    stage->arrived++;
    open_when_all_are_there(stage);
    while (turn == stage->turn)
        pthread_cond_wait(&stage->opened, &stage->mutex);
    pthread_mutex_unlock(&stage->mutex);
}

/* Ends the benchmark when a thread could not be started. The threads that were started pass the barriers, and
 * do not begin further work. */
static void give_up(struct stage *stage, uint32_t begun) {
    atomic_store(&stage->stopped, true);
    pthread_mutex_lock(&stage->mutex);
    snprintf(stage->error.text, sizeof stage->error.text, "the system cannot start a thread for worker %u",
             begun);
    stage->expected = begun;
    open_when_all_are_there(stage);
    pthread_mutex_unlock(&stage->mutex);
}

static bool register_page(struct stage *stage, uint64_t from, uint64_t count,
                          struct ts_manifest_memory *memory, struct ts_new_shard *shards,
                          char (*texts)[KEY_LEN + 1]) {
    for (uint64_t i = 0; i < count; i++)
        shards[i] =
            (struct ts_new_shard){.spec = {.range = {.start = key_of(from + i, 0, texts[2 * i]),
                                                     .end = key_of(from + i + 1, 0, texts[2 * i + 1])}}};
    const struct ts_register_op op = {.tenant = stage->tenant,
                                      .run = stage->options->run,
                                      .op_id = {from + 1},
                                      .shards = {shards, (size_t)count}};
    struct ts_coord_outcome outcome;
    struct ts_coord_detail detail = {0};
    enum ts_register_shards_error error =
        ts_coord_register_shards(stage->options->coord, &op, memory, &outcome, &detail);
    if (error != TS_REGISTER_SHARDS_OK)
        fail(stage, "registering shards", ts_register_shards_error_variant(error), &detail);
    return error == TS_REGISTER_SHARDS_OK;
}

static bool register_all(struct stage *stage) {
    struct ts_manifest_memory *memory = malloc(sizeof *memory);
    struct ts_new_shard *shards = calloc(TS_REGISTER_MAX, sizeof *shards);
    char(*texts)[KEY_LEN + 1] = calloc((size_t)2 * TS_REGISTER_MAX, sizeof *texts);
    bool ok = memory && shards && texts;
    if (!ok)
        snprintf(stage->error.text, sizeof stage->error.text, "out of memory");
    for (uint64_t done = 0; ok && done < stage->options->shards; done += TS_REGISTER_MAX) {
        uint64_t left = stage->options->shards - done;
        ok = register_page(stage, done, left < TS_REGISTER_MAX ? left : TS_REGISTER_MAX, memory, shards,
                           texts);
    }
    free(memory);
    free(shards);
    free(texts);
    return ok;
}

static bool make_run(struct stage *stage) {
    struct ts_create_run_op op = {
        .tenant = stage->tenant, .run = stage->options->run, .config = ts_run_config_default()};
    op.config.lease_duration_ms = LEASE_MS;
    op.config.attempts = 0;
    struct ts_coord_detail detail = {0};
    enum ts_create_run_error error = ts_coord_create_run(stage->options->coord, &op, NULL, &detail);
    if (error != TS_CREATE_RUN_OK) {
        fail(stage, "making the run", ts_create_run_error_variant(error), &detail);
        return false;
    }
    return register_all(stage);
}

static void cancel_run(struct stage *stage) {
    const struct ts_end_run_op op = {
        .tenant = stage->tenant, .run = stage->options->run, .op_id = {UINT64_MAX}};
    struct ts_coord_outcome outcome;
    struct ts_coord_detail detail = {0};
    enum ts_run_transition_error error = ts_coord_cancel_run(stage->options->coord, op, &outcome, &detail);
    if (error != TS_RUN_TRANSITION_OK)
        fail(stage, "ending the run", ts_run_transition_error_variant(error), &detail);
}

static bool claim(struct worker *worker, struct ts_coord_session *session) {
    struct ts_acquire_result_view view;
    struct ts_coord_detail detail = {0};
    uint64_t begun_ns = ts_clock_monotonic_ns();
    enum ts_claim_error error = ts_coord_session_claim(session, worker->stage->options->run, &view, &detail);
    if (error != TS_CLAIM_OK) {
        fail(worker->stage, "claiming", ts_claim_error_variant(error), &detail);
        return false;
    }
    ts_hist_record(&worker->claims_ns, ts_clock_monotonic_ns() - begun_ns);
    return true;
}

/* Takes one of the remaining claims; returns false when no claim remains. */
static bool take_claim(struct stage *stage) {
    uint64_t left = atomic_load(&stage->claims_left);
    while (left > 0)
        if (atomic_compare_exchange_weak(&stage->claims_left, &left, left - 1))
            return true;
    return false;
}

static bool checkpoint(struct worker *worker, struct ts_coord_session *session, uint64_t shard,
                       uint64_t step) {
    char text[KEY_LEN + 1];
    const struct ts_cursor cursor = {.has_key = true, .last_key = key_of(shard, step, text)};
    struct ts_coord_outcome outcome;
    struct ts_coord_detail detail = {0};
    uint64_t begun_ns = ts_clock_monotonic_ns();
    enum ts_checkpoint_error error =
        ts_coord_session_checkpoint(session, (struct ts_op_id){step}, &cursor, &outcome, &detail);
    if (error != TS_CHECKPOINT_OK) {
        fail(worker->stage, "a checkpoint", ts_checkpoint_error_variant(error), &detail);
        return false;
    }
    ts_hist_record(&worker->checkpoints_ns, ts_clock_monotonic_ns() - begun_ns);
    return true;
}

static bool renew(struct worker *worker, struct ts_coord_session *session) {
    struct ts_renew_result result;
    struct ts_coord_detail detail = {0};
    enum ts_renew_error error = ts_coord_session_renew(session, &result, &detail);
    if (error != TS_RENEW_OK) {
        fail(worker->stage, "renewing", ts_renew_error_variant(error), &detail);
        return false;
    }
    worker->renewals++;
    return true;
}

static void checkpoint_until_stopped(struct worker *worker, struct ts_coord_session *session) {
    const struct ts_shard_record *record = ts_coord_session_record(session);
    char digits[9] = {0};
    memcpy(digits, record->spec.range.start.data, 8);
    uint64_t shard = strtoull(digits, NULL, 16);
    uint64_t begun_ns = ts_clock_monotonic_ns();
    uint64_t until_ns = begun_ns + worker->stage->options->duration_ms * 1000000;
    uint64_t now_ns = begun_ns;
    for (uint64_t step = 1; now_ns < until_ns && !atomic_load(&worker->stage->stopped); step++) {
        if (ts_coord_session_left_ms(session) < RENEW_BELOW_MS && !renew(worker, session))
            break;
        if (!checkpoint(worker, session, shard, step))
            break;
        now_ns = ts_clock_monotonic_ns();
    }
    worker->checkpointed_ns = now_ns - begun_ns;
}

static void *work(void *context) {
    struct worker *worker = context;
    struct stage *stage = worker->stage;
    struct ts_coord_worker who = {.tenant = stage->tenant};
    snprintf((char *)who.worker.b, sizeof who.worker.b, "bench-%u", worker->number);
    struct ts_coord_session *session = ts_coord_session_new(stage->options->coord, &who);
    bool ok = session != NULL;
    /* Every worker's first claim also opens connections, so it is not measured. */
    ok = ok && claim(worker, session);
    ts_hist_clear(&worker->claims_ns);
    meet(stage);
    while (ok && !atomic_load(&stage->stopped) && take_claim(stage)) {
        ts_coord_session_drop(session);
        ok = claim(worker, session);
    }
    meet(stage);
    if (ok && !atomic_load(&stage->stopped))
        checkpoint_until_stopped(worker, session);
    ts_coord_session_free(session);
    return NULL;
}

static bool run_workers(struct stage *stage, struct worker *workers, struct bench_coord_result *result) {
    stage->expected = stage->options->workers;
    uint32_t begun = 0;
    for (; begun < stage->options->workers; begun++) {
        workers[begun].stage = stage;
        workers[begun].number = begun;
        ts_hist_init(&workers[begun].claims_ns);
        ts_hist_init(&workers[begun].checkpoints_ns);
        if (pthread_create(&workers[begun].thread, NULL, work, &workers[begun]) != 0) {
            give_up(stage, begun);
            break;
        }
    }
    for (uint32_t i = 0; i < begun; i++) {
        pthread_join(workers[i].thread, NULL);
        ts_hist_merge(&result->claims_ns, &workers[i].claims_ns);
        ts_hist_merge(&result->checkpoints_ns, &workers[i].checkpoints_ns);
        result->renewals += workers[i].renewals;
        if (workers[i].checkpointed_ns > result->checkpointed_ns)
            result->checkpointed_ns = workers[i].checkpointed_ns;
    }
    return stage->error.text[0] == '\0';
}

bool bench__coord(const struct bench_coord_options *options, struct bench_coord_result *ret_result,
                  struct bench_coord_error *ret_error) {
    struct stage stage = {.options = options};
    pthread_mutex_init(&stage.mutex, NULL);
    pthread_cond_init(&stage.opened, NULL);
    memcpy(stage.tenant.b, tenant_name, sizeof tenant_name - 1);
    /* Every worker already has a shard. The measured claims take at most a quarter of the other shards, so
     * that the last claims find free shards as easily as the first. */
    uint64_t spare = (options->shards - options->workers) / 4;
    atomic_store(&stage.claims_left, spare < BENCH_COORD_CLAIMS ? spare : BENCH_COORD_CLAIMS);
    struct worker *workers = calloc(options->workers, sizeof *workers);
    ts_hist_init(&ret_result->claims_ns);
    ts_hist_init(&ret_result->checkpoints_ns);
    ret_result->renewals = ret_result->checkpointed_ns = 0;
    uint64_t begun_ns = ts_clock_monotonic_ns();
    bool ok = workers && make_run(&stage);
    ret_result->registered_ns = ts_clock_monotonic_ns() - begun_ns;
    ok = ok && run_workers(&stage, workers, ret_result);
    if (ok)
        cancel_run(&stage);
    ok = ok && stage.error.text[0] == '\0';
    if (!ok && stage.error.text[0] == '\0')
        snprintf(stage.error.text, sizeof stage.error.text, "out of memory");
    if (!ok)
        *ret_error = stage.error;
    free(workers);
    pthread_cond_destroy(&stage.opened);
    pthread_mutex_destroy(&stage.mutex);
    return ok;
}
