/*
 * The id of an object: the hash of "TYPE SIZE", a zero and the content. SHA-1 here finds damage; it does not look for
 * the marks of a collision that somebody made, as git does when it takes objects in.
 */
#ifndef TS_GIT_HASH_H
#define TS_GIT_HASH_H

#include "git/object.h"

#include <nettle/sha1.h>
#include <nettle/sha2.h>

/* One object, piece by piece. */
struct git__hasher {
    enum ts_git_hash hash;
    union {
        struct sha1_ctx sha1;
        struct sha256_ctx sha256;
    } state;
};

void git__hasher_init(struct git__hasher *hasher, enum ts_git_hash hash, enum ts_git_type type,
                      uint64_t size);
void git__hasher_add(struct git__hasher *hasher, struct ts_bytes bytes);

/* Whether that was all of the object with this id, which has as many bytes as the hash. */
bool git__hasher_is(struct git__hasher *hasher, const uint8_t *id);

/* Whether a file ends with the hash of all before, as the index of a work tree does. */
bool git__has_checksum(enum ts_git_hash hash, struct ts_bytes file);

/* Whether a content that is at hand is all of the object with this id. */
bool git__is_content_of(enum ts_git_hash hash, enum ts_git_type type, struct ts_bytes content,
                        const uint8_t *id);

#endif
