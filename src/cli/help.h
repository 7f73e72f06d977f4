/*
 * Prints the tables of verb.h: as text on the terminal, as a man page, and as completions for two shells.
 */
#ifndef TS_CLI_HELP_H
#define TS_CLI_HELP_H

#include "verb.h"

#include <stdio.h>

/* Prints the help for a verb or a group of verbs; `words` are its name. Without words, prints
 * the overview. */
enum cli_exit cli__help_text(size_t count, const char *const *words);

enum cli_exit cli__help_verb(const struct cli_verb *verb);

enum cli_exit cli__help_version(void);

void cli__help_man(FILE *out);
void cli__help_bash(FILE *out);
void cli__help_zsh(FILE *out);

#endif
