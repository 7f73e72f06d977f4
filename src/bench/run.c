#include "bench/run.h"

#include "base/assert.h"
#include "os/clock.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

/* State that all threads share. Every thread waits for the others, so that all begin at the same time. */
struct run {
    const struct bench_run_options *options;
    uint64_t begin_ns;
    uint64_t duration_ns;
    atomic_bool cancelled;
    pthread_mutex_t lock;
    pthread_cond_t start;
    bool open;
};

struct worker {
    struct run *run;
    pthread_t thread;
    struct bench_walk walk;
    struct bench_txn txn;
    struct bench_transfer transfer;
    struct ts_rows read;
    struct ts_txn_result result;
    struct bench_tally tally;
};

static void pause_ns(uint64_t ns) {
    const uint64_t second = 1000000000;
    const struct timespec pause = {.tv_sec = (time_t)(ns / second), .tv_nsec = (long)(ns % second)};
    (void)nanosleep(&pause, NULL);
}

static void wait_for_start(struct run *run) {
    pthread_mutex_lock(&run->lock);
    while (!run->open)
        pthread_cond_wait(&run->start, &run->lock);
    pthread_mutex_unlock(&run->lock);
}

static void start_all(struct run *run) {
    pthread_mutex_lock(&run->lock);
    run->begin_ns = ts_clock_monotonic_ns();
    run->open = true;
    pthread_cond_broadcast(&run->start);
    pthread_mutex_unlock(&run->lock);
}

/* Sets the version of each check to the current version of its key. If a store does not answer, sets the
 * worker's result to an aborted transaction and returns false. */
static bool read_versions(struct worker *worker) {
    const struct bench_bank_access *access = &worker->run->options->access;
    for (size_t i = 0; i < worker->txn.count; i++) {
        struct ts_op *op = &worker->txn.ops[i];
        if (op->kind != TS_OP_CHECK)
            continue;
        struct ts_call call = {.kind = TS_CALL_READ,
                               .keys = &op->key,
                               .key_count = 1,
                               .rows = &worker->read,
                               .deadline_ns = ts_clock_monotonic_ns() + access->call_timeout_ms * 1000000};
        const size_t place = ts_cluster_place_of_key(access->cluster, op->key);
        if (ts_store_run(ts_cluster_store(access->cluster, place), &call) != TS_STORE_OK) {
            bench__read_failed(&call.error, &worker->result);
            return false;
        }
        op->version = worker->read.rows[0].version;
    }
    return true;
}

static void transact(struct worker *worker) {
    const struct bench_run_options *options = worker->run->options;
    if (options->bank != NULL) {
        bench__bank_transfer(options->bank, &options->access, &worker->walk.prng, &worker->transfer,
                             &worker->result);
        return;
    }
    if (worker->txn.reads && !read_versions(worker))
        return;
    ts_txn_run(options->access.coordinator, worker->txn.ops, worker->txn.count, NULL, &worker->result);
}

static void *work(void *context) {
    struct worker *worker = context;
    struct run *run = worker->run;
    wait_for_start(run);
    if (atomic_load(&run->cancelled))
        return NULL;
    uint64_t end_ns = run->begin_ns + run->duration_ns;
    uint64_t now_ns = ts_clock_monotonic_ns();
    while (now_ns < end_ns) {
        if (run->options->bank == NULL) {
            bench__scenario_next(&worker->walk, &worker->txn);
            now_ns = ts_clock_monotonic_ns();
        }
        uint64_t before_ns = now_ns;
        transact(worker);
        now_ns = ts_clock_monotonic_ns();
        uint64_t slice = (now_ns - run->begin_ns) / (run->duration_ns / BENCH_SLICES);
        const struct bench_sample sample = {
            .result = &worker->result,
            .took_ns = now_ns - before_ns,
            .slice = slice < BENCH_SLICES ? (size_t)slice : BENCH_SLICES - 1,
            .duplicate = run->options->bank == NULL && worker->txn.duplicate,
        };
        bench__tally_record(&worker->tally, &sample);
        if (worker->result.outcome == TS_TXN_REFUSED) {
            pause_ns(run->options->pause_us * 1000);
            now_ns = ts_clock_monotonic_ns();
        }
    }
    return NULL;
}

static void sleep_until_part(const struct run *run, uint64_t sixteenths) {
    uint64_t until_ns = run->begin_ns + run->duration_ns / 16 * sixteenths;
    uint64_t now_ns = ts_clock_monotonic_ns();
    if (now_ns < until_ns)
        pause_ns(until_ns - now_ns);
}

static void inflict(const struct run *run, struct bench_faults *faults) {
    bench__faults_begin(faults);
    sleep_until_part(run, 6);
    bench__faults_kill(faults);
    sleep_until_part(run, 7);
    bench__faults_bury(faults);
    sleep_until_part(run, 11);
    bench__faults_revive(faults);
    sleep_until_part(run, 16);
}

static uint32_t start_workers(struct run *run, struct worker *workers) {
    uint32_t started = 0;
    for (; started < run->options->plan->threads; started++) {
        struct worker *worker = &workers[started];
        worker->run = run;
        worker->walk = (struct bench_walk){.plan = run->options->plan, .thread = started};
        ts_prng_init(&worker->walk.prng, started + UINT64_C(1));
        bench__tally_init(&worker->tally);
        if (pthread_create(&worker->thread, NULL, work, worker) != 0)
            break;
    }
    return started;
}

bool bench__run(const struct bench_run_options *options, struct bench_run_result *ret_result) {
    uint32_t threads = options->plan->threads;
    ts_assert(threads > 0 && options->duration_ms > 0);
    struct worker *workers = calloc(threads, sizeof *workers);
    if (workers == NULL)
        return false;
    struct run run = {.options = options,
                      .duration_ns = options->duration_ms * 1000000,
                      .lock = PTHREAD_MUTEX_INITIALIZER,
                      .start = PTHREAD_COND_INITIALIZER};
    uint32_t started = start_workers(&run, workers);
    bool ok = started == threads;
    atomic_store(&run.cancelled, !ok);
    start_all(&run);
    if (ok && options->faults != NULL)
        inflict(&run, options->faults);
    bench__tally_init(&ret_result->tally);
    for (uint32_t i = 0; i < started; i++) {
        pthread_join(workers[i].thread, NULL);
        bench__tally_merge(&ret_result->tally, &workers[i].tally);
        ts_rows_release(&workers[i].transfer.rows);
        ts_rows_release(&workers[i].read);
    }
    ret_result->took_ns = ts_clock_monotonic_ns() - run.begin_ns;
    if (options->faults != NULL)
        bench__faults_end(options->faults);
    pthread_cond_destroy(&run.start);
    pthread_mutex_destroy(&run.lock);
    free(workers);
    return ok;
}
