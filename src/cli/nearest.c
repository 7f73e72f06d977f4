#include "nearest.h"

#include "base/distance.h"

const char *cli__nearest(struct ts_bytes word, const char *const *candidates, size_t count) {
    size_t index;
    return ts_distance_nearest(word, candidates, count, &index) ? candidates[index] : NULL;
}
