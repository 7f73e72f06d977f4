#include "text.h"

#include "base/assert.h"

#include <stdarg.h>
#include <stdio.h>

struct coord__text coord__text_in(char *ret_text, size_t size) {
    if (size > 0)
        ret_text[0] = '\0';
    return (struct coord__text){ret_text, size, 0};
}

void coord__text_add(struct coord__text *text, const char *format, ...) {
    size_t room = text->len < text->size ? text->size - text->len : 0;
    va_list arguments;
    va_start(arguments, format);
    int printed = vsnprintf(room > 0 ? text->to + text->len : NULL, room, format, arguments);
    va_end(arguments);
    ts_assert(printed >= 0);
    text->len += (size_t)printed;
}
