/*
 * Each place is a separate database on one PostgreSQL server. A place is a store that belongs to no cluster
 * yet: it has tables, but no meta record.
 */
#include "contract.h"
#include "store/cluster/open.h"
#include "store/postgres/postgres.h"
#include "support/pg.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct support_pg *server;

static void stop_server(void) {
    support_pg_stop(server);
    server = NULL;
}

struct database {
    char name[32];
    char url[128];
};

static void *set_up(void) {
    static unsigned number;
    if (server == NULL) {
        server = support_pg_start(&(struct support_pg_options){.max_prepared_transactions = 64});
        atexit(stop_server);
    }
    struct database *database = calloc(1, sizeof *database);
    assert_non_null(database);
    snprintf(database->name, sizeof database->name, "place%u", ++number);
    snprintf(database->url, sizeof database->url, "postgresql://turnstone@127.0.0.1:%d/%s",
             support_pg_port(server), database->name);
    char sql[64];
    snprintf(sql, sizeof sql, "CREATE DATABASE %s", database->name);
    support_pg_do(server, "postgres", sql);
    for (size_t i = 0; postgres__schema[i] != NULL; i++)
        support_pg_do(server, database->name, postgres__schema[i]);
    return database;
}

/* Leaves the database, which is removed with the server. Rolls back the promises that a test has left, because
 * they use slots that other tests need. */
static void tear_down(void *place) {
    struct database *database = place;
    char *gid;
    while ((gid = support_pg_sql(
                server, database->name,
                "SELECT quote_literal(gid) FROM pg_prepared_xacts WHERE database = current_database()")) !=
           NULL) {
        char sql[400];
        snprintf(sql, sizeof sql, "ROLLBACK PREPARED %s", gid);
        support_pg_do(server, database->name, sql);
        free(gid);
    }
    free(database);
}

static struct ts_store *open_database(void *place) {
    const struct database *database = place;
    struct ts_store *store = NULL;
    struct ts_store_error error;
    const struct ts_store_options options = {0};
    if (ts_store_open(database->url, &options, &store, &error) != TS_STORE_OK)
        fail_msg("%s", error.text);
    return store;
}

static const char *url_of(void *place) {
    return ((struct database *)place)->url;
}

static const struct contract_fixture fixture = {
    .name = "postgres", .set_up = set_up, .tear_down = tear_down, .open = open_database, .url = url_of};

int main(int argc, char **argv) {
    return contract_main(argc, argv, &fixture);
}
