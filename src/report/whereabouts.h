/*
 * Where a finding is now: HEAD, branches and tags, and its page at a code host.
 */
#ifndef TS_REPORT_WHEREABOUTS_H
#define TS_REPORT_WHEREABOUTS_H

#include "writer.h"

enum report_head {
    REPORT_HEAD_UNKNOWN, /* not a repository, or HEAD was not scanned */
    REPORT_HEAD_GONE,
    REPORT_HEAD_HAS
};
enum report_head report__head_of(const struct ts_report *report, const struct ts_report_finding *finding);

/* The place to look at first: the one in HEAD, or else the first occurrence. */
const struct ts_report_occurrence *report__main_place(const struct ts_report_finding *finding);

/* The short form of a full ref name: "main", "origin/main", "v1.0". */
const char *report__ref_short(const char *ref);

/* The URL of an occurrence with its line, or of its commit: printable ASCII without quotes, <, > and &. Returns false if there is
 * none. */
#define REPORT_LINK_SIZE 4096
bool report__link(const struct ts_report *report, const struct ts_report_occurrence *occurrence,
                  char ret_link[static REPORT_LINK_SIZE]);

#endif
