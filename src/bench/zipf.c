#include "bench/zipf.h"

#include "base/assert.h"

#include <math.h>
#include <stdlib.h>

bool bench__zipf_init(struct bench_zipf *ret_zipf, size_t count) {
    ts_assert(count > 0);
    double *cumulated = malloc(count * sizeof *cumulated);
    if (cumulated == NULL)
        return false;
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += pow((double)(i + 1), -BENCH_ZIPF_EXPONENT);
        cumulated[i] = sum;
    }
    for (size_t i = 0; i < count; i++)
        cumulated[i] /= sum;
    *ret_zipf = (struct bench_zipf){.cumulated = cumulated, .count = count};
    return true;
}

void bench__zipf_release(struct bench_zipf *zipf) {
    free(zipf->cumulated);
    *zipf = (struct bench_zipf){0};
}

size_t bench__zipf_draw(const struct bench_zipf *zipf, struct ts_prng *prng) {
    double drawn = ts_prng_unit(prng);
    /* Searches for the first rank whose cumulated weight is above the drawn number. */
    size_t low = 0, high = zipf->count - 1;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (zipf->cumulated[middle] > drawn)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}
