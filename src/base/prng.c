#include "base/prng.h"

#include "base/assert.h"
#include "base/endian.h"

#include <string.h>

__extension__ typedef unsigned __int128 u128;

uint64_t ts_splitmix64_next(uint64_t *state) {
    *state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = *state;
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

void ts_prng_init(struct ts_prng *prng, uint64_t seed) {
    for (size_t i = 0; i < 4; i++)
        prng->s[i] = ts_splitmix64_next(&seed);
}

uint64_t ts_prng_below(struct ts_prng *prng, uint64_t n) {
    ts_assert(n > 0);
    u128 product = (u128)ts_prng_next(prng) * n;
    if ((uint64_t)product < n) {
        /* The threshold is below n, so only the rare products with a low half below n need the division. */
        uint64_t threshold = (0 - n) % n;
        while ((uint64_t)product < threshold)
            product = (u128)ts_prng_next(prng) * n;
    }
    return (uint64_t)(product >> 64);
}

uint64_t ts_prng_in(struct ts_prng *prng, struct ts_prng_range range) {
    ts_assert(range.low <= range.high);
    uint64_t width = range.high - range.low + 1;
    return width == 0 ? ts_prng_next(prng) : range.low + ts_prng_below(prng, width);
}

double ts_prng_unit(struct ts_prng *prng) {
    return (double)(ts_prng_next(prng) >> 11) * 0x1p-53;
}

bool ts_prng_chance(struct ts_prng *prng, struct ts_ratio ratio) {
    ts_assert(ratio.numerator <= ratio.denominator);
    return ts_prng_below(prng, ratio.denominator) < ratio.numerator;
}

void ts_prng_fill(struct ts_prng *prng, void *ret_bytes, size_t len) {
    uint8_t *at = ret_bytes;
    while (len > 0) {
        uint8_t bytes[8];
        ts_le64_store(ts_prng_next(prng), bytes);
        size_t part = len < sizeof bytes ? len : sizeof bytes;
        memcpy(at, bytes, part);
        at += part;
        len -= part;
    }
}

static void swap(uint8_t *a, uint8_t *b, size_t size) {
    for (size_t i = 0; i < size; i++) {
        uint8_t kept = a[i];
        a[i] = b[i];
        b[i] = kept;
    }
}

void ts_prng__shuffle(struct ts_prng *prng, void *elements, size_t element_size, size_t count) {
    uint8_t *first = elements;
    for (size_t i = count; i-- > 1;) {
        size_t other = (size_t)ts_prng_below(prng, i + 1);
        swap(first + i * element_size, first + other * element_size, element_size);
    }
}
