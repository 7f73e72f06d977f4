/*
 * The statements. docs/formats/postgres.md explains them; what matters for changes:
 *
 * - A failure is an SQL error, so that nothing of the batch remains: a text such as turnstone:check:7 is cast
 *   to a number, and postgres_error.c reads the tag from the message.
 * - Every part of a statement costs time at each execution, needed or not: the server builds all nodes of the
 *   plan each time. So a batch of few keys is a series of statements without arrays, one for each key, in one
 *   transaction. The first (GUARD or a FIRST) draws their version, and the others read it with currval().
 * - Row locks are taken in the order of the keys, each key once and at once in the mode that it needs, so
 *   that batches cannot deadlock one another; a lock returns the newest row, not the snapshot's. This holds
 *   for the statements for each key, and for APPLY's two lateral joins, in READ COMMITTED. APPLY inserts keys
 *   that are absent in its snapshot; if such a row was committed meanwhile, it is `raced`, and the engine
 *   sends the batch again.
 * - Holders of shared row locks do not queue, and would starve a writer. So a small batch first takes an
 *   advisory lock on the hash of each key, which queues. Large batches do not: the server's table of locks is
 *   small. Safety depends on the row locks alone: a server that speaks the protocol but has no advisory locks
 *   gets the same statements without them.
 * - The text that is cast is never a constant: the planner would cast it itself, and fail every time.
 * - The time is read in the last SELECT, after everything that can wait.
 */
#include "store/postgres/postgres.h"

/* Numbers of built-in types, fixed in PostgreSQL's catalog and in all servers that speak its protocol. */
enum {
    BYTEA = 17,
    INT8 = 20,
    INT4 = 23,
    TEXT = 25,
    BYTEA_ARRAY = 1001,
    INT2_ARRAY = 1005,
    INT8_ARRAY = 1016
};

#define TIME_MS "trunc(extract(epoch FROM clock_timestamp()) * 1000)::bigint"

/* A CASE branch that fails when the cluster, the place or the epoch of the store is not the expected one ($1,
 * $2; null accepts any), or when the store is not completely initialised. */
#define FOREIGN(identity, epoch)                                                                             \
    "WHEN m.identity <> " identity " THEN ('turnstone:cluster:' || m.epoch)::integer "                       \
    "WHEN m.epoch <> " epoch " THEN ('turnstone:epoch:' || m.epoch)::integer "                               \
    "WHEN m.state = 2 AND " epoch " IS NOT NULL THEN ('turnstone:initialising:' || m.epoch)::integer "

/* A query of one row: the time, after the checks of FOREIGN. */
#define GUARD                                                                                                \
    "guard AS MATERIALIZED (SELECT CASE " FOREIGN(                                                           \
        "$1", "$2") "ELSE 0 END + " TIME_MS " AS ms "                                                        \
                    "FROM (SELECT 1 AS one) o LEFT JOIN turnstone.meta m ON m.one = o.one) "

/*
 * This statement is sent before a batch is prepared. Otherwise, if a promise of this name already exists, the
 * batch would wait for the locks of its own promise. A promise holds an advisory lock on the hash of its
 * name. The promises are searched only if that lock is taken, because the search costs several times as much.
 * Advisory locks with two numbers are separate from those with one number, which the queues use.
 */
static const char claim_sql[] = "SELECT CASE WHEN NOT pg_try_advisory_xact_lock($1, $2) THEN "
                                "('turnstone:claimed:' || abs($1::bigint))::integer END";
static const Oid claim_types[] = {INT4, INT4};
static const char unused_sql[] = "SELECT ('turnstone:exists:' || x.transaction::text)::integer FROM "
                                 "pg_catalog.pg_prepared_xact() x WHERE x.gid = $1";
static const Oid unused_types[] = {TEXT};

/* Waits in the queue of the key (see the top of this file). `passed` is never null. The statement uses
 * `passed`, so the server evaluates it before it locks the rows. */
#define TURN(mode)                                                                                           \
    "LEFT JOIN LATERAL (SELECT coalesce(length((CASE WHEN op.queue IS NULL THEN NULL " mode                  \
    "ELSE pg_advisory_xact_lock(op.queue) END)::text), 0) AS passed) g ON true "
#define SHARED_FOR_CHECKS "WHEN op.kind = 0 THEN pg_advisory_xact_lock_shared(op.queue) "
#define NO_QUEUE          "LEFT JOIN (SELECT 0 AS passed) g ON true "

#define CLOSING(is_prepare)                                                                                  \
    "WHEN m.state = 1 AND " is_prepare " = 1 THEN ('turnstone:closing:' || m.epoch)::integer "

/*
 * A batch of few keys. The parameters of GUARD are the identity, the epoch, and whether the batch is for a
 * promise. FIRST_PUT and FIRST_CHECK have these parameters, followed by the parameters of PUT or CHECK. Every
 * other statement has the key and the queue; then the value, if it writes one; then the version and the
 * number, if it checks one.
 *
 * QUEUE is a branch of a CASE before the branch that has the value: to evaluate its condition, which is never
 * true, the server must wait in the queue.
 */
#define QUEUE(queue)        "WHEN pg_advisory_xact_lock(" queue ") IS NULL THEN 0 "
#define QUEUE_SHARED(queue) "WHEN pg_advisory_xact_lock_shared(" queue ") IS NULL THEN 0 "

#define DRAW(queue, more)                                                                                    \
    "SELECT CASE " FOREIGN("$1", "$2") CLOSING("$3") queue                                                   \
        "ELSE nextval('turnstone.version') END" more                                                         \
        " FROM (SELECT 1 AS one) o LEFT JOIN turnstone.meta m ON m.one = o.one"
static const char guard_sql[] = DRAW("", "");
static const Oid guard_types[] = {BYTEA, INT8, INT4};

#define INSERT_ITEM      "INSERT INTO turnstone.item (version, key, value) "
#define OVERWRITE        " ON CONFLICT (key) DO UPDATE SET value = excluded.value, version = excluded.version"
#define VERSION          "currval('turnstone.version')"

#define FIRST_PUT(queue) INSERT_ITEM DRAW(queue, ", $4, $6") OVERWRITE " RETURNING version"
static const char first_put_sql[] = FIRST_PUT(QUEUE("$5"));
static const char first_put_unqueued[] = FIRST_PUT("");
static const Oid first_put_types[] = {BYTEA, INT8, INT4, BYTEA, INT8, BYTEA};

#define WRITE(queue) INSERT_ITEM "VALUES (CASE " queue "ELSE " VERSION " END, $1, $3)"
#define ANY_CASE     "WHEN $2 IS NULL THEN 0 "
static const char put_sql[] = WRITE(QUEUE("$2")) OVERWRITE;
static const char put_unqueued[] = WRITE(ANY_CASE) OVERWRITE;
static const Oid put_types[] = {BYTEA, INT8, BYTEA};

/* Inserts a key. If the row exists, the primary key makes the statement fail. */
static const char make_sql[] = WRITE(QUEUE("$2"));
static const char make_unqueued[] = WRITE(ANY_CASE);
#define make_types put_types

#define CHANGE(queue)                                                                                        \
    "WITH changed AS (UPDATE turnstone.item i SET value = $3, version = " VERSION " WHERE i.key = $1 "       \
    "AND i.version = $4 RETURNING 1) SELECT CASE " queue                                                     \
    "WHEN NOT EXISTS (SELECT FROM changed) THEN ('turnstone:check:' || $5)::integer END"
static const char change_sql[] = CHANGE(QUEUE("$2"));
static const char change_unqueued[] = CHANGE("");
static const Oid change_types[] = {BYTEA, INT8, BYTEA, INT8, INT8};

#define DIFFERS(key, version, number)                                                                        \
    "WHEN (SELECT i.version FROM turnstone.item i WHERE i.key = " key " FOR SHARE) "                         \
    "IS DISTINCT FROM " version " THEN ('turnstone:check:' || " number ")::integer "
#define FIRST_CHECK(queue) DRAW(queue DIFFERS("$4", "$6", "$7"), "")
static const char first_check_sql[] = FIRST_CHECK(QUEUE_SHARED("$5"));
static const char first_check_unqueued[] = FIRST_CHECK("");
static const Oid first_check_types[] = {BYTEA, INT8, INT4, BYTEA, INT8, INT8, INT8};

#define CHECK(queue) "SELECT CASE " queue DIFFERS("$1", "$3", "$4") "END"
static const char check_sql[] = CHECK(QUEUE_SHARED("$2"));
static const char check_unqueued[] = CHECK("");
static const Oid check_types[] = {BYTEA, INT8, INT8, INT8};

static const char late_sql[] =
    "SELECT CASE WHEN greatest(t.ms, $2) >= $1 THEN ('turnstone:late:' || t.ms)::bigint ELSE t.ms END "
    "FROM (SELECT " TIME_MS " AS ms) t";
static const Oid late_types[] = {INT8, INT8};

/* The statements for any other batch. */

/* The answer of a batch: the time and the version of the writes. Fails if something was not written, or if it
 * is too late. */
#define ANSWER(written, wanted)                                                                              \
    "SELECT CASE WHEN " written " <> " wanted " THEN ('turnstone:raced:' || did.made)::bigint "              \
    "WHEN greatest(did.ms, $10) >= $9 THEN ('turnstone:late:' || did.ms)::bigint "                           \
    "ELSE did.ms END, go.version "

/* The common parts of many puts, with the parameters of APPLY. */
#define NOT_OURS FOREIGN("$1", "$2") CLOSING("$11")
#define ALL_PUT  ANSWER("did.made", "cardinality($3)")
#define ALL_DONE ANSWER("did.made + did.changed + did.gone", "want.writes")

#define PUTS(queue)                                                                                          \
    "WITH go AS MATERIALIZED (SELECT CASE " NOT_OURS "ELSE 0 END + nextval('turnstone.version') AS version " \
    "FROM (SELECT 1 AS one) o LEFT JOIN turnstone.meta m ON m.one = o.one"                                   \
    "), made AS ("                                                                                           \
    "INSERT INTO turnstone.item (key, value, version) "                                                      \
    "SELECT op.key, op.value, go.version "                                                                   \
    "FROM go, unnest($3, $6, $12) WITH ORDINALITY AS op (key, value, queue, n) " queue                       \
    "WHERE g.passed >= 0 ORDER BY op.n "                                                                     \
    "ON CONFLICT (key) DO UPDATE SET value = excluded.value, version = excluded.version RETURNING 1"         \
    ") " ALL_PUT "FROM (SELECT (SELECT count(*) FROM made) AS made, " TIME_MS " AS ms) did, go"
static const char puts_sql[] = PUTS(TURN(""));
static const char puts_unqueued[] = PUTS(NO_QUEUE);

#define APPLY(queue)                                                                                         \
    "WITH op AS MATERIALIZED ("                                                                              \
    "SELECT u.* FROM unnest($3, $4, $5, $6, $7, $8, $12) WITH ORDINALITY "                                   \
    "AS u (key, want, kind, value, delta, most, queue, n)"                                                   \
    "), held AS MATERIALIZED ("                                                                              \
    "SELECT op.n, op.key, op.want, op.kind, op.most, op.value, coalesce(s.version, x.version) AS seen, "     \
    "CASE WHEN op.kind = 3 THEN "                                                                            \
    "CASE WHEN x.version IS NULL THEN op.delta::numeric "                                                    \
    "WHEN octet_length(x.value) BETWEEN 1 AND 64 AND encode(x.value, 'escape') ~ '^0*[0-9]{1,19}$' "         \
    "AND encode(x.value, 'escape')::numeric <= 9223372036854775807 "                                         \
    "THEN encode(x.value, 'escape')::numeric + op.delta END END AS total "                                   \
    "FROM op " queue "LEFT JOIN LATERAL (SELECT i.version FROM turnstone.item i "                            \
    "WHERE i.key = op.key AND op.kind = 0 AND g.passed >= 0 FOR SHARE) s ON true "                           \
    "LEFT JOIN LATERAL (SELECT i.version, CASE WHEN op.kind = 3 THEN i.value END AS value FROM "             \
    "turnstone.item i "                                                                                      \
    "WHERE i.key = op.key AND op.kind > 0 AND g.passed >= 0 FOR NO KEY UPDATE) x ON true"                    \
    "), bad AS MATERIALIZED ("                                                                               \
    "SELECT min(n) FILTER (WHERE want >= 0 AND want <> coalesce(seen, 0)) AS want, "                         \
    "min(n) FILTER (WHERE kind = 3 AND total IS NULL) AS text, "                                             \
    "min(n) FILTER (WHERE kind = 3 AND (total < 0 OR total > most)) AS most FROM held"                       \
    "), go AS MATERIALIZED ("                                                                                \
    "SELECT CASE " NOT_OURS "WHEN bad.want IS NOT NULL THEN ('turnstone:check:' || bad.want)::integer "      \
    "WHEN bad.text IS NOT NULL THEN ('turnstone:text:' || bad.text)::integer "                               \
    "WHEN bad.most IS NOT NULL THEN ('turnstone:limit:' || bad.most)::integer "                              \
    "ELSE 0 END + nextval('turnstone.version') AS version "                                                  \
    "FROM bad LEFT JOIN turnstone.meta m ON m.one = 1"                                                       \
    "), made AS ("                                                                                           \
    "INSERT INTO turnstone.item (key, value, version) "                                                      \
    "SELECT h.key, CASE h.kind WHEN 1 THEN h.value WHEN 2 THEN ''::bytea ELSE "                              \
    "decode(h.total::text, 'escape') END, "                                                                  \
    "CASE WHEN h.kind = 2 THEN 0 ELSE go.version END "                                                       \
    "FROM held h, go WHERE h.seen IS NULL AND h.kind > 0 ORDER BY h.n "                                      \
    "ON CONFLICT (key) DO NOTHING RETURNING 1"                                                               \
    "), changed AS ("                                                                                        \
    "UPDATE turnstone.item i SET value = CASE h.kind WHEN 1 THEN h.value ELSE "                              \
    "decode(h.total::text, 'escape') END, "                                                                  \
    "version = go.version "                                                                                  \
    "FROM held h, go WHERE i.key = h.key AND h.seen IS NOT NULL AND h.kind IN (1, 3) RETURNING 1"            \
    "), gone AS ("                                                                                           \
    "DELETE FROM turnstone.item i USING held h, go "                                                         \
    "WHERE i.key = h.key AND h.seen IS NOT NULL AND h.kind = 2 AND go.version > 0 RETURNING 1"               \
    ") " ALL_DONE                                                                                            \
    "FROM (SELECT (SELECT count(*) FROM made) AS made, (SELECT count(*) FROM changed) AS changed, "          \
    "(SELECT count(*) FROM gone) AS gone, " TIME_MS " AS ms) did, "                                          \
    "(SELECT count(*) AS writes FROM held WHERE kind > 0) want, go"
static const char apply_sql[] = APPLY(TURN(SHARED_FOR_CHECKS));
static const char apply_unqueued[] = APPLY(NO_QUEUE);

static const Oid apply_types[] = {BYTEA,      INT8,       BYTEA_ARRAY, INT8_ARRAY, INT2_ARRAY, BYTEA_ARRAY,
                                  INT8_ARRAY, INT8_ARRAY, INT8,        INT8,       INT4,       INT8_ARRAY};
#define puts_types apply_types

/*
 * The deletion of an absent key inserts a mark of version 0, so that it waits for a promise that has the key.
 * This statement removes the marks again, in the same transaction.
 */
static const char sweep_sql[] = "DELETE FROM turnstone.item WHERE key = ANY ($1) AND version = 0";
static const Oid sweep_types[] = {BYTEA_ARRAY};

static const char read_sql[] =
    "WITH " GUARD "SELECT guard.ms, r.n, r.version, CASE WHEN r.bytes > $4 THEN decode(('turnstone:large:' "
    "|| r.n)::integer::text, "
    "'escape') ELSE r.value END "
    "FROM guard LEFT JOIN (SELECT u.n, i.version, i.value, sum(octet_length(i.value)) OVER () AS bytes "
    "FROM unnest($3) WITH ORDINALITY AS u (key, n) LEFT JOIN turnstone.item i ON i.key = u.key) r ON true "
    "ORDER BY r.n";
static const Oid read_types[] = {BYTEA, INT8, BYTEA_ARRAY, INT8};

/* Selects a page of rows. The row that exceeds the limit of bytes has a null value. */
#define SCAN(condition)                                                                                      \
    "WITH " GUARD "SELECT guard.ms, r.key, r.version, CASE WHEN r.bytes <= $5 THEN r.value END "             \
    "FROM guard LEFT JOIN (SELECT * FROM (SELECT i.key, i.version, i.value, "                                \
    "sum(octet_length(i.key) + octet_length(i.value)) OVER (ORDER BY i.key ROWS UNBOUNDED PRECEDING) AS "    \
    "bytes "                                                                                                 \
    "FROM turnstone.item i WHERE i.key >= $3" condition " ORDER BY i.key LIMIT $4) w "                       \
    "WHERE w.bytes - octet_length(w.key) - octet_length(w.value) <= $5) r ON true ORDER BY r.key"

static const char scan_sql[] = SCAN(" AND i.key < $6");
static const Oid scan_types[] = {BYTEA, INT8, BYTEA, INT8, INT8, BYTEA};
static const char scan_to_end_sql[] = SCAN("");
static const Oid scan_to_end_types[] = {BYTEA, INT8, BYTEA, INT8, INT8};

static const char prepared_sql[] =
    "WITH " GUARD "SELECT guard.ms, p.gid, p.ms FROM guard LEFT JOIN ("
    "SELECT substr(x.gid, length($3) + 1) AS gid, trunc(extract(epoch FROM x.prepared) * 1000)::bigint AS ms "
    "FROM pg_catalog.pg_prepared_xacts x WHERE x.database = current_database() AND left(x.gid, length($3)) = "
    "$3"
    ") p ON true ORDER BY p.gid COLLATE \"C\"";
static const Oid prepared_types[] = {BYTEA, INT8, TEXT};

static const char now_sql[] = "WITH " GUARD "SELECT guard.ms FROM guard";
static const Oid now_types[] = {BYTEA, INT8};

/*
 * Asks for the lag of the slowest standby, and for the number of standbys that this role may not see. The
 * server still shows a lag when a standby has already caught up, so the query first asks whether the standby
 * has replayed everything. Backups and logical subscribers, which always have a slot, are not standbys.
 */
static const char lag_sql[] =
    "WITH " GUARD "SELECT guard.ms, r.ms, r.hidden FROM guard, (SELECT coalesce(max(CASE "
    "WHEN w.replay_lsn >= pg_catalog.pg_current_wal_flush_lsn() THEN 0 "
    "ELSE ceil(extract(epoch FROM w.replay_lag) * 1000) END), 0)::bigint AS ms, "
    "count(*) FILTER (WHERE w.state IS NULL) AS hidden FROM pg_catalog.pg_stat_replication w "
    "WHERE w.state IS DISTINCT FROM 'backup' AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_replication_slots s "
    "WHERE s.active_pid = w.pid AND s.slot_type = 'logical')) r";
static const Oid lag_types[] = {BYTEA, INT8};

const struct postgres_statement_text *postgres__statement(enum postgres_statement statement) {
#define TEXT_OF(lower, unqueued)                                                                             \
    {                                                                                                        \
        "turnstone_" #lower, lower##_sql, unqueued, lower##_types,                                           \
            (int)(sizeof lower##_types / sizeof lower##_types[0])                                            \
    }
#define ENTRY(name, lower)  [POSTGRES_##name] = TEXT_OF(lower, NULL)
#define QUEUED(name, lower) [POSTGRES_##name] = TEXT_OF(lower, lower##_unqueued)
    static const struct postgres_statement_text texts[POSTGRES_STATEMENT_COUNT] = {
        [POSTGRES_BEGIN] = {"turnstone_begin", "BEGIN", NULL, NULL, 0},
        ENTRY(CLAIM, claim),
        ENTRY(UNUSED, unused),
        QUEUED(APPLY, apply),
        QUEUED(PUTS, puts),
        ENTRY(SWEEP, sweep),
        ENTRY(GUARD, guard),
        QUEUED(FIRST_PUT, first_put),
        QUEUED(FIRST_CHECK, first_check),
        QUEUED(PUT, put),
        QUEUED(MAKE, make),
        QUEUED(CHANGE, change),
        QUEUED(CHECK, check),
        ENTRY(LATE, late),
        ENTRY(READ, read),
        ENTRY(SCAN, scan),
        ENTRY(SCAN_TO_END, scan_to_end),
        ENTRY(PREPARED, prepared),
        ENTRY(NOW, now),
        ENTRY(LAG, lag),
    };
#undef TEXT_OF
#undef ENTRY
#undef QUEUED
    return &texts[statement];
}

const char *const postgres__schema[] = {
    "CREATE SCHEMA IF NOT EXISTS turnstone",
    "CREATE TABLE IF NOT EXISTS turnstone.item "
    "(key bytea NOT NULL PRIMARY KEY, value bytea NOT NULL, version bigint NOT NULL)",
    "CREATE SEQUENCE IF NOT EXISTS turnstone.version",
    "CREATE TABLE IF NOT EXISTS turnstone.meta (one integer NOT NULL PRIMARY KEY CHECK (one = 1), "
    "change bigint NOT NULL, identity bytea NOT NULL, epoch bigint NOT NULL, state integer NOT NULL, "
    "body bytea NOT NULL)",
    NULL,
};
