#include "nearest.h"

#include "base/distance.h"

const char *cli__nearest(struct ts_bytes word, const char *const *candidates, size_t count) {
    return ts_distance_nearest(word, candidates, count);
}
