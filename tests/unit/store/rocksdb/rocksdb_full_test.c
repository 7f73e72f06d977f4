/*
 * Simulates a full disk: RocksDB calls the write(2) and fdatasync(2) of this program, which fail on request.
 * This test runs everywhere, and reaches failures that are rare on a real disk.
 */
#include "store/cluster/open.h"
#include "store/rocksdb/rocksdb.h"

#include "simple.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* fdatasync fails for files with the suffix failing_sync, and write fails for files with the suffix
 * failing_write. If the suffix is NULL, the call succeeds. */
static _Atomic(const char *) failing_sync, failing_write;
static atomic_int failure, failures, log_calls;

static bool is_named(int fd, const char *end) {
    char link[40], name[500];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t len = readlink(link, name, sizeof name - 1);
    if (end == NULL || len < (ssize_t)strlen(end))
        return false;
    name[len] = '\0';
    return strcmp(name + len - (ssize_t)strlen(end), end) == 0;
}

static int fail_now(void) {
    failures++;
    errno = failure;
    return -1;
}

__attribute__((visibility("default"))) int fdatasync(int fd) {
    log_calls += is_named(fd, ".log");
    return is_named(fd, failing_sync) ? fail_now() : (int)syscall(SYS_fdatasync, fd);
}

/* The first write that fails still writes half of the bytes, because a full disk accepts the bytes that
 * fit. */
__attribute__((visibility("default"))) ssize_t write(int fd, const void *bytes, size_t len) {
    log_calls += is_named(fd, ".log");
    if (!is_named(fd, failing_write))
        return syscall(SYS_write, fd, bytes, len);
    if (failures > 0 || len < 2)
        return fail_now();
    failures++;
    return syscall(SYS_write, fd, bytes, len / 2);
}

static char directory[200], url[220];

static int fresh(void **state) {
    (void)state;
    const char *folder = getenv("TMPDIR");
    snprintf(directory, sizeof directory, "%s/rocksdb-XXXXXX", folder != NULL ? folder : "/tmp");
    snprintf(url, sizeof url, "rocksdb:%s", mkdtemp(directory));
    failures = 0;
    failure = ENOSPC;
    failing_sync = failing_write = NULL;
    return 0;
}

static int clean(void **state) {
    (void)state;
    failing_sync = failing_write = NULL;
    pid_t pid = fork();
    if (pid == 0) {
        execlp("rm", "rm", "-rf", "--", directory, (char *)NULL);
        _exit(127);
    }
    return waitpid(pid, NULL, 0) == pid ? 0 : 1;
}

static struct ts_store *must_open(void) {
    struct ts_store *store = NULL;
    struct ts_store_error error;
    if (ts_store_open(url, &(struct ts_store_options){0}, &store, &error) != TS_STORE_OK)
        fail_msg("%s", error.text);
    return store;
}

static struct ts_call put(struct ts_store *store, const struct ts_op *op) {
    struct ts_call call = simple_put_call(op);
    (void)ts_store_run(store, &call);
    return call;
}

/* Expects that every later write is refused and does not reach the log, although there is room again. */
static void expect_stopped(struct ts_store *store) {
    failing_sync = failing_write = NULL;
    int calls = log_calls;
    const struct ts_op op = simple_put("later", "1");
    struct ts_call call = put(store, &op);
    assert_int_equal(call.error.result, TS_STORE_FULL);
    assert_string_equal(call.error.sqlstate, "53100");
    assert_non_null(strstr(call.error.text, "open the store again"));
    assert_int_equal(simple_prepare(store, "gid", "promised", "1"), TS_STORE_FULL);
    struct ts_call sync = {.kind = TS_CALL_SYNC};
    assert_int_equal(ts_store_run(store, &sync), TS_STORE_FULL);
    assert_int_equal(log_calls, calls);
    assert_true(simple_has(store, "before", "1"));
}

static void expect_open_again(struct ts_store *store) {
    assert_true(simple_has(store, "before", "1"));
    assert_true(simple_has(store, "later", NULL));
    assert_true(simple_has(store, "promised", NULL));
    assert_int_equal(simple_run_put(store, "later", "1"), TS_STORE_OK);
    ts_store_close(store);
}

/*
 * The maximum number of tries to find a record whose sync failed. Such a record is in the file, and usually
 * still exists at the next open, so it would be wrong to report that nothing was written. But RocksDB may
 * start a new log in the background and drop the old log, so it would also be wrong to report that the record
 * was written.
 */
enum { TRIES_MAX = 50 };

static struct ts_store *open_with_failing_sync(void) {
    struct ts_store *store = must_open();
    assert_int_equal(simple_run_put(store, "before", "1"), TS_STORE_OK);
    failures = 0;
    failing_sync = ".log";
    return store;
}

static void begin_anew(void) {
    assert_int_equal(clean(NULL), 0);
    assert_int_equal(fresh(NULL), 0);
}

static void a_disk_that_is_full_at_the_sync_leaves_the_write_unknown(void **state) {
    (void)state;
    bool turned_up = false;
    for (int i = 0; i < TRIES_MAX && !turned_up; i++) {
        begin_anew();
        struct ts_store *store = open_with_failing_sync();
        const struct ts_op op = simple_put("k", "1");
        struct ts_call call = put(store, &op);
        assert_int_equal(failures, 1);
        assert_int_equal(call.error.result, TS_STORE_UNKNOWN);
        assert_non_null(strstr(call.error.text, "the disk is full"));
        expect_stopped(store);
        ts_store_close(store);
        store = must_open();
        turned_up = simple_has(store, "k", "1");
        assert_true(turned_up || simple_has(store, "k", NULL));
        expect_open_again(store);
        store = must_open();
        assert_true(simple_has(store, "k", turned_up ? "1" : NULL));
        ts_store_close(store);
    }
    assert_true(turned_up);
}

static void a_promise_that_could_not_be_synced_is_unknown_and_may_turn_up(void **state) {
    (void)state;
    bool turned_up = false;
    for (int i = 0; i < TRIES_MAX && !turned_up; i++) {
        begin_anew();
        struct ts_store *store = open_with_failing_sync();
        assert_int_equal(simple_prepare(store, "mine", "k", "1"), TS_STORE_UNKNOWN);
        expect_stopped(store);
        ts_store_close(store);
        store = must_open();
        enum ts_store_result result = simple_finish(store, TS_CALL_COMMIT, "mine");
        turned_up = result == TS_STORE_OK;
        assert_true(turned_up || result == TS_STORE_NO_SUCH_PROMISE);
        assert_true(simple_has(store, "k", turned_up ? "1" : NULL));
        expect_open_again(store);
    }
    assert_true(turned_up);
}

/* A part of the record is in the file, and is ignored at the next open. The test writes small records, and
 * records that take several writes. */
static void a_disk_that_is_full_at_the_write_leaves_nothing(void **state) {
    (void)state;
    for (size_t len = 10; len <= 1000000; len *= 100) {
        char *value = malloc(len + 1);
        assert_non_null(value);
        memset(value, 'x', len);
        value[len] = '\0';
        struct ts_store *store = must_open();
        assert_int_equal(simple_run_put(store, "before", "1"), TS_STORE_OK);
        failures = 0;
        failing_write = ".log";
        const struct ts_op op = simple_put("k", value);
        struct ts_call call = put(store, &op);
        free(value);
        assert_true(failures > 1);
        assert_int_equal(call.error.result, TS_STORE_FULL);
        expect_stopped(store);
        ts_store_close(store);
        store = must_open();
        assert_true(simple_has(store, "k", NULL));
        expect_open_again(store);
        (void)clean(NULL);
        (void)fresh(NULL);
    }
}

static void a_disk_that_fails_otherwise_stops_the_store_too(void **state) {
    (void)state;
    struct ts_store *store = must_open();
    failure = EIO;
    failing_sync = ".log";
    assert_int_equal(simple_run_put(store, "k", "1"), TS_STORE_UNKNOWN);
    failing_sync = NULL;
    assert_int_equal(simple_run_put(store, "k", "2"), TS_STORE_FAILED);
    ts_store_close(store);
    store = must_open();
    assert_false(simple_has(store, "k", "2"));
    assert_int_equal(simple_run_put(store, "k", "3"), TS_STORE_OK);
    ts_store_close(store);
}

int main(void) {
#define TEST(function) cmocka_unit_test_setup_teardown(function, fresh, clean)
    const struct CMUnitTest tests[] = {
        TEST(a_disk_that_is_full_at_the_sync_leaves_the_write_unknown),
        TEST(a_promise_that_could_not_be_synced_is_unknown_and_may_turn_up),
        TEST(a_disk_that_is_full_at_the_write_leaves_nothing),
        TEST(a_disk_that_fails_otherwise_stops_the_store_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
