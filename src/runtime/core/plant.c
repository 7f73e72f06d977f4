#include "runtime/core/plant.h"

#ifdef TS_TEST_BUILD

static enum ts_fleet_plant planted;

void ts_fleet_plant(enum ts_fleet_plant plant) {
    planted = plant;
}

bool runtime__is_planted(enum ts_fleet_plant plant) {
    return planted == plant;
}

#else

typedef int runtime__plants_are_in_test_builds_only;

#endif
