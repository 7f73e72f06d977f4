#include "unpack.h"

#include "archive_late.h"
#include "zip.h"

#include "base/redact.h"

#include <stdio.h>
#include <string.h>
#include <zlib.h>

#define TAR_BLOCK      512
#define ZIP_END_LEN    22
#define MEMBER_COST    512 /* bytes of the budget that each member costs in addition to its content */
#define NAME_BYTES_MAX 4096
#define PIECE          ((size_t)256 << 10) /* size of the pieces that the sink gets, as from libarchive */

/* ---- kinds ---- */

struct magic {
    const char *bytes;
    size_t len;
    enum scan_archive_kind kind;
};

#define ZSTD_MAGIC "\x28\xb5\x2f\xfd"
#define MAGIC(text, kind)                                                                                    \
    { text, sizeof(text) - 1, kind }
static const struct magic magics[] = {
    MAGIC("PK\3\4", SCAN_ARCHIVE_ZIP),
    MAGIC("PK\5\6", SCAN_ARCHIVE_ZIP),
    MAGIC("PK00PK\3\4", SCAN_ARCHIVE_ZIP),
    MAGIC("\x1f\x8b\x08", SCAN_ARCHIVE_COMPRESSED),
    MAGIC("\xfd"
          "7zXZ\0",
          SCAN_ARCHIVE_COMPRESSED),
    MAGIC(ZSTD_MAGIC, SCAN_ARCHIVE_COMPRESSED),
};

/* Returns whether the content is bzip2. A text may also begin with "BZh9". In bzip2, digits of pi follow
 * these four bytes; if the file is empty, digits of the square root of pi. */
static bool is_bzip2(struct ts_bytes start) {
    return start.len >= 10 && memcmp(start.data, "BZh", 3) == 0 && start.data[3] >= '1' &&
           start.data[3] <= '9' &&
           (memcmp(start.data + 4, "1AY&SY", 6) == 0 ||
            memcmp(start.data + 4, "\x17\x72\x45\x38\x50\x90", 6) == 0);
}

/* A zstd file may begin with frames that decoders skip, as files of pzstd do; libarchive does not recognise
 * such a file. Returns the bytes after these frames, or all bytes if no zstd frame follows them. */
static struct ts_bytes after_skipped_frames(struct ts_bytes start) {
    struct ts_bytes rest = start;
    while (rest.len >= 8 && (rest.data[0] & 0xf0) == 0x50 && memcmp(rest.data + 1, "\x2a\x4d\x18", 3) == 0) {
        uint64_t len = 8 + ((uint64_t)rest.data[4] | (uint64_t)rest.data[5] << 8 |
                            (uint64_t)rest.data[6] << 16 | (uint64_t)rest.data[7] << 24);
        if (len > rest.len)
            return start;
        rest = ts_bytes_of(rest.data + len, rest.len - (size_t)len);
    }
    return rest.len >= 4 && memcmp(rest.data, ZSTD_MAGIC, 4) == 0 ? rest : start;
}

static bool is_gzip(struct ts_bytes start) {
    return start.len >= 3 && memcmp(start.data, "\x1f\x8b\x08", 3) == 0;
}

/* Returns whether the checksum of the header is right. The bytes of the checksum itself count as blanks. Tars
 * from before 1988 have no other mark. */
static bool has_tar_sum(const uint8_t *header) {
    uint32_t said = 0;
    uint32_t sum = 0;
    size_t digits = 0;
    size_t at = 148;
    while (at < 154 && header[at] == ' ')
        at++;
    for (; at < 156 && header[at] >= '0' && header[at] <= '7'; at++, digits++)
        said = said * 8 + (uint32_t)(header[at] - '0');
    if (digits == 0 || (at < 156 && header[at] != ' ' && header[at] != 0))
        return false;
    for (size_t i = 0; i < TAR_BLOCK; i++)
        sum += i >= 148 && i < 156 ? ' ' : header[i];
    return sum == said;
}

static bool is_tar(struct ts_bytes start) {
    return start.len >= TAR_BLOCK && start.data[0] != 0 &&
           (start.data[155] == ' ' || start.data[155] == 0 || start.data[154] == 0) &&
           has_tar_sum(start.data);
}

/* Returns whether the content ends as a zip. A zip is read from its end, so there may be a program
 * before it. */
static bool ends_as_zip(struct ts_bytes all) {
    const uint8_t *end = all.data + all.len - (all.len >= ZIP_END_LEN ? ZIP_END_LEN : 0);
    return all.len >= ZIP_END_LEN && memcmp(end, "PK\5\6", 4) == 0 && end[20] == 0 && end[21] == 0;
}

enum scan_archive_kind scan__archive_kind(struct ts_bytes start, bool is_all) {
    start = after_skipped_frames(start);
    for (size_t i = 0; i < sizeof magics / sizeof magics[0]; i++)
        if (start.len >= magics[i].len && memcmp(start.data, magics[i].bytes, magics[i].len) == 0)
            return magics[i].kind;
    return is_bzip2(start)                ? SCAN_ARCHIVE_COMPRESSED
           : is_tar(start)                ? SCAN_ARCHIVE_TAR
           : is_all && ends_as_zip(start) ? SCAN_ARCHIVE_ZIP
                                          : SCAN_ARCHIVE_NONE;
}

/* ---- the budget ---- */

struct scan_archive_budget scan__archive_budget(uint64_t archive_bytes, uint64_t size_max) {
    uint64_t by_ratio =
        archive_bytes > UINT64_MAX / SCAN_ARCHIVE_RATIO ? UINT64_MAX : archive_bytes * SCAN_ARCHIVE_RATIO;
    by_ratio = by_ratio > SCAN_ARCHIVE_RATIO_FLOOR ? by_ratio : SCAN_ARCHIVE_RATIO_FLOOR;
    return (struct scan_archive_budget){by_ratio < size_max ? by_ratio : size_max};
}

static bool spend(struct scan_archive_budget *budget, uint64_t bytes) {
    bool has_room = bytes <= budget->left;
    budget->left -= has_room ? bytes : budget->left;
    return has_room;
}

/* ---- members ---- */

/* Returns whether a zip has the record at the end of its list of members, which only a comment of up to 64
 * KiB may follow. Without the list, the number of members is unknown. */
static bool has_zip_end(struct ts_bytes archive) {
    size_t most = ZIP_END_LEN + UINT16_MAX;
    size_t from = archive.len > most ? archive.len - most : 0;
    return memmem(archive.data + from, archive.len - from, "PK\5\6", 4) != NULL;
}

struct reading {
    struct archive *archive;
    enum scan_archive_kind kind;
    struct scan_archive_budget *budget;
    const struct scan_archive_sink *sink;
    struct scan_archive_result result;
    struct scan_zip zip; /* has no members for archives of other kinds */
    size_t member_count; /* members that the library has returned */
};

static void note_why(struct reading *r) {
    const char *why = archive_error_string(r->archive);
    if (r->result.end == SCAN_ARCHIVE_DAMAGED)
        return; /* only the first reason is reported */
    r->result.end = SCAN_ARCHIVE_DAMAGED;
    (void)ts_text_escape(ts_bytes_of_cstring(why != NULL ? why : "no reason is given"), r->result.why,
                         sizeof r->result.why);
}

/* Returns the name of a member in UTF-8, or the bytes of the name if they are not valid UTF-8. Drops "./" and
 * "/" at the start. */
static struct ts_bytes name_of(const struct reading *r, struct archive_entry *entry) {
    const char *name = archive_entry_pathname_utf8(entry);
    if (name == NULL)
        name = archive_entry_pathname(entry);
    if (name == NULL)
        name = "?";
    if (r->kind == SCAN_ARCHIVE_COMPRESSED && strcmp(name, "data") == 0)
        return TS_BYTES(""); /* libarchive's name for a file without a name */
    while (name[0] == '/' || (name[0] == '.' && name[1] == '/'))
        name++;
    struct ts_bytes bytes = ts_bytes_of_cstring(name[0] == '\0' ? "?" : name);
    bytes.len = bytes.len < NAME_BYTES_MAX ? bytes.len : NAME_BYTES_MAX;
    return bytes;
}

/* If !is_fine, records `otherwise` as the end of reading, unless the sink has stopped it. Returns is_fine. */
static bool go_on(struct reading *r, enum scan_archive_end otherwise, bool is_fine) {
    if (!is_fine && r->result.end != SCAN_ARCHIVE_STOPPED)
        r->result.end = otherwise;
    return is_fine;
}

/* Inflates a member of a zip without libarchive, and passes the content to the sink in pieces: the sink may
 * stop after each piece. Returns false if libarchive must read the member. */
static bool read_inflated(struct reading *r, struct archive_entry *entry, bool *ret_goes_on) {
    struct ts_bytes content;
    la_int64_t size = archive_entry_size(entry);
    if (size <= 0 || (uint64_t)size > r->budget->left || archive_entry_symlink(entry) != NULL ||
        !scan__zip_content(&r->zip, r->member_count - 1, (uint64_t)size, &content))
        return false;
    bool goes_on = true;
    while (content.len > 0 && goes_on) {
        size_t len = content.len < PIECE ? content.len : PIECE;
        goes_on = spend(r->budget, len) &&
                  go_on(r, SCAN_ARCHIVE_STOPPED, r->sink->data(r->sink->ctx, ts_bytes_of(content.data, len)));
        content = ts_bytes_skip(content, len);
    }
    *ret_goes_on = goes_on;
    return true;
}

/* Passes the content of a member to the sink, without the holes of sparse files. Returns false when reading
 * must end. */
static bool read_data(struct reading *r, struct archive_entry *entry) {
    bool goes_on;
    if (read_inflated(r, entry, &goes_on))
        return goes_on;
    for (;;) {
        const void *block;
        size_t len;
        la_int64_t at;
        int status = archive_read_data_block(r->archive, &block, &len, &at);
        if (status == ARCHIVE_EOF)
            return true;
        /* A warning is a wrong checksum or size. */
        if (status < ARCHIVE_OK)
            note_why(r);
        if (status < ARCHIVE_WARN)
            return status != ARCHIVE_FATAL;
        if (!go_on(r, SCAN_ARCHIVE_OVER, spend(r->budget, len)) ||
            !go_on(r, SCAN_ARCHIVE_STOPPED, r->sink->data(r->sink->ctx, ts_bytes_of(block, len))))
            return false;
    }
}

/* Passes the target path of a symbolic link to the sink, as git stores it. */
static bool read_link(struct reading *r, struct archive_entry *entry) {
    const char *text = archive_entry_symlink(entry);
    return text == NULL ||
           go_on(r, SCAN_ARCHIVE_STOPPED, r->sink->data(r->sink->ctx, ts_bytes_of_cstring(text)));
}

static bool read_member(struct reading *r, struct archive_entry *entry) {
    if (!go_on(r, SCAN_ARCHIVE_OVER, spend(r->budget, MEMBER_COST)))
        return false;
    if (archive_entry_is_encrypted(entry)) {
        r->result.encrypted++;
        return true;
    }
    if (archive_entry_hardlink(entry) != NULL)
        return true;
    if (!go_on(r, SCAN_ARCHIVE_STOPPED, r->sink->begin(r->sink->ctx, name_of(r, entry))))
        return false;
    bool goes_on = read_link(r, entry) && read_data(r, entry);
    bool is_kept = r->sink->end(r->sink->ctx);
    return goes_on && go_on(r, SCAN_ARCHIVE_STOPPED, is_kept);
}

static void read_members(struct reading *r) {
    uint64_t before = 0;
    for (;;) {
        struct archive_entry *entry;
        int status = archive_read_next_header(r->archive, &entry);
        if (status == ARCHIVE_EOF)
            return;
        if (status < ARCHIVE_WARN || status == ARCHIVE_RETRY)
            note_why(r);
        if (status < ARCHIVE_WARN)
            return;
        uint64_t left = r->budget->left;
        r->member_count += status != ARCHIVE_RETRY;
        /* If a block is not a header, the next block may be a header. */
        if (status == ARCHIVE_RETRY ? !go_on(r, SCAN_ARCHIVE_STOPPED, r->sink->goes_on(r->sink->ctx))
                                    : !read_member(r, entry))
            return;
        /* Headers and skipped data count against the budget, too: the library may unpack much before the next
         * header. */
        la_int64_t now = archive_filter_bytes(r->archive, 0);
        uint64_t unpacked = now > 0 && (uint64_t)now > before ? (uint64_t)now - before : 0;
        uint64_t spent = left - r->budget->left;
        before += unpacked;
        if (r->kind != SCAN_ARCHIVE_ZIP && unpacked > spent &&
            !go_on(r, SCAN_ARCHIVE_OVER, spend(r->budget, unpacked - spent)))
            return;
    }
}

/*
 * Returns whether the checksum and size at the end of each gzip member are right. libarchive does not compare
 * them, so the members are inflated once more. Bytes that follow the last member are ignored, as gzip does.
 */
static bool has_good_sums(struct reading *r, struct ts_bytes gzip) {
    enum { GZIP_ONLY = 16 };
    uint8_t waste[16384];
    z_stream z = {.next_in = NULL};
    if (!go_on(r, SCAN_ARCHIVE_NO_MEMORY, inflateInit2(&z, MAX_WBITS + GZIP_ONLY) == Z_OK))
        return true;
    int status = Z_OK;
    while (status == Z_OK && r->result.end == SCAN_ARCHIVE_READ && is_gzip(gzip)) {
        (void)inflateReset(&z);
        do {
            const uInt most = gzip.len < UINT32_MAX ? (uInt)gzip.len : UINT32_MAX;
            z.next_in = (Bytef *)(uintptr_t)gzip.data;
            z.avail_in = most;
            z.next_out = waste;
            z.avail_out = sizeof waste;
            status = inflate(&z, Z_NO_FLUSH);
            gzip = ts_bytes_skip(gzip, most - z.avail_in);
        } while (status == Z_OK && go_on(r, SCAN_ARCHIVE_STOPPED, r->sink->goes_on(r->sink->ctx)));
        status = status == Z_STREAM_END ? Z_OK : status;
    }
    (void)inflateEnd(&z);
    return status == Z_OK;
}

/* Prepares reading of tars. Several tars one after the other (cat a.tar.gz b.tar.gz) are read like one tar.
 * After the last tar, anything but zeros is damage, because it would not be scanned. A tar that is not
 * compressed needs no such check: its own bytes are scanned, too. */
static bool set_up_tars(struct archive *archive) {
    return archive_read_support_format_tar(archive) >= ARCHIVE_WARN &&
           archive_read_set_format_option(archive, "tar", "read_concatenated_archives", "1") >= ARCHIVE_WARN;
}

/* Prepares reading of an archive of this kind. has_tar: for COMPRESSED, the content is a tar. */
static bool set_up(struct archive *archive, enum scan_archive_kind kind, bool has_tar) {
    switch (kind) {
    case SCAN_ARCHIVE_NONE:
        return false;
    case SCAN_ARCHIVE_ZIP:
        return archive_read_support_format_zip(archive) >= ARCHIVE_WARN;
    case SCAN_ARCHIVE_TAR:
        return archive_read_support_format_tar(archive) >= ARCHIVE_WARN;
    case SCAN_ARCHIVE_COMPRESSED:
        return archive_read_support_filter_gzip(archive) >= ARCHIVE_WARN &&
               archive_read_support_filter_bzip2(archive) >= ARCHIVE_WARN &&
               archive_read_support_filter_xz(archive) >= ARCHIVE_WARN &&
               archive_read_support_filter_zstd(archive) >= ARCHIVE_WARN &&
               (has_tar ? set_up_tars(archive) : archive_read_support_format_raw(archive) >= ARCHIVE_WARN) &&
               archive_read_support_format_empty(archive) >= ARCHIVE_WARN;
    }
    return false;
}

/* Returns whether the compressed content is a tar. This is decided first, because libarchive takes zeros for
 * the end of a tar and would ignore everything after them. */
static bool has_tar(struct ts_bytes archive) {
    struct archive *peek = archive_read_new();
    struct archive_entry *entry;
    uint8_t start[TAR_BLOCK];
    size_t have = 0;
    if (peek != NULL && set_up(peek, SCAN_ARCHIVE_COMPRESSED, false) &&
        archive_read_open_memory(peek, archive.data, archive.len) >= ARCHIVE_WARN &&
        archive_read_next_header(peek, &entry) >= ARCHIVE_WARN) {
        const void *block;
        size_t len;
        la_int64_t at;
        while (have < sizeof start && archive_read_data_block(peek, &block, &len, &at) == ARCHIVE_OK) {
            size_t taken = len < sizeof start - have ? len : sizeof start - have;
            if (taken > 0)
                memcpy(start + have, block, taken);
            have += taken;
        }
    }
    if (peek != NULL)
        (void)archive_read_free(peek);
    return is_tar(ts_bytes_of(start, have));
}

struct scan_archive_result scan__archive_read(enum scan_archive_kind kind, struct ts_bytes archive,
                                              struct scan_archive_budget *budget,
                                              const struct scan_archive_sink *sink) {
    struct reading r = {.kind = kind, .budget = budget, .sink = sink, .result = {.end = SCAN_ARCHIVE_READ}};
    if (!ts_late_library_load(&scan__archive_library)) {
        r.result.end = SCAN_ARCHIVE_NO_LIBRARY;
        snprintf(r.result.why, sizeof r.result.why, "%s; install the package %s",
                 scan__archive_library.why_not, scan__archive_library.package);
        return r.result;
    }
    archive = after_skipped_frames(archive);
    if (kind == SCAN_ARCHIVE_ZIP)
        scan__zip_init(&r.zip, archive);
    r.archive = archive_read_new();
    if (r.archive == NULL || !set_up(r.archive, kind, kind == SCAN_ARCHIVE_COMPRESSED && has_tar(archive)))
        r.result.end = SCAN_ARCHIVE_NO_MEMORY;
    else if (archive_read_open_memory(r.archive, archive.data, archive.len) < ARCHIVE_WARN)
        note_why(&r);
    else
        read_members(&r);
    if (kind == SCAN_ARCHIVE_ZIP && r.result.end == SCAN_ARCHIVE_READ && !has_zip_end(archive)) {
        r.result.end = SCAN_ARCHIVE_DAMAGED;
        snprintf(r.result.why, sizeof r.result.why, "its end is missing");
    }
    if (r.result.end == SCAN_ARCHIVE_READ && is_gzip(archive) && !has_good_sums(&r, archive) &&
        r.result.end != SCAN_ARCHIVE_STOPPED) {
        r.result.end = SCAN_ARCHIVE_DAMAGED;
        snprintf(r.result.why, sizeof r.result.why, "its checksum or size is wrong");
    }
    if (r.archive != NULL)
        (void)archive_read_free(r.archive);
    scan__zip_release(&r.zip);
    return r.result;
}
