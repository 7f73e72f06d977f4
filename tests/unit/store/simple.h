/* Short functions to call a store, for the tests of its parts. */
#ifndef TS_TESTS_UNIT_STORE_SIMPLE_H
#define TS_TESTS_UNIT_STORE_SIMPLE_H

#include "base/bytes.h"
#include "store/contract/engine.h"
#include "support/cmocka.h"

static inline struct ts_op simple_put(const char *key, const char *value) {
    return (struct ts_op){
        .kind = TS_OP_PUT, .key = ts_bytes_of_cstring(key), .value = ts_bytes_of_cstring(value)};
}

static inline struct ts_call simple_put_call(const struct ts_op *op) {
    return (struct ts_call){.kind = TS_CALL_APPLY, .batch = {op, 1}};
}

static inline enum ts_store_result simple_run_put(struct ts_store *store, const char *key,
                                                  const char *value) {
    const struct ts_op op = simple_put(key, value);
    struct ts_call call = simple_put_call(&op);
    return ts_store_run(store, &call);
}

static inline enum ts_store_result simple_prepare(struct ts_store *store, const char *gid, const char *key,
                                                  const char *value) {
    const struct ts_op op = simple_put(key, value);
    struct ts_call call = {.kind = TS_CALL_PREPARE, .gid = gid, .batch = {&op, 1}};
    return ts_store_run(store, &call);
}

static inline enum ts_store_result simple_finish(struct ts_store *store, enum ts_call_kind kind,
                                                 const char *gid) {
    struct ts_call call = {.kind = kind, .gid = gid};
    return ts_store_run(store, &call);
}

/* Returns whether the key has this value. If the value is NULL, returns whether the key is absent. The read
 * must succeed. */
static inline bool simple_has(struct ts_store *store, const char *key, const char *value) {
    struct ts_rows rows = {0};
    const struct ts_bytes keys[] = {ts_bytes_of_cstring(key)};
    struct ts_call call = {.kind = TS_CALL_READ, .keys = keys, .key_count = 1, .rows = &rows};
    assert_int_equal(ts_store_run(store, &call), TS_STORE_OK);
    bool has = value == NULL ? rows.rows[0].version == 0
                             : rows.rows[0].version != 0 &&
                                   ts_bytes_equal(rows.rows[0].value, ts_bytes_of_cstring(value));
    ts_rows_release(&rows);
    return has;
}

/* A clock that the test sets. */
struct simple_time {
    uint64_t wall_ms;
    uint64_t monotonic_ns;
};

static inline uint64_t simple_wall_ms(void *context) {
    return ((struct simple_time *)context)->wall_ms;
}

static inline uint64_t simple_monotonic_ns(void *context) {
    return ((struct simple_time *)context)->monotonic_ns;
}

static inline struct ts_store_clock simple_clock(struct simple_time *time) {
    return (struct ts_store_clock){
        .wall_ms = simple_wall_ms, .monotonic_ns = simple_monotonic_ns, .context = time};
}

#endif
