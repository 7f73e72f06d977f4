/*
 * The checks of `turnstone rules check`: everything that can be checked before rules are used.
 */
#ifndef TS_DETECT_RULES_CHECK_H
#define TS_DETECT_RULES_CHECK_H

#include "detect/ruleset.h"

#include <stddef.h>

/*
 * Checks each rule: the pattern compiles in both engines, is bounded and within its reach; there are
 * examples; each positive example matches with its secret, and each negative example does not; and the gate
 * passes every match, so that scans with and without gates find the same secrets. The gate is checked with
 * the examples and, if it is `token`, for all texts. Returns the number of problems. Also visits undecided
 * cases, with the kind TS_DETECT_UNDECIDED, but does not count them.
 */
size_t ts_rules_check(const struct ts_ruleset *rules, ts_detect_problem *visit, void *context);

#endif
