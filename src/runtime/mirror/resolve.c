#include "resolve.h"

#include "os/clock.h"

#include <netdb.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { NAME_MAX_LEN = 253, POLL_NS = 20000000 };

#define WAIT_NS UINT64_C(10000000000)

/* The lookup of a name. Two threads hold it, because getaddrinfo cannot be interrupted; the thread that drops
 * it last frees it. */
struct lookup {
    atomic_int holders;
    atomic_bool is_over;
    int error;
    char name[NAME_MAX_LEN + 1];
};

static void drop(struct lookup *lookup) {
    if (atomic_fetch_sub(&lookup->holders, 1) == 1)
        free(lookup);
}

static void *look_up(void *context) {
    struct lookup *lookup = context;
    struct addrinfo *found = NULL;
    lookup->error = getaddrinfo(lookup->name, NULL, NULL, &found);
    if (lookup->error == 0)
        freeaddrinfo(found);
    atomic_store(&lookup->is_over, true);
    drop(lookup);
    return NULL;
}

bool mirror__is_no_host(struct ts_bytes name, const atomic_bool *stop) {
    struct lookup *lookup = calloc(1, sizeof *lookup);
    pthread_t thread;
    if (lookup == NULL)
        return false;
    memcpy(lookup->name, name.data, name.len < NAME_MAX_LEN ? name.len : NAME_MAX_LEN);
    atomic_store(&lookup->holders, 2);
    if (pthread_create(&thread, NULL, look_up, lookup) != 0) {
        free(lookup);
        return false;
    }
    pthread_detach(thread);
    const uint64_t end_ns = ts_clock_monotonic_ns() + WAIT_NS;
    while (!atomic_load(&lookup->is_over) && !atomic_load(stop) && ts_clock_monotonic_ns() < end_ns)
        (void)nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
    /* If the name can be resolved now, the failure was temporary, and not a fault of this machine. */
    const bool is_known = atomic_load(&lookup->is_over) && lookup->error != EAI_AGAIN &&
                          lookup->error != EAI_SYSTEM && lookup->error != EAI_FAIL;
    drop(lookup);
    return is_known;
}
