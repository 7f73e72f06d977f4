#include "os/late_library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* Held while a library is loaded and its constructors run. The constructors do not call this code. This mutex
 * is the last lock in the lock order. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* Keeps the end of the loader's message, because the message ends with the reason, after paths that may be
 * long. */
static void remember_why(struct ts_late_library *library, const char *why) {
    size_t len = strlen(why), room = sizeof library->why_not - sizeof "...";
    snprintf(library->why_not, sizeof library->why_not, "%s%.*s", len > room ? "..." : "", (int)room,
             len > room ? why + (len - room) : why);
}

static void load(struct ts_late_library *library) {
    _Static_assert(sizeof(void *) == sizeof(void (*)(void)), "dlsym gives functions as data");
    void *handle = dlopen(library->soname, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        remember_why(library, dlerror());
        return;
    }
    for (size_t i = 0; i < library->function_count; i++) {
        const struct ts_late_function *function = &library->functions[i];
        void *found = dlsym(handle, function->name);
        if (found == NULL) {
            char why[160];
            snprintf(why, sizeof why, "%.60s has no function %.80s", library->soname, function->name);
            remember_why(library, why);
            return;
        }
        memcpy(function->place, &found, sizeof found);
    }
}

bool ts_late_library_load(struct ts_late_library *library) {
    pthread_mutex_lock(&mutex);
    if (!library->was_tried)
        load(library);
    library->was_tried = true;
    pthread_mutex_unlock(&mutex);
    return library->why_not[0] == '\0';
}
