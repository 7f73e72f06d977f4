/*
 * pg_bare local URL THREADS SECONDS
 *     repeats the statement with which Turnstone puts one key, in autocommit
 * pg_bare two URL URL THREADS SECONDS
 *     the same statement in a hand-written two-phase commit on two servers:
 *         one     BEGIN, put, PREPARE TRANSACTION, in one round trip
 *         other   two puts (a decision, and its own), which commit, in one round trip
 *         one     COMMIT PREPARED
 *     the two servers alternate
 * pg_bare upsert URL URL THREADS SECONDS
 *     like 'two', with a plain INSERT … ON CONFLICT instead of Turnstone's statements: no epoch, no version of
 *     the store, no queue for a key
 * pg_bare script
 *     prints the statement as a script for pgbench, one put of a random key
 *
 * A thread has a connection to each server, and waits for each answer. No coordinator, no pool, no deadlines. The
 * databases must have been initialised by 'turnstone store init'.
 */
#include "loop.h"
#include "store/postgres/postgres.h"

#include "base/bytes.h"
#include "base/endian.h"
#include "base/hash64.h"
#include "base/prng.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STATUS_USAGE = 2, SERVERS = 2, PARAMETERS = 6, NAME_SIZE = 64 };

struct shared {
    const char *urls[SERVERS];
    size_t url_count;
    bool upsert;
};

struct mine {
    const struct shared *shared;
    uint32_t thread;
    struct ts_prng prng;
    PGconn *connections[SERVERS];
    uint8_t value[LOOP_VALUE_LEN];
};

static const char upsert_sql[] =
    "INSERT INTO turnstone.item (key, value, version) VALUES ($1, $2, 1) "
    "ON CONFLICT (key) DO UPDATE SET value = excluded.value, version = turnstone.item.version + 1";

static bool complain(PGconn *connection) {
    fprintf(stderr, "pg_bare: %s", PQerrorMessage(connection));
    return false;
}

/* Waits for an answer and discards it. If the answer is an error, prints the reason and returns false. */
static bool answered(PGconn *connection) {
    PGresult *result = PQgetResult(connection);
    ExecStatusType status = PQresultStatus(result);
    bool good = status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK || status == PGRES_PIPELINE_SYNC;
    if (!good)
        fprintf(stderr, "pg_bare: %s", PQresultErrorMessage(result));
    PQclear(result);
    if (status != PGRES_PIPELINE_SYNC)
        PQclear(PQgetResult(connection)); /* the NULL that ends the results of a query */
    return good;
}

static bool prepare(PGconn *connection, const char *name, const char *sql, const Oid *types, int type_count) {
    PGresult *result = PQprepare(connection, name, sql, type_count, types);
    bool good = PQresultStatus(result) == PGRES_COMMAND_OK;
    PQclear(result);
    return good;
}

static PGconn *connect_to(const char *url, bool upsert) {
    PGconn *connection = PQconnectdb(url);
    if (PQstatus(connection) != CONNECTION_OK) {
        complain(connection);
        return NULL;
    }
    const struct postgres_statement_text *first = postgres__statement(POSTGRES_FIRST_PUT);
    const struct postgres_statement_text *put = postgres__statement(POSTGRES_PUT);
    bool good = upsert ? prepare(connection, "upsert", upsert_sql, NULL, 0)
                       : prepare(connection, "first", first->sql, first->types, first->type_count) &&
                             prepare(connection, "put", put->sql, put->types, put->type_count);
    if (!good || !PQenterPipelineMode(connection)) {
        complain(connection);
        return NULL;
    }
    return connection;
}

static void *begin(void *context, uint32_t thread) {
    struct mine *mine = calloc(1, sizeof *mine);
    if (mine == NULL)
        return NULL;
    mine->shared = context;
    mine->thread = thread;
    memset(mine->value, 'v', sizeof mine->value);
    ts_prng_init(&mine->prng, thread + 1);
    for (size_t i = 0; i < mine->shared->url_count; i++) {
        mine->connections[i] = connect_to(mine->shared->urls[i], mine->shared->upsert);
        if (mine->connections[i] == NULL)
            return NULL;
    }
    return mine;
}

static bool send_upsert(PGconn *connection, const struct ts_op *op) {
    const char *const values[] = {(const char *)op->key.data, (const char *)op->value.data};
    const int lengths[] = {(int)op->key.len, (int)op->value.len};
    static const int binary[] = {1, 1};
    return PQsendQueryPrepared(connection, "upsert", 2, values, lengths, binary, 1) == 1;
}

/* Sends the same statement as the engine, with NULL for identity and epoch. */
static bool send_put(PGconn *connection, const struct ts_op *op, bool is_first, bool is_prepare) {
    static const int binary[PARAMETERS] = {1, 1, 1, 1, 1, 1};
    uint8_t prepare_flag[4], queue_number[8];
    ts_be32_store(is_prepare, prepare_flag);
    ts_be64_store(ts_xxh64_of_bytes(op->key), queue_number);
    const char *const values[PARAMETERS] = {NULL,
                                            NULL,
                                            (const char *)prepare_flag,
                                            (const char *)op->key.data,
                                            (const char *)queue_number,
                                            (const char *)op->value.data};
    const int lengths[PARAMETERS] = {
        0, 0, sizeof prepare_flag, (int)op->key.len, sizeof queue_number, (int)op->value.len};
    int skipped = is_first ? 0 : 3;
    return PQsendQueryPrepared(connection, is_first ? "first" : "put", PARAMETERS - skipped, values + skipped,
                               lengths + skipped, binary, 1) == 1;
}

static bool send_batch(struct mine *mine, size_t server, const struct ts_batch *batch, bool is_prepare) {
    PGconn *connection = mine->connections[server];
    for (size_t i = 0; i < batch->count; i++) {
        bool sent = mine->shared->upsert ? send_upsert(connection, &batch->ops[i])
                                         : send_put(connection, &batch->ops[i], i == 0, is_prepare);
        if (!sent)
            return false;
    }
    return true;
}

static bool send_text(PGconn *connection, const char *sql) {
    return PQsendQueryParams(connection, sql, 0, NULL, NULL, NULL, NULL, 1) == 1;
}

/* Ends the pipeline, and reads the answers. */
static bool finish(PGconn *connection, size_t answers) {
    if (PQpipelineSync(connection) != 1)
        return complain(connection);
    bool good = true;
    for (size_t i = 0; i < answers; i++)
        good = answered(connection) && good;
    return answered(connection) && good;
}

struct puts {
    char keys[2][NAME_SIZE];
    struct ts_op ops[2];
    struct ts_batch batch;
};

static void make_put(struct mine *mine, struct puts *puts) {
    loop_key(ts_prng_below(&mine->prng, LOOP_KEYS), puts->keys[0]);
    puts->ops[0] = (struct ts_op){.kind = TS_OP_PUT,
                                  .key = ts_bytes_of(puts->keys[0], LOOP_KEY_LEN),
                                  .value = ts_bytes_of(mine->value, sizeof mine->value)};
    puts->batch = (struct ts_batch){.ops = puts->ops, .count = 1};
}

static void add_decision(const struct mine *mine, const char *name, struct puts *puts) {
    snprintf(puts->keys[1], sizeof puts->keys[1], "decision/%s", name);
    puts->ops[1] = (struct ts_op){
        .kind = TS_OP_PUT, .key = ts_bytes_of_cstring(puts->keys[1]), .value = ts_bytes_of(mine->value, 8)};
    puts->batch.count = 2;
}

static bool step_local(struct mine *mine) {
    struct puts puts;
    make_put(mine, &puts);
    return send_batch(mine, 0, &puts.batch, false) && finish(mine->connections[0], 1);
}

static bool step_two(struct mine *mine, uint64_t turn) {
    size_t one = turn % 2, other = 1 - one;
    char name[NAME_SIZE / 2], sql[NAME_SIZE * 2];
    struct puts puts;
    snprintf(name, sizeof name, "bare.%u.%llu", mine->thread, (unsigned long long)turn);

    PGconn *connection = mine->connections[one];
    make_put(mine, &puts);
    snprintf(sql, sizeof sql, "PREPARE TRANSACTION '%s'", name);
    if (!send_text(connection, "BEGIN") || !send_batch(mine, one, &puts.batch, true) ||
        !send_text(connection, sql) || !finish(connection, 3))
        return false;

    make_put(mine, &puts);
    add_decision(mine, name, &puts);
    if (!send_batch(mine, other, &puts.batch, false) || !finish(mine->connections[other], puts.batch.count))
        return false;

    snprintf(sql, sizeof sql, "COMMIT PREPARED '%s'", name);
    return send_text(connection, sql) && finish(connection, 1);
}

static bool step(void *context, uint64_t turn) {
    struct mine *mine = context;
    return mine->shared->url_count == 1 ? step_local(mine) : step_two(mine, turn);
}

static void end(void *context) {
    struct mine *mine = context;
    for (size_t i = 0; i < SERVERS; i++)
        PQfinish(mine->connections[i]);
    free(mine);
}

/* Prints the script for pgbench: the same statement with the same parameters and types (-M prepared), but the
 * server builds the key. tools/bench sets the values. */
static void print_script(void) {
    static const char *const values[PARAMETERS] = {
        ":identity::bytea",  ":epoch::bigint",
        ":prepare::integer", "convert_to('bench/' || lpad(to_hex(:k::bigint), 8, '0'), 'UTF8')",
        ":k::bigint",        ":value::bytea",
    };
    printf("\\set k random(0, %d)\n", LOOP_KEYS - 1);
    enum { OUTSIDE, PLAIN, ESCAPED } quote = OUTSIDE;
    for (const char *at = postgres__statement(POSTGRES_FIRST_PUT)->sql; *at != '\0';) {
        char *after = NULL;
        unsigned long number = quote == OUTSIDE && *at == '$' ? strtoul(at + 1, &after, 10) : 0;
        if (number >= 1 && number <= PARAMETERS) {
            fputs(values[number - 1], stdout);
            at = after;
            continue;
        }
        if (*at == '\'' && quote == OUTSIDE) {
            /* In pgbench a colon starts a variable, even inside quotes. */
            bool has_colon = memchr(at + 1, ':', strcspn(at + 1, "'")) != NULL;
            quote = has_colon ? ESCAPED : PLAIN;
            fputs(has_colon ? "E'" : "'", stdout);
        } else if (*at == '\'') {
            quote = OUTSIDE;
            putchar('\'');
        } else if (*at == ':' && quote == ESCAPED) {
            fputs("\\x3a", stdout);
        } else {
            putchar(*at);
        }
        at++;
    }
    puts(";");
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "";
    struct shared shared = {.upsert = strcmp(mode, "upsert") == 0};
    if (postgres__statement(POSTGRES_FIRST_PUT)->type_count != PARAMETERS) {
        fprintf(stderr, "pg_bare: the engine's statement has changed, and its parameters here have not\n");
        return STATUS_USAGE;
    }
    struct loop_options options = {.shared = &shared, .begin = begin, .step = step, .end = end};
    if (argc == 2 && strcmp(mode, "script") == 0) {
        print_script();
        return 0;
    }
    shared.url_count = strcmp(mode, "local") == 0 ? 1 : 2;
    int expected = 4 + (int)shared.url_count;
    if ((shared.url_count == 2 && !shared.upsert && strcmp(mode, "two") != 0) || argc != expected ||
        !loop_numbers(argv[expected - 2], argv[expected - 1], &options)) {
        fprintf(stderr,
                "usage: pg_bare local URL THREADS SECONDS | two|upsert URL URL THREADS SECONDS | script\n");
        return STATUS_USAGE;
    }
    for (size_t i = 0; i < shared.url_count; i++)
        shared.urls[i] = argv[2 + i];
    options.name = shared.url_count == 1 ? "postgres local"
                   : shared.upsert       ? "postgres two, upsert"
                                         : "postgres two";
    return loop_run(&options);
}
