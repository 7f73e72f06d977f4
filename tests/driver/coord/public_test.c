/* Uses turnstone/coord.h like a program, on stores in memory with the real clock. */
#include "support/cmocka.h"

#include "turnstone/cluster.h"
#include "turnstone/coord.h"
#include "turnstone/txn.h"

#include <stdatomic.h>
#include <time.h>

#define TENANT "acme"

static struct ts_cluster *cluster;
static struct ts_coordinator *coordinator;
static struct ts_coord *coord;
static struct ts_coord_answer *answer;
static struct ts_run_id run;
static uint64_t last_op;

static struct ts_bytes bytes(const char *text) {
    return ts_bytes_of_cstring(text);
}

static struct ts_op_id next_op(void) {
    return (struct ts_op_id){++last_op};
}

static void sleep_ms(long ms) {
    struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

static void same(struct ts_bytes found, const char *expected) {
    assert_int_equal(found.len, strlen(expected));
    if (found.len > 0)
        assert_memory_equal(found.data, expected, found.len);
}

static int open_all(void **state) {
    (void)state;
    struct ts_store_error error;
    struct ts_txn_error_detail detail;
    assert_int_equal(ts_cluster_init("memory:a,memory:b", "xxh64", NULL, &cluster, &error), TS_STORE_OK);
    assert_int_equal(ts_coordinator_open(cluster, NULL, &coordinator, &detail), TS_TXN_ERROR_OK);
    coord = ts_coord_open(cluster, coordinator);
    answer = ts_coord_answer_new();
    assert_non_null(coord);
    assert_non_null(answer);
    return 0;
}

static int close_all(void **state) {
    (void)state;
    ts_coord_answer_free(answer);
    ts_coord_close(coord);
    ts_coordinator_close(coordinator);
    ts_cluster_close(cluster);
    return 0;
}

/* Makes the run of a test, with the shards a to m and m to z. Its leases last for lease_ms. */
static void make_run(uint64_t lease_ms) {
    run.v++;
    struct ts_run_plan *plan = ts_run_plan_new(TENANT, run);
    assert_non_null(plan);
    assert_true(ts_run_plan_set(plan, TS_RUN_LEASE_MS, lease_ms));
    assert_false(ts_run_plan_set(plan, (enum ts_run_setting)77, 1));
    assert_true(ts_run_plan_add_shard(plan, bytes("a"), bytes("m"), bytes("first")));
    assert_true(ts_run_plan_add_shard(plan, bytes("m"), bytes("z"), bytes("second")));
    struct ts_op_id op_id = next_op();
    assert_int_equal(ts_run_create(coord, plan, op_id, answer), TS_CREATE_RUN_OK);
    assert_false(ts_coord_answer_is_replay(answer));
    assert_int_equal(ts_run_create(coord, plan, op_id, answer), TS_CREATE_RUN_OK);
    assert_true(ts_coord_answer_is_replay(answer));
    ts_run_plan_free(plan);
}

static struct ts_worker *new_worker(const char *name) {
    struct ts_worker *worker = ts_worker_new(coord, TENANT, name);
    assert_non_null(worker);
    return worker;
}

static void expect_shards(enum ts_shard_status status, uint64_t count) {
    struct ts_run_info *info;
    assert_int_equal(ts_run_look(coord, TENANT, run, &info, answer), TS_GET_RUN_OK);
    assert_int_equal(ts_run_info_shards(info, status), count);
    assert_true(ts_run_info_number(info) > 0);
    ts_run_info_free(info);
}

static void a_run_is_worked_off_and_ends(void **state) {
    (void)state;
    make_run(60000);
    struct ts_worker *worker = new_worker("one");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(ts_worker_claim(worker, run, answer), TS_CLAIM_OK);
        bool is_first = ts_worker_metadata(worker).len == 5;
        same(ts_worker_metadata(worker), is_first ? "first" : "second");
        same(ts_worker_start(worker), is_first ? "a" : "m");
        same(ts_worker_end(worker), is_first ? "m" : "z");
        same(ts_worker_key(worker), "");
        assert_int_equal(ts_worker_fence(worker).v, 1);
        assert_in_range(ts_worker_left_ms(worker), 50000, 60000);
        struct ts_op_id op_id = next_op();
        struct ts_bytes last = bytes(is_first ? "b" : "n");
        assert_int_equal(ts_worker_complete(worker, op_id, last, bytes(""), answer), TS_COMPLETE_OK);
        assert_false(ts_coord_answer_is_replay(answer));
        assert_int_equal(ts_worker_complete(worker, op_id, last, bytes(""), answer), TS_COMPLETE_OK);
        assert_true(ts_coord_answer_is_replay(answer));
        assert_false(ts_worker_is_lost(worker));
    }
    assert_int_equal(ts_worker_claim(worker, run, answer), TS_CLAIM_NONE_AVAILABLE);
    assert_string_equal(ts_coord_answer_name(answer), "NoneAvailable");
    assert_int_equal(ts_coord_answer_retry_at(answer).ms, 0);
    assert_string_not_equal(ts_coord_answer_text(answer), "");
    expect_shards(TS_SHARD_DONE, 2);
    assert_int_equal(ts_run_end(coord, TENANT, run, TS_RUN_COMPLETE, next_op(), answer),
                     TS_RUN_TRANSITION_OK);
    assert_string_equal(ts_coord_answer_name(answer), "Ok");
    ts_worker_free(worker);
    struct ts_run_info *info;
    assert_int_equal(ts_run_delete(coord, TENANT, run, answer), TS_DELETE_RUN_OK);
    assert_int_equal(ts_run_look(coord, TENANT, run, &info, answer), TS_GET_RUN_RUN_NOT_FOUND);
    assert_int_equal(ts_run_delete(coord, TENANT, run, answer), TS_DELETE_RUN_OK);
}

static void a_later_holder_continues_and_the_earlier_is_refused(void **state) {
    (void)state;
    make_run(1000);
    struct ts_worker *early = new_worker("early");
    struct ts_worker *late = new_worker("late");
    assert_int_equal(ts_worker_claim(early, run, answer), TS_CLAIM_OK);
    struct ts_shard_id shard = ts_worker_shard(early);
    struct ts_bytes at = bytes(ts_worker_start(early).data[0] == 'a' ? "c" : "n");
    struct ts_op_id op_id = next_op();
    assert_int_equal(ts_worker_checkpoint(early, op_id, at, bytes("token"), answer), TS_CHECKPOINT_OK);
    assert_int_equal(ts_worker_acquire(late, run, shard, answer), TS_ACQUIRE_ALREADY_LEASED);
    sleep_ms(1100);
    assert_int_equal(ts_worker_left_ms(early), 0);
    assert_int_equal(ts_worker_acquire(late, run, shard, answer), TS_ACQUIRE_OK);
    assert_int_equal(ts_worker_fence(late).v, 2);
    same(ts_worker_token(late), "token");
    assert_memory_equal(ts_worker_key(late).data, at.data, 1);
    assert_int_equal(ts_worker_checkpoint(early, next_op(), at, bytes(""), answer),
                     TS_CHECKPOINT_STALE_FENCE);
    assert_string_equal(ts_coord_answer_name(answer), "StaleFence");
    assert_int_equal(ts_coord_answer_class(answer), TS_COORD_CLASS_FATAL);
    assert_true(ts_worker_is_lost(early));
    /* An operation that was done under the lease is still answered, as a replay. */
    assert_int_equal(ts_worker_checkpoint(early, op_id, at, bytes("token"), answer), TS_CHECKPOINT_OK);
    assert_true(ts_coord_answer_is_replay(answer));
    assert_true(ts_worker_is_lost(early));
    ts_worker_free(early);
    ts_worker_free(late);
}

/* The keeper's report of a lost lease. */
struct loss {
    atomic_int count;
    char name[40];
};

static void note_loss(void *context, const struct ts_coord_answer *said) {
    struct loss *loss = context;
    snprintf(loss->name, sizeof loss->name, "%s", ts_coord_answer_name(said));
    atomic_fetch_add(&loss->count, 1);
}

static void a_keeper_keeps_the_lease(void **state) {
    (void)state;
    make_run(1000);
    struct loss loss = {.name = ""};
    struct ts_worker *worker = new_worker("kept");
    assert_true(ts_worker_start_keeper(worker, note_loss, &loss));
    assert_false(ts_worker_start_keeper(worker, note_loss, &loss));
    assert_int_equal(ts_worker_claim(worker, run, answer), TS_CLAIM_OK);
    sleep_ms(2600);
    assert_true(ts_worker_left_ms(worker) > 0);
    struct ts_bytes last = bytes(ts_worker_start(worker).data[0] == 'a' ? "c" : "n");
    assert_int_equal(ts_worker_complete(worker, next_op(), last, bytes(""), answer), TS_COMPLETE_OK);
    assert_int_equal(ts_worker_fence(worker).v, 1);
    assert_int_equal(atomic_load(&loss.count), 0);
    ts_worker_free(worker);
}

static void a_keeper_reports_a_lease_that_it_cannot_keep(void **state) {
    (void)state;
    make_run(1000);
    struct loss loss = {.name = ""};
    struct ts_worker *worker = new_worker("kept");
    assert_true(ts_worker_start_keeper(worker, note_loss, &loss));
    assert_int_equal(ts_worker_claim(worker, run, answer), TS_CLAIM_OK);
    assert_int_equal(ts_run_end(coord, TENANT, run, TS_RUN_CANCEL, next_op(), NULL), TS_RUN_TRANSITION_OK);
    for (int i = 0; i < 300 && atomic_load(&loss.count) == 0; i++)
        sleep_ms(10);
    assert_int_equal(atomic_load(&loss.count), 1);
    assert_string_equal(loss.name, "ShardTerminal");
    assert_true(ts_worker_is_lost(worker));
    assert_int_equal(ts_worker_renew(worker, answer), TS_RENEW_SHARD_TERMINAL);
    sleep_ms(500);
    assert_int_equal(atomic_load(&loss.count), 1);
    ts_worker_free(worker);
}

static bool count_shard(void *context, const struct ts_shard_info *shard) {
    int *counts = context;
    counts[ts_shard_info_status(shard)]++;
    counts[4] += ts_shard_info_is_leased(shard);
    counts[5] += ts_shard_info_key(shard).len > 0;
    bool is_parked = ts_shard_info_status(shard) == TS_SHARD_PARKED;
    assert_int_equal(ts_shard_info_park_reason(shard), is_parked ? TS_PARK_POISONED : TS_PARK_OTHER);
    assert_int_equal(ts_shard_info_attempts(shard), is_parked || ts_shard_info_is_leased(shard) ? 1 : 0);
    same(ts_shard_info_token(shard), ts_shard_info_status(shard) == TS_SHARD_SPLIT ? "token" : "");
    assert_true(ts_shard_info_start(shard).len > 0 && ts_shard_info_end(shard).len > 0);
    assert_true(ts_shard_info_metadata(shard).len > 0 && ts_shard_info_id(shard).v > 0);
    return true;
}

static void shards_are_split_and_parked(void **state) {
    (void)state;
    make_run(60000);
    struct ts_worker *worker = new_worker("splitter");
    assert_int_equal(ts_worker_claim(worker, run, answer), TS_CLAIM_OK);
    bool is_first = ts_worker_start(worker).data[0] == 'a';
    struct ts_bytes done = bytes(is_first ? "b" : "n");
    struct ts_bytes residual = bytes(is_first ? "k" : "y");
    struct ts_bytes cuts[] = {bytes(is_first ? "d" : "p"), bytes(is_first ? "g" : "t")};
    assert_int_equal(ts_worker_checkpoint(worker, next_op(), done, bytes("token"), answer), TS_CHECKPOINT_OK);
    assert_int_equal(ts_worker_split_residual(worker, next_op(), residual, bytes("rest"), answer),
                     TS_SPLIT_OK);
    struct ts_bytes backwards[] = {cuts[1], cuts[0]};
    assert_int_equal(ts_worker_split_replace(worker, next_op(), backwards, 2, answer),
                     TS_SPLIT_SPLIT_INVALID);
    assert_int_equal(ts_worker_split_replace(worker, next_op(), NULL, 0, answer), TS_SPLIT_SPLIT_INVALID);
    assert_int_equal(ts_worker_split_replace(worker, next_op(), cuts, 2, answer), TS_SPLIT_OK);
    assert_int_equal(ts_worker_claim(worker, run, answer), TS_CLAIM_OK);
    struct ts_op put = {.kind = TS_OP_PUT, .key = bytes("own"), .value = bytes("1")};
    struct ts_store_error refusal;
    assert_int_equal(ts_worker_write(worker, (struct ts_batch){&put, 1}, &refusal, answer), TS_WRITE_OK);
    assert_int_equal(refusal.result, TS_STORE_OK);
    put.key = (struct ts_bytes){.data = (const uint8_t *)"\0c", .len = 2};
    assert_int_equal(ts_worker_write(worker, (struct ts_batch){&put, 1}, &refusal, answer), TS_WRITE_OK);
    assert_int_equal(refusal.result, TS_STORE_BAD_BATCH);
    assert_int_equal(ts_worker_release(worker, (struct ts_op_id){77}, TS_BLAME_NOBODY, answer),
                     TS_RELEASE_OK);
    assert_int_equal(ts_worker_left_ms(worker), 0);
    assert_false(ts_worker_is_lost(worker));
    assert_int_equal(ts_worker_release(worker, (struct ts_op_id){77}, TS_BLAME_NOBODY, answer),
                     TS_RELEASE_OK);
    assert_int_equal(ts_worker_renew(worker, answer), TS_RENEW_STALE_FENCE);
    put.key = bytes("own");
    assert_int_equal(ts_worker_write(worker, (struct ts_batch){&put, 1}, &refusal, answer),
                     TS_WRITE_STALE_FENCE);
    assert_int_equal(ts_worker_acquire(worker, run, ts_worker_shard(worker), answer), TS_ACQUIRE_OK);
    struct ts_shard_id parked = ts_worker_shard(worker);
    assert_int_equal(ts_worker_park(worker, next_op(), TS_PARK_POISONED, answer), TS_PARK_OK);
    assert_int_equal(ts_worker_claim(worker, run, answer), TS_CLAIM_OK);
    int counts[6] = {0};
    assert_int_equal(ts_run_each_shard(coord, TENANT, run, count_shard, counts, answer), TS_GET_RUN_OK);
    assert_int_equal(counts[TS_SHARD_SPLIT], 1);
    assert_int_equal(counts[TS_SHARD_PARKED], 1);
    /* Active are the other shard, the residual, and two of the three children. The third child is parked. */
    assert_int_equal(counts[TS_SHARD_ACTIVE], 4);
    assert_int_equal(counts[4], 1);
    assert_int_equal(counts[5], 2); /* the parent, and the child that continues after its last key */
    assert_int_equal(ts_shard_unpark(coord, TENANT, run, parked, next_op(), answer), TS_UNPARK_OK);
    expect_shards(TS_SHARD_ACTIVE, 5);
    ts_worker_free(worker);
}

static void only_workers_with_the_pin_get_shards(void **state) {
    (void)state;
    const struct ts_pin pin = {{1, 2, 3}}, other = {{1, 2, 4}};
    struct ts_run_info *info;
    struct ts_run_plan *plan = ts_run_plan_new("pinned", (struct ts_run_id){++run.v});
    assert_non_null(plan);
    ts_run_plan_set_pin(plan, pin);
    assert_true(ts_run_plan_set(plan, TS_RUN_DISPATCHED, 2));
    assert_true(ts_run_plan_add_shard(plan, bytes("a"), bytes("m"), bytes("")));
    assert_int_equal(ts_run_create(coord, plan, next_op(), answer), TS_CREATE_RUN_INVALID_CONFIG);
    assert_true(ts_run_plan_set(plan, TS_RUN_DISPATCHED, 1));
    assert_int_equal(ts_run_create(coord, plan, next_op(), answer), TS_CREATE_RUN_OK);
    ts_run_plan_free(plan);
    assert_int_equal(ts_run_look(coord, "pinned", run, &info, answer), TS_GET_RUN_OK);
    struct ts_pin read = ts_run_info_pin(info);
    assert_memory_equal(&read, &pin, sizeof pin);
    ts_run_info_free(info);
    struct ts_worker *worker = ts_worker_new(coord, "pinned", "w");
    assert_int_equal(ts_worker_claim(worker, run, answer), TS_CLAIM_NONE_AVAILABLE);
    assert_non_null(strstr(ts_coord_answer_text(answer), "pin"));
    ts_worker_set_pin(worker, other);
    assert_int_equal(ts_worker_claim(worker, run, answer), TS_CLAIM_NONE_AVAILABLE);
    assert_int_equal(ts_worker_claim_any(worker, answer), TS_CLAIM_NONE_AVAILABLE);
    ts_worker_set_pin(worker, pin);
    assert_int_equal(ts_worker_claim_any(worker, answer), TS_CLAIM_OK);
    assert_int_equal(ts_worker_run(worker).v, run.v);
    ts_worker_free(worker);
}

static bool count_run(void *context, struct ts_run_id visited, enum ts_run_status status) {
    int *counts = context;
    assert_int_not_equal(visited.v, 0);
    counts[status]++;
    return true;
}

/* The request has more shards than one transaction may have. */
static void a_request_makes_one_run_in_steps(void **state) {
    (void)state;
    struct ts_run_id id = {0}, again;
    struct ts_op_id op_id = {0}, op_again;
    int counts[5] = {0};
    assert_true(ts_run_of_request("steps", "nightly-7", &id, &op_id));
    assert_true(ts_run_of_request("steps", "nightly-7", &again, &op_again));
    assert_true(id.v == again.v && op_id.v == op_again.v);
    assert_true(ts_run_of_request("other", "nightly-7", &again, &op_again));
    assert_int_not_equal(id.v, again.v);
    assert_false(ts_run_of_request("steps", "two words", &again, &op_again));
    assert_false(ts_run_of_request("steps", NULL, &again, &op_again));
    struct ts_run_plan *plan = ts_run_plan_new("steps", id);
    char from[16], to[16];
    for (int i = 0; i < 10001; i++) {
        snprintf(from, sizeof from, "%05d", i);
        snprintf(to, sizeof to, "%05d", i + 1);
        assert_true(ts_run_plan_add_shard(plan, bytes(from), bytes(to), bytes("")));
    }
    assert_int_equal(ts_run_create(coord, plan, op_id, answer), TS_CREATE_RUN_REGISTER_SHARDS_FAILED);
    assert_int_equal(ts_run_create_in_steps(coord, plan, op_id, answer), TS_CREATE_RUN_OK);
    assert_false(ts_coord_answer_is_replay(answer));
    assert_int_equal(ts_run_create_in_steps(coord, plan, op_id, answer), TS_CREATE_RUN_OK);
    assert_true(ts_coord_answer_is_replay(answer));
    assert_true(ts_run_plan_add_shard(plan, bytes("x"), bytes("y"), bytes("")));
    assert_int_equal(ts_run_create_in_steps(coord, plan, op_id, answer), TS_CREATE_RUN_CONFIG_MISMATCH);
    ts_run_plan_free(plan);
    assert_int_equal(ts_run_each(coord, "steps", count_run, counts, answer), TS_GET_RUN_OK);
    assert_int_equal(counts[TS_RUN_ACTIVE], 1);
    assert_int_equal(ts_run_each(coord, "", count_run, counts, answer), TS_GET_RUN_OK);
    assert_int_equal(counts[TS_RUN_ACTIVE], 1);
    struct ts_worker *worker = ts_worker_new(coord, "steps", "w");
    assert_int_equal(ts_worker_claim_any(worker, answer), TS_CLAIM_OK);
    assert_int_equal(ts_worker_run(worker).v, id.v);
    ts_worker_free(worker);
}

static void a_run_without_shards_waits_for_them(void **state) {
    (void)state;
    struct ts_run_plan *plan = ts_run_plan_new(TENANT, (struct ts_run_id){++run.v});
    struct ts_run_info *info;
    assert_int_equal(ts_run_create(coord, plan, next_op(), answer), TS_CREATE_RUN_OK);
    assert_int_equal(ts_run_create(coord, plan, next_op(), answer), TS_CREATE_RUN_RUN_ALREADY_EXISTS);
    assert_int_equal(ts_run_look(coord, TENANT, run, &info, answer), TS_GET_RUN_OK);
    assert_int_equal(ts_run_info_status(info), TS_RUN_INITIALIZING);
    ts_run_info_free(info);
    assert_true(ts_run_plan_add_shard(plan, bytes("a"), bytes("m"), bytes("")));
    assert_int_equal(ts_run_register(coord, plan, next_op(), answer), TS_REGISTER_SHARDS_OK);
    ts_run_plan_free(plan);
    expect_shards(TS_SHARD_ACTIVE, 1);
}

static void wrong_names_and_missing_things_are_errors(void **state) {
    (void)state;
    struct ts_run_info *info;
    const char *long_name = "123456789012345678901234567890123";
    assert_null(ts_run_plan_new("", run));
    assert_null(ts_run_plan_new(long_name, run));
    assert_null(ts_worker_new(coord, NULL, "x"));
    assert_null(ts_worker_new(coord, TENANT, long_name));
    assert_int_equal(ts_run_look(coord, long_name, run, &info, answer), TS_GET_RUN_RUN_NOT_FOUND);
    assert_int_equal(ts_run_look(coord, TENANT, (struct ts_run_id){999}, &info, NULL),
                     TS_GET_RUN_RUN_NOT_FOUND);
    make_run(60000);
    assert_int_equal(ts_run_look(coord, "other", run, &info, answer), TS_GET_RUN_TENANT_MISMATCH);
    assert_null(strstr(ts_coord_answer_text(answer), TENANT));
    assert_int_equal(ts_run_delete(coord, TENANT, run, answer), TS_DELETE_RUN_WRONG_STATUS);
    struct ts_worker *worker = new_worker("idle");
    assert_int_equal(ts_worker_shard(worker).v, 0);
    assert_int_equal(ts_worker_renew(worker, answer), TS_RENEW_LEASE_EXPIRED);
    assert_int_equal(ts_worker_park(worker, next_op(), TS_PARK_OTHER, answer), TS_PARK_LEASE_EXPIRED);
    assert_false(ts_worker_is_lost(worker));
    ts_worker_free(worker);
    struct ts_run_plan *plan = ts_run_plan_new(TENANT, (struct ts_run_id){++run.v});
    ts_run_plan_set(plan, TS_RUN_LEASE_MS, 1);
    assert_int_equal(ts_run_create(coord, plan, next_op(), answer), TS_CREATE_RUN_INVALID_CONFIG);
    ts_run_plan_set(plan, TS_RUN_LEASE_MS, 1000);
    ts_run_plan_add_shard(plan, bytes("m"), bytes("a"), bytes(""));
    assert_int_equal(ts_run_create(coord, plan, next_op(), answer), TS_CREATE_RUN_REGISTER_SHARDS_FAILED);
    ts_run_plan_free(plan);
    struct ts_op_id drawn[2];
    assert_true(ts_op_id_draw(&drawn[0]) && ts_op_id_draw(&drawn[1]));
    assert_int_not_equal(drawn[0].v, drawn[1].v);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_is_worked_off_and_ends),
        cmocka_unit_test(a_later_holder_continues_and_the_earlier_is_refused),
        cmocka_unit_test(a_keeper_keeps_the_lease),
        cmocka_unit_test(a_keeper_reports_a_lease_that_it_cannot_keep),
        cmocka_unit_test(shards_are_split_and_parked),
        cmocka_unit_test(only_workers_with_the_pin_get_shards),
        cmocka_unit_test(a_request_makes_one_run_in_steps),
        cmocka_unit_test(a_run_without_shards_waits_for_them),
        cmocka_unit_test(wrong_names_and_missing_things_are_errors),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
