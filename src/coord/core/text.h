/* Appends text to the caller's buffer. As with snprintf, the text is truncated to size - 1 bytes, and the
 * length counts the whole text. */
#ifndef TS_COORD_CORE_TEXT_H
#define TS_COORD_CORE_TEXT_H

#include <stddef.h>

struct coord__text {
    char *to;
    size_t size;
    size_t len;
};

/* Starts an empty text in the caller's buffer. */
struct coord__text coord__text_in(char *ret_text, size_t size);

__attribute__((format(printf, 2, 3))) void coord__text_add(struct coord__text *text, const char *format, ...);

#endif
