/*
 * Opens a directory as a store: locks it, opens it with RocksDB, and checks that it is a store.
 *
 * The lock is on our own file, next to RocksDB's LOCK. Repeated attempts to open RocksDB would rotate the log
 * of the process that has the directory open, and opening LOCK would drop the lock of this process itself
 * (POSIX record locks end with the first close). Our lock is a flock. It also excludes a second store of the
 * same process, and ends with the process.
 */
#include "store/rocksdb/rocksdb.h"

#include "base/number.h"
#include "os/clock.h"
#include "rocksdb_late.h"
#include "store/local/local.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

static const struct ts_bytes no_key = {0};
static const char owner[] = "turnstone store";

/* Makes the path of a file in the directory. Returns false when the path is too long. */
static bool join(const char *directory, const char *file, char ret_path[static 4096]) {
    int len = snprintf(ret_path, 4096, "%s/%s", directory, file);
    return len > 0 && len < 4096;
}

static enum ts_store_result cannot(const char *name, const char *what, int error,
                                   struct ts_store_error *ret_error) {
    return store__error(ret_error, error == ENOSPC ? TS_STORE_FULL : TS_STORE_BAD_CONFIGURATION, SIZE_MAX,
                        "%.120s: cannot %s: %s", name, what, strerror(error));
}

static enum ts_store_result make_directory(const char *directory, const char *name,
                                           const struct ts_store_options *options,
                                           struct ts_store_error *ret_error) {
    char current[4096];
    if (!join(directory, "CURRENT", current))
        return cannot(name, "use the directory", ENAMETOOLONG, ret_error);
    /* RocksDB writes CURRENT last, so a directory with it is complete. */
    if (options->must_exist && access(current, F_OK) != 0)
        return store__error(ret_error, TS_STORE_BAD_CONFIGURATION, SIZE_MAX,
                            "%.120s: no store in this directory; check its name, or run 'store init'", name);
    if (mkdir(directory, 0700) == 0 || errno == EEXIST)
        return TS_STORE_OK;
    if (errno == ENOENT)
        return store__error(
            ret_error, TS_STORE_BAD_CONFIGURATION, SIZE_MAX,
            "%.120s: the parent directory does not exist; make it with mkdir -p, or correct the URL", name);
    return cannot(name, "make the directory", errno, ret_error);
}

/* Returns words for the process that holds the lock: "process 123", from the text in the lock file, or
 * "another process" if the text has no number. */
static const char *holder(int fd, char ret_text[static 32]) {
    char digits[16];
    ssize_t len = pread(fd, digits, sizeof digits, 0);
    uint32_t pid;
    if (len > 0 && digits[len - 1] == '\n' &&
        ts_u32_parse(ts_bytes_of(digits, (size_t)len - 1), &pid) == TS_NUMBER_OK)
        snprintf(ret_text, 32, "process %u", pid);
    else
        snprintf(ret_text, 32, "another process");
    return ret_text;
}

static enum ts_store_result wait_for_lock(int fd, const char *name, uint64_t wait_ms,
                                          struct ts_store_error *ret_error) {
    const uint64_t million = 1000000;
    uint64_t end_ns = ts_clock_monotonic_ns() + (wait_ms < UINT32_MAX ? wait_ms : UINT32_MAX) * million;
    while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return cannot(name, "lock the directory", errno, ret_error);
        uint64_t now_ns = ts_clock_monotonic_ns();
        char who[32];
        if (now_ns >= end_ns) {
            (void)store__error(ret_error, TS_STORE_BAD_CONFIGURATION, SIZE_MAX,
                               "%.120s: %s has the directory open; wait for it to end, or end it", name,
                               holder(fd, who));
            ret_error->in_use = true;
            return TS_STORE_BAD_CONFIGURATION;
        }
        uint64_t rest_ns = end_ns - now_ns, step_ns = 20 * million;
        const struct timespec pause = {.tv_nsec = (long)(rest_ns < step_ns ? rest_ns : step_ns)};
        (void)nanosleep(&pause, NULL);
    }
    return TS_STORE_OK;
}

static enum ts_store_result lock_directory(const char *directory, const char *name, uint64_t wait_ms,
                                           int *ret_fd, struct ts_store_error *ret_error) {
    char path[4096];
    if (!join(directory, "turnstone.lock", path))
        return cannot(name, "use the directory", ENAMETOOLONG, ret_error);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return cannot(name, "make turnstone.lock in the directory", errno, ret_error);
    enum ts_store_result result = wait_for_lock(fd, name, wait_ms, ret_error);
    if (result != TS_STORE_OK) {
        close(fd);
        return result;
    }
    char pid[16];
    int len = snprintf(pid, sizeof pid, "%ld\n", (long)getpid());
    /* The file's text is only for messages, so a failure is ignored. If the disk is full, later writes will
     * fail. */
    if (ftruncate(fd, 0) == 0)
        (void)!pwrite(fd, pid, (size_t)len, 0);
    *ret_fd = fd;
    return TS_STORE_OK;
}

/* Returns the identity of a directory. A directory that is moved keeps its birth time and its inode. Its
 * device may change with each boot, so the device is not used. Unknown values are 0. */
static struct store__origin look_at(const char *directory) {
    const uint64_t billion = 1000000000;
    struct statx there = {0};
    if (statx(AT_FDCWD, directory, 0, STATX_INO | STATX_BTIME, &there) != 0)
        return (struct store__origin){0};
    bool has_time = (there.stx_mask & STATX_BTIME) != 0 && there.stx_btime.tv_sec > 0;
    return (struct store__origin){
        .born_ns = has_time ? (uint64_t)there.stx_btime.tv_sec * billion + there.stx_btime.tv_nsec : 0,
        .inode = (there.stx_mask & STATX_INO) != 0 ? there.stx_ino : 0};
}

/* RocksDB writes when it opens: a manifest, a log, and the contents of old logs as tables. */
#define ROOM_TO_OPEN (UINT64_C(1) << 20)

/* Returns the size of the directory's logs. A log that cannot be read counts as 0. */
static uint64_t log_bytes(const char *directory) {
    const struct ts_bytes end = TS_BYTES(".log");
    uint64_t bytes = 0;
    DIR *listing = opendir(directory);
    for (struct dirent *entry; listing != NULL && (entry = readdir(listing)) != NULL;) {
        struct stat status;
        size_t len = strlen(entry->d_name);
        if (len > end.len && memcmp(entry->d_name + len - end.len, end.data, end.len) == 0 &&
            fstatat(dirfd(listing), entry->d_name, &status, 0) == 0)
            bytes += (uint64_t)status.st_size;
    }
    if (listing != NULL)
        closedir(listing);
    return bytes;
}

/* Checks that the disk has room to open the database. If the disk becomes full while RocksDB opens, an
 * assertion of Debian's build ends the process. */
static enum ts_store_result check_room(const char *directory, const char *name,
                                       struct ts_store_error *ret_error) {
    struct statvfs disk;
    uint64_t needed = ROOM_TO_OPEN + log_bytes(directory);
    if (statvfs(directory, &disk) != 0 || (uint64_t)disk.f_bavail * disk.f_frsize >= needed)
        return TS_STORE_OK;
    return store__error(ret_error, TS_STORE_FULL, SIZE_MAX,
                        "%.120s: the disk is full; make room for %llu MiB, which opening the store needs",
                        name, (unsigned long long)((needed + (UINT64_C(1) << 20) - 1) >> 20));
}

/* Makes the options for small synced writes and a few large values, because a store holds records of
 * coordination, not bulk data. */
static rocksdb_options_t *make_options(void) {
    rocksdb_options_t *options = rocksdb_options_create();
    rocksdb_options_set_create_if_missing(options, 1);
    rocksdb_options_set_paranoid_checks(options, 1);
    /* By default, RocksDB reads a log as far as it can. Then one bad byte in the middle would silently drop
     * every synced write after it, and parts of transactions. Here only an incomplete last record is ignored;
     * everything else is damage. */
    rocksdb_options_set_wal_recovery_mode(options, rocksdb_tolerate_corrupted_tail_records_recovery);
    rocksdb_options_set_max_background_jobs(options, 4);
    /* The thread that syncs the writes of a group also inserts them into the memtable. Otherwise every thread
     * is woken to insert its few hundred bytes, waits for the other threads, and is woken again. With more
     * threads than cores, that costs a third of the throughput. */
    rocksdb_options_set_allow_concurrent_memtable_write(options, 0);
    rocksdb_options_set_write_buffer_size(options, (size_t)64 << 20);
    rocksdb_options_set_max_write_buffer_number(options, 4);
    rocksdb_options_set_max_total_wal_size(options, (uint64_t)256 << 20);
    rocksdb_options_set_max_open_files(options, 512);
    /* Keeps large values out of compaction. */
    rocksdb_options_set_enable_blob_files(options, 1);
    rocksdb_options_set_min_blob_size(options, (uint64_t)128 << 10);
    rocksdb_options_set_enable_blob_gc(options, 1);
    /* RocksDB's own log has only warnings, in a few small files. */
    const int warnings = 2;
    rocksdb_options_set_info_log_level(options, warnings);
    rocksdb_options_set_keep_log_file_num(options, 4);
    rocksdb_options_set_max_log_file_size(options, (size_t)4 << 20);
    rocksdb_block_based_table_options_t *table = rocksdb_block_based_options_create();
    rocksdb_block_based_options_set_filter_policy(table, rocksdb_filterpolicy_create_bloom_full(10));
    rocksdb_cache_t *cache = rocksdb_cache_create_lru((size_t)64 << 20);
    rocksdb_block_based_options_set_block_cache(table, cache);
    rocksdb_options_set_block_based_table_factory(options, table);
    rocksdb_cache_destroy(cache);
    rocksdb_block_based_options_destroy(table);
    return options;
}

static struct rocksdb__backend *new_backend(const char *name) {
    struct rocksdb__backend *backend = calloc(1, sizeof *backend);
    if (backend == NULL)
        return NULL;
    backend->head.ops = &rocksdb__ops;
    backend->lock_fd = -1;
    snprintf(backend->name, sizeof backend->name, "%s", name);
    backend->options = make_options();
    backend->read_latest = rocksdb_readoptions_create();
    backend->synced = rocksdb_writeoptions_create();
    backend->unsynced = rocksdb_writeoptions_create();
    rocksdb_writeoptions_set_sync(backend->synced, 1);
    rocksdb_writeoptions_set_no_slowdown(backend->synced, 1);
    rocksdb_writeoptions_set_no_slowdown(backend->unsynced, 1);
    return backend;
}

static enum ts_store_result mark_as_ours(struct rocksdb__backend *backend, struct ts_store_error *ret_error) {
    rocksdb_iterator_t *iterator = rocksdb_create_iterator(backend->database, backend->read_latest);
    rocksdb_iter_seek_to_first(iterator);
    bool empty = !rocksdb_iter_valid(iterator);
    rocksdb_iter_destroy(iterator);
    if (!empty)
        return store__error(
            ret_error, TS_STORE_BAD_CONFIGURATION, SIZE_MAX,
            "%.120s: the directory has a RocksDB database of another program; use another directory",
            backend->name);
    struct store__write write = {.space = STORE_SPACE_FORMAT, .body = ts_bytes_of(owner, sizeof owner - 1)};
    store__record_seal(&write, ROCKSDB_FORMAT);
    return rocksdb__ops.write(&backend->head, &write, 1, (struct store__write_options){.sync = true},
                              ret_error);
}

static enum ts_store_result check_format(struct rocksdb__backend *backend, struct ts_store_error *ret_error) {
    struct store__held held = {0};
    enum ts_store_result result =
        rocksdb__ops.get(&backend->head, NULL, STORE_SPACE_FORMAT, no_key, &held, ret_error);
    if (result != TS_STORE_OK)
        return result;
    if (held.handle == NULL)
        return mark_as_ours(backend, ret_error);
    struct store__record record;
    if (!store__record_open(STORE_SPACE_FORMAT, no_key, held.stored, &record) ||
        !ts_bytes_equal(record.body, ts_bytes_of(owner, sizeof owner - 1)))
        result = store__error(ret_error, TS_STORE_DAMAGED, SIZE_MAX,
                              "%.120s: the record of the format is damaged; restore the store from a backup",
                              backend->name);
    else if (record.number != ROCKSDB_FORMAT)
        result = store__error(
            ret_error, TS_STORE_BAD_CONFIGURATION, SIZE_MAX,
            "%.100s: the store has format %llu, and this program reads format %d; use %s program",
            backend->name, (unsigned long long)record.number, ROCKSDB_FORMAT,
            record.number > ROCKSDB_FORMAT ? "a newer" : "an older");
    rocksdb__ops.let_go(&backend->head, &held);
    return result;
}

static enum ts_store_result open_backend(struct rocksdb__backend *backend, const char *directory,
                                         const struct ts_store_options *options,
                                         struct ts_store_error *ret_error) {
    enum ts_store_result result = make_directory(directory, backend->name, options, ret_error);
    if (result == TS_STORE_OK)
        result = lock_directory(directory, backend->name, options->wait_ms, &backend->lock_fd, ret_error);
    if (result == TS_STORE_OK)
        result = check_room(directory, backend->name, ret_error);
    if (result != TS_STORE_OK)
        return result;
    backend->origin = look_at(directory);
    char *message = NULL;
    backend->database = rocksdb_open(backend->options, directory, &message);
    if (message != NULL)
        return rocksdb__error(backend->name, ROCKSDB_OPENS, message, ret_error);
    return check_format(backend, ret_error);
}

static void free_local(void *local) {
    store__local_keep_time(local);
    store__local_free(local);
}

enum ts_store_result store__rocksdb_open(const char *directory, const char *name,
                                         const struct ts_store_options *options, struct ts_store **ret_store,
                                         struct ts_store_error *ret_error) {
    enum ts_store_result result = store__library_load(&store__rocksdb_library, name, ret_error);
    if (result != TS_STORE_OK)
        return result;
    struct rocksdb__backend *backend = new_backend(name);
    if (backend == NULL)
        return store__error(ret_error, TS_STORE_FAILED, SIZE_MAX, "%.120s: out of memory", name);
    result = open_backend(backend, directory, options, ret_error);
    if (result != TS_STORE_OK) {
        rocksdb__ops.close(&backend->head);
        return result;
    }
    const struct ts_store_clock *clock = options->clock != NULL ? options->clock : &store__real_clock;
    struct store__local *local = NULL;
    result = store__local_new(&backend->head, clock, name, &local, ret_error);
    if (result != TS_STORE_OK)
        return result;
    if (options->now_ms != 0)
        result = store__local_fix_time(local, options->now_ms, ret_error);
    if (result != TS_STORE_OK) {
        store__local_free(local);
        return result;
    }
    struct ts_store *store = store__local_store_new(local, free_local, local);
    if (store == NULL) {
        store__local_free(local);
        return store__error(ret_error, TS_STORE_FAILED, SIZE_MAX, "%.120s: out of memory", name);
    }
    store->is_exclusive = true;
    *ret_store = store;
    return TS_STORE_OK;
}
