#include "coord/core/plant.h"

#ifdef TS_TEST_BUILD

static enum ts_coord_plant planted;

void ts_coord_plant(enum ts_coord_plant plant) {
    planted = plant;
}

bool coord__is_planted(enum ts_coord_plant plant) {
    return planted == plant;
}

#else

typedef int coord__plants_are_in_test_builds_only;

#endif
