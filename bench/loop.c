#include "loop.h"

#include "base/hist.h"
#include "os/clock.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { STATUS_DONE = 0, STATUS_INFRASTRUCTURE = 6, THREADS_MAX = 1024 };

struct worker {
    const struct loop_options *options;
    pthread_t thread;
    uint32_t index;
    void *mine;
    pthread_barrier_t *gate;
    atomic_bool *failed;
    uint64_t done;
    struct ts_hist hist;
};

static void *work(void *context) {
    struct worker *worker = context;
    const struct loop_options *options = worker->options;
    pthread_barrier_wait(worker->gate);
    uint64_t now_ns = ts_clock_monotonic_ns();
    uint64_t end_ns = now_ns + (uint64_t)(options->seconds * 1e9);
    while (now_ns < end_ns && !atomic_load_explicit(worker->failed, memory_order_relaxed)) {
        if (!options->step(worker->mine, worker->done)) {
            atomic_store(worker->failed, true);
            break;
        }
        worker->done++;
        uint64_t before_ns = now_ns;
        now_ns = ts_clock_monotonic_ns();
        ts_hist_record(&worker->hist, now_ns - before_ns);
    }
    return NULL;
}

static void print(const struct loop_options *options, const struct ts_hist *hist, double seconds) {
    printf("{\"loop\":\"%s\",\"threads\":%u,\"seconds\":%.3f,\"transactions\":%llu,\"per_second\":%.1f,"
           "\"p50_us\":%.1f,\"p99_us\":%.1f}\n",
           options->name, options->threads, seconds, (unsigned long long)ts_hist_count(hist),
           (double)ts_hist_count(hist) / seconds, (double)ts_hist_percentile(hist, 50000) / 1000,
           (double)ts_hist_percentile(hist, 99000) / 1000);
}

/* Ends the process, which also frees everything. */
static void give_up(const char *why) {
    fprintf(stderr, "%s\n", why);
    exit(STATUS_INFRASTRUCTURE);
}

int loop_run(const struct loop_options *options) {
    struct worker *workers = calloc(options->threads, sizeof *workers);
    pthread_barrier_t gate;
    atomic_bool failed = false;
    if (workers == NULL || pthread_barrier_init(&gate, NULL, options->threads + 1) != 0)
        give_up("out of memory");
    for (uint32_t i = 0; i < options->threads; i++) {
        workers[i] = (struct worker){.options = options, .index = i, .gate = &gate, .failed = &failed};
        ts_hist_init(&workers[i].hist);
        workers[i].mine = options->begin(options->shared, i);
        if (workers[i].mine == NULL)
            give_up("cannot begin");
    }
    for (uint32_t i = 0; i < options->threads; i++)
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
            give_up("cannot start a thread");
    pthread_barrier_wait(&gate);
    uint64_t begin_ns = ts_clock_monotonic_ns();
    static struct ts_hist hist;
    ts_hist_init(&hist);
    for (uint32_t i = 0; i < options->threads; i++)
        pthread_join(workers[i].thread, NULL);
    double seconds = (double)(ts_clock_monotonic_ns() - begin_ns) / 1e9;
    for (uint32_t i = 0; i < options->threads; i++) {
        ts_hist_merge(&hist, &workers[i].hist);
        options->end(workers[i].mine);
    }
    pthread_barrier_destroy(&gate);
    free(workers);
    if (failed)
        return STATUS_INFRASTRUCTURE;
    print(options, &hist, seconds);
    return STATUS_DONE;
}

void loop_key(uint64_t number, char ret_key[LOOP_KEY_LEN + 1]) {
    snprintf(ret_key, LOOP_KEY_LEN + 1, "bench/%08x", (unsigned)number);
}

bool loop_numbers(const char *threads, const char *seconds, struct loop_options *ret_options) {
    char *end;
    unsigned long count = strtoul(threads, &end, 10);
    if (*end != '\0' || count == 0 || count > THREADS_MAX) {
        fprintf(stderr, "THREADS must be from 1 to %d\n", THREADS_MAX);
        return false;
    }
    ret_options->threads = (uint32_t)count;
    ret_options->seconds = strtod(seconds, &end);
    if (*end != '\0' || !(ret_options->seconds > 0) || ret_options->seconds > 86400) {
        fprintf(stderr, "SECONDS must be above 0\n");
        return false;
    }
    return true;
}
