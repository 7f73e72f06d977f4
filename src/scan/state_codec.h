/*
 * What a scan has learnt, as bytes: docs/formats/state.md has the layouts.
 *
 * Two kinds of pages: ids of objects in which nothing was found, and material, which is contents with their hits and, in a
 * snapshot, where they stand. A page is read in two passes, and nothing of it is used unless all of it is sound.
 */
#ifndef TS_SCAN_STATE_CODEC_H
#define TS_SCAN_STATE_CODEC_H

#include "session.h"

/* ---- bytes that grow ---- */

struct scan_buffer {
    uint8_t *data;
    size_t len;
    size_t capacity;
    bool no_memory; /* something was not added */
};

static inline struct ts_bytes scan__buffer_bytes(const struct scan_buffer *buffer) {
    return ts_bytes_of(buffer->data, buffer->len);
}

void scan__buffer_release(struct scan_buffer *buffer);
void scan__buffer_put(struct scan_buffer *buffer, struct ts_bytes bytes);
void scan__buffer_put_number(struct scan_buffer *buffer, uint64_t number);

/* Takes a number from the front of bytes. False when there is none. */
bool scan__number_decode(struct ts_bytes *bytes, uint64_t *ret_number);

/* ---- ids ---- */

/* An object that was looked at in full. */
struct scan_known {
    struct ts_git_oid oid;
    uint64_t size;
    enum scan_content_kind kind; /* BLOB, COMMIT or TAG */
};

/* Larger ones are not written down: they are read again. */
#define SCAN_KNOWN_SIZE_MAX ((UINT64_C(1) << 38) - 1)

static inline size_t scan__known_len(enum ts_git_hash hash) {
    return ts_git_hash_len(hash) + 5;
}

void scan__known_encode(struct scan_buffer *buffer, enum ts_git_hash hash, const struct scan_known *known);

/* One of scan__known_len bytes. False when it is none. */
bool scan__known_decode(const uint8_t *bytes, enum ts_git_hash hash, struct scan_known *ret_known);

/* ---- material ---- */

/* A part of what a session holds. Commits and stands are runs of the session's piles. */
struct scan_material {
    const struct scan_session *session;
    enum ts_git_hash hash;
    const uint32_t *contents; /* rising */
    size_t content_count;
    size_t first_commit;
    size_t commit_count;
    size_t first_stand;
    size_t stand_count;
};

/* Adds a page to the buffer; no_memory of the buffer says when it did not fit. No other thread may add to the session's hits
 * meanwhile. */
void scan__material_encode(const struct scan_material *material, struct scan_buffer *buffer);

/* Where material goes. */
struct scan_material_sink {
    struct scan_session *session;
    uint32_t target;
    /* Whether this content is taken; NULL takes all. Called once for each, in the second pass. */
    bool (*wants)(void *ctx, const struct scan_known *known);
    void *ctx;
};

/* False when it is not sound, and then nothing was taken. What there is no memory for is said by the session's hits. */
bool scan__material_decode(struct ts_bytes page, const struct scan_material_sink *sink);

#endif
