/*
 * What became of the built-in rules: which are left out or replaced, and by whom; and allow entries that name rules that there
 * are not. Either makes a scan find less than it seems to, so a report says it.
 */
#ifndef TS_SCAN_RULE_CHANGES_H
#define TS_SCAN_RULE_CHANGES_H

#include "profile.h"

/* To be called when all rules are there. Fills in rule_changes and note. False with a line that says what is wrong. */
bool scan__rule_changes_find(struct scan_profile *profile, const struct ts_scan_options *options,
                             struct ts_scan_error *ret_error);

#endif
