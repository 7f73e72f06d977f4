#include "complain.h"

#include "base/redact.h"

#include <stdarg.h>
#include <stdio.h>

enum cli_exit cli__complain(enum cli_exit status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("turnstone: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    return status;
}

struct cli_quoted cli__quote(struct ts_bytes value) {
    struct cli_quoted quoted = {""};
    ts_text_quote(value, quoted.text, sizeof quoted.text);
    return quoted;
}

struct cli_quoted cli__quote_text(const char *value) {
    return cli__quote(ts_bytes_of_cstring(value));
}
