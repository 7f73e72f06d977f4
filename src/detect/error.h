/* Functions of this layer that fill in a ts_detect_error. */
#ifndef TS_DETECT_ERROR_H
#define TS_DETECT_ERROR_H

#include "detect/detect_error.h"

#include <stdarg.h>

/* The place of an error; fields that are NULL or 0 are omitted. */
struct detect_place {
    const char *file;
    unsigned line;
    const char *rule;
    const char *field;
};

__attribute__((format(printf, 4, 5))) void detect__error_set(struct ts_detect_error *error,
                                                             enum ts_detect_error_kind kind,
                                                             struct detect_place place, const char *format,
                                                             ...);
__attribute__((format(printf, 4, 0))) void detect__error_set_v(struct ts_detect_error *error,
                                                               enum ts_detect_error_kind kind,
                                                               struct detect_place place, const char *format,
                                                               va_list arguments);

#endif
