/*
 * Changes of the built-in rules: which rules are omitted or replaced, and by which configuration; and allow
 * entries that name unknown rules. Both can make a scan find less than expected, so the report shows them.
 */
#ifndef TS_SCAN_RULE_CHANGES_H
#define TS_SCAN_RULE_CHANGES_H

#include "profile.h"

/* Fills in rule_changes and note of the profile. Call it when all rules are added. On failure returns false,
 * and the error has one line of text. */
bool scan__rule_changes_find(struct scan_profile *profile, const struct ts_scan_options *options,
                             struct ts_scan_error *ret_error);

#endif
