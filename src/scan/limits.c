#include "limits.h"

#include "look.h"
#include "option_names.h"
#include "pass.h"

#include "git/repo.h"
#include "os/clock.h"

/* Scanning a byte costs about BUILT_PARTS times as much as rebuilding a byte from deltas. */
#define BUILT_PARTS   16
/* This many bytes are always allowed, even for a small repository, because they take only seconds. */
#define WORK_LEAST    (UINT64_C(1) << 30)
/* Placing findings may take this much CPU time after a signal: enough for the paths and commits of a hundred
 * findings. The limit is not clock time: on a busy machine the user waits longer, but findings keep their
 * paths. */
#define STOP_GRACE_NS UINT64_C(40000000)

void scan__limits_init(struct scan_pass *pass, uint64_t begin_ns) {
    struct scan_limits *limits = &pass->limits;
    uint64_t max_ns = pass->options->max_time_ms * 1000000;
    uint64_t ratio = pass->options->ratio_max;
    limits->look_until_ns = max_ns == 0 ? 0 : begin_ns + max_ns / 4 * 3;
    limits->end_ns = begin_ns + max_ns;
    limits->ratio_max = ratio != 0 ? ratio : TS_SCAN_RATIO_DEFAULT;
    pthread_mutex_init(&limits->lock, NULL);
}

void scan__limits_release(struct scan_limits *limits) {
    pthread_mutex_destroy(&limits->lock);
}

void scan__limits_begin(struct scan_pass *pass, struct ts_git_repo *repo) {
    struct scan_limits *limits = &pass->limits;
    limits->repo = repo;
    limits->is_measured = false;
    atomic_store(&limits->is_swollen, false);
    atomic_store(&limits->is_placing, false);
    atomic_store(&limits->work, 0);
    atomic_store(&limits->work_max, WORK_LEAST);
}

void scan__limits_place(struct scan_pass *pass) {
    atomic_store(&pass->limits.is_placing, true);
}

void scan__limits_tell(struct scan_pass *pass) {
    if (atomic_load(&pass->limits.is_swollen))
        scan__fault(
            &pass->faults,
            "the repository unpacks to more than %llu times its size on disk: the rest is not scanned; "
            "raise " SCAN_OPTION_MAX_RATIO,
            (unsigned long long)pass->limits.ratio_max);
    atomic_store(&pass->limits.is_swollen, false);
    if (!atomic_load(&pass->limits.is_late) || pass->limits.is_late_told)
        return;
    pass->limits.is_late_told = true;
    if (atomic_load(&pass->progress->stop)) {
        scan__fault(
            &pass->faults,
            "a signal stopped the scan: the rest is not scanned, and occurrences of findings may be missing or masked");
        return;
    }
    scan__fault(&pass->faults, SCAN_OPTION_MAX_TIME
                " has passed: the rest is not scanned, and occurrences of findings may be missing or masked; "
                "raise it, or select less");
}

void scan__limits_cut(struct scan_pass *pass) {
    atomic_store(&pass->limits.is_late, true);
}

/* Computes the limit of work from the size on disk. That size is read only when it is needed, which is never
 * for most repositories. */
static void measure(struct scan_limits *limits) {
    pthread_mutex_lock(&limits->lock);
    if (!limits->is_measured && limits->repo != NULL) {
        uint64_t max;
        if (__builtin_mul_overflow(ts_git_repo_disk_bytes(limits->repo), limits->ratio_max, &max))
            max = UINT64_MAX;
        atomic_store(&limits->work_max, max > WORK_LEAST ? max : WORK_LEAST);
        limits->is_measured = true;
    }
    pthread_mutex_unlock(&limits->lock);
}

static void work(struct scan_limits *limits, uint64_t bytes) {
    uint64_t now = atomic_fetch_add_explicit(&limits->work, bytes, memory_order_relaxed) + bytes;
    if (now <= atomic_load_explicit(&limits->work_max, memory_order_relaxed) || limits->repo == NULL)
        return;
    measure(limits);
    if (now > atomic_load(&limits->work_max))
        atomic_store(&limits->is_swollen, true);
}

static bool is_past(uint64_t limit_ns) {
    return limit_ns != 0 && ts_clock_monotonic_ns() >= limit_ns;
}

/* Returns true after a signal. The first such call starts the time limit for finding paths and commits. */
static bool is_stopped(struct scan_pass *pass) {
    if (!atomic_load_explicit(&pass->progress->stop, memory_order_relaxed))
        return false;
    uint_fast64_t none = 0;
    if (atomic_load_explicit(&pass->limits.stopped_ns, memory_order_relaxed) == 0)
        (void)atomic_compare_exchange_strong(&pass->limits.stopped_ns, &none, ts_clock_processor_ns());
    return true;
}

bool scan__is_past_end(struct scan_pass *pass) {
    struct scan_limits *limits = &pass->limits;
    if (atomic_load_explicit(&limits->is_past_end, memory_order_relaxed))
        return true; /* asking the clock for each text takes longer than masking the text */
    /* A scan with parts belongs to a worker, which discards the report of a stopped scan. */
    uint64_t grace_ns = pass->options->parts == NULL ? STOP_GRACE_NS : 0;
    bool is_past_end =
        (limits->look_until_ns != 0 && is_past(limits->end_ns)) ||
        (is_stopped(pass) && ts_clock_processor_ns() >= atomic_load(&limits->stopped_ns) + grace_ns);
    if (is_past_end)
        atomic_store(&limits->is_past_end, true);
    return is_past_end;
}

bool scan__is_over(struct scan_pass *pass) {
    struct scan_limits *limits = &pass->limits;
    if (!atomic_load_explicit(&limits->is_late, memory_order_relaxed) && is_past(limits->look_until_ns))
        atomic_store(&limits->is_late, true);
    return atomic_load_explicit(&limits->is_late, memory_order_relaxed) ||
           atomic_load_explicit(&pass->progress->stop, memory_order_relaxed);
}

bool scan__is_stopped(struct scan_pass *pass) {
    return scan__is_over(pass) || atomic_load_explicit(&pass->limits.is_swollen, memory_order_relaxed);
}

bool scan__was_stopped(const struct scan_pass *pass) {
    return atomic_load(&pass->limits.is_late) || atomic_load(&pass->limits.is_swollen) ||
           atomic_load(&pass->progress->stop);
}

void scan__worked(struct scan_pass *pass, struct scan_look *look) {
    uint64_t bytes = ts_scanner_counts(look->scanner).bytes;
    work(&pass->limits, bytes - look->counted_bytes);
    look->counted_bytes = bytes;
}

static bool go_on(void *ctx, uint64_t bytes) {
    struct scan_pass *pass = ctx;
    struct scan_limits *limits = &pass->limits;
    if (atomic_load_explicit(&limits->is_placing, memory_order_relaxed)) {
        bool is_over = scan__is_past_end(pass);
        if (is_over)
            atomic_store(&limits->is_late, true);
        return !is_over;
    }
    work(limits, bytes / BUILT_PARTS);
    return !scan__is_stopped(pass);
}

struct ts_git_watch scan__watch(struct scan_pass *pass) {
    return (struct ts_git_watch){.go_on = go_on, .ctx = pass};
}
