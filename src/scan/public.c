/*
 * Implements turnstone/scan.h with the scan of this folder: options with owned texts, a run, and its results.
 */
#include "public.h"

#include "os/grow.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- results ---- */

const char *ts_scan_result_text(enum ts_scan_result result) {
#define RESULT_TEXT(suffix, text) [TS_SCAN_RESULT_##suffix] = text,
    static const char *const texts[] = {TS_SCAN_RESULTS(RESULT_TEXT)};
#undef RESULT_TEXT
    return (size_t)result < sizeof texts / sizeof texts[0] ? texts[result] : NULL;
}

static enum ts_scan_result end_with(struct ts_scan *scan, enum ts_scan_result result, const char *text) {
    snprintf(scan->error.text, sizeof scan->error.text, "%s", text);
    return result;
}

static enum ts_scan_result succeed(struct ts_scan *scan) {
    return end_with(scan, TS_SCAN_RESULT_OK, "");
}

static enum ts_scan_result no_memory(struct ts_scan *scan) {
    return end_with(scan, TS_SCAN_RESULT_NO_MEMORY, "out of memory");
}

/* ---- life ---- */

static void clear_texts(struct scan_texts *texts) {
    for (size_t i = 0; i < texts->count; i++)
        free(texts->items[i]);
    free(texts->items);
    *texts = (struct scan_texts){.count = 0};
}

static void release_report(struct ts_scan *scan) {
    free(scan->findings);
    free(scan->occurrences);
    scan->findings = NULL;
    scan->occurrences = NULL;
    if (scan->has_report)
        ts_scan_report_release(&scan->report);
    scan->has_report = false;
}

/* Releases profile and baseline. Findings point to the rules, and the report to the baseline, so the report
 * is released first. The salt of the baseline is part of the profile. */
static void forget_profile(struct ts_scan *scan) {
    release_report(scan);
    ts_baseline_release(&scan->baseline);
    scan->baseline = (struct ts_baseline){.count = 0};
    scan->has_baseline = false;
    ts_scan_profile_free(scan->profile);
    scan->profile = NULL;
}

struct ts_scan *ts_scan_new(void) {
    struct ts_scan *scan = calloc(1, sizeof *scan);
    if (scan == NULL)
        return NULL;
    scan->options.for_library = true;
    scan->options.progress = &scan->progress;
    scan->options.profile = &scan->profile;
    return scan;
}

void ts_scan_free(struct ts_scan *scan) {
    if (scan == NULL)
        return;
    forget_profile(scan);
    ts_scan_clear_targets(scan);
    clear_texts(&scan->rule_files);
    clear_texts(&scan->refs);
    clear_texts(&scan->branches);
    clear_texts(&scan->commits);
    free(scan->config_file);
    free(scan->state_folder);
    free(scan->cache_folder);
    free(scan->range);
    free(scan->baseline_file);
    free(scan);
}

/* ---- targets ---- */

static enum ts_scan_result add_target(struct ts_scan *scan, enum ts_scan_target_kind kind, const char *path,
                                      struct ts_bytes bytes) {
    if (path == NULL || path[0] == '\0')
        return end_with(scan, TS_SCAN_RESULT_BAD_USAGE, "a target needs a path or a name");
    if (bytes.data == NULL && bytes.len > 0)
        return end_with(scan, TS_SCAN_RESULT_BAD_USAGE, "the bytes are NULL");
    char *copy = TS_GROW(scan->targets, scan->target_capacity, scan->target_count + 1) ? strdup(path) : NULL;
    if (copy == NULL)
        return no_memory(scan);
    scan->targets[scan->target_count++] = (struct ts_scan_target){.path = copy, .bytes = bytes, .kind = kind};
    return succeed(scan);
}

enum ts_scan_result ts_scan_add_repository(struct ts_scan *scan, const char *path) {
    return add_target(scan, TS_SCAN_TARGET_REPOSITORY, path, (struct ts_bytes){NULL, 0});
}

enum ts_scan_result ts_scan_add_folder(struct ts_scan *scan, const char *path) {
    return add_target(scan, TS_SCAN_TARGET_FOLDER, path, (struct ts_bytes){NULL, 0});
}

enum ts_scan_result ts_scan_add_bytes(struct ts_scan *scan, const char *name, struct ts_bytes bytes) {
    return add_target(scan, TS_SCAN_TARGET_BYTES, name, bytes);
}

void ts_scan_clear_targets(struct ts_scan *scan) {
    release_report(scan); /* the targets of the report point to the paths */
    for (size_t i = 0; i < scan->target_count; i++)
        free((char *)(uintptr_t)scan->targets[i].path);
    free(scan->targets);
    scan->targets = NULL;
    scan->target_capacity = 0;
    scan->target_count = 0;
}

/* ---- options ---- */

static enum ts_scan_result unknown_option(struct ts_scan *scan) {
    return end_with(scan, TS_SCAN_RESULT_BAD_USAGE, "there is no such option");
}

enum ts_scan_result ts_scan_set_limit(struct ts_scan *scan, enum ts_scan_limit limit, uint64_t value) {
    struct ts_scan_options *options = &scan->options;
    switch (limit) {
    case TS_SCAN_LIMIT_MEMORY_BYTES:
        if (value != 0 && value < TS_SCAN_MEMORY_MIN)
            return end_with(scan, TS_SCAN_RESULT_BAD_USAGE, "a scan needs at least 64 MiB of memory");
        options->memory_bytes = value;
        return succeed(scan);
    case TS_SCAN_LIMIT_TIME_MS:
        if (value > UINT64_MAX / 2000000) /* the value is added to a clock in ns */
            return end_with(scan, TS_SCAN_RESULT_BAD_USAGE, "the time is too long; 0 means no limit");
        options->max_time_ms = value;
        return succeed(scan);
    case TS_SCAN_LIMIT_JOBS:
        if (value > TS_SCAN_THREADS_MAX)
            return end_with(scan, TS_SCAN_RESULT_BAD_USAGE, "a scan has at most 256 threads");
        options->jobs = (unsigned)value;
        return succeed(scan);
    case TS_SCAN_LIMIT_RATIO:
        options->ratio_max = value;
        return succeed(scan);
    case TS_SCAN_LIMIT_ARCHIVE_DEPTH:
        if (value > TS_SCAN_ARCHIVES_MAX)
            return end_with(scan, TS_SCAN_RESULT_BAD_USAGE, "the depth of archives is at most 8");
        options->archive_depth = (unsigned)value;
        return succeed(scan);
    case TS_SCAN_LIMIT_ARCHIVE_BYTES:
        options->archive_max = value;
        return succeed(scan);
    case TS_SCAN_LIMIT_OCCURRENCES:
        options->occurrences_max = value > TS_SCAN_OCCURRENCES_ALL ? TS_SCAN_OCCURRENCES_ALL : (size_t)value;
        return succeed(scan);
    }
    return unknown_option(scan);
}

static enum ts_scan_result set_extent(struct ts_scan *scan, enum ts_scan_extent extent, bool on) {
    enum ts_scan_extent now = scan->options.extent;
    if (on && now != TS_SCAN_HISTORY && now != extent)
        return end_with(scan, TS_SCAN_RESULT_BAD_USAGE,
                        "staged changes and the working tree cannot be scanned in one run");
    if (on || now == extent)
        scan->options.extent = on ? extent : TS_SCAN_HISTORY;
    return succeed(scan);
}

enum ts_scan_result ts_scan_set_switch(struct ts_scan *scan, enum ts_scan_switch which, bool on) {
    struct ts_scan_options *options = &scan->options;
    switch (which) {
    case TS_SCAN_SWITCH_SHOW_SECRETS:
        options->shows_secrets = on;
        return succeed(scan);
    case TS_SCAN_SWITCH_NO_TARGET_CONFIG:
        options->no_repo_config = on;
        return succeed(scan);
    case TS_SCAN_SWITCH_NO_BUILTIN_RULES:
        forget_profile(scan);
        options->no_builtin_rules = on;
        return succeed(scan);
    case TS_SCAN_SWITCH_STAGED:
        return set_extent(scan, TS_SCAN_STAGED, on);
    case TS_SCAN_SWITCH_WORKING_TREE:
        return set_extent(scan, TS_SCAN_WORKING_TREE, on);
    case TS_SCAN_SWITCH_UNREACHABLE:
        options->unreachable = on;
        return succeed(scan);
    case TS_SCAN_SWITCH_ALLOW_MISSING:
        options->allow_missing = on;
        return succeed(scan);
    case TS_SCAN_SWITCH_NO_ARCHIVES:
        options->no_archives = on;
        return succeed(scan);
    case TS_SCAN_SWITCH_STRICT:
        options->strict = on;
        return succeed(scan);
    case TS_SCAN_SWITCH_FULL:
        options->full = on;
        return succeed(scan);
    }
    return unknown_option(scan);
}

static enum ts_scan_result replace_text(struct ts_scan *scan, char **slot, const char *text) {
    char *copy = text != NULL ? strdup(text) : NULL;
    if (text != NULL && copy == NULL)
        return no_memory(scan);
    free(*slot);
    *slot = copy;
    return succeed(scan);
}

static enum ts_scan_result add_text(struct ts_scan *scan, struct scan_texts *texts, const char *text) {
    if (text == NULL) {
        clear_texts(texts);
        return succeed(scan);
    }
    char *copy = TS_GROW(texts->items, texts->capacity, texts->count + 1) ? strdup(text) : NULL;
    if (copy == NULL)
        return no_memory(scan);
    texts->items[texts->count++] = copy;
    return succeed(scan);
}

enum ts_scan_result ts_scan_set_text(struct ts_scan *scan, enum ts_scan_text which, const char *text) {
    switch (which) {
    case TS_SCAN_TEXT_CONFIG_FILE:
        forget_profile(scan);
        return replace_text(scan, &scan->config_file, text);
    case TS_SCAN_TEXT_STATE_FOLDER:
        return replace_text(scan, &scan->state_folder, text);
    case TS_SCAN_TEXT_CACHE_FOLDER:
        return replace_text(scan, &scan->cache_folder, text);
    case TS_SCAN_TEXT_RULE_FILE:
        forget_profile(scan);
        return add_text(scan, &scan->rule_files, text);
    case TS_SCAN_TEXT_REF:
        return add_text(scan, &scan->refs, text);
    case TS_SCAN_TEXT_BRANCH:
        return add_text(scan, &scan->branches, text);
    case TS_SCAN_TEXT_COMMIT:
        return add_text(scan, &scan->commits, text);
    case TS_SCAN_TEXT_RANGE:
        return replace_text(scan, &scan->range, text);
    case TS_SCAN_TEXT_BASELINE_FILE:
        forget_profile(scan);
        return replace_text(scan, &scan->baseline_file, text);
    }
    return unknown_option(scan);
}

void ts_scan_set_since(struct ts_scan *scan, int64_t time_s) {
    scan->options.has_since = time_s != 0;
    scan->options.since_s = time_s;
}

enum ts_scan_result ts_scan_set_min_confidence(struct ts_scan *scan, enum ts_scan_confidence confidence) {
    if (ts_scan_confidence_text(confidence) == NULL)
        return unknown_option(scan);
    scan->options.min_confidence = (enum ts_confidence)confidence;
    return succeed(scan);
}

/* ---- a run ---- */

/* Sets the pointers of the options, because the arrays may have moved since the last run. */
static void point_to_texts(struct ts_scan *scan) {
    struct ts_scan_options *options = &scan->options;
    options->targets = scan->targets;
    options->target_count = scan->target_count;
    options->rule_files = (const char *const *)scan->rule_files.items;
    options->rule_file_count = scan->rule_files.count;
    options->refs = (const char *const *)scan->refs.items;
    options->ref_count = scan->refs.count;
    options->branches = (const char *const *)scan->branches.items;
    options->branch_count = scan->branches.count;
    options->commits = (const char *const *)scan->commits.items;
    options->commit_count = scan->commits.count;
    options->range = scan->range;
    options->config_file = scan->config_file;
    options->state_folder = scan->state_folder;
    options->cache_folder = scan->cache_folder != NULL ? scan->cache_folder : "";
}

static void reset_counts(struct ts_scan *scan) {
    struct ts_scan_progress *progress = &scan->progress;
    atomic_store(&scan->faults, 0);
    atomic_store(&scan->suppressed, 0);
    atomic_store(&scan->known, 0);
    atomic_store(&progress->objects, 0);
    atomic_store(&progress->objects_total, 0);
    atomic_store(&progress->bytes, 0);
    atomic_store(&progress->findings, 0);
}

static enum ts_scan_result result_of(enum ts_scan_outcome outcome) {
    switch (outcome) {
    case TS_SCAN_DONE:
        return TS_SCAN_RESULT_OK;
    case TS_SCAN_BAD_TARGET:
        return TS_SCAN_RESULT_BAD_TARGET;
    case TS_SCAN_BAD_CONFIG:
        return TS_SCAN_RESULT_BAD_CONFIG;
    case TS_SCAN_BAD_OPTIONS:
        return TS_SCAN_RESULT_BAD_USAGE;
    case TS_SCAN_FAILED:
        break;
    }
    return TS_SCAN_RESULT_FAILED;
}

/* Reads the baseline, if there is one and this is the first run with it. */
static enum ts_scan_result read_baseline(struct ts_scan *scan) {
    struct ts_baseline_error error;
    if (scan->baseline_file != NULL && !scan->has_baseline) {
        if (!ts_baseline_read(scan->baseline_file, &scan->baseline, &error))
            return end_with(scan, TS_SCAN_RESULT_BAD_CONFIG, error.text);
        scan->has_baseline = true;
    }
    scan->options.salt = ts_baseline_salt(&scan->baseline, TS_BYTES(""));
    return TS_SCAN_RESULT_OK;
}

static enum ts_scan_result apply_baseline(struct ts_scan *scan) {
    struct ts_baseline_error error;
    if (!scan->has_baseline)
        return TS_SCAN_RESULT_OK;
    if (scan->report.has_several_keys)
        return end_with(scan, TS_SCAN_RESULT_BAD_CONFIG,
                        "the targets have different salts, so they cannot share a baseline; scan them one "
                        "by one");
    if (!ts_baseline_fits(&scan->baseline, &scan->report.key, scan->baseline_file, &error))
        return end_with(scan, TS_SCAN_RESULT_BAD_CONFIG, error.text);
    ts_baseline_apply(&scan->baseline, &scan->report);
    return TS_SCAN_RESULT_OK;
}

/* Takes over the report of a run, with its counts. On failure the scan has no report. */
static enum ts_scan_result take_report(struct ts_scan *scan) {
    scan->has_report = true;
    enum ts_scan_result result = apply_baseline(scan);
    if (result == TS_SCAN_RESULT_OK && !scan__findings_make(scan))
        result = end_with(scan, TS_SCAN_RESULT_FAILED, "out of memory");
    if (result != TS_SCAN_RESULT_OK) {
        release_report(scan);
        return result;
    }
    const struct ts_report_totals totals = ts_report_totals(&scan->report);
    atomic_store(&scan->progress.findings, totals.findings);
    atomic_store(&scan->faults, scan->report.fault_total);
    atomic_store(&scan->suppressed, totals.suppressed);
    atomic_store(&scan->known, scan->report.baseline_known);
    return TS_SCAN_RESULT_OK;
}

/* Passes every finding that is not in the baseline to the callback. Returns false if the callback has ended the
 * run. */
static bool tell_findings(const struct ts_scan *scan, ts_scan_on_finding *on_finding, void *context) {
    for (size_t i = 0; on_finding != NULL && i < scan->report.finding_count; i++)
        if (scan->findings[i].row->is_new && !on_finding(context, &scan->findings[i]))
            return false;
    return true;
}

static enum ts_scan_result judge_report(struct ts_scan *scan) {
    const struct ts_report *report = &scan->report;
    if (!ts_report_is_incomplete(report))
        return succeed(scan);
    if (report->fault_count > 0)
        return end_with(scan, TS_SCAN_RESULT_INCOMPLETE, report->faults[0].text);
    return end_with(scan, TS_SCAN_RESULT_INCOMPLETE,
                    "some patterns needed too many steps, and matches were "
                    "abandoned");
}

enum ts_scan_result ts_scan_run(struct ts_scan *scan, ts_scan_on_finding *on_finding, void *context) {
    if (scan->target_count == 0)
        return end_with(scan, TS_SCAN_RESULT_BAD_USAGE, "there is nothing to scan; add a target");
    release_report(scan);
    reset_counts(scan);
    point_to_texts(scan);
    enum ts_scan_result result = read_baseline(scan);
    if (result != TS_SCAN_RESULT_OK)
        return result;
    enum ts_scan_outcome outcome = ts_scan_report_make(&scan->options, &scan->report, &scan->error);
    if (outcome != TS_SCAN_DONE)
        return result_of(outcome);
    result = take_report(scan);
    if (result != TS_SCAN_RESULT_OK)
        return result;
    if (!tell_findings(scan, on_finding, context) || scan->report.is_stopped)
        return end_with(scan, TS_SCAN_RESULT_CANCELLED, "the scan was cancelled");
    return judge_report(scan);
}

void ts_scan_cancel(struct ts_scan *scan) {
    atomic_store(&scan->progress.stop, true);
}

void ts_scan_clear_cancel(struct ts_scan *scan) {
    atomic_store(&scan->progress.stop, false);
}

/* ---- results of a run ---- */

const char *ts_scan_error_text(const struct ts_scan *scan) {
    return scan->error.text;
}

const char *ts_scan_fault(const struct ts_scan *scan, size_t index) {
    return scan->has_report && index < scan->report.fault_count ? scan->report.faults[index].text : NULL;
}

const char *ts_scan_note(const struct ts_scan *scan, size_t index) {
    return scan->has_report && index < scan->report.note_count ? scan->report.notes[index] : NULL;
}

uint64_t ts_scan_count(const struct ts_scan *scan, enum ts_scan_counter counter) {
    const struct ts_scan_progress *progress = &scan->progress;
    switch (counter) {
    case TS_SCAN_COUNT_OBJECTS:
        return atomic_load(&progress->objects);
    case TS_SCAN_COUNT_OBJECTS_TOTAL:
        return atomic_load(&progress->objects_total);
    case TS_SCAN_COUNT_BYTES:
        return atomic_load(&progress->bytes);
    case TS_SCAN_COUNT_FINDINGS:
        return atomic_load(&progress->findings);
    case TS_SCAN_COUNT_FAULTS:
        return atomic_load(&scan->faults);
    case TS_SCAN_COUNT_SUPPRESSED:
        return atomic_load(&scan->suppressed);
    case TS_SCAN_COUNT_KNOWN:
        return atomic_load(&scan->known);
    }
    return 0;
}
