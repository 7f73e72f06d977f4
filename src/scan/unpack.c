#include "unpack.h"

#include "archive_late.h"

#include "base/redact.h"

#include <stdio.h>
#include <string.h>

#define TAR_BLOCK      512
#define ZIP_END_LEN    22
#define MEMBER_COST    512 /* of the budget, for each member besides its bytes */
#define NAME_BYTES_MAX 4096

/* ---- kinds ---- */

struct magic {
    const char *bytes;
    size_t len;
    enum scan_archive_kind kind;
};

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
    MAGIC("\x28\xb5\x2f\xfd", SCAN_ARCHIVE_COMPRESSED),
};

/* A text may begin with "BZh9". In bzip2 the digits of pi follow or, in an empty file, those of its square root. */
static bool is_bzip2(struct ts_bytes start) {
    return start.len >= 10 && memcmp(start.data, "BZh", 3) == 0 && start.data[3] >= '1' &&
           start.data[3] <= '9' &&
           (memcmp(start.data + 4, "1AY&SY", 6) == 0 ||
            memcmp(start.data + 4, "\x17\x72\x45\x38\x50\x90", 6) == 0);
}

/* Checks the sum of all bytes of the header, where the sum itself counts as blanks. Tars from before 1988 have no other mark. */
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

/* A zip is read from its end, so there may be a program before it. */
static bool ends_as_zip(struct ts_bytes all) {
    const uint8_t *end = all.data + all.len - (all.len >= ZIP_END_LEN ? ZIP_END_LEN : 0);
    return all.len >= ZIP_END_LEN && memcmp(end, "PK\5\6", 4) == 0 && end[20] == 0 && end[21] == 0;
}

enum scan_archive_kind scan__archive_kind(struct ts_bytes start, bool is_all) {
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

/* The list of members is at the end, before a comment of 64 KiB at most. Without it, the number of members is
 * unknown. */
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
};

static void note_why(struct reading *r) {
    const char *why = archive_error_string(r->archive);
    if (r->result.end == SCAN_ARCHIVE_DAMAGED)
        return; /* only the first reason is reported */
    r->result.end = SCAN_ARCHIVE_DAMAGED;
    (void)ts_text_escape(ts_bytes_of_cstring(why != NULL ? why : "no reason is given"), r->result.why,
                         sizeof r->result.why);
}

/* The name in UTF-8, or its bytes if it is not valid UTF-8. Drops "./" and "/" at the start. */
static struct ts_bytes name_of(const struct reading *r, struct archive_entry *entry) {
    const char *name = archive_entry_pathname_utf8(entry);
    if (name == NULL)
        name = archive_entry_pathname(entry);
    if (name == NULL)
        name = "?";
    if (r->kind == SCAN_ARCHIVE_COMPRESSED && strcmp(name, "data") == 0)
        return TS_BYTES(""); /* the name that libarchive gives a file without a name */
    while (name[0] == '/' || (name[0] == '.' && name[1] == '/'))
        name++;
    struct ts_bytes bytes = ts_bytes_of_cstring(name[0] == '\0' ? "?" : name);
    bytes.len = bytes.len < NAME_BYTES_MAX ? bytes.len : NAME_BYTES_MAX;
    return bytes;
}

/* If the result is not OK, sets how the reading ended, except when the sink has stopped it. */
static bool go_on(struct reading *r, enum scan_archive_end otherwise, bool is_fine) {
    if (!is_fine && r->result.end != SCAN_ARCHIVE_STOPPED)
        r->result.end = otherwise;
    return is_fine;
}

/* Returns false when reading must end. Leaves out the holes of sparse files. */
static bool read_data(struct reading *r) {
    for (;;) {
        const void *block;
        size_t len;
        la_int64_t at;
        int status = archive_read_data_block(r->archive, &block, &len, &at);
        if (status == ARCHIVE_EOF)
            return true;
        if (status < ARCHIVE_WARN) {
            note_why(r);
            return status != ARCHIVE_FATAL;
        }
        if (!go_on(r, SCAN_ARCHIVE_OVER, spend(r->budget, len)) ||
            !go_on(r, SCAN_ARCHIVE_STOPPED, r->sink->data(r->sink->ctx, ts_bytes_of(block, len))))
            return false;
    }
}

/* Scans the target text of a link, as for links in git. */
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
    bool goes_on = read_link(r, entry) && read_data(r);
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
        if (status < ARCHIVE_WARN) {
            note_why(r);
            return;
        }
        uint64_t left = r->budget->left;
        if (!read_member(r, entry))
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

/* has_tar: COMPRESSED contains a tar. */
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
               (has_tar ? archive_read_support_format_tar(archive)
                        : archive_read_support_format_raw(archive)) >= ARCHIVE_WARN &&
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
    if (r.archive != NULL)
        (void)archive_read_free(r.archive);
    return r.result;
}
