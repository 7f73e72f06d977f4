/*
 * Rules that tests may break on purpose, one at a time, to show that the checkers find the violations. Only
 * test builds can break them; in other builds each rule is a constant and costs nothing.
 */
#ifndef TS_RUNTIME_CORE_PLANT_H
#define TS_RUNTIME_CORE_PLANT_H

#include <stdbool.h>

/* X(SUFFIX, name, what happens without the rule) */
#define TS_FLEET_PLANTS(X)                                                                                   \
    X(UNCHECKED, "unchecked", "batches carry neither the check of the shard's record nor before(deadline)")  \
    X(PRECHECK, "precheck", "the lease is checked before the batch instead of in it")                        \
    X(NOBEFORE, "nobefore", "batches check the shard's record, but carry no before(deadline)")               \
    X(NOLOCK, "nolock", "keys that a promise has checked are not locked until it ends")                      \
    X(NOCAS, "nocas", "the flip does not check the version of the target's record")                          \
    X(NORESYNC, "noresync", "after a conflict the same refs are staged again, without a new sync")           \
    X(OLDRUN, "oldrun", "an earlier run may replace the result of a later one")                              \
    X(PARTMARK, "partmark", "a part moves the watermark")                                                    \
    X(SPLIT, "split", "known pages list objects with hits, too, whose pages may not be durable")             \
    X(EARLY, "early", "the frontier moves when the scan is done, without a receipt")                         \
    X(UNKNOWNOK, "unknownok", "an unknown outcome counts as a receipt")                                      \
    X(SHAREDSTAGE, "sharedstage", "rows are staged under the next generation instead of an own attempt")     \
    X(APPEND, "append", "rows are added to the existing ones instead of replacing them")                     \
    X(EAGERGC, "eagergc", "everything that is not visible is removed, even attempts of valid leases")        \
    X(UNKEYED, "unkeyed", "known objects are not kept by rule set")                                          \
    X(FAULTY, "faulty", "a scan counts as complete even if a damaged mirror lacks objects")                  \
    X(FREECURSOR, "freecursor", "checkpoints check neither the lease nor the current cursor")

#define TS_FLEET__PLANT_ENUM(suffix, name, text) TS_FLEET_PLANT_##suffix,
enum ts_fleet_plant { TS_FLEET_PLANT_NONE, TS_FLEET_PLANTS(TS_FLEET__PLANT_ENUM) };
#undef TS_FLEET__PLANT_ENUM

#ifdef TS_TEST_BUILD

/* Breaks this rule in the whole process, until the function is called again; NONE breaks no rule. Do not call
 * it while other threads work. */
void ts_fleet_plant(enum ts_fleet_plant plant);
bool runtime__is_planted(enum ts_fleet_plant plant);

#else

static inline bool runtime__is_planted(enum ts_fleet_plant plant) {
    (void)plant;
    return false;
}

#endif

#endif
