/*
 * rocksdb_bare local DIRECTORY THREADS SECONDS
 *     repeats one put in one synced rocksdb_write
 * rocksdb_bare two DIRECTORY THREADS SECONDS
 *     writes by hand what a transaction on two stores writes, to two databases:
 *         synced    on one    the promise: a record that holds the put
 *         synced    on the    the put, and the decision
 *                   other
 *         unsynced  on one    the put, without the promise
 *     the two databases alternate. No locks, no versions, no coordinator; decisions stay.
 *
 * Measures the limit of RocksDB itself on this machine and disk. DIRECTORY must not exist. If
 * ROCKSDB_BARE_ALONE is set in the environment, the leader of a write group inserts for the whole group, as
 * in the engine.
 */
#include "loop.h"

#include "base/prng.h"

#include <rocksdb/c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { STATUS_USAGE = 2, STATUS_INFRASTRUCTURE = 6, DATABASES = 2, NAME_SIZE = 96 };

struct shared {
    rocksdb_t *databases[DATABASES];
    rocksdb_options_t *options;
    rocksdb_writeoptions_t *synced;
    rocksdb_writeoptions_t *unsynced;
    bool two;
};

struct mine {
    struct shared *shared;
    uint32_t thread;
    struct ts_prng prng;
    char value[LOOP_VALUE_LEN];
};

static bool complain(char *message) {
    if (message == NULL)
        return true;
    fprintf(stderr, "rocksdb_bare: %s\n", message);
    rocksdb_free(message);
    return false;
}

static bool open_database(struct shared *shared, size_t index, const char *directory) {
    char path[4096];
    char *message = NULL;
    if (snprintf(path, sizeof path, "%s/%zu", directory, index) >= (int)sizeof path)
        return false;
    shared->databases[index] = rocksdb_open(shared->options, path, &message);
    return complain(message);
}

static void *begin(void *context, uint32_t thread) {
    struct mine *mine = calloc(1, sizeof *mine);
    if (mine != NULL) {
        mine->shared = context;
        mine->thread = thread;
        ts_prng_init(&mine->prng, thread + 1);
        memset(mine->value, 'v', sizeof mine->value);
    }
    return mine;
}

static bool write_batch(const struct mine *mine, size_t database, rocksdb_writebatch_t *batch, bool sync) {
    char *message = NULL;
    const struct shared *shared = mine->shared;
    rocksdb_write(shared->databases[database], sync ? shared->synced : shared->unsynced, batch, &message);
    rocksdb_writebatch_destroy(batch);
    return complain(message);
}

static void put_any(struct mine *mine, rocksdb_writebatch_t *batch) {
    char key[LOOP_KEY_LEN + 1];
    loop_key(ts_prng_below(&mine->prng, LOOP_KEYS), key);
    rocksdb_writebatch_put(batch, key, LOOP_KEY_LEN, mine->value, sizeof mine->value);
}

static bool step_two(struct mine *mine, uint64_t turn) {
    size_t one = turn % 2, other = 1 - one;
    char name[NAME_SIZE];
    char record[LOOP_KEY_LEN + LOOP_VALUE_LEN] = {0};
    int name_len = snprintf(name, sizeof name, "ts.0123456789abcdef0123456789abcdef.%08x.%llu.%zu",
                            mine->thread, (unsigned long long)turn, other);

    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
    rocksdb_writebatch_put(batch, name, (size_t)name_len, record, sizeof record);
    if (!write_batch(mine, one, batch, true))
        return false;

    batch = rocksdb_writebatch_create();
    put_any(mine, batch);
    rocksdb_writebatch_put(batch, name, (size_t)name_len, record, 8);
    if (!write_batch(mine, other, batch, true))
        return false;

    batch = rocksdb_writebatch_create();
    put_any(mine, batch);
    rocksdb_writebatch_delete(batch, name, (size_t)name_len);
    return write_batch(mine, one, batch, false);
}

static bool step(void *context, uint64_t turn) {
    struct mine *mine = context;
    if (mine->shared->two)
        return step_two(mine, turn);
    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
    put_any(mine, batch);
    return write_batch(mine, 0, batch, true);
}

static void end(void *mine) {
    free(mine);
}

int main(int argc, char **argv) {
    struct shared shared = {.two = argc == 5 && strcmp(argv[1], "two") == 0};
    struct loop_options options = {.shared = &shared, .begin = begin, .step = step, .end = end};
    if (argc != 5 || (!shared.two && strcmp(argv[1], "local") != 0) ||
        !loop_numbers(argv[3], argv[4], &options)) {
        fprintf(stderr, "usage: rocksdb_bare local|two DIRECTORY THREADS SECONDS\n");
        return STATUS_USAGE;
    }
    options.name = shared.two ? "rocksdb two" : "rocksdb local";
    if (mkdir(argv[2], 0700) != 0) {
        perror(argv[2]);
        return STATUS_INFRASTRUCTURE;
    }
    shared.options = rocksdb_options_create();
    rocksdb_options_set_create_if_missing(shared.options, 1);
    rocksdb_options_set_allow_concurrent_memtable_write(shared.options, getenv("ROCKSDB_BARE_ALONE") == NULL);
    shared.synced = rocksdb_writeoptions_create();
    rocksdb_writeoptions_set_sync(shared.synced, 1);
    shared.unsynced = rocksdb_writeoptions_create();
    int status = STATUS_INFRASTRUCTURE;
    if (open_database(&shared, 0, argv[2]) && (!shared.two || open_database(&shared, 1, argv[2])))
        status = loop_run(&options);
    for (size_t i = 0; i < DATABASES; i++)
        if (shared.databases[i] != NULL)
            rocksdb_close(shared.databases[i]);
    rocksdb_writeoptions_destroy(shared.synced);
    rocksdb_writeoptions_destroy(shared.unsynced);
    rocksdb_options_destroy(shared.options);
    return status;
}
