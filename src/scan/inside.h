/*
 * What is inside a content: the members of an archive, the file that a pointer of Git LFS stands for.
 *
 *   content ──> archive? ──> members, each a content of its own: "deploy.zip!/etc/app.env" ──> archive? ── … to a depth
 *      └──────> pointer? ──> the LFS object, in its place
 *
 * Members are looked at before the archive itself, whose own bytes are looked at as those of any other content. What a member has
 * is reported there, and not a second time for the archive that holds it as it is (a tar, a stored member of a zip).
 *
 * A member has the object id of the content that it came out of, and as its name the path inside, which is the end of its path.
 * State keeps archives in which nothing was found, and no others: their contents are many, and known only together.
 */
#ifndef TS_SCAN_INSIDE_H
#define TS_SCAN_INSIDE_H

#include "look.h"
#include "pile.h"
#include "unpack.h"

#include "report/report.h"

#include <semaphore.h>
#include <stdatomic.h>

struct scan_session;

/* What all threads share. */
struct scan_inside {
    struct scan_session *session;
    unsigned depth_max; /* 0: archives are contents like any other */
    uint64_t size_max;  /* of one archive with all that is in it, unpacked */
    char *lfs_folder;   /* of the target; NULL: none */
    bool is_quiet;      /* contents from before a change: problems inside are not reported */
    sem_t slots;        /* archives that are read at the same time: each takes memory */
    atomic_uint_fast64_t encrypted;
    atomic_uint_fast64_t lfs_objects;
    atomic_uint_fast64_t lfs_missing;
};

void scan__inside_init(struct scan_inside *inside, struct scan_session *session);
void scan__inside_release(struct scan_inside *inside);

/* For each repository: where its LFS objects are. NULL: the target has none. False when there is no memory. */
bool scan__inside_begin(struct scan_inside *inside, const char *git_dir);

/* Adds to the row what was counted, and counts from 0 again. */
void scan__inside_count(struct scan_inside *inside, struct ts_report_target *row);

/* While a content is looked at that may be an archive. */
struct scan_within {
    enum scan_archive_kind kind;
    size_t outer_first; /* the earlier look->inner_first */
    size_t first;       /* findings of the members, in look->inner */
    bool is_lacking;    /* something of the members was not looked at */
    bool has_found;     /* something was found in them */
};

/* Whether the content is an archive that is to be looked into. `start` and `is_all` are as in scan__archive_kind. */
enum scan_archive_kind scan__inside_kind(struct scan_look *look, const struct scan_content *content,
                                         struct ts_bytes start, bool is_all);

/* The members. Nothing happens for NONE. Until scan__inside_end, hits of the content itself that are those of members are
 * dropped by scan__inside_settle. */
struct scan_within scan__inside_members(struct scan_look *look, const struct scan_content *content,
                                        enum scan_archive_kind kind, struct ts_bytes archive);

/* When the content itself was looked at: look->is_whole and is_clean are those of all of it. */
void scan__inside_end(struct scan_look *look, const struct scan_within *within);

/* Hits of a content without those that its members have, and noted for the archive that it is in. Returns how many are left. */
size_t scan__inside_settle(struct scan_look *look, struct scan_hit *hits, size_t count);

/* An archive that comes in windows and cannot be kept until its end. */
void scan__inside_too_large(struct scan_look *look, const struct scan_content *content, uint64_t bytes);

enum scan_pointer {
    SCAN_POINTER_NONE,
    SCAN_POINTER_MISSING, /* a pointer whose object is not there, which is counted */
    SCAN_POINTER_READ,
};

/* Looks at the LFS object that the content is a pointer to, in its place. */
enum scan_pointer scan__inside_pointer(struct scan_look *look, const struct scan_content *content,
                                       struct ts_bytes bytes);

/* "object 1234…!/a/b", or a path: for messages. */
#define SCAN_NAME_SIZE 400
const char *scan__content_name(const struct scan_session *session, const struct scan_content *content,
                               char ret_name[static SCAN_NAME_SIZE]);

/* The path of a content that is at `outer`: with the path inside it, if it is a member. "a/dump.sql.gz" and "!/" are
 * "a/dump.sql.gz!/dump.sql". False when there is no memory. */
bool scan__inside_path(struct ts_arena *arena, struct ts_bytes outer, struct ts_bytes inner,
                       struct ts_bytes *ret_path);

#endif
