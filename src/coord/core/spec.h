/*
 * The range of a shard and its progress: a half-open range of keys, opaque metadata, and a cursor in the
 * range. All bytes are borrowed. Keys compare as unsigned bytes; a prefix comes before longer keys.
 */
#ifndef TS_COORD_CORE_SPEC_H
#define TS_COORD_CORE_SPEC_H

#include "base/bytes.h"
#include "coord/core/ids.h"

/* The keys from start (included) to end (excluded). An empty bound means no bound on that side. */
struct ts_key_range {
    struct ts_bytes start;
    struct ts_bytes end;
};

struct ts_shard_spec {
    struct ts_key_range range;
    struct ts_bytes metadata;
};

/* The progress of a shard. Key and token are both optional; an empty key counts as present. Bytes of an
 * absent key or token are ignored. */
struct ts_cursor {
    bool has_key;
    bool has_token;
    struct ts_bytes last_key;
    struct ts_bytes token;
};

static inline bool ts_key_range_contains(struct ts_key_range range, struct ts_bytes key) {
    return ts_bytes_compare(key, range.start) >= 0 &&
           (range.end.len == 0 || ts_bytes_compare(key, range.end) < 0);
}

/* Returns true if no key can be in the range: start is not before end. A range without an upper bound is
 * never inverted. */
static inline bool ts_key_range_is_inverted(struct ts_key_range range) {
    return range.end.len != 0 && ts_bytes_compare(range.start, range.end) >= 0;
}

static inline bool ts_shard_spec_has_valid_sizes(const struct ts_shard_spec *spec) {
    return spec->range.start.len <= TS_KEY_MAX && spec->range.end.len <= TS_KEY_MAX &&
           spec->metadata.len <= TS_METADATA_MAX;
}

static inline bool ts_cursor_has_valid_sizes(const struct ts_cursor *cursor) {
    return (!cursor->has_key || cursor->last_key.len <= TS_KEY_MAX) &&
           (!cursor->has_token || cursor->token.len <= TS_TOKEN_MAX);
}

#endif
