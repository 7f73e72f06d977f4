#include "txn/driver/failpoint.h"

#ifdef TS_TEST_BUILD

#include "base/bytes.h"
#include "base/number.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

static const char *const names[] = {
#define FAILPOINT_NAME(suffix, name) name,
    TXN__FAILPOINTS(FAILPOINT_NAME)
#undef FAILPOINT_NAME
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static atomic_int armed = TXN__FAILPOINT_COUNT;
static atomic_uint_fast64_t countdown;
static enum { KILL, STOP, ERROR } action;

static void arm(const char *spec) {
    size_t len = strcspn(spec, ":=");
    uint64_t count = 1;
    const char *rest = spec + len;
    if (*rest == ':') {
        size_t digits = strcspn(rest + 1, "=");
        ts_assert(ts_u64_parse(ts_bytes_of(rest + 1, digits), &count) == TS_NUMBER_OK && count > 0);
        rest += 1 + digits;
    }
    action = strcmp(rest, "=stop") == 0 ? STOP : strcmp(rest, "=error") == 0 ? ERROR : KILL;
    for (int i = 0; i < TXN__FAILPOINT_COUNT; i++) {
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

bool txn__failpoint(enum txn__failpoint point) {
    pthread_once(&once, arm_from_environment);
    if (atomic_load(&armed) != (int)point || atomic_fetch_sub(&countdown, 1) != 1)
        return false;
    atomic_store(&armed, TXN__FAILPOINT_COUNT);
    if (action == ERROR)
        return true;
    kill(getpid(), action == STOP ? SIGSTOP : SIGKILL);
    return false;
}

#else

typedef int txn__failpoints_are_in_test_builds_only;

#endif
