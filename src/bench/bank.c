/*
 * Finds, makes and reads the accounts. bank_transfer.c moves money between them.
 */
#include "bench/bank.h"

#include "base/bytes.h"
#include "base/checked.h"
#include "base/number.h"
#include "os/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const struct ts_bytes accounts_from = TS_BYTES_INIT("bench/bank/account/");
static const struct ts_bytes accounts_to = TS_BYTES_INIT("bench/bank/account0");
static const struct ts_bytes total_key = TS_BYTES_INIT("bench/bank/total");

enum { FOUNDING_PATIENCE_MS = 30000 };
/* Longer than the time after which a resolver settles transactions of a coordinator without heartbeats. */
enum { PART_PATIENCE_MS = 12000 };

/* All rows of the bank: one list for each store, and one for the total. */
struct bank_rows {
    struct ts_rows *lists;
    size_t count; /* number of lists; the last list is for the total */
};

static void release_rows(struct bank_rows *rows) {
    for (size_t i = 0; i < rows->count; i++)
        ts_rows_release(&rows->lists[i]);
    free(rows->lists);
    *rows = (struct bank_rows){0};
}

static uint64_t deadline_ns(uint64_t timeout_ms) {
    return ts_clock_monotonic_ns() + timeout_ms * 1000000;
}

static void pause_a_while(void) {
    const struct timespec pause = {.tv_nsec = 50000000};
    (void)nanosleep(&pause, NULL);
}

static enum ts_store_result run(const struct bench_bank_access *access, size_t place, struct ts_call *call,
                                char ret_text[240]) {
    call->deadline_ns = deadline_ns(access->call_timeout_ms);
    enum ts_store_result result = ts_store_run(ts_cluster_store(access->cluster, place), call);
    if (result != TS_STORE_OK)
        snprintf(ret_text, 240, "%s", call->error.text);
    return result;
}

/* Reads all rows of the bank. On failure returns false, with one line of text. */
static bool read_rows(const struct bench_bank_access *access, struct bank_rows *ret_rows,
                      char ret_text[240]) {
    size_t places = ts_cluster_count(access->cluster);
    *ret_rows = (struct bank_rows){.lists = calloc(places + 1, sizeof *ret_rows->lists), .count = places + 1};
    if (ret_rows->lists == NULL) {
        ret_rows->count = 0;
        snprintf(ret_text, 240, "out of memory");
        return false;
    }
    for (size_t place = 0; place < places; place++) {
        struct ts_call call = {.kind = TS_CALL_SCAN,
                               .from = accounts_from,
                               .to = accounts_to,
                               .limit = BENCH_ACCOUNTS_MAX,
                               .rows = &ret_rows->lists[place]};
        if (run(access, place, &call, ret_text) != TS_STORE_OK)
            return false;
        if (ret_rows->lists[place].more) {
            snprintf(ret_text, 240, "%s has more than %d accounts",
                     ts_store_name(ts_cluster_store(access->cluster, place)), BENCH_ACCOUNTS_MAX);
            return false;
        }
    }
    struct ts_call call = {
        .kind = TS_CALL_READ, .keys = &total_key, .key_count = 1, .rows = &ret_rows->lists[places]};
    return run(access, ts_cluster_place_of_key(access->cluster, total_key), &call, ret_text) == TS_STORE_OK;
}

static void add_up(const struct bank_rows *rows, struct bench_bank_look *look) {
    look->accounts = look->unreadable = 0;
    look->found = 0;
    for (size_t list = 0; list + 1 < rows->count; list++)
        for (size_t i = 0; i < rows->lists[list].count; i++) {
            uint64_t balance = 0;
            look->accounts++;
            if (ts_u64_parse(rows->lists[list].rows[i].value, &balance) != TS_NUMBER_OK ||
                __builtin_add_overflow(look->found, balance, &look->found))
                look->unreadable++;
        }
    const struct ts_row *total = &rows->lists[rows->count - 1].rows[0];
    look->expected = 0;
    look->has_total = total->version != 0 && ts_u64_parse(total->value, &look->expected) == TS_NUMBER_OK;
}

/* Returns true if all rows were current at one moment: commits a transaction that consists only of checks. */
static bool was_one_moment(const struct bench_bank_access *access, const struct bank_rows *rows,
                           char ret_text[240]) {
    size_t count = 0;
    for (size_t list = 0; list < rows->count; list++)
        count += rows->lists[list].count;
    struct ts_op *ops = calloc(count + 1, sizeof *ops);
    struct ts_txn_result *result = malloc(sizeof *result);
    bool ok = false;
    if (ops != NULL && result != NULL) {
        size_t used = 0;
        for (size_t list = 0; list < rows->count; list++)
            for (size_t i = 0; i < rows->lists[list].count; i++) {
                const struct ts_row *row = &rows->lists[list].rows[i];
                struct ts_bytes key = list + 1 < rows->count ? row->key : total_key;
                if (row->version != 0)
                    ops[used++] = (struct ts_op){.kind = TS_OP_CHECK, .key = key, .version = row->version};
            }
        ts_txn_run(access->coordinator, ops, used, NULL, result);
        ok = result->outcome == TS_TXN_COMMITTED || result->outcome == TS_TXN_COMMITTED_PENDING;
        if (!ok)
            snprintf(ret_text, 240, "%s", result->text);
    } else {
        snprintf(ret_text, 240, "out of memory");
    }
    free(ops);
    free(result);
    return ok;
}

/* Returns true if a store may have prepared transactions, or does not answer. */
static bool promises_left(const struct bench_bank_access *access) {
    struct ts_rows rows = {0};
    bool left = false;
    char text[240];
    for (size_t place = 0; !left && place < ts_cluster_count(access->cluster); place++) {
        struct ts_call call = {.kind = TS_CALL_PREPARED, .rows = &rows};
        left = run(access, place, &call, text) != TS_STORE_OK || rows.count > 0;
    }
    ts_rows_release(&rows);
    return left;
}

static bool adds_up(const struct bench_bank_look *look) {
    return look->has_total && look->unreadable == 0 && look->found == look->expected;
}

static void look_once(const struct bench_bank_access *access, struct bench_bank_look *look) {
    struct bank_rows rows;
    look->state = BENCH_BANK_FAILED;
    if (read_rows(access, &rows, look->text)) {
        add_up(&rows, look);
        if (look->accounts == 0 && !look->has_total)
            look->state = BENCH_BANK_NONE;
        else if (was_one_moment(access, &rows, look->text))
            look->state = BENCH_BANK_SEEN;
        else
            look->state = BENCH_BANK_BUSY;
    }
    release_rows(&rows);
    /* Prepared accounts are not visible. If the process that made the bank was killed between its decision
     * and the last commit, the bank looks smaller than it is. */
    if (look->state == BENCH_BANK_SEEN && !adds_up(look) && promises_left(access)) {
        look->state = BENCH_BANK_BUSY;
        snprintf(look->text, sizeof look->text, "promises of interrupted transactions are not settled");
    }
}

/* Returns whether the look may show a transaction in part. Keys of a prepared transaction do not exist yet,
 * so their versions cannot be checked. A transaction that has committed on one store only is therefore
 * visible in part, until a resolver commits the rest. */
static bool may_be_a_part(const struct bench_bank_look *look) {
    return look->state == BENCH_BANK_SEEN &&
           ((look->accounts > 0) != look->has_total || (look->has_total && look->found != look->expected));
}

void bench__bank_look(const struct bench_bank_access *access, uint64_t patience_ms,
                      struct bench_bank_look *ret_look) {
    uint64_t until_ns = deadline_ns(patience_ms);
    uint64_t whole_by_ns = deadline_ns(patience_ms < PART_PATIENCE_MS ? patience_ms : PART_PATIENCE_MS);
    *ret_look = (struct bench_bank_look){0};
    look_once(access, ret_look);
    for (;;) {
        uint64_t now_ns = ts_clock_monotonic_ns();
        bool again = (ret_look->state == BENCH_BANK_BUSY && now_ns < until_ns) ||
                     (may_be_a_part(ret_look) && now_ns < whole_by_ns);
        if (!again)
            return;
        pause_a_while();
        look_once(access, ret_look);
    }
}

/* The accounts of a bank that does not exist yet. */
struct founding {
    struct bench_account *accounts;
    size_t count;
    struct ts_op *ops;
    size_t op_count;
    char balance[TS_NUMBER_TEXT_SIZE];
    char total[TS_NUMBER_TEXT_SIZE];
};

static void insert(struct founding *founding, struct ts_bytes key, const char *value) {
    founding->ops[founding->op_count++] = (struct ts_op){.kind = TS_OP_CHECK, .key = key, .version = 0};
    founding->ops[founding->op_count++] =
        (struct ts_op){.kind = TS_OP_PUT, .key = key, .value = ts_bytes_of_cstring(value)};
}

/* Chooses the accounts of every store: tries numbers from 0 upwards, until every store has enough accounts or
 * the limit of tries is reached. */
static void choose_accounts(const struct ts_cluster *cluster, size_t *counts, struct founding *founding) {
    size_t places = ts_cluster_count(cluster), wanted = places * BENCH_ACCOUNTS_PER_STORE;
    for (size_t number = 0; number < 16 * wanted && founding->count < wanted; number++) {
        struct bench_account *account = &founding->accounts[founding->count];
        int len = snprintf(account->key, sizeof account->key, "bench/bank/account/%06zu", number);
        account->len = (size_t)len;
        account->place = ts_cluster_place_of_key(cluster, ts_bytes_of(account->key, account->len));
        if (counts[account->place] == BENCH_ACCOUNTS_PER_STORE)
            continue;
        counts[account->place]++;
        founding->count++;
        insert(founding, ts_bytes_of(account->key, account->len), founding->balance);
    }
    ts_u64_format((uint64_t)founding->count * BENCH_ACCOUNT_BALANCE, founding->total);
    insert(founding, total_key, founding->total);
}

/* Makes the accounts and the total. Returns false, with one line of text, when another attempt would not
 * help. If it returns true, the caller lists the existing accounts, because another process may have made
 * them. */
static bool found_bank(const struct bench_bank_access *access, struct bench_bank_error *ret_error) {
    size_t places = ts_cluster_count(access->cluster), wanted = places * BENCH_ACCOUNTS_PER_STORE;
    struct founding founding = {.accounts = calloc(wanted, sizeof *founding.accounts),
                                .ops = calloc(2 * wanted + 2, sizeof *founding.ops)};
    size_t *counts = calloc(places, sizeof *counts);
    struct ts_txn_result *result = malloc(sizeof *result);
    bool ok = false;
    if (founding.accounts != NULL && founding.ops != NULL && counts != NULL && result != NULL) {
        ts_u64_format(BENCH_ACCOUNT_BALANCE, founding.balance);
        choose_accounts(access->cluster, counts, &founding);
        ts_txn_run(access->coordinator, founding.ops, founding.op_count, NULL, result);
        ok = result->outcome == TS_TXN_COMMITTED || result->outcome == TS_TXN_COMMITTED_PENDING ||
             result->reason == TS_STORE_CHECK_FAILED || result->reason == TS_STORE_LOCK_CONFLICT ||
             result->reason == TS_STORE_TIMED_OUT || result->reason == TS_STORE_BUSY;
        snprintf(ret_error->text, sizeof ret_error->text, "%s", result->text);
    } else {
        snprintf(ret_error->text, sizeof ret_error->text, "out of memory");
    }
    free(founding.accounts);
    free(founding.ops);
    free(counts);
    free(result);
    return ok;
}

/* Lists the existing accounts. A key that is too long is not an account. */
static bool list_accounts(const struct bench_bank_access *access, struct bench_bank *ret_bank,
                          char ret_text[240]) {
    struct bank_rows rows;
    bool ok = read_rows(access, &rows, ret_text);
    size_t count = 0;
    for (size_t list = 0; ok && list + 1 < rows.count; list++)
        count += rows.lists[list].count;
    struct bench_account *accounts = calloc(count + 1, sizeof *accounts);
    if (ok && accounts == NULL) {
        snprintf(ret_text, 240, "out of memory");
        ok = false;
    }
    size_t used = 0;
    for (size_t list = 0; ok && list + 1 < rows.count; list++)
        for (size_t i = 0; i < rows.lists[list].count; i++) {
            struct ts_bytes key = rows.lists[list].rows[i].key;
            if (key.len >= BENCH_ACCOUNT_KEY_SIZE)
                continue;
            struct bench_account *account = &accounts[used++];
            memcpy(account->key, key.data, key.len);
            account->len = key.len;
            account->place = list;
        }
    if (ok)
        *ret_bank = (struct bench_bank){.accounts = accounts, .count = used};
    else
        free(accounts);
    release_rows(&rows);
    return ok;
}

bool bench__bank_open(struct bench_bank *ret_bank, const struct bench_bank_access *access,
                      struct bench_bank_error *ret_error) {
    uint64_t until_ns = deadline_ns(FOUNDING_PATIENCE_MS);
    struct bench_bank bank = {0};
    if (!list_accounts(access, &bank, ret_error->text))
        return false;
    /* Prepared transactions of a killed process must be settled first. */
    while (bank.count < 2) {
        bench__bank_release(&bank);
        if (!found_bank(access, ret_error) || ts_clock_monotonic_ns() > until_ns)
            return false;
        if (!list_accounts(access, &bank, ret_error->text))
            return false;
        if (bank.count < 2)
            pause_a_while();
    }
    *ret_bank = bank;
    return true;
}

void bench__bank_release(struct bench_bank *bank) {
    free(bank->accounts);
    *bank = (struct bench_bank){0};
}
