/*
 * Arithmetic that detects overflow. The checked functions set *ret and return true, or leave *ret unchanged
 * and return false. The saturating functions return the nearest end of the range on overflow.
 */
#ifndef TS_BASE_CHECKED_H
#define TS_BASE_CHECKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TS_MUST_CHECK __attribute__((warn_unused_result))

static inline TS_MUST_CHECK bool ts_checked_add_size(size_t a, size_t b, size_t *ret) {
    size_t result;
    if (__builtin_add_overflow(a, b, &result))
        return false;
    *ret = result;
    return true;
}

static inline TS_MUST_CHECK bool ts_checked_add_u64(uint64_t a, uint64_t b, uint64_t *ret) {
    uint64_t result;
    if (__builtin_add_overflow(a, b, &result))
        return false;
    *ret = result;
    return true;
}

static inline TS_MUST_CHECK bool ts_checked_add_i64(int64_t a, int64_t b, int64_t *ret) {
    int64_t result;
    if (__builtin_add_overflow(a, b, &result))
        return false;
    *ret = result;
    return true;
}

static inline TS_MUST_CHECK bool ts_checked_sub_size(size_t a, size_t b, size_t *ret) {
    size_t result;
    if (__builtin_sub_overflow(a, b, &result))
        return false;
    *ret = result;
    return true;
}

static inline TS_MUST_CHECK bool ts_checked_mul_size(size_t a, size_t b, size_t *ret) {
    size_t result;
    if (__builtin_mul_overflow(a, b, &result))
        return false;
    *ret = result;
    return true;
}

static inline TS_MUST_CHECK bool ts_checked_mul_u64(uint64_t a, uint64_t b, uint64_t *ret) {
    uint64_t result;
    if (__builtin_mul_overflow(a, b, &result))
        return false;
    *ret = result;
    return true;
}

/* Narrowing: ts_narrow_<from>_<to> converts a number to another type, if that type can hold it. */

static inline TS_MUST_CHECK bool ts_narrow_u64_size(uint64_t value, size_t *ret) {
    size_t result;
    if (__builtin_add_overflow(value, 0, &result))
        return false;
    *ret = result;
    return true;
}

static inline TS_MUST_CHECK bool ts_narrow_i64_size(int64_t value, size_t *ret) {
    size_t result;
    if (__builtin_add_overflow(value, 0, &result))
        return false;
    *ret = result;
    return true;
}

static inline uint64_t ts_saturating_add_u64(uint64_t a, uint64_t b) {
    uint64_t result;
    return __builtin_add_overflow(a, b, &result) ? UINT64_MAX : result;
}

static inline uint64_t ts_saturating_sub_u64(uint64_t a, uint64_t b) {
    uint64_t result;
    return __builtin_sub_overflow(a, b, &result) ? 0 : result;
}

static inline uint64_t ts_saturating_mul_u64(uint64_t a, uint64_t b) {
    uint64_t result;
    return __builtin_mul_overflow(a, b, &result) ? UINT64_MAX : result;
}

#endif
