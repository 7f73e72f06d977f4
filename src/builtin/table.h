/* The built-in rules as make_table.c writes them: in the order of their files, with distinct ids. */
#ifndef TS_BUILTIN_TABLE_H
#define TS_BUILTIN_TABLE_H

#include "detect/rule.h"

extern const struct ts_rule builtin__rules[];
extern const size_t builtin__rule_count;

#endif
