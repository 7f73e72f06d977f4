/*
 * Shards as JSON lines:
 *
 *   {"start":"a","end":"m"}     and optionally "metadata":"…", "id":N, "key":"…" and "token":"…" of a cursor
 *
 * Keys, tokens and metadata are text, or any bytes as 0x and hexadecimal digits. A missing or empty bound
 * means unbounded. Empty lines are ignored.
 */
#ifndef TS_CLI_SHARDS_FILE_H
#define TS_CLI_SHARDS_FILE_H

#include "exit_status.h"

#include "coord/core/hash.h"

/* The shards that were read. The caller zero-initialises the struct and releases it. */
struct cli_shards {
    struct ts_new_shard *list;
    size_t count;
    size_t capacity;
    void **memory; /* blocks of memory, which the shards point into */
    size_t memory_count;
    size_t memory_capacity;
};

/* Reads a file, or standard input if `path` is "-". On failure prints an error, which names the line if a
 * line is wrong. */
enum cli_exit cli__shards_read(const char *verb, const char *path, struct cli_shards *ret_shards);
void cli__shards_release(struct cli_shards *shards);

#endif
