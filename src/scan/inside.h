/*
 * Looks inside a content: at the members of an archive, or at the file that a Git LFS pointer refers to.
 *
 *   content ──> archive? ──> members, each a separate content: "deploy.zip!/etc/app.env" ──> archive? ── … to a depth
 *      └──────> pointer? ──> the LFS object, in its place
 *
 * Members are scanned before the archive itself. Then the archive's own bytes are scanned like those of any
 * other content. A finding in a member is reported for the member, and not a second time for an archive that
 * stores the member uncompressed (a tar, a stored member of a zip).
 *
 * A member has the object id of the content that contains it; the name of the member is its path inside that
 * content. The state keeps only archives without findings. An archive with findings has many contents, which
 * cannot be restored one by one.
 */
#ifndef TS_SCAN_INSIDE_H
#define TS_SCAN_INSIDE_H

#include "look.h"
#include "pile.h"
#include "unpack.h"

#include "report/report.h"

#include <semaphore.h>
#include <stdatomic.h>

struct scan_pass;

/* State that all threads share. */
struct scan_inside {
    struct scan_pass *pass;
    unsigned depth_max; /* 0: do not look into archives */
    uint64_t size_max;  /* maximum number of bytes to unpack from an archive and the archives in it */
    char *lfs_folder;   /* LFS folder of the target; NULL: none */
    bool is_quiet;      /* for the base of a change: report no problems */
    sem_t slots;        /* limits how many archives are read at the same time */
    atomic_uint_fast64_t encrypted;
    atomic_uint_fast64_t lfs_objects;
    atomic_uint_fast64_t lfs_missing;
};

/* Returns the maximum depth of nested archives with these options; 0: archives are not opened. */
unsigned scan__inside_depth(const struct ts_scan_options *options);

void scan__inside_init(struct scan_inside *inside, struct scan_pass *pass);
void scan__inside_release(struct scan_inside *inside);

/* Sets the folder of LFS objects, which is below git_dir. If git_dir is NULL, the target has no LFS objects.
 * Call it for each target. Returns false when memory runs out. */
bool scan__inside_begin(struct scan_inside *inside, const char *git_dir);

/* Adds the counts to the row, and resets the counts to 0. */
void scan__inside_count(struct scan_inside *inside, struct ts_report_target *row);

/* The state of scanning a content that may be an archive. */
struct scan_within {
    enum scan_archive_kind kind;
    size_t outer_first; /* value of look->inner_first before this archive; restored at its end */
    size_t first;       /* index of the first finding of the members in look->inner */
    bool is_lacking;    /* a part of the members was not scanned */
    bool has_found;     /* the members have findings */
};

/* Returns the kind of archive that the content is; NONE if it should not be opened. `start` and `is_all` are
 * as in scan__archive_kind. */
enum scan_archive_kind scan__inside_kind(struct scan_look *look, const struct scan_content *content,
                                         struct ts_bytes start, bool is_all);

/* Scans the members of the archive. Does nothing for NONE. Until scan__inside_end, scan__inside_settle drops
 * hits of the archive's own bytes that its members have, too. */
struct scan_within scan__inside_members(struct scan_look *look, const struct scan_content *content,
                                        enum scan_archive_kind kind, struct ts_bytes archive);

/* Ends the scan of an archive. Call it after the archive's own bytes were scanned. Afterwards look->is_whole
 * and is_clean describe the archive and its members together. */
void scan__inside_end(struct scan_look *look, const struct scan_within *within);

/* Removes hits that the members of the content have, too. If the content is itself a member of an archive,
 * adds the findings of the remaining hits to the findings of that archive's members. Returns the number of
 * remaining hits. */
size_t scan__inside_settle(struct scan_look *look, struct scan_hit *hits, size_t count);

/* Reports an archive that is scanned in windows, and is too large to be held until its end. */
void scan__inside_too_large(struct scan_look *look, const struct scan_content *content, uint64_t bytes);

enum scan_pointer {
    SCAN_POINTER_NONE,
    SCAN_POINTER_MISSING, /* the object of the pointer is missing; lfs_missing counts it */
    SCAN_POINTER_READ,
};

/* If the content is a pointer, scans its LFS object instead. */
enum scan_pointer scan__inside_pointer(struct scan_look *look, const struct scan_content *content,
                                       struct ts_bytes bytes);

/* Writes a name for messages: "object 1234…!/a/b", or a path. Returns ret_name. */
#define SCAN_NAME_SIZE 400
const char *scan__content_name(const struct scan_pass *pass, const struct scan_content *content,
                               char ret_name[static SCAN_NAME_SIZE]);

/* Makes the path of a content at `outer`. For a member, `inner` is the path inside the archive:
 * "a/dump.sql.gz" and "!/" give "a/dump.sql.gz!/dump.sql". Returns false when memory runs out. */
bool scan__inside_path(struct ts_arena *arena, struct ts_bytes outer, struct ts_bytes inner,
                       struct ts_bytes *ret_path);

#endif
