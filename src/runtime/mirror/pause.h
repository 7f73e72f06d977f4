/*
 * Hosts that have asked for a pause (Retry-After). Until the pause is over, no request is sent to the host.
 */
#ifndef TS_RUNTIME_MIRROR_PAUSE_H
#define TS_RUNTIME_MIRROR_PAUSE_H

#include "base/bytes.h"

#include <pthread.h>

enum { MIRROR__PAUSES = 64 };

struct mirror__pauses {
    pthread_mutex_t lock; /* guards everything below; taken alone */
    struct {
        uint64_t host;   /* hash of its name and port */
        uint64_t end_ns; /* 0: free */
    } hosts[MIRROR__PAUSES];
};

/* If the table is full, replaces the pause that ends first. */
void mirror__pause_begin(struct mirror__pauses *pauses, struct ts_bytes host, uint64_t ms);

/* Milliseconds until the end of the host's pause; 0: it has none. */
uint64_t mirror__pause_left(struct mirror__pauses *pauses, struct ts_bytes host);

#endif
