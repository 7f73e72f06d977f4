/*
 * Points at which a test build can die, stop or fail, as the environment says:
 *
 *     TURNSTONE_FAILPOINT=name            kills the process (SIGKILL) when it gets there
 *     TURNSTONE_FAILPOINT=name:3          the third time
 *     TURNSTONE_FAILPOINT=name:3=stop     stops it (SIGSTOP) instead, once
 *     TURNSTONE_FAILPOINT=name=error      the next call fails instead, once
 *
 * In other builds a failpoint does nothing.
 */
#ifndef TS_TXN_DRIVER_FAILPOINT_H
#define TS_TXN_DRIVER_FAILPOINT_H

#include <stdbool.h>

/* X(SUFFIX, name) */
#define TXN__FAILPOINTS(X)                                                                                   \
    X(BEFORE_PREPARE, "before-prepare") /* each one */                                                       \
    X(AFTER_PREPARE, "after-prepare")   /* each one */                                                       \
    X(BEFORE_COMMIT_POINT, "before-commit-point")                                                            \
    X(AFTER_COMMIT_POINT, "after-commit-point")                                                              \
    X(AFTER_COMMIT, "after-commit")   /* each one */                                                         \
    X(BEFORE_REMOVE, "before-remove") /* of decision records, whose participants have synced */              \
    X(AFTER_REGISTER, "after-register")                                                                      \
    X(RESOLVE_BEFORE_FENCE, "resolve-before-fence")                                                          \
    X(RESOLVE_AFTER_FENCE, "resolve-after-fence")                                                            \
    X(RESOLVE_AFTER_REFUSE, "resolve-after-refuse") /* an abort decision was written */                      \
    X(RESOLVE_BEFORE_FINISH, "resolve-before-finish")                                                        \
    X(RESOLVE_AFTER_FINISH, "resolve-after-finish")                                                          \
    X(SWEEP_BEFORE_REMOVE, "sweep-before-remove")                                                            \
    X(FENCE_AFTER_CLOSE, "fence-after-close") /* of each store */                                            \
    X(FENCE_AFTER_SETTLE, "fence-after-settle")                                                              \
    X(FENCE_AFTER_OPEN, "fence-after-open") /* of each store */

#define TXN__FAILPOINT_ENUM(suffix, name) TXN__FAILPOINT_##suffix,
enum txn__failpoint { TXN__FAILPOINTS(TXN__FAILPOINT_ENUM) TXN__FAILPOINT_COUNT };
#undef TXN__FAILPOINT_ENUM

#ifdef TS_TEST_BUILD

/* The process has reached this point. True: fail. */
bool txn__failpoint(enum txn__failpoint point);

#else

static inline bool txn__failpoint(enum txn__failpoint point) {
    (void)point;
    return false;
}

#endif

#endif
