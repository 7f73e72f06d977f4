/*
 * Reads the words behind a verb by the verb's own option table.
 */
#ifndef TS_CLI_OPTIONS_H
#define TS_CLI_OPTIONS_H

#include "verb.h"

enum cli_parse {
    CLI_PARSE_OK,
    CLI_PARSE_HELP,  /* --help or -h was among the words */
    CLI_PARSE_WRONG, /* it has been said what is wrong */
};

/*
 * Options stand anywhere before "--", as "--name value" or "--name=value", each at most once. A word that
 * begins with
 * "-" and a digit is an operand (ids may be negative), and so is "-". The operands are collected in
 * `ret_operands`, which has room for `count` of them and is what ret_arguments->operands points to.
 */
enum cli_parse cli__options_parse(const struct cli_verb *verb, int count, const char *const *words,
                                  const char **ret_operands, struct cli_arguments *ret_arguments);

#endif
