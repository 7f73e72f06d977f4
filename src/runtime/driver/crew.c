#include "runtime/driver/crew.h"

#include "herald.h"
#include "job.h"

#include "base/number.h"
#include "os/clock.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    POLL_MS = 20,     /* how often the stop flag is copied to the scans */
    IDLE_MIN_MS = 50, /* first pause after a claim that found nothing; it doubles up to IDLE_MAX_MS */
    IDLE_MAX_MS = 1000,
    FAILED_MS = 1000,       /* pause after a failure of a store */
    RELEASED_STEP_MS = 5,   /* growth of the pause with each unit in a row that was handed back */
    RELEASED_MAX_MS = 1000, /* the longest of these pauses */
    SICK_MS = 5000,         /* pause after a fault of this machine */
    SICK_MAX = 3,           /* the worker ends after this many faults in a row of one job */
};

static const char *const labels[] = {
#define EVENT_LABEL(suffix, label) label,
    TS_CREW_EVENTS(EVENT_LABEL)
#undef EVENT_LABEL
};

const char *ts_crew_event_label(enum ts_crew_event_kind kind) {
    return labels[kind];
}

void runtime__report(struct runtime__crew *crew, const struct ts_crew_event *event) {
    if (crew->options->event == NULL)
        return;
    pthread_mutex_lock(&crew->events);
    crew->options->event(crew->options->context, event);
    pthread_mutex_unlock(&crew->events);
}

__attribute__((format(printf, 3, 4))) static void end(struct runtime__crew *crew, enum ts_crew_result result,
                                                      const char *format, ...) {
    pthread_mutex_lock(&crew->lock);
    if (!crew->is_over) {
        va_list arguments;
        va_start(arguments, format);
        (void)vsnprintf(crew->error.text, sizeof crew->error.text, format, arguments);
        va_end(arguments);
        crew->result = result;
        crew->is_over = true;
        pthread_cond_broadcast(&crew->changed);
    }
    pthread_mutex_unlock(&crew->lock);
}

static struct timespec after_ms(uint64_t ms) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)(ms / 1000);
    until.tv_nsec += (long)(ms % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    return until;
}

void runtime__wait_ms(struct runtime__crew *crew, uint64_t ms) {
    const struct timespec until = after_ms(ms);
    pthread_mutex_lock(&crew->lock);
    while (!crew->is_over && pthread_cond_timedwait(&crew->changed, &crew->lock, &until) == 0)
        continue;
    pthread_mutex_unlock(&crew->lock);
}

void runtime__sleep_ms(const struct runtime__crew *crew, uint64_t ms) {
    for (uint64_t slept = 0; slept < ms && !runtime__is_asked_to_stop(crew); slept += POLL_MS)
        nanosleep(&(struct timespec){.tv_nsec = (long)POLL_MS * 1000000}, NULL);
}

bool runtime__is_over(struct runtime__crew *crew) {
    pthread_mutex_lock(&crew->lock);
    const bool over = crew->is_over;
    pthread_mutex_unlock(&crew->lock);
    return over;
}

/* ---- jobs ---- */

static void refuse(struct runtime__job *job, enum ts_claim_error error,
                   const struct ts_coord_detail *detail) {
    char why[400];
    (void)ts_error_display(ts_claim_error_variant(error), detail, why, sizeof why);
    end(job->crew, TS_CREW_REFUSED, "%s", why);
}

/* Reports how many runs wait for workers with other rules, if this number has changed and is not 0. */
static void report_pinned(struct runtime__job *job, uint64_t count) {
    struct runtime__crew *crew = job->crew;
    pthread_mutex_lock(&crew->lock);
    const bool is_new = crew->pinned != count;
    crew->pinned = count;
    pthread_mutex_unlock(&crew->lock);
    if (is_new && count > 0)
        runtime__report(
            crew, &(struct ts_crew_event){.kind = TS_CREW_EVENT_PINNED, .job = job->number, .count = count});
}

/* Called when there is nothing to claim: tidies up, and waits. */
static void idle(struct runtime__job *job, const struct ts_coord_detail *detail, uint64_t *idle_ms) {
    struct runtime__crew *crew = job->crew;
    uint64_t active = 0;
    report_pinned(job, detail->other_pins);
    const bool is_known = runtime__tidy(job, &active);
    if (is_known && crew->options->once && active == 0) {
        end(crew, TS_CREW_ENDED, "%s", "");
        return;
    }
    runtime__wait_ms(crew, *idle_ms);
    *idle_ms = *idle_ms * 2 < IDLE_MAX_MS ? *idle_ms * 2 : IDLE_MAX_MS;
}

/* Counts how many units of one job ended in the same way, one after the other. */
struct streaks {
    unsigned sick;
    unsigned released;
};

/* Waits after a unit was handed back, for example because its host has asked for a pause. The first pauses
 * are short, so that such units do not delay units of other hosts. Later pauses are long, because there may
 * be nothing else to claim. */
static void wait_after_release(struct runtime__job *job, unsigned count) {
    const uint64_t wait_ms = (uint64_t)count * RELEASED_STEP_MS;
    runtime__wait_ms(job->crew, wait_ms < RELEASED_MAX_MS ? wait_ms : RELEASED_MAX_MS);
}

static void work_on_unit(struct runtime__job *job, const struct ts_acquire_result_view *claimed,
                         struct streaks *streaks) {
    atomic_fetch_add(&job->crew->options->progress->busy, 1);
    const enum runtime__unit_result ended = runtime__unit_run(job, claimed);
    atomic_fetch_sub(&job->crew->options->progress->busy, 1);
    streaks->released = ended == RUNTIME__UNIT_RELEASED ? streaks->released + 1 : 0;
    streaks->sick = ended == RUNTIME__UNIT_SICK ? streaks->sick + 1 : 0;
    if (ended == RUNTIME__UNIT_RELEASED)
        wait_after_release(job, streaks->released);
    if (ended != RUNTIME__UNIT_SICK)
        return;
    if (streaks->sick == SICK_MAX)
        end(job->crew, TS_CREW_SICK, "%s", ts_fleet_worker_fault_text(job->fault));
    else
        runtime__wait_ms(job->crew, SICK_MS);
}

static enum ts_claim_error claim(struct runtime__job *job, struct ts_acquire_result_view *ret_claimed,
                                 struct ts_coord_detail *ret_detail) {
    const struct ts_crew_options *options = job->crew->options;
    return options->has_run ? ts_coord_session_claim(job->session, options->run, ret_claimed, ret_detail)
                            : ts_coord_session_claim_any(job->session, ret_claimed, ret_detail);
}

static void *run_job(void *context) {
    struct runtime__job *job = context;
    struct runtime__crew *crew = job->crew;
    uint64_t idle_ms = IDLE_MIN_MS;
    struct streaks streaks = {0};
    while (!runtime__is_over(crew)) {
        struct ts_acquire_result_view claimed;
        struct ts_coord_detail detail = {0};
        const enum ts_claim_error error = claim(job, &claimed, &detail);
        switch (error) {
        case TS_CLAIM_OK:
            idle_ms = IDLE_MIN_MS;
            work_on_unit(job, &claimed, &streaks);
            break;
        case TS_CLAIM_NONE_AVAILABLE:
        case TS_CLAIM_THROTTLED:
            idle(job, &detail, &idle_ms);
            break;
        case TS_CLAIM_BACKEND_ERROR:
            runtime__report(crew, &(struct ts_crew_event){.kind = TS_CREW_EVENT_STORE_FAILED,
                                                          .job = job->number,
                                                          .reason = ts_infra_kind_name(detail.infra.kind)});
            runtime__wait_ms(crew, FAILED_MS);
            break;
        case TS_CLAIM_TENANT_MISMATCH:
        case TS_CLAIM_RUN_NOT_FOUND:
            refuse(job, error, &detail);
            break;
        }
    }
    pthread_mutex_lock(&crew->lock);
    crew->running--;
    pthread_cond_broadcast(&crew->changed);
    pthread_mutex_unlock(&crew->lock);
    return NULL;
}

/* ---- life ---- */

/* Called from a thread of the keeper. */
static void on_loss(void *context, enum ts_error_variant error, const struct ts_coord_detail *detail) {
    struct runtime__job *job = context;
    (void)detail;
    /* If the store does not answer, the lease ends by the clock of this process. */
    atomic_store(&job->loss,
                 error == TS_VARIANT_BACKEND_ERROR ? TS_UNIT_LEASE_ENDED : ts_durable_reason_of_loss(error));
    atomic_store(&job->lost_stage, atomic_load(&job->progress.stage));
    atomic_store(&job->lost_cpu_ns, ts_clock_processor_ns());
    atomic_store(&job->lost_ns, ts_clock_monotonic_ns());
    atomic_store(&job->progress.stop, true);
}

/* Called by the job's own thread or, while a scan runs, by a thread of the scan. */
static bool must_stop(void *context) {
    const struct runtime__job *job = context;
    return atomic_load(&job->progress.stop);
}

/* Returns whether calls to stores must end, because the lease is lost. If the worker is asked to stop, the
 * calls continue, so that the job can store a part and hand back the lease. */
static bool is_lost(void *context) {
    const struct runtime__job *job = context;
    return ts_coord_keeper_is_lost(job->keeper);
}

static bool job_init(struct runtime__crew *crew, unsigned number) {
    struct runtime__job *job = &crew->jobs[number];
    const struct ts_crew_options *options = crew->options;
    struct ts_coord_worker who = {
        .tenant = options->tenant, .pin = ts_fleet_rules_pin(&crew->rules.rules), .pinned_only = true};
    char name[TS_NAME_ID_LEN + 1];
    const int len = snprintf(name, sizeof name, "%.*s-%u", (int)options->name.len,
                             (const char *)options->name.data, number + 1);
    job->crew = crew;
    job->number = number;
    if (len < 0 || (size_t)len >= sizeof name ||
        !ts_worker_id_from_text(ts_bytes_of(name, (size_t)len), &who.worker))
        return false;
    job->keeper = ts_coord_keeper_new(options->coord,
                                      &(struct ts_coord_keeper_options){.on_loss = on_loss, .context = job});
    job->coord = ts_coord_new_stoppable(options->coord, &(struct ts_coord_stop){is_lost, job});
    if (job->keeper == NULL || job->coord == NULL)
        return false;
    job->session = ts_coord_session_new(job->coord, &who);
    if (job->session == NULL)
        return false;
    job->durable = ts_durable_new(&(struct ts_durable_options){
        .coord = job->coord, .session = job->session, .tenant = options->tenant, .stop = {must_stop, job}});
    return job->durable != NULL;
}

static bool jobs_start(struct runtime__crew *crew) {
    for (unsigned i = 0; i < crew->options->jobs; i++)
        if (!job_init(crew, i))
            return false;
    for (unsigned i = 0; i < crew->options->jobs; i++) {
        struct runtime__job *job = &crew->jobs[i];
        pthread_mutex_lock(&crew->lock);
        job->has_thread = pthread_create(&job->thread, NULL, run_job, job) == 0;
        crew->running += job->has_thread;
        pthread_mutex_unlock(&crew->lock);
        if (!job->has_thread)
            return false;
    }
    return true;
}

static void pass_stop_on(struct runtime__crew *crew) {
    for (unsigned i = 0; i < crew->options->jobs; i++)
        atomic_store(&crew->jobs[i].progress.stop, true);
}

/* Adds the bytes that scans have read since the last call to the progress of the worker. */
static void count_progress(struct runtime__crew *crew) {
    struct ts_crew_progress *progress = crew->options->progress;
    for (unsigned i = 0; i < crew->options->jobs; i++) {
        struct runtime__job *job = &crew->jobs[i];
        const uint64_t bytes = atomic_load(&job->progress.bytes);
        atomic_fetch_add(&progress->bytes, bytes > job->counted_bytes ? bytes - job->counted_bytes : 0);
        job->counted_bytes = bytes;
    }
}

/* Copies the stop flag to the scans until all jobs have ended. The caller's thread does this, because a
 * signal handler can only set a flag. */
static void supervise(struct runtime__crew *crew) {
    pthread_mutex_lock(&crew->lock);
    while (crew->running > 0) {
        if (runtime__is_asked_to_stop(crew) && !crew->is_over) {
            crew->is_over = true;
            pthread_cond_broadcast(&crew->changed);
        }
        if (crew->is_over)
            pass_stop_on(crew);
        count_progress(crew);
        const struct timespec until = after_ms(POLL_MS);
        pthread_cond_timedwait(&crew->changed, &crew->lock, &until);
    }
    pthread_mutex_unlock(&crew->lock);
}

static bool locks_init(struct runtime__crew *crew) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    const bool done = pthread_mutex_init(&crew->lock, NULL) == 0 &&
                      pthread_mutex_init(&crew->events, NULL) == 0 &&
                      pthread_cond_init(&crew->changed, &attributes) == 0;
    pthread_condattr_destroy(&attributes);
    return done;
}

static void crew_release(struct runtime__crew *crew) {
    for (unsigned i = 0; crew->jobs != NULL && i < crew->options->jobs; i++) {
        struct runtime__job *job = &crew->jobs[i];
        if (job->has_thread)
            pthread_join(job->thread, NULL);
        ts_durable_free(job->durable);
        ts_coord_session_free(job->session);
        ts_coord_free(job->coord);
        ts_coord_keeper_free(job->keeper);
    }
    free(crew->jobs);
    ts_fleet_rules_set_release(&crew->rules);
    pthread_cond_destroy(&crew->changed);
    pthread_mutex_destroy(&crew->lock);
    pthread_mutex_destroy(&crew->events);
}

/* Returns whether the worker's run consists of targets. Such a run always has a pin; the shards of a run
 * without a pin are of another kind. Returns true if the options name no run. If the run cannot be read,
 * returns true, and the claims report why. */
static bool is_run_of_targets(const struct ts_crew_options *options) {
    const struct ts_coord_run_query query = {.tenant = options->tenant, .run = options->run};
    struct ts_run_record run;
    struct ts_coord_detail detail = {0};
    return !options->has_run || ts_coord_get_run(options->coord, &query, &run, &detail) != TS_GET_RUN_OK ||
           ts_pin_is_set(&run.config.pin);
}

enum ts_crew_result ts_crew_work(const struct ts_crew_options *options, struct ts_crew_error *ret_error) {
    struct runtime__crew crew = {.options = options, .result = TS_CREW_ENDED, .sweep_at_ns = 1};
    struct ts_scan_error error;
    if (!locks_init(&crew))
        return TS_CREW_SICK;
    crew.jobs = calloc(options->jobs, sizeof *crew.jobs);
    if (!ts_fleet_rules_set_init(&crew.rules, &options->tenant_key, &error))
        end(&crew, TS_CREW_SICK, "%s", error.text);
    else if (!is_run_of_targets(options))
        end(&crew, TS_CREW_REFUSED, "%s",
            "the run has no targets; 'run create --targets' creates a run with targets");
    else if (crew.jobs == NULL || !jobs_start(&crew))
        end(&crew, TS_CREW_SICK, "%s",
            ts_fleet_worker_fault_text((struct ts_fleet_worker_fault){TS_FLEET_WORKER_FAULT_NO_MEMORY}));
    struct runtime__herald *herald =
        options->notify != NULL && !crew.is_over ? runtime__herald_start(&crew) : NULL;
    supervise(&crew);
    options->progress->notices = runtime__herald_finish(herald);
    crew_release(&crew);
    *ret_error = crew.error;
    return crew.result;
}
