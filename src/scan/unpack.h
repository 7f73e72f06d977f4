/*
 * The members of an archive: bytes in, members out, one after the other, with limits.
 *
 * An archive is known by its content and never by its name: zip (and so jar, war, whl, nupkg, docx, xlsx, apk), also behind a
 * program that unpacks it; tar; and gzip, bzip2, xz and zstd, with a tar or one file in them. libarchive reads them. Nothing of an
 * archive is believed: neither its names, nor its sizes, nor that it ends.
 */
#ifndef TS_SCAN_UNPACK_H
#define TS_SCAN_UNPACK_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stdint.h>

/* An archive may unpack to so many times its own size, or to RATIO_FLOOR, which is no burden. */
#define SCAN_ARCHIVE_RATIO       UINT64_C(1000)
#define SCAN_ARCHIVE_RATIO_FLOOR (UINT64_C(16) << 20)

enum scan_archive_kind {
    SCAN_ARCHIVE_NONE,
    SCAN_ARCHIVE_ZIP,
    SCAN_ARCHIVE_TAR,
    SCAN_ARCHIVE_COMPRESSED, /* a tar, or one file */
};

/* `start` is what the content begins with, 512 bytes or more, or all of it; `is_all`: it is all of it. */
enum scan_archive_kind scan__archive_kind(struct ts_bytes start, bool is_all);

/* What may still be unpacked of an archive and those in it. */
struct scan_archive_budget {
    uint64_t left;
};
struct scan_archive_budget scan__archive_budget(uint64_t archive_bytes, uint64_t size_max);

/* Each returns false to stop. */
struct scan_archive_sink {
    bool (*begin)(void *ctx, struct ts_bytes name); /* empty: the one file that is compressed */
    bool (*data)(void *ctx, struct ts_bytes bytes);
    bool (*end)(void *ctx);
    void *ctx;
};

enum scan_archive_end {
    SCAN_ARCHIVE_READ,
    SCAN_ARCHIVE_DAMAGED, /* or made in a way that is not known: some of it is not read */
    SCAN_ARCHIVE_OVER,    /* the budget: the rest is not read */
    SCAN_ARCHIVE_STOPPED, /* by the sink */
    SCAN_ARCHIVE_NO_LIBRARY,
    SCAN_ARCHIVE_NO_MEMORY,
};

#define SCAN_ARCHIVE_WHY_SIZE 160
struct scan_archive_result {
    enum scan_archive_end end;
    uint64_t encrypted;              /* members that are, and were left out */
    char why[SCAN_ARCHIVE_WHY_SIZE]; /* DAMAGED, NO_LIBRARY: the library's words, safe to print */
};

/* Members that cannot be read are left out and those behind them are read, where that is possible. */
struct scan_archive_result scan__archive_read(enum scan_archive_kind kind, struct ts_bytes archive,
                                              struct scan_archive_budget *budget,
                                              const struct scan_archive_sink *sink);

#endif
