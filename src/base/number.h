/*
 * Decimal numbers as text, read strictly.
 *
 * Parsing accepts decimal digits; leading zeros are allowed, and signed kinds allow one leading '-'. Anything
 * else (a '+', blanks, another base, grouping) is an error. "Not a number" and "out of range" are different
 * errors; a text to which both apply is not a number. Outputs are unchanged on failure.
 */
#ifndef TS_BASE_NUMBER_H
#define TS_BASE_NUMBER_H

#include "base/bytes.h"

#include <stddef.h>
#include <stdint.h>

enum ts_number_error {
    TS_NUMBER_OK,
    TS_NUMBER_EMPTY,
    TS_NUMBER_NOT_A_NUMBER,
    TS_NUMBER_OUT_OF_RANGE,
};

enum ts_number_error ts_u64_parse(struct ts_bytes text, uint64_t *ret);
enum ts_number_error ts_u32_parse(struct ts_bytes text, uint32_t *ret);
enum ts_number_error ts_i64_parse(struct ts_bytes text, int64_t *ret);

/*
 * Parses a 64-bit id, written signed or unsigned: -9223372036854775808 to 18446744073709551615. Sets
 * *ret_bits to its 64 bits; a negative number is in two's complement, so -1 and 18446744073709551615 are the
 * same id.
 */
enum ts_number_error ts_id_parse(struct ts_bytes text, uint64_t *ret_bits);

/* Room for any number of the next two functions, with its terminator. */
#define TS_NUMBER_TEXT_SIZE 21

/* Write the number and a terminator; return the length without the terminator. */
size_t ts_u64_format(uint64_t value, char ret_text[static TS_NUMBER_TEXT_SIZE]);
size_t ts_i64_format(int64_t value, char ret_text[static TS_NUMBER_TEXT_SIZE]);

/* Room for any text of ts_size_format, with its terminator. */
#define TS_SIZE_TEXT_SIZE 16
/* Writes a size for people, in units that are powers of 1000, such as "999 bytes", "1 byte" or "91.4 MB".
 * Returns the length of the text. */
size_t ts_size_format(uint64_t bytes, char ret_text[static TS_SIZE_TEXT_SIZE]);

#endif
