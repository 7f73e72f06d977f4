/*
 * Facts that follow from a pattern, so that a rule need not state them: the maximum length of a match, texts
 * that every match contains, and how far after the start of the match these texts end.
 */
#ifndef TS_DETECT_DERIVE_H
#define TS_DETECT_DERIVE_H

#include "os/arena.h"
#include "rule.h"

/*
 * Sets those of the fields reach, gate and lead that the file of a rule omits; rule->derived says which. The
 * pattern, the keywords and the other fields of the file are set. Texts are allocated in the arena. Returns
 * NULL on success, otherwise the problem; *ret_field is the field to fix.
 */
const char *detect__rule_derive(struct ts_rule *rule, struct ts_arena *arena, const char **ret_field);

#endif
