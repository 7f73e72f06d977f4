/*
 * A bank whose accounts are spread over all stores, and whose total never changes.
 *
 *   bench/bank/account/NNNNNN   the balance, a decimal number
 *   bench/bank/total            what all balances add up to, written once
 *
 * Accounts and total are made in one transaction, so that a process that is killed leaves all of them or
 * none. A transfer is one transaction of two accounts: half of them by two additions, half by reading both
 * and putting both with their versions checked.
 *
 * Reads of several stores are no snapshot. Looking at the bank therefore ends with a transaction that checks
 * every version that was read: when it commits, all of it was true at one moment. It waits for promises that
 * were left behind, as any transaction does, and so looks again until they are settled.
 */
#ifndef TS_BENCH_BANK_H
#define TS_BENCH_BANK_H

#include "base/prng.h"
#include "store/cluster.h"
#include "turnstone/txn.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    BENCH_ACCOUNTS_PER_STORE = 64,
    BENCH_ACCOUNTS_MAX = 50000, /* on one store */
    BENCH_ACCOUNT_BALANCE = 1000,
    BENCH_TRANSFER_MAX = 100,
    BENCH_ACCOUNT_KEY_SIZE = 40,
};

/* How to reach it; all of it outlives the bank. */
struct bench_bank_access {
    struct ts_cluster *cluster;
    struct ts_coordinator *coordinator;
    uint64_t call_timeout_ms;
};

enum bench_bank_state {
    BENCH_BANK_NONE,   /* no accounts */
    BENCH_BANK_SEEN,   /* the figures below are of one moment */
    BENCH_BANK_BUSY,   /* they are not: accounts kept changing, or promises of others were not settled */
    BENCH_BANK_FAILED, /* a store could not be read */
};

struct bench_bank_look {
    enum bench_bank_state state;
    size_t accounts;
    size_t unreadable; /* accounts whose balance is no number */
    bool has_total;
    uint64_t expected;
    uint64_t found;
    char text[240]; /* BUSY, FAILED: why */
};

struct bench_account {
    char key[BENCH_ACCOUNT_KEY_SIZE];
    size_t len;
    size_t place;
};

/* Zero-initialise it; release it. */
struct bench_bank {
    struct bench_account *accounts;
    size_t count;
};

/* Looks until it has seen one moment, for patience_ms at most. */
void bench__bank_look(const struct bench_bank_access *access, uint64_t patience_ms,
                      struct bench_bank_look *ret_look);

/* Finds the accounts, and makes them when there are none. False with one line. */
struct bench_bank_error {
    char text[240];
};
bool bench__bank_open(struct bench_bank *ret_bank, const struct bench_bank_access *access,
                      struct bench_bank_error *ret_error);
void bench__bank_release(struct bench_bank *bank);

/* A read before a transaction that failed, told as an aborted transaction. */
void bench__read_failed(const struct ts_store_error *error, struct ts_txn_result *ret_result);

/* Room of one thread. Zero-initialise it; release its rows. */
struct bench_transfer {
    struct ts_rows rows;
};

/* One transfer between two random accounts. A read that failed is told as an aborted transaction. */
void bench__bank_transfer(const struct bench_bank *bank, const struct bench_bank_access *access,
                          struct ts_prng *prng, struct bench_transfer *room,
                          struct ts_txn_result *ret_result);

#endif
