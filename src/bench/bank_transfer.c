/*
 * Transfers between two accounts of the bank.
 */
#include "bench/bank.h"

#include "base/bytes.h"
#include "base/number.h"
#include "os/clock.h"

#include <stdio.h>
#include <string.h>

struct transfer {
    const struct bench_account *from;
    const struct bench_account *to;
    uint64_t amount;
};

static struct ts_bytes key_of(const struct bench_account *account) {
    return ts_bytes_of(account->key, account->len);
}

static void transfer_by_adding(const struct bench_bank_access *access, const struct transfer *transfer,
                               struct ts_txn_result *ret_result) {
    const struct ts_op ops[] = {
        {.kind = TS_OP_ADD,
         .key = key_of(transfer->from),
         .delta = -(int64_t)transfer->amount,
         .max = INT64_MAX},
        {.kind = TS_OP_ADD,
         .key = key_of(transfer->to),
         .delta = (int64_t)transfer->amount,
         .max = INT64_MAX},
    };
    ts_txn_run(access->coordinator, ops, 2, NULL, ret_result);
}

struct balance {
    uint64_t value;
    uint64_t version;
};

static enum ts_store_result read_balance(const struct bench_bank_access *access,
                                         const struct bench_account *account, struct ts_rows *rows,
                                         struct balance *ret_balance, struct ts_store_error *ret_error) {
    struct ts_bytes key = key_of(account);
    struct ts_call call = {.kind = TS_CALL_READ,
                           .keys = &key,
                           .key_count = 1,
                           .rows = rows,
                           .deadline_ns = ts_clock_monotonic_ns() + access->call_timeout_ms * 1000000};
    enum ts_store_result result = ts_store_run(ts_cluster_store(access->cluster, account->place), &call);
    *ret_error = call.error;
    if (result != TS_STORE_OK)
        return result;
    ret_balance->version = rows->rows[0].version;
    if (ts_u64_parse(rows->rows[0].value, &ret_balance->value) != TS_NUMBER_OK) {
        snprintf(ret_error->text, sizeof ret_error->text, "a balance is not a number");
        return TS_STORE_NOT_A_COUNTER;
    }
    return TS_STORE_OK;
}

void bench__read_failed(const struct ts_store_error *error, struct ts_txn_result *ret_result) {
    memset(ret_result, 0, sizeof *ret_result);
    ret_result->outcome = TS_TXN_ABORTED;
    ret_result->reason = error->result;
    memcpy(ret_result->sqlstate, error->sqlstate, sizeof ret_result->sqlstate);
    memcpy(ret_result->text, error->text, sizeof ret_result->text);
}

static void transfer_by_putting(const struct bench_bank_access *access, const struct transfer *transfer,
                                struct bench_transfer *room, struct ts_txn_result *ret_result) {
    struct balance from, to;
    struct ts_store_error error;
    enum ts_store_result read = read_balance(access, transfer->from, &room->rows, &from, &error);
    if (read == TS_STORE_OK)
        read = read_balance(access, transfer->to, &room->rows, &to, &error);
    if (read != TS_STORE_OK) {
        error.result = read;
        bench__read_failed(&error, ret_result);
        return;
    }
    uint64_t amount = transfer->amount < from.value ? transfer->amount : from.value;
    char from_text[TS_NUMBER_TEXT_SIZE], to_text[TS_NUMBER_TEXT_SIZE];
    size_t from_len = ts_u64_format(from.value - amount, from_text);
    size_t to_len = ts_u64_format(to.value + amount, to_text);
    const struct ts_op ops[] = {
        {.kind = TS_OP_CHECK, .key = key_of(transfer->from), .version = from.version},
        {.kind = TS_OP_PUT, .key = key_of(transfer->from), .value = ts_bytes_of(from_text, from_len)},
        {.kind = TS_OP_CHECK, .key = key_of(transfer->to), .version = to.version},
        {.kind = TS_OP_PUT, .key = key_of(transfer->to), .value = ts_bytes_of(to_text, to_len)},
    };
    ts_txn_run(access->coordinator, ops, 4, NULL, ret_result);
}

void bench__bank_transfer(const struct bench_bank *bank, const struct bench_bank_access *access,
                          struct ts_prng *prng, struct bench_transfer *room,
                          struct ts_txn_result *ret_result) {
    size_t from = (size_t)ts_prng_below(prng, bank->count);
    size_t to = (size_t)ts_prng_below(prng, bank->count - 1);
    to += to >= from;
    const struct transfer transfer = {
        .from = &bank->accounts[from],
        .to = &bank->accounts[to],
        .amount = 1 + ts_prng_below(prng, BENCH_TRANSFER_MAX),
    };
    if (ts_prng_chance(prng, (struct ts_ratio){1, 2}))
        transfer_by_adding(access, &transfer, ret_result);
    else
        transfer_by_putting(access, &transfer, room, ret_result);
}
