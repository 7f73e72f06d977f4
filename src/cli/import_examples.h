/*
 * Examples of an imported rule: those of the original that the translated rule finds, and those in which it must find
 * nothing.
 */
#ifndef TS_CLI_IMPORT_EXAMPLES_H
#define TS_CLI_IMPORT_EXAMPLES_H

#include <jansson.h>
#include <stddef.h>

struct cli_import_examples {
    char *text;       /* the field `examples` of the rule; NULL: none, or memory ran out */
    size_t not_found; /* examples in which the rule finds nothing, such as placeholders */
    size_t wrong;     /* texts without a secret in which it finds one */
};

/* `rule` is a rule file with this rule alone. The lists may be NULL. The caller frees the text. */
struct cli_import_examples cli__import_examples(const char *rule, const json_t *match,
                                                const json_t *no_match);

#endif
