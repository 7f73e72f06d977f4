/*
 * Reads the members of an archive one after the other, within limits.
 *
 * An archive is recognised by its content and never by its name: zip (and so jar, war, whl, nupkg, docx,
 * xlsx, apk), also after a program that unpacks it; tar; and gzip, bzip2, xz and zstd, with a tar or one file
 * in them. libarchive reads them, except the contents that zip.h reads. Nothing in an archive is trusted:
 * neither its names nor its sizes, and it may be endless.
 */
#ifndef TS_SCAN_UNPACK_H
#define TS_SCAN_UNPACK_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stdint.h>

/* An archive may unpack to SCAN_ARCHIVE_RATIO times its own size, and always to SCAN_ARCHIVE_RATIO_FLOOR
 * bytes. */
#define SCAN_ARCHIVE_RATIO       UINT64_C(1000)
#define SCAN_ARCHIVE_RATIO_FLOOR (UINT64_C(16) << 20)

enum scan_archive_kind {
    SCAN_ARCHIVE_NONE,
    SCAN_ARCHIVE_ZIP,
    SCAN_ARCHIVE_TAR,
    SCAN_ARCHIVE_COMPRESSED, /* a tar, or one file */
};

/* Returns the kind of archive that a content is. `start` is the beginning of the content: at least 512 bytes,
 * or the whole content. `is_all`: `start` is the whole content. */
enum scan_archive_kind scan__archive_kind(struct ts_bytes start, bool is_all);

/* The bytes that may still be unpacked from an archive and from archives in it. */
struct scan_archive_budget {
    uint64_t left;
};
struct scan_archive_budget scan__archive_budget(uint64_t archive_bytes, uint64_t size_max);

/* Receives the members of an archive. Each function returns false to stop the reading. */
struct scan_archive_sink {
    bool (*begin)(void *ctx, struct ts_bytes name); /* empty name: the archive is one compressed file */
    bool (*data)(void *ctx, struct ts_bytes bytes);
    bool (*end)(void *ctx);
    bool (*goes_on)(void *ctx); /* called during long work that passes nothing to the sink */
    void *ctx;
};

enum scan_archive_end {
    SCAN_ARCHIVE_READ,
    SCAN_ARCHIVE_DAMAGED, /* damaged or unsupported: a part was not read */
    SCAN_ARCHIVE_OVER,    /* the budget is used up: the rest was not read */
    SCAN_ARCHIVE_STOPPED, /* the sink stopped the reading */
    SCAN_ARCHIVE_NO_LIBRARY,
    SCAN_ARCHIVE_NO_MEMORY,
};

#define SCAN_ARCHIVE_WHY_SIZE 160
struct scan_archive_result {
    enum scan_archive_end end;
    uint64_t encrypted;              /* number of encrypted members, which are left out */
    char why[SCAN_ARCHIVE_WHY_SIZE]; /* for DAMAGED and NO_LIBRARY: the library's message, safe to print */
};

/* Reads all members of an archive. Skips members that cannot be read, and continues after them if
 * possible. */
struct scan_archive_result scan__archive_read(enum scan_archive_kind kind, struct ts_bytes archive,
                                              struct scan_archive_budget *budget,
                                              const struct scan_archive_sink *sink);

#endif
