#include "store/cluster/open.h"
#include "store/rocksdb/rocksdb.h"

#include "os/clock.h"
#include "simple.h"
#include "store/local/local.h"

#include <fcntl.h>
#include <glob.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char directory[200];
static char url[220];
static const struct ts_store_options plain = {0};

static int fresh(void **state) {
    (void)state;
    const char *folder = getenv("TMPDIR");
    snprintf(directory, sizeof directory, "%s/rocksdb-XXXXXX", folder != NULL ? folder : "/tmp");
    if (mkdtemp(directory) == NULL)
        return 1;
    snprintf(url, sizeof url, "rocksdb:%s", directory);
    return 0;
}

static void run(const char *program, const char *option, const char *argument) {
    pid_t pid = fork();
    if (pid == 0) {
        execlp(program, program, option, "--", argument, (char *)NULL);
        _exit(127);
    }
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static int clean(void **state) {
    (void)state;
    run("rm", "-rf", directory);
    return 0;
}

static struct ts_store *must_open(const struct ts_store_options *options) {
    struct ts_store *store = NULL;
    struct ts_store_error error;
    if (ts_store_open(url, options, &store, &error) != TS_STORE_OK)
        fail_msg("%s", error.text);
    return store;
}

static enum ts_store_result try_open(const struct ts_store_options *options,
                                     struct ts_store_error *ret_error) {
    struct ts_store *store = NULL;
    enum ts_store_result result = ts_store_open(url, options, &store, ret_error);
    ts_store_close(store);
    return result;
}

/* Changes the stored bytes directly in the database. */
static void write_raw(const char *key, size_t key_len, const void *value, size_t value_len) {
    char *message = NULL;
    rocksdb_options_t *options = rocksdb_options_create();
    rocksdb_options_set_create_if_missing(options, 1);
    rocksdb_t *database = rocksdb_open(options, directory, &message);
    assert_null(message);
    rocksdb_writeoptions_t *how = rocksdb_writeoptions_create();
    rocksdb_put(database, how, key, key_len, value, value_len, &message);
    assert_null(message);
    rocksdb_writeoptions_destroy(how);
    rocksdb_close(database);
    rocksdb_options_destroy(options);
}

/* A child process that has the directory open until it is killed. */
struct holder {
    pid_t pid;
    int said;
};

static struct holder hold_in_child(void) {
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        execl("/proc/self/exe", "rocksdb_test", "--hold", url, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    char c;
    assert_int_equal(read(ends[0], &c, 1), 1);
    return (struct holder){.pid = pid, .said = ends[0]};
}

static void end_holder(const struct holder *holder) {
    kill(holder->pid, SIGKILL);
    assert_int_equal(waitpid(holder->pid, NULL, 0), holder->pid);
    close(holder->said);
}

static int hold(const char *of) {
    struct ts_store *store = NULL;
    struct ts_store_error error;
    if (ts_store_open(of, &plain, &store, &error) != TS_STORE_OK)
        return 1;
    if (write(STDOUT_FILENO, "!", 1) != 1)
        return 1;
    for (;;)
        pause();
}

static void a_directory_of_another_process_is_refused_by_name(void **state) {
    (void)state;
    struct holder holder = hold_in_child();
    struct ts_store_error error;
    assert_int_equal(try_open(&plain, &error), TS_STORE_BAD_CONFIGURATION);
    char who[32];
    snprintf(who, sizeof who, "process %ld", (long)holder.pid);
    assert_non_null(strstr(error.text, directory));
    assert_non_null(strstr(error.text, who));
    assert_true(error.in_use);
    assert_null(strstr(error.text, "--"));
    end_holder(&holder);
    assert_int_equal(try_open(&plain, &error), TS_STORE_OK);
}

static void *end_soon(void *holder) {
    const struct timespec pause_for = {.tv_nsec = 100000000};
    nanosleep(&pause_for, NULL);
    end_holder(holder);
    return NULL;
}

static void a_directory_of_another_process_is_waited_for(void **state) {
    (void)state;
    struct holder holder = hold_in_child();
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, end_soon, &holder), 0);
    struct ts_store_error error = {0};
    enum ts_store_result result = try_open(&(const struct ts_store_options){.wait_ms = 60000}, &error);
    pthread_join(thread, NULL);
    if (result != TS_STORE_OK)
        fail_msg("%s", error.text);
}

static void a_directory_is_open_once_in_a_process_too(void **state) {
    (void)state;
    struct ts_store *store = must_open(&plain);
    struct ts_store_error error;
    assert_int_equal(try_open(&plain, &error), TS_STORE_BAD_CONFIGURATION);
    assert_int_equal(try_open(&(const struct ts_store_options){.wait_ms = 30}, &error),
                     TS_STORE_BAD_CONFIGURATION);
    /* The store that is already open is not affected. */
    assert_int_equal(simple_run_put(store, "k", "1"), TS_STORE_OK);
    ts_store_close(store);
}

static void a_store_that_must_exist_is_not_made(void **state) {
    (void)state;
    struct ts_store_error error;
    const struct ts_store_options options = {.must_exist = true};
    assert_int_equal(try_open(&options, &error), TS_STORE_BAD_CONFIGURATION);
    assert_non_null(strstr(error.text, "store init"));
    char lock[256];
    snprintf(lock, sizeof lock, "%s/turnstone.lock", directory);
    assert_int_not_equal(access(lock, F_OK), 0);
    assert_int_equal(try_open(&plain, &error), TS_STORE_OK);
    assert_int_equal(try_open(&options, &error), TS_STORE_OK);
}

static void a_directory_that_cannot_be_made_is_reported(void **state) {
    (void)state;
    struct ts_store *store = NULL;
    struct ts_store_error error;
    char deep[260];
    snprintf(deep, sizeof deep, "rocksdb:%s/not/there", directory);
    assert_int_equal(ts_store_open(deep, &plain, &store, &error), TS_STORE_BAD_CONFIGURATION);
    assert_non_null(strstr(error.text, "make it with mkdir -p"));
}

static void a_database_of_another_program_is_left_alone(void **state) {
    (void)state;
    write_raw("their key", 9, "their value", 11);
    struct ts_store_error error;
    assert_int_equal(try_open(&plain, &error), TS_STORE_BAD_CONFIGURATION);
    assert_non_null(strstr(error.text, "another program"));
}

static void write_format(uint64_t format) {
    static const char owner[] = "turnstone store";
    struct store__write write = {.space = STORE_SPACE_FORMAT, .body = ts_bytes_of(owner, sizeof owner - 1)};
    store__record_seal(&write, format);
    uint8_t stored[STORE_RECORD_HEAD + sizeof owner - 1];
    memcpy(stored, write.head, STORE_RECORD_HEAD);
    memcpy(stored + STORE_RECORD_HEAD, owner, sizeof owner - 1);
    write_raw("f", 1, stored, sizeof stored);
}

static void other_formats_are_refused(void **state) {
    (void)state;
    struct ts_store_error error;
    assert_int_equal(try_open(&plain, &error), TS_STORE_OK);
    write_format(ROCKSDB_FORMAT + 1);
    assert_int_equal(try_open(&plain, &error), TS_STORE_BAD_CONFIGURATION);
    assert_non_null(strstr(error.text, "a newer program"));
    write_format(0);
    assert_int_equal(try_open(&plain, &error), TS_STORE_BAD_CONFIGURATION);
    assert_non_null(strstr(error.text, "an older program"));
    write_raw("f", 1, "nonsense", 8);
    assert_int_equal(try_open(&plain, &error), TS_STORE_DAMAGED);
    write_format(ROCKSDB_FORMAT);
    assert_int_equal(try_open(&plain, &error), TS_STORE_OK);
}

static void damaged_records_are_never_used(void **state) {
    (void)state;
    struct ts_store *store = must_open(&plain);
    assert_int_equal(simple_run_put(store, "k", "value"), TS_STORE_OK);
    ts_store_close(store);
    write_raw("dk", 2, "0123456789abcdeftampered", 24);
    store = must_open(&plain);
    struct ts_rows rows = {0};
    const struct ts_bytes keys[] = {TS_BYTES("k")};
    struct ts_call read = {.kind = TS_CALL_READ, .keys = keys, .key_count = 1, .rows = &rows};
    assert_int_equal(ts_store_run(store, &read), TS_STORE_DAMAGED);
    assert_null(strstr(read.error.text, "tampered"));
    ts_rows_release(&rows);
    ts_store_close(store);
}

static void a_damaged_promise_counter_or_identity_stops_the_opening(void **state) {
    (void)state;
    static const char *const keys[] = {"pgid", "c", "m"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        struct ts_store_error error;
        assert_int_equal(try_open(&plain, &error), TS_STORE_OK);
        write_raw(keys[i], strlen(keys[i]), "0123456789abcdeftampered", 24);
        assert_int_equal(try_open(&plain, &error), TS_STORE_DAMAGED);
        assert_non_null(strstr(error.text, "backup"));
        clean(NULL);
        assert_int_equal(mkdir(directory, 0700), 0);
    }
}

enum { LOGGED_KEYS = 20 };

/* Puts keys that are only in the log. Opens the log file, and returns its descriptor and size. */
static int open_log_of_some_keys(off_t *ret_size) {
    struct ts_store *store = must_open(&plain);
    for (int i = 0; i < LOGGED_KEYS; i++) {
        char key[16];
        snprintf(key, sizeof key, "k%d", i);
        assert_int_equal(simple_run_put(store, key, "logged value"), TS_STORE_OK);
    }
    ts_store_close(store);
    char pattern[240];
    snprintf(pattern, sizeof pattern, "%s/*.log", directory);
    glob_t found;
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    int fd = open(found.gl_pathv[found.gl_pathc - 1], O_RDWR | O_CLOEXEC);
    globfree(&found);
    struct stat info;
    assert_int_equal(fstat(fd, &info), 0);
    assert_true(info.st_size > LOGGED_KEYS * 12);
    *ret_size = info.st_size;
    return fd;
}

/* Returns the number of keys that exist, from the first key on. Expects that all keys after the first absent
 * key are absent. */
static int count_logged_keys(void) {
    struct ts_store *store = must_open(&plain);
    int count = 0, total = 0;
    bool behind = false;
    for (int i = 0; i < LOGGED_KEYS; i++) {
        char key[16];
        snprintf(key, sizeof key, "k%d", i);
        bool there = simple_has(store, key, "logged value");
        behind = behind || !there;
        count += !behind;
        total += there;
    }
    ts_store_close(store);
    assert_int_equal(count, total);
    return count;
}

static void a_bad_byte_in_the_middle_of_the_log_is_damage(void **state) {
    (void)state;
    off_t size;
    int fd = open_log_of_some_keys(&size);
    uint8_t byte;
    assert_int_equal(pread(fd, &byte, 1, size / 2), 1);
    byte ^= 0x10;
    assert_int_equal(pwrite(fd, &byte, 1, size / 2), 1);
    struct ts_store_error error;
    assert_int_equal(try_open(&plain, &error), TS_STORE_DAMAGED);
    assert_non_null(strstr(error.text, "backup"));
    /* The failed attempts removed nothing: after the repair, everything exists. */
    byte ^= 0x10;
    assert_int_equal(pwrite(fd, &byte, 1, size / 2), 1);
    close(fd);
    assert_int_equal(count_logged_keys(), LOGGED_KEYS);
}

/* The log ends with an incomplete write, as after a crash before the store acknowledged the write. */
static void a_log_whose_tail_is_cut_opens_with_all_before(void **state) {
    (void)state;
    off_t size;
    int fd = open_log_of_some_keys(&size);
    assert_int_equal(ftruncate(fd, size - 3), 0);
    close(fd);
    int count = count_logged_keys();
    assert_in_range(count, LOGGED_KEYS - 1, LOGGED_KEYS);
    assert_int_equal(count_logged_keys(), count);
}

/* The log ends with zeros, as on a file system that had extended the file and not written it yet. */
static void a_log_with_trailing_zeros_opens_completely(void **state) {
    (void)state;
    off_t size;
    int fd = open_log_of_some_keys(&size);
    assert_int_equal(ftruncate(fd, size + 70000), 0);
    close(fd);
    assert_int_equal(count_logged_keys(), LOGGED_KEYS);
}

static void set_option(rocksdb_t *database, const char *name, const char *value) {
    char *message = NULL;
    const char *const names[] = {name}, *const values[] = {value};
    rocksdb_set_options(database, 1, names, values, &message);
    if (message != NULL)
        fail_msg("%s", message);
}

/* Puts one file on the first level, and lets one file there stop all writes. Then RocksDB accepts no more
 * writes, and compacts nothing. */
static void stop_writes(rocksdb_t *database) {
    set_option(database, "level0_stop_writes_trigger", "1000");
    set_option(database, "level0_slowdown_writes_trigger", "1000");
    set_option(database, "level0_file_num_compaction_trigger", "1000");
    set_option(database, "level0_stop_writes_trigger", "1");
    char *message = NULL;
    rocksdb_flushoptions_t *how = rocksdb_flushoptions_create();
    rocksdb_flushoptions_set_wait(how, 1);
    rocksdb_flush(database, how, &message);
    rocksdb_flushoptions_destroy(how);
    assert_null(message);
}

static void a_stalled_write_is_busy_at_its_deadline_and_reported(void **state) {
    (void)state;
    struct ts_store *store = must_open(&plain);
    struct store__local *local = ((struct store__local_store *)store)->local;
    rocksdb_t *database = ((struct rocksdb__backend *)local->backend)->database;
    assert_int_equal(simple_run_put(store, "k", "1"), TS_STORE_OK);
    stop_writes(database);
    const struct ts_op op = simple_put("k", "2");
    struct ts_call call = simple_put_call(&op);
    call.deadline_ns = ts_clock_monotonic_ns() + 50000000;
    assert_int_equal(ts_store_run(store, &call), TS_STORE_BUSY);
    assert_string_equal(call.error.sqlstate, "53300");
    assert_true(call.stall_us >= 40000);
    assert_true(simple_has(store, "k", "1"));
    set_option(database, "level0_stop_writes_trigger", "1000");
    call.deadline_ns = 0;
    assert_int_equal(ts_store_run(store, &call), TS_STORE_OK);
    assert_true(simple_has(store, "k", "2"));
    ts_store_close(store);
}

/* Mounts a small file system. If that is not possible, only rocksdb_full_test tests a full disk. */
static void a_full_disk_is_reported_and_loses_nothing(void **state) {
    (void)state;
    if (mount("none", directory, "tmpfs", 0, "size=24m") != 0)
        skip();
    struct ts_store *store = must_open(&plain);
    const size_t len = (size_t)1 << 20;
    char *value = malloc(len + 1);
    assert_non_null(value);
    memset(value, 'x', len);
    value[len] = '\0';
    int written = 0;
    enum ts_store_result result = TS_STORE_OK;
    char key[16];
    while (result == TS_STORE_OK && written < 100) {
        snprintf(key, sizeof key, "k%d", written);
        result = simple_run_put(store, key, value);
        written += result == TS_STORE_OK;
    }
    bool told = result == TS_STORE_FULL;
    bool there = told && simple_has(store, "k0", value) && !simple_has(store, key, value);
    ts_store_close(store);
    /* With more room, everything that was acknowledged exists. */
    bool grown = mount("none", directory, "tmpfs", MS_REMOUNT, "size=200m") == 0;
    if (grown) {
        store = must_open(&plain);
        for (int i = 0; i < written; i++) {
            snprintf(key, sizeof key, "k%d", i);
            there = there && simple_has(store, key, value);
        }
        there = there && simple_run_put(store, "after", "1") == TS_STORE_OK;
        ts_store_close(store);
    }
    free(value);
    assert_int_equal(umount(directory), 0);
    assert_int_equal(result, TS_STORE_FULL);
    assert_true(grown && told && there && written > 0);
}

static uint64_t now_of(struct ts_store *store) {
    struct ts_call call = {.kind = TS_CALL_NOW};
    assert_int_equal(ts_store_run(store, &call), TS_STORE_OK);
    return call.time_ms;
}

static void write_something(struct ts_store *store) {
    const struct ts_op put = {.kind = TS_OP_PUT, .key = TS_BYTES("k"), .value = TS_BYTES("v")};
    struct ts_call call = {.kind = TS_CALL_APPLY, .batch = {&put, 1}};
    assert_int_equal(ts_store_run(store, &call), TS_STORE_OK);
}

static void a_fixed_time_that_was_only_looked_at_does_not_last(void **state) {
    (void)state;
    const struct ts_store_options at_5000 = {.now_ms = 5000}, at_4999 = {.now_ms = 4999};
    struct ts_store *store = must_open(&at_5000);
    assert_int_equal(now_of(store), 5000);
    ts_store_close(store);
    store = must_open(&at_4999);
    assert_int_equal(now_of(store), 4999);
    ts_store_close(store);
}

static void a_fixed_is_clock_frozen_and_is_never_earlier_than_before(void **state) {
    (void)state;
    const struct ts_store_options at_5000 = {.now_ms = 5000}, at_4999 = {.now_ms = 4999};
    struct ts_store *store = must_open(&at_5000);
    assert_int_equal(now_of(store), 5000);
    write_something(store);
    ts_store_close(store);
    struct ts_store_error error;
    assert_int_equal(try_open(&at_4999, &error), TS_STORE_BAD_USAGE);
    assert_non_null(strstr(error.text, "4999"));
    store = must_open(&at_5000);
    assert_int_equal(now_of(store), 5000);
    ts_store_close(store);

    /* A store that was open at the real time cannot be opened at an earlier frozen time. */
    store = must_open(&plain);
    const uint64_t real_ms = now_of(store);
    ts_store_close(store);
    assert_int_equal(try_open(&at_5000, &error), TS_STORE_BAD_USAGE);
    const struct ts_store_options later = {.now_ms = real_ms + 1000000};
    store = must_open(&later);
    write_something(store);
    ts_store_close(store);
    store = must_open(&plain);
    assert_int_equal(now_of(store), real_ms + 1000000);
    ts_store_close(store);
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "--hold") == 0)
        return hold(argv[2]);
#define TEST(function) cmocka_unit_test_setup_teardown(function, fresh, clean)
    const struct CMUnitTest tests[] = {
        TEST(a_directory_of_another_process_is_refused_by_name),
        TEST(a_directory_of_another_process_is_waited_for),
        TEST(a_directory_is_open_once_in_a_process_too),
        TEST(a_store_that_must_exist_is_not_made),
        TEST(a_directory_that_cannot_be_made_is_reported),
        TEST(a_database_of_another_program_is_left_alone),
        TEST(other_formats_are_refused),
        TEST(damaged_records_are_never_used),
        TEST(a_damaged_promise_counter_or_identity_stops_the_opening),
        TEST(a_bad_byte_in_the_middle_of_the_log_is_damage),
        TEST(a_log_whose_tail_is_cut_opens_with_all_before),
        TEST(a_log_with_trailing_zeros_opens_completely),
        TEST(a_fixed_time_that_was_only_looked_at_does_not_last),
        TEST(a_fixed_is_clock_frozen_and_is_never_earlier_than_before),
        TEST(a_stalled_write_is_busy_at_its_deadline_and_reported),
        TEST(a_full_disk_is_reported_and_loses_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
