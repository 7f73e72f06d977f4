/* Loads libarchive when the first archive is read: see os/late_library.h. */
#ifndef TS_SCAN_ARCHIVE_LATE_H
#define TS_SCAN_ARCHIVE_LATE_H

#include "os/late_library.h"

#include <archive.h>
#include <archive_entry.h>

#define SCAN_ARCHIVE_FUNCTIONS(X)                                                                            \
    X(archive_entry_hardlink)                                                                                \
    X(archive_entry_is_encrypted)                                                                            \
    X(archive_entry_pathname)                                                                                \
    X(archive_entry_pathname_utf8)                                                                           \
    X(archive_entry_size)                                                                                    \
    X(archive_entry_symlink)                                                                                 \
    X(archive_error_string)                                                                                  \
    X(archive_filter_bytes)                                                                                  \
    X(archive_read_data_block)                                                                               \
    X(archive_read_free)                                                                                     \
    X(archive_read_new)                                                                                      \
    X(archive_read_next_header)                                                                              \
    X(archive_read_open_memory)                                                                              \
    X(archive_read_set_format_option)                                                                        \
    X(archive_read_support_filter_bzip2)                                                                     \
    X(archive_read_support_filter_gzip)                                                                      \
    X(archive_read_support_filter_xz)                                                                        \
    X(archive_read_support_filter_zstd)                                                                      \
    X(archive_read_support_format_empty)                                                                     \
    X(archive_read_support_format_raw)                                                                       \
    X(archive_read_support_format_tar)                                                                       \
    X(archive_read_support_format_zip)

struct scan__archive_calls {
    SCAN_ARCHIVE_FUNCTIONS(TS_LATE_MEMBER)
};

extern struct scan__archive_calls scan__archive;
extern struct ts_late_library scan__archive_library;

#define archive_entry_hardlink            scan__archive.archive_entry_hardlink
#define archive_entry_is_encrypted        scan__archive.archive_entry_is_encrypted
#define archive_entry_pathname            scan__archive.archive_entry_pathname
#define archive_entry_pathname_utf8       scan__archive.archive_entry_pathname_utf8
#define archive_entry_size                scan__archive.archive_entry_size
#define archive_entry_symlink             scan__archive.archive_entry_symlink
#define archive_error_string              scan__archive.archive_error_string
#define archive_filter_bytes              scan__archive.archive_filter_bytes
#define archive_read_data_block           scan__archive.archive_read_data_block
#define archive_read_free                 scan__archive.archive_read_free
#define archive_read_new                  scan__archive.archive_read_new
#define archive_read_next_header          scan__archive.archive_read_next_header
#define archive_read_open_memory          scan__archive.archive_read_open_memory
#define archive_read_set_format_option    scan__archive.archive_read_set_format_option
#define archive_read_support_filter_bzip2 scan__archive.archive_read_support_filter_bzip2
#define archive_read_support_filter_gzip  scan__archive.archive_read_support_filter_gzip
#define archive_read_support_filter_xz    scan__archive.archive_read_support_filter_xz
#define archive_read_support_filter_zstd  scan__archive.archive_read_support_filter_zstd
#define archive_read_support_format_empty scan__archive.archive_read_support_format_empty
#define archive_read_support_format_raw   scan__archive.archive_read_support_format_raw
#define archive_read_support_format_tar   scan__archive.archive_read_support_format_tar
#define archive_read_support_format_zip   scan__archive.archive_read_support_format_zip

#endif
