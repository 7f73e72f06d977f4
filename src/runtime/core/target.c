#include "runtime/core/target.h"

#include "base/blake3.h"
#include "base/endian.h"

struct ts_target_id ts_target_id_of(const struct ts_target_parts *parts) {
    const struct ts_bytes fields[] = {parts->tenant, parts->address, parts->selection, parts->format};
    struct ts_blake3 hasher;
    ts_blake3_init(&hasher);
    ts_blake3_update(&hasher, TS_BYTES("turnstone target 1"));
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        uint8_t len[4];
        ts_le32_store((uint32_t)fields[i].len, len);
        ts_blake3_update(&hasher, ts_bytes_of(len, sizeof len));
        ts_blake3_update(&hasher, fields[i]);
    }
    struct ts_target_id id = {{0}};
    ts_blake3_output(&hasher, 0, id.bytes, sizeof id.bytes);
    return id;
}
