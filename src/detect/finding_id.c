#include "finding_id.h"

#include "base/blake3.h"
#include "base/endian.h"
#include "base/hex.h"

#include <stdio.h>
#include <string.h>

struct ts_finding_key ts_finding_key_of(struct ts_bytes salt) {
    struct ts_finding_key made = {{0}};
    struct ts_bytes used = salt.len > 0 ? salt : TS_BYTES("turnstone public salt");
    ts_blake3_derive_key(TS_BYTES("turnstone 2026 finding ids of a project"), used, made.key);
    return made;
}

struct ts_finding_id ts_finding_id_of(const struct ts_finding_key *key, const char *rule,
                                      struct ts_bytes secret) {
    struct ts_blake3 hasher;
    uint8_t rule_len[8];
    uint8_t hash[TS_FINDING_ID_LEN / 2];
    ts_le64_store(strlen(rule), rule_len);
    ts_blake3_init_keyed(&hasher, key->key);
    ts_blake3_update(&hasher, ts_bytes_of(rule_len, sizeof rule_len));
    ts_blake3_update(&hasher, ts_bytes_of_cstring(rule));
    for (size_t at = 0; at < secret.len;) {
        const uint8_t *end = memchr(secret.data + at, '\r', secret.len - at);
        size_t to = end ? (size_t)(end - secret.data) : secret.len;
        bool ends_line = end && to + 1 < secret.len && secret.data[to + 1] == '\n';
        size_t taken = end && !ends_line ? to + 1 : to;
        ts_blake3_update(&hasher, ts_bytes_of(secret.data + at, taken - at));
        at = ends_line ? to + 1 : taken;
    }
    ts_blake3_output(&hasher, 0, hash, sizeof hash);
    struct ts_finding_id id = {.text = ""};
    *ts_hex_encode(ts_bytes_of(hash, sizeof hash), id.text) = '\0';
    return id;
}
