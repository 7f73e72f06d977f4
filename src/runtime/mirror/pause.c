#include "pause.h"

#include "base/hash64.h"
#include "os/clock.h"

#define NS_PER_MS UINT64_C(1000000)

void mirror__pause_begin(struct mirror__pauses *pauses, struct ts_bytes host, uint64_t ms) {
    const uint64_t hash = ts_xxh64_of_bytes(host);
    const uint64_t end_ns = ts_clock_monotonic_ns() + ms * NS_PER_MS;
    size_t place = 0;
    pthread_mutex_lock(&pauses->lock);
    for (size_t i = 0; i < MIRROR__PAUSES; i++) {
        if (pauses->hosts[i].end_ns < pauses->hosts[place].end_ns)
            place = i;
        if (pauses->hosts[i].end_ns != 0 && pauses->hosts[i].host == hash) {
            place = i;
            break;
        }
    }
    pauses->hosts[place].host = hash;
    pauses->hosts[place].end_ns = end_ns;
    pthread_mutex_unlock(&pauses->lock);
}

uint64_t mirror__pause_left(struct mirror__pauses *pauses, struct ts_bytes host) {
    const uint64_t hash = ts_xxh64_of_bytes(host);
    const uint64_t now_ns = ts_clock_monotonic_ns();
    uint64_t left_ms = 0;
    pthread_mutex_lock(&pauses->lock);
    for (size_t i = 0; i < MIRROR__PAUSES; i++)
        if (pauses->hosts[i].host == hash && pauses->hosts[i].end_ns > now_ns)
            left_ms = (pauses->hosts[i].end_ns - now_ns) / NS_PER_MS + 1;
    pthread_mutex_unlock(&pauses->lock);
    return left_ms;
}
