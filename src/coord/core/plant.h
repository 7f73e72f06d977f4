/*
 * Rules that tests may break on purpose, one at a time, to show that the checkers find the violations. Only
 * test builds can break them; in other builds each rule is a constant and costs nothing.
 */
#ifndef TS_COORD_CORE_PLANT_H
#define TS_COORD_CORE_PLANT_H

#include <stdbool.h>

/* X(SUFFIX, name, what happens without the rule) */
#define TS_COORD_PLANTS(X)                                                                                   \
    X(FENCE, "fence", "operations with an earlier fence are accepted")                                       \
    X(EXPIRY, "expiry",                                                                                      \
      "operations with an expired lease are accepted until another worker acquires the "                     \
      "shard")                                                                                               \
    X(OPLOG, "oplog", "an operation that is in the op-log is done again")                                    \
    X(CURSOR, "cursor", "a cursor may go back")                                                              \
    X(SPLIT, "split", "children may have gaps between them")                                                 \
    X(TENANT, "tenant", "leases are given to, and accepted from, any tenant")                                \
    X(COUNTER, "counter", "a shard that changes its status is still counted in the old counter")             \
    X(RELEASE, "release", "a release also lowers the fence")                                                 \
    X(BLAME, "blame", "a release without blame counts the attempt")                                          \
    X(LEASE_CHECK, "lease-check", "a write under a lease does not check the shard's record")                 \
    X(NUMBER, "number", "a new run does not check the last number of its tenant")                            \
    X(PIN, "pin", "a claim with another pin than the run's is admitted")                                     \
    X(EARLY, "early", "shards can be acquired before all announced ones are registered")                     \
    X(ANNOUNCED, "announced", "another list of shards than the announced one is registered")

#define TS_COORD__PLANT_ENUM(suffix, name, text) TS_COORD_PLANT_##suffix,
enum ts_coord_plant { TS_COORD_PLANT_NONE, TS_COORD_PLANTS(TS_COORD__PLANT_ENUM) };
#undef TS_COORD__PLANT_ENUM

#ifdef TS_TEST_BUILD

/* Breaks this rule in the whole process until the next call; NONE breaks no rule. Must not be called while
 * other threads work. */
void ts_coord_plant(enum ts_coord_plant plant);
bool coord__is_planted(enum ts_coord_plant plant);

#else

static inline bool coord__is_planted(enum ts_coord_plant plant) {
    (void)plant;
    return false;
}

#endif

#endif
