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
    size_t not_found; /* examples in which the rule finds nothing, such as placeholders */
    size_t wrong;     /* texts without a secret in which the rule finds one */
};

/* Tries the examples with a rule. `rule` is a rule file that has only this rule. The lists may be NULL. The
 * caller frees `text` of the result. */
struct cli_import_examples cli__import_examples(const char *rule, const json_t *match,
                                                const json_t *no_match);

#endif
