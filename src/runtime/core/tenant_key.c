#include "runtime/core/tenant_key.h"

#include "base/blake3.h"

_Static_assert(TS_FLEET_TENANT_KEY_LEN == TS_BLAKE3_OUT_LEN, "the key is one output of the hash");

struct ts_fleet_tenant_key ts_fleet_tenant_key_of(const uint8_t secret[static TS_FLEET_SECRET_LEN],
                                                  struct ts_bytes tenant) {
    struct ts_blake3 hasher;
    ts_blake3_init_derive_key(&hasher, TS_BYTES("turnstone 2026-11 tenant key"));
    ts_blake3_update(&hasher, ts_bytes_of(secret, TS_FLEET_SECRET_LEN));
    ts_blake3_update(&hasher, tenant);
    struct ts_fleet_tenant_key key = {{0}};
    ts_blake3_output(&hasher, 0, key.bytes, sizeof key.bytes);
    return key;
}
