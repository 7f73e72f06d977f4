#include "builtin.h"

#include "table.h"

bool ts_builtin_add(struct ts_ruleset *set, struct ts_detect_error *ret_error) {
    return ts_ruleset_add_ready(set, builtin__rules, builtin__rule_count, ret_error);
}
