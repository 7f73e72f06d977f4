#include "segment.h"

#include "look_impl.h"
#include "os/grow.h"

#include "base/endian.h"
#include "base/hash64.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * The header of a file. The columns are offset, length and field.
 *
 *      0  16  "turnstone state\n"
 *     16   4  format
 *     20   4  kind
 *     24  16  repository
 *     40  16  rules
 *     56  16  judging
 *     72  16  mark of the salt
 *     88  32  fingerprint
 *    120   8  zeros
 *    128   8  XXH64 of all earlier bytes
 */
#define FORMAT 4
#define SUM_AT 128

static const uint8_t magic[16] = {'t', 'u', 'r', 'n', 's', 't', 'o', 'n',
                                  'e', ' ', 's', 't', 'a', 't', 'e', '\n'};

/* ---- layouts ---- */

static uint64_t encode_head(const struct scan_segment_head *head,
                            uint8_t ret_bytes[static SCAN_SEGMENT_HEAD_LEN]) {
    memset(ret_bytes, 0, SCAN_SEGMENT_HEAD_LEN);
    memcpy(ret_bytes, magic, sizeof magic);
    ts_le32_store(FORMAT, ret_bytes + 16);
    ts_le32_store((uint32_t)head->kind, ret_bytes + 20);
    memcpy(ret_bytes + 24, head->repo, SCAN_STATE_ID_LEN);
    memcpy(ret_bytes + 40, head->rules, SCAN_STATE_ID_LEN);
    memcpy(ret_bytes + 56, head->judging, SCAN_STATE_ID_LEN);
    memcpy(ret_bytes + 72, head->salt_mark, SCAN_STATE_ID_LEN);
    memcpy(ret_bytes + 88, head->fingerprint, SCAN_FINGERPRINT_LEN);
    uint64_t sum = ts_xxh64_of_bytes(ts_bytes_of(ret_bytes, SUM_AT));
    ts_le64_store(sum, ret_bytes + SUM_AT);
    return sum;
}

static bool decode_head(const uint8_t bytes[static SCAN_SEGMENT_HEAD_LEN], struct scan_segment *segment) {
    struct scan_segment_head head = {.kind = (enum scan_segment_kind)ts_le32_load(bytes + 20)};
    segment->sum = ts_xxh64_of_bytes(ts_bytes_of(bytes, SUM_AT));
    if (memcmp(bytes, magic, sizeof magic) != 0 || ts_le32_load(bytes + 16) != FORMAT ||
        ts_le64_load(bytes + SUM_AT) != segment->sum)
        return false;
    memcpy(head.repo, bytes + 24, SCAN_STATE_ID_LEN);
    memcpy(head.rules, bytes + 40, SCAN_STATE_ID_LEN);
    memcpy(head.judging, bytes + 56, SCAN_STATE_ID_LEN);
    memcpy(head.salt_mark, bytes + 72, SCAN_STATE_ID_LEN);
    memcpy(head.fingerprint, bytes + 88, SCAN_FINGERPRINT_LEN);
    segment->head = head;
    return true;
}

/* Returns the checksum of a page. It depends on file and position, so that blocks of another file or position
 * do not match. */
static uint64_t sum_of_page(uint64_t head_sum, uint64_t at, struct ts_bytes page) {
    uint8_t all[24];
    ts_le64_store(head_sum, all);
    ts_le64_store(at, all + 8);
    ts_le64_store(ts_xxh64_of_bytes(page), all + 16);
    return ts_xxh64_of_bytes(ts_bytes_of(all, sizeof all));
}

/* ---- reading ---- */

/* Reads len bytes at an offset. Returns false on an error, with errno. Also returns false if the file has
 * fewer bytes, with errno 0. */
static bool read_at(int fd, uint64_t at, uint8_t *bytes, size_t len) {
    while (len > 0) {
        ssize_t got = pread(fd, bytes, len, (off_t)at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            errno = got == 0 ? 0 : errno;
            return false;
        }
        bytes += got;
        len -= (size_t)got;
        at += (uint64_t)got;
    }
    return true;
}

bool scan__segment_open(struct scan_segment *segment, int fd) {
    uint8_t bytes[SCAN_SEGMENT_HEAD_LEN];
    struct stat status;
    *segment = (struct scan_segment){.fd = fd, .at = sizeof bytes};
    bool is_read = fstat(fd, &status) == 0;
    if (is_read && (!S_ISREG(status.st_mode) || status.st_size < (off_t)sizeof bytes)) {
        errno = 0;
        is_read = false;
    }
    is_read = is_read && read_at(fd, 0, bytes, sizeof bytes);
    if (is_read && decode_head(bytes, segment)) {
        segment->size = (uint64_t)status.st_size;
        return true;
    }
    int error = is_read ? 0 : errno;
    scan__segment_close(segment);
    errno = error;
    return false;
}

void scan__segment_close(struct scan_segment *segment) {
    if (segment->fd >= 0)
        close(segment->fd);
    segment->fd = -1;
    scan__buffer_release(&segment->page);
}

bool scan__segment_next(struct scan_segment *segment, struct ts_bytes *ret_page) {
    uint8_t frame[SCAN_SEGMENT_FRAME_LEN];
    if (segment->is_damaged || segment->size - segment->at < sizeof frame)
        return false;
    if (!read_at(segment->fd, segment->at, frame, sizeof frame)) {
        segment->is_damaged = errno != 0;
        return false;
    }
    size_t len = ts_le32_load(frame);
    /* A page cannot be larger than the file. */
    if (len == 0 || len > segment->size - segment->at - sizeof frame)
        return false;
    if (!TS_GROW(segment->page.data, segment->page.capacity, len))
        return false;
    if (!read_at(segment->fd, segment->at + sizeof frame, segment->page.data, len)) {
        segment->is_damaged = errno != 0;
        return false;
    }
    struct ts_bytes page = ts_bytes_of(segment->page.data, len);
    if (ts_le64_load(frame + 4) != sum_of_page(segment->sum, segment->at, page)) {
        segment->is_damaged = true;
        return false;
    }
    segment->at += sizeof frame + len;
    *ret_page = page;
    return true;
}

/* ---- writing ---- */

static int write_all(int fd, struct ts_bytes bytes) {
    while (bytes.len > 0) {
        ssize_t done = write(fd, bytes.data, bytes.len);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return done < 0 ? errno : ENOSPC;
        bytes = ts_bytes_skip(bytes, (size_t)done);
    }
    return 0;
}

int scan__segment_begin(struct scan_segment_writer *writer, int fd, const struct scan_segment_head *head) {
    uint8_t bytes[SCAN_SEGMENT_HEAD_LEN];
    *writer = (struct scan_segment_writer){.fd = fd, .at = sizeof bytes};
    writer->sum = encode_head(head, bytes);
    return write_all(fd, ts_bytes_of(bytes, sizeof bytes));
}

int scan__segment_add(struct scan_segment_writer *writer, struct ts_bytes page) {
    uint8_t frame[SCAN_SEGMENT_FRAME_LEN];
    if (page.len == 0 || page.len > UINT32_MAX)
        return page.len == 0 ? 0 : EFBIG;
    ts_le32_store((uint32_t)page.len, frame);
    ts_le64_store(sum_of_page(writer->sum, writer->at, page), frame + 4);
    int error = write_all(writer->fd, ts_bytes_of(frame, sizeof frame));
    if (error == 0)
        error = write_all(writer->fd, page);
    if (error == 0)
        writer->at += sizeof frame + page.len;
    else
        (void)!ftruncate(writer->fd, (off_t)writer->at); /* frees the incomplete page on a full disk */
    return error;
}

int scan__segment_end(struct scan_segment_writer *writer) {
    int error = writer->fd >= 0 && close(writer->fd) != 0 ? errno : 0;
    writer->fd = -1;
    return error;
}
