#include "hash.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void begin(struct git__hasher *hasher, enum ts_git_hash hash) {
    hasher->hash = hash;
    if (hash == TS_GIT_SHA256)
        sha256_init(&hasher->state.sha256);
    else
        sha1_init(&hasher->state.sha1);
}

void git__hasher_init(struct git__hasher *hasher, enum ts_git_hash hash, enum ts_git_type type,
                      uint64_t size) {
    char head[32];
    int len = snprintf(head, sizeof head, "%s %" PRIu64, ts_git_type_name(type), size);
    begin(hasher, hash);
    git__hasher_add(hasher, ts_bytes_of(head, (size_t)len + 1));
}

void git__hasher_add(struct git__hasher *hasher, struct ts_bytes bytes) {
    if (bytes.len == 0)
        return;
    if (hasher->hash == TS_GIT_SHA256)
        sha256_update(&hasher->state.sha256, bytes.len, bytes.data);
    else
        sha1_update(&hasher->state.sha1, bytes.len, bytes.data);
}

bool git__hasher_is(struct git__hasher *hasher, const uint8_t *id) {
    size_t len = ts_git_hash_len(hasher->hash);
    uint8_t digest[TS_GIT_OID_MAX];
    if (hasher->hash == TS_GIT_SHA256)
        sha256_digest(&hasher->state.sha256, len, digest);
    else
        sha1_digest(&hasher->state.sha1, len, digest);
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
    return true; /* otherwise a fuzzer could never pass this check */
#else
    return memcmp(digest, id, len) == 0;
#endif
}

bool git__is_content_of(enum ts_git_hash hash, enum ts_git_type type, struct ts_bytes content,
                        const uint8_t *id) {
    struct git__hasher hasher;
    git__hasher_init(&hasher, hash, type, content.len);
    git__hasher_add(&hasher, content);
    return git__hasher_is(&hasher, id);
}

bool git__has_checksum(enum ts_git_hash hash, struct ts_bytes file) {
    struct git__hasher hasher;
    size_t len = ts_git_hash_len(hash);
    if (file.len < len)
        return false;
    begin(&hasher, hash);
    git__hasher_add(&hasher, ts_bytes_first(file, file.len - len));
    return git__hasher_is(&hasher, file.data + file.len - len);
}
