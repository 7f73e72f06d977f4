/*
 * Points at which a test build can die, stop or fail, as the environment says:
 *
 *     TURNSTONE_FAILPOINT=name            kills the process (SIGKILL) at this point
 *     TURNSTONE_FAILPOINT=name:3          kills the process at this point the third time
 *     TURNSTONE_FAILPOINT=name:3=stop     stops the process (SIGSTOP) the third time, once
 *     TURNSTONE_FAILPOINT=name=error      the next call after this point fails, once
 *     TURNSTONE_FAILPOINT=name=lose       the reply to the next write of coordination is lost, once
 *
 * In other builds a failpoint does nothing.
 */
#ifndef TS_OS_FAILPOINT_H
#define TS_OS_FAILPOINT_H

#include <stdbool.h>

/* X(SUFFIX, name) */
#define TS_FAILPOINTS(X)                                                                                     \
    X(BEFORE_PREPARE, "before-prepare") /* for each prepare */                                               \
    X(AFTER_PREPARE, "after-prepare")   /* for each prepare */                                               \
    X(BEFORE_COMMIT_POINT, "before-commit-point")                                                            \
    X(AFTER_COMMIT_POINT, "after-commit-point")                                                              \
    X(AFTER_COMMIT, "after-commit")   /* for each commit */                                                  \
    X(BEFORE_REMOVE, "before-remove") /* before removing decision records, whose participants have synced */ \
    X(AFTER_REGISTER, "after-register")                                                                      \
    X(RESOLVE_BEFORE_FENCE, "resolve-before-fence")                                                          \
    X(RESOLVE_AFTER_FENCE, "resolve-after-fence")                                                            \
    X(RESOLVE_AFTER_REFUSE, "resolve-after-refuse") /* an abort decision was written */                      \
    X(RESOLVE_BEFORE_FINISH, "resolve-before-finish")                                                        \
    X(RESOLVE_AFTER_FINISH, "resolve-after-finish")                                                          \
    X(SWEEP_BEFORE_REMOVE, "sweep-before-remove")                                                            \
    X(FENCE_AFTER_CLOSE, "fence-after-close") /* once for each store */                                      \
    X(FENCE_AFTER_SETTLE, "fence-after-settle")                                                              \
    X(FENCE_AFTER_OPEN, "fence-after-open") /* once for each store */                                        \
    /* Points in a unit of work: the lease is claimed, the refs are read, ... */                             \
    X(UNIT_CLAIMED, "unit-claimed")                                                                          \
    X(UNIT_SYNCED, "unit-synced")                                                                            \
    X(UNIT_AFTER_PART, "unit-after-part")                                                                    \
    X(UNIT_AFTER_STAGE, "unit-after-stage")                                                                  \
    X(UNIT_FLIP_SENT, "unit-flip-sent")       /* immediately before the call */                              \
    X(UNIT_FLIP_APPLIED, "unit-flip-applied") /* immediately after the call */                               \
    X(UNIT_CHECKPOINTED, "unit-checkpointed")

#define TS_FAILPOINT_ENUM(suffix, name) TS_FAILPOINT_##suffix,
enum ts_failpoint { TS_FAILPOINTS(TS_FAILPOINT_ENUM) TS_FAILPOINT_COUNT };
#undef TS_FAILPOINT_ENUM

#ifdef TS_TEST_BUILD

/* Call this function when the process reaches this point. Returns true if the next call must fail. */
bool ts_failpoint(enum ts_failpoint point);

/* Returns true once after a failpoint with =lose was reached. The caller must then drop the reply that it has
 * received. */
bool ts_failpoint_loses_reply(void);

#else

static inline bool ts_failpoint(enum ts_failpoint point) {
    (void)point;
    return false;
}

static inline bool ts_failpoint_loses_reply(void) {
    return false;
}

#endif

#endif
