/* Tests stores in real directories, which are opened by processes that are killed. */
#include "meet.h"

#include "simple.h"
#include "store/cluster/cluster.h"
#include "store/cluster/open.h"
#include "store/contract/past.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STORES = 3 };

static char folder[] = "/tmp/turnstone-meet-XXXXXX";

static void url_of(size_t place, char ret_url[static 64]) {
    snprintf(ret_url, 64, "rocksdb:%s/%zu", folder, place);
}

static void open_store(size_t place, struct ts_store **ret_store) {
    char url[64];
    struct ts_store_error error;
    url_of(place, url);
    if (ts_store_open(url, &(struct ts_store_options){.wait_ms = 10000}, ret_store, &error) != TS_STORE_OK)
        fail_msg("%s", error.text);
}

static int fresh(void **state) {
    (void)state;
    memcpy(folder + strlen(folder) - 6, "XXXXXX", 6);
    assert_non_null(mkdtemp(folder));
    return 0;
}

static int gone(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command); /* NOLINT(cert-env33-c) */
}

/* The stores of a dying process make this number of writes in total. The next write kills the process. */
static int writes_left;

struct dying {
    struct ts_store head;
    struct ts_store *inside;
};

static enum ts_store_result read_inside(struct ts_store *store, struct store__past *ret_past,
                                        struct ts_store_error *ret_error) {
    return store__past_read(((struct dying *)store)->inside, ret_past, ret_error);
}

static enum ts_store_result write_or_die(struct ts_store *store, const struct store__past *past, bool sync,
                                         struct ts_store_error *ret_error) {
    if (writes_left-- == 0)
        (void)kill(getpid(), SIGKILL);
    return store__past_write(((struct dying *)store)->inside, past, sync, ret_error);
}

static const struct ts_engine dying_engine = {.past_read = read_inside, .past_write = write_or_die};

/* Opens all stores and lets them meet. Runs in a process that has executed this program again, because
 * RocksDB's threads do not survive a fork. */
static _Noreturn void be_dying(const char *writes) {
    struct dying dying[STORES];
    struct ts_store *stores[STORES];
    bool met[STORES] = {false};
    struct ts_store_error error;
    for (size_t i = 0; i < STORES; i++) {
        dying[i].head.engine = &dying_engine;
        open_store(i, &dying[i].inside);
        stores[i] = &dying[i].head;
    }
    writes_left = writes[0] - '0';
    _exit(store__meet(stores, STORES, met, &error) == TS_STORE_OK ? 0 : 1);
}

/* Lets the stores meet in a process that dies before the given write. Returns true if the process survived,
 * because it made fewer writes. */
static bool meet_and_die(int writes) {
    const char digit[] = {(char)('0' + writes), '\0'};
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)execl("/proc/self/exe", "meet_test", digit, folder, (char *)NULL);
        _exit(1);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    assert_true(killed || (WIFEXITED(status) && WEXITSTATUS(status) == 0));
    return !killed;
}

/* Opens stores and lets them meet. `order` says which stores are opened, in what order, and when they meet:
 * "0,12" opens 0 alone, then 1 and 2. */
static enum ts_store_result meet(const char *order) {
    struct ts_store *stores[STORES] = {NULL};
    bool met[STORES] = {false};
    struct ts_store_error error;
    enum ts_store_result result = TS_STORE_OK;
    for (const char *at = order; result == TS_STORE_OK && *at != '\0'; at++) {
        if (*at != ',')
            open_store((size_t)(*at - '0'), &stores[*at - '0']);
        if (at[1] == ',' || at[1] == '\0')
            result = store__meet(stores, STORES, met, &error);
    }
    for (size_t i = 0; i < STORES; i++)
        ts_store_close(stores[i]);
    return result;
}

static void a_process_that_dies_between_two_writes_leaves_stores_that_fit(void **state) {
    (void)state;
    assert_int_equal(meet("012"), TS_STORE_OK);
    int writes = 0;
    while (!meet_and_die(writes)) {
        /* The second process to die starts with the state that the first one has left. */
        (void)meet_and_die(writes);
        assert_int_equal(meet("012"), TS_STORE_OK);
        writes++;
    }
    assert_true(writes >= STORES);
}

static void stores_that_are_opened_later_meet_the_others(void **state) {
    (void)state;
    static const char *const orders[] = {"0,1,2", "2,1,0", "1", "02", "2", "1,02", "0", "012", "21"};
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++)
        assert_int_equal(meet(orders[i]), TS_STORE_OK);
}

static void copy_files(size_t place, const char *from, const char *to) {
    char command[256];
    snprintf(command, sizeof command, "mkdir -p %s/%zu%s && rm -f %s/%zu%s/* && cp -r %s/%zu%s/. %s/%zu%s/",
             folder, place, to, folder, place, to, folder, place, from, folder, place, to);
    assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c) */
}

/* If a store's files are older than its last meeting with another store, they do not match the other
 * store. */
static void an_older_copy_fits_none_that_it_was_open_with_since(void **state) {
    (void)state;
    for (size_t old = 0; old < STORES; old++) {
        assert_int_equal(meet("012"), TS_STORE_OK);
        copy_files(old, "", "-old");
        char pair[] = {(char)('0' + old), (char)('0' + (old + 1) % STORES), '\0'};
        assert_int_equal(meet(pair), TS_STORE_OK);
        copy_files(old, "", "-new");
        copy_files(old, "-old", "");
        assert_int_equal(meet(pair), TS_STORE_FOREIGN);
        assert_int_equal(meet("012"), TS_STORE_FOREIGN);
        char other[] = {(char)('0' + old), (char)('0' + (old + 2) % STORES), '\0'};
        assert_int_equal(meet(other), TS_STORE_OK); /* these stores have not met since the copy */
        copy_files(old, "-new", "");
        assert_int_equal(meet(pair), TS_STORE_OK);
        struct ts_store *stores[STORES];
        struct ts_store_error error;
        for (size_t i = 0; i < STORES; i++)
            open_store(i, &stores[i]);
        assert_int_equal(store__meet_anew(stores, STORES, &error), TS_STORE_OK);
        for (size_t i = 0; i < STORES; i++)
            ts_store_close(stores[i]);
    }
}

static void an_unknown_property_of_a_directory_is_no_difference(void **state) {
    (void)state;
    const struct store__origin first = {.born_ns = 7, .inode = 1}, nothing = {0};
    const struct store__origin same_time = {.born_ns = 7, .inode = 2},
                               other_time = {.born_ns = 8, .inode = 1};
    const struct store__origin no_time = {.inode = 1}, no_time_other = {.inode = 2};
    assert_true(store__origin_same(&first, &first));
    assert_true(store__origin_same(&first, &same_time));
    assert_false(store__origin_same(&first, &other_time));
    assert_true(store__origin_same(&first, &no_time));
    assert_true(store__origin_same(&no_time, &first));
    assert_false(store__origin_same(&first, &no_time_other));
    assert_true(store__origin_same(&nothing, &first) && store__origin_same(&first, &nothing));
}

static void the_remembered_past_is_read_as_it_was_written(void **state) {
    (void)state;
    static struct store__past past, again;
    static uint8_t bytes[STORE_PAST_ENCODED_MAX];
    for (size_t met = 0; met <= TS_CLUSTER_STORES_MAX; met += met == 0 ? 1 : 85) {
        memset(&past, 0, sizeof past);
        past.then = (struct store__origin){.born_ns = 5, .inode = 6};
        for (size_t i = 0; i < met; i++)
            past.meetings[i].last[i % STORE_MEETING_LEN] = 1;
        size_t len = store__past_encode(&past, bytes);
        memset(&again, 0xff, sizeof again);
        assert_true(store__past_decode(ts_bytes_of(bytes, len), &again));
        assert_memory_equal(&again.then, &past.then, sizeof past.then);
        assert_memory_equal(again.meetings, past.meetings, sizeof past.meetings);
        assert_false(store__past_decode(ts_bytes_of(bytes, len - 1), &again));
    }
}

int main(int count, char **arguments) {
    if (count == 3) {
        snprintf(folder, sizeof folder, "%s", arguments[2]);
        be_dying(arguments[1]);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_process_that_dies_between_two_writes_leaves_stores_that_fit, fresh,
                                        gone),
        cmocka_unit_test_setup_teardown(stores_that_are_opened_later_meet_the_others, fresh, gone),
        cmocka_unit_test_setup_teardown(an_older_copy_fits_none_that_it_was_open_with_since, fresh, gone),
        cmocka_unit_test(an_unknown_property_of_a_directory_is_no_difference),
        cmocka_unit_test(the_remembered_past_is_read_as_it_was_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
