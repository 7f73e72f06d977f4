/*
 * What `turnstone rules check` does: everything that can be said about rules before they are used.
 */
#ifndef TS_DETECT_RULES_CHECK_H
#define TS_DETECT_RULES_CHECK_H

#include "detect/ruleset.h"

#include <stddef.h>

/*
 * For each rule: the pattern compiles in both engines, is bounded and within its reach; there are examples;
 * each that must match does, with its secret, and each that must not does not; and the gate lets every match
 * through, so that a scan with gates finds what one without them finds: of the examples, and of all texts where the gate
 * is `token`. Returns how many problems there are. What could not be decided is visited, too, with the kind
 * TS_DETECT_UNDECIDED, and not counted.
 */
size_t ts_rules_check(const struct ts_ruleset *rules, ts_detect_problem *visit, void *context);

#endif
