/*
 * The key for the finding ids and prints of one tenant. The same secret has the same id in all repositories
 * of the tenant, and a different id for other tenants. The key is derived from the cluster's secret, and
 * never changes.
 *
 * Anyone who has both the cluster's secret and the database can test guesses of weak passwords against the
 * ids.
 */
#ifndef TS_RUNTIME_CORE_TENANT_KEY_H
#define TS_RUNTIME_CORE_TENANT_KEY_H

#include "base/bytes.h"

#include <stdint.h>

#define TS_FLEET_TENANT_KEY_LEN 32
#define TS_FLEET_SECRET_LEN     32

struct ts_fleet_tenant_key {
    uint8_t bytes[TS_FLEET_TENANT_KEY_LEN];
};

/* Derives the key of a tenant. `tenant` is the tenant's name, padded to 32 bytes as in coordination. */
struct ts_fleet_tenant_key ts_fleet_tenant_key_of(const uint8_t secret[static TS_FLEET_SECRET_LEN],
                                                  struct ts_bytes tenant);

#endif
