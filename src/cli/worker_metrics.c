#include "worker_metrics.h"

#include "base/assert.h"

#include <inttypes.h>
#include <string.h>

#define COUNT_ONE(suffix, label) +1
/* REASONS_MAX is enough for 3 kinds of ends, in 7 phases, for each of fewer than 48 reasons. */
enum { KINDS = 0 TS_CREW_EVENTS(COUNT_ONE), REASONS_MAX = 1024 };
#undef COUNT_ONE

/* A way in which targets ended without being done, and how often this happened. All texts are literals. */
struct reason {
    enum ts_crew_event_kind kind;
    const char *phase;
    const char *label;
    uint64_t count;
};

/* The sums of all events. They are global, because a process has one worker. */
static struct {
    uint64_t events[KINDS];
    struct reason reasons[REASONS_MAX];
    size_t reason_count;
    uint64_t targets, target_ms, scan_ms, bytes, findings, faults;
} total;

static bool is_end(enum ts_crew_event_kind kind) {
    return kind == TS_CREW_EVENT_DONE || kind == TS_CREW_EVENT_NOTHING_NEW || kind == TS_CREW_EVENT_COVERED ||
           kind == TS_CREW_EVENT_PARKED || kind == TS_CREW_EVENT_RELEASED || kind == TS_CREW_EVENT_LOST;
}

static void add_reason(const struct ts_crew_event *event) {
    size_t at = 0;
    while (at < total.reason_count &&
           (total.reasons[at].kind != event->kind || strcmp(total.reasons[at].phase, event->phase) != 0 ||
            strcmp(total.reasons[at].label, event->reason) != 0))
        at++;
    ts_assert(at < REASONS_MAX);
    if (at == total.reason_count)
        total.reasons[total.reason_count++] =
            (struct reason){.kind = event->kind, .phase = event->phase, .label = event->reason};
    total.reasons[at].count++;
}

void cli__worker_metrics_add(const struct ts_crew_event *event) {
    ts_assert((size_t)event->kind < KINDS);
    total.events[event->kind]++;
    if (event->phase != NULL && event->reason != NULL)
        add_reason(event);
    if (!is_end(event->kind))
        return;
    total.targets++;
    total.target_ms += event->elapsed_ms;
    total.scan_ms += event->scan_ms;
    total.bytes += event->bytes_looked_at;
    total.findings += event->findings;
    total.faults += event->faults;
}

static void put_head(FILE *file, const char *name, const char *type, const char *help) {
    fprintf(file, "# HELP turnstone_worker_%s %s.\n# TYPE turnstone_worker_%s %s\n", name, help, name, type);
}

static void put_counter(FILE *file, const char *name, const char *help, uint64_t value) {
    put_head(file, name, "counter", help);
    fprintf(file, "turnstone_worker_%s %" PRIu64 "\n", name, value);
}

void cli__worker_metrics_put(FILE *file) {
    put_head(file, "events", "counter", "Events of the worker, by the names that its log uses");
    for (int kind = 0; kind < KINDS; kind++)
        fprintf(file, "turnstone_worker_events{event=\"%s\"} %" PRIu64 "\n",
                ts_crew_event_label((enum ts_crew_event_kind)kind), total.events[kind]);
    put_head(file, "reasons", "counter", "Why targets were parked, released or lost, and in which phase");
    for (size_t i = 0; i < total.reason_count; i++) {
        const struct reason *reason = &total.reasons[i];
        fprintf(file, "turnstone_worker_reasons{event=\"%s\",phase=\"%s\",reason=\"%s\"} %" PRIu64 "\n",
                ts_crew_event_label(reason->kind), reason->phase, reason->label, reason->count);
    }
    put_head(file, "target_ms", "summary", "Time of a target from its claim to its end, in milliseconds");
    fprintf(file,
            "turnstone_worker_target_ms_sum %" PRIu64 "\nturnstone_worker_target_ms_count %" PRIu64 "\n",
            total.target_ms, total.targets);
    put_counter(file, "scan_ms", "Time of all scans, in milliseconds", total.scan_ms);
    put_counter(file, "bytes", "Bytes that were searched for secrets", total.bytes);
    put_counter(file, "findings", "Findings of the targets that were scanned", total.findings);
    put_counter(file, "faults", "Objects and other things in targets that could not be read", total.faults);
}
