/* Reads one rule from a YAML mapping, with all checks that do not need the compiled pattern. */
#ifndef TS_DETECT_RULE_READER_H
#define TS_DETECT_RULE_READER_H

#include "rule.h"
#include "yaml_reader.h"

/* Returns the list under `rules` in a document; NULL, with a count of 0, if the document has no such list. */
yaml_node_t *detect__rules_list(struct detect_yaml *yaml, yaml_node_t *root, size_t *ret_count);

/* Reads a rule. Returns false if the rule has problems, which the reader has reported; *ret_rule is then
 * unchanged. Texts are in the arena of the reader. */
bool detect__rule_read(struct detect_yaml *yaml, yaml_node_t *node, struct ts_rule *ret_rule);

/* Reads a text field without zero bytes. Returns "" if the field is wrong, or absent and optional. */
const char *detect__read_text(struct detect_yaml *yaml, yaml_node_t *rule, const char *field, bool required);

struct detect_text_limits {
    size_t min;
    size_t max;
};

/* Reads a list of texts, each within the limits. */
struct ts_rule_texts detect__read_texts(struct detect_yaml *yaml, yaml_node_t *node, const char *field,
                                        struct detect_text_limits limits);

#endif
