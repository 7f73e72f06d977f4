/*
 * Scans one content: takes bytes, and makes hits.
 *
 * The raw matches of a content are all matches in its bytes, found or carried over from its delta base. They
 * are settled and judged here, and kept unsettled for the deltas of this content. Judging does not use the
 * path, which is not known yet. Instead a hit lists the entries of the configuration that allow it at some
 * path.
 *
 * A look belongs to one thread.
 */
#ifndef TS_SCAN_LOOK_H
#define TS_SCAN_LOOK_H

#include "hits.h"
#include "os/arena.h"
#include "profile.h"
#include "show.h"
#include "unpack.h"

#include "detect/scanner.h"
#include "git/copy.h"

/* Maximum number of raw matches of one content: about 6.5 MiB per thread. */
#define SCAN_MATCHES_MAX ((size_t)1 << 16)

struct scan_inside;

struct scan_look_options {
    const struct scan_profile *profile;
    struct scan_hits *hits;
    struct ts_siphash_key print_key;
    struct scan_inside *inside; /* NULL: archives and LFS pointers are not opened */
    const atomic_bool *stop;    /* when *stop is true, the scan of a content ends early; NULL: never */
    bool ungated;
    bool shows_secrets; /* show secrets in lines around a match */
    bool keeps_secrets; /* keep secrets in findings */
    bool omits_lines;   /* hits have no surroundings */
};

struct scan_look {
    struct scan_look_options options;
    struct ts_scanner *scanner;
    struct ts_arena decoded; /* decoded secrets of raw matches */
    struct ts_match *raw;
    size_t raw_count;
    size_t raw_capacity;
    struct ts_match *settled;
    size_t settled_capacity;
    struct ts_span *spans; /* changed spans */
    size_t span_capacity;
    struct ts_landmark *carried;   /* unchanged landmarks of the base */
    struct ts_landmarks landmarks; /* landmarks of the content */
    struct ts_span *masks;
    size_t mask_capacity;
    size_t mask_count;
    struct scan_hit *found;
    size_t found_capacity;
    uint32_t *allows;
    /* For contents inside archives (inside.h). */
    unsigned depth; /* number of archives around the current content */
    struct scan_archive_budget budget;
    uint32_t *inner; /* findings of members */
    size_t inner_count;
    size_t inner_capacity;
    size_t inner_first;               /* index of the first finding in `inner` of the current content */
    bool is_pointed;                  /* the content is the object of an LFS pointer */
    uint64_t counted_bytes;           /* scanned bytes that limits.c has already counted */
    struct ts_scanner_work forgotten; /* counts of scans that are not reported */
    bool no_memory;                   /* results were lost since the last check */
    bool too_many;
    bool is_whole; /* all of the last content was scanned with every rule */
    bool is_clean; /* is_whole, and nothing was found in the content */
};

bool scan__look_init(struct scan_look *look, const struct scan_look_options *options);
void scan__look_release(struct scan_look *look);

/* The results of a content that its deltas can reuse; NULL if the content has no match and no landmark. */
struct scan_raw;
void scan__raw_free(struct scan_raw *raw);

/* A delta base: its results, its size, and the copies from it. */
struct scan_base {
    const struct scan_raw *raw;
    uint64_t size;
    const struct ts_git_copy *copies;
    size_t copy_count;
};

enum scan_look_result {
    SCAN_LOOK_OK,
    SCAN_LOOK_TOO_MANY, /* more matches than SCAN_MATCHES_MAX: some are lost */
    SCAN_LOOK_NO_MEMORY,
};

/* Scans a whole content. If base is NULL, all bytes are scanned. ret_raw may be NULL; otherwise *ret_raw is
 * always set. */
enum scan_look_result scan__look_whole(struct scan_look *look, const struct scan_content *content,
                                       struct ts_bytes bytes, const struct scan_base *base,
                                       struct scan_raw **ret_raw);

/* Returns true if every rule was tried on the whole content and found nothing. Adds no counts and no
 * findings. */
bool scan__look_is_clean(struct scan_look *look, struct ts_bytes bytes);

/* Scans a content in windows, from front to back. Windows overlap by exactly scan__look_overlap. */
struct scan_windows;
size_t scan__look_overlap(const struct scan_profile *profile);

struct scan_window {
    struct ts_bytes bytes;
    uint64_t at; /* offset in the content */
    bool is_last;
};

/* Scans a window. *windows is NULL for the first window. */
enum scan_look_result scan__look_window(struct scan_look *look, const struct scan_content *content,
                                        const struct scan_window *window, struct scan_windows **windows);

/* Frees the windows. Call it when no further window follows, even if the end of the content was not passed.
 * If the scan was stopped, reports the findings so far. The name of the content must still exist. */
void scan__windows_free(struct scan_windows *windows);

/* Returns the result of a content that was scanned in windows: deltas of the content are scanned completely.
 * Do not free the result. */
struct scan_raw *scan__raw_unknown(void);

#endif
