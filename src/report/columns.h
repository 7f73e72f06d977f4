/*
 * Columns in characters, for formats that do not count bytes. A report has bytes; of the first occurrence of a finding it has the
 * line, too, as it is shown, and from that the characters before the secret can be counted when nothing of them was left out.
 */
#ifndef TS_REPORT_COLUMNS_H
#define TS_REPORT_COLUMNS_H

#include "report.h"

/* From 1, in code points, a byte order mark not counted; 0 where it cannot be known. */
struct report_columns {
    uint64_t start;
    uint64_t end; /* behind the last character */
};

/* Of one of the finding's listed occurrences. */
struct report_columns report__columns_of(const struct ts_report *report,
                                         const struct ts_report_finding *finding,
                                         const struct ts_report_occurrence *occurrence);

#endif
