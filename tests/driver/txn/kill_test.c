/*
 * A process that moves money on RocksDB is killed at every failpoint of a transaction, when it reaches the
 * failpoint for the first or second time. Processes that recover, resolve promises or raise the epoch are
 * killed at their own failpoints. After each kill, another process finds the total unchanged and no promise.
 */
#include "support/cmocka.h"

#include "stage.h"

#include "os/failpoint.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ACCOUNTS = 6 };

static struct stage stage;
static char accounts[ACCOUNTS][40];
static size_t places[ACCOUNTS];

static void find_accounts(struct ts_cluster *cluster) {
    for (size_t i = 0; i < ACCOUNTS; i++) {
        char name[20];
        snprintf(name, sizeof name, "account%zu.", i);
        places[i] = i % stage.count;
        stage_key(cluster, places[i], name, accounts[i]);
    }
}

/* Makes the accounts. Like all functions that open a store, it runs in a process that has executed this
 * program again, because RocksDB's threads do not survive a fork. */
static void make_accounts(struct ts_cluster *cluster) {
    for (size_t i = 0; i < ACCOUNTS; i++) {
        struct ts_op op = stage_put(accounts[i], "1000");
        struct ts_call call = {.kind = TS_CALL_APPLY, .batch = {&op, 1}};
        if (ts_store_run(ts_cluster_store(cluster, places[i]), &call) != TS_STORE_OK)
            _exit(6);
    }
}

/* Moves money, in a separate process. All three stores take part in every transfer. */
static void move_money_with(struct ts_cluster *cluster, const struct ts_txn_config *config) {
    struct ts_coordinator *coordinator = NULL;
    if (ts_coordinator_open(cluster, config, &coordinator, NULL) != TS_TXN_ERROR_OK)
        _exit(3);
    for (size_t i = 0; i < 12; i++) {
        size_t at = i % ACCOUNTS;
        struct ts_op ops[] = {stage_add(accounts[at], -2), stage_add(accounts[(at + 1) % ACCOUNTS], 1),
                              stage_add(accounts[(at + 2) % ACCOUNTS], 1)};
        struct ts_txn_result result;
        ts_txn_run(coordinator, ops, 3, NULL, &result);
    }
    ts_coordinator_close(coordinator);
}

static void move_money(struct ts_cluster *cluster) {
    move_money_with(cluster, NULL);
}

/* Moves money with a short total timeout, so that promises soon count as old. */
static void hurry(struct ts_cluster *cluster) {
    struct ts_txn_config config;
    ts_txn_config_init(&config);
    config.timeouts.total_us = 50000;
    move_money_with(cluster, &config);
}

static void resolve(struct ts_cluster *cluster) {
    if (ts_txn_resolve(cluster, 5000, NULL, NULL) != TS_TXN_ERROR_OK)
        _exit(10);
}

static void recover(struct ts_cluster *cluster) {
    struct ts_txn_settled settled;
    if (ts_txn_recover(cluster, 5000, &settled, NULL) != TS_TXN_ERROR_OK)
        _exit(4);
}

static void raise_epoch(struct ts_cluster *cluster) {
    uint64_t epoch;
    if (ts_txn_fence(cluster, 5000, &epoch, NULL, NULL) != TS_TXN_ERROR_OK)
        _exit(5);
}

static void expect_settled(struct ts_cluster *cluster) {
    recover(cluster);
    int64_t total = 0;
    for (size_t i = 0; i < ACCOUNTS; i++)
        total += stage_number(cluster, places[i], accounts[i]);
    if (stage_promises(cluster) != 0)
        _exit(7);
    if (total != ACCOUNTS * 1000)
        _exit(8);
}

static void nothing(struct ts_cluster *cluster) {
    (void)cluster;
}

static const struct work {
    const char *name;
    bool any_step;
    void (*work)(struct ts_cluster *cluster);
} works[] = {{"make", false, make_accounts}, {"move", true, move_money},        {"recover", true, recover},
             {"raise", true, raise_epoch},   {"settled", true, expect_settled}, {"open", false, nothing},
             {"hurry", true, hurry},         {"resolve", true, resolve}};

static int child(const char *name, const char *urls) {
    snprintf(stage.urls, sizeof stage.urls, "%s", urls);
    stage.count = 3;
    for (size_t i = 0; i < sizeof works / sizeof works[0]; i++) {
        if (strcmp(works[i].name, name) != 0)
            continue;
        struct ts_store_error error;
        struct ts_cluster *cluster = NULL;
        const struct ts_cluster_options options = {.any_step = works[i].any_step,
                                                   .store = {.wait_ms = 10000}};
        enum ts_store_result result = strcmp(name, "make") == 0
                                          ? ts_cluster_init(urls, "xxh64", &options, &cluster, &error)
                                          : ts_cluster_open(urls, &options, &cluster, &error);
        if (result != TS_STORE_OK) {
            fprintf(stderr, "%s: %s\n", name, error.text);
            return 9;
        }
        find_accounts(cluster);
        works[i].work(cluster);
        ts_cluster_close(cluster);
        return 0;
    }
    return 2;
}

/* Runs the work in a child with a failpoint. Returns whether the failpoint killed the child. */
static bool killed_at(const char *spec, const char *work) {
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (spec != NULL)
            setenv("TURNSTONE_FAILPOINT", spec, 1);
        /* The search for leaks in a process with RocksDB's threads sometimes crashes itself ("Tracer caught
         * signal 11"). This process, and other tests of the same functions, search for leaks. */
        setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
        execl("/proc/self/exe", "txn_kill_test", work, stage.urls, (char *)NULL);
        _exit(127);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
        fail_msg("%s with %s: status %d", work, spec == NULL ? "nothing" : spec, WEXITSTATUS(status));
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

static int set_up(void **state) {
    (void)state;
    stage_name_rocksdb(&stage, 3);
    assert_false(killed_at(NULL, "make"));
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    stage_release(&stage);
    return 0;
}

static void expect_total_and_no_promise(void) {
    assert_false(killed_at(NULL, "settled"));
}

static const char *const FAILPOINTS[] = {
#define FAILPOINT_NAME(suffix, name) name,
    TS_FAILPOINTS(FAILPOINT_NAME)
#undef FAILPOINT_NAME
};

/* Returns the specification of a failpoint: "name:count". */
static const char *spec_of(enum ts_failpoint point, int count) {
    static char spec[60];
    snprintf(spec, sizeof spec, "%s:%d", FAILPOINTS[point], count);
    return spec;
}

static void a_kill_while_money_moves_keeps_the_total(void **state) {
    (void)state;
    for (int point = TS_FAILPOINT_BEFORE_PREPARE; point <= TS_FAILPOINT_AFTER_REGISTER; point++) {
        for (int count = 1; count <= 2; count++) {
            bool killed = killed_at(spec_of((enum ts_failpoint)point, count), "move");
            if (!killed && count == 1)
                fail_msg("%s was not reached", FAILPOINTS[point]);
            expect_total_and_no_promise();
        }
    }
}

/* The failpoints that a recovery passes depend on the state that the first kill left. */
static void a_kill_during_recovery_is_recovered_from(void **state) {
    (void)state;
    static const enum ts_failpoint first[] = {TS_FAILPOINT_AFTER_PREPARE, TS_FAILPOINT_AFTER_COMMIT_POINT};
    bool reached[TS_FAILPOINT_COUNT] = {false};
    for (size_t i = 0; i < sizeof first / sizeof first[0]; i++) {
        for (int point = TS_FAILPOINT_RESOLVE_BEFORE_FENCE; point <= TS_FAILPOINT_SWEEP_BEFORE_REMOVE;
             point++) {
            assert_true(killed_at(spec_of(first[i], 2), "move"));
            if (killed_at(spec_of((enum ts_failpoint)point, 1), "recover"))
                reached[point] = true;
            expect_total_and_no_promise();
        }
    }
    assert_true(reached[TS_FAILPOINT_RESOLVE_BEFORE_FENCE]);
    assert_true(reached[TS_FAILPOINT_RESOLVE_AFTER_FENCE]);
    assert_true(reached[TS_FAILPOINT_RESOLVE_BEFORE_FINISH]);
    assert_true(reached[TS_FAILPOINT_RESOLVE_AFTER_FINISH]);
    assert_true(reached[TS_FAILPOINT_SWEEP_BEFORE_REMOVE]);
}

/* Recovery fences dead processes; only a resolver aborts promises that are merely too old. */
static void a_kill_after_deciding_against_an_old_promise_is_recovered_from(void **state) {
    (void)state;
    assert_true(killed_at("after-prepare", "hurry"));
    nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    assert_true(killed_at("resolve-after-refuse", "resolve"));
    expect_total_and_no_promise();
}

static void a_kill_while_the_epoch_is_raised_is_taken_up_by_the_next(void **state) {
    (void)state;
    for (int point = TS_FAILPOINT_FENCE_AFTER_CLOSE; point <= TS_FAILPOINT_FENCE_AFTER_OPEN; point++) {
        for (int count = 1; count <= (point == TS_FAILPOINT_FENCE_AFTER_SETTLE ? 1 : 3); count++) {
            assert_true(killed_at("after-commit-point:2", "move"));
            assert_true(killed_at(spec_of((enum ts_failpoint)point, count), "raise"));
            assert_false(killed_at(NULL, "raise"));
            assert_false(killed_at(NULL, "open")); /* all stores are open at the same epoch */
            expect_total_and_no_promise();
        }
    }
}

int main(int argc, char **argv) {
    if (argc == 3)
        return child(argv[1], argv[2]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_kill_while_money_moves_keeps_the_total, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_kill_during_recovery_is_recovered_from, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_kill_after_deciding_against_an_old_promise_is_recovered_from,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_kill_while_the_epoch_is_raised_is_taken_up_by_the_next, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
