/* The rules of rules/, which are part of the program. The build has already parsed them. */
#ifndef TS_BUILTIN_BUILTIN_H
#define TS_BUILTIN_BUILTIN_H

#include "detect/ruleset.h"

#include <stdbool.h>

/* Adds the built-in rules. Returns false when memory runs out; the set is then unchanged. */
bool ts_builtin_add(struct ts_ruleset *set, struct ts_detect_error *ret_error);

#endif
