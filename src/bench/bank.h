/*
 * A bank whose accounts are spread over all stores, and whose total never changes.
 *
 *   bench/bank/account/NNNNNN   the balance, a decimal number
 *   bench/bank/total            the sum of all balances, written once
 *
 * One transaction makes the accounts and the total, so that a killed process leaves all of them or none. A
 * transfer is one transaction of two accounts: half of the transfers are two additions; the other half read
 * both accounts, and put both balances with a check of each account's version.
 *
 * Reads of several stores are not a snapshot. A look at the bank therefore ends with a transaction that
 * checks every version that was read: when this transaction commits, all versions were current at one moment.
 * Prepared transactions of killed processes make this transaction fail, so the look is repeated until they
 * are settled.
 */
#ifndef TS_BENCH_BANK_H
#define TS_BENCH_BANK_H

#include "base/prng.h"
#include "store/cluster/cluster.h"
#include "turnstone/txn.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    BENCH_ACCOUNTS_PER_STORE = 64,
    BENCH_ACCOUNTS_MAX = 50000, /* maximum number of accounts on one store */
    BENCH_ACCOUNT_BALANCE = 1000,
    BENCH_TRANSFER_MAX = 100,
    BENCH_ACCOUNT_KEY_SIZE = 40,
};

/* Access to the cluster. Everything in this struct must stay valid as long as the bank. */
struct bench_bank_access {
    struct ts_cluster *cluster;
    struct ts_coordinator *coordinator;
    uint64_t call_timeout_ms;
};

enum bench_bank_state {
    BENCH_BANK_NONE, /* no accounts */
    BENCH_BANK_SEEN, /* the figures of the look belong to one moment */
    BENCH_BANK_BUSY, /* figures of several moments: accounts changed, or others' prepared transactions remained */
    BENCH_BANK_FAILED, /* a store could not be read */
};

struct bench_bank_look {
    enum bench_bank_state state;
    size_t accounts;
    size_t unreadable; /* accounts whose balance is not a number */
    bool has_total;
    uint64_t expected;
    uint64_t found;
    char text[240]; /* BUSY, FAILED: the reason */
};

struct bench_account {
    char key[BENCH_ACCOUNT_KEY_SIZE];
    size_t len;
    size_t place;
};

/* The accounts of a bank. Zero-initialise the struct before use, and release it at the end. */
struct bench_bank {
    struct bench_account *accounts;
    size_t count;
};

/* Reads the accounts, repeatedly until the figures belong to one moment, for at most patience_ms. */
void bench__bank_look(const struct bench_bank_access *access, uint64_t patience_ms,
                      struct bench_bank_look *ret_look);

struct bench_bank_error {
    char text[240];
};
/* Finds the accounts, or makes them. On failure returns false, with one line of text. */
bool bench__bank_open(struct bench_bank *ret_bank, const struct bench_bank_access *access,
                      struct bench_bank_error *ret_error);
void bench__bank_release(struct bench_bank *bank);

/* Reports a failed read before a transaction as an aborted transaction. */
void bench__read_failed(const struct ts_store_error *error, struct ts_txn_result *ret_result);

/* Buffers of one thread. Zero-initialise the struct before use, and release its rows at the end. */
struct bench_transfer {
    struct ts_rows rows;
};

/* Makes one transfer between two random accounts. Reports a failed read as an aborted transaction. */
void bench__bank_transfer(const struct bench_bank *bank, const struct bench_bank_access *access,
                          struct ts_prng *prng, struct bench_transfer *room,
                          struct ts_txn_result *ret_result);

#endif
