#include "zip.h"

#include "base/endian.h"
#include "os/grow.h"

#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>

#define END_LEN          22
#define RECORD_LEN       46
#define HEADER_LEN       30
#define DEFLATED         8
/* Flags of members that libarchive must read: encrypted, size after the content, patch data, strong
 * encryption, encrypted headers. */
#define FLAGS_OTHER      (0x0001 | 0x0008 | 0x0020 | 0x0040 | 0x2000)
#define SIZE_MAX_32      UINT32_MAX         /* stands for a size that is stored elsewhere */
#define CONTENT_MAX      ((size_t)16 << 20) /* memory for one member */

/* Fields that a header and a record have in common, in this order: flags, method, time, date, CRC, compressed
 * size, size. */
#define COMMON_LEN       20
#define HEADER_COMMON_AT 6
#define RECORD_COMMON_AT 8

static int compare_headers(const void *a, const void *b) {
    const struct scan_zip_member *x = a;
    const struct scan_zip_member *y = b;
    return (x->header > y->header) - (x->header < y->header);
}

/* Reads the records of the list, from `from` to `to`. Returns false if a record is invalid, if the last
 * record does not end at `to`, or if two members have the same header. */
static bool read_list(struct scan_zip *zip, size_t from, size_t to, size_t count) {
    const uint8_t *bytes = zip->archive.data;
    size_t at = from;
    for (size_t i = 0; i < count; i++) {
        if (to - at < RECORD_LEN || memcmp(bytes + at, "PK\1\2", 4) != 0)
            return false;
        size_t len = RECORD_LEN + (size_t)ts_le16_load(bytes + at + 28) + ts_le16_load(bytes + at + 30) +
                     ts_le16_load(bytes + at + 32);
        if (to - at < len)
            return false;
        zip->members[i] = (struct scan_zip_member){ts_le32_load(bytes + at + 42), at};
        at += len;
    }
    if (at != to)
        return false;
    qsort(zip->members, count, sizeof *zip->members, compare_headers);
    for (size_t i = 1; i < count; i++)
        if (zip->members[i].header == zip->members[i - 1].header)
            return false;
    return true;
}

void scan__zip_init(struct scan_zip *zip, struct ts_bytes archive) {
    *zip = (struct scan_zip){.archive = archive};
    if (archive.len < END_LEN || archive.len >= SIZE_MAX_32)
        return;
    const uint8_t *end = archive.data + archive.len - END_LEN;
    size_t count = ts_le16_load(end + 10);
    size_t from = ts_le32_load(end + 16);
    size_t to = archive.len - END_LEN;
    bool is_plain = memcmp(end, "PK\5\6\0\0\0\0", 8) == 0 && ts_le16_load(end + 8) == count && count > 0 &&
                    count < UINT16_MAX && from < to && ts_le32_load(end + 12) == to - from &&
                    ts_le16_load(end + 20) == 0;
    zip->members = is_plain ? calloc(count, sizeof *zip->members) : NULL;
    if (zip->members == NULL || !read_list(zip, from, to, count))
        return;
    zip->inflater = libdeflate_alloc_decompressor();
    zip->count = zip->inflater != NULL ? count : 0;
}

void scan__zip_release(struct scan_zip *zip) {
    if (zip->inflater != NULL)
        libdeflate_free_decompressor(zip->inflater);
    free(zip->members);
    free(zip->buffer);
}

/* Finds the compressed content of a member. Returns false if the content is stored in another way, or if
 * header and record differ. */
static bool find_compressed(const struct scan_zip *zip, const struct scan_zip_member *member,
                            struct ts_bytes *ret_bytes) {
    struct ts_bytes archive = zip->archive;
    if (member->record < HEADER_LEN || member->header > member->record - HEADER_LEN)
        return false;
    const uint8_t *header = archive.data + member->header;
    const uint8_t *common = archive.data + member->record + RECORD_COMMON_AT;
    if (memcmp(header, "PK\3\4", 4) != 0 || memcmp(header + HEADER_COMMON_AT, common, COMMON_LEN) != 0 ||
        (ts_le16_load(common) & FLAGS_OTHER) != 0 || ts_le16_load(common + 2) != DEFLATED)
        return false;
    size_t len = ts_le32_load(common + 12);
    size_t at = member->header + HEADER_LEN + ts_le16_load(header + 26) + (size_t)ts_le16_load(header + 28);
    if (len == 0 || len == SIZE_MAX_32 || at > archive.len || archive.len - at < len)
        return false;
    *ret_bytes = ts_bytes_of(archive.data + at, len);
    return true;
}

bool scan__zip_content(struct scan_zip *zip, size_t index, uint64_t size, struct ts_bytes *ret_content) {
    struct ts_bytes from;
    if (index >= zip->count || size == 0 || size > CONTENT_MAX ||
        !find_compressed(zip, &zip->members[index], &from))
        return false;
    const uint8_t *common = zip->archive.data + zip->members[index].record + RECORD_COMMON_AT;
    size_t len = (size_t)size;
    size_t used;
    if (ts_le32_load(common + 16) != size || !TS_GROW(zip->buffer, zip->capacity, len) ||
        libdeflate_deflate_decompress_ex(zip->inflater, from.data, from.len, zip->buffer, len, &used, NULL) !=
            LIBDEFLATE_SUCCESS ||
        used != from.len || libdeflate_crc32(0, zip->buffer, len) != ts_le32_load(common + 8))
        return false;
    *ret_content = ts_bytes_of(zip->buffer, len);
    return true;
}
