#include "os/failpoint.h"

#ifdef TS_TEST_BUILD

#include "base/bytes.h"
#include "base/number.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

static const char *const names[] = {
#define FAILPOINT_NAME(suffix, name) name,
    TS_FAILPOINTS(FAILPOINT_NAME)
#undef FAILPOINT_NAME
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static atomic_int armed = TS_FAILPOINT_COUNT;
static atomic_uint_fast64_t countdown;
static atomic_bool loses_reply;
enum action { KILL, STOP, ERROR, LOSE };
static enum action action;

static enum action action_of(const char *text) {
    static const char *const texts[] = {[KILL] = "", [STOP] = "=stop", [ERROR] = "=error", [LOSE] = "=lose"};
    for (enum action i = KILL; i <= LOSE; i++)
        if (strcmp(text, texts[i]) == 0)
            return i;
    ts_unreachable("TURNSTONE_FAILPOINT has an unknown action; failpoint.h lists them");
}

static void arm(const char *spec) {
    size_t len = strcspn(spec, ":=");
    uint64_t count = 1;
    const char *rest = spec + len;
    if (*rest == ':') {
        size_t digits = strcspn(rest + 1, "=");
        ts_assert(ts_u64_parse(ts_bytes_of(rest + 1, digits), &count) == TS_NUMBER_OK && count > 0);
        rest += 1 + digits;
    }
    action = action_of(rest);
    for (int i = 0; i < TS_FAILPOINT_COUNT; i++) {
        if (strlen(names[i]) == len && memcmp(names[i], spec, len) == 0) {
            atomic_store(&countdown, count);
            atomic_store(&armed, i);
            return;
        }
    }
    ts_unreachable("TURNSTONE_FAILPOINT names an unknown failpoint; failpoint.h lists them");
}

static void arm_from_environment(void) {
    const char *spec = getenv("TURNSTONE_FAILPOINT"); /* NOLINT(concurrency-mt-unsafe) */
    if (spec != NULL)
        arm(spec);
}

bool ts_failpoint(enum ts_failpoint point) {
    pthread_once(&once, arm_from_environment);
    if (atomic_load(&armed) != (int)point || atomic_fetch_sub(&countdown, 1) != 1)
        return false;
    atomic_store(&armed, TS_FAILPOINT_COUNT);
    if (action == ERROR)
        return true;
    if (action == LOSE) {
        atomic_store(&loses_reply, true);
        return false;
    }
    /* raise signals this thread. A signal to the process could reach another thread first, and this thread
     * would continue for a moment. */
    raise(action == STOP ? SIGSTOP : SIGKILL);
    return false;
}

bool ts_failpoint_loses_reply(void) {
    return atomic_exchange(&loses_reply, false);
}

#else

typedef int ts_failpoints_are_in_test_builds_only;

#endif
