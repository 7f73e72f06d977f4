#include "decorated.h"
#include "store/decorators/trace.h"

#include <string.h>

/* Every line is looked at: none may show what keys and values the suite uses. */
static void look_at(void *context, const char *line) {
    (void)context;
    if (strstr(line, "pair-a") != NULL || strstr(line, "seen") != NULL || strchr(line, '\n') != NULL)
        abort();
}

static struct ts_store *open_traced(void *place) {
    const struct ts_trace_options options = {.line = look_at};
    struct ts_store *store = ts_trace_new(decorated_inside(place), &options);
    assert_non_null(store);
    return store;
}

static const struct contract_fixture fixture = {.name = "trace(memory)",
                                                .set_up = decorated_set_up,
                                                .tear_down = decorated_tear_down,
                                                .open = open_traced};

int main(int argc, char **argv) {
    return contract_main(argc, argv, &fixture);
}
