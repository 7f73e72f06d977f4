/*
 * Rules that tests may break on purpose, one at a time, to show that the checkers notice. Only in test
 * builds; elsewhere a rule is a constant and costs nothing.
 */
#ifndef TS_COORD_CORE_PLANT_H
#define TS_COORD_CORE_PLANT_H

#include <stdbool.h>

/* X(SUFFIX, name, what is done without the rule) */
#define TS_COORD_PLANTS(X)                                                                                   \
    X(FENCE, "fence", "a lease of an earlier fence is obeyed")                                               \
    X(EXPIRY, "expiry", "a lease is obeyed after its end, until somebody else takes the shard")              \
    X(OPLOG, "oplog", "an operation that is in the op-log is done again")                                    \
    X(CURSOR, "cursor", "a cursor may go back")                                                              \
    X(SPLIT, "split", "children need not meet")                                                              \
    X(TENANT, "tenant", "leases are given to, and obeyed for, any tenant")                                   \
    X(COUNTER, "counter", "a shard that changes its status is not taken from the old counter")               \
    X(RELEASE, "release", "a release takes the fence back, too")                                             \
    X(BLAME, "blame", "a release without blame counts the attempt")                                          \
    X(GATE, "gate", "a write under a lease does not check the shard's record")                               \
    X(NUMBER, "number", "a new run does not check the last number of its tenant")

#define TS_COORD__PLANT_ENUM(suffix, name, text) TS_COORD_PLANT_##suffix,
enum ts_coord_plant { TS_COORD_PLANT_NONE, TS_COORD_PLANTS(TS_COORD__PLANT_ENUM) };
#undef TS_COORD__PLANT_ENUM

#ifdef TS_TEST_BUILD

/* Applies to the whole process, until it is set to NONE again. Do not call it while other threads work. */
void ts_coord_plant(enum ts_coord_plant plant);
bool coord__is_planted(enum ts_coord_plant plant);

#else

static inline bool coord__is_planted(enum ts_coord_plant plant) {
    (void)plant;
    return false;
}

#endif

#endif
