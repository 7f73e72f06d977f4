/*
 * Facts that follow from a pattern, so that a rule need not state them: the maximum length of a match, a list
 * of texts of which every match contains one, and how far after the start of the match this text ends.
 */
#ifndef TS_DETECT_DERIVE_H
#define TS_DETECT_DERIVE_H

#include "os/arena.h"
#include "rule.h"

/*
 * Computes the fields reach, gate and lead if the rule file omits them, as rule->derived says. The caller has
 * set all other fields of the file. Texts are allocated in the arena. Returns NULL on success, otherwise the
 * problem; *ret_field is the field to fix.
 */
const char *detect__rule_derive(struct ts_rule *rule, struct ts_arena *arena, const char **ret_field);

#endif
