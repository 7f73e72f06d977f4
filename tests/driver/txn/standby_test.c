/*
 * Tests a real server with a real standby. An open coordinator notices when the standby falls behind, and
 * when it has caught up.
 */
#include "support/cmocka.h"
#include "support/pg.h"

#include "stage.h"

#include <string.h>
#include <time.h>

static struct support_pg *server, *standby;
static struct ts_cluster *cluster;
static struct ts_coordinator *coordinator;
static struct ts_txn_result result;

static int set_up(void **state) {
    (void)state;
    server = support_pg_start(&(struct support_pg_options){.max_prepared_transactions = 10});
    standby = support_pg_standby(server);
    struct ts_store_error error;
    if (ts_cluster_init(support_pg_url(server, "postgres"), "single", &(struct ts_cluster_options){0},
                        &cluster, &error) != TS_STORE_OK)
        fail_msg("%s", error.text);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    ts_coordinator_close(coordinator);
    ts_cluster_close(cluster);
    support_pg_stop(standby);
    support_pg_stop(server);
    return 0;
}

static void open_with_limit(uint64_t limit_ms) {
    struct ts_txn_config config;
    struct ts_txn_error_detail detail;
    ts_txn_config_init(&config);
    config.replication.max_replication_lag_ms = limit_ms;
    if (ts_coordinator_open(cluster, &config, &coordinator, &detail) != TS_TXN_ERROR_OK)
        fail_msg("%s", detail.text);
}

/* Runs the same transaction until it has this result. */
static void run_until(const char *sqlstate) {
    const struct ts_op op = stage_put("k", "v");
    for (int i = 0; i < 1200; i++) {
        ts_txn_run(coordinator, &op, 1, NULL, &result);
        if (strcmp(result.sqlstate, sqlstate) == 0)
            return;
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    }
    fail_msg("still %s: %s", result.sqlstate, result.text);
}

static void an_open_coordinator_notices_a_standby_that_falls_behind_and_catches_up(void **state) {
    (void)state;
    open_with_limit(500);
    run_until("00000");
    support_pg_do(standby, "postgres", "SELECT pg_wal_replay_pause()");
    run_until("53301");
    assert_int_equal(result.outcome, TS_TXN_REFUSED);
    assert_int_equal(result.attempts, 0);
    assert_non_null(strstr(result.text, "replication.max_replication_lag_ms is 500"));
    support_pg_do(standby, "postgres", "SELECT pg_wal_replay_resume()");
    run_until("00000");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            an_open_coordinator_notices_a_standby_that_falls_behind_and_catches_up, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
