/*
 * A pseudo-random generator for simulations, jitter and tests: the seed determines every number. Not for
 * secrets. Seeded runs are part of test expectations and of bug reports, so the algorithms are fixed here;
 * all arithmetic is on unsigned 64-bit numbers modulo 2^64, and rotl(x, k) rotates left by k bits.
 *
 * splitmix64, state x:
 *     x += 0x9e3779b97f4a7c15
 *     z = x
 *     z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
 *     z = (z ^ (z >> 27)) * 0x94d049bb133111eb
 *     output z ^ (z >> 31)
 *
 * init(seed): splitmix64 with x = seed gives s[0], s[1], s[2], s[3], in this order.
 *
 * next, xoshiro256**:
 *     output rotl(s[1] * 5, 7) * 9, computed before the state changes:
 *     t = s[1] << 17
 *     s[2] ^= s[0];  s[3] ^= s[1];  s[1] ^= s[2];  s[0] ^= s[3];  s[2] ^= t;  s[3] = rotl(s[3], 45)
 *
 * below(n), every number below n equally likely (Lemire's multiplication with rejection):
 *     repeat: m = next() * n, all 128 bits of it
 *     while (m mod 2^64) < (2^64 - n) mod n
 *     output m / 2^64
 *
 * in(low to high) = low + below(high - low + 1), or next() if the range has all 2^64 numbers.
 * unit() = (next() >> 11) / 2^53, below 1.
 * chance(n in d) = below(d) < n.
 * fill: the bytes of next() in little-endian order; of the last output, as many bytes as are needed.
 * shuffle: for i from count - 1 down to 1, swap elements i and below(i + 1).
 * split: for i = 0, 1, 2, 3: child.s[i] = splitmix64 output for x = next() of the parent; then
 *     child.s[0] |= 1, because a state of all zeros would never change.
 */
#ifndef TS_BASE_PRNG_H
#define TS_BASE_PRNG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ts_prng {
    uint64_t s[4];
};

/* A range of numbers that includes low and high. */
struct ts_prng_range {
    uint64_t low;
    uint64_t high;
};

/* A chance of `numerator` in `denominator`. */
struct ts_ratio {
    uint64_t numerator;
    uint64_t denominator;
};

/* Advances the state and returns the next output. */
uint64_t ts_splitmix64_next(uint64_t *state);

void ts_prng_init(struct ts_prng *prng, uint64_t seed);

static inline uint64_t ts_prng_next(struct ts_prng *prng) {
    uint64_t *s = prng->s;
    uint64_t fives = s[1] * 5;
    uint64_t output = ((fives << 7) | (fives >> 57)) * 9;
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = (s[3] << 45) | (s[3] >> 19);
    return output;
}

/* Returns a number from 0 to n - 1; n is at least 1. */
uint64_t ts_prng_below(struct ts_prng *prng, uint64_t n);

/* Returns a number in the range; low is at most high. */
uint64_t ts_prng_in(struct ts_prng *prng, struct ts_prng_range range);

/* Returns a number in [0, 1). */
double ts_prng_unit(struct ts_prng *prng);

/* Returns true with this chance. The numerator is at most the denominator, which is not 0. */
bool ts_prng_chance(struct ts_prng *prng, struct ts_ratio ratio);

void ts_prng_fill(struct ts_prng *prng, void *ret_bytes, size_t len);

/* Shuffles the first count elements of array: every order is equally likely. */
#define ts_prng_shuffle(prng, array, count) ts_prng__shuffle((prng), (array), sizeof((array)[0]), (count))
void ts_prng__shuffle(struct ts_prng *prng, void *elements, size_t element_size, size_t count);

#endif
