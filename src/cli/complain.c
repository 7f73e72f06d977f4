#include "complain.h"

#include "base/redact.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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
    /* A URL may hold a password; where one stands by mistake, its scheme is enough to see that. */
    const uint8_t *slashes = value.len == 0 ? NULL : memmem(value.data, value.len, "://", 3);
    if (slashes != NULL)
        value = ts_bytes_first(value, (size_t)(slashes - value.data) + 3);
    static const char more[] = "...";
    ts_text_escape(value, quoted.text, sizeof quoted.text - sizeof more);
    if (slashes != NULL)
        memcpy(quoted.text + strlen(quoted.text), more, sizeof more);
    return quoted;
}

struct cli_quoted cli__quote_text(const char *value) {
    return cli__quote(ts_bytes_of_cstring(value));
}
