/*
 * Dates in revisions (REF@{DATE}), with git's meaning of them:
 *
 *   now, yesterday                         yesterday is 24 hours ago
 *   5.minutes.ago, 1 month 2 weeks ago     seconds, minutes, hours, days, weeks, months, years, or one of them; "ago" may be missing
 *   2026-01-31                             at the present time of day
 *   2026-01-31 12:00[:30[.5]] [ZONE]       a T may replace the blank. ZONE is Z, +HH, +HHMM or +HH:MM; without it the time is local
 *
 * Git reads almost any text as a date. Here, other forms are refused.
 */
#ifndef TS_GIT_DATE_H
#define TS_GIT_DATE_H

#include <stdbool.h>
#include <stdint.h>

/* Seconds since 1970; 0 for dates before. */
bool git__date_read(const char *text, int64_t now_s, int64_t *ret_s);

#endif
