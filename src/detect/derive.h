/*
 * What follows from a pattern, so that a rule need not say it: how long a match is at most, texts that every match contains,
 * and how far behind its start they end.
 */
#ifndef TS_DETECT_DERIVE_H
#define TS_DETECT_DERIVE_H

#include "arena.h"
#include "rule.h"

/*
 * Fills in what the file of a rule left out: reach, gate and lead, as rule->derived says. The pattern, the keywords and what
 * the file did give are there. Memory of texts comes from the arena. On success NULL, otherwise what is wrong; *ret_field is
 * the field to mend.
 */
const char *detect__rule_derive(struct ts_rule *rule, struct detect_arena *arena, const char **ret_field);

#endif
