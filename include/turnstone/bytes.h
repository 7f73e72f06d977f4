/*
 * A borrowed run of bytes. It owns nothing: whoever holds the memory decides how long it lives.
 *
 * data may be NULL when len is 0, everywhere; an empty run equals every other empty run.
 */
#ifndef TURNSTONE_BYTES_H
#define TURNSTONE_BYTES_H

#include <stddef.h>
#include <stdint.h>

struct ts_bytes {
    const uint8_t *data;
    size_t len;
};

#endif
