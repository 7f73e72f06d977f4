/*
 * Reading from file descriptors.
 */
#ifndef TS_OS_READ_H
#define TS_OS_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads until the buffer is full or the input ends: if *ret_len is below `size`, the input has ended. Returns
 * false with errno if a read fails. */
__attribute__((warn_unused_result)) bool ts_read_up_to(int fd, void *buffer, size_t size, size_t *ret_len);

/* Reads until the input ends or more than `max` bytes are read: if *ret_len is larger than `max`, the input is
 * too large. The caller frees *ret_bytes. Returns false with errno if a read fails or memory runs out. */
__attribute__((warn_unused_result)) bool ts_read_all(int fd, size_t max, uint8_t **ret_bytes,
                                                     size_t *ret_len);

#endif
