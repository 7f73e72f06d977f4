/*
 * Numbers as bytes in little-endian (le) and big-endian (be) order, at any alignment. Big-endian unsigned
 * numbers sort like their bytes, which suits keys.
 */
#ifndef TS_BASE_ENDIAN_H
#define TS_BASE_ENDIAN_H

#include <stdint.h>
#include <string.h>

/* memcpy moves the whole number at once, because gcc 12 turns loads and stores of single bytes into slow
 * vector code. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define TS_ENDIAN__LE32(value) (value)
#define TS_ENDIAN__LE64(value) (value)
#else
#define TS_ENDIAN__LE32(value) __builtin_bswap32(value)
#define TS_ENDIAN__LE64(value) __builtin_bswap64(value)
#endif

static inline uint16_t ts_le16_load(const void *from) {
    const uint8_t *p = from;
    return (uint16_t)(p[0] | p[1] << 8);
}

static inline void ts_le16_store(uint16_t value, void *to) {
    uint8_t *p = to;
    p[0] = (uint8_t)(value);
    p[1] = (uint8_t)(value >> 8);
}

static inline uint32_t ts_le32_load(const void *from) {
    uint32_t stored;
    memcpy(&stored, from, sizeof stored);
    return TS_ENDIAN__LE32(stored);
}

static inline void ts_le32_store(uint32_t value, void *to) {
    const uint32_t stored = TS_ENDIAN__LE32(value);
    memcpy(to, &stored, sizeof stored);
}

static inline uint64_t ts_le64_load(const void *from) {
    uint64_t stored;
    memcpy(&stored, from, sizeof stored);
    return TS_ENDIAN__LE64(stored);
}

static inline void ts_le64_store(uint64_t value, void *to) {
    const uint64_t stored = TS_ENDIAN__LE64(value);
    memcpy(to, &stored, sizeof stored);
}

static inline uint16_t ts_be16_load(const void *from) {
    const uint8_t *p = from;
    return (uint16_t)(p[0] << 8 | p[1]);
}

static inline void ts_be16_store(uint16_t value, void *to) {
    uint8_t *p = to;
    p[0] = (uint8_t)(value >> 8);
    p[1] = (uint8_t)(value);
}

static inline uint32_t ts_be32_load(const void *from) {
    const uint8_t *p = from;
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | (uint32_t)p[3];
}

static inline void ts_be32_store(uint32_t value, void *to) {
    uint8_t *p = to;
    p[0] = (uint8_t)(value >> 24);
    p[1] = (uint8_t)(value >> 16);
    p[2] = (uint8_t)(value >> 8);
    p[3] = (uint8_t)(value);
}

static inline uint64_t ts_be64_load(const void *from) {
    const uint8_t *p = from;
    return (uint64_t)p[0] << 56 | (uint64_t)p[1] << 48 | (uint64_t)p[2] << 40 | (uint64_t)p[3] << 32 |
           (uint64_t)p[4] << 24 | (uint64_t)p[5] << 16 | (uint64_t)p[6] << 8 | (uint64_t)p[7];
}

static inline void ts_be64_store(uint64_t value, void *to) {
    uint8_t *p = to;
    p[0] = (uint8_t)(value >> 56);
    p[1] = (uint8_t)(value >> 48);
    p[2] = (uint8_t)(value >> 40);
    p[3] = (uint8_t)(value >> 32);
    p[4] = (uint8_t)(value >> 24);
    p[5] = (uint8_t)(value >> 16);
    p[6] = (uint8_t)(value >> 8);
    p[7] = (uint8_t)(value);
}

#endif
