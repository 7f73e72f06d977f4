/*
 * Examples of an imported rule: texts of the original rule in which the translated rule finds a secret, and
 * texts in which it must find nothing.
 */
#ifndef TS_CLI_IMPORT_EXAMPLES_H
#define TS_CLI_IMPORT_EXAMPLES_H

#include <jansson.h>
#include <stddef.h>

struct cli_import_examples {
    char *text;       /* the field `examples` of the rule; NULL: no examples, or memory ran out */
    size_t not_found; /* omitted examples, for instance because the rule finds nothing in them */
    size_t wrong;     /* omitted texts without a secret, for instance because the rule finds one */
};

/* Searches the examples with a rule. `rule` is the text of a rule file that contains only this rule. The
 * lists may be NULL. The caller frees `text` of the result. */
struct cli_import_examples cli__import_examples(const char *rule, const json_t *match,
                                                const json_t *no_match);

#endif
