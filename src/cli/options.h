/*
 * Parses the words after a verb with the option table of the verb.
 */
#ifndef TS_CLI_OPTIONS_H
#define TS_CLI_OPTIONS_H

#include "verb.h"

enum cli_parse {
    CLI_PARSE_OK,
    CLI_PARSE_HELP,  /* --help or -h was among the words */
    CLI_PARSE_WRONG, /* an error was printed */
};

/* The caller's memory for the parsed words. Both arrays have at least as many entries as there are words. */
struct cli_parse_room {
    const char **operands;
    struct cli_given *given;
};

/*
 * Parses the words after a verb. Options may be anywhere before "--", as "--name value" or "--name=value", or
 * "-n value" or "-nvalue" for an option with a letter. Each option may occur once, or more often if the table
 * allows it. A word that begins with "-" and a digit is an operand, because ids may be negative. The word "-"
 * is an operand, too. ret_arguments points into `room`.
 */
enum cli_parse cli__options_parse(const struct cli_verb *verb, int count, const char *const *words,
                                  struct cli_parse_room room, struct cli_arguments *ret_arguments);

#endif
