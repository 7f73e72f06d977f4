/* The suite on two stores, each on its own PostgreSQL server with its own clock. */
#include "suite.h"
#include "support/pg.h"

#include <stdio.h>
#include <time.h>

static struct support_pg *servers[2];

static struct ts_cluster *open_cluster(void) {
    for (int i = 0; i < 2; i++) {
        servers[i] = support_pg_start(
            &(struct support_pg_options){.max_prepared_transactions = 64, .without_fsync = true});
        support_pg_do(servers[i], "postgres", "CREATE DATABASE coord");
    }
    char urls[512];
    snprintf(urls, sizeof urls, "%s,%s", support_pg_url(servers[0], "coord"),
             support_pg_url(servers[1], "coord"));
    struct ts_cluster *cluster = NULL;
    struct ts_store_error error;
    if (ts_cluster_init(urls, "xxh64", NULL, &cluster, &error) != TS_STORE_OK)
        fail_msg("%s", error.text);
    return cluster;
}

/* Waits for real, because the clocks of the servers cannot be moved. */
static void pass_ms(uint64_t ms) {
    ms += 50;
    struct timespec pause = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000 * 1000000)};
    while (nanosleep(&pause, &pause) != 0)
        continue;
}

static void clean(void) {
    support_pg_stop(servers[0]);
    support_pg_stop(servers[1]);
}

static const struct suite_fixture fixture = {
    .name = "coord on postgres", .open = open_cluster, .lease_ms = 2000, .pass_ms = pass_ms, .clean = clean};

int main(void) {
    return suite_main(&fixture);
}
