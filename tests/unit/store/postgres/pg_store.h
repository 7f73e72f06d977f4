/* Starts one server for all tests of a file, and makes a database with an empty store for each test. */
#ifndef TS_TESTS_UNIT_STORE_PG_STORE_H
#define TS_TESTS_UNIT_STORE_PG_STORE_H

#include "calls.h"
#include "store/cluster/open.h"
#include "support/pg.h"

static struct support_pg *pg;
static struct ts_store *store;
static char database[32];

static inline struct ts_store *open_url(const char *url, struct ts_store_options options) {
    struct ts_store *opened;
    struct ts_store_error error;
    if (ts_store_open(url, &options, &opened, &error) != TS_STORE_OK)
        fail_msg("%s", error.text);
    return opened;
}

static inline int stop_server(void **state) {
    (void)state;
    support_pg_stop(pg);
    return 0;
}

static inline int fresh(void **state) {
    (void)state;
    static unsigned number;
    char sql[64];
    snprintf(database, sizeof database, "t%u", ++number);
    snprintf(sql, sizeof sql, "CREATE DATABASE %s", database);
    support_pg_do(pg, "postgres", sql);
    store = open_url(support_pg_url(pg, database), (struct ts_store_options){0});
    write_meta(store, (struct ts_meta){0});
    return 0;
}

static inline int close_it(void **state) {
    (void)state;
    ts_store_close(store);
    return 0;
}

#endif
