/*
 * A file of the state: a head, which says what the file belongs to, and pages. docs/formats/state.md has the
 * layout.
 *
 *   head ── page ── page ── page ── (torn page)
 *
 * Pages are added at the end and never changed. A file ends at the first page with a wrong checksum: a killed
 * process or a full disk leaves an incomplete page. Files are read and written with calls that return errors.
 * They are not mapped: if the disk fails or somebody truncates the file, a mapping would end the process.
 */
#ifndef TS_SCAN_SEGMENT_H
#define TS_SCAN_SEGMENT_H

#include "state_codec.h"

#define SCAN_STATE_ID_LEN      16
#define SCAN_SALT_LEN          32
#define SCAN_FINGERPRINT_LEN   32
#define SCAN_SEGMENT_HEAD_LEN  136
#define SCAN_SEGMENT_FRAME_LEN 12 /* bytes that a page takes in addition to its content */

/* The kinds of files. Their values are the first letters of the file names. */
enum scan_segment_kind {
    SCAN_SEGMENT_ABOUT = 'a',
    SCAN_SEGMENT_HITS = 'h',
    SCAN_SEGMENT_KNOWN = 'k',
    SCAN_SEGMENT_PRINT_KEY = 'p',
    SCAN_SEGMENT_SNAPSHOT = 's',
};

/* Identifies what a file belongs to. Ids that the kind of file does not use are zeros. */
struct scan_segment_head {
    enum scan_segment_kind kind;
    uint8_t repo[SCAN_STATE_ID_LEN];
    uint8_t rules[SCAN_STATE_ID_LEN];
    uint8_t judging[SCAN_STATE_ID_LEN];
    uint8_t salt_mark[SCAN_STATE_ID_LEN]; /* a hash of the salt that the pages of the file use */
    uint8_t fingerprint[SCAN_FINGERPRINT_LEN];
};

/* ---- reading ---- */

struct scan_segment {
    int fd;
    uint64_t size; /* size at opening: another process may be adding pages */
    uint64_t at;
    uint64_t sum; /* checksum of the head */
    struct scan_segment_head head;
    struct scan_buffer page;
    bool is_damaged; /* a complete page has a wrong checksum, or cannot be read */
};

/* Opens a file for reading. Takes ownership of fd, even on failure. Returns false if the file has no valid
 * head; errno is 0 unless reading failed. */
bool scan__segment_open(struct scan_segment *segment, int fd);
void scan__segment_close(struct scan_segment *segment);

/* Reads the next page, borrowed until the next call. Returns false at the end, at an invalid page, and when
 * memory runs out. */
bool scan__segment_next(struct scan_segment *segment, struct ts_bytes *ret_page);

/* ---- writing ---- */

struct scan_segment_writer {
    int fd; /* -1: none */
    uint64_t at;
    uint64_t sum;
};

/* Each of these functions returns 0 or the errno of the failure. Nothing may be added after a failure. */
int scan__segment_begin(struct scan_segment_writer *writer, int fd, const struct scan_segment_head *head);
int scan__segment_add(struct scan_segment_writer *writer, struct ts_bytes page);
int scan__segment_end(struct scan_segment_writer *writer);

#endif
