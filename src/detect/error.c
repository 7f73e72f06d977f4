#include "error.h"

#include "base/assert.h"
#include "base/redact.h"

#include <stdio.h>
#include <string.h>

/* Appends as much of the text as fits. */
static void append(struct ts_detect_error *error, size_t *used, const char *text) {
    size_t len = strlen(text);
    size_t room = sizeof error->text - 1 - *used;
    size_t taken = len < room ? len : room;
    memcpy(error->text + *used, text, taken);
    *used += taken;
    error->text[*used] = '\0';
}

void detect__error_set_v(struct ts_detect_error *error, enum ts_detect_error_kind kind,
                         struct detect_place place, const char *format, va_list arguments) {
    char part[360];
    *error = (struct ts_detect_error){.kind = kind, .line = place.line};
    size_t used = 0;
    if (place.file) {
        append(error, &used, ts_text_escape(ts_bytes_of_cstring(place.file), part, 160));
        if (place.line > 0) {
            snprintf(part, sizeof part, ":%u", place.line);
            append(error, &used, part);
        }
        append(error, &used, ": ");
    }
    if (place.rule) {
        ts_text_escape(ts_bytes_of_cstring(place.rule), error->rule, sizeof error->rule);
        append(error, &used, "rule '");
        append(error, &used, error->rule);
        append(error, &used, "': ");
    }
    if (place.field) {
        snprintf(error->field, sizeof error->field, "%s", place.field);
        append(error, &used, place.field);
        append(error, &used, ": ");
    }
    vsnprintf(part, sizeof part, format, arguments);
    append(error, &used, part);
}

void detect__error_set(struct ts_detect_error *error, enum ts_detect_error_kind kind,
                       struct detect_place place, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    detect__error_set_v(error, kind, place, format, arguments);
    va_end(arguments);
}
