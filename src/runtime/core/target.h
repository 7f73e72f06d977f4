/*
 * The identity of a target: one repository with one selection, for one tenant.
 *
 * The id is the first 16 bytes of BLAKE3 over a fixed text, and then tenant, address, selection and object
 * format, each after its length. The id decides which store has the target's records, so the computation of
 * the id never changes.
 */
#ifndef TS_RUNTIME_CORE_TARGET_H
#define TS_RUNTIME_CORE_TARGET_H

#include "base/bytes.h"

#define TS_TARGET_ID_LEN 16

struct ts_target_id {
    uint8_t bytes[TS_TARGET_ID_LEN];
};

struct ts_target_parts {
    struct ts_bytes tenant;
    struct ts_bytes address;   /* from ts_address, or a real path */
    struct ts_bytes selection; /* from ts_selection */
    struct ts_bytes format;    /* sha1 or sha256 */
};

struct ts_target_id ts_target_id_of(const struct ts_target_parts *parts);

#endif
