#include "limits.h"

#include "look.h"
#include "session.h"

#include "git/repo.h"
#include "os/clock.h"

/* Building a byte costs about this many times less than scanning it. */
#define BUILT_PARTS 16
/* This much is scanned in seconds, however small the repository is. */
#define WORK_LEAST  (UINT64_C(1) << 30)

void scan__limits_init(struct scan_session *session, uint64_t begin_ns) {
    struct scan_limits *limits = &session->limits;
    uint64_t max_ns = session->options->max_time_ms * 1000000;
    uint64_t ratio = session->options->ratio_max;
    limits->look_until_ns = max_ns == 0 ? 0 : begin_ns + max_ns / 4 * 3;
    limits->end_ns = begin_ns + max_ns;
    limits->ratio_max = ratio != 0 ? ratio : TS_SCAN_RATIO_DEFAULT;
    pthread_mutex_init(&limits->lock, NULL);
}

void scan__limits_release(struct scan_limits *limits) {
    pthread_mutex_destroy(&limits->lock);
}

void scan__limits_begin(struct scan_session *session, struct ts_git_repo *repo) {
    struct scan_limits *limits = &session->limits;
    limits->repo = repo;
    limits->is_measured = false;
    atomic_store(&limits->is_swollen, false);
    atomic_store(&limits->is_placing, false);
    atomic_store(&limits->work, 0);
    atomic_store(&limits->work_max, WORK_LEAST);
}

void scan__limits_place(struct scan_session *session) {
    atomic_store(&session->limits.is_placing, true);
}

void scan__limits_tell(struct scan_session *session) {
    if (atomic_load(&session->limits.is_swollen))
        scan__fault(
            &session->faults,
            "the repository unpacks to more than %llu times its size on disk: the rest is not scanned; "
            "raise --max-ratio",
            (unsigned long long)session->limits.ratio_max);
    atomic_store(&session->limits.is_swollen, false);
    if (!atomic_load(&session->limits.is_late) || session->limits.is_late_told)
        return;
    session->limits.is_late_told = true;
    scan__fault(
        &session->faults,
        "--max-time has passed: the rest is not scanned, and occurrences of findings may be missing or masked; "
        "raise it, or select less");
}

void scan__limits_cut(struct scan_session *session) {
    atomic_store(&session->limits.is_late, true);
}

/* The size on disk is read when it is first needed, which is never for most repositories. */
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

bool scan__is_past_end(const struct scan_session *session) {
    return session->limits.look_until_ns != 0 && is_past(session->limits.end_ns);
}

bool scan__is_over(struct scan_session *session) {
    struct scan_limits *limits = &session->limits;
    if (!atomic_load_explicit(&limits->is_late, memory_order_relaxed) && is_past(limits->look_until_ns))
        atomic_store(&limits->is_late, true);
    return atomic_load_explicit(&limits->is_late, memory_order_relaxed) ||
           atomic_load_explicit(&session->progress->stop, memory_order_relaxed);
}

bool scan__is_stopped(struct scan_session *session) {
    return scan__is_over(session) || atomic_load_explicit(&session->limits.is_swollen, memory_order_relaxed);
}

bool scan__was_stopped(const struct scan_session *session) {
    return atomic_load(&session->limits.is_late) || atomic_load(&session->limits.is_swollen) ||
           atomic_load(&session->progress->stop);
}

void scan__worked(struct scan_session *session, struct scan_look *look) {
    uint64_t bytes = ts_scanner_counts(look->scanner).bytes;
    work(&session->limits, bytes - look->counted_bytes);
    look->counted_bytes = bytes;
}

static bool go_on(void *ctx, uint64_t bytes) {
    struct scan_session *session = ctx;
    struct scan_limits *limits = &session->limits;
    if (atomic_load_explicit(&limits->is_placing, memory_order_relaxed)) {
        bool is_over = scan__is_past_end(session);
        if (is_over)
            atomic_store(&limits->is_late, true);
        return !is_over;
    }
    work(limits, bytes / BUILT_PARTS);
    return !scan__is_stopped(session);
}

struct ts_git_watch scan__watch(struct scan_session *session) {
    return (struct ts_git_watch){.go_on = go_on, .ctx = session};
}
