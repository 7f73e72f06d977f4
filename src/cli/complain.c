#include "complain.h"

#include "base/redact.h"

#include <stdarg.h>
#include <stdio.h>

static char last[1024];

enum cli_exit cli__complain(enum cli_exit status, const char *format, ...) {
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    fputs("turnstone: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    (void)vsnprintf(last, sizeof last, format, again);
    va_end(again);
    va_end(arguments);
    return status;
}

const char *cli__last_complaint(void) {
    return last;
}

struct cli_quoted cli__quote(struct ts_bytes value) {
    struct cli_quoted quoted = {""};
    ts_text_quote(value, quoted.text, sizeof quoted.text);
    return quoted;
}

struct cli_quoted cli__quote_text(const char *value) {
    return cli__quote(ts_bytes_of_cstring(value));
}
