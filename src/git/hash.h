/*
 * The id of an object: the hash of "TYPE SIZE", a zero and the content. SHA-1 is used here to find damage.
 * Unlike git when it receives objects, this code does not detect deliberate collisions.
 */
#ifndef TS_GIT_HASH_H
#define TS_GIT_HASH_H

#include "git/object.h"

#include <nettle/sha1.h>
#include <nettle/sha2.h>

/* Computes the hash of one object piece by piece. */
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

/* Returns true if the added bytes are the whole object with this id. The id has as many bytes as the hash. */
bool git__hasher_is(struct git__hasher *hasher, const uint8_t *id);

/* Returns true if a file ends with the hash of all bytes before it, as the index of a work tree does. */
bool git__has_checksum(enum ts_git_hash hash, struct ts_bytes file);

/* Returns true if the content is the whole object with this id. */
bool git__is_content_of(enum ts_git_hash hash, enum ts_git_type type, struct ts_bytes content,
                        const uint8_t *id);

#endif
