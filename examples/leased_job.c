/*
 * A job that any number of processes share. It works on each number from 00 to 99. A process may be killed at
 * any moment, and another process then continues its shard after the last checkpoint.
 *
 *     leased_job CLUSTER create             makes the cluster and a run of ten shards
 *     leased_job CLUSTER work NAME MS       takes shards until the run is done; a number takes MS milliseconds
 *
 * CLUSTER is a list of stores that several processes can open, such as postgresql://user@host/database.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <turnstone/cluster.h>
#include <turnstone/coord.h>
#include <turnstone/txn.h>

static const char tenant[] = "example";
static const struct ts_run_id run_id = {1};
static struct ts_coord_answer *answer;

static void sleep_ms(long ms) {
    struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

static struct ts_bytes key_of(int number, char text[8]) {
    snprintf(text, 8, "%02d", number);
    return ts_bytes_of_cstring(text);
}

static int number_of(struct ts_bytes key) {
    return (key.data[0] - '0') * 10 + (key.data[1] - '0');
}

static struct ts_op_id draw(void) {
    struct ts_op_id op_id;
    if (!ts_op_id_draw(&op_id))
        abort();
    return op_id;
}

static int complain(void) {
    fprintf(stderr, "leased_job: %s\n", ts_coord_answer_text(answer));
    return 1;
}

/* If the operation may succeed next time, waits a moment and returns true. The caller then repeats the
 * operation with the same op id, so that it is done only once. */
static bool try_again(void) {
    if (ts_coord_answer_class(answer) != TS_COORD_CLASS_RETRYABLE)
        return false;
    sleep_ms(100);
    return true;
}

static int create(struct ts_coord *coord) {
    const struct ts_bytes none = {NULL, 0};
    const struct ts_op_id op_id = {1}; /* a constant, so that creating the run twice changes nothing */
    struct ts_run_plan *plan = ts_run_plan_new(tenant, run_id);
    ts_run_plan_set(plan, TS_RUN_LEASE_MS, 4000);
    for (int i = 0; i < 10; i++) {
        char start[8], end[8];
        ts_run_plan_add_shard(plan, key_of(10 * i, start), i < 9 ? key_of(10 * (i + 1), end) : none, none);
    }
    enum ts_create_run_error error = ts_run_create(coord, plan, op_id, answer);
    ts_run_plan_free(plan);
    return error == TS_CREATE_RUN_OK ? 0 : complain();
}

/* Ends early when the lease is lost. Another worker then does the rest of the shard. */
static void work_on_shard(struct ts_worker *worker, const char *name, long ms) {
    char text[8];
    const struct ts_bytes none = {NULL, 0};
    int end = ts_worker_end(worker).len > 0 ? number_of(ts_worker_end(worker)) : 100;
    int next = ts_worker_key(worker).len > 0 ? number_of(ts_worker_key(worker)) + 1
                                             : number_of(ts_worker_start(worker));
    for (; next < end; next++) {
        struct ts_op_id op_id = draw();
        enum ts_checkpoint_error error;
        sleep_ms(ms); /* stands for real work */
        printf("%s did %02d under fence %llu\n", name, next, (unsigned long long)ts_worker_fence(worker).v);
        fflush(stdout);
        do
            error = ts_worker_checkpoint(worker, op_id, key_of(next, text), none, answer);
        while (error == TS_CHECKPOINT_BACKEND_ERROR && try_again());
        if (error != TS_CHECKPOINT_OK) {
            complain();
            return;
        }
    }
    struct ts_op_id op_id = draw();
    enum ts_complete_error error;
    do
        error = ts_worker_complete(worker, op_id, key_of(end - 1, text), none, answer);
    while (error == TS_COMPLETE_BACKEND_ERROR && try_again());
    if (error != TS_COMPLETE_OK)
        complain();
}

static void report_loss(void *context, const struct ts_coord_answer *why) {
    fprintf(stderr, "%s lost its lease: %s\n", (const char *)context, ts_coord_answer_text(why));
}

static int work(struct ts_coord *coord, char *name, long ms) {
    struct ts_worker *worker = ts_worker_new(coord, tenant, name);
    if (worker == NULL || !ts_worker_start_keeper(worker, report_loss, name))
        return 1;
    enum ts_run_transition_error end = TS_RUN_TRANSITION_BACKEND_ERROR;
    do {
        if (ts_worker_claim(worker, run_id, answer) == TS_CLAIM_OK)
            work_on_shard(worker, name, ms);
        else if (!try_again()) /* tries again after NoneAvailable: a holder may be dead */
            break;
        end = ts_run_end(coord, tenant, run_id, TS_RUN_COMPLETE, draw(), answer);
    } while (end == TS_RUN_TRANSITION_WRONG_STATUS || /* some shard is active */
             (end == TS_RUN_TRANSITION_BACKEND_ERROR && try_again()));
    ts_worker_free(worker);
    return end == TS_RUN_TRANSITION_OK || end == TS_RUN_TRANSITION_RUN_TERMINAL ? 0 : complain();
}

int main(int argc, char **argv) {
    bool creates = argc == 3 && strcmp(argv[2], "create") == 0;
    struct ts_cluster *cluster;
    struct ts_store_error error;
    struct ts_coordinator *coordinator;
    struct ts_txn_error_detail detail;
    if (!creates && (argc != 5 || strcmp(argv[2], "work") != 0)) {
        fprintf(stderr, "usage: leased_job CLUSTER create | leased_job CLUSTER work NAME MS\n");
        return 2;
    }
    if ((creates ? ts_cluster_init(argv[1], "", NULL, &cluster, &error)
                 : ts_cluster_open(argv[1], NULL, &cluster, &error)) != TS_STORE_OK) {
        fprintf(stderr, "leased_job: %s\n", error.text);
        return 1;
    }
    int status = 1;
    if (ts_coordinator_open(cluster, NULL, &coordinator, &detail) == TS_TXN_ERROR_OK) {
        struct ts_coord *coord = ts_coord_open(cluster, coordinator);
        answer = ts_coord_answer_new();
        if (coord != NULL && answer != NULL)
            status = creates ? create(coord) : work(coord, argv[3], atol(argv[4]));
        ts_coord_answer_free(answer);
        ts_coord_close(coord);
        ts_coordinator_close(coordinator);
    } else {
        fprintf(stderr, "leased_job: %s\n", detail.text);
    }
    ts_cluster_close(cluster);
    return status;
}
