/*
 * Encodes and decodes the records of a fleet. Every record has 4 bytes of magic, 1 byte of version, its
 * fields, and 8 bytes with the XXH64 of everything before them. Numbers are LEB128 in their shortest form, or
 * little-endian where they have a fixed size; a text is its length and its bytes.
 */
#ifndef TS_RUNTIME_CORE_FLEET_CODEC_H
#define TS_RUNTIME_CORE_FLEET_CODEC_H

#include "base/bytes.h"
#include "runtime/core/fleet_record.h"

enum { RUNTIME__RECORD_HEAD = 5, RUNTIME__RECORD_END = 8 };

/* Writes into the caller's memory. If a field does not fit, sets is_full, and writes no further field. */
struct runtime__writer {
    uint8_t *data;
    size_t len;
    size_t capacity;
    bool is_full;
};

/* Begins a record in the caller's memory. The capacity includes the checksum. */
struct runtime__writer runtime__begin(uint8_t *bytes, size_t capacity, const char magic[static 4]);
void runtime__put_byte(struct runtime__writer *writer, uint8_t byte);
void runtime__put_number(struct runtime__writer *writer, uint64_t number);
void runtime__put(struct runtime__writer *writer, struct ts_bytes bytes); /* writes no length */
void runtime__put_text(struct runtime__writer *writer, struct ts_bytes text);
void runtime__put_signed(struct runtime__writer *writer, int64_t number);

/* Adds the checksum. Returns the length of the record; 0 if the record did not fit. */
size_t runtime__seal(struct runtime__writer *writer);

/* Reads fields in order. After an invalid field, is_bad is true, and all further fields are 0. */
struct runtime__reader {
    struct ts_bytes rest;
    bool is_bad;
};

enum ts_fleet_error runtime__open(struct ts_bytes bytes, const char magic[static 4], size_t max,
                                  struct runtime__reader *ret_reader);
uint8_t runtime__take_byte(struct runtime__reader *reader, uint8_t max); /* a value above max is invalid */
uint64_t runtime__take_number(struct runtime__reader *reader);
uint32_t runtime__take_number32(struct runtime__reader *reader);
int64_t runtime__take_signed(struct runtime__reader *reader);
void runtime__take(struct runtime__reader *reader, uint8_t *ret_bytes, size_t len);
struct ts_bytes runtime__take_text(struct runtime__reader *reader, size_t max);

/* Returns OK if all fields were valid and no bytes are left. */
enum ts_fleet_error runtime__close(const struct runtime__reader *reader);

#endif
