/*
 * How often one host may be asked. Pure: the caller passes the time.
 *
 * Hosts share slots by their hash, so that the table has a fixed size: two hosts in one slot are asked more
 * slowly than allowed, never faster.
 */
#ifndef TS_VERIFY_PACE_H
#define TS_VERIFY_PACE_H

#include "base/bytes.h"

#include <stdint.h>

#define VERIFY_PACE_PLACES 256

struct verify_pace {
    uint64_t interval_ns;                 /* between two requests to one host */
    uint64_t free_ns[VERIFY_PACE_PLACES]; /* when the next request may be sent */
};

void verify__pace_init(struct verify_pace *pace, uint64_t interval_ns);

/* Returns when a request to the host may be sent, at the earliest now, and reserves that moment: the next
 * request may follow one interval later. */
uint64_t verify__pace_take(struct verify_pace *pace, struct ts_bytes host, uint64_t now_ns);

/* Records that the host asked for a pause until then. */
void verify__pace_hold(struct verify_pace *pace, struct ts_bytes host, uint64_t until_ns);

#endif
