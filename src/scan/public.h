/*
 * The internals of turnstone/scan.h: a scan's options with the memory that they point to, and the report of
 * its last run.
 */
#ifndef TS_SCAN_PUBLIC_H
#define TS_SCAN_PUBLIC_H

#include "report/baseline.h"
#include "scan/scan.h"
#include "turnstone/scan.h"

/* Texts that belong to the scan. */
struct scan_texts {
    char **items;
    size_t count;
    size_t capacity;
};

struct ts_scan_occurrence {
    const struct ts_report *report;
    const struct ts_report_occurrence *row;
};

struct ts_scan_finding {
    const struct ts_report *report;
    const struct ts_report_finding *row;
    struct ts_scan_occurrence head;         /* the occurrence in HEAD; its row is NULL if there is none */
    struct ts_scan_occurrence *occurrences; /* row->listed_count occurrences */
    const struct ts_scan_finding *pair;     /* NULL: none */
};

struct ts_scan {
    struct ts_scan_options options; /* pointers to texts are set at each run */
    struct ts_scan_progress progress;
    struct ts_scan_target *targets;
    size_t target_count;
    size_t target_capacity;
    struct scan_texts rule_files;
    struct scan_texts refs;
    struct scan_texts branches;
    struct scan_texts commits;
    char *config_file;
    char *state_folder;
    char *cache_folder;
    char *range;
    char *baseline_file;
    struct scan_profile *profile; /* compiled rules; NULL: not compiled yet, or an option has changed since */
    struct ts_baseline baseline;  /* if has_baseline is set: the baseline from baseline_file */
    bool has_baseline;
    struct ts_report report; /* report of the last run */
    bool has_report;
    atomic_uint_fast64_t faults; /* number of faults in the report; any thread may read it */
    atomic_uint_fast64_t suppressed;
    atomic_uint_fast64_t known;
    struct ts_scan_finding *findings; /* findings of the report, followed by their pairs */
    struct ts_scan_occurrence *occurrences;
    struct ts_scan_error error;
};

/* Makes the findings of the report. Returns false when memory runs out. */
bool scan__findings_make(struct ts_scan *scan);

#endif
