#include "store/contract/library.h"

#include "support/cmocka.h"

#include <pthread.h>
#include <string.h>

/* The C library is already loaded, so the test needs no other library. */
static const char libc[] = "libc.so.6";

static struct {
    size_t (*strlen)(const char *text);
    int (*absent)(void);
} calls;

static const struct ts_late_function one[] = {{"strlen", (void *)&calls.strlen}};
static const struct ts_late_function two[] = {{"strlen", (void *)&calls.strlen},
                                              {"turnstone_is_not_here", (void *)&calls.absent}};

static struct ts_late_library described(const char *soname) {
    return (struct ts_late_library){.what = "a library",
                                    .soname = soname,
                                    .package = "libexample1",
                                    .functions = one,
                                    .function_count = 1};
}

static void functions_are_there_after_loading(void **state) {
    (void)state;
    struct ts_late_library library = described(libc);
    struct ts_store_error error;
    memset(&calls, 0, sizeof calls);
    assert_int_equal(store__library_load(&library, "s", &error), TS_STORE_OK);
    assert_int_equal(calls.strlen("four"), 4);
}

static void it_is_loaded_once(void **state) {
    (void)state;
    struct ts_late_library library = described(libc);
    struct ts_store_error error;
    assert_int_equal(store__library_load(&library, "s", &error), TS_STORE_OK);
    memset(&calls, 0, sizeof calls);
    assert_int_equal(store__library_load(&library, "s", &error), TS_STORE_OK);
    assert_null(calls.strlen);
}

static void a_missing_library_is_reported_with_reason_and_fix_each_time(void **state) {
    (void)state;
    struct ts_late_library library = described("libturnstone-is-not-here.so.1");
    for (int i = 0; i < 2; i++) {
        struct ts_store_error error = {0};
        assert_int_equal(store__library_load(&library, "rocksdb:d", &error), TS_STORE_BAD_CONFIGURATION);
        assert_string_equal(
            error.text, "rocksdb:d: a library cannot be loaded (libturnstone-is-not-here.so.1: cannot open "
                        "shared object file: No such file or directory); install the package libexample1");
    }
}

static void a_missing_function_is_reported_by_name(void **state) {
    (void)state;
    struct ts_late_library library = described(libc);
    library.functions = two;
    library.function_count = 2;
    struct ts_store_error error = {0};
    assert_int_equal(store__library_load(&library, "s", &error), TS_STORE_BAD_CONFIGURATION);
    assert_string_equal(error.text, "s: a library cannot be loaded (libc.so.6 has no function "
                                    "turnstone_is_not_here); install the package libexample1");
}

static void long_names_leave_room_for_reason_and_cure(void **state) {
    (void)state;
    char soname[400], name[400];
    memset(soname, 'd', sizeof soname);
    memset(name, 'n', sizeof name);
    soname[0] = '/';
    soname[sizeof soname - 1] = name[sizeof name - 1] = '\0';
    struct ts_late_library library = described(soname);
    library.what = "PostgreSQL's client library";
    struct ts_store_error error = {0};
    assert_int_equal(store__library_load(&library, name, &error), TS_STORE_BAD_CONFIGURATION);
    assert_non_null(strstr(error.text, "nnn: PostgreSQL's client library cannot be loaded (...d"));
    assert_non_null(strstr(error.text, "); install the package libexample1"));
}

static struct ts_late_library shared;

static void *load_shared(void *arg) {
    (void)arg;
    struct ts_store_error error;
    bool loaded = store__library_load(&shared, "s", &error) == TS_STORE_OK;
    return loaded && calls.strlen("four") == 4 ? &shared : NULL;
}

static void threads_that_open_at_once_all_find_it_loaded(void **state) {
    (void)state;
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    memset(&calls, 0, sizeof calls);
    shared = described(libc);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, load_shared, NULL), 0);
    for (size_t i = 0; i < THREADS; i++) {
        void *found = NULL;
        assert_int_equal(pthread_join(threads[i], &found), 0);
        assert_ptr_equal(found, &shared);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_are_there_after_loading),
        cmocka_unit_test(it_is_loaded_once),
        cmocka_unit_test(a_missing_library_is_reported_with_reason_and_fix_each_time),
        cmocka_unit_test(a_missing_function_is_reported_by_name),
        cmocka_unit_test(long_names_leave_room_for_reason_and_cure),
        cmocka_unit_test(threads_that_open_at_once_all_find_it_loaded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
