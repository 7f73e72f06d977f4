#include "same.h"

#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/turnstone-same-XXXXXX";
static char here[4096];

static int set_up(void **state) {
    (void)state;
    memcpy(folder + strlen(folder) - 6, "XXXXXX", 6);
    return getcwd(here, sizeof here) != NULL && mkdtemp(folder) != NULL && chdir(folder) == 0 &&
                   mkdir("real", 0700) == 0 && mkdir("other", 0700) == 0 && symlink("real", "link") == 0 &&
                   symlink(".", "way") == 0 && symlink("new", "dangling") == 0
               ? 0
               : -1;
}

static int tear_down(void **state) {
    (void)state;
    (void)!unlink("link");
    (void)!unlink("way");
    (void)!unlink("dangling");
    (void)!rmdir("real");
    (void)!rmdir("other");
    return chdir(here) == 0 && rmdir(folder) == 0 ? 0 : -1;
}

static enum ts_store_result compare(const char *urls, struct ts_store_error *ret_error) {
    struct store_url_list list = {0};
    struct ts_store_error error;
    if (store__url_list_parse(urls, &list, &error) != TS_STORE_OK)
        fail_msg("%s: %s", urls, error.text);
    enum ts_store_result result = store__same_directories(&list, ret_error);
    store__url_list_release(&list);
    return result;
}

static void one_directory_by_two_names_is_found(void **state) {
    (void)state;
    char absolute[200];
    snprintf(absolute, sizeof absolute, "rocksdb:real,rocksdb:%s/real", folder);
    const char *const lists[] = {
        "rocksdb:real,rocksdb:./real", "rocksdb:real,rocksdb:link", "rocksdb:link,rocksdb:other/../real",
        "rocksdb:real/,rocksdb:way/way//real", absolute,
        /* these directories do not exist yet */
        "rocksdb:new,rocksdb:./new", "rocksdb:new,rocksdb:way/new", "rocksdb:new,rocksdb:dangling",
        "rocksdb:way/dangling,rocksdb:new", "rocksdb:new/deep,rocksdb:way//new/./deep/."};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        struct ts_store_error error;
        if (compare(lists[i], &error) != TS_STORE_BAD_USAGE)
            fail_msg("%s", lists[i]);
        assert_non_null(strstr(error.text, "store 0 and store 1 are the same"));
        assert_non_null(strstr(error.text, "twice"));
    }
    struct ts_store_error error;
    assert_int_equal(compare("memory:a,rocksdb:other,rocksdb:new,rocksdb:way/other", &error),
                     TS_STORE_BAD_USAGE);
    assert_non_null(strstr(error.text, "store 1 and store 3"));
}

static void different_directories_are_none(void **state) {
    (void)state;
    static const char *const lists[] = {
        "rocksdb:real,rocksdb:other",         "rocksdb:new,rocksdb:newer",
        "rocksdb:real/new,rocksdb:other/new", "rocksdb:real,rocksdb:real/real",
        "rocksdb:dangling,rocksdb:newer",     "rocksdb:real,memory:real,postgresql://h/real"};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        struct ts_store_error error;
        if (compare(lists[i], &error) != TS_STORE_OK)
            fail_msg("%s: %s", lists[i], error.text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_directory_by_two_names_is_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(different_directories_are_none, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
