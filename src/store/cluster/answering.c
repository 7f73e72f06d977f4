#include "answering.h"

#include <stdlib.h>

/* How long to wait for the other stores after the first answer. This is long for a working server, but short
 * for callers that wait for a server that is down. */
enum { GRACE_MS = 500 };

bool store__is_silent(enum ts_store_result result) {
    return result == TS_STORE_UNAVAILABLE || result == TS_STORE_TIMED_OUT || result == TS_STORE_BUSY ||
           result == TS_STORE_UNKNOWN;
}

struct asking {
    size_t count;
    struct ts_call *calls;
    struct ts_call **started; /* the calls in progress */
    size_t done;
    bool any; /* at least one store has answered */
};

static void start(struct asking *asking, struct ts_store *const *stores, uint64_t deadline_ns) {
    for (size_t i = 0; i < asking->count; i++) {
        asking->started[i] = &asking->calls[i];
        asking->calls[i] = (struct ts_call){.kind = TS_CALL_NOW, .deadline_ns = deadline_ns};
        ts_store_start(stores[i], &asking->calls[i]);
    }
}

static void poll_all(struct asking *asking) {
    asking->done = 0;
    for (size_t i = 0; i < asking->count; i++) {
        if (!ts_store_poll(&asking->calls[i]))
            continue;
        asking->done++;
        asking->any = asking->any || !store__is_silent(asking->calls[i].error.result);
    }
}

/* Waits until all stores have answered, or until the grace time has passed. Afterwards every call is done. */
static void wait_for_answers(struct asking *asking, const struct ts_store_clock *clock) {
    uint64_t until_ns = 0;
    for (poll_all(asking); asking->done < asking->count; poll_all(asking)) {
        const uint64_t now_ns = clock->monotonic_ns(clock->context);
        if (asking->any && until_ns == 0)
            until_ns = now_ns + (uint64_t)GRACE_MS * 1000000;
        if (asking->any && now_ns >= until_ns)
            break;
        ts_store_wait(asking->started, asking->count, until_ns);
    }
    for (size_t i = 0; i < asking->count; i++)
        ts_store_cancel(&asking->calls[i]);
}

enum ts_store_result store__find_answering(struct ts_store *const *stores, size_t count, uint64_t deadline_ns,
                                           bool *ret_answering, struct ts_store_error *ret_error) {
    struct asking asking = {.count = count,
                            .calls = calloc(count, sizeof *asking.calls),
                            .started = calloc(count, sizeof(struct ts_call *))};
    enum ts_store_result result = TS_STORE_OK;
    if (asking.calls == NULL || asking.started == NULL) {
        result = store__error(ret_error, TS_STORE_FAILED, SIZE_MAX, "no memory to ask the stores");
    } else {
        start(&asking, stores, deadline_ns);
        wait_for_answers(&asking, stores[0]->clock);
        for (size_t i = 0; i < count; i++)
            ret_answering[i] = !store__is_silent(asking.calls[i].error.result);
        if (!asking.any) {
            *ret_error = asking.calls[0].error;
            result = ret_error->result;
        }
    }
    free(asking.calls);
    free(asking.started); /* NOLINT(bugprone-multi-level-implicit-pointer-conversion) */
    return result;
}
