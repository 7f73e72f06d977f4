/*
 * The statements of each kind of call, and the handling of their answers.
 *
 *   READ, SCAN, PREPARED,       statement, sync
 *   NOW, LAG
 *   APPLY                       batch sync                                       the sync commits
 *   PREPARE                     BEGIN claim batch PREPARE TRANSACTION sync
 *   COMMIT, ABORT               COMMIT PREPARED or ROLLBACK PREPARED, sync       alone, as the server requires
 *
 * A batch of few keys with only checks and puts is a statement for each key, in the order of the keys:
 *
 *   guard                       compares the epoch and draws the version; a first put or check includes this
 *   then for each key           put; make: check absence and put; change: check version and put; check
 *   late                        with `before`: the time, when all locks are held
 *
 * Any other batch is sent as arrays: puts, or apply [sweep].
 */
#include "store/postgres/postgres.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/checked.h"
#include "base/endian.h"
#include "base/hash64.h"
#include "libpq_late.h"
#include "store/contract/rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARAMETERS_MAX = 12 };

/* The parameters of a statement in binary form. Their numbers are stored in this struct until they are
 * sent. */
struct list {
    const char *values[PARAMETERS_MAX];
    int lengths[PARAMETERS_MAX];
    uint8_t numbers[PARAMETERS_MAX][8];
    uint8_t identity[POSTGRES_IDENTITY_LEN];
    int count;
    size_t entry; /* number of the statement's key, from 1 */
};

static void add_bytes(struct list *list, struct ts_bytes bytes) {
    static const char nothing[] = "";
    ts_assert(list->count < PARAMETERS_MAX && bytes.len <= INT32_MAX);
    list->values[list->count] = bytes.len > 0 ? (const char *)bytes.data : nothing;
    list->lengths[list->count++] = (int)bytes.len;
}

static void add_null(struct list *list) {
    list->values[list->count] = NULL;
    list->lengths[list->count++] = 0;
}

static void add_u64(struct list *list, uint64_t value) {
    uint8_t *at = list->numbers[list->count];
    ts_be64_store(value > INT64_MAX ? INT64_MAX : value, at);
    add_bytes(list, ts_bytes_of(at, 8));
}

static void add_u32(struct list *list, uint32_t value) {
    uint8_t *at = list->numbers[list->count];
    ts_be32_store(value, at);
    add_bytes(list, ts_bytes_of(at, 4));
}

/* Adds the first two parameters of every statement: the expected identity and epoch, or NULL to accept
 * any. */
static void add_expected(struct list *list, struct postgres_store *store) {
    pthread_mutex_lock(&store->lock);
    bool has_expected = store->has_expected;
    uint64_t epoch = store->expected.epoch;
    postgres__identity(&store->expected, list->identity);
    pthread_mutex_unlock(&store->lock);
    if (has_expected) {
        add_bytes(list, ts_bytes_of(list->identity, sizeof list->identity));
        add_u64(list, epoch);
    } else {
        add_null(list);
        add_null(list);
    }
}

static bool execute(struct postgres_job *job, enum postgres_item item, enum postgres_statement statement,
                    const struct list *list) {
    return postgres__connection_execute(
        job, item, statement,
        (struct postgres_parameters){list->values, list->lengths, list->count, list->entry});
}

static bool no_memory(struct postgres_job *job) {
    (void)store__error(&job->error, TS_STORE_FAILED, SIZE_MAX, "%s: no memory for the call",
                       job->store->base.name);
    return false;
}

static void add_i64(struct list *list, int64_t value) {
    uint8_t *at = list->numbers[list->count];
    ts_be64_store((uint64_t)value, at);
    add_bytes(list, ts_bytes_of(at, 8));
}

static void add_guard(struct list *list, const struct postgres_job *job) {
    add_expected(list, job->store);
    add_u32(list, job->call->kind == TS_CALL_PREPARE ? 1 : 0);
}

static enum postgres_statement statement_of(const struct postgres_entry *entry, bool is_first) {
    if (entry->write == NULL)
        return is_first ? POSTGRES_FIRST_CHECK : POSTGRES_CHECK;
    if (entry->check == NULL)
        return is_first ? POSTGRES_FIRST_PUT : POSTGRES_PUT;
    ts_assert(!is_first);
    return entry->check->version == 0 ? POSTGRES_MAKE : POSTGRES_CHANGE;
}

/* Sends the statement of an entry. Its parameters are key and queue, and then value, version and number if
 * the statement has them. */
static bool send_entry(struct postgres_job *job, enum postgres_item item, const struct postgres_entry *entry,
                       struct list *list) {
    enum postgres_statement statement = statement_of(entry, list->count > 0);
    add_bytes(list, postgres__entry_key(entry));
    add_i64(list, postgres__entry_queue(entry));
    if (entry->write != NULL)
        add_bytes(list, entry->write->value);
    if (entry->check != NULL && statement != POSTGRES_MAKE) {
        add_i64(list, postgres__entry_want(entry));
        add_u64(list, list->entry);
    }
    return execute(job, item, statement, list);
}

static bool send_few(struct postgres_job *job, const struct postgres_entry *entries, size_t count) {
    uint64_t before_ms = postgres__batch_before_ms(&job->call->batch);
    struct list list = {.count = 0};
    add_guard(&list, job);
    bool guarded = entries[0].check != NULL && entries[0].write != NULL; /* MAKE and CHANGE have no guard */
    bool sent = !guarded || execute(job, POSTGRES_ITEM_DRAWN, POSTGRES_GUARD, &list);
    for (size_t i = 0; i < count && sent; i++) {
        if (guarded || i > 0)
            list.count = 0;
        list.entry = i + 1;
        enum postgres_item item =
            i + 1 == count && before_ms == UINT64_MAX ? POSTGRES_ITEM_MAIN : POSTGRES_ITEM_MINOR;
        if (list.count > 0)
            item = POSTGRES_ITEM_DRAWN;
        sent = send_entry(job, item, &entries[i], &list);
    }
    if (!sent || before_ms == UINT64_MAX)
        return sent;
    list = (struct list){.count = 0};
    add_u64(&list, before_ms);
    add_u64(&list, atomic_load(&job->store->latest_ms));
    return execute(job, POSTGRES_ITEM_MAIN, POSTGRES_LATE, &list);
}

static bool send_batch(struct postgres_job *job) {
    const struct ts_call *call = job->call;
    struct postgres_entry few[POSTGRES_FEW_MAX];
    size_t few_count = postgres__batch_few(&call->batch, few);
    if (few_count > 0)
        return send_few(job, few, few_count);
    struct postgres_batch batch;
    if (!postgres__batch_encode(&call->batch, &batch))
        return no_memory(job);
    struct list list = {.count = 0};
    add_expected(&list, job->store);
    const size_t queues = sizeof batch.arrays / sizeof batch.arrays[0] - 1;
    for (size_t i = 0; i < queues; i++)
        add_bytes(&list, batch.arrays[i]);
    uint64_t before_ms = postgres__batch_before_ms(&call->batch);
    if (before_ms != UINT64_MAX)
        add_u64(&list, before_ms);
    else
        add_null(&list);
    add_u64(&list, atomic_load(&job->store->latest_ms));
    add_u32(&list, call->kind == TS_CALL_PREPARE ? 1 : 0);
    add_bytes(&list, batch.arrays[queues]);
    bool sent = execute(job, POSTGRES_ITEM_MAIN, batch.is_puts ? POSTGRES_PUTS : POSTGRES_APPLY, &list);
    if (sent && batch.swept.len > 0) {
        struct list swept = {.count = 0};
        add_bytes(&swept, batch.swept);
        sent = execute(job, POSTGRES_ITEM_MINOR, POSTGRES_SWEEP, &swept);
    }
    postgres__batch_release(&batch);
    return sent;
}

enum { PROMISE_NAME_SIZE = POSTGRES_PREFIX_SIZE + TS_STORE_GID_MAX + 1 };

/* Writes the promise's name with the prefix of the database, because names must be unique on the server. */
static void promise_name(const struct postgres_job *job, char ret_name[static PROMISE_NAME_SIZE]) {
    snprintf(ret_name, PROMISE_NAME_SIZE, "%s%s", job->slot->prefix, job->call->gid);
}

static bool send_begin(struct postgres_job *job) {
    return execute(job, POSTGRES_ITEM_MINOR, POSTGRES_BEGIN, &(struct list){.count = 0});
}

static bool send_unused(struct postgres_job *job) {
    char name[PROMISE_NAME_SIZE];
    promise_name(job, name);
    struct list list = {.count = 0};
    if (job->must_look || atomic_load(&job->store->is_unqueued)) {
        add_bytes(&list, ts_bytes_of_cstring(name));
        return execute(job, POSTGRES_ITEM_MINOR, POSTGRES_UNUSED, &list);
    }
    uint64_t hash = ts_xxh64_of_bytes(ts_bytes_of_cstring(name));
    add_u32(&list, (uint32_t)(hash >> 32));
    add_u32(&list, (uint32_t)hash);
    return execute(job, POSTGRES_ITEM_MINOR, POSTGRES_CLAIM, &list);
}

/* Sends VERB 'name', with the name as a literal, because it cannot be a parameter. */
static bool send_about_promise(struct postgres_job *job, const char *verb) {
    char name[PROMISE_NAME_SIZE];
    promise_name(job, name);
    char *literal = PQescapeLiteral(job->slot->conn, name, strlen(name));
    if (literal == NULL)
        return no_memory(job);
    char sql[sizeof name * 2 + 64];
    snprintf(sql, sizeof sql, "%s %s", verb, literal);
    PQfreemem(literal);
    return postgres__connection_send(job->slot, POSTGRES_ITEM_LAST, sql);
}

static bool send_read(struct postgres_job *job) {
    const struct ts_call *call = job->call;
    struct list list = {.count = 0};
    uint8_t *memory;
    struct ts_bytes keys;
    if (!postgres__keys_encode(call->keys, call->key_count, &memory, &keys))
        return no_memory(job);
    add_expected(&list, job->store);
    add_bytes(&list, keys);
    add_u64(&list, TS_STORE_ANSWER_BYTES_MAX);
    bool sent = execute(job, POSTGRES_ITEM_MAIN, POSTGRES_READ, &list);
    free(memory);
    return sent;
}

static bool send_scan(struct postgres_job *job) {
    const struct ts_call *call = job->call;
    struct list list = {.count = 0};
    add_expected(&list, job->store);
    add_bytes(&list, call->from);
    /* Asks for one row more than the limit, to find out whether there are more. */
    add_u64(&list, call->limit == 0 ? 0 : ts_saturating_add_u64(call->limit, 1));
    add_u64(&list, TS_STORE_ANSWER_BYTES_MAX);
    if (call->to.len == 0)
        return execute(job, POSTGRES_ITEM_MAIN, POSTGRES_SCAN_TO_END, &list);
    add_bytes(&list, call->to);
    return execute(job, POSTGRES_ITEM_MAIN, POSTGRES_SCAN, &list);
}

static bool send_simple(struct postgres_job *job, enum postgres_statement statement) {
    struct list list = {.count = 0};
    add_expected(&list, job->store);
    if (statement == POSTGRES_PREPARED)
        add_bytes(&list, ts_bytes_of_cstring(job->slot->prefix));
    return execute(job, POSTGRES_ITEM_MAIN, statement, &list);
}

static bool send_statements(struct postgres_job *job) {
    switch (job->call->kind) {
    case TS_CALL_READ:
        return send_read(job);
    case TS_CALL_SCAN:
        return send_scan(job);
    case TS_CALL_APPLY:
        job->can_take_effect = true;
        return send_batch(job);
    case TS_CALL_PREPARE:
        job->can_take_effect = true;
        return send_begin(job) && send_unused(job) && send_batch(job) &&
               send_about_promise(job, "PREPARE TRANSACTION");
    case TS_CALL_COMMIT:
        job->can_take_effect = true;
        return send_about_promise(job, "COMMIT PREPARED");
    case TS_CALL_ABORT:
        job->can_take_effect = true;
        return send_about_promise(job, "ROLLBACK PREPARED");
    case TS_CALL_PREPARED:
        return send_simple(job, POSTGRES_PREPARED);
    case TS_CALL_NOW:
        return send_simple(job, POSTGRES_NOW);
    case TS_CALL_LAG:
        return send_simple(job, POSTGRES_LAG);
    case TS_CALL_SYNC:
        break;
    }
    ts_unreachable("SYNC is nothing to the server: what it has answered is durable");
}

static bool send_call(struct postgres_job *job) {
    return send_statements(job) && postgres__connection_sync(job->slot);
}

static uint64_t number_at(PGresult *result, int row, int column) {
    if (PQgetisnull(result, row, column) || PQgetlength(result, row, column) != 8)
        return 0;
    return ts_be64_load(PQgetvalue(result, row, column));
}

static struct ts_bytes bytes_at(PGresult *result, int row, int column) {
    return ts_bytes_of(PQgetvalue(result, row, column), (size_t)PQgetlength(result, row, column));
}

static void take_rows(struct postgres_job *job, PGresult *result) {
    struct ts_call *call = job->call;
    for (int i = 0; i < PQntuples(result); i++) {
        if (PQgetisnull(result, i, 1))
            return; /* no rows: the answer has only the time */
        struct ts_row row = {.version = number_at(result, i, 2)};
        if (call->kind == TS_CALL_READ) {
            uint64_t n = number_at(result, i, 1);
            ts_assert(n == (uint64_t)i + 1 && n <= call->key_count);
            row.key = call->keys[i];
        } else {
            row.key = bytes_at(result, i, 1);
        }
        if (call->kind == TS_CALL_SCAN && (PQgetisnull(result, i, 3) || (size_t)i == call->limit)) {
            call->rows->more = true;
            return;
        }
        if (call->kind != TS_CALL_PREPARED)
            row.value = bytes_at(result, i, 3);
        if (!store__rows_add(call->rows, &row)) {
            (void)no_memory(job);
            return;
        }
    }
}

/* Takes the lag of the standbys. If this role may not see the state of a standby, the call fails. */
static void take_lag(struct postgres_job *job, PGresult *result) {
    if (number_at(result, 0, 2) > 0)
        (void)store__error(&job->error, TS_STORE_BAD_CONFIGURATION, SIZE_MAX,
                           "%.120s: this role may not read the lag of standbys; GRANT pg_monitor to it",
                           job->store->base.name);
    else
        job->call->lag_ms = number_at(result, 0, 1);
}

static bool writes(const struct ts_batch *batch) {
    for (size_t i = 0; i < batch->count; i++)
        if (batch->ops[i].kind != TS_OP_CHECK && batch->ops[i].kind != TS_OP_BEFORE)
            return true;
    return false;
}

static void take_call(struct postgres_job *job, enum postgres_item item, PGresult *result) {
    struct ts_call *call = job->call;
    if (item == POSTGRES_ITEM_LAST) {
        /* In a failed transaction, PREPARE succeeds but rolls back. After an error in this pipeline, the
         * server skips PREPARE, so no test reaches this line with a real server. Nevertheless this line is
         * necessary: a transaction that was not prepared must never count as a promise. */
        if (call->kind == TS_CALL_PREPARE && strcmp(PQcmdStatus(result), "PREPARE TRANSACTION") != 0)
            (void)store__error(&job->error, TS_STORE_FAILED, SIZE_MAX,
                               "%s: the server rolled back instead of preparing", job->store->base.name);
        return;
    }
    if (PQntuples(result) == 0)
        return;
    if (item == POSTGRES_ITEM_DRAWN) {
        call->version = call->kind == TS_CALL_APPLY && writes(&call->batch) ? number_at(result, 0, 0) : 0;
        return;
    }
    uint64_t time_ms = postgres__time_seen(job->store, number_at(result, 0, 0));
    switch (call->kind) {
    case TS_CALL_READ:
    case TS_CALL_SCAN:
    case TS_CALL_PREPARED:
        call->time_ms = time_ms;
        take_rows(job, result);
        return;
    case TS_CALL_NOW:
        call->time_ms = time_ms;
        return;
    case TS_CALL_LAG:
        take_lag(job, result);
        return;
    case TS_CALL_APPLY:
        /* For small batches, the first statement has already returned the version. */
        if (PQnfields(result) > 1)
            call->version = number_at(result, 0, 1);
        return;
    case TS_CALL_PREPARE:
    case TS_CALL_COMMIT:
    case TS_CALL_ABORT:
    case TS_CALL_SYNC:
        return;
    }
}

const struct postgres_work postgres__call_work = {.send = send_call, .take = take_call};
