/*
 * Operations of a transaction as JSON lines:
 *
 *   {"op":"put","key":"a","value":"1"}        also "value_hex":"00ff" for any bytes
 *   {"op":"del","key":"a"}
 *   {"op":"add","key":"n","delta":-1}         and "max":N (default: the largest 64-bit number)
 *   {"op":"check","key":"a","version":7}      0 is absent
 *   {"op":"before","time_ms":1767225600000}
 *
 * Keys are text, or any bytes as 0x and hexadecimal digits. Empty lines are ignored.
 */
#ifndef TS_CLI_OPS_H
#define TS_CLI_OPS_H

#include "exit_status.h"

#include "turnstone/store.h"

#include <stdio.h>

/* The operations that were read. The caller zero-initialises the struct and releases it. */
struct cli_ops {
    struct ts_op *ops;
    size_t count;
    size_t capacity;
    uint64_t *lines; /* line number of each operation */
    size_t line_capacity;
    void **memory; /* blocks of memory, which keys and values point into */
    size_t memory_count;
    size_t memory_capacity;
};

/* Reads all lines. On failure prints an error, which names the line if a line is wrong. */
enum cli_exit cli__ops_read(const char *verb, FILE *in, struct cli_ops *ret_ops);
void cli__ops_release(struct cli_ops *ops);

#endif
