/*
 * A small world for tests of coordination: one tenant, one run, one shard [b, y), and short functions that
 * act on them. After every executed step the record is encoded and decoded, as a store would do.
 */
#ifndef TESTS_UNIT_COORD_WORLD_H
#define TESTS_UNIT_COORD_WORLD_H

#include "coord/core/run_step.h"
#include "coord/core/shard_step.h"
#include "coord/core/split_step.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

#define KEY(text)                                                                                            \
    { .has_key = true, .last_key = TS_BYTES_INIT(text) }

struct world {
    struct ts_run_guard guard;
    struct ts_shard_record record;
    struct ts_lease lease;
    struct ts_logical_time now;
    size_t record_max;
    struct ts_shard_limits limits;
    struct ts_shard_step step;
    struct ts_coord_detail detail;
    struct ts_split_memory memory;
    struct ts_split_replace_result children;
    struct ts_split_residual_result residual;
    uint8_t bytes[2][TS_RECORD_MAX];
    int current;
};

static inline struct ts_tenant_id tenant_named(const char *name) {
    struct ts_tenant_id tenant;
    assert_true(ts_tenant_id_from_text(ts_bytes_of_cstring(name), &tenant));
    return tenant;
}

static inline struct ts_worker_id worker_named(const char *name) {
    struct ts_worker_id worker;
    assert_true(ts_worker_id_from_text(ts_bytes_of_cstring(name), &worker));
    return worker;
}

static const struct ts_shard_key the_shard = {{7}, {3}};

/* Sets w->record to this record as a store would return it: encoded and decoded. */
static inline void world_store(struct world *w, const struct ts_shard_record *record) {
    size_t len;
    w->current = !w->current;
    assert_int_equal(ts_shard_record_encode(record, w->bytes[w->current], &len), TS_RECORD_OK);
    assert_int_equal(ts_shard_record_decode(ts_bytes_of(w->bytes[w->current], len), &w->record),
                     TS_RECORD_OK);
}

static inline void world_init(struct world *w) {
    memset(w, 0, sizeof *w);
    w->guard = (struct ts_run_guard){.tenant = tenant_named("acme"),
                                     .run = {7},
                                     .status = TS_RUN_ACTIVE,
                                     .config = ts_run_config_default(),
                                     .number = 1};
    w->now.ms = 1000;
    w->record_max = TS_RECORD_MAX;
    w->limits = (struct ts_shard_limits){{1, 100}, {1, 1000}};
    const struct ts_shard_record fresh = {
        .tenant = tenant_named("acme"),
        .key = the_shard,
        .spec = {.range = {TS_BYTES("b"), TS_BYTES("y")}, .metadata = TS_BYTES("meta")},
    };
    world_store(w, &fresh);
}

static inline struct ts_step_env world_env(const struct world *w) {
    return (struct ts_step_env){.guard = &w->guard, .now = w->now, .record_max = w->record_max};
}

/* Stores the record of an executed step. */
static inline void world_keep(struct world *w) {
    if (!w->step.write)
        return;
    const struct ts_shard_record next = w->step.record;
    world_store(w, &next);
}

static inline enum ts_acquire_error world_acquire(struct world *w, const char *worker) {
    struct ts_step_env env = world_env(w);
    struct ts_acquire_op op = {
        .tenant = w->guard.tenant, .shard = w->record.key, .worker = worker_named(worker)};
    enum ts_acquire_error error = ts_acquire_step(&w->record, &env, &op, &w->step, &w->lease, &w->detail);
    world_keep(w);
    return error;
}

static inline struct ts_lease_op world_by(const struct world *w, uint64_t op_id) {
    return (struct ts_lease_op){.tenant = w->guard.tenant, .lease = w->lease, .op_id = {op_id}};
}

static inline struct ts_cursor cursor_at(const char *key) {
    return (struct ts_cursor){.has_key = true, .last_key = ts_bytes_of_cstring(key)};
}

static inline enum ts_checkpoint_error world_checkpoint(struct world *w, uint64_t op_id, const char *key) {
    struct ts_step_env env = world_env(w);
    struct ts_cursor_op op = {.by = world_by(w, op_id), .cursor = cursor_at(key)};
    enum ts_checkpoint_error error = ts_checkpoint_step(&w->record, &env, &op, &w->step, &w->detail);
    if (error == TS_CHECKPOINT_OK)
        world_keep(w);
    return error;
}

static inline enum ts_complete_error world_complete(struct world *w, uint64_t op_id, const char *key) {
    struct ts_step_env env = world_env(w);
    struct ts_cursor_op op = {.by = world_by(w, op_id), .cursor = cursor_at(key)};
    enum ts_complete_error error = ts_complete_step(&w->record, &env, &op, &w->step, &w->detail);
    if (error == TS_COMPLETE_OK)
        world_keep(w);
    return error;
}

static inline enum ts_park_error world_park(struct world *w, uint64_t op_id, enum ts_park_reason reason) {
    struct ts_step_env env = world_env(w);
    struct ts_park_op op = {.by = world_by(w, op_id), .reason = reason};
    enum ts_park_error error = ts_park_step(&w->record, &env, &op, &w->step, &w->detail);
    if (error == TS_PARK_OK)
        world_keep(w);
    return error;
}

static inline enum ts_release_error world_release(struct world *w, uint64_t op_id, enum ts_blame blame) {
    struct ts_step_env env = world_env(w);
    struct ts_release_op op = {.by = world_by(w, op_id), .blame = blame};
    enum ts_release_error error = ts_release_step(&w->record, &env, &op, &w->step, &w->detail);
    if (error == TS_RELEASE_OK)
        world_keep(w);
    return error;
}

static inline enum ts_write_error world_write(struct world *w, struct ts_logical_time *ret_before) {
    struct ts_step_env env = world_env(w);
    struct ts_write_op op = {.tenant = w->guard.tenant, .lease = w->lease};
    return ts_write_step(&w->record, &env, &op, ret_before, &w->detail);
}

static inline enum ts_unpark_error world_unpark(struct world *w, uint64_t op_id) {
    struct ts_step_env env = world_env(w);
    struct ts_unpark_op op = {.tenant = w->guard.tenant, .shard = w->record.key, .op_id = {op_id}};
    enum ts_unpark_error error = ts_unpark_step(&w->record, &env, &op, &w->step, &w->detail);
    if (error == TS_UNPARK_OK)
        world_keep(w);
    return error;
}

static inline enum ts_renew_error world_renew(struct world *w) {
    struct ts_step_env env = world_env(w);
    struct ts_renew_op op = {.tenant = w->guard.tenant, .lease = w->lease};
    enum ts_renew_error error = ts_renew_step(&w->record, &env, &op, &w->step, &w->lease, &w->detail);
    if (error == TS_RENEW_OK)
        world_keep(w);
    return error;
}

static inline struct ts_new_shard child_of(const char *start, const char *end) {
    return (struct ts_new_shard){.spec = {.range = {ts_bytes_of_cstring(start), ts_bytes_of_cstring(end)}}};
}

static inline enum ts_split_error world_split_replace(struct world *w, uint64_t op_id,
                                                      const struct ts_new_shard *children, size_t count) {
    struct ts_split_env env = {.step = world_env(w), .limits = w->limits};
    struct ts_split_replace_op op = {.by = world_by(w, op_id), .children = {children, count}};
    enum ts_split_error error =
        ts_split_replace_step(&w->record, &env, &op, &w->memory, &w->step, &w->children, &w->detail);
    if (error == TS_SPLIT_OK)
        world_keep(w);
    return error;
}

static inline enum ts_split_error world_split_residual(struct world *w, uint64_t op_id, const char *at) {
    struct ts_split_env env = {.step = world_env(w), .limits = w->limits};
    struct ts_split_residual_op op = {.by = world_by(w, op_id), .residual = child_of(at, "")};
    enum ts_split_error error =
        ts_split_residual_step(&w->record, &env, &op, &w->memory, &w->step, &w->residual, &w->detail);
    if (error == TS_SPLIT_OK)
        world_keep(w);
    return error;
}

#endif
