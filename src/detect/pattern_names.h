/*
 * Names that patterns and anchors may use: {{start}}, {{escape}} and {{end}}. Reading a rule replaces these
 * names, so that both engines and the analysis of patterns see plain regular expressions.
 */
#ifndef TS_DETECT_PATTERN_NAMES_H
#define TS_DETECT_PATTERN_NAMES_H

#include "os/arena.h"

#include <stdbool.h>

/*
 * Returns a copy of the text with every name replaced. Returns NULL on failure: *ret_unknown is the unknown
 * name, or empty if memory ran out.
 */
char *detect__names_expand(const char *text, struct ts_arena *arena, struct ts_bytes *ret_unknown);

/*
 * Sets *ret_globs to the patterns (glob.h) of a name for paths, such as {{lock-files}}. Returns their number;
 * 0 if the text is not such a name. ret_globs may be NULL.
 */
size_t detect__path_name(const char *text, const char *const **ret_globs);

#endif
