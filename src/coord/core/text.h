/* Text that grows in the caller's buffer like snprintf's: truncated to size - 1 bytes; the length counts
 * everything. */
#ifndef TS_COORD_CORE_TEXT_H
#define TS_COORD_CORE_TEXT_H

#include <stddef.h>

struct coord__text {
    char *to;
    size_t size;
    size_t len;
};

/* Empty, in the caller's buffer. */
struct coord__text coord__text_in(char *ret_text, size_t size);

__attribute__((format(printf, 2, 3))) void coord__text_add(struct coord__text *text, const char *format, ...);

#endif
