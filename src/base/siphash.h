/*
 * SipHash-2-4: a keyed hash of 64 bits that is fast for a few bytes. Without the key, nobody can predict a
 * hash or find bytes that have a given hash.
 */
#ifndef TS_BASE_SIPHASH_H
#define TS_BASE_SIPHASH_H

#include "base/bytes.h"

#include <stdint.h>

#define TS_SIPHASH_KEY_LEN 16

struct ts_siphash_key {
    uint64_t words[2];
};

struct ts_siphash_key ts_siphash_key_of(const uint8_t bytes[static TS_SIPHASH_KEY_LEN]);

void ts_siphash_key_store(const struct ts_siphash_key *key, uint8_t ret_bytes[static TS_SIPHASH_KEY_LEN]);

uint64_t ts_siphash(const struct ts_siphash_key *key, struct ts_bytes bytes);

/* State of a hash of longer and longer prefixes of the same bytes. The bytes are read only once. */
struct ts_siphash_prefixes {
    uint64_t a, b, c, d;
    struct ts_bytes bytes;
    size_t at; /* number of bytes that are in the state; a multiple of 8 */
};

void ts_siphash_prefixes_init(struct ts_siphash_prefixes *prefixes, const struct ts_siphash_key *key,
                              struct ts_bytes bytes);

/* Returns the hash of the first len bytes. len must not decrease from call to call. */
uint64_t ts_siphash_prefix(struct ts_siphash_prefixes *prefixes, size_t len);

#endif
