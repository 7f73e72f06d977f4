/*
 * Sixteen processes work on one run on two PostgreSQL servers. They claim, checkpoint every item, sometimes
 * split, renew and complete. Some are killed at arbitrary moments and started again. The answers that they
 * received are in shared memory, and are compared at the end:
 *
 *   one owner at a time    by the stores' own time, no shard was acquired before its previous lease had ended
 *   fences strictly rise   no fence of a shard was given twice, and no checkpoint succeeds under a fence if a
 *                          higher fence was given before the checkpoint began
 *   nothing is lost        every item was worked on; no checkpoint that was answered is undone; the shards that
 *                          are done cover the whole range; counters, indexes and limits fit the records
 */
#include "base/endian.h"
#include "base/prng.h"
#include "coord/driver/session.h"
#include "os/clock.h"
#include "store/cluster/cluster.h"
#include "support/cmocka.h"
#include "support/pg.h"

#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    PROCESSES = 16,
    SHARDS = 256,
    ITEMS = 12, /* number of items of a shard */
    ALL_ITEMS = SHARDS * ITEMS,
    KILLS = 32,
    LEASE_MS = 1000,
    GRANTS_MAX = 64, /* maximum number of recorded fences of a shard */
    TABLE = 2048,    /* maximum number of recorded shards: a power of two */
};

struct grant {
    _Atomic uint64_t worker;      /* number of the worker that got this fence; 0: no worker reported it */
    _Atomic uint64_t at_ms;       /* when the shard was acquired, by the store's clock */
    _Atomic uint64_t deadline_ms; /* the last deadline that the worker has received */
};

struct shard_log {
    _Atomic uint64_t id;
    _Atomic uint64_t highest_fence; /* the highest fence that any worker has received */
    _Atomic uint64_t acknowledged;  /* 1 + the last item whose checkpoint was answered */
    struct grant grants[GRANTS_MAX];
};

struct shared {
    _Atomic uint64_t worked[ALL_ITEMS];
    _Atomic uint64_t checkpoints, splits, claims, wrong;
    struct shard_log shards[TABLE];
};

static struct shared *shared;
static char urls[512];
static const struct ts_run_id run = {42};
static struct ts_tenant_id tenant;

static bool quiet; /* errors are expected, so do not print them */

static void note_wrong(const char *what, uint64_t shard, uint64_t fence) {
    if (!quiet)
        fprintf(stderr, "# wrong: %s: shard %" PRIu64 " fence %" PRIu64 "\n", what, shard, fence);
    atomic_fetch_add(&shared->wrong, 1);
}

static struct shard_log *log_of(uint64_t id) {
    for (uint64_t at = id * UINT64_C(0x9E3779B97F4A7C15) >> 53;; at++) {
        struct shard_log *log = &shared->shards[at % TABLE];
        uint64_t expected = 0;
        if (atomic_compare_exchange_strong(&log->id, &expected, id) || expected == id)
            return log;
    }
}

static void key_of(size_t item, char ret_key[8]) {
    ret_key[0] = 'i';
    for (size_t at = 6; at > 1; at--, item /= 10)
        ret_key[at - 1] = (char)('0' + item % 10);
    ret_key[6] = '\0';
}

static size_t item_of(struct ts_bytes key) {
    size_t item = 0;
    for (size_t i = 1; i < key.len; i++)
        item = item * 10 + (size_t)(key.data[i] - '0');
    return item;
}

/* ---- a worker ---- */

struct worker {
    uint64_t number; /* number of the worker; never 0, never used again */
    struct ts_prng prng;
    struct ts_coord *coord;
    struct ts_coord_session *session;
    struct ts_coord_detail detail;
    struct ts_coord_outcome outcome;
    struct ts_acquire_result_view view;
    struct ts_logical_time acquired_at;
};

static void on_event(void *context, const struct ts_event *event) {
    struct worker *worker = context;
    if (event->kind == TS_EVENT_ACQUIRED)
        worker->acquired_at = event->at;
}

static void sleep_ms(uint64_t ms) {
    struct timespec pause = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000 * 1000000)};
    while (nanosleep(&pause, &pause) != 0)
        continue;
}

static struct ts_op_id draw_op(struct worker *worker) {
    return (struct ts_op_id){ts_prng_next(&worker->prng)};
}

static void record_grant(struct worker *worker) {
    const struct ts_lease *lease = &worker->view.lease;
    const uint64_t shard = ts_lease_shard(lease).shard.v, fence = ts_lease_fence(lease).v;
    struct shard_log *log = log_of(shard);
    struct grant *grant = &log->grants[fence % GRANTS_MAX];
    uint64_t nobody = 0;
    if (!atomic_compare_exchange_strong(&grant->worker, &nobody, worker->number))
        note_wrong("a fence was given twice", shard, fence);
    atomic_store(&grant->at_ms, worker->acquired_at.ms);
    atomic_store(&grant->deadline_ms, ts_lease_deadline(lease).ms);
    uint64_t highest = atomic_load(&log->highest_fence);
    while (highest < fence && !atomic_compare_exchange_weak(&log->highest_fence, &highest, fence))
        continue;
    atomic_fetch_add(&shared->claims, 1);
}

/* Makes a checkpoint. Returns whether the lease is still valid. */
static bool checkpoint(struct worker *worker, struct shard_log *log, size_t item) {
    char key[8];
    key_of(item, key);
    const struct ts_cursor cursor = {.has_key = true, .last_key = ts_bytes_of_cstring(key)};
    const uint64_t fence = ts_lease_fence(ts_coord_session_lease(worker->session)).v;
    const uint64_t highest = atomic_load(&log->highest_fence);
    const struct ts_op_id op = draw_op(worker);
    for (int tries = 0; tries < 20; tries++) {
        const enum ts_checkpoint_error error =
            ts_coord_session_checkpoint(worker->session, op, &cursor, &worker->outcome, &worker->detail);
        if (error == TS_CHECKPOINT_OK) {
            if (highest > fence)
                note_wrong("a checkpoint succeeded under an old fence", log->id, fence);
            uint64_t last = atomic_load(&log->acknowledged);
            while (last < item + 1 && !atomic_compare_exchange_weak(&log->acknowledged, &last, item + 1))
                continue;
            atomic_fetch_add(&shared->checkpoints, 1);
            return true;
        }
        if (ts_checkpoint_error_class(error, &worker->detail) != TS_COORD_CLASS_RETRYABLE ||
            error == TS_CHECKPOINT_LEASE_EXPIRED) {
            if (error != TS_CHECKPOINT_LEASE_EXPIRED && error != TS_CHECKPOINT_STALE_FENCE &&
                error != TS_CHECKPOINT_SHARD_TERMINAL)
                note_wrong(ts_checkpoint_error_name(error), log->id, fence);
            return false;
        }
        sleep_ms(20);
    }
    return false;
}

static void renew(struct worker *worker, struct shard_log *log) {
    struct ts_renew_result renewed;
    const uint64_t fence = ts_lease_fence(ts_coord_session_lease(worker->session)).v;
    if (ts_coord_session_renew(worker->session, &renewed, &worker->detail) == TS_RENEW_OK)
        atomic_store(&log->grants[fence % GRANTS_MAX].deadline_ms, renewed.new_deadline.ms);
}

/* Splits off the second half of the remaining range. */
static void split(struct worker *worker, size_t from, size_t to) {
    char key[8];
    key_of(from + (to - from + 1) / 2, key);
    const struct ts_new_shard residual = {.spec.range.start = ts_bytes_of_cstring(key)};
    struct ts_split_residual_result result;
    const enum ts_split_error error = ts_coord_session_split_residual(
        worker->session, draw_op(worker), &residual, &result, &worker->outcome, &worker->detail);
    if (error == TS_SPLIT_OK)
        atomic_fetch_add(&shared->splits, 1);
    else if (error == TS_SPLIT_SPLIT_INVALID || error == TS_SPLIT_OP_ID_CONFLICT)
        note_wrong(ts_split_error_name(error), 0, 0);
}

static void complete(struct worker *worker) {
    const struct ts_shard_record *record = ts_coord_session_record(worker->session);
    if (record == NULL)
        return;
    char key[8];
    key_of(item_of(record->spec.range.end) - 1, key);
    const struct ts_cursor cursor = {.has_key = true, .last_key = ts_bytes_of_cstring(key)};
    const struct ts_op_id op = draw_op(worker);
    for (int tries = 0; tries < 20 && ts_coord_session_lease(worker->session) != NULL; tries++) {
        const enum ts_complete_error error =
            ts_coord_session_complete(worker->session, op, &cursor, &worker->outcome, &worker->detail);
        if (error == TS_COMPLETE_OK)
            return;
        sleep_ms(20);
    }
}

static void work_on_shard(struct worker *worker) {
    record_grant(worker);
    struct shard_log *log = log_of(ts_lease_shard(&worker->view.lease).shard.v);
    const struct ts_shard_snapshot_view *snapshot = &worker->view.snapshot;
    size_t item = snapshot->cursor.has_key ? item_of(snapshot->cursor.last_key) + 1
                                           : item_of(snapshot->spec.range.start);
    if (atomic_load(&log->acknowledged) > item)
        note_wrong("a checkpoint that was answered is undone", log->id, item);
    const bool splits = ts_prng_below(&worker->prng, 8) == 0;
    const bool stalls = ts_prng_below(&worker->prng, 40) == 0;
    for (;; item++) {
        const struct ts_shard_record *record = ts_coord_session_record(worker->session);
        if (record == NULL)
            return;
        const size_t end = item_of(record->spec.range.end);
        if (item >= end)
            break;
        atomic_fetch_add(&shared->worked[item], 1);
        sleep_ms(stalls ? LEASE_MS / 3 : ts_prng_below(&worker->prng, 20));
        if (!checkpoint(worker, log, item))
            break;
        if (splits && end - item > 3)
            split(worker, item, end);
        if (ts_coord_session_lease(worker->session) != NULL &&
            ts_coord_session_left_ms(worker->session) < LEASE_MS / 2 && !stalls)
            renew(worker, log);
    }
    if (ts_coord_session_lease(worker->session) != NULL)
        complete(worker);
    if (ts_coord_session_lease(worker->session) != NULL)
        ts_coord_session_drop(worker->session);
}

static bool is_finished(struct worker *worker) {
    struct ts_shard_counts counts;
    const struct ts_coord_run_query query = {tenant, run};
    return ts_coord_run_counts(worker->coord, &query, &counts, &worker->detail) == TS_GET_RUN_OK &&
           counts.active == 0;
}

/* Runs a worker. Returns the exit status of its process. */
static int work(uint64_t number) {
    static struct worker worker;
    worker.number = number;
    ts_prng_init(&worker.prng, number);
    struct ts_cluster *cluster = NULL;
    struct ts_coordinator *coordinator = NULL;
    struct ts_store_error error;
    struct ts_txn_error_detail txn_error;
    if (ts_cluster_open(urls, NULL, &cluster, &error) != TS_STORE_OK) {
        fprintf(stderr, "# %s\n", error.text);
        return 1;
    }
    if (ts_coordinator_open(cluster, NULL, &coordinator, &txn_error) != TS_TXN_ERROR_OK) {
        fprintf(stderr, "# %s\n", txn_error.text);
        return 1;
    }
    worker.coord =
        ts_coord_new(cluster, coordinator, &(struct ts_coord_options){.event = on_event, .context = &worker});
    struct ts_coord_worker who = {.tenant = tenant};
    char name[24];
    snprintf(name, sizeof name, "w%" PRIu64, number);
    if (!ts_worker_id_from_text(ts_bytes_of_cstring(name), &who.worker))
        return 1;
    worker.session = ts_coord_session_new(worker.coord, &who);
    while (!is_finished(&worker)) {
        if (ts_coord_session_claim(worker.session, run, &worker.view, &worker.detail) == TS_CLAIM_OK)
            work_on_shard(&worker);
        else
            sleep_ms(50);
    }
    ts_coord_session_free(worker.session);
    ts_coord_free(worker.coord);
    ts_coordinator_close(coordinator);
    ts_cluster_close(cluster);
    return 0;
}

/* ---- the test ---- */

static struct support_pg *servers[2];
static uint64_t next_number = 1;

static pid_t start_worker(void) {
    const uint64_t number = next_number++;
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(work(number));
    return pid;
}

static void make_run(struct ts_coord *coord) {
    static struct ts_new_shard shards[SHARDS];
    static char keys[SHARDS + 1][8];
    static struct ts_manifest_memory memory;
    for (size_t i = 0; i <= SHARDS; i++)
        key_of(i * ITEMS, keys[i]);
    for (size_t i = 0; i < SHARDS; i++)
        shards[i].spec.range =
            (struct ts_key_range){ts_bytes_of_cstring(keys[i]), ts_bytes_of_cstring(keys[i + 1])};
    struct ts_run_config config = ts_run_config_default();
    config.lease_duration_ms = LEASE_MS;
    config.attempts = 0;
    const struct ts_create_run_op create = {.tenant = tenant, .run = run, .config = config};
    const struct ts_register_op op = {.tenant = tenant, .run = run, .op_id = {1}, .shards = {shards, SHARDS}};
    struct ts_coord_outcome outcome;
    struct ts_coord_detail detail;
    assert_int_equal(ts_coord_create_run_with_shards(coord, &create, &op, &memory, &outcome, &detail),
                     TS_CREATE_RUN_OK);
}

struct opened {
    struct ts_cluster *cluster;
    struct ts_coordinator *coordinator;
    struct ts_coord *coord;
};

static struct opened open_all(bool init) {
    struct opened all = {0};
    struct ts_store_error error;
    struct ts_txn_error_detail detail;
    const enum ts_store_result result = init ? ts_cluster_init(urls, "xxh64", NULL, &all.cluster, &error)
                                             : ts_cluster_open(urls, NULL, &all.cluster, &error);
    if (result != TS_STORE_OK)
        fail_msg("%s", error.text);
    assert_int_equal(ts_coordinator_open(all.cluster, NULL, &all.coordinator, &detail), TS_TXN_ERROR_OK);
    all.coord = ts_coord_new(all.cluster, all.coordinator, NULL);
    assert_non_null(all.coord);
    return all;
}

static void close_all(struct opened *all) {
    ts_coord_free(all->coord);
    ts_coordinator_close(all->coordinator);
    ts_cluster_close(all->cluster);
}

/* Runs the worker processes. Kills some of them while they work, starts others instead, and waits until all
 * workers have found that the whole run is done. */
static void run_workers(void) {
    pid_t pids[PROCESSES];
    struct ts_prng prng;
    ts_prng_init(&prng, 7);
    for (size_t i = 0; i < PROCESSES; i++)
        pids[i] = start_worker();
    for (int kills = 0; kills < KILLS; kills++) {
        sleep_ms(100 + ts_prng_below(&prng, 150));
        const size_t victim = ts_prng_below(&prng, PROCESSES);
        (void)kill(pids[victim], SIGKILL);
        int status;
        assert_int_equal(waitpid(pids[victim], &status, 0), pids[victim]);
        assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
        pids[victim] = start_worker();
    }
    for (size_t i = 0; i < PROCESSES; i++) {
        int status;
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
}

struct covered {
    bool items[ALL_ITEMS];
    size_t done;
};

static bool cover(void *context, const struct ts_coord_shard_view *shard) {
    struct covered *covered = context;
    const struct ts_shard_record *record = shard->record;
    assert_int_equal(record->status, TS_SHARD_DONE);
    covered->done++;
    for (size_t item = item_of(record->spec.range.start); item < item_of(record->spec.range.end); item++) {
        assert_false(covered->items[item]);
        covered->items[item] = true;
    }
    struct shard_log *log = log_of(record->key.shard.v);
    assert_true(record->cursor.has_key &&
                item_of(record->cursor.last_key) + 1 >= atomic_load(&log->acknowledged));
    assert_true(record->fence.v >= atomic_load(&log->highest_fence));
    assert_true(record->fence.v < GRANTS_MAX);
    return true;
}

/* Checks by the store's clock that each lease began after the previous lease had ended. Returns how many
 * leases followed another lease of the same shard. */
static size_t check_owners(void) {
    size_t handed_on = 0;
    for (size_t i = 0; i < TABLE; i++) {
        struct shard_log *log = &shared->shards[i];
        const struct grant *before = NULL;
        for (uint64_t fence = 1; fence < GRANTS_MAX; fence++) {
            const struct grant *grant = &log->grants[fence];
            if (atomic_load(&grant->worker) == 0)
                continue;
            if (before != NULL) {
                handed_on++;
                if (atomic_load(&grant->at_ms) < atomic_load(&before->deadline_ms))
                    note_wrong("two owners at once", atomic_load(&log->id), fence);
            }
            before = grant;
        }
    }
    return handed_on;
}

static void sixteen_processes_share_a_run_and_survive_kills(void **state) {
    (void)state;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(shared != MAP_FAILED);
    assert_true(ts_tenant_id_from_text(TS_BYTES("acme"), &tenant));
    struct opened all = open_all(true);
    make_run(all.coord);
    close_all(&all); /* no thread may exist while forking */
    run_workers();

    all = open_all(false);
    static struct covered covered;
    struct ts_coord_detail detail;
    const struct ts_coord_shard_query query = {.run = {tenant, run}};
    assert_int_equal(ts_coord_list_shards(all.coord, &query, cover, &covered, &detail), TS_GET_RUN_OK);
    /* A split may have succeeded although its worker was killed before it received the answer. */
    assert_true(covered.done >= SHARDS + shared->splits);
    for (size_t item = 0; item < ALL_ITEMS; item++) {
        assert_true(covered.items[item]);
        assert_true(shared->worked[item] >= 1);
    }
    const size_t handed_on = check_owners();
    struct ts_coord_audit audit;
    assert_int_equal(ts_coord_audit_run(all.coord, &query.run, &audit, &detail), TS_GET_RUN_OK);
    assert_true(ts_coord_audit_is_clean(&audit));
    struct ts_coord_outcome outcome;
    const struct ts_end_run_op end = {.tenant = tenant, .run = run, .op_id = {2}};
    assert_int_equal(ts_coord_complete_run(all.coord, end, &outcome, &detail), TS_RUN_TRANSITION_OK);
    close_all(&all);
    printf("# %" PRIu64 " claims, %zu handed on, %" PRIu64 " checkpoints, %" PRIu64 " splits, %zu shards\n",
           (uint64_t)shared->claims, handed_on, (uint64_t)shared->checkpoints, (uint64_t)shared->splits,
           covered.done);
    assert_int_equal(shared->wrong, 0);
    assert_true(handed_on > 0);
    munmap(shared, sizeof *shared);
}

static struct worker made_up(uint64_t fence, uint64_t at_ms) {
    return (struct worker){.number = fence,
                           .acquired_at = {at_ms},
                           .view.lease = ts_lease_make(&(struct ts_lease_fields){
                               .shard = {run, {5}}, .fence = {fence}, .deadline = {at_ms + LEASE_MS}})};
}

static void the_checks_can_fail(void **state) {
    (void)state;
    shared = calloc(1, sizeof *shared);
    assert_non_null(shared);
    quiet = true;
    struct worker first = made_up(1, 1000), second = made_up(2, 1000 + LEASE_MS),
                  third = made_up(3, 1001 + LEASE_MS);
    record_grant(&first);
    record_grant(&second);
    assert_int_equal(check_owners(), 1);
    assert_int_equal(shared->wrong, 0);
    record_grant(&second);
    assert_int_equal(shared->wrong, 1);
    record_grant(&third);
    assert_int_equal(check_owners(), 2);
    assert_int_equal(shared->wrong, 2);
    quiet = false;
    free(shared);
}

static int start_servers(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) {
        servers[i] = support_pg_start(&(struct support_pg_options){
            .max_prepared_transactions = 128, .max_connections = 300, .without_fsync = true});
        support_pg_do(servers[i], "postgres", "CREATE DATABASE coord");
    }
    snprintf(urls, sizeof urls, "%s,%s", support_pg_url(servers[0], "coord"),
             support_pg_url(servers[1], "coord"));
    return 0;
}

static int stop_servers(void **state) {
    (void)state;
    support_pg_stop(servers[0]);
    support_pg_stop(servers[1]);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_checks_can_fail),
                                       cmocka_unit_test(sixteen_processes_share_a_run_and_survive_kills)};
    return cmocka_run_group_tests(tests, start_servers, stop_servers);
}
