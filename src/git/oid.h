/*
 * Object ids: the SHA-1 or SHA-256 that names an object. The kind of hash is a property of the repository, so
 * an id does not contain the kind. Bytes beyond the hash are always zero, so ids compare as 32 bytes.
 */
#ifndef TS_GIT_OID_H
#define TS_GIT_OID_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TS_GIT_OID_MAX      32
#define TS_GIT_OID_HEX_SIZE 65 /* with the terminator */

enum ts_git_hash { TS_GIT_SHA1, TS_GIT_SHA256 };

struct ts_git_oid {
    uint8_t bytes[TS_GIT_OID_MAX];
};

static inline size_t ts_git_hash_len(enum ts_git_hash hash) {
    return hash == TS_GIT_SHA256 ? 32 : 20;
}

static inline struct ts_git_oid ts_git_oid_of(enum ts_git_hash hash, const uint8_t *bytes) {
    struct ts_git_oid oid = {{0}};
    memcpy(oid.bytes, bytes, ts_git_hash_len(hash));
    return oid;
}

static inline int ts_git_oid_compare(const struct ts_git_oid *a, const struct ts_git_oid *b) {
    return memcmp(a->bytes, b->bytes, TS_GIT_OID_MAX);
}

static inline bool ts_git_oid_equal(const struct ts_git_oid *a, const struct ts_git_oid *b) {
    return ts_git_oid_compare(a, b) == 0;
}

/* Writes lower-case hex digits and a terminator. Returns ret_text. */
const char *ts_git_oid_format(enum ts_git_hash hash, const struct ts_git_oid *oid,
                              char ret_text[static TS_GIT_OID_HEX_SIZE]);

/* Parses an id. Returns false unless `hex` has exactly as many hex digits as the hash, in upper or lower
 * case. */
bool ts_git_oid_parse(enum ts_git_hash hash, struct ts_bytes hex, struct ts_git_oid *ret_oid);

#endif
