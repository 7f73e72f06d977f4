/*
 * Limits how often one host is asked. Pure: the caller passes the time.
 *
 * Hosts share slots by their hash, so that the table has a fixed size: two hosts in one slot are asked more
 * slowly than allowed, never faster.
 */
#ifndef TS_HTTP_PACE_H
#define TS_HTTP_PACE_H

#include "base/bytes.h"

#include <stdint.h>

#define HTTP_PACE_PLACES 256

struct http_pace {
    uint64_t interval_ns;               /* the shortest time between two requests to one host */
    uint64_t free_ns[HTTP_PACE_PLACES]; /* when the next request may be sent, indexed by slot */
};

void http__pace_init(struct http_pace *pace, uint64_t interval_ns);

/* Returns the earliest time, not before now_ns, at which a request to the host may be sent. Reserves this
 * time: the next request can be sent one interval later. */
uint64_t http__pace_take(struct http_pace *pace, struct ts_bytes host, uint64_t now_ns);

/* Records that the host asked for a pause until until_ns. */
void http__pace_hold(struct http_pace *pace, struct ts_bytes host, uint64_t until_ns);

#endif
