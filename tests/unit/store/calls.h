/* Functions and macros that make a call in one line, for the tests of engines. */
#ifndef TS_TESTS_UNIT_STORE_CALLS_H
#define TS_TESTS_UNIT_STORE_CALLS_H

#include "base/bytes.h"
#include "os/clock.h"
#include "store/cluster/cluster.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

#define KEY(literal) .key = TS_BYTES_INIT(literal)
#define PUT(k, v)    ((struct ts_op){.kind = TS_OP_PUT, KEY(k), .value = TS_BYTES_INIT(v)})
#define DEL(k)       ((struct ts_op){.kind = TS_OP_DEL, KEY(k)})
#define CHECK(k, v)  ((struct ts_op){.kind = TS_OP_CHECK, KEY(k), .version = (v)})
#define ADD(k, d, m) ((struct ts_op){.kind = TS_OP_ADD, KEY(k), .delta = (d), .max = (m)})
#define BEFORE(t)    ((struct ts_op){.kind = TS_OP_BEFORE, .time_ms = (t)})
#define BATCH(...)                                                                                           \
    ((struct ts_batch){.ops = (const struct ts_op[]){__VA_ARGS__},                                           \
                       .count = sizeof((const struct ts_op[]){__VA_ARGS__}) / sizeof(struct ts_op)})

static inline uint64_t in_ms(uint64_t ms) {
    return ts_clock_monotonic_ns() + ms * 1000000;
}

static inline struct ts_call apply_call(struct ts_batch batch, uint64_t deadline_ns) {
    return (struct ts_call){.kind = TS_CALL_APPLY, .batch = batch, .deadline_ns = deadline_ns};
}

static inline struct ts_call prepare_call(const char *gid, struct ts_batch batch, uint64_t deadline_ns) {
    return (struct ts_call){.kind = TS_CALL_PREPARE, .gid = gid, .batch = batch, .deadline_ns = deadline_ns};
}

/* Fails the test with the call's error text if the result is not the expected one. */
static inline void expect_result(const struct ts_call *call, enum ts_store_result expected, const char *where,
                                 int line) {
    if (call->error.result != expected)
        fail_msg("%s:%d: %s instead of %s: %s", where, line, ts_store_result_text(call->error.result),
                 ts_store_result_text(expected), call->error.text);
}

#define run_expecting(expected, store, call_)                                                                \
    do {                                                                                                     \
        (void)ts_store_run((store), (call_));                                                                \
        expect_result((call_), (expected), __FILE__, __LINE__);                                              \
    } while (0)

#define apply_expecting(expected, store, ...)                                                                \
    do {                                                                                                     \
        struct ts_call call_one = apply_call(BATCH(__VA_ARGS__), in_ms(20000));                              \
        run_expecting(expected, store, &call_one);                                                           \
    } while (0)

#define prepare_expecting(expected, store, gid_, ...)                                                        \
    do {                                                                                                     \
        struct ts_call call_one = prepare_call((gid_), BATCH(__VA_ARGS__), in_ms(20000));                    \
        run_expecting(expected, store, &call_one);                                                           \
    } while (0)

#define finish_expecting(expected, store, kind_, gid_)                                                       \
    do {                                                                                                     \
        struct ts_call call_one = {.kind = (kind_), .gid = (gid_), .deadline_ns = in_ms(20000)};             \
        run_expecting(expected, store, &call_one);                                                           \
    } while (0)

/* The value and the version of a key. The value is a string; it is "" if the key is absent. */
struct found {
    char value[64];
    size_t len;
    uint64_t version;
};

static inline struct found read_key(struct ts_store *store, struct ts_bytes key) {
    struct ts_rows rows = {0};
    struct ts_call call = {
        .kind = TS_CALL_READ, .keys = &key, .key_count = 1, .rows = &rows, .deadline_ns = in_ms(20000)};
    run_expecting(TS_STORE_OK, store, &call);
    assert_int_equal(rows.count, 1);
    struct found found = {.version = rows.rows[0].version, .len = rows.rows[0].value.len};
    if (found.len > 0 && found.len < sizeof found.value)
        memcpy(found.value, rows.rows[0].value.data, found.len);
    ts_rows_release(&rows);
    return found;
}

/* Returns the number of promises. If ret_gid is not NULL, stores the gid of the first promise there. */
static inline size_t promises(struct ts_store *store, char *ret_gid, size_t size) {
    struct ts_rows rows = {0};
    struct ts_call call = {.kind = TS_CALL_PREPARED, .rows = &rows, .deadline_ns = in_ms(20000)};
    run_expecting(TS_STORE_OK, store, &call);
    size_t count = rows.count;
    if (count > 0 && ret_gid != NULL)
        snprintf(ret_gid, size, "%.*s", (int)rows.rows[0].key.len, (const char *)rows.rows[0].key.data);
    ts_rows_release(&rows);
    return count;
}

static inline uint64_t now_of(struct ts_store *store) {
    struct ts_call call = {.kind = TS_CALL_NOW, .deadline_ns = in_ms(20000)};
    run_expecting(TS_STORE_OK, store, &call);
    return call.time_ms;
}

/* Writes a meta record. Fields that are 0 get the values of a cluster of this store alone. */
static inline void write_meta(struct ts_store *store, struct ts_meta meta) {
    struct ts_store_error error;
    meta.present = true;
    meta.format = TS_META_FORMAT;
    if (meta.epoch == 0)
        meta.epoch = 1;
    if (meta.place_count == 0)
        meta.place_count = 1;
    snprintf(meta.routing, sizeof meta.routing, "xxh64");
    if (store->engine->meta_write(store, in_ms(20000), &meta, &error) != TS_STORE_OK)
        fail_msg("%s", error.text);
}

#endif
