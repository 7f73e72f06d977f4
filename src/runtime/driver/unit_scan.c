/*
 * The scan of a unit: the scanner's calls (scan/parts.h) become events of the core, and pages in the stores.
 *
 *     scanner            here
 *     begin ───────────> synced; or nothing is new
 *     load  <─────────── known objects, contents with hits, tips of earlier scans
 *     keep  ───────────> a part: stored, checkpointed. The rest waits for the flip, or for a part if the worker has to stop
 *
 * A thread of the scanner calls `keep` while the job's own thread waits for the scanner, so that only one
 * thread uses the session.
 */
#include "large.h"
#include "unit.h"

#include "runtime/core/selection.h"

#include "base/assert.h"
#include "git/repo.h"
#include "os/clock.h"
#include "os/failpoint.h"
#include "os/grow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    SELECTED_MAX = 128,
    PAGES_MAX = 2, /* pages that wait for the flip: the flip's batch has room for this number */
};

/* A part is due after this many bytes of new ids, even if its time has not come. */
#define PART_BYTES ((size_t)1 << 19)

/* ---- pages that wait for the flip ---- */

static bool pages_add(struct runtime__pages *pages, struct ts_bytes page) {
    uint8_t *copy = malloc(page.len);
    if (copy == NULL || !TS_GROW(pages->items, pages->capacity, pages->count + 1)) {
        free(copy);
        return false;
    }
    memcpy(copy, page.data, page.len);
    pages->items[pages->count++] = ts_bytes_of(copy, page.len);
    return true;
}

static void pages_release(struct runtime__pages *pages) {
    for (size_t i = 0; i < pages->count; i++)
        free((void *)(uintptr_t)pages->items[i].data);
    free(pages->items);
    *pages = (struct runtime__pages){0};
}

/* ---- calls of the scanner ---- */

/* Passes the event to the core, and ends the scan. The core decides how to continue. */
static bool settle(struct runtime__unit *unit, const struct ts_unit_event *event) {
    runtime__step(unit, event);
    unit->is_settled = true;
    return false;
}

static enum ts_scan_parts_answer begin(void *ctx, const struct ts_scan_moment *moment) {
    struct runtime__unit *unit = ctx;
    if (runtime__is_lost(unit))
        return TS_SCAN_PARTS_STOP;
    if (unit->wish.kind != TS_WISH_SYNC)
        return TS_SCAN_PARTS_GO_ON; /* the repository has changed, and is read again */
    struct ts_unit_event event = {.kind = TS_UNIT_EVENT_SYNCED};
    memcpy(event.refs, moment->refs, sizeof event.refs);
    runtime__step(unit, &event);
    (void)ts_failpoint(TS_FAILPOINT_UNIT_SYNCED);
    return unit->wish.kind == TS_WISH_SCAN ? TS_SCAN_PARTS_GO_ON : TS_SCAN_PARTS_SAME;
}

/* Whether earlier pages may exist: from earlier scans, from earlier leases, or from this lease. */
static bool may_have_parts(const struct runtime__unit *unit) {
    return unit->read.has_target || unit->fence.v > 1 || unit->hits.count + unit->known.count > 0 ||
           unit->item != NULL;
}

struct ids {
    uint8_t *data;
    size_t len;
    size_t capacity;
};

static bool ids_add(struct ids *ids, struct ts_bytes more) {
    if (!TS_GROW(ids->data, ids->capacity, ids->len + more.len))
        return false;
    memcpy(ids->data + ids->len, more.data, more.len);
    ids->len += more.len;
    return true;
}

struct loading {
    struct runtime__unit *unit;
    struct ts_scan_earlier *earlier;
    struct ids tips;
    struct ids again;
    bool is_damaged;
    bool has_no_tips;
    bool no_memory;
};

static bool take(void *context, enum ts_durable_recall what, struct ts_bytes bytes) {
    struct loading *loading = context;
    switch (what) {
    case TS_DURABLE_KNOWN:
        ts_scan_earlier_known(loading->earlier, bytes);
        return true;
    case TS_DURABLE_HITS:
        loading->unit->has_hits = true;
        loading->is_damaged = !ts_scan_earlier_hits(loading->earlier, bytes) || loading->is_damaged;
        return true;
    case TS_DURABLE_OTHER_HITS:
        loading->is_damaged = !ts_scan_earlier_other_hits(loading->earlier, bytes) || loading->is_damaged;
        return true;
    case TS_DURABLE_TIPS:
        loading->no_memory = !ids_add(&loading->tips, bytes) || loading->no_memory;
        return true;
    case TS_DURABLE_AGAIN:
        loading->no_memory = !ids_add(&loading->again, bytes) || loading->no_memory;
        return true;
    case TS_DURABLE_NO_TIPS:
        loading->has_no_tips = true;
        return true;
    }
    ts_unreachable("every kind is handled");
}

/* Passes the tips to the scan if all tips and all hits could be read. Without tips the scan reads everything
 * again, which takes longer. */
static void use_tips(const struct loading *loading) {
    if (loading->tips.len > 0 && !loading->is_damaged && !loading->has_no_tips && !loading->no_memory)
        ts_scan_earlier_tips(loading->earlier, ts_bytes_of(loading->tips.data, loading->tips.len),
                             ts_bytes_of(loading->again.data, loading->again.len));
}

static bool load(void *ctx, struct ts_scan_earlier *earlier) {
    static const enum ts_durable_recall kinds[] = {TS_DURABLE_KNOWN, TS_DURABLE_HITS, TS_DURABLE_TIPS};
    struct runtime__unit *unit = ctx;
    struct loading loading = {.unit = unit, .earlier = earlier};
    struct ts_durable_detail detail;
    if (!may_have_parts(unit))
        return true;
    for (size_t i = 0; i < unit->hits.count; i++)
        (void)take(&loading, TS_DURABLE_HITS, unit->hits.items[i]);
    for (size_t i = 0; i < unit->known.count; i++)
        (void)take(&loading, TS_DURABLE_KNOWN, unit->known.items[i]);
    enum ts_durable_end end = TS_DURABLE_OK;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0] && end == TS_DURABLE_OK; i++)
        end = ts_durable_recall(unit->job->durable, kinds[i], take, &loading, &detail);
    if (end == TS_DURABLE_OK)
        use_tips(&loading);
    free(loading.tips.data);
    free(loading.again.data);
    if (end == TS_DURABLE_OK)
        return true;
    unit->is_asked = end == TS_DURABLE_STOPPED;
    const struct ts_unit_event event =
        end == TS_DURABLE_STOPPED ? runtime__stopped(unit) : runtime__failed(end, &detail);
    return settle(unit, &event);
}

/* Stores a part: carries out the wishes of the core until the scan may continue or must end. */
static bool store_part(struct runtime__unit *unit, const struct ts_scan_part *part) {
    struct ts_unit_event event = {.kind =
                                      unit->is_asked ? TS_UNIT_EVENT_ASKED_TO_STOP : TS_UNIT_EVENT_PART_DUE};
    const struct ts_durable_part pages = {.known = {&part->known, part->known.len > 0},
                                          .hits = {&part->hits, part->hits.len > 0},
                                          .objects = atomic_load(&unit->job->progress.objects)};
    runtime__step(unit, &event);
    while (unit->wish.kind == TS_WISH_PART || unit->wish.kind == TS_WISH_CHECKPOINT ||
           unit->wish.kind == TS_WISH_SLEEP) {
        event = unit->wish.kind == TS_WISH_PART         ? runtime__part(unit, &pages)
                : unit->wish.kind == TS_WISH_CHECKPOINT ? runtime__checkpoint(unit)
                                                        : runtime__sleep(unit);
        runtime__step(unit, &event);
    }
    unit->is_settled = unit->wish.kind != TS_WISH_SCAN;
    return !unit->is_settled;
}

static bool keep(void *ctx, const struct ts_scan_part *part) {
    struct runtime__unit *unit = ctx;
    if (runtime__is_lost(unit) || unit->is_settled)
        return false;
    unit->has_hits = unit->has_hits || part->hits.len > 0;
    unit->is_asked = atomic_load(&unit->job->progress.stop);
    if (!part->is_rest || unit->is_asked || unit->hits.count == PAGES_MAX)
        return store_part(unit, part);
    /* The ids of known objects save time only until the flip, so only a few pages of these ids are kept. */
    const bool has_known = part->known.len > 0 && unit->known.count < PAGES_MAX;
    if ((part->hits.len == 0 || pages_add(&unit->hits, part->hits)) &&
        (!has_known || pages_add(&unit->known, part->known)))
        return true;
    const struct ts_unit_event event = {.kind = TS_UNIT_EVENT_OWN_FAULT,
                                        .fault = {TS_FLEET_WORKER_FAULT_NO_MEMORY}};
    return settle(unit, &event);
}

static const struct ts_scan_parts_ops ops = {.begin = begin, .load = load, .keep = keep};

/* ---- the scan ---- */

/* A selection as options of the scanner. */
struct selected {
    char text[TS_SELECTION_MAX + 1];
    const char *names[SELECTED_MAX];
    size_t count;
};

static bool split(struct ts_bytes list, struct selected *ret_selected) {
    memcpy(ret_selected->text, list.data, list.len);
    ret_selected->text[list.len] = '\0';
    ret_selected->count = 0;
    char *rest = ret_selected->text;
    for (char *name; (name = strsep(&rest, ",")) != NULL;) {
        if (ret_selected->count == SELECTED_MAX)
            return false;
        ret_selected->names[ret_selected->count++] = name;
    }
    return true;
}

static bool select_refs(struct ts_bytes selection, struct selected *selected,
                        struct ts_scan_options *options) {
    if (ts_bytes_equal(selection, TS_BYTES("all")))
        return true;
    if (ts_bytes_equal(selection, TS_BYTES("default"))) {
        options->default_branch = true;
        return true;
    }
    const bool are_refs = ts_bytes_starts_with(selection, TS_BYTES("refs:"));
    if ((!are_refs && !ts_bytes_starts_with(selection, TS_BYTES("commits:"))) ||
        selection.len > TS_SELECTION_MAX ||
        !split(ts_bytes_skip(selection, are_refs ? strlen("refs:") : strlen("commits:")), selected))
        return false;
    if (are_refs) {
        options->patterns = selected->names;
        options->pattern_count = selected->count;
    } else {
        options->refs = selected->names;
        options->ref_count = selected->count;
    }
    return true;
}

static uint64_t memory_of(const struct ts_crew_options *crew) {
    const uint64_t all = crew->memory_bytes != 0 ? crew->memory_bytes : TS_SCAN_MEMORY_DEFAULT;
    return all / crew->jobs > TS_SCAN_MEMORY_MIN ? all / crew->jobs : TS_SCAN_MEMORY_MIN;
}

static struct ts_unit_event failed(enum ts_unit_reason reason) {
    return (struct ts_unit_event){.kind = TS_UNIT_EVENT_FAILED, .error = ts_unit_error_of(reason)};
}

static struct ts_unit_event own_fault(enum ts_fleet_worker_fault_kind kind) {
    return (struct ts_unit_event){.kind = TS_UNIT_EVENT_OWN_FAULT, .fault = {kind}};
}

/* Returns the event for a failed read. The cause may be a fault of this machine, which must not park the
 * target. */
static struct ts_unit_event why_unreadable(int os_error) {
    if (os_error == EMFILE || os_error == ENFILE)
        return own_fault(TS_FLEET_WORKER_FAULT_NO_DESCRIPTORS);
    if (os_error == ENOMEM)
        return own_fault(TS_FLEET_WORKER_FAULT_NO_MEMORY);
    return failed(os_error == EACCES || os_error == EPERM     ? TS_UNIT_PERMISSION_DENIED
                  : os_error == ENOENT || os_error == ENOTDIR ? TS_UNIT_NOT_FOUND
                                                              : TS_UNIT_UNREACHABLE);
}

/* Finds out why the scanner refused the repository. The scanner's message may contain paths, so the
 * repository is opened again to find a reason from a fixed list. */
static struct ts_unit_event why_refused(const char *path, bool is_mirror) {
    struct ts_git_repo *repo = NULL;
    struct ts_git_fault fault;
    struct stat status;
    if (stat(path, &status) != 0)
        return why_unreadable(errno);
    if (S_ISDIR(status.st_mode) && access(path, R_OK | X_OK) != 0)
        return why_unreadable(errno);
    const enum ts_git_error error = ts_git_repo_open(path, NULL, &repo, &fault);
    ts_git_repo_free(repo);
    if (error == TS_GIT_NO_MEMORY)
        return own_fault(TS_FLEET_WORKER_FAULT_NO_MEMORY);
    if (error == TS_GIT_IO)
        return why_unreadable(fault.os_error);
    return failed(error == TS_GIT_OK                 ? TS_UNIT_SELECTION_NOT_FOUND
                  : is_mirror                        ? TS_UNIT_MIRROR_DAMAGED
                  : error == TS_GIT_NOT_A_REPOSITORY ? TS_UNIT_NOT_FOUND
                                                     : TS_UNIT_UNSUPPORTED_FORMAT);
}

/* Returns the event for a scan that failed as a whole. Damage that leaves something to scan is a fault of the
 * report instead. */
static struct ts_unit_event why_failed(const struct ts_scan_error *error) {
    if (error->git == TS_GIT_OK || error->git == TS_GIT_NO_MEMORY)
        return own_fault(TS_FLEET_WORKER_FAULT_NO_MEMORY);
    return error->git == TS_GIT_IO ? why_unreadable(error->os_error) : failed(TS_UNIT_DAMAGED_ORIGIN);
}

/* Returns the event for the end of a scan that no callback has ended. */
static struct ts_unit_event judge(struct runtime__unit *unit, enum ts_scan_outcome outcome,
                                  const struct ts_scan_error *error, const char *path) {
    if (atomic_load(&unit->job->progress.stop))
        return runtime__stopped(unit);
    switch (outcome) {
    case TS_SCAN_DONE:
        break;
    case TS_SCAN_BAD_TARGET:
        return why_refused(path, unit->has_mirror);
    case TS_SCAN_BAD_CONFIG:
        ts_unreachable("the rules are compiled, and the repository's own are not used");
    case TS_SCAN_BAD_OPTIONS:
        ts_unreachable("a selection is one option");
    case TS_SCAN_FAILED:
        return why_failed(error);
    }
    return (struct ts_unit_event){.kind = TS_UNIT_EVENT_SCANNED,
                                  .has_faults = ts_report_is_incomplete(&unit->report)};
}

static void run_scanner(struct runtime__unit *unit, const char *path, const struct ts_scan_options *options) {
    struct ts_scan_error error;
    const uint64_t begun_ns = ts_clock_monotonic_ns();
    const enum ts_scan_outcome outcome = ts_scan_report_make(options, &unit->report, &error);
    unit->scan_ns += ts_clock_monotonic_ns() - begun_ns;
    unit->has_report = outcome == TS_SCAN_DONE;
    if (unit->has_report)
        unit->end = ts_scan_report_end(&unit->report);
    if (unit->is_settled || unit->wish.kind == TS_WISH_STAGE_AND_FLIP)
        return;
    const struct ts_unit_event event = judge(unit, outcome, &error, path);
    runtime__step(unit, &event);
}

/* Clears the stop flag, which the scanner sets when a callback ends a scan. If the lease is lost, or the core
 * was asked to stop, sets the flag again. If the worker must stop, the worker's own thread sets the flag
 * again. */
static void forget_refusal(struct runtime__unit *unit) {
    if (!unit->is_settled)
        return;
    atomic_store(&unit->job->progress.stop, false);
    if (runtime__is_lost(unit) || unit->is_asked)
        atomic_store(&unit->job->progress.stop, true);
}

void runtime__scan(struct runtime__unit *unit) {
    const struct ts_crew_options *crew = unit->job->crew->options;
    struct selected selected;
    runtime__scan_release(unit);
    unit->is_settled = false;
    const char *path = runtime__locate(unit);
    if (path == NULL)
        return;
    const struct ts_scan_target target = {.path = path, .kind = TS_SCAN_TARGET_REPOSITORY};
    const struct ts_scan_parts parts = {.ops = &ops,
                                        .ctx = unit,
                                        .is_empty = !may_have_parts(unit),
                                        .part_bytes = PART_BYTES,
                                        .part_ms = crew->part_ms};
    struct ts_scan_options options = ts_fleet_scan_options(&crew->tenant_key);
    options.targets = &target;
    options.target_count = 1;
    options.profile = &unit->job->crew->rules.profile;
    options.memory_bytes = memory_of(crew);
    options.parts = &parts;
    options.progress = &unit->job->progress;
    options.jobs = runtime__is_large(path) ? 0 : 1;
    if (!select_refs(unit->read.unit.selection, &selected, &options)) {
        const struct ts_unit_event event = failed(TS_UNIT_UNSUPPORTED_SELECTION);
        runtime__step(unit, &event);
        return;
    }
    run_scanner(unit, path, &options);
    forget_refusal(unit);
}

struct ts_durable_scan runtime__scan_result(const struct runtime__unit *unit) {
    struct ts_durable_scan scan = {.report = &unit->report,
                                   .hits = {unit->hits.items, unit->hits.count},
                                   .objects = atomic_load(&unit->job->progress.objects),
                                   .has_hits = unit->has_hits,
                                   .with_faults = unit->wish.with_faults,
                                   .n = unit->wish.n};
    memcpy(scan.refs, unit->end.moment.refs, sizeof scan.refs);
    if (unit->end.is_whole) {
        scan.tips = unit->end.moment.tips;
        scan.again = unit->end.again;
    }
    return scan;
}

void runtime__scan_release(struct runtime__unit *unit) {
    if (unit->has_report)
        ts_scan_report_release(&unit->report);
    unit->has_report = false;
}

void runtime__unit_pages_release(struct runtime__unit *unit) {
    pages_release(&unit->hits);
    pages_release(&unit->known);
}
