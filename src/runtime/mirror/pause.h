/*
 * Hosts that have asked for a pause (Retry-After). Until the pause is over, no request is sent to the host.
 */
#ifndef TS_RUNTIME_MIRROR_PAUSE_H
#define TS_RUNTIME_MIRROR_PAUSE_H

#include "base/bytes.h"

#include <pthread.h>

enum { MIRROR__PAUSES = 64 };

struct mirror__pauses {
    pthread_mutex_t lock; /* guards everything below; no other lock is held with it */
    struct {
        uint64_t host;   /* hash of the host's name and port */
        uint64_t end_ns; /* 0: free */
    } hosts[MIRROR__PAUSES];
};

/* Begins a pause of the host, in place of an earlier pause of the host. If there is no earlier pause and the
 * table is full, replaces the pause that ends first. */
void mirror__pause_begin(struct mirror__pauses *pauses, struct ts_bytes host, uint64_t ms);

/* Returns the milliseconds until the end of the host's pause; 0: no pause. */
uint64_t mirror__pause_left(struct mirror__pauses *pauses, struct ts_bytes host);

#endif
