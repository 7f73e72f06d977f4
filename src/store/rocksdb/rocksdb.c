/*
 * RocksDB as a plain ordered map. The local core has the locks, versions and promises; here a batch is one
 * WriteBatch.
 *
 * A write holds no lock of ours, so that RocksDB can group the writes of many threads into one sync. The log
 * (WAL) is always on. There is one log in the order of the writes, so an unsynced write becomes durable with
 * the next synced one.
 *
 * When the log itself cannot be written, the store stops:
 *
 *     WRITING ──append fails─► STOPPED   the record is incomplete, and is ignored at the next open: FULL
 *         └─────sync fails───► STOPPED   the record is in the file, may be on the disk, and is not visible; it appears
 *                                        at the next open, unless RocksDB has started another log by then: UNKNOWN
 *
 * STOPPED: reads continue. Every further write is refused here, and is certainly not done, until the store is
 * opened again. Otherwise RocksDB would resume by itself, once the disk has room again, with a log that has
 * seen an error. Then its own assertions would end the process (7.8.3 as Debian builds it).
 */
#include "store/rocksdb/rocksdb.h"

#include "base/bytes.h"
#include "os/clock.h"
#include "rocksdb_late.h"

#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

/* How long a stalled write waits if the caller has no earlier deadline. After that, the store is busy. */
static const uint64_t stall_max_ns = 2000000000;

static bool begins(const char *message, const char *with) {
    return strncmp(message, with, strlen(with)) == 0;
}

static bool is_full(const char *message) {
    return strstr(message, "No space left on device") != NULL ||
           strstr(message, "Disk quota exceeded") != NULL;
}

/* Returns whether the message is about the write-ahead log, which RocksDB names in "While WHAT:
 * DIRECTORY/000004.log: WHY". */
static bool is_of_log(const char *message) {
    return begins(message, "IO error") && strstr(message, ".log: ") != NULL;
}

/* Makes the error of a failed call. The message is safe to show, because RocksDB's messages name files and
 * offsets, never keys or values. */
enum ts_store_result rocksdb__error(const char *name, enum rocksdb__purpose purpose, char *message,
                                    struct ts_store_error *ret_error) {
    enum ts_store_result result;
    bool appended = is_of_log(message) && strstr(message, "While appending") == NULL;
    if (is_full(message) && purpose == ROCKSDB_WRITES && appended)
        result = store__error(
            ret_error, TS_STORE_UNKNOWN, SIZE_MAX,
            "%.100s: the disk is full, and it is unknown whether the write was stored; make room and open "
            "the store again",
            name);
    else if (is_full(message))
        result = store__error(ret_error, TS_STORE_FULL, SIZE_MAX,
                              "%.100s: the disk is full; make room and open the store again", name);
    else if (begins(message, "Corruption"))
        result = store__error(ret_error, TS_STORE_DAMAGED, SIZE_MAX,
                              "%.80s: RocksDB finds its files damaged (%.80s); restore them from a backup",
                              name, message);
    else if (begins(message, "IO error") && purpose == ROCKSDB_WRITES)
        /* The write may nevertheless be in the log. Then it is visible when the store is opened again. */
        result = store__error(ret_error, TS_STORE_UNKNOWN, SIZE_MAX,
                              "%.80s: RocksDB cannot write (%.80s); check the disk and open the store "
                              "again",
                              name, message);
    else
        result =
            store__error(ret_error, purpose == ROCKSDB_OPENS ? TS_STORE_BAD_CONFIGURATION : TS_STORE_FAILED,
                         SIZE_MAX, "%.80s: RocksDB says: %.120s", name, message);
    rocksdb_free(message);
    return result;
}

/* A key as RocksDB stores it, with its space as the first byte. */
struct full_key {
    size_t len;
    char bytes[1 + TS_STORE_KEY_MAX];
};

/* Makes a key or a bound of a scan. A bound may be longer than any key; truncating it does not change which
 * keys are before it. */
static void make_key(enum store__space space, struct ts_bytes key, struct full_key *ret_key) {
    size_t len = key.len <= TS_STORE_KEY_MAX ? key.len : TS_STORE_KEY_MAX;
    ret_key->bytes[0] = (char)space;
    if (len > 0)
        memcpy(ret_key->bytes + 1, key.data, len);
    ret_key->len = len + 1;
}

struct view {
    const rocksdb_snapshot_t *snapshot;
    rocksdb_readoptions_t *options;
};

static void *view_open(struct store__backend *head) {
    struct rocksdb__backend *backend = (struct rocksdb__backend *)head;
    struct view *view = malloc(sizeof *view);
    if (view == NULL)
        return NULL;
    view->snapshot = rocksdb_create_snapshot(backend->database);
    view->options = rocksdb_readoptions_create();
    rocksdb_readoptions_set_snapshot(view->options, view->snapshot);
    return view;
}

static void view_close(struct store__backend *head, void *opened) {
    struct rocksdb__backend *backend = (struct rocksdb__backend *)head;
    struct view *view = opened;
    rocksdb_readoptions_destroy(view->options);
    rocksdb_release_snapshot(backend->database, view->snapshot);
    free(view);
}

static enum ts_store_result get(struct store__backend *head, void *view, enum store__space space,
                                struct ts_bytes key, struct store__held *ret_held,
                                struct ts_store_error *ret_error) {
    struct rocksdb__backend *backend = (struct rocksdb__backend *)head;
    struct full_key full;
    make_key(space, key, &full);
    char *message = NULL;
    rocksdb_pinnableslice_t *slice = rocksdb_get_pinned(
        backend->database, view != NULL ? ((struct view *)view)->options : backend->read_latest, full.bytes,
        full.len, &message);
    if (message != NULL)
        return rocksdb__error(backend->name, ROCKSDB_READS, message, ret_error);
    *ret_held = (struct store__held){.handle = slice};
    if (slice != NULL) {
        size_t len = 0;
        const char *bytes = rocksdb_pinnableslice_value(slice, &len);
        ret_held->stored = (struct ts_bytes){.data = (const uint8_t *)bytes, .len = len};
    }
    return TS_STORE_OK;
}

static void let_go(struct store__backend *head, struct store__held *held) {
    (void)head;
    if (held->handle != NULL)
        rocksdb_pinnableslice_destroy(held->handle);
    *held = (struct store__held){0};
}

/* Sets the key of an iterator without its space. Returns false at the end of the space. */
static bool key_at(const rocksdb_iterator_t *iterator, enum store__space space, struct ts_bytes *ret_key) {
    if (!rocksdb_iter_valid(iterator))
        return false;
    size_t len = 0;
    const char *key = rocksdb_iter_key(iterator, &len);
    if (len == 0 || key[0] != (char)space)
        return false;
    *ret_key = (struct ts_bytes){.data = (const uint8_t *)key + 1, .len = len - 1};
    return true;
}

/* The end of a scan, as a key of RocksDB. An end that is longer than any key is truncated to one byte more
 * than the longest key. The truncated end is after the same keys as the whole end. */
struct full_end {
    size_t len;
    char bytes[1 + TS_STORE_KEY_MAX + 1];
};

static void make_end(enum store__space space, struct ts_bytes to, struct full_end *ret_end) {
    const size_t len = to.len <= TS_STORE_KEY_MAX ? to.len : TS_STORE_KEY_MAX + 1;
    ret_end->bytes[0] = (char)(len > 0 ? space : space + 1);
    if (len > 0)
        memcpy(ret_end->bytes + 1, to.data, len);
    ret_end->len = len + 1;
}

/* Scans with an iterator, which is itself a snapshot. The iterator has an upper bound, so that it does not
 * visit deleted keys after the end. */
static enum ts_store_result scan(struct store__backend *head, enum store__space space, struct ts_bytes from,
                                 struct ts_bytes to,
                                 bool (*visit)(void *context, struct ts_bytes key, struct ts_bytes stored),
                                 void *context, struct ts_store_error *ret_error) {
    struct rocksdb__backend *backend = (struct rocksdb__backend *)head;
    struct full_key full;
    make_key(space, from, &full);
    struct full_end end;
    make_end(space, to, &end);
    rocksdb_readoptions_t *options = rocksdb_readoptions_create();
    rocksdb_readoptions_set_iterate_upper_bound(options, end.bytes, end.len);
    rocksdb_iterator_t *iterator = rocksdb_create_iterator(backend->database, options);
    rocksdb_iter_seek(iterator, full.bytes, full.len);
    struct ts_bytes key;
    for (bool more = true; more && key_at(iterator, space, &key);) {
        size_t len = 0;
        const char *stored = rocksdb_iter_value(iterator, &len);
        if (ts_bytes_compare(key, from) >= 0)
            more = visit(context, key, (struct ts_bytes){.data = (const uint8_t *)stored, .len = len});
        if (more)
            rocksdb_iter_next(iterator);
    }
    char *message = NULL;
    rocksdb_iter_get_error(iterator, &message);
    rocksdb_iter_destroy(iterator);
    rocksdb_readoptions_destroy(options);
    return message == NULL ? TS_STORE_OK : rocksdb__error(backend->name, ROCKSDB_READS, message, ret_error);
}

static rocksdb_writebatch_t *gather(const struct store__write *writes, size_t count) {
    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
    for (size_t i = 0; i < count; i++) {
        const struct store__write *write = &writes[i];
        const char space = (char)write->space;
        const char *const key_parts[] = {&space, write->key.len > 0 ? (const char *)write->key.data : ""};
        const size_t key_lens[] = {1, write->key.len};
        if (write->remove) {
            rocksdb_writebatch_deletev(batch, 2, key_parts, key_lens);
            continue;
        }
        const char *const parts[] = {(const char *)write->head,
                                     write->body.len > 0 ? (const char *)write->body.data : ""};
        const size_t lens[] = {STORE_RECORD_HEAD, write->body.len};
        rocksdb_writebatch_putv(batch, 2, key_parts, key_lens, 2, parts, lens);
    }
    return batch;
}

static bool is_stall(const char *message) {
    return message != NULL && strstr(message, "Write stall") != NULL;
}

/* Refuses a write after a failure of the log. RocksDB never sees this write. */
static enum ts_store_result refuse_stopped(const struct rocksdb__backend *backend, int stopped,
                                           struct ts_store_error *ret_error) {
    return store__error(ret_error, (enum ts_store_result)stopped, SIZE_MAX,
                        "%.100s: writes have stopped because %s; %s and open the store again", backend->name,
                        stopped == TS_STORE_FULL ? "the disk was full" : "its log could not be written",
                        stopped == TS_STORE_FULL ? "make room" : "check the disk");
}

static enum ts_store_result write_error(struct rocksdb__backend *backend, char *message,
                                        struct ts_store_error *ret_error) {
    if (is_of_log(message))
        atomic_store(&backend->stopped, is_full(message) ? TS_STORE_FULL : TS_STORE_FAILED);
    return rocksdb__error(backend->name, ROCKSDB_WRITES, message, ret_error);
}

/*
 * A disk that becomes full under RocksDB is the worst case. When the disk has room again, RocksDB continues
 * by itself with a log that it could not write, and an assertion of Debian's build ends the process. So new
 * writes are refused while this much room remains. Existing promises may use this room: their commits are not
 * synced, and skip this check.
 */
static const uint64_t room_kept = UINT64_C(16) << 20;
static const uint64_t look_every_ns = UINT64_C(20) * 1000000;

static bool has_room(struct rocksdb__backend *backend) {
    uint64_t now_ns = ts_clock_monotonic_ns();
    uint64_t seen_ns = atomic_load(&backend->room_seen_ns);
    if (now_ns - seen_ns >= look_every_ns &&
        atomic_compare_exchange_strong(&backend->room_seen_ns, &seen_ns, now_ns)) {
        struct statvfs disk;
        /* If statvfs fails, assume there is room. */
        bool is_short =
            fstatvfs(backend->lock_fd, &disk) == 0 && (uint64_t)disk.f_bavail * disk.f_frsize < room_kept;
        atomic_store(&backend->is_short, is_short);
    }
    return !atomic_load(&backend->is_short);
}

/*
 * Writes a batch. When RocksDB cannot keep up, writes do not wait inside RocksDB (no_slowdown). They wait
 * here, where the time is counted and the deadline is observed.
 */
static enum ts_store_result write_batch(struct store__backend *head, const struct store__write *writes,
                                        size_t count, struct store__write_options options,
                                        struct ts_store_error *ret_error) {
    struct rocksdb__backend *backend = (struct rocksdb__backend *)head;
    const rocksdb_writeoptions_t *how = options.sync ? backend->synced : backend->unsynced;
    int stopped = atomic_load(&backend->stopped);
    if (stopped != TS_STORE_OK)
        return refuse_stopped(backend, stopped, ret_error);
    if (options.sync && !has_room(backend))
        return store__error(
            ret_error, TS_STORE_FULL, SIZE_MAX,
            "%.120s: the disk is full except for the last %u MiB, which are reserved for promises; make "
            "room",
            backend->name, (unsigned)(room_kept >> 20));
    rocksdb_writebatch_t *batch = gather(writes, count);
    char *message = NULL;
    rocksdb_write(backend->database, how, batch, &message);
    if (is_stall(message)) {
        uint64_t begin_ns = ts_clock_monotonic_ns(), now_ns = begin_ns, end_ns = begin_ns + stall_max_ns;
        if (options.give_up_ns != 0 && options.give_up_ns < end_ns)
            end_ns = options.give_up_ns;
        while (is_stall(message) && now_ns < end_ns) {
            rocksdb_free(message);
            message = NULL;
            const struct timespec pause = {.tv_nsec = 1000000};
            (void)nanosleep(&pause, NULL);
            rocksdb_write(backend->database, how, batch, &message);
            now_ns = ts_clock_monotonic_ns();
        }
        if (options.stall_us != NULL)
            *options.stall_us += (now_ns - begin_ns) / 1000;
    }
    rocksdb_writebatch_destroy(batch);
    if (is_stall(message)) {
        rocksdb_free(message);
        return store__error(ret_error, TS_STORE_BUSY, SIZE_MAX,
                            "%.120s: RocksDB cannot keep up with the writes; try again later", backend->name);
    }
    return message == NULL ? TS_STORE_OK : write_error(backend, message, ret_error);
}

static enum ts_store_result sync_log(struct store__backend *head, struct ts_store_error *ret_error) {
    struct rocksdb__backend *backend = (struct rocksdb__backend *)head;
    int stopped = atomic_load(&backend->stopped);
    if (stopped != TS_STORE_OK)
        return refuse_stopped(backend, stopped, ret_error);
    char *message = NULL;
    rocksdb_flush_wal(backend->database, 1, &message);
    return message == NULL ? TS_STORE_OK : write_error(backend, message, ret_error);
}

static struct store__origin origin(struct store__backend *head) {
    return ((struct rocksdb__backend *)head)->origin;
}

static void close_backend(struct store__backend *head) {
    struct rocksdb__backend *backend = (struct rocksdb__backend *)head;
    if (backend->database != NULL)
        rocksdb_close(backend->database);
    rocksdb_readoptions_destroy(backend->read_latest);
    rocksdb_writeoptions_destroy(backend->synced);
    rocksdb_writeoptions_destroy(backend->unsynced);
    rocksdb_options_destroy(backend->options);
    if (backend->lock_fd >= 0)
        close(backend->lock_fd);
    free(backend);
}

const struct store__backend_ops rocksdb__ops = {
    .view_open = view_open,
    .view_close = view_close,
    .get = get,
    .let_go = let_go,
    .scan = scan,
    .write = write_batch,
    .sync = sync_log,
    .origin = origin,
    .close = close_backend,
};
