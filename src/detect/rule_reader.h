/* One rule out of a YAML mapping, with everything that can be said of it without compiling its pattern. */
#ifndef TS_DETECT_RULE_READER_H
#define TS_DETECT_RULE_READER_H

#include "rule.h"
#include "yaml_reader.h"

/* The list under `rules` of a document, or NULL with a count of 0. */
yaml_node_t *detect__rules_list(struct detect_yaml *yaml, yaml_node_t *root, size_t *ret_count);

/* False when the rule has problems, each of which the reader was told of; *ret_rule is then unchanged. Texts live in the
 * reader's arena. */
bool detect__rule_read(struct detect_yaml *yaml, yaml_node_t *node, struct ts_rule *ret_rule);

#endif
