#include "herald.h"

#include "notice_body.h"

#include "base/hex.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    IDLE_MS = 1000, /* pause between two passes over the notices */
    AT_ONCE = 64,   /* the most notices in one pass */
    /* a taken notice is held for the longest time that all sinks may need, plus this */
    HOLD_SPARE_MS = 10000,
    LAST_TRIES = 3, /* passes over the notices when the worker ends */
    RETRY_AFTER_MAX_S = 3600,
};

struct runtime__herald {
    struct runtime__crew *crew;
    pthread_t thread;
    uint64_t failures; /* number of failed notices in a row; each makes the next pause longer */
    uint64_t waiting;
    bool is_failing; /* the last pass ended with a failure */
    uint64_t pause_ms;
};

/* One notice in progress. */
struct telling {
    struct runtime__herald *herald;
    struct ts_notice_taken taken;
    struct ts_fleet_notice next;
    struct runtime__news news;
    char id[2 * TS_NOTICE_ID_LEN + 1];
    bool has_failed;
    uint64_t sent;          /* findings in the largest message */
    uint64_t retry_after_s; /* the longest pause that a receiver asks for */
};

static void report(const struct telling *telling, enum ts_crew_event_kind kind,
                   const struct ts_notify_answer *answer, const char *sink) {
    char text[200];
    const struct ts_notice_taken *taken = &telling->taken;
    (void)snprintf(text, sizeof text, "'%s': %s", sink != NULL ? sink : "",
                   answer != NULL ? answer->text : "");
    runtime__report(telling->herald->crew,
                    &(struct ts_crew_event){.kind = kind,
                                            .run = {taken->notice.run},
                                            .has_target = true,
                                            .target = taken->ref.key.target,
                                            .fence = {taken->notice.attempt.fence},
                                            .reason = answer != NULL ? answer->label : NULL,
                                            .text = text,
                                            .count = telling->sent});
}

static void tell_sink(struct telling *telling, size_t index) {
    struct ts_notify *notify = telling->herald->crew->options->notify;
    const struct ts_notify_sink *sink = ts_notify_sink(notify, index);
    const struct ts_bytes name = ts_bytes_of_cstring(sink->name);
    const size_t count = runtime__news_count(&telling->news, sink);
    struct ts_notify_answer answer = {.is_sent = true};
    if (ts_notice_is_done(&telling->next, name))
        return;
    if (count > 0) {
        char *body = runtime__notice_body(&telling->taken, &telling->news, sink, telling->id);
        answer = (struct ts_notify_answer){.label = "no_memory", .text = "out of memory"};
        if (body != NULL)
            answer = ts_notify_send(notify, index, &(struct ts_notify_message){telling->id, body});
        free(body);
    }
    if (answer.is_sent && telling->next.done_count < TS_NOTICE_SINKS)
        telling->next.done[telling->next.done_count++] = name;
    if (answer.is_sent)
        telling->sent = count > telling->sent ? count : telling->sent;
    else
        telling->has_failed = true;
    if (answer.retry_after_s > telling->retry_after_s)
        telling->retry_after_s = answer.retry_after_s;
    if (!answer.is_sent && !runtime__is_asked_to_stop(telling->herald->crew))
        report(telling, TS_CREW_EVENT_NOTIFY_FAILED, &answer, sink->name);
}

/* Ends the notice if all sinks have received it. Otherwise returns the notice with a pause, and sets the
 * pause before this worker's next pass. */
static bool conclude(struct telling *telling, struct ts_infra_error *ret_error) {
    struct runtime__herald *herald = telling->herald;
    struct ts_coord *coord = herald->crew->options->coord;
    if (!telling->has_failed) {
        herald->failures = 0;
        if (!ts_notice_end(coord, &telling->taken, ret_error))
            return false;
        if (telling->sent > 0)
            report(telling, TS_CREW_EVENT_NOTIFIED, NULL, NULL);
        return true;
    }
    herald->failures++;
    herald->is_failing = true;
    herald->pause_ms = ts_notice_pause_ms(herald->failures);
    uint64_t pause_ms = ts_notice_pause_ms(telling->next.tries);
    if (telling->retry_after_s > 0) {
        const uint64_t asked_s =
            telling->retry_after_s < RETRY_AFTER_MAX_S ? telling->retry_after_s : RETRY_AFTER_MAX_S;
        pause_ms = herald->pause_ms = asked_s * 1000;
    }
    if (runtime__is_asked_to_stop(herald->crew))
        pause_ms = 0; /* other workers may take the notice at once */
    return ts_notice_return(coord, &telling->taken, &telling->next, pause_ms, ret_error);
}

static uint64_t hold_ms(const struct ts_notify *notify) {
    uint64_t ms = HOLD_SPARE_MS;
    for (size_t i = 0; i < ts_notify_count(notify); i++)
        ms += ts_notify_sink(notify, i)->timeout_s * UINT64_C(1000);
    return ms;
}

static bool tell(struct telling *telling, const struct ts_notice_ref *ref, struct ts_infra_error *ret_error) {
    const struct ts_crew_options *options = telling->herald->crew->options;
    bool is_taken;
    if (!ts_notice_take(options->coord, ref, hold_ms(options->notify), &telling->taken, &is_taken, ret_error))
        return false;
    if (!is_taken)
        return true;
    const struct ts_notice_id id = ts_notice_id_of(&ref->tenant, &ref->key.target, &telling->taken.notice);
    *ts_hex_encode(ts_bytes_of(id.bytes, sizeof id.bytes), telling->id) = '\0';
    telling->next = telling->taken.notice;
    if (!ts_notice_findings(options->coord, &telling->taken, runtime__news_keep, &telling->news, ret_error))
        return false;
    telling->has_failed = telling->news.no_memory;
    for (size_t i = 0; i < ts_notify_count(options->notify) && !telling->news.no_memory; i++)
        tell_sink(telling, i);
    return conclude(telling, ret_error);
}

/* Makes one pass over the notices. A failure ends the pass; the next pass follows after a pause. */
static bool look(struct runtime__herald *herald, struct ts_infra_error *ret_error) {
    const struct ts_crew_options *options = herald->crew->options;
    struct ts_notice_refs refs = {0};
    herald->is_failing = false;
    herald->pause_ms = IDLE_MS;
    bool good = ts_notices_list(options->coord, &options->tenant, AT_ONCE, &refs, ret_error);
    herald->waiting = refs.waiting;
    for (size_t i = 0;
         good && i < refs.count && !herald->is_failing && !runtime__is_asked_to_stop(herald->crew); i++) {
        struct telling *telling = calloc(1, sizeof *telling);
        if (telling == NULL)
            break;
        telling->herald = herald;
        good = tell(telling, &refs.list[i], ret_error);
        herald->waiting -= good && !telling->has_failed && telling->taken.version != 0;
        runtime__news_release(&telling->news);
        free(telling);
    }
    if (good && !herald->is_failing && refs.count == AT_ONCE)
        herald->pause_ms = 0;
    free(refs.list);
    return good;
}

static void *run(void *context) {
    struct runtime__herald *herald = context;
    struct runtime__crew *crew = herald->crew;
    for (unsigned last = 0;;) {
        struct ts_infra_error error;
        const bool is_over = runtime__is_over(crew);
        if (runtime__is_asked_to_stop(crew))
            return NULL;
        const bool good = look(herald, &error);
        const bool is_settled = good && !herald->is_failing && herald->pause_ms > 0;
        if (is_over && (is_settled || ++last == LAST_TRIES))
            return NULL;
        if (!is_over)
            runtime__wait_ms(crew, good ? herald->pause_ms : IDLE_MS);
        else
            runtime__sleep_ms(crew, IDLE_MS);
    }
}

struct runtime__herald *runtime__herald_start(struct runtime__crew *crew) {
    struct runtime__herald *herald = calloc(1, sizeof *herald);
    if (herald == NULL)
        return NULL;
    herald->crew = crew;
    if (pthread_create(&herald->thread, NULL, run, herald) != 0) {
        free(herald);
        return NULL;
    }
    return herald;
}

uint64_t runtime__herald_finish(struct runtime__herald *herald) {
    if (herald == NULL)
        return 0;
    pthread_join(herald->thread, NULL);
    const uint64_t waiting = herald->waiting;
    free(herald);
    return waiting;
}
