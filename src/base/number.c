#include "base/number.h"

#include "base/assert.h"
#include "base/endian.h"

#include <stdbool.h>
#include <string.h>

enum {
    DIGITS_SAFE = 19, /* every number of 19 digits fits in 64 bits */
    DIGITS_MAX = 20,
};

static bool is_digit(uint8_t c) {
    return (uint8_t)(c - '0') <= 9;
}

/* Returns whether all 8 bytes are digits: the high nibble of each byte is 3, and is still 3 after adding 6
 * (which turns ':' to '?' into 4x). */
static bool are_8_digits(uint64_t chunk) {
    const uint64_t high = UINT64_C(0xf0f0f0f0f0f0f0f0);
    uint64_t carried = chunk + UINT64_C(0x0606060606060606);
    return ((chunk & high) | ((carried & high) >> 4)) == UINT64_C(0x3333333333333333);
}

/* Returns the value of 8 digits, the first in the lowest byte. Neighbouring digits are joined to pairs, then
 * to fours, then to all eight. */
static uint64_t value_of_8_digits(uint64_t chunk) {
    chunk -= UINT64_C(0x3030303030303030);
    chunk = (chunk * 10 + (chunk >> 8)) & UINT64_C(0x00ff00ff00ff00ff);
    chunk = (chunk * 100 + (chunk >> 16)) & UINT64_C(0x0000ffff0000ffff);
    return (chunk * 10000 + (chunk >> 32)) & UINT64_C(0xffffffff);
}

static bool are_digits(const uint8_t *at, const uint8_t *end) {
    while (at < end && is_digit(*at))
        at++;
    return at == end;
}

/* Parses one or more digits. */
static enum ts_number_error parse_digits(struct ts_bytes text, uint64_t *ret) {
    const uint8_t *at = text.data;
    const uint8_t *end = at + text.len;
    while (at < end && *at == '0')
        at++;
    if (end - at > DIGITS_MAX)
        return are_digits(at, end) ? TS_NUMBER_OUT_OF_RANGE : TS_NUMBER_NOT_A_NUMBER;

    const uint8_t *safe_end = end - at > DIGITS_SAFE ? at + DIGITS_SAFE : end;
    uint64_t value = 0;
    for (; safe_end - at >= 8; at += 8) {
        uint64_t chunk = ts_le64_load(at);
        if (!are_8_digits(chunk))
            return TS_NUMBER_NOT_A_NUMBER;
        value = value * 100000000 + value_of_8_digits(chunk);
    }
    for (; at < safe_end; at++) {
        if (!is_digit(*at))
            return TS_NUMBER_NOT_A_NUMBER;
        value = value * 10 + (uint64_t)(*at - '0');
    }
    if (at < end) {
        if (!is_digit(*at))
            return TS_NUMBER_NOT_A_NUMBER;
        if (__builtin_mul_overflow(value, UINT64_C(10), &value) ||
            __builtin_add_overflow(value, (uint64_t)(*at - '0'), &value))
            return TS_NUMBER_OUT_OF_RANGE;
    }
    *ret = value;
    return TS_NUMBER_OK;
}

enum ts_number_error ts_u64_parse(struct ts_bytes text, uint64_t *ret) {
    if (text.len == 0)
        return TS_NUMBER_EMPTY;
    return parse_digits(text, ret);
}

enum ts_number_error ts_u32_parse(struct ts_bytes text, uint32_t *ret) {
    uint64_t value;
    enum ts_number_error error = ts_u64_parse(text, &value);
    if (error != TS_NUMBER_OK)
        return error;
    if (value > UINT32_MAX)
        return TS_NUMBER_OUT_OF_RANGE;
    *ret = (uint32_t)value;
    return TS_NUMBER_OK;
}

enum ts_number_error ts_id_parse(struct ts_bytes text, uint64_t *ret_bits) {
    if (text.len == 0)
        return TS_NUMBER_EMPTY;
    if (text.data[0] != '-')
        return parse_digits(text, ret_bits);
    if (text.len == 1)
        return TS_NUMBER_NOT_A_NUMBER;
    uint64_t magnitude;
    enum ts_number_error error = parse_digits(ts_bytes_skip(text, 1), &magnitude);
    if (error != TS_NUMBER_OK)
        return error;
    if (magnitude > UINT64_C(1) << 63)
        return TS_NUMBER_OUT_OF_RANGE;
    *ret_bits = 0 - magnitude;
    return TS_NUMBER_OK;
}

enum ts_number_error ts_i64_parse(struct ts_bytes text, int64_t *ret) {
    uint64_t bits;
    enum ts_number_error error = ts_id_parse(text, &bits);
    if (error != TS_NUMBER_OK)
        return error;
    if (text.data[0] != '-' && bits > INT64_MAX)
        return TS_NUMBER_OUT_OF_RANGE;
    *ret = (int64_t)bits;
    return TS_NUMBER_OK;
}

static size_t count_digits(uint64_t value) {
    size_t count = 1;
    for (; value >= 10000; value /= 10000)
        count += 4;
    return count + (value >= 10) + (value >= 100) + (value >= 1000);
}

size_t ts_u64_format(uint64_t value, char ret_text[static TS_NUMBER_TEXT_SIZE]) {
    static const char pairs[] = "00010203040506070809101112131415161718192021222324"
                                "25262728293031323334353637383940414243444546474849"
                                "50515253545556575859606162636465666768697071727374"
                                "75767778798081828384858687888990919293949596979899";
    size_t len = count_digits(value);
    char *at = ret_text + len;
    *at = '\0';
    for (; value >= 100; value /= 100) {
        at -= 2;
        memcpy(at, pairs + 2 * (value % 100), 2);
    }
    if (value >= 10)
        memcpy(at - 2, pairs + 2 * value, 2);
    else
        at[-1] = (char)('0' + (char)value);
    return len;
}

size_t ts_i64_format(int64_t value, char ret_text[static TS_NUMBER_TEXT_SIZE]) {
    if (value >= 0)
        return ts_u64_format((uint64_t)value, ret_text);
    char magnitude[TS_NUMBER_TEXT_SIZE];
    size_t len = ts_u64_format(0 - (uint64_t)value, magnitude);
    ret_text[0] = '-';
    memcpy(ret_text + 1, magnitude, len + 1);
    return len + 1;
}

size_t ts_size_format(uint64_t bytes, char ret_text[static TS_SIZE_TEXT_SIZE]) {
    static const char *const units[] = {" kB", " MB", " GB", " TB", " PB", " EB"};
    enum { UNITS = sizeof units / sizeof units[0] };
    char digits[TS_NUMBER_TEXT_SIZE];
    const char *unit_text = bytes == 1 ? " byte" : " bytes";
    size_t len = 0;
    if (bytes < 1000) {
        len = ts_u64_format(bytes, digits);
        memcpy(ret_text, digits, len);
    } else {
        /* Computes in tenths of a unit, rounded. */
        uint64_t unit_bytes = 1000;
        size_t unit = 0;
        while (unit + 1 < UNITS && bytes / unit_bytes >= 1000) {
            unit_bytes *= 1000;
            unit++;
        }
        uint64_t tenth_bytes = unit_bytes / 10;
        uint64_t tenths = bytes / tenth_bytes + (bytes % tenth_bytes >= tenth_bytes / 2 ? 1 : 0);
        if (tenths >= 10000 && unit + 1 < UNITS) {
            tenths /= 1000;
            unit++;
        }
        len = ts_u64_format(tenths / 10, digits);
        memcpy(ret_text, digits, len);
        ret_text[len++] = '.';
        ret_text[len++] = (char)('0' + (char)(tenths % 10));
        unit_text = units[unit];
    }
    size_t unit_len = strlen(unit_text);
    memcpy(ret_text + len, unit_text, unit_len + 1);
    return len + unit_len;
}
