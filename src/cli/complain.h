/*
 * One line on standard error: "turnstone: " and the message. Text from users goes through ts_text_escape
 * first.
 */
#ifndef TS_CLI_COMPLAIN_H
#define TS_CLI_COMPLAIN_H

#include "exit_status.h"

#include "base/bytes.h"

/* Prints the line and returns the status, so that a verb can end with `return cli__complain(CLI_EXIT_USAGE,
 * …)`. */
__attribute__((format(printf, 2, 3))) enum cli_exit cli__complain(enum cli_exit status, const char *format,
                                                                  ...);

/* Returns the last message of cli__complain, for answers that repeat the message; "" before the first
 * message. */
const char *cli__last_complaint(void);

/* A value as messages show it: printable, and cut to at most 95 bytes. Only the scheme of a URL is shown. */
struct cli_quoted {
    char text[96];
};
struct cli_quoted cli__quote(struct ts_bytes value);
struct cli_quoted cli__quote_text(const char *value);

#endif
