/*
 * The conformance suite of coordination: every operation, every error and every replay, on any cluster. An
 * engine has a fixture and a main function:
 *
 *     static const struct suite_fixture fixture = {"memory", open_cluster, ...};
 *     int main(void) { return suite_main(&fixture); }
 *
 * All tests share the cluster; each has its own tenant and run. Tests make calls only through the functions
 * below. These record the results of the calls, and the last test checks that every result occurred. They
 * also examine all texts of errors and events: no text may contain a key, a token, metadata, an owner, a
 * payload hash or a foreign tenant. The tests use values that contain words to search for.
 */
#ifndef TS_TESTS_DRIVER_COORD_SUITE_H
#define TS_TESTS_DRIVER_COORD_SUITE_H

#include "coord/driver/coord.h"
#include "coord/driver/session.h"
#include "support/cmocka.h"
#include "turnstone/cluster.h"

struct suite_fixture {
    const char *name;
    /* Opens a new, empty cluster. On failure, fails the test. */
    struct ts_cluster *(*open)(void);
    /* Duration of the leases that tests let expire: long enough for the work under the lease, and short
     * enough to wait until the lease expires. */
    uint64_t lease_ms;
    /* Advances the stores' time, or waits. */
    void (*pass_ms)(uint64_t ms);
    /* Called after the cluster was closed; may be NULL. */
    void (*clean)(void);
};

int suite_main(const struct suite_fixture *fixture);

/* The declarations below are for the files of the suite. */

enum { SUITE_EVENTS_MAX = 4096 };

struct suite {
    const struct suite_fixture *fixture;
    struct ts_cluster *cluster;
    struct ts_coordinator *coordinator;
    struct ts_coord *whole; /* a coordination with the usual limits */
    /* The coordination that calls use: `whole`, unless a test has chosen another. */
    struct ts_coord *coord;
    struct ts_tenant_id tenant; /* tenant of this test */
    struct ts_run_id run;
    uint64_t op_id; /* the last op id that was used */
    struct ts_coord_detail detail;
    struct ts_coord_outcome outcome;
    struct ts_acquire_scratch scratch;
    struct ts_acquire_result_view view;
    struct ts_manifest_memory memory;
    struct ts_split_replace_result children;
    struct ts_split_residual_result residual;
    struct ts_renew_result renewed;
    struct ts_coord_deleted deleted;
    struct ts_event events[SUITE_EVENTS_MAX]; /* events of this test */
    size_t event_count;
};
extern struct suite suite;

#define KEY(text)                                                                                            \
    (struct ts_cursor) {                                                                                     \
        .has_key = true, .last_key = TS_BYTES_INIT("kEy-" text)                                              \
    }
#define RANGE(from, to)                                                                                      \
    { TS_BYTES_INIT("kEy-" from), TS_BYTES_INIT("kEy-" to) }
#define SHARD(number, from, to)                                                                              \
    {                                                                                                        \
        .has_id = true, .id = {number}, .spec = {                                                            \
            .range = RANGE(from, to),                                                                        \
            .metadata = TS_BYTES_INIT("mEtA")                                                                \
        }                                                                                                    \
    }

struct ts_tenant_id suite_tenant(const char *name);
struct ts_worker_id suite_worker(const char *name); /* "oWnEr-" followed by the name */
struct ts_op_id suite_op(void);                     /* draws a new op id */
struct ts_shard_key suite_shard(uint64_t number);

/* The test's run has the shards 1 [b, h), 2 [h, p), 3 [p, x). Its leases last for ten minutes. The leases of
 * a short run last for the fixture's lease_ms. */
struct ts_run_config suite_config(void);
struct ts_run_config suite_short_config(void);
void suite_make_run(void);
void suite_make_short_run(void);
void suite_make_run_with(const struct ts_run_config *config);

/* Makes another coordination over the same cluster, with other options. The caller frees it. */
struct ts_coord *suite_other(const struct ts_coord_options *options);

/* Calls of operations. The detail, the outcome and the results are in `suite` afterwards. */
enum ts_create_run_error suite_create(const struct ts_run_config *config);
enum ts_register_shards_error suite_register(struct ts_op_id op, const struct ts_new_shard *shards,
                                             size_t count);
enum ts_create_run_error suite_create_with(const struct ts_run_config *config, struct ts_op_id op,
                                           const struct ts_new_shard *shards, size_t count);
enum ts_get_run_error suite_get_run(struct ts_run_record *ret_run);
enum ts_run_transition_error suite_end(enum ts_run_op_kind kind, struct ts_op_id op);
enum ts_delete_run_error suite_delete(void);
enum ts_acquire_error suite_acquire(uint64_t shard, const char *worker, struct ts_lease *ret_lease);
enum ts_claim_error suite_claim(const char *worker, struct ts_lease *ret_lease);
enum ts_renew_error suite_renew(struct ts_lease *lease);
enum ts_checkpoint_error suite_checkpoint(const struct ts_lease *lease, struct ts_op_id op,
                                          struct ts_cursor cursor);
enum ts_complete_error suite_complete(const struct ts_lease *lease, struct ts_op_id op,
                                      struct ts_cursor cursor);
enum ts_park_error suite_park(const struct ts_lease *lease, struct ts_op_id op, enum ts_park_reason reason);
enum ts_release_error suite_release(const struct ts_lease *lease, struct ts_op_id op, enum ts_blame blame);
/* Puts the value under a key that belongs to the test. If `check` is not NULL, the key must have the version
 * *check. */
enum ts_write_error suite_write(const struct ts_lease *lease, const char *value, const uint64_t *check,
                                struct ts_store_error *ret_error);
enum ts_unpark_error suite_unpark(uint64_t shard, struct ts_op_id op);
enum ts_split_error suite_split_replace(const struct ts_lease *lease, struct ts_op_id op,
                                        const struct ts_new_shard *children, size_t count);
enum ts_split_error suite_split_residual(const struct ts_lease *lease, struct ts_op_id op,
                                         struct ts_bytes cut, struct ts_cursor cursor);
enum ts_get_shard_error suite_get_shard(struct ts_shard_key shard);

/* The results of get_shard and suite_record. */
struct suite_shard {
    struct ts_shard_record record;
    uint8_t bytes[TS_RECORD_MAX];
    struct ts_logical_time now;
    uint32_t place;
    uint64_t version;
};
extern struct suite_shard suite_shard_seen;
const struct ts_shard_record *suite_record(struct ts_shard_key shard); /* fails the test without a record */

/* Expects TenantMismatch from every operation on the test's run and its shard 1, which has this lease. */
void suite_expect_foreign(struct ts_lease *lease);

/* Acquires the lease of a shard. On failure, fails the test. */
struct ts_lease suite_must_acquire(uint64_t shard, const char *worker);

/* Checks that the records of the test's run are consistent on all stores. */
void suite_audit(void);

/* Returns the number of events of this kind in the test so far. */
size_t suite_count_events(enum ts_event_kind kind);

#define EXPECT(op, call, wanted)                                                                             \
    do {                                                                                                     \
        const enum ts_##op##_error error_ = (call);                                                          \
        if (error_ != (wanted))                                                                              \
            suite_wrong(ts_##op##_error_variant(error_), __FILE__, __LINE__);                                \
    } while (0)
void suite_wrong(enum ts_error_variant error, const char *file, int line);

#define expect_executed() assert_int_equal(suite.outcome.outcome, TS_OUTCOME_EXECUTED)
#define expect_replayed() assert_int_equal(suite.outcome.outcome, TS_OUTCOME_REPLAYED)

/* The tests of each file of the suite; each list ends with {0}. */
extern const struct CMUnitTest suite_run_tests[], suite_delete_tests[], suite_lease_tests[],
    suite_split_tests[], suite_claim_tests[], suite_weak_spot_tests[], suite_damage_tests[],
    suite_session_tests[], suite_step_tests[];

int suite_fresh(void **state);
#define suite_test(function) cmocka_unit_test_setup(function, suite_fresh)

#endif
