/*
 * A stopped scan ends within 100 ms at any moment. The test stops scans at random moments. The repository has
 * a long history, a large blob, a long chain of deltas, archives and many findings.
 *
 * Moments and delays are CPU time, so that other load of the machine does not count. The delay of a scan with
 * two threads is the sum of the delays of both threads. For a run by hand, STOPPING_SCALE=20 makes the
 * repository larger, and STOPPING_STOPS=30 reduces the number of stopped scans. The test prints the worst
 * delays.
 */
#include "repo_maker.h"

#include "os/clock.h"
#include "scan/scan.h"

#include <pthread.h>

#define THREADS 2
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define STOPS  20
#define SLOWER 4 /* factor by which sanitizers slow the program down */
#else
#define STOPS  200
#define SLOWER 1
#endif
#define DELAY_NS (UINT64_C(100000000) * THREADS * SLOWER)
#define STAGES   4
#define MS(ns)   ((double)(ns) / 1e6)
#define SEED     20261118

static unsigned setting(const char *name, unsigned otherwise) {
    const char *text = getenv(name);
    return text != NULL ? (unsigned)strtoul(text, NULL, 10) : otherwise;
}

static unsigned scale(void) {
    return setting("STOPPING_SCALE", 6);
}

/* ---- the repository ---- */

static void put_lines(FILE *out, struct ts_prng *prng, size_t lines) {
    fprintf(out, "data %zu\n", lines * 65);
    for (size_t i = 0; i < lines; i++)
        fprintf(out, "key = %016llx; %-40s\n", (unsigned long long)ts_prng_next(prng),
                "the rest of the line");
}

static void put_commit(FILE *out, unsigned number) {
    fprintf(out,
            "commit refs/heads/main\nauthor A <a@x> %u +0000\ncommitter C <c@x> %u +0000\ndata 4\nmore\n",
            1600000000 + number, 1600000000 + number);
}

/* Makes a history with trees in folders, and a finding in every 16th commit. */
static void make_history(void) {
    struct ts_prng prng;
    FILE *out = popen("git -C repo fast-import --quiet --done", "w"); /* NOLINT(cert-env33-c): a test */
    assert_non_null(out);
    ts_prng_init(&prng, SEED);
    for (unsigned i = 0; i < 1500 * scale(); i++) {
        put_commit(out, i);
        for (unsigned k = 0; k < 2; k++) {
            unsigned file = (unsigned)ts_prng_below(&prng, 4000);
            fprintf(out, "M 100644 inline d%u/e%u/f%u\n", file % 8, file % 32, file);
            put_lines(out, &prng, 4);
        }
        if (i % 16 == 0)
            fprintf(out, "M 100644 inline d%u/secret%u.env\ndata 50\nGH_TOKEN=ghp_%016llx%016llx%04u\n",
                    i % 8, i, (unsigned long long)ts_prng_next(&prng),
                    (unsigned long long)ts_prng_next(&prng), i % 9000 + 1000);
    }
    put_commit(out, 1500 * scale());
    fprintf(out, "M 100644 inline large.txt\n");
    put_lines(out, &prng, (size_t)100000 * scale());
    fprintf(out, "done\n");
    assert_int_equal(pclose(out), 0);
}

/* Commits versions of one file, each of which becomes a delta of another version, and then an archive. */
static void make_chain(void) {
    sh("cd repo && git checkout -qf main && head -c %u large.txt > chain.txt && for i in $(seq 1 25); do "
       "echo \"key = $i\" >> chain.txt && git add chain.txt && git commit -qm $i; done",
       1000000 * scale());
    sh("cd repo && tar czf in.tar.gz chain.txt d1 d2 && git add in.tar.gz && git commit -qm archive && "
       "git -c pack.compression=1 repack -qadf --depth=50 --window=20");
}

/* Compiling rules cannot be stopped. Callers that stop scans compile the rules once, before the scan. */
static struct scan_profile *profile;

static int begin(void **state) {
    struct ts_scan_options options = {.cache_folder = ""};
    struct ts_scan_error error;
    assert_int_equal(maker_setup(state), 0);
    profile = ts_scan_profile_new(&options, &error);
    assert_non_null(profile);
    sh("git init -q repo && git -C repo config core.compression 1");
    make_history();
    make_chain();
    return 0;
}

static int end(void **state) {
    ts_scan_profile_free(profile);
    return maker_teardown(state);
}

/* ---- a scan that is stopped ---- */

struct stopper {
    struct ts_scan_progress progress;
    uint64_t at_ns; /* the scan is stopped at this processor time */
    atomic_bool is_done;
    bool has_stopped;
    unsigned stage;
    uint64_t cpu_ns;
    uint64_t wall_ns;
};

static void *stop_later(void *ctx) {
    struct stopper *stopper = ctx;
    while (!atomic_load(&stopper->is_done) && ts_clock_processor_ns() < stopper->at_ns)
        usleep(200);
    if (atomic_load(&stopper->is_done))
        return NULL;
    stopper->stage = atomic_load(&stopper->progress.stage);
    stopper->has_stopped = true;
    stopper->cpu_ns = ts_clock_processor_ns();
    stopper->wall_ns = ts_clock_monotonic_ns();
    atomic_store(&stopper->progress.stop, true);
    return NULL;
}

/* Stops a scan after this processor time, or never if after_ns is UINT64_MAX. Returns the processor time of
 * the scan. The delays are then in *stopper. */
static uint64_t scan_until(struct stopper *stopper, struct ts_scan_options options, uint64_t after_ns) {
    struct ts_scan_target target = {.path = "repo", .kind = TS_SCAN_TARGET_REPOSITORY};
    struct ts_scan_error error;
    struct ts_report report;
    pthread_t thread;
    uint64_t begin_ns = ts_clock_processor_ns();
    *stopper = (struct stopper){.at_ns = after_ns == UINT64_MAX ? UINT64_MAX : begin_ns + after_ns};
    options.targets = &target;
    options.target_count = 1;
    options.progress = &stopper->progress;
    options.jobs = THREADS;
    options.profile = &profile;
    assert_int_equal(pthread_create(&thread, NULL, stop_later, stopper), 0);
    enum ts_scan_outcome outcome = ts_scan_report_make(&options, &report, &error);
    uint64_t cpu_ns = ts_clock_processor_ns();
    uint64_t wall_ns = ts_clock_monotonic_ns();
    atomic_store(&stopper->is_done, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    if (outcome != TS_SCAN_DONE)
        fail_msg("%s", error.text);
    if (stopper->has_stopped) {
        stopper->cpu_ns = cpu_ns > stopper->cpu_ns ? cpu_ns - stopper->cpu_ns : 0;
        stopper->wall_ns = wall_ns > stopper->wall_ns ? wall_ns - stopper->wall_ns : 0;
    }
    ts_scan_report_release(&report);
    return cpu_ns - begin_ns;
}

static void stop_often(struct ts_scan_options options, unsigned stops) {
    static const char *const names[STAGES] = {"start", "history", "content", "origins"};
    uint64_t cpu_ns[STAGES] = {0};
    uint64_t wall_ns[STAGES] = {0};
    unsigned counts[STAGES] = {0};
    struct stopper stopper;
    struct ts_prng prng;
    ts_prng_init(&prng, SEED);
    uint64_t all_ns = scan_until(&stopper, options, UINT64_MAX);
    print_message("a whole scan takes %.0f ms of processor time\n", MS(all_ns));
    for (unsigned i = 0; i < stops; i++) {
        (void)scan_until(&stopper, options, ts_prng_below(&prng, all_ns));
        if (!stopper.has_stopped)
            continue;
        counts[stopper.stage]++;
        cpu_ns[stopper.stage] =
            stopper.cpu_ns > cpu_ns[stopper.stage] ? stopper.cpu_ns : cpu_ns[stopper.stage];
        wall_ns[stopper.stage] =
            stopper.wall_ns > wall_ns[stopper.stage] ? stopper.wall_ns : wall_ns[stopper.stage];
    }
    for (unsigned i = 0; i < STAGES; i++)
        print_message("%s: %u stops, at most %.1f ms of processor time, %.1f ms by the clock\n", names[i],
                      counts[i], MS(cpu_ns[i]), MS(wall_ns[i]));
    for (unsigned i = 0; i < STAGES; i++)
        assert_true(cpu_ns[i] <= DELAY_NS);
    assert_true(counts[TS_SCAN_STAGE_HISTORY] > 0 && counts[TS_SCAN_STAGE_CONTENT] > 0);
}

static void a_stop_ends_every_phase(void **state) {
    (void)state;
    stop_often((struct ts_scan_options){.occurrences_max = TS_SCAN_OCCURRENCES_ALL},
               setting("STOPPING_STOPS", STOPS));
}

static void a_stop_ends_a_scan_without_gates(void **state) {
    (void)state;
    struct stopper stopper;
    for (unsigned i = 1; i <= 5; i++) {
        (void)scan_until(&stopper, (struct ts_scan_options){.ungated = true}, i * UINT64_C(300000000));
        assert_true(stopper.has_stopped);
        print_message("without gates: %.1f ms of processor time, %.1f ms by the clock\n", MS(stopper.cpu_ns),
                      MS(stopper.wall_ns));
        assert_true(stopper.cpu_ns <= DELAY_NS);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stop_ends_every_phase),
        cmocka_unit_test(a_stop_ends_a_scan_without_gates),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
