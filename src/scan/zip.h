/*
 * Inflates members of zips with libdeflate. libarchive uses zlib, which takes three times as long.
 *
 * libarchive still reads the list of members and their headers. This file inflates only the contents of
 * unambiguous members: the list is complete, is at the end of the file, and agrees with the header of the
 * member; nothing is encrypted or has a size of more than 32 bits; size and checksum are right. libarchive
 * reads the contents of all other members.
 */
#ifndef TS_SCAN_ZIP_H
#define TS_SCAN_ZIP_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stdint.h>

struct libdeflate_decompressor;

struct scan_zip_member {
    size_t header; /* offset of the header of the member */
    size_t record; /* offset of the member's record in the list at the end */
};

struct scan_zip {
    struct ts_bytes archive;
    struct scan_zip_member *members; /* in the order of their headers, as libarchive returns them */
    size_t count;                    /* 0: the list is ambiguous */
    struct libdeflate_decompressor *inflater;
    uint8_t *buffer;
    size_t capacity;
};

/* Reads the list of members. If memory runs out, the list is empty, and libarchive reads everything. */
void scan__zip_init(struct scan_zip *zip, struct ts_bytes archive);
void scan__zip_release(struct scan_zip *zip);

/* Inflates the content of the member with this index, if it has this size. The content is valid until the
 * next call. Returns false if libarchive must read the member. */
bool scan__zip_content(struct scan_zip *zip, size_t index, uint64_t size, struct ts_bytes *ret_content);

#endif
