/*
 * A verb of the command: its name, its options and its function. Help, the man page and the shell completions
 * are made from these tables, so that they always agree with the parser.
 */
#ifndef TS_CLI_VERB_H
#define TS_CLI_VERB_H

#include "exit_status.h"

#include <stdbool.h>
#include <stddef.h>

enum { CLI_OPTIONS_MAX = 40 };

struct cli_option {
    const char *name;     /* name of the option without the dashes */
    const char *argument; /* name of the option's value, in capitals, or NULL for a flag */
    const char *choices;  /* the only allowed values, "a|b|c"; NULL: any value */
    const char *help;
    bool many;   /* the option may occur more than once */
    char letter; /* 'o' if "-o" means "--output"; 0: no letter */
};

/* Makes the choices of an option from the table of its values: X(SUFFIX, name), or X(SUFFIX,
 * number, name). */
#define CLI_CHOICE(suffix, name)                  "|" name
#define CLI_NUMBERED_CHOICE(suffix, number, name) "|" name
#define CLI_CHOICES(table)                        (&table(CLI_CHOICE)[1])
#define CLI_CHOICES_AND(table, another)           (&table(CLI_CHOICE) "|" another[1])
#define CLI_NUMBERED_CHOICES(table)               (&table(CLI_NUMBERED_CHOICE)[1])

struct cli_example {
    const char *command;
    const char *shows;
};

/* An environment variable that the verb reads. */
struct cli_variable {
    const char *name;
    const char *means;
};

/* An option on the command line. `option` is the index of the option in the verb's table. */
struct cli_given {
    size_t option;
    const char *value;
};

/*
 * The parsed arguments. `values` is in the order of the verb's option table: NULL if the option is absent, ""
 * for a flag. If an option occurs more than once, `values` has its last value. `given` has all options in the
 * order of the command line.
 */
struct cli_arguments {
    const char *values[CLI_OPTIONS_MAX];
    const struct cli_given *given;
    size_t given_count;
    const char *const *operands;
    size_t operand_count;
};

struct cli_verb {
    const char *name;    /* one word, or two words for a verb in a group: "bench route" */
    const char *summary; /* one line without a full stop */
    const char *operands;
    const char *description; /* paragraphs with an empty line between them */
    const struct cli_option *options;
    size_t option_count;
    const struct cli_variable *variables;
    size_t variable_count;
    const struct cli_example *examples;
    size_t example_count;
    enum cli_exit (*run)(const struct cli_arguments *arguments);
};

extern const struct cli_verb *const cli__verbs[];
extern const size_t cli__verb_count;

/* Returns the verb with exactly this name of one or two words, or NULL. */
const struct cli_verb *cli__verb_find(size_t count, const char *const *words);

/* Returns whether there is a group with this name: "bench" for "bench route". */
bool cli__verb_is_group(const char *word);

/* Returns the length of the first word of a verb's name. */
size_t cli__verb_first_word(const struct cli_verb *verb);

/* Prints an error about an unknown verb. `words` are the words that should begin with a verb. Returns
 * CLI_EXIT_USAGE. */
enum cli_exit cli__verb_complain_unknown(size_t count, const char *const *words);

#endif
