#include "coord/core/lease_token.h"

#include "base/blake3.h"
#include "base/hex.h"

#include <string.h>

enum { BINARY_LEN = TS_LEASE_ENCODED_LEN + TS_LEASE_TOKEN_MAC_LEN };

static const char prefix[] = "tsl1";

static void sign(const uint8_t secret[static TS_LEASE_TOKEN_SECRET_LEN], const uint8_t *lease,
                 uint8_t ret_mac[static TS_LEASE_TOKEN_MAC_LEN]) {
    uint8_t key[TS_BLAKE3_OUT_LEN];
    ts_blake3_derive_key(TS_BYTES("turnstone 2026-11 lease token"),
                         ts_bytes_of(secret, TS_LEASE_TOKEN_SECRET_LEN), key);
    uint8_t hash[TS_BLAKE3_OUT_LEN];
    ts_blake3_keyed_hash(key, ts_bytes_of(lease, TS_LEASE_ENCODED_LEN), hash);
    memcpy(ret_mac, hash, TS_LEASE_TOKEN_MAC_LEN);
}

void ts_lease_token_make(const uint8_t secret[static TS_LEASE_TOKEN_SECRET_LEN], const struct ts_lease *lease,
                         char ret_text[static TS_LEASE_TOKEN_SIZE]) {
    uint8_t bytes[BINARY_LEN];
    ts_lease_encode(lease, bytes);
    sign(secret, bytes, bytes + TS_LEASE_ENCODED_LEN);
    char *at = ret_text;
    for (const char *c = prefix; *c != '\0'; c++)
        *at++ = *c;
    *ts_hex_encode(ts_bytes_of(bytes, sizeof bytes), at) = '\0';
}

bool ts_lease_token_read(const uint8_t secret[static TS_LEASE_TOKEN_SECRET_LEN], struct ts_bytes text,
                         struct ts_lease *ret_lease) {
    uint8_t bytes[BINARY_LEN];
    uint8_t mac[TS_LEASE_TOKEN_MAC_LEN];
    /* Only lower-case digits are accepted, so that a lease has exactly one text. */
    if (!ts_bytes_starts_with(text, ts_bytes_of_cstring(prefix)) ||
        text.len != strlen(prefix) + 2 * (size_t)BINARY_LEN ||
        !ts_hex_decode_lower(ts_bytes_skip(text, strlen(prefix)), bytes))
        return false;
    sign(secret, bytes, mac);
    /* Always compares all bytes, so that the time taken reveals nothing about the correct value. */
    uint8_t differs = 0;
    for (size_t i = 0; i < sizeof mac; i++)
        differs |= mac[i] ^ bytes[TS_LEASE_ENCODED_LEN + i];
    return differs == 0 && ts_lease_decode(ts_bytes_of(bytes, TS_LEASE_ENCODED_LEN), ret_lease);
}
