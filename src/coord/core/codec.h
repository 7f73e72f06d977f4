/* The frame of every record of this layer: magic, version, body, checksum. */
#ifndef TS_COORD_CORE_CODEC_H
#define TS_COORD_CORE_CODEC_H

#include "coord/core/record.h"

/* Writes magic and version into the first 5 bytes, and the checksum of the first len bytes after them.
 * Returns the length of the record. */
size_t coord__seal(uint8_t *bytes, size_t len, const char magic[static 4]);

/* Checks that bytes are an intact record of this kind with at least fixed_len bytes before the checksum. */
enum ts_record_error coord__open(struct ts_bytes bytes, const char magic[static 4], size_t fixed_len);

#endif
