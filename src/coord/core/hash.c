#include "coord/core/hash.h"

#include "base/blake3.h"
#include "base/endian.h"

#include <string.h>

#define DERIVED_CONTEXT TS_BYTES("turnstone coord derived shard id v1")
#define DRAWN_CONTEXT   TS_BYTES("turnstone coord drawn shard id v1")
#define PARKING_CONTEXT TS_BYTES("turnstone coord parking op id v1")
#define STEP_CONTEXT    TS_BYTES("turnstone coord step op id v1")
#define REQUEST_CONTEXT TS_BYTES("turnstone coord request v1")

/* The key that BLAKE3 derives from the context "turnstone coord payload hash v1". */
static const uint32_t payload_key[8] = {0xa8eccd8f, 0x601ee8ef, 0x9d3d2086, 0x566dd1df,
                                        0x86a496d9, 0x2090e001, 0x77651921, 0x46ff279d};

/* The key for "turnstone coord manifest digest v1". */
static const uint32_t manifest_key[8] = {0x2fb9fc1b, 0x91aec2fa, 0x028d9b48, 0x116c0691,
                                         0x96937b1d, 0x224935f3, 0xde6cdce6, 0x640be443};

/* The tags of run operations begin at RUN_TAG; shard operations have the tags 0 to 6. */
enum { RUN_TAG = 0x80, UNIT_MARK = 2 };

/* Collects bytes for the hasher, which is slow on small pieces. If all bytes fit into `collected`, no hasher
 * is needed. */
struct writer {
    const uint32_t *key; /* a key of 8 words */
    size_t used;
    bool flushed; /* the hasher has begun */
    uint8_t collected[256];
    struct ts_blake3_portable hasher;
};

_Static_assert(sizeof((struct writer){0}.collected) <= TS_BLAKE3_CHUNK_LEN, "what is collected is one chunk");

static void flush(struct writer *w) {
    if (!w->flushed)
        ts_blake3_portable_init_derived(&w->hasher, w->key);
    w->flushed = true;
    ts_blake3_portable_update(&w->hasher, ts_bytes_of(w->collected, w->used));
    w->used = 0;
}

static void add_bytes(struct writer *w, const void *data, size_t len) {
    if (len > sizeof w->collected - w->used)
        flush(w);
    if (len > sizeof w->collected) {
        ts_blake3_portable_update(&w->hasher, ts_bytes_of(data, len));
        return;
    }
    if (len > 0)
        memcpy(w->collected + w->used, data, len);
    w->used += len;
}

static void begin(struct writer *w, uint8_t tag, struct ts_shard_key shard) {
    uint8_t head[17];
    head[0] = tag;
    ts_le64_store(shard.run.v, head + 1);
    ts_le64_store(shard.shard.v, head + 9);
    w->key = payload_key;
    w->used = 0;
    w->flushed = false;
    add_bytes(w, head, sizeof head);
}

/* Adds a field, with its length before it, so that no two parameter lists have the same bytes. */
static void add_field(struct writer *w, struct ts_bytes field) {
    uint8_t len[4];
    ts_le32_store((uint32_t)field.len, len);
    add_bytes(w, len, sizeof len);
    add_bytes(w, field.data, field.len);
}

static void add_optional(struct writer *w, bool is_some, struct ts_bytes field) {
    const uint8_t present = is_some;
    add_bytes(w, &present, 1);
    if (is_some)
        add_field(w, field);
}

static void add_cursor(struct writer *w, const struct ts_cursor *cursor) {
    add_optional(w, cursor->has_key, cursor->last_key);
    add_optional(w, cursor->has_token, cursor->token);
}

static void add_new_shard(struct writer *w, const struct ts_new_shard *shard) {
    uint8_t id[8];
    ts_le64_store(shard->id.v, id);
    add_optional(w, shard->has_id, ts_bytes_of(id, sizeof id));
    add_field(w, shard->spec.range.start);
    add_field(w, shard->spec.range.end);
    add_field(w, shard->spec.metadata);
    add_cursor(w, &shard->cursor);
    /* The bytes of a shard begin with 0 or 1, never with this mark. */
    const uint8_t mark = UNIT_MARK;
    if (shard->unit.len == 0)
        return;
    add_bytes(w, &mark, 1);
    add_field(w, shard->unit);
}

static struct ts_payload_hash end(struct writer *w) {
    uint8_t out[TS_BLAKE3_BLOCK_LEN];
    if (!w->flushed) {
        ts_blake3_portable_derived(w->key, ts_bytes_of(w->collected, w->used), out);
    } else {
        flush(w);
        ts_blake3_portable_output(&w->hasher, 0, out, sizeof out);
    }
    return ts_payload_hash_of_word(ts_le64_load(out));
}

struct ts_payload_hash ts_payload_hash_cursor(enum ts_shard_op_kind kind, struct ts_shard_key shard,
                                              const struct ts_cursor *cursor) {
    struct writer w;
    begin(&w, (uint8_t)kind, shard);
    add_cursor(&w, cursor);
    return end(&w);
}

struct ts_payload_hash ts_payload_hash_park(struct ts_shard_key shard, enum ts_park_reason reason) {
    struct writer w;
    begin(&w, TS_SHARD_OP_PARK, shard);
    const uint8_t number = (uint8_t)reason;
    add_bytes(&w, &number, 1);
    return end(&w);
}

struct ts_payload_hash ts_payload_hash_release(struct ts_shard_key shard, enum ts_blame blame) {
    struct writer w;
    begin(&w, TS_SHARD_OP_RELEASE, shard);
    const uint8_t number = (uint8_t)blame;
    add_bytes(&w, &number, 1);
    return end(&w);
}

struct ts_payload_hash ts_payload_hash_unpark(struct ts_shard_key shard) {
    struct writer w;
    begin(&w, TS_SHARD_OP_UNPARK, shard);
    return end(&w);
}

static void add_new_shards(struct writer *w, struct ts_new_shards shards) {
    uint8_t count[4];
    ts_le32_store((uint32_t)shards.count, count);
    add_bytes(w, count, sizeof count);
    for (size_t i = 0; i < shards.count; i++)
        add_new_shard(w, &shards.list[i]);
}

struct ts_payload_hash ts_payload_hash_split_replace(struct ts_shard_key shard,
                                                     struct ts_new_shards children) {
    struct writer w;
    begin(&w, TS_SHARD_OP_SPLIT_REPLACE, shard);
    add_new_shards(&w, children);
    return end(&w);
}

struct ts_payload_hash ts_payload_hash_split_residual(struct ts_shard_key shard,
                                                      const struct ts_new_shard *residual) {
    struct writer w;
    begin(&w, TS_SHARD_OP_SPLIT_RESIDUAL, shard);
    add_field(&w, residual->spec.range.start);
    add_field(&w, residual->spec.metadata);
    add_cursor(&w, &residual->cursor);
    return end(&w);
}

struct ts_payload_hash ts_payload_hash_register(struct ts_run_id run, struct ts_new_shards shards,
                                                uint64_t from) {
    struct writer w;
    begin(&w, RUN_TAG + TS_RUN_OP_REGISTER_SHARDS, (struct ts_shard_key){run, {0}});
    add_new_shards(&w, shards);
    uint8_t place[8];
    ts_le64_store(from, place);
    if (from > 0)
        add_bytes(&w, place, sizeof place);
    return end(&w);
}

struct ts_announced ts_announced_of(struct ts_new_shards shards) {
    struct writer w = {.key = manifest_key};
    struct ts_announced announced = {.count = shards.count};
    add_new_shards(&w, shards);
    flush(&w);
    ts_blake3_portable_output(&w.hasher, 0, announced.digest, sizeof announced.digest);
    return announced;
}

struct ts_payload_hash ts_payload_hash_end_run(enum ts_run_op_kind kind, struct ts_run_id run) {
    struct writer w;
    begin(&w, (uint8_t)(RUN_TAG + (int)kind), (struct ts_shard_key){run, {0}});
    return end(&w);
}

static uint64_t hash_of(struct ts_bytes context, struct ts_bytes material) {
    struct ts_blake3 hasher;
    ts_blake3_init_derive_key(&hasher, context);
    ts_blake3_update(&hasher, material);
    uint8_t out[8];
    ts_blake3_output(&hasher, 0, out, sizeof out);
    return ts_le64_load(out);
}

struct ts_shard_id ts_derived_shard_id(struct ts_shard_key parent, struct ts_op_id op_id,
                                       enum ts_derived_shard_kind kind, uint32_t index) {
    uint8_t material[29];
    ts_le64_store(parent.run.v, material);
    ts_le64_store(parent.shard.v, material + 8);
    ts_le64_store(op_id.v, material + 16);
    material[24] = (uint8_t)kind;
    ts_le32_store(index, material + 25);
    return (struct ts_shard_id){hash_of(DERIVED_CONTEXT, ts_bytes_of(material, sizeof material)) |
                                TS_DERIVED_SHARD_BIT};
}

struct ts_shard_id ts_drawn_shard_id(struct ts_run_id run, struct ts_op_id op_id, uint32_t index) {
    uint8_t material[20];
    ts_le64_store(run.v, material);
    ts_le64_store(op_id.v, material + 8);
    ts_le32_store(index, material + 16);
    return (struct ts_shard_id){hash_of(DRAWN_CONTEXT, ts_bytes_of(material, sizeof material)) &
                                ~TS_DERIVED_SHARD_BIT};
}

struct ts_op_id ts_step_op_id(struct ts_run_id run, struct ts_op_id op_id, struct ts_step_place place) {
    uint8_t material[32];
    ts_le64_store(run.v, material);
    ts_le64_store(op_id.v, material + 8);
    ts_le64_store(place.from, material + 16);
    ts_le64_store(place.count, material + 24);
    return (struct ts_op_id){hash_of(STEP_CONTEXT, ts_bytes_of(material, sizeof material))};
}

bool ts_request_ids(const struct ts_tenant_id *tenant, struct ts_bytes request, struct ts_run_id *ret_run,
                    struct ts_op_id *ret_op_id) {
    if (request.len == 0 || request.len > TS_REQUEST_MAX)
        return false;
    for (size_t i = 0; i < request.len; i++)
        if (request.data[i] <= ' ' || request.data[i] > '~')
            return false;
    struct ts_blake3 hasher;
    ts_blake3_init_derive_key(&hasher, REQUEST_CONTEXT);
    ts_blake3_update(&hasher, ts_bytes_of(tenant->b, sizeof tenant->b));
    ts_blake3_update(&hasher, request);
    uint8_t out[16];
    ts_blake3_output(&hasher, 0, out, sizeof out);
    const uint64_t below = (UINT64_C(1) << 53) - 1;
    ret_run->v = ts_le64_load(out) & below;
    ret_op_id->v = ts_le64_load(out + 8) & below;
    return true;
}

struct ts_op_id ts_parking_op_id(struct ts_shard_key shard, struct ts_fence_epoch fence) {
    uint8_t material[24];
    ts_le64_store(shard.run.v, material);
    ts_le64_store(shard.shard.v, material + 8);
    ts_le64_store(fence.v, material + 16);
    return (struct ts_op_id){hash_of(PARKING_CONTEXT, ts_bytes_of(material, sizeof material))};
}
