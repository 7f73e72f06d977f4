/*
 * Columns in characters, for formats that do not count bytes. A report counts bytes. For the first occurrence
 * of a finding a report also has the shown line. If that line omits nothing before the secret, the characters
 * can be counted in that line.
 */
#ifndef TS_REPORT_COLUMNS_H
#define TS_REPORT_COLUMNS_H

#include "report.h"

/* Columns, counted from 1 in code points, without a byte order mark; 0: unknown. */
struct report_columns {
    uint64_t start;
    uint64_t end; /* column after the last character */
};

/* Returns the columns of one of the finding's listed occurrences. */
struct report_columns report__columns_of(const struct ts_report *report,
                                         const struct ts_report_finding *finding,
                                         const struct ts_report_occurrence *occurrence);

#endif
