#include "classify.h"

#include "base/assert.h"

#if defined(__x86_64__)
#include <immintrin.h>
#define HAS_X86 1
#else
#define HAS_X86 0
#endif

#define ROW10(first)                                                                                         \
    [first] = 3, [first + 1] = 3, [first + 2] = 3, [first + 3] = 3, [first + 4] = 3, [first + 5] = 3,        \
    [first + 6] = 3, [first + 7] = 3, [first + 8] = 3, [first + 9] = 3
#define ROW13(first)                                                                                         \
    [first] = 1, [first + 1] = 1, [first + 2] = 1, [first + 3] = 1, [first + 4] = 1, [first + 5] = 1,        \
    [first + 6] = 1, [first + 7] = 1, [first + 8] = 1, [first + 9] = 1, [first + 10] = 1, [first + 11] = 1,  \
    [first + 12] = 1

const uint8_t detect__is_token[256] = {
    ROW10('0'), ROW13('A'), ROW13('N'), ROW13('a'), ROW13('n'), ['_'] = 1,
    ['+'] = 1,  ['/'] = 1,  ['='] = 1,  ['.'] = 1,  ['-'] = 1,
};

static void classify_portable(const uint8_t *bytes, size_t blocks, struct detect_masks *ret_masks) {
    for (size_t block = 0; block < blocks; block++, bytes += 64) {
        struct detect_masks masks = {0};
        for (unsigned i = 0; i < 64; i++) {
            uint64_t kind = detect__is_token[bytes[i]];
            masks.token |= (kind & 1) << i;
            masks.digit |= (kind >> 1) << i;
            masks.zero |= (uint64_t)(bytes[i] == 0) << i;
        }
        ret_masks[block] = masks;
    }
}

#if HAS_X86

/* A range test is one saturating subtraction: x is in [low, low + width] if (x - low) - width saturates to 0. */
static inline __m128i in_range_sse2(__m128i x, char low, char width) {
    __m128i moved = _mm_sub_epi8(x, _mm_set1_epi8(low));
    return _mm_cmpeq_epi8(_mm_subs_epu8(moved, _mm_set1_epi8(width)), _mm_setzero_si128());
}

static void classify_sse2(const uint8_t *bytes, size_t blocks, struct detect_masks *ret_masks) {
    for (size_t block = 0; block < blocks; block++, bytes += 64) {
        struct detect_masks masks = {0};
        for (size_t part = 0; part < 4; part++) {
            __m128i x = _mm_loadu_si128((const void *)(bytes + 16 * part));
            __m128i digit = in_range_sse2(x, '0', 9);
            __m128i letter = in_range_sse2(_mm_or_si128(x, _mm_set1_epi8(0x20)), 'a', 25);
            __m128i sign = _mm_or_si128(in_range_sse2(x, '-', 2), _mm_cmpeq_epi8(x, _mm_set1_epi8('+')));
            __m128i other =
                _mm_or_si128(_mm_cmpeq_epi8(x, _mm_set1_epi8('_')), _mm_cmpeq_epi8(x, _mm_set1_epi8('=')));
            __m128i token = _mm_or_si128(_mm_or_si128(digit, letter), _mm_or_si128(sign, other));
            __m128i zero = _mm_cmpeq_epi8(x, _mm_setzero_si128());
            masks.token |= (uint64_t)(uint32_t)_mm_movemask_epi8(token) << (16 * part);
            masks.digit |= (uint64_t)(uint32_t)_mm_movemask_epi8(digit) << (16 * part);
            masks.zero |= (uint64_t)(uint32_t)_mm_movemask_epi8(zero) << (16 * part);
        }
        ret_masks[block] = masks;
    }
}

/*
 * Two lookups by nibble: a byte is a token character when the sets of its high and low nibble share a bit.
 *     1 digits: high 3, low 0-9     2 '=': high 3, low d      4 A-O a-o: high 4 6, low 1-f
 *     8 P-Z p-z: high 5 7, low 0-a  16 '_': high 5, low f     32 + - . /: high 2, low b d e f
 *
 * vpshufb returns 0 for bytes of 128 and above, which are never token characters.
 */
#define LOW_SETS                                                                                             \
    _mm_setr_epi8(1 + 8, 1 + 4 + 8, 1 + 4 + 8, 1 + 4 + 8, 1 + 4 + 8, 1 + 4 + 8, 1 + 4 + 8, 1 + 4 + 8,        \
                  1 + 4 + 8, 1 + 4 + 8, 4 + 8, 4 + 32, 4, 2 + 4 + 32, 4 + 32, 4 + 16 + 32)
#define HIGH_SETS _mm_setr_epi8(0, 0, 32, 1 + 2, 4, 8 + 16, 4, 8, 0, 0, 0, 0, 0, 0, 0, 0)

__attribute__((target("avx2"))) static void classify_avx2(const uint8_t *bytes, size_t blocks,
                                                          struct detect_masks *ret_masks) {
    const __m256i low_sets = _mm256_broadcastsi128_si256(LOW_SETS);
    const __m256i high_sets = _mm256_broadcastsi128_si256(HIGH_SETS);
    const __m256i nibble = _mm256_set1_epi8(15);
    const __m256i zero = _mm256_setzero_si256();
    for (size_t block = 0; block < blocks; block++, bytes += 64) {
        uint32_t token[2];
        uint32_t digit[2];
        uint32_t zeros[2];
        for (size_t part = 0; part < 2; part++) {
            __m256i x = _mm256_loadu_si256((const void *)(bytes + 32 * part));
            __m256i high = _mm256_and_si256(_mm256_srli_epi16(x, 4), nibble);
            __m256i sets =
                _mm256_and_si256(_mm256_shuffle_epi8(low_sets, x), _mm256_shuffle_epi8(high_sets, high));
            token[part] = ~(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(sets, zero));
            digit[part] = (uint32_t)_mm256_movemask_epi8(_mm256_slli_epi16(sets, 7));
            zeros[part] = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(x, zero));
        }
        ret_masks[block] = (struct detect_masks){.token = (uint64_t)token[1] << 32 | token[0],
                                                 .digit = (uint64_t)digit[1] << 32 | digit[0],
                                                 .zero = (uint64_t)zeros[1] << 32 | zeros[0]};
    }
}

/* Like classify_avx2, but AVX-512 comparisons return bit masks directly. */
__attribute__((target("avx512bw"))) static void classify_avx512(const uint8_t *bytes, size_t blocks,
                                                                struct detect_masks *ret_masks) {
    const __m512i low_sets = _mm512_broadcast_i32x4(LOW_SETS);
    const __m512i high_sets = _mm512_broadcast_i32x4(HIGH_SETS);
    const __m512i nibble = _mm512_set1_epi8(15);
    const __m512i digit = _mm512_set1_epi8(1);
    for (size_t block = 0; block < blocks; block++, bytes += 64) {
        __m512i x = _mm512_loadu_si512(bytes);
        __m512i high = _mm512_and_si512(_mm512_srli_epi16(x, 4), nibble);
        __m512i in_low = _mm512_shuffle_epi8(low_sets, x);
        __m512i in_high = _mm512_shuffle_epi8(high_sets, high);
        ret_masks[block] =
            (struct detect_masks){.token = _mm512_test_epi8_mask(in_low, in_high),
                                  .digit = _mm512_test_epi8_mask(_mm512_and_si512(in_low, in_high), digit),
                                  .zero = _mm512_testn_epi8_mask(x, x)};
    }
}

#endif

detect_classify *detect__classify_way(enum detect_classify_way way) {
    switch (way) {
    case DETECT_CLASSIFY_PORTABLE:
        return classify_portable;
    case DETECT_CLASSIFY_SSE2:
#if HAS_X86
        return classify_sse2;
#else
        return NULL;
#endif
    case DETECT_CLASSIFY_AVX2:
#if HAS_X86
        return __builtin_cpu_supports("avx2") ? classify_avx2 : NULL;
#else
        return NULL;
#endif
    case DETECT_CLASSIFY_AVX512:
#if HAS_X86
        return __builtin_cpu_supports("avx512bw") ? classify_avx512 : NULL;
#else
        return NULL;
#endif
    case DETECT_CLASSIFY_WAYS:
        break;
    }
    return NULL;
}

detect_classify *detect__classify_choose(void) {
    for (int way = DETECT_CLASSIFY_WAYS - 1; way > DETECT_CLASSIFY_PORTABLE; way--) {
        detect_classify *found = detect__classify_way((enum detect_classify_way)way);
        if (found)
            return found;
    }
    return classify_portable;
}
