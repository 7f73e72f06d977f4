#include "bench/breaker.h"

#include "base/bytes.h"
#include "base/number.h"

#include <stdlib.h>
#include <string.h>

/* The whole text, ended by a NUL. */
struct text {
    char *data;
    size_t len;
    size_t capacity;
};

static bool collect(void *context, struct ts_bytes part) {
    struct text *text = context;
    if (text->len + part.len >= text->capacity) {
        size_t capacity = 2 * (text->len + part.len + 1);
        char *data = realloc(text->data, capacity);
        if (data == NULL)
            return false;
        text->data = data;
        text->capacity = capacity;
    }
    if (part.len > 0)
        memcpy(text->data + text->len, part.data, part.len);
    text->len += part.len;
    text->data[text->len] = '\0';
    return true;
}

/* The number behind a name at the beginning of a line. */
static bool value_of(const char *text, const char *name, uint64_t *ret_value) {
    size_t len = strlen(name);
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, len) != 0 || line[len] != ' ')
            continue;
        const char *number = line + len + 1;
        return ts_u64_parse(ts_bytes_of(number, strcspn(number, "\n")), ret_value) == TS_NUMBER_OK;
    }
    return false;
}

bool bench__breaker_read(struct ts_coordinator *coordinator, struct bench_breaker *ret_breaker) {
    struct text text = {0};
    uint64_t trips = 0, closed = 0;
    bool good = ts_coordinator_metrics(coordinator, collect, &text) && text.data != NULL &&
                value_of(text.data, "turnstone_xs_circuit_breaker_trips", &trips) &&
                value_of(text.data, "turnstone_xs_circuit_breaker_state{state=\"Closed\"}", &closed);
    free(text.data);
    if (good)
        *ret_breaker = (struct bench_breaker){.trips = trips, .closed = closed == 1};
    return good;
}
