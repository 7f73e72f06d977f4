/*
 * Dates in revisions (REF@{DATE}) and in --since, with the meaning that git gives them:
 *
 *   now, yesterday                         yesterday is 24 hours ago
 *   5.minutes.ago, 1 month 2 weeks ago     seconds, minutes, hours, days, weeks, months, years; the final s and "ago" may be missing
 *   last week, last friday, two days ago   a weekday needs a number or "last"
 *   midnight, noon, tea                    the last one: at 10:00, noon means yesterday's noon. midnight means the last midnight
 *   March 3, 3 Mar 2024                    at the present time of day; without a year, in this month or the 11 months before
 *   yesterday noon, last friday at 9:30    several words, one after the other
 *   2026-01-31                             at the present time of day
 *   2026-01-31 12:00[:30[.5]] [ZONE]       a T may replace the blank. ZONE is Z, +HH, +HHMM or +HH:MM; without it the time is local
 *
 * Blanks, dots and commas separate words. Git reads almost any text as a date, and ignores unknown words.
 * Here, other forms are refused.
 */
#ifndef TS_GIT_DATE_H
#define TS_GIT_DATE_H

#include <stdbool.h>
#include <stdint.h>

/* Sets *ret_s to seconds since 1970; 0 for earlier dates. Returns false if the text is not a date. */
bool git__date_read(const char *text, int64_t now_s, int64_t *ret_s);

/* Like git__date_read, for --since. Git ignores "today" and a weekday alone: with git, both mean now, and a
 * scan would report nothing. Here, "today" means since midnight, and "friday" means last Friday. */
bool ts_git_since_read(const char *text, int64_t now_s, int64_t *ret_s);

#endif
