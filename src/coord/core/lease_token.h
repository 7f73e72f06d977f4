/*
 * A lease as text. Its holder can keep the text in a script and pass it back. Nobody can make or change such
 * a text without the cluster's secret:
 *
 *     "tsl1" and, in hexadecimal digits, the 96 bytes of the lease (docs/formats/coord.md) and 16 bytes of
 *     BLAKE3 over them, with a key derived from the cluster's secret for this purpose
 *
 * The text names the holder of the lease. It is a capability: anyone who has the text may use the lease.
 */
#ifndef TS_COORD_CORE_LEASE_TOKEN_H
#define TS_COORD_CORE_LEASE_TOKEN_H

#include "coord/core/lease.h"

#define TS_LEASE_TOKEN_MAC_LEN    16
#define TS_LEASE_TOKEN_SECRET_LEN 32
#define TS_LEASE_TOKEN_SIZE       (4 + 2 * (TS_LEASE_ENCODED_LEN + TS_LEASE_TOKEN_MAC_LEN) + 1)

void ts_lease_token_make(const uint8_t secret[static TS_LEASE_TOKEN_SECRET_LEN], const struct ts_lease *lease,
                         char ret_text[static TS_LEASE_TOKEN_SIZE]);

/* Returns false for a text that was not made with this secret. */
bool ts_lease_token_read(const uint8_t secret[static TS_LEASE_TOKEN_SECRET_LEN], struct ts_bytes text,
                         struct ts_lease *ret_lease);

#endif
