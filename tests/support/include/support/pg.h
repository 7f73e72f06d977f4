/*
 * Real PostgreSQL servers for tests, from the distribution's package. Each has its own loopback port. A
 * server that the package itself has started is never touched.
 *
 * If a server cannot be started, the test fails. Every server ends with the process that started it, even if
 * that process is killed. A stopped server leaves no files. The files of a killed test are in the TMPDIR of
 * that test. Start servers from the main thread only, because they end with the thread that started them.
 */
#ifndef TS_TESTS_SUPPORT_PG_H
#define TS_TESTS_SUPPORT_PG_H

#include <stdbool.h>
#include <stddef.h>

struct support_pg;

struct support_pg_options {
    int max_prepared_transactions; /* max_prepared_transactions of the server; 0: no promises are possible */
    int max_connections;           /* max_connections of the server; 0: 100 */
    bool without_fsync;            /* faster, for tests in which no server dies */
    const char *settings;          /* further lines of postgresql.conf, or NULL */
};

struct support_pg *support_pg_start(const struct support_pg_options *options);

/* Starts a standby, which streams from this server and can be read. Every second the standby reports how much
 * it has replayed. */
struct support_pg *support_pg_standby(const struct support_pg *pg);

/* Ends the server and removes its files. Accepts NULL. */
void support_pg_stop(struct support_pg *pg);

/* Ends all processes of the server at once, as a crash would (-m immediate). */
void support_pg_kill(struct support_pg *pg);

/* Starts a killed server again over the same files and port. */
void support_pg_resume(struct support_pg *pg);

/* Kills the server, changes the settings (in the form of postgresql.conf), and resumes it. */
void support_pg_reconfigure(struct support_pg *pg, const char *settings);

/* Returns postgresql://turnstone@127.0.0.1:PORT/DATABASE, in memory that lives as long as the server. */
const char *support_pg_url(struct support_pg *pg, const char *database);
int support_pg_port(const struct support_pg *pg);

/* Runs SQL as the administrator. Returns the first column of the first row as text, which the caller frees;
 * NULL without rows. */
char *support_pg_sql(struct support_pg *pg, const char *database, const char *sql);
void support_pg_do(struct support_pg *pg, const char *database, const char *sql);

/* Name of a role that must log in with a password, on every database. The test creates the role. */
#define SUPPORT_PG_LOCKED_USER "locked"

#endif
