/*
 * Results of a scan as bytes: docs/formats/state.md has the layouts.
 *
 * There are two kinds of pages: ids of objects in which nothing was found, and material. Material is contents
 * with their hits and, in a snapshot, their places. A page is read in two passes, and nothing of it is used
 * unless all of it is valid.
 */
#ifndef TS_SCAN_STATE_CODEC_H
#define TS_SCAN_STATE_CODEC_H

#include "pass.h"

#include "git/evidence.h"

/* ---- bytes that grow ---- */

struct scan_buffer {
    uint8_t *data;
    size_t len;
    size_t capacity;
    bool no_memory; /* some bytes were not added */
};

static inline struct ts_bytes scan__buffer_bytes(const struct scan_buffer *buffer) {
    return ts_bytes_of(buffer->data, buffer->len);
}

void scan__buffer_release(struct scan_buffer *buffer);
void scan__buffer_put(struct scan_buffer *buffer, struct ts_bytes bytes);
void scan__buffer_put_number(struct scan_buffer *buffer, uint64_t number);

/* Removes a number from the front of bytes. Returns false if the bytes do not begin with a valid number. */
bool scan__number_decode(struct ts_bytes *bytes, uint64_t *ret_number);

/* ---- ids ---- */

/* An object that was scanned completely. */
struct scan_known {
    struct ts_git_oid oid;
    uint64_t size;
    enum scan_content_kind kind; /* BLOB, COMMIT or TAG */
    uint64_t evidence;           /* evidence of the object's stored bytes; never 0 */
    uint32_t pack;               /* index of the object's pack in the page's packs, plus 1; 0: no pack */
};

/* Larger objects are not stored, but read again. */
#define SCAN_KNOWN_SIZE_MAX  ((UINT64_C(1) << 38) - 1)

/* Maximum number of packs in a page. Objects in further packs count as objects without a pack. */
#define SCAN_KNOWN_PACKS_MAX ((size_t)UINT16_MAX - 1)

static inline size_t scan__known_len(enum ts_git_hash hash) {
    return ts_git_hash_len(hash) + 15;
}

void scan__known_encode(struct scan_buffer *buffer, enum ts_git_hash hash, const struct scan_known *known);

/* A page of known objects: the ids of packs, and items of scan__known_len bytes. */
struct scan_known_page {
    enum ts_git_hash hash;
    const uint8_t *packs; /* ids of TS_GIT_PACK_ID_LEN bytes each */
    size_t pack_count;
    struct ts_bytes items;
};

void scan__known_page_encode(const struct scan_known_page *page, struct scan_buffer *buffer);

/* Decodes a page of known objects, which borrows the bytes. Returns false if the bytes are not a valid
 * page. */
bool scan__known_page_decode(struct ts_bytes bytes, enum ts_git_hash hash, struct scan_known_page *ret_page);
size_t scan__known_page_count(const struct scan_known_page *page);
struct scan_known scan__known_page_at(const struct scan_known_page *page, size_t index);

/* ---- material ---- */

/* A part of a pass. Commits and locations are ranges of the pass's piles. */
struct scan_material {
    const struct scan_pass *pass;
    enum ts_git_hash hash;
    const uint32_t *contents; /* ascending */
    size_t content_count;
    size_t first_commit;
    size_t commit_count;
    size_t first_location;
    size_t location_count;
};

/* Adds a page to the buffer; no_memory of the buffer is set if memory ran out. No other thread may add to the
 * pass's hits meanwhile. */
void scan__material_encode(const struct scan_material *material, struct scan_buffer *buffer);

/* The destination of material. */
struct scan_material_sink {
    struct scan_pass *pass;
    uint32_t target;
    /* Decides whether to take a content; NULL takes all contents. Called once for each content, in the second
     * pass. */
    bool (*wants)(void *ctx, const struct scan_known *known);
    void *ctx;
};

/* Adds the material of a page to the sink. Returns false if the page is not valid; then nothing was added. If
 * memory runs out, the pass's hits report that. */
bool scan__material_decode(struct ts_bytes page, const struct scan_material_sink *sink);

#endif
