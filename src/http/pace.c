#include "pace.h"

#include "base/hash64.h"

void http__pace_init(struct http_pace *pace, uint64_t interval_ns) {
    *pace = (struct http_pace){.interval_ns = interval_ns};
}

static uint64_t *place_of(struct http_pace *pace, struct ts_bytes host) {
    return &pace->free_ns[ts_xxh64_of_bytes(host) % HTTP_PACE_PLACES];
}

uint64_t http__pace_take(struct http_pace *pace, struct ts_bytes host, uint64_t now_ns) {
    uint64_t *free_ns = place_of(pace, host);
    uint64_t at_ns = *free_ns > now_ns ? *free_ns : now_ns;
    *free_ns = at_ns + pace->interval_ns;
    return at_ns;
}

void http__pace_hold(struct http_pace *pace, struct ts_bytes host, uint64_t until_ns) {
    uint64_t *free_ns = place_of(pace, host);
    if (*free_ns < until_ns)
        *free_ns = until_ns;
}
